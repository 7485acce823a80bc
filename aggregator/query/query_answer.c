/* See query.h: from the question to its answer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/query/query_asking.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/memory.h"

const char *const query_fold_names[] = { "", "sum", "mean", "min", "max" };
const char *const query_tier_names[] = { "frames", "minutes", "hours" };

/* ---- read ---- */

static struct source *
source_of (struct asking *asking, const struct catalog_entry *entry, const char *metric, bool rate)
{
  struct source *source;

  for (size_t i = 0; i < asking->source_count; i++) {
    source = &asking->sources[i];
    if (strcmp (source->entry->group, entry->group) == 0 && strcmp (source->metric, metric) == 0 &&
        source->table.rate == rate)
      return source;
  }
  source = &asking->sources[asking->source_count++];
  *source = (struct source){ .entry = entry, .metric = metric, .table = { .rate = rate } };
  return source;
}

static bool
is_rate (const struct asking *asking, const struct catalog_entry *entry)
{
  if (entry->derived)
    return !entry->derived->over;
  return (asking->query->rate || asking->query->levels) && entry->kind == COUNTER && !(entry->flags & METRIC_SHARE);
}

static struct operand_sources
add_sources (struct asking *asking, const struct operand *operand)
{
  const struct catalog_entry *entry = operand->entry;
  const struct derived *derived = entry ? entry->derived : NULL;

  if (!entry)
    return (struct operand_sources){ 0 };
  return (
      struct operand_sources){ source_of (asking, entry, derived ? derived->of : entry->name, is_rate (asking, entry)),
                               derived && derived->over ? source_of (asking, entry, derived->over, false) : NULL };
}

const struct source *
asking_leading (const struct asking *asking)
{
  return expression_leads_right (&asking->expression, asking->by_rows) ? asking->right.of : asking->left.of;
}

struct points_query
asking_points (const struct asking *asking, const struct source *source)
{
  bool rows = asking->combined ? asking->rows.count > 0 : asking->by_rows && catalog_has_rows (source->entry);

  return (struct points_query){ .group = source->entry->group,
                                .metric = source->metric,
                                .nodes = asking->nodes.count ? &asking->nodes : NULL,
                                .rows = rows ? &asking->rows : NULL,
                                .combined = asking->combined };
}

static int
read_source (struct asking *asking, struct source *source, struct error *error)
{
  struct points_query query = asking_points (asking, source);
  struct points_into into = bucket_table_into;
  const struct plan *plan = &asking->plan;
  size_t broken = 0;
  int result = 0;

  bucket_table_free (&source->table);
  source->table = (struct bucket_table){ .from_ns = plan->from_ns,
                                         .step_ns = plan->step_ns,
                                         .steps = plan->steps,
                                         .most = asking_series_most (asking),
                                         .rate = source->table.rate };
  into.context = &source->table;
  for (size_t i = 0; i < plan->count && !source->table.full; i++) {
    query.from_ns = plan->pieces[i].from_ns;
    query.to_ns = plan->pieces[i].to_ns;
    if (history_points (asking->file, plan->pieces[i].tier, &query, &into, &broken, error) < 0)
      return -1;
    asking->answer->broken += broken;
  }
  if (source->table.rate) {
    result = pace_finish (&source->table, asking->file, &query, asking->now_ns, &broken, error);
    asking->answer->broken += broken;
  }
  return result;
}

/* With longer steps, until there are no more series than may be. */
static int
read_sources (struct asking *asking, const char **key, struct error *error)
{
  bool full;

  do {
    full = false;
    asking->answer->broken = 0;
    *key = NULL;
    for (size_t i = 0; i < asking->source_count && !full; i++) {
      if (read_source (asking, &asking->sources[i], error) < 0)
        return -1;
      full = asking->sources[i].table.full;
    }
    if (full && asking_again (asking, key, error) < 0)
      return -1;
  } while (full);
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
operand_value (const struct operand *operand, const struct operand_sources *sources, size_t step)
{
  const struct catalog_entry *entry = operand->entry;
  const struct derived *derived = entry ? entry->derived : NULL;
  const struct bucket *bucket, *over;
  struct query_value value;

  if (!entry)
    return (struct query_value){ UINT64_MAX, operand->number, operand->number, operand->number };
  bucket = bucket_at (sources->of, step);
  if (!bucket)
    return (struct query_value){ 0 };
  value = plain_value (bucket, entry, sources->of->table.rate);
  if (!derived)
    return value;
  if (!derived->over)
    return (struct query_value){ value.count, value.value * derived->times, value.min * derived->times,
                                 value.max * derived->times };
  over = bucket_at (sources->over, step);
  if (!over)
    return (struct query_value){ 0 };
  return (struct query_value){ value.count, bucket->sum / over->sum * derived->times, (double) NAN, (double) NAN };
}

/* The ends of two metrics together are not known; those of a metric and a number are. */
static struct query_value
value_of (const struct asking *asking, size_t step)
{
  const struct expression *expression = &asking->expression;
  struct query_value left = operand_value (&expression->left, &asking->left, step), right, value;
  double one, other;

  if (!expression->sign || !left.count)
    return left;
  right = operand_value (&expression->right, &asking->right, step);
  if (!right.count)
    return right;
  value.count = left.count < right.count ? left.count : right.count;
  value.value = expression_compute (expression->sign, left.value, right.value);
  one = expression_compute (expression->sign, left.min, right.min);
  other = expression_compute (expression->sign, left.max, right.max);
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
  struct query_series *series;

  (void) buckets;
  if (!asking_shows (asking, node, row))
    return;
  series = array_add (answer->series, answer->series_count, answer->series_room);
  *series = (struct query_series){ .node = memory_string (node),
                                   .row = memory_string (row),
                                   .values = memory_new (answer->steps, sizeof series->values[0]) };
  go_to_series (asking, node, row);
  for (size_t step = 0; step < answer->steps; step++) {
    struct query_value value = value_of (asking, step);
    if (isfinite (value.value)) /* what is divided by 0 has none */
      series->values[step] = value;
  }
}

/* ---- */

static void
describe (struct asking *asking)
{
  struct query_answer *answer = asking->answer;

  expression_describe (&asking->expression, answer, asking->query->rate || asking->query->levels);
  answer->others = asking->owners != NULL;
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

bool
query_answer_nothing (struct history_file *file, const struct query *query, int64_t now_ns, struct query_answer *answer)
{
  struct query_metrics metrics;
  struct error error;
  const char *key;
  bool is_empty = query_list (file, "", &metrics, &error) == 0 && metrics.count == 0;

  *answer = (struct query_answer){ .fold = query->fold, .step_ns = NS_PER_S, .now_ns = now_ns };
  query_metrics_free (&metrics);
  if (!is_empty || !query->metric || query_interval (query, now_ns, &answer->from_ns, &answer->to_ns, &key, &error) < 0)
    return false;
  answer->metric = memory_string (query->metric);
  answer->unit = memory_string ("");
  answer->help = memory_string ("");
  return true;
}

static int
read_question (struct asking *asking, const char **key, struct error *error)
{
  const struct query *query = asking->query;

  *key = "metric";
  if (!query->metric)
    return error_set (error, "is what to ask for, as load.load_1");
  if (query_interval (query, asking->now_ns, &asking->from_ns, &asking->to_ns, key, error) < 0 ||
      asking_find_job (asking, key, error) < 0)
    return -1;
  *key = NULL;
  if (catalog_read (&asking->catalog, asking->file, error) < 0)
    return -1;
  *key = "metric";
  if (expression_read (&asking->expression, &asking->catalog, query->metric, error) < 0 ||
      asking_take_rows (asking, key, error) < 0 || asking_check_combined (asking, key, error) < 0 ||
      asking_check_rate (asking, key, error) < 0 || asking_check_nodes (asking, key, error) < 0 ||
      asking_take_job_nodes (asking, key, error) < 0 || asking_take_owners (asking, key, error) < 0)
    return -1;
  *key = "bottom";
  if (query->top && query->bottom)
    return error_set (error, "does not go with top");
  asking->left = add_sources (asking, &asking->expression.left);
  asking->right = add_sources (asking, &asking->expression.right);
  return asking_choose_steps (asking, key, error);
}

static void
finish (struct asking *asking)
{
  const struct query *query = asking->query;
  struct query_answer *answer = asking->answer;

  bucket_table_each (&asking_leading (asking)->table, asking, add_series);
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
  job_owners_free (asking->owners);
}

int
query_answer (struct history_file *file, const struct query *query, int64_t now_ns, struct query_answer *answer,
              const char **key, struct error *error)
{
  struct asking asking = { .file = file, .query = query, .answer = answer, .now_ns = now_ns };
  int result;

  *answer = (struct query_answer){ 0 };
  result = read_question (&asking, key, error);
  if (result == 0)
    result = read_sources (&asking, key, error);
  if (result == 0) {
    describe (&asking);
    finish (&asking);
  } else {
    query_answer_free (answer);
  }
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
