/* Which nodes are shown, and in which order; see top_private.h. */
#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/top/top_private.h"
#include "synop/memory.h"

const char *const order_sort_names[TOP_SORTS] = { "cpu",   "memory", "network", "disk", "gpu",
                                                  "power", "metric", "name",    "state" };
const char *const jobs_sort_names[JOBS_SORTS] = { "cpu", "memory", "traffic", "power", "id", "user" };

static int
name_of (const char *const *names, int count, const char *name)
{
  for (int i = 0; i < count; i++)
    if (strcmp (names[i], name) == 0)
      return i;
  return -1;
}

int
order_sort_of (const char *name)
{
  return name_of (order_sort_names, TOP_SORTS, name);
}

int
jobs_sort_of (const char *name)
{
  return name_of (jobs_sort_names, JOBS_SORTS, name);
}

static bool
word_matches (const char *word, const char *text)
{
  return strpbrk (word, "*?[") ? fnmatch (word, text, FNM_CASEFOLD) == 0 : strcasestr (text, word) != NULL;
}

bool
order_matches (const char *filter, const char *text)
{
  char words[SCREEN_INPUT_MAX + 1], *rest = words;
  bool any = false;

  strncpy (words, filter, SCREEN_INPUT_MAX);
  words[SCREEN_INPUT_MAX] = 0;
  for (char *word; (word = strsep (&rest, ","));) {
    word += strspn (word, " ");
    if (!*word)
      continue;
    if (word_matches (word, text))
      return true;
    any = true;
  }
  return !any;
}

static int
compare_texts (const void *one, const void *other)
{
  return strcmp (*(char *const *) one, *(char *const *) other);
}

static bool
is_shown (const struct top *top, const char *name)
{
  if (top->only && !bsearch (&name, top->only, top->only_count, sizeof top->only[0], compare_texts))
    return false;
  return order_matches (top->filter[VIEW_CLUSTER].text, name);
}

struct key {
  size_t node;
  double value;
};

/* The greatest first, missing ones last; equal ones as the aggregator lists them. */
static int
compare_keys (const void *one, const void *other)
{
  const struct key *a = one, *b = other;
  bool a_lacks = isnan (a->value), b_lacks = isnan (b->value);

  if (a_lacks != b_lacks)
    return a_lacks - b_lacks;
  if (!a_lacks && a->value != b->value)
    return a->value < b->value ? 1 : -1;
  return (a->node > b->node) - (a->node < b->node);
}

static double
key_of (const struct top *top, size_t node)
{
  const struct model *model = &top->model;
  double value = 0;

  if (top->sort == SORT_STATE)
    value = model->states[node] != STATE_UP   ? (double) model->states[node] /* what is down first, then alerts */
            : top->marks[node] == STYLE_BAD   ? 0.5
            : top->marks[node] == STYLE_PLAIN ? 0
                                              : 0.25;
  else if (top->sort < SORT_NAME)
    value = model->columns[top->sort].present ? model->columns[top->sort].values[node] : (double) NAN;
  return top->reverse && top->sort != SORT_NAME ? -value : value;
}

void
order_nodes (struct top *top)
{
  const struct model *model = &top->model;
  struct key *keys = memory_new (model->count, sizeof keys[0]);
  size_t count = 0;

  top->marks = memory_resize (top->marks, model->count + 1, 1);
  for (size_t i = 0; i < model->count; i++)
    top->marks[i] = events_mark (&top->events, model->names[i]);
  for (size_t i = 0; i < model->count; i++)
    if (is_shown (top, model->names[i]))
      keys[count++] = (struct key){ i, key_of (top, i) };
  if (top->sort != SORT_NAME)
    qsort (keys, count, sizeof keys[0], compare_keys);
  top->order = memory_resize (top->order, count + 1, sizeof top->order[0]);
  top->order_count = count;
  for (size_t i = 0; i < count; i++)
    top->order[top->sort == SORT_NAME && top->reverse ? count - 1 - i : i] = keys[i].node;
  free (keys);
}

bool
order_search (const struct top *top, size_t from, size_t *found)
{
  for (size_t i = 0; i < top->order_count; i++) {
    size_t at = (from + i) % top->order_count;
    if (strcasestr (top->model.names[top->order[at]], top->search.text)) {
      *found = at;
      return true;
    }
  }
  return false;
}
