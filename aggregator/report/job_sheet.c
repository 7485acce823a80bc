/* See job_sheet.h. */
#include "aggregator/report/job_sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/fact_rows.h"
#include "aggregator/report/job_energy.h"
#include "aggregator/report/job_plot.h"
#include "aggregator/report/job_roofline.h"
#include "aggregator/report/job_words.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define GAPS_NAMED 6
#define TOTAL "Total"
#define FARTHEST 4 /* from this column on nodes are compared */

/* ---- facts ---- */

static struct buffer *
begin_value (struct buffer *value)
{
  buffer_clear (value);
  return value;
}

static void
add_fact (struct sheet_facts *facts, const char *name, const struct buffer *value)
{
  if (value->length == 0)
    return;
  facts->list = memory_resize (facts->list, facts->count + 1, sizeof facts->list[0]);
  facts->list[facts->count++] = (struct sheet_fact){ name, memory_copy (value->data, value->length) };
}

static void
add_identity (struct sheet_facts *facts, const struct job_report *report, struct buffer *value)
{
  buffer_add_string (begin_value (value), report->cluster);
  add_fact (facts, "Cluster", value);
  buffer_add_string (begin_value (value), report->scheduler);
  add_fact (facts, "Scheduler", value);
  buffer_add_string (begin_value (value), report->array);
  add_fact (facts, "Array task", value);
  buffer_add_string (begin_value (value), report->name);
  add_fact (facts, "Name", value);
  buffer_add_string (begin_value (value), report->user);
  add_fact (facts, "User", value);
  buffer_add_string (begin_value (value), report->command);
  add_fact (facts, "Command", value);
  begin_value (value);
  if (report->node_count != 1)
    buffer_printf (value, "%zu%s", report->node_count, report->node_count ? ": " : "");
  words_nodes (value, report, NULL, 220);
  add_fact (facts, report->node_count == 1 ? "Node" : "Nodes", value);
}

static const char *
reason_words (const char *reason)
{
  if (strcmp (reason, "gone") == 0)
    return ", when it was last seen";
  if (strcmp (reason, "told") == 0)
    return ", as the scheduler announced";
  if (strcmp (reason, "restart") == 0)
    return ", when it was last seen before a restart";
  return "";
}

static void
add_times (struct sheet_facts *facts, const struct job_report *report, struct buffer *value)
{
  buffer_add_string (begin_value (value), words_time (report->started_ns).text);
  add_fact (facts, "Started", value);
  if (report->ended_ns)
    buffer_printf (begin_value (value), "%s%s", words_time (report->ended_ns).text, reason_words (report->reason));
  else
    buffer_printf (begin_value (value), "it runs still; this is up to %s", words_time (report->until_ns).text);
  add_fact (facts, "Ended", value);
  buffer_add_string (begin_value (value),
                     words_duration ((double) (report->until_ns - report->started_ns) / NS_PER_S).text);
  add_fact (facts, "Duration", value);
  buffer_add_string (begin_value (value), words_resolution (report).text);
  add_fact (facts, "Read from", value);
}

static void
add_scheduler (struct sheet_facts *facts, const struct job_report *report)
{
  struct fact_rows rows;

  fact_rows_init (&rows, &report->facts);
  for (size_t i = 0; i < rows.count; i++)
    add_fact (facts, rows.rows[i].label, &rows.rows[i].value);
  fact_rows_free (&rows);
}

static void
add_use (struct sheet_facts *facts, const struct job_report *report, struct buffer *value)
{
  begin_value (value);
  if (!isnan (report->cpus))
    buffer_printf (value, "%.10g", report->cpus);
  add_fact (facts, "CPUs", value);
  begin_value (value);
  if (!isnan (report->cpu_time))
    buffer_add_string (value, words_value (report->cpu_time, "s").text);
  if (!isnan (report->cpu_efficiency))
    buffer_printf (value, "%s%s of what was allocated", value->length ? ", " : "",
                   words_value (report->cpu_efficiency, "%").text);
  add_fact (facts, "CPU time", value);
  begin_value (value);
  if (!isnan (report->memory_peak))
    buffer_add_string (value, words_value (report->memory_peak, "B").text);
  if (value->length && report->memory_peak_node < report->node_count)
    buffer_printf (value, " on %s", report->nodes[report->memory_peak_node].name);
  add_fact (facts, "Peak memory", value);
  job_bandwidth_words (begin_value (value), report);
  add_fact (facts, "Memory bandwidth", value);
  job_flops_words (begin_value (value), report);
  add_fact (facts, "Floating point", value);
  job_instructions_words (begin_value (value), report);
  add_fact (facts, "Instructions", value);
  job_energy_words (begin_value (value), report);
  add_fact (facts, "Energy", value);
  job_cost_words (begin_value (value), report);
  add_fact (facts, "Cost", value);
}

static void
add_gaps (struct sheet_facts *facts, const struct job_report *report, struct buffer *value)
{
  size_t gaps = 0, nodes = 0, named = 0;
  double seconds = 0;

  for (size_t i = 0; i < report->node_count; i++) {
    gaps += report->nodes[i].gap_count;
    nodes += report->nodes[i].gap_count > 0;
    seconds += report->nodes[i].gap_seconds;
  }
  begin_value (value);
  if (gaps == 0)
    buffer_add_string (value, "none");
  else
    buffer_printf (value, "%zu on %zu of %zu nodes, %s together: ", gaps, nodes, report->node_count,
                   words_duration (seconds).text);
  for (size_t i = 0; i < report->node_count && named < GAPS_NAMED; i++)
    for (size_t g = 0; g < report->nodes[i].gap_count && named < GAPS_NAMED; g++) {
      const struct job_gap *gap = &report->nodes[i].gaps[g];
      buffer_printf (value, "%s%s ", named++ ? "; " : "", words_short (report->nodes[i].name, 30).text);
      buffer_printf (value, "%s to ", words_clock (gap->from_ns).text);
      buffer_printf (value, "%s ", words_clock (gap->to_ns).text);
      buffer_printf (value, "(%s)", words_duration ((double) (gap->to_ns - gap->from_ns) / NS_PER_S).text);
    }
  if (gaps > named)
    buffer_printf (value, "; %zu more", gaps - named);
  add_fact (facts, "Gaps", value);
}

static void
add_lost (struct sheet_facts *facts, const struct job_report *report, struct buffer *value)
{
  words_lost_nodes (begin_value (value), report, 200);
  if (value->length)
    buffer_add_string (value, ", silent while the job ran");
  add_fact (facts, "Lost nodes", value);
}

void
sheet_facts_init (struct sheet_facts *facts, const struct job_report *report)
{
  struct buffer value = { 0 };

  *facts = (struct sheet_facts){ 0 };
  add_identity (facts, report, &value);
  add_times (facts, report, &value);
  add_scheduler (facts, report);
  add_use (facts, report, &value);
  add_gaps (facts, report, &value);
  add_lost (facts, report, &value);
  buffer_free (&value);
}

void
sheet_facts_free (struct sheet_facts *facts)
{
  for (size_t i = 0; i < facts->count; i++)
    free (facts->list[i].value);
  free (facts->list);
  *facts = (struct sheet_facts){ 0 };
}

/* ---- tables ---- */

bool
sheet_add_numbers (struct sheet_table *table, const struct sheet_column *column, const double *values, size_t count)
{
  struct sheet_column *made = &table->columns[table->column_count];
  struct scale scale;
  double most = nan ("");

  for (size_t i = 0; i < count; i++)
    most = fmax (most, values[i]);
  if (isnan (most) || (column->if_any && !(most > 0)))
    return false;
  scale = scale_for (column->unit, most);
  *made = *column;
  made->unit = scale.unit;
  made->divisor = scale.divisor;
  table->column_count++;
  return true;
}

void
sheet_begin (struct sheet_table *table, size_t rows)
{
  table->row_count = rows;
  table->cells = memory_new (rows * table->column_count, sizeof table->cells[0]);
  table->marked = memory_new (rows, sizeof table->marked[0]);
}

void
sheet_set (struct sheet_table *table, size_t row, size_t column, const char *text)
{
  table->cells[row * table->column_count + column] = memory_string (text);
}

void
sheet_set_number (struct sheet_table *table, size_t row, size_t column, double value)
{
  double shown = value / table->columns[column].divisor;
  char *text = table->columns[column].whole && !isnan (value) ? memory_format ("%.10g", shown)
                                                              : memory_string (words_number (shown).text);

  table->cells[row * table->column_count + column] = text;
}

void
sheet_table_free (struct sheet_table *table)
{
  for (size_t i = 0; i < table->row_count * table->column_count; i++)
    free (table->cells[i]);
  free (table->cells);
  free (table->marked);
  buffer_free (&table->above);
  buffer_free (&table->behind);
  *table = (struct sheet_table){ 0 };
}

/* The unit of an item's total: what flows per second adds up. */
static const char *
total_unit (enum job_item_id item)
{
  if (item == JOB_CPU_USER || item == JOB_CPU_SYSTEM)
    return "s";
  if (strcmp (job_items[item].unit, "B/s") == 0)
    return "B";
  if (strcmp (job_items[item].unit, "FLOP/s") == 0)
    return "FLOP";
  if (strcmp (job_items[item].unit, "W") == 0)
    return "J";
  return job_items[item].unit;
}

static void
items_row (struct sheet_table *table, size_t row, const struct job_report *report, enum job_item_id id)
{
  const struct job_item *item = &job_items[id];
  const struct job_series *all = &report->all[id];
  const struct job_imbalance *imbalance = &report->imbalances[id];
  const char *unit = id == JOB_CPU_USER || id == JOB_CPU_SYSTEM ? "CPUs" : item->unit; /* seconds per second */
  struct buffer name = { 0 };
  size_t c = 0;

  plot_item_title (&name, id);
  if (job_is_of_nodes (report, id))
    buffer_add_string (&name, "*");
  sheet_set (table, row, c++, buffer_text (&name));
  sheet_set (table, row, c++, words_value (all->mean, unit).text);
  sheet_set (table, row, c++, words_value (all->maximum, unit).text);
  if (strcmp (table->columns[c].head, TOTAL) == 0)
    sheet_set (table, row, c++, words_value (all->total, total_unit (id)).text);
  buffer_free (&name);
  if (c == table->column_count)
    return;
  sheet_set (table, row, c++, imbalance->node && !isnan (imbalance->percent) ? imbalance->node : "-");
  sheet_set (table, row, c++, words_value (imbalance->node ? imbalance->value : nan (""), unit).text);
  sheet_set (table, row, c++, words_value (imbalance->node ? imbalance->mean : nan (""), unit).text);
  sheet_set (table, row, c, words_times (1 + imbalance->percent / 100).text);
}

static bool
is_row (const struct job_report *report, int item, enum job_combination combination)
{
  return report->all[item].known && job_items[item].title &&
         (report->node_count < 2 ? combination == JOB_SUM : job_items[item].combination == combination);
}

const char *
sheet_items_title (const struct job_report *report, enum job_combination combination)
{
  static const char *const titles[] = {
    [JOB_SUM] = "Sum of all nodes", [JOB_MEAN] = "Mean of all nodes", [JOB_MAXIMUM] = "Highest of all nodes"
  };

  return report->node_count < 2 ? "In figures" : titles[combination];
}

void
sheet_items_init (struct sheet_table *table, const struct job_report *report, enum job_combination combination)
{
  static const struct sheet_column columns[] = {
    { .head = "Quantity", .unit = "", .words = true, .share = 4.2 },
    { .head = "Mean", .unit = "", .share = 2 },
    { .head = "Maximum", .unit = "", .share = 2 },
    { .head = TOTAL, .unit = "", .share = 1.75 },
    { .head = "Farthest", .unit = "", .words = true, .share = 2.2 },
    { .head = "Its mean", .unit = "", .share = 2.05 },
    { .head = "Others", .unit = "", .share = 2 },
    { .head = "Highest/mean", .unit = "", .share = 2.2 },
  };
  bool several = report->node_count > 1, of_nodes = false;
  size_t rows = 0;

  *table = (struct sheet_table){ 0 };
  for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
    if ((i < FARTHEST || several) && (combination == JOB_SUM || strcmp (columns[i].head, TOTAL) != 0))
      table->columns[table->column_count++] = columns[i];
  for (int item = 0; item < JOB_ITEM_COUNT; item++)
    rows += is_row (report, item, combination);
  sheet_begin (table, rows);
  rows = 0;
  for (int item = 0; item < JOB_ITEM_COUNT; item++)
    if (is_row (report, item, combination)) {
      of_nodes |= job_is_of_nodes (report, (size_t) item);
      items_row (table, rows++, report, (enum job_item_id) item);
    }
  if (of_nodes)
    buffer_add_string (&table->behind, several ? "* of whole nodes" : "* of the whole node");
}

/* ---- the nodes ---- */

enum node_value { NODE_CPUS, NODE_CPU_TIME, NODE_TOTAL, NODE_MEAN, NODE_MAXIMUM, NODE_SAMPLES, NODE_GAPS };

static const struct node_column {
  const char *head, *unit;
  enum node_value value;
  enum job_item_id item;
} node_columns[] = {
  { "CPUs", "", NODE_CPUS, JOB_ITEM_COUNT },          { "CPU time", "s", NODE_CPU_TIME, JOB_ITEM_COUNT },
  { "CPU use", "%", NODE_MEAN, JOB_CPU_USAGE },       { "Memory", "B", NODE_MEAN, JOB_MEMORY },
  { "Peak", "B", NODE_MAXIMUM, JOB_MEMORY_PEAK },     { "Read", "B", NODE_TOTAL, JOB_READ },
  { "Written", "B", NODE_TOTAL, JOB_WRITE },          { "Net in", "B", NODE_TOTAL, JOB_NETWORK_RECEIVED },
  { "Net out", "B", NODE_TOTAL, JOB_NETWORK_SENT },   { "IB in", "B", NODE_TOTAL, JOB_INFINIBAND_RECEIVED },
  { "IB out", "B", NODE_TOTAL, JOB_INFINIBAND_SENT }, { "Mem. bw.", "B/s", NODE_MEAN, JOB_MEMORY_BANDWIDTH },
  { "Energy", "J", NODE_TOTAL, JOB_ENERGY },          { "GPU use", "%", NODE_MEAN, JOB_GPU_USAGE },
  { "GPU mem.", "B", NODE_MAXIMUM, JOB_GPU_MEMORY },  { "GPU en.", "J", NODE_TOTAL, JOB_GPU_ENERGY },
  { "OOM kills", "", NODE_TOTAL, JOB_OOM_KILLS },     { "Gaps", "s", NODE_GAPS, JOB_ITEM_COUNT },
  { "Samples", "", NODE_SAMPLES, JOB_ITEM_COUNT },
};
#define NODE_COLUMNS (sizeof node_columns / sizeof node_columns[0])

static double
node_value (const struct job_node *node, const struct node_column *column)
{
  const struct job_series *series = column->item < JOB_ITEM_COUNT ? &node->series[column->item] : NULL;
  const struct job_series *user = &node->series[JOB_CPU_USER], *system = &node->series[JOB_CPU_SYSTEM];

  switch (column->value) {
  case NODE_CPUS:
    return node->cpus;
  case NODE_CPU_TIME:
    return user->known && system->known ? user->total + system->total : nan ("");
  case NODE_SAMPLES:
    return (double) node->samples;
  case NODE_GAPS:
    return node->gap_seconds;
  case NODE_TOTAL:
    return series->known ? series->total : nan ("");
  case NODE_MEAN:
    return series->known ? series->mean : nan ("");
  case NODE_MAXIMUM:
    return series->known ? series->maximum : nan ("");
  }
  return nan ("");
}

/* The words of a head stand under each other. */
static size_t
longest_word (const char *head)
{
  size_t longest = 0;

  for (size_t length; *head; head += length + (head[length] == ' ')) {
    length = strcspn (head, " ");
    longest = length > longest ? length : longest;
  }
  return longest;
}

void
sheet_nodes_init (struct sheet_table *table, const struct job_report *report)
{
  double *values = memory_new (report->node_count, sizeof *values);
  size_t of[SHEET_COLUMNS_MAX];

  _Static_assert(NODE_COLUMNS < SHEET_COLUMNS_MAX, "room for all columns");
  *table = (struct sheet_table){ .columns = { { "Node", "", true, 2.6 } }, .column_count = 1 };
  for (size_t i = 0; i < NODE_COLUMNS; i++) {
    struct sheet_column column = { .head = node_columns[i].head,
                                   .unit = node_columns[i].unit,
                                   .share = 0.8 + 0.12 * fmax (5, (double) longest_word (node_columns[i].head)),
                                   .whole = node_columns[i].value == NODE_CPUS || node_columns[i].value == NODE_SAMPLES,
                                   .if_any = node_columns[i].item == JOB_OOM_KILLS };
    for (size_t n = 0; n < report->node_count; n++)
      values[n] = node_value (&report->nodes[n], &node_columns[i]);
    if (sheet_add_numbers (table, &column, values, report->node_count))
      of[table->column_count - 1] = i;
  }
  sheet_begin (table, report->node_count);
  for (size_t n = 0; n < report->node_count; n++) {
    const struct job_node *node = &report->nodes[n];
    char *name = memory_format ("%s%s", node->name, node->lost ? " (lost)" : "");
    sheet_set (table, n, 0, name);
    free (name);
    table->marked[n] = n == report->slowest;
    for (size_t c = 1; c < table->column_count; c++)
      sheet_set_number (table, n, c, node_value (node, &node_columns[of[c]]));
  }
  free (values);
}
