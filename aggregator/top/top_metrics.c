/* All metrics that nodes have, and the choice of the one that the picture shows; see top_private.h. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/top/top_private.h"
#include "synop/array.h"
#include "synop/hash_table.h"
#include "synop/memory.h"

static void
metrics_clear (struct top_metrics *metrics)
{
  for (size_t i = 0; i < metrics->count; i++) {
    free (metrics->list[i].name);
    free (metrics->list[i].unit);
    free (metrics->list[i].help);
  }
  metrics->count = metrics->found_count = 0;
  metrics->hash = 0;
}

void
metrics_free (struct top_metrics *metrics)
{
  metrics_clear (metrics);
  free (metrics->list);
  free (metrics->found);
  *metrics = (struct top_metrics){ 0 };
}

static const char *
text_of (const json_t *object, const char *key)
{
  const char *text = json_string_value (json_object_get (object, key));

  return text ? text : "";
}

static void
add_metric (struct top_metrics *metrics, const char *group, const json_t *metric)
{
  struct top_metric *added;
  bool share = json_is_true (json_object_get (metric, "share"));

  if (strcmp (text_of (metric, "kind"), "text") == 0)
    return;
  added = array_add (metrics->list, metrics->count, metrics->room);
  added->name = memory_format ("%s.%s", group, text_of (metric, "name"));
  added->unit = memory_string (share ? "%" : text_of (metric, "unit"));
  added->help = memory_string (text_of (metric, "help"));
  added->nodes = (size_t) json_integer_value (json_object_get (metric, "nodes"));
  metrics->hash += hash_keyed (added->name, strlen (added->name));
}

void
metrics_take (struct top_metrics *metrics, const char *line, size_t length)
{
  json_t *root = json_loadb (line, length, 0, NULL);
  const json_t *list = json_object_get (root, "metrics");

  if (metrics->complete)
    metrics_clear (metrics);
  metrics->complete = false;
  for (size_t i = 0; !json_is_true (json_object_get (root, "once")) && i < json_array_size (list); i++)
    add_metric (metrics, text_of (root, "name"), json_array_get (list, i));
  json_decref (root);
}

static int
compare_metrics (const void *one, const void *other)
{
  const struct top_metric *a = one, *b = other;

  return strcmp (a->name, b->name);
}

void
metrics_end (struct top_metrics *metrics)
{
  metrics->complete = true;
  if (metrics->count)
    qsort (metrics->list, metrics->count, sizeof metrics->list[0], compare_metrics);
}

bool
metrics_has (const void *context, const char *name)
{
  const struct top_metrics *metrics = context;
  struct top_metric key = { .name = (char *) name };

  return metrics->count &&
         bsearch (&key, metrics->list, metrics->count, sizeof metrics->list[0], compare_metrics) != NULL;
}

/* All words, in the name alone or in the name and what is said about it. */
static bool
is_found (const struct top_metric *metric, const char *words, bool in_name)
{
  char text[SCREEN_INPUT_MAX + 1], *rest = text;
  bool found = true;

  strncpy (text, words, SCREEN_INPUT_MAX);
  text[SCREEN_INPUT_MAX] = 0;
  for (char *word; found && (word = strsep (&rest, " "));)
    found = strcasestr (metric->name, word) || (!in_name && strcasestr (metric->help, word));
  return found;
}

void
metrics_find (struct top_metrics *metrics, const char *words)
{
  metrics->found = memory_resize (metrics->found, metrics->count + 1, sizeof metrics->found[0]);
  metrics->found_count = 0;
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < metrics->count; i++) {
      bool named = is_found (&metrics->list[i], words, true);
      if (pass == 0 ? named : !named && is_found (&metrics->list[i], words, false))
        metrics->found[metrics->found_count++] = i;
    }
}

struct screen_cursor
metrics_draw (struct top *top, struct canvas *canvas)
{
  struct top_metrics *metrics = &top->metrics;
  int name = canvas->width / 2 > 44 ? 44 : canvas->width / 2, rows = canvas->height - 3, x;

  metrics_find (metrics, top->search.text);
  screen_list_fit (&top->found, metrics->found_count, rows);
  top->list_rows = rows;
  x = canvas_text (canvas, 0, 0, canvas->width, STYLE_STRONG, "Metric of the picture: ");
  x += canvas_text (canvas, x, 0, canvas->width - x - 1, STYLE_PLAIN, top->search.text);
  canvas_restyle (canvas, 0, 1, canvas->width, STYLE_HEAD);
  canvas_text (canvas, 0, 1, name, STYLE_HEAD, "METRIC");
  canvas_text (canvas, name + 1, 1, canvas->width, STYLE_HEAD, "WHAT IT IS");
  for (int i = 0; i < rows && top->found.first + (size_t) i < metrics->found_count; i++) {
    size_t at = top->found.first + (size_t) i;
    const struct top_metric *metric = &metrics->list[metrics->found[at]];
    canvas_text (canvas, 0, 2 + i, name, STYLE_PLAIN, metric->name);
    canvas_printf (canvas, name + 1, 2 + i, canvas->width - name - 1, STYLE_FAINT, "%s%s%s%s", metric->help,
                   *metric->unit ? " [" : "", metric->unit, *metric->unit ? "]" : "");
    if (at == top->found.selected)
      canvas_restyle (canvas, 0, 2 + i, canvas->width, STYLE_SELECTED);
  }
  if (metrics->found_count == 0)
    canvas_text (canvas, 0, 2, canvas->width, STYLE_FAINT,
                 "No metric has these words; Enter asks for them as they are, as for \"load.load_1 / 4\".");
  screen_foot (canvas,
               (const struct screen_label[]){ { "Enter", "Choose " }, { "Esc", "Back " }, { "Type", "to search" } }, 3);
  return (struct screen_cursor){ x, 0 };
}
