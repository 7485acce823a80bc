/* A question's answer of this instant as a line of JSON; see now.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/now/now_private.h"
#include "aggregator/query/levels.h"
#include "synop/memory.h"

#define LABEL_MAX 256

/* ---- what the values have in common ---- */

struct summary {
  uint64_t count;
  double sum, min, max;
  const char *min_node, *max_node;
};

static void
summary_add (struct summary *summary, const char *node, double value)
{
  if (isnan (value))
    return;
  if (summary->count++ == 0 || value < summary->min) {
    summary->min = value;
    summary->min_node = node;
  }
  if (summary->count == 1 || value > summary->max) {
    summary->max = value;
    summary->max_node = node;
  }
  summary->sum += value;
}

static void
summary_write (struct json *json, const struct now_metric *metric, const struct summary *summary)
{
  double none = (double) NAN;
  bool any = summary->count;

  json_text (json_key (json, "metric"), metric->name);
  if (metric->expression.row)
    json_text (json_key (json, "row"), metric->expression.row);
  json_text (json_key (json, "unit"), metric->unit);
  json_text (json_key (json, "shows"), query_shows_names[metric->shows]);
  json_uint (json_key (json, "count"), summary->count);
  json_real (json_key (json, "sum"), any ? summary->sum : none);
  json_real (json_key (json, "mean"), any ? summary->sum / (double) summary->count : none);
  json_real (json_key (json, "min"), any ? summary->min : none);
  json_real (json_key (json, "max"), any ? summary->max : none);
  json_text (json_key (json, "min_node"), summary->min_node);
  json_text (json_key (json, "max_node"), summary->max_node);
}

/* ---- the first of them ---- */

struct rank {
  const char *node;
  char *row; /* owned; NULL: the node as a whole */
  double value;
};

struct ranking {
  struct rank *list; /* the first one is the first */
  size_t count, most;
  bool bottom;
};

static void
ranking_add (struct ranking *ranking, const char *node, const char *row, double value)
{
  size_t at = ranking->count;

  if (isnan (value))
    return;
  while (at > 0 && (ranking->bottom ? value < ranking->list[at - 1].value : value > ranking->list[at - 1].value))
    at--;
  if (at == ranking->most)
    return;
  if (ranking->count == ranking->most)
    free (ranking->list[--ranking->count].row);
  memmove (&ranking->list[at + 1], &ranking->list[at], (ranking->count - at) * sizeof ranking->list[0]);
  ranking->list[at] = (struct rank){ node, row ? memory_string (row) : NULL, value };
  ranking->count++;
}

static void
one_write (struct json *json, const char *node, const char *row, double value)
{
  json_object (json);
  json_text (json_key (json, "node"), node);
  json_text (json_key (json, "row"), row);
  json_real (json_key (json, "value"), value);
  json_object_end (json);
}

static void
ranking_write (struct json *json, struct ranking *ranking)
{
  json_array (json_key (json, "top"));
  for (size_t i = 0; i < ranking->count; i++) {
    one_write (json, ranking->list[i].node, ranking->list[i].row, ranking->list[i].value);
    free (ranking->list[i].row);
  }
  json_array_end (json);
  free (ranking->list);
}

static struct ranking
ranking_of (const struct now_question *question)
{
  return (struct ranking){ .list = question->top ? memory_new (question->top + 1, sizeof (struct rank)) : NULL,
                           .most = question->top,
                           .bottom = question->bottom };
}

/* What others have is left out, if there is any: the choice of rows and nodes is to find nothing out about it. */
static bool
leaves_out (const struct now_question *question, const struct now_metric *metric)
{
  return metric->of_users && !question->viewer.all;
}

/* ---- rows ---- */

/* Rows of a metric, as they are found. */
struct rows {
  const struct now_question *question;
  struct summary summary;
  struct ranking ranking;
  struct json listed;
  size_t visited, count;
};

static void
rows_of_node (struct now *now, struct now_metric *metric, const struct node *node, struct rows *rows)
{
  const struct table *table = now_rows (now, metric, node);
  char label[LABEL_MAX];
  size_t searched = 0;

  for (size_t i = 0; table && i < table->rows; i++) {
    struct now_row row = { .hint = i };
    double value;
    row.label = table_label (table, i, &row.length);
    rows->visited += rows->question->rows.count + 1;
    memcpy (label, row.label, row.length);
    label[row.length] = '\0';
    if (!globs_match (&rows->question->rows, label))
      continue;
    if (!now_sees (&rows->question->viewer, metric, node, table, &row))
      continue;
    value = now_value (now, metric, node, &row, &searched);
    summary_add (&rows->summary, node->name, value);
    rows->count++;
    if (rows->question->top)
      ranking_add (&rows->ranking, node->name, label, value);
    else if (rows->count <= NOW_ROWS_MAX)
      one_write (&rows->listed, node->name, label, value);
  }
}

static int
rows_write (struct now *now, const struct now_question *question, struct now_metric *metric, struct json *json,
            struct error *error)
{
  struct rows rows = { .question = question, .ranking = ranking_of (question) };
  bool fine;

  json_array (&rows.listed);
  for (size_t i = 0; i < question->chosen_count && rows.visited <= NOW_VISITED_MAX; i++)
    rows_of_node (now, metric, cluster_node (now->cluster, question->chosen[i]), &rows);
  json_array_end (&rows.listed);
  summary_write (json, metric, &rows.summary);
  if (leaves_out (question, metric))
    json_bool (json_key (json, "others_left_out"), true);
  if (question->top) {
    ranking_write (json, &rows.ranking);
  } else {
    json_key (json, "rows");
    buffer_add (&json->out, rows.listed.out.data, rows.listed.out.length);
    json->comma = true;
  }
  json_free (&rows.listed);
  fine = rows.visited <= NOW_VISITED_MAX && (question->top || rows.count <= NOW_ROWS_MAX);
  return fine ? 0
              : error_set (error,
                           "row: %s has more rows than an answer may have, %d of %d that are looked at: choose "
                           "by node, by row, or the first of them by top",
                           metric->name, NOW_ROWS_MAX, NOW_VISITED_MAX);
}

/* ---- nodes ---- */

static void
bytes_write (struct json *json, const struct now *now, const struct now_question *question,
             const struct now_metric *metric, const struct summary *summary)
{
  double none = (double) NAN;
  struct levels levels =
      levels_of (metric->unit, summary->count ? summary->min : none, summary->count ? summary->max : none);
  uint8_t *bytes = memory_new (question->chosen_count + 1, 1);

  for (size_t i = 0; i < question->chosen_count; i++)
    bytes[i] = level_of (&levels, now->found[i]);
  levels_write_ends (json, &levels);
  levels_write (json_key (json, "levels"), bytes, question->chosen_count);
  free (bytes);
}

static void
values_write (struct json *json, const struct now *now, size_t count)
{
  json_array (json_key (json, "values"));
  for (size_t i = 0; i < count; i++)
    json_real (json, now->found[i]);
  json_array_end (json);
}

static void
nodes_write (struct now *now, const struct now_question *question, struct now_metric *metric, struct json *json)
{
  struct ranking ranking = ranking_of (question);
  struct summary summary = { 0 };

  for (size_t i = 0; i < question->chosen_count; i++) {
    const struct node *node = cluster_node (now->cluster, question->chosen[i]);
    bool seen = !leaves_out (question, metric) ||
                now_sees (&question->viewer, metric, node, now_rows (now, metric, node), NULL);
    double value = now->states[i] != 'u' || !seen ? (double) NAN
                   : metric->values               ? metric->values[node->place]
                                                  : now_value (now, metric, node, NULL, &(size_t){ 0 });
    now->found[i] = value;
    summary_add (&summary, node->name, value);
    if (question->top)
      ranking_add (&ranking, node->name, NULL, value);
  }
  summary_write (json, metric, &summary);
  if (leaves_out (question, metric))
    json_bool (json_key (json, "others_left_out"), true);
  if (question->top)
    ranking_write (json, &ranking);
  else if (question->levels)
    bytes_write (json, now, question, metric, &summary);
  else
    values_write (json, now, question->chosen_count);
}

/* ---- the line ---- */

static void
names_write (struct json *json, const struct now *now, const struct now_question *question)
{
  json_array (json_key (json, "nodes"));
  for (size_t i = 0; i < question->chosen_count; i++)
    json_text (json, cluster_node (now->cluster, question->chosen[i])->name);
  json_array_end (json);
}

int
now_write (struct now *now, const struct now_question *question, int64_t time_ns, bool names, struct json *json,
           struct error *error)
{
  static const char letters[NODE_STATES] = {
    [NODE_NEVER] = 'n', [NODE_UP] = 'u', [NODE_STALE] = 's', [NODE_DOWN] = 'd'
  };
  size_t ill = 0; /* up to the last one that is not up */
  int result = 0;

  for (size_t i = 0; i < question->chosen_count; i++) {
    now->states[i] = letters[cluster_node (now->cluster, question->chosen[i])->state];
    ill = now->states[i] == 'u' ? ill : i + 1;
  }
  json_object (json);
  json_text (json_key (json, "type"), "now");
  json_time (json_key (json, "time"), time_ns);
  json_uint (json_key (json, "list"), question->list);
  if (names)
    names_write (json, now, question);
  json_text_n (json_key (json, "states"), now->states, ill);
  json_array (json_key (json, "metrics"));
  for (size_t i = 0; i < question->count && result == 0; i++) {
    struct now_metric *metric = &now->metrics[question->metrics[i]];
    json_object (json);
    if (question->by_rows || metric->rows)
      result = rows_write (now, question, metric, json, error);
    else
      nodes_write (now, question, metric, json);
    json_object_end (json);
  }
  json_array_end (json);
  json_object_end (json);
  json_newline (json);
  return result;
}
