/* See query.h: from the question to its answer. */
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregator/history/job_store.h"
#include "aggregator/query/query_private.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/config.h"
#include "synop/config_suggest.h"
#include "synop/memory.h"
#include "synop/report.h"

#define SOURCES 4 /* two operands, each of which may be derived of two metrics */

const char *const query_fold_names[] = { "", "sum", "mean", "min", "max" };
const char *const query_tier_names[] = { "frames", "minutes", "hours" };

/* A metric that is read: what the expression needs of it. */
struct source {
  const struct catalog_entry *entry;
  const char *metric; /* the entry's own, or one that it is derived of */
  struct bucket_table table;
  const struct bucket *buckets; /* of the series whose values are made; NULL: it has none */
};

struct asking {
  struct history_file *file;
  const struct query *query;
  struct query_answer *answer;
  struct catalog catalog;
  struct expression expression;
  struct job_record job; /* label NULL: none is asked for */
  int64_t from_ns, to_ns, now_ns;
  struct plan plan;
  bool by_rows, combined;
  struct globs nodes, rows;
  struct source sources[SOURCES];
  size_t source_count;
};

/* ---- the job ---- */

/* Its nodes, its time where none is given. */
static int
find_job (struct asking *asking, const char **key, struct error *error)
{
  const struct query *query = asking->query;
  struct job_choice choice = { query->job, query->user, query->scheduler };
  int result;

  *key = "job";
  if (!query->job)
    return 0;
  result = job_store_find (asking->file, &choice, &asking->job, error);
  if (result == 0)
    error_set (error, "the history has no job %.64s", query->job);
  if (result <= 0)
    return -1;
  if (!query->from)
    asking->from_ns = asking->job.started_ns;
  if (!query->to)
    asking->to_ns = asking->job.ended_ns ? asking->job.ended_ns : asking->now_ns;
  *key = "from";
  return asking->from_ns < asking->to_ns
             ? 0
             : error_set (error, "must be before the end, and job %.64s ran at another time", query->job);
}

/* ---- nodes ---- */

struct name_list {
  char **names;
  size_t count, capacity;
};

static int
read_names (struct history_file *file, struct name_list *list, struct error *error)
{
  sqlite3_stmt *statement = history_file_prepare (file, "SELECT name FROM nodes ORDER BY name", error);
  int code = SQLITE_ERROR;

  while (statement && (code = sqlite3_step (statement)) == SQLITE_ROW) {
    const char *name = (const char *) sqlite3_column_text (statement, 0);
    *array_add (list->names, list->count, list->capacity) = memory_string (name ? name : "");
  }
  if (statement && code != SQLITE_DONE)
    history_file_fail (file, error);
  sqlite3_finalize (statement);
  return code == SQLITE_DONE ? 0 : -1;
}

static void
names_free (struct name_list *list)
{
  for (size_t i = 0; i < list->count; i++)
    free (list->names[i]);
  free (list->names);
}

static int
no_node (const char *wanted, const struct name_list *list, struct error *error)
{
  struct suggestion near = { .word = wanted };

  for (size_t i = 0; i < list->count; i++)
    suggestion_consider (&near, list->names[i]);
  return error_set (error, "no node of the history matches \"%.128s\"%s%s%s", wanted, *near.best ? "; near is " : "",
                    near.best, list->count ? "" : ": it has none");
}

static int
check_nodes (struct asking *asking, const char **key, struct error *error)
{
  struct name_list list = { 0 };
  bool any = false;
  int result;

  globs_init (&asking->nodes, asking->query->node ? asking->query->node : "");
  if (!asking->query->node)
    return 0;
  *key = NULL;
  result = read_names (asking->file, &list, error);
  for (size_t i = 0; i < list.count && !any; i++)
    any = globs_match (&asking->nodes, list.names[i]);
  if (result == 0 && !any) {
    *key = "node";
    result = no_node (asking->query->node, &list, error);
  }
  names_free (&list);
  return result;
}

/* Those of the job, and of them those that --node chooses. Names of nodes have nothing that is special in a pattern. */
static int
take_job_nodes (struct asking *asking, const char **key, struct error *error)
{
  struct buffer names = { 0 };
  struct globs chosen = asking->nodes;
  size_t count = 0;

  if (!asking->job.label)
    return 0;
  for (size_t i = 0; i < asking->job.node_count; i++)
    if (globs_match (&chosen, asking->job.nodes[i].name))
      buffer_printf (&names, "%s%s", count++ ? "," : "", asking->job.nodes[i].name);
  globs_free (&asking->nodes);
  globs_init (&asking->nodes, buffer_text (&names));
  buffer_free (&names);
  *key = "node";
  return count ? 0 : error_set (error, "job %.64s ran on no such node", asking->query->job);
}

/* ---- rows ---- */

/* A label as a pattern that matches it. Blanks and commas part patterns. */
static char *
label_glob (const char *label)
{
  char *glob = memory_string (label);

  for (char *at = glob; *at; at++)
    if (strchr ("*?[]\\, \t", *at))
      *at = '?';
  return glob;
}

static bool
of_jobs (const struct operand *operand)
{
  return operand->entry && strcmp (operand->entry->section, REPORT_JOBS) == 0;
}

static bool
lacks (const struct operand *operand, bool (*has) (const struct catalog_entry *entry))
{
  return !operand->entry || !has (operand->entry);
}

static int
take_rows (struct asking *asking, const char **key, struct error *error)
{
  const struct query *query = asking->query;
  const struct expression *expression = &asking->expression;
  const struct operand *left = &expression->left, *right = &expression->right;
  bool jobs =
      (of_jobs (left) && catalog_has_rows (left->entry)) || (of_jobs (right) && catalog_has_rows (right->entry));
  const char *label = expression->row ? expression->row : jobs && asking->job.label ? asking->job.label : NULL;
  char *glob = label && !query->row ? label_glob (label) : memory_string (query->row ? query->row : "");

  globs_init (&asking->rows, glob);
  free (glob);
  asking->combined = query->combined || expression->combined;
  asking->by_rows = query->rows || query->row || label || jobs || (left->entry && !catalog_has_node (left->entry)) ||
                    (right->entry && !catalog_has_node (right->entry));
  *key = query->row ? "row" : "rows";
  if (asking->by_rows && !asking->combined && lacks (left, catalog_has_rows) && lacks (right, catalog_has_rows))
    return error_set (error, "it has one value for each node, and no rows");
  return 0;
}

static int
check_combined (const struct asking *asking, const char **key, struct error *error)
{
  const struct query *query = asking->query;
  const char *other = query->node ? "node" : query->job ? "job" : query->fold ? "fold" : NULL;

  *key = other;
  return asking->combined && other
             ? error_set (error, "does not go with the combined report (--combined), which is of all nodes together")
             : 0;
}

static int
check_rate (const struct asking *asking, const char **key, struct error *error)
{
  const struct catalog_entry *entry = asking->expression.left.entry;

  *key = "rate";
  if (!asking->query->rate || expression_is_change (&asking->expression))
    return 0;
  return error_set (error, "is of counters, and %s%s%s is none: it is shown as it stands",
                    entry ? entry->group : "this", entry ? "." : "", entry ? entry->name : "");
}

/* ---- steps ---- */

static int64_t
local_offset (int64_t time_ns)
{
  time_t seconds = (time_t) (time_ns / NS_PER_S);
  struct tm tm = { 0 };

  localtime_r (&seconds, &tm);
  return tm.tm_gmtoff * NS_PER_S;
}

static int
make_plan (struct asking *asking, const char **key, struct error *error)
{
  struct plan_tier tiers[HISTORY_TIERS] = { 0 };
  int64_t step_ns = 0;
  int result;

  for (size_t i = 0; i < HISTORY_TIERS; i++)
    tiers[i].there = history_points_range (asking->file, (enum history_tier) i, &tiers[i].from_ns, &tiers[i].to_ns);
  if (asking->query->step)
    duration_parse (asking->query->step, &step_ns, NULL);
  *key = "step";
  result =
      plan_make (&asking->plan, asking->from_ns, asking->to_ns, step_ns, local_offset (asking->from_ns), tiers, error);
  if (result == 0 && asking->plan.wider)
    buffer_printf (&asking->answer->note, "Steps are %.9g s long: nothing finer goes back so far.\n",
                   (double) asking->plan.step_ns / NS_PER_S);
  return result;
}

/* ---- read ---- */

static struct source *
source_of (struct asking *asking, const struct catalog_entry *entry, const char *metric, bool rate)
{
  const struct query *query = asking->query;
  bool narrowed = query->fold || query->top || query->bottom;
  struct source *source;

  for (size_t i = 0; i < asking->source_count; i++) {
    source = &asking->sources[i];
    if (strcmp (source->entry->group, entry->group) == 0 && strcmp (source->metric, metric) == 0 &&
        source->table.rate == rate)
      return source;
  }
  source = &asking->sources[asking->source_count++];
  *source = (struct source){ .entry = entry,
                             .metric = metric,
                             .table = { .from_ns = asking->plan.from_ns,
                                        .step_ns = asking->plan.step_ns,
                                        .steps = asking->plan.steps,
                                        .most = (narrowed ? QUERY_READ_MAX : QUERY_POINTS_MAX) / asking->plan.steps,
                                        .rate = rate } };
  return source;
}

static bool
is_rate (const struct asking *asking, const struct catalog_entry *entry)
{
  if (entry->derived)
    return !entry->derived->over;
  return asking->query->rate && entry->kind == COUNTER && !(entry->flags & METRIC_SHARE);
}

static void
add_sources (struct asking *asking, const struct operand *operand)
{
  const struct catalog_entry *entry = operand->entry;

  if (!entry)
    return;
  source_of (asking, entry, entry->derived ? entry->derived->of : entry->name, is_rate (asking, entry));
  if (entry->derived && entry->derived->over)
    source_of (asking, entry, entry->derived->over, false);
}

static int
too_many (const struct source *source, const char **key, struct error *error)
{
  *key = "step";
  return error_set (
      error,
      "makes %zu steps of over %zu series, more than there may be; choose a longer one, or less of them: by "
      "node, row, fold or top",
      source->table.steps, source->table.most);
}

static int
read_source (struct asking *asking, struct source *source, const char **key, struct error *error)
{
  bool rows = asking->combined ? asking->rows.count > 0 : asking->by_rows && catalog_has_rows (source->entry);
  struct points_query query = { .group = source->entry->group,
                                .metric = source->metric,
                                .nodes = asking->nodes.count ? &asking->nodes : NULL,
                                .rows = rows ? &asking->rows : NULL,
                                .combined = asking->combined };
  struct points_into into = bucket_table_into;

  into.context = &source->table;
  for (size_t i = 0; i < asking->answer->piece_count; i++) {
    const struct query_piece *piece = &asking->answer->pieces[i];
    size_t broken = 0;
    query.from_ns = piece->from_ns;
    query.to_ns = piece->to_ns;
    source->table.until_ns = piece->tier == HISTORY_FRAMES ? INT64_MAX : asking->now_ns;
    *key = NULL;
    if (history_points (asking->file, piece->tier, &query, &into, &broken, error) < 0)
      return -1;
    asking->answer->broken += broken;
    if (source->table.full)
      return too_many (source, key, error);
  }
  return 0;
}

/* ---- values ---- */

static struct query_value
plain_value (const struct bucket *bucket, const struct catalog_entry *entry, bool rate)
{
  struct query_value value = { bucket->count, 0, bucket->min, bucket->max };

  if (rate)
    value.value = bucket->sum / bucket->seconds;
  else if (entry->kind == COUNTER && !(entry->flags & METRIC_SHARE))
    value.value = bucket->sum;
  else
    value.value = bucket->sum / (double) bucket->count;
  return value;
}

static const struct bucket *
bucket_at (const struct source *source, size_t step)
{
  return source->buckets && source->buckets[step].count ? &source->buckets[step] : NULL;
}

/* Goes to a series, in all sources. */
static void
go_to_series (struct asking *asking, const char *node, const char *row)
{
  for (size_t i = 0; i < asking->source_count; i++) {
    struct source *source = &asking->sources[i];
    source->buckets = bucket_table_find (&source->table, node, row);
    if (!source->buckets && row) /* of the node, beside rows of the other metric */
      source->buckets = bucket_table_find (&source->table, node, NULL);
  }
}

static struct query_value
operand_value (struct asking *asking, const struct operand *operand, size_t step)
{
  const struct catalog_entry *entry = operand->entry;
  const struct derived *derived = entry ? entry->derived : NULL;
  const struct bucket *bucket, *over;
  struct query_value value;

  if (!entry)
    return (struct query_value){ UINT64_MAX, operand->number, operand->number, operand->number };
  bucket = bucket_at (source_of (asking, entry, derived ? derived->of : entry->name, is_rate (asking, entry)), step);
  if (!bucket)
    return (struct query_value){ 0 };
  value = plain_value (bucket, entry, is_rate (asking, entry));
  if (!derived)
    return value;
  if (!derived->over)
    return (struct query_value){ value.count, value.value * derived->times, value.min * derived->times,
                                 value.max * derived->times };
  over = bucket_at (source_of (asking, entry, derived->over, false), step);
  if (!over)
    return (struct query_value){ 0 };
  return (struct query_value){ value.count, bucket->sum / over->sum * derived->times, (double) NAN, (double) NAN };
}

static double
compute (char sign, double left, double right)
{
  double result = sign == '+' ? left + right : sign == '-' ? left - right : sign == '*' ? left * right : left / right;

  return isfinite (result) ? result : (double) NAN;
}

/* The ends of two metrics together are not known; those of a metric and a number are. */
static struct query_value
value_of (struct asking *asking, size_t step)
{
  const struct expression *expression = &asking->expression;
  struct query_value left = operand_value (asking, &expression->left, step), right, value;
  double one, other;

  if (!expression->sign || !left.count)
    return left;
  right = operand_value (asking, &expression->right, step);
  if (!right.count)
    return right;
  value.count = left.count < right.count ? left.count : right.count;
  value.value = compute (expression->sign, left.value, right.value);
  one = compute (expression->sign, left.min, right.min);
  other = compute (expression->sign, left.max, right.max);
  value.min = value.max = (double) NAN;
  if (!expression->left.entry || !expression->right.entry) {
    value.min = one < other ? one : other;
    value.max = one < other ? other : one;
  }
  return value;
}

static void
add_series (void *context, const char *node, const char *row, const struct bucket *buckets)
{
  struct asking *asking = context;
  struct query_answer *answer = asking->answer;
  struct query_series *series = array_add (answer->series, answer->series_count, answer->series_room);

  (void) buckets;
  *series = (struct query_series){ .node = memory_string (node),
                                   .row = memory_string (row),
                                   .values = memory_new (answer->steps, sizeof series->values[0]) };
  go_to_series (asking, node, row);
  for (size_t step = 0; step < answer->steps; step++)
    series->values[step] = value_of (asking, step);
}

/* Series are those of the metric that has rows; of two, of the left one. */
static const struct source *
leading_source (struct asking *asking)
{
  const struct expression *expression = &asking->expression;
  bool right = !expression->left.entry ||
               (asking->by_rows && !catalog_has_rows (expression->left.entry) && expression->right.entry);
  const struct catalog_entry *entry = right ? expression->right.entry : expression->left.entry;

  return source_of (asking, entry, entry->derived ? entry->derived->of : entry->name, is_rate (asking, entry));
}

/* ---- */

static void
describe (struct asking *asking)
{
  struct query_answer *answer = asking->answer;

  expression_describe (&asking->expression, answer, asking->query->rate);
  answer->fold = asking->query->fold;
  answer->from_ns = asking->plan.from_ns;
  answer->to_ns = asking->plan.to_ns;
  answer->step_ns = asking->plan.step_ns;
  answer->steps = asking->plan.steps;
  answer->now_ns = asking->now_ns;
  answer->usual = !asking->query->from && !asking->query->job;
  answer->pieces = asking->plan.pieces;
  answer->piece_count = asking->plan.count;
  asking->plan.pieces = NULL;
}

static int
read_question (struct asking *asking, const char **key, struct error *error)
{
  const struct query *query = asking->query;

  *key = "metric";
  if (!query->metric)
    return error_set (error, "is what to ask for, as load.load_1");
  if (query_interval (query, asking->now_ns, &asking->from_ns, &asking->to_ns, key, error) < 0 ||
      find_job (asking, key, error) < 0)
    return -1;
  *key = NULL;
  if (catalog_read (&asking->catalog, asking->file, error) < 0)
    return -1;
  *key = "metric";
  if (expression_read (&asking->expression, &asking->catalog, query->metric, error) < 0 ||
      take_rows (asking, key, error) < 0 || check_combined (asking, key, error) < 0 ||
      check_rate (asking, key, error) < 0 || check_nodes (asking, key, error) < 0 ||
      take_job_nodes (asking, key, error) < 0)
    return -1;
  *key = "bottom";
  if (query->top && query->bottom)
    return error_set (error, "does not go with top");
  return make_plan (asking, key, error);
}

static void
finish (struct asking *asking)
{
  const struct query *query = asking->query;
  struct query_answer *answer = asking->answer;

  bucket_table_each (&leading_source (asking)->table, asking, add_series);
  if (!asking->combined) /* whose rows come as sum, mean, min, max */
    series_sort (answer);
  if (query->fold)
    series_fold (answer);
  series_measure (answer);
  if (query->top || query->bottom)
    series_rank (answer, query->top ? query->top : query->bottom, query->bottom);
}

static void
asking_free (struct asking *asking)
{
  for (size_t i = 0; i < asking->source_count; i++)
    bucket_table_free (&asking->sources[i].table);
  globs_free (&asking->nodes);
  globs_free (&asking->rows);
  free (asking->plan.pieces);
  expression_free (&asking->expression);
  catalog_free (&asking->catalog);
  job_record_free (&asking->job);
}

int
query_answer (struct history_file *file, const struct query *query, int64_t now_ns, struct query_answer *answer,
              const char **key, struct error *error)
{
  struct asking asking = { .file = file, .query = query, .answer = answer, .now_ns = now_ns };
  int result;

  *answer = (struct query_answer){ 0 };
  result = read_question (&asking, key, error);
  if (result == 0) {
    describe (&asking);
    add_sources (&asking, &asking.expression.left);
    add_sources (&asking, &asking.expression.right);
  }
  for (size_t i = 0; i < asking.source_count && result == 0; i++)
    result = read_source (&asking, &asking.sources[i], key, error);
  if (result == 0)
    finish (&asking);
  else
    query_answer_free (answer);
  asking_free (&asking);
  return result;
}

void
query_answer_free (struct query_answer *answer)
{
  for (size_t i = 0; i < answer->series_count; i++)
    series_free (&answer->series[i]);
  free (answer->series);
  free (answer->metric);
  free (answer->unit);
  free (answer->help);
  free (answer->pieces);
  free (answer->gaps);
  buffer_free (&answer->note);
  *answer = (struct query_answer){ 0 };
}
