/* What is asked, from words; see now.h. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/now/now_private.h"
#include "synop/hash.h"
#include "synop/memory.h"

/* ---- the nodes ---- */

static int
compare_names (const void *one, const void *other, void *context)
{
  const struct cluster *cluster = context;

  return strverscmp (cluster_node (cluster, *(const uint32_t *) one)->name,
                     cluster_node (cluster, *(const uint32_t *) other)->name);
}

void
now_list (struct now *now)
{
  size_t count = cluster_node_count (now->cluster);

  if (now->listed == cluster_lists (now->cluster))
    return;
  now->listed = cluster_lists (now->cluster);
  now->order = memory_resize (now->order, count + 1, sizeof now->order[0]);
  now->states = memory_resize (now->states, count + 1, sizeof now->states[0]);
  now->found = memory_resize (now->found, count + 1, sizeof now->found[0]);
  for (size_t i = 0; i < count; i++)
    now->order[i] = (uint32_t) i;
  qsort_r (now->order, count, sizeof now->order[0], compare_names, (void *) now->cluster);
  now_metrics_list (now);
}

void
now_question_choose (struct now *now, struct now_question *question)
{
  size_t count = cluster_node_count (now->cluster);
  uint64_t hash = HASH_START;

  if (question->listed == now->listed)
    return;
  question->listed = now->listed;
  question->chosen = memory_resize (question->chosen, count + 1, sizeof question->chosen[0]);
  question->chosen_count = 0;
  for (size_t i = 0; i < count; i++) {
    const char *name = cluster_node (now->cluster, now->order[i])->name;
    if (!globs_match (&question->nodes, name))
      continue;
    question->chosen[question->chosen_count++] = now->order[i];
    hash = hash_add (hash, name, strlen (name) + 1);
  }
  question->list = hash & UINT32_MAX;
}

/* ---- words ---- */

static int
take_globs (struct globs *globs, const char *name, const char *value, struct error *error)
{
  struct error why;

  if (!globs_list_is_cheap (value))
    return error_set (error, "%s: the list has more than %d bytes, or a glob in it more than %d stars", name,
                      GLOBS_LENGTH_MAX, GLOB_STARS_MAX);
  if (globs_list_check (value, &why) < 0)
    return error_set (error, "%s: %s", name, why.text);
  globs_free (globs);
  globs_init (globs, value);
  return 0;
}

static int
take_top (struct now_question *question, const char *name, const char *value, struct error *error)
{
  char *end;
  unsigned long number = strtoul (value, &end, 10);

  if (*value < '0' || *value > '9' || *end || number == 0 || number > NOW_TOP_MAX)
    return error_set (error, "%s: must be a whole number from 1 to %d", name, NOW_TOP_MAX);
  if (question->top)
    return error_set (error, "%s: top and bottom are given once, one of them", name);
  question->top = number;
  question->bottom = *name == 'b';
  return 0;
}

static int
take_metric (struct now *now, struct now_question *question, const char *value, bool watched, struct error *error)
{
  struct error why;

  if (question->count == NOW_METRICS_MAX)
    return error_set (error, "metric: there are %d at most", NOW_METRICS_MAX);
  if (now_metric_take (now, value, watched, &question->metrics[question->count], &why) < 0)
    return error_set (error, "%s%s", strncmp (why.text, "busy: ", 6) == 0 ? "" : "metric: ", why.text);
  question->count++;
  return 0;
}

static int
take_word (struct now *now, struct now_question *question, char *word, bool watched, struct error *error)
{
  char *value = strchr (word, '=');

  if (!value)
    return error_set (error,
                      "\"%.64s\" is no word of this request: metric=, node=, row=, top=, bottom=, encoding=", word);
  *value++ = '\0';
  if (strcmp (word, "metric") == 0)
    return take_metric (now, question, value, watched, error);
  if (strcmp (word, "node") == 0)
    return take_globs (&question->nodes, word, value, error);
  if (strcmp (word, "row") == 0) {
    question->by_rows = *value;
    return take_globs (&question->rows, word, value, error);
  }
  if (strcmp (word, "top") == 0 || strcmp (word, "bottom") == 0)
    return take_top (question, word, value, error);
  if (strcmp (word, "encoding") != 0)
    return error_set (error,
                      "\"%.64s\" is no word of this request: metric=, node=, row=, top=, bottom=, encoding=", word);
  question->levels = strcmp (value, "levels") == 0;
  return question->levels || strcmp (value, "values") == 0 ? 0
                                                           : error_set (error, "encoding: must be values or levels");
}

static int
take_words (struct now *now, struct now_question *question, char *words, bool watched, struct error *error)
{
  for (char *word; (word = strsep (&words, "\t"));)
    if (take_word (now, question, word, watched, error) < 0)
      return -1;
  if (question->count == 0)
    return error_set (error, "metric: is what to ask for, as load.load_1");
  for (size_t i = 0; i < question->count && question->by_rows; i++) {
    const struct expression *expression = &now->metrics[question->metrics[i]].expression;
    const struct catalog_entry *entry =
        expression_leads_right (expression, true) ? expression->right.entry : expression->left.entry;
    if (entry && !catalog_has_rows (entry))
      return error_set (error, "row: %s has one value for each node, and no rows",
                        now->metrics[question->metrics[i]].name);
  }
  if (question->nodes.count * cluster_node_count (now->cluster) > NOW_MATCHES_MAX)
    return error_set (error, "node: %zu globs are too many for so many nodes", question->nodes.count);
  now_question_choose (now, question);
  return question->chosen_count || !question->nodes.count ? 0
                                                          : error_set (error, "node: no listed node has such a name");
}

void
now_question_unlink (struct now_question *question)
{
  *question->place = question->next;
  if (question->next)
    question->next->place = question->place;
}

void
now_question_link (struct now *now, struct now_question *question)
{
  question->place = &now->questions;
  while (*question->place)
    question->place = &(*question->place)->next;
  question->next = NULL;
  *question->place = question;
}

void
now_question_free (struct now *now, struct now_question *question)
{
  if (question->place)
    now_question_unlink (question);
  for (size_t i = 0; i < question->count; i++)
    now_metric_leave (now, question->metrics[i]);
  globs_free (&question->nodes);
  globs_free (&question->rows);
  line_release (question->plain);
  line_release (question->whole);
  free (question->chosen);
  free (question->key);
  free (question);
}

static struct now_question *
find_watched (const struct now *now, const char *key)
{
  struct now_question *question = now->questions;

  while (question && strcmp (question->key, key) != 0)
    question = question->next;
  return question;
}

struct now_question *
now_question_take (struct now *now, const struct viewer *viewer, char *words, bool watched, struct error *error)
{
  char who[VIEWER_TEXT_SIZE], *key;
  struct now_question *question;

  viewer_write (viewer, who);
  key = watched ? memory_format ("%s\t%s", who, words) : NULL;
  question = key ? find_watched (now, key) : NULL;

  now_list (now);
  if (question) {
    now_question_choose (now, question);
    free (key);
    return question;
  }
  now_schemas_see (now);
  question = memory_new (1, sizeof *question);
  question->viewer = *viewer;
  if (take_words (now, question, words, watched, error) < 0) {
    free (key);
    now_question_free (now, question);
    return NULL;
  }
  question->key = key;
  if (watched)
    now_question_link (now, question);
  return question;
}
