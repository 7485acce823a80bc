/* A job's samples as perfmon merges them: lists with an entry a sample, null where a sample lacks something.
 *
 *   {"host_names":["n1",...],"sampling_frequency":1.0,
 *    "n1":{"time_stamps":[1763720400.0,...],"cpu_time":[...],"cpu_percent":[...],...,
 *          "memory_info":{"rss":[...],"vms":[...],"shared":[...]},...},...}
 *
 * docs/metrics-from-other-tools.md says what each of them is. Nodes come one after the other, so that one at a time is
 * held in memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_columns.h"
#include "aggregator/report/job_report_private.h"
#include "aggregator/report/job_report_write.h"
#include "synop/array.h"
#include "synop/clock.h"

#define NONE JOB_COLUMNS_NONE
#define TIME_PLACES 5
#define PERCENT_PLACES 4
#define PUT_AT 65536
#define DOMAINS_MAX 256 /* of a node */

enum source {
  ROW,       /* of the job's row: a gauge, or a counter since the job began */
  NODE,      /* of the node: a counter as it stands, of all rows */
  NODE_RATE, /* of the node: a counter's change a second, of all rows */
  CPU_TIME,  /* this and the next are computed from several */
  CPU_PERCENT,
  CPU_PERCENT_SYS,
};

/* In the order in which they are written; those of one `outer` stand together. */
static const struct quantity {
  const char *outer, *name;
  enum source source;
  const char *group, *metric;
} quantities[] = {
  { NULL, "cpu_time", CPU_TIME, "job_cpu", "user_time" },
  { NULL, "cpu_percent", CPU_PERCENT, "job_cpu", "user_time" },
  { NULL, "cpu_percent_sys", CPU_PERCENT_SYS, "cpu_usage", "idle" },
  { NULL, "memory_percent", ROW, "job_memory", "percent" },
  { "memory_info", "rss", ROW, "job_memory", "rss" },
  { "memory_info", "vms", ROW, "job_memory", "vms" },
  { "memory_info", "shared", ROW, "job_memory", "shared" },
  { "memory_full_info", "uss", ROW, "job_memory", "uss" },
  { "memory_full_info", "swap", ROW, "job_memory", "swap" },
  { "io_counters", "read_bytes", ROW, "job_io", "read_bytes" },
  { "io_counters", "read_count", ROW, "job_io", "read_calls" },
  { "io_counters", "write_bytes", ROW, "job_io", "write_bytes" },
  { "io_counters", "write_count", ROW, "job_io", "write_calls" },
  { "net_io_counters", "bytes_sent", NODE, "network", "tx_bytes" },
  { "net_io_counters", "bytes_recv", NODE, "network", "rx_bytes" },
  { "net_io_counters", "packets_sent", NODE, "network", "tx_packets" },
  { "net_io_counters", "packets_recv", NODE, "network", "rx_packets" },
  { "ib_io_counters", "port_xmit_data", NODE, "infiniband", "port_xmit_data" },
  { "ib_io_counters", "port_xmit_packets", NODE, "infiniband", "port_xmit_packets" },
  { "ib_io_counters", "port_rcv_data", NODE, "infiniband", "port_rcv_data" },
  { "ib_io_counters", "port_rcv_packets", NODE, "infiniband", "port_rcv_packets" },
  { NULL, "num_threads", ROW, "job_processes", "threads" },
  { NULL, "num_fds", ROW, "job_processes", "open_files" },
  { NULL, "memory_bw", NODE_RATE, "memory_bandwidth", "bytes" },
  { "perf_events", "cycles", ROW, "job_counters", "cycles" },
  { "perf_events", "ref-cycles", ROW, "job_counters", "reference_cycles" },
  { "perf_events", "instructions", ROW, "job_counters", "instructions" },
  { "perf_events", "branches", ROW, "job_counters", "branches" },
  { "perf_events", "branch-misses", ROW, "job_counters", "branch_misses" },
  { "perf_events", "cache-references", ROW, "job_counters", "cache_references" },
  { "perf_events", "cache-misses", ROW, "job_counters", "cache_misses" },
  { "perf_events", "context-switches", ROW, "job_counters", "context_switches" },
  { "perf_events", "cpu-migrations", ROW, "job_counters", "migrations" },
  { "perf_events", "page-faults", ROW, "job_counters", "page_faults" },
  { "perf_events", "task-clock", ROW, "job_counters", "task_time" },
};
#define QUANTITIES (sizeof quantities / sizeof quantities[0])

struct sample {
  int64_t time_ns;
  double values[QUANTITIES];
};

/* An energy counter of the node: microjoules as they stand. */
struct domain {
  char label[64];
  double *values; /* one a sample; what it lacks at the end is missing */
  size_t count, capacity;
};

struct merging {
  const struct job_report *report;
  const struct job_perfmon *perfmon;
  struct error *error;
  const size_t *order; /* of the walk's nodes: index in the report */
  size_t at;           /* the walk's node that is being written, */
  size_t walked;       /* and that of the frame */
  const struct schema *schema;
  struct {
    size_t group, column;
  } places[QUANTITIES];
  size_t liveness, system_time, io_wait;
  struct sample *samples; /* of that node */
  size_t count, capacity;
  size_t rapl, rapl_energy; /* the group energy_rapl */
  struct domain *domains;   /* of the node at hand */
  size_t domain_count, domain_capacity;
  double cpu_time; /* of the sample before */
  int64_t monotonic_ns;
  struct json json;
  bool failed;
};

/* ---- values ---- */

static void
find_places (struct merging *merging, const struct schema *schema)
{
  merging->schema = schema;
  for (size_t i = 0; i < QUANTITIES; i++) {
    merging->places[i].group = quantities[i].group ? job_find_group (schema, quantities[i].group) : NONE;
    merging->places[i].column = job_find_column (schema, merging->places[i].group, quantities[i].metric);
  }
  merging->liveness = job_find_group (schema, "job_cpu");
  merging->system_time = job_find_column (schema, merging->liveness, "system_time");
  merging->io_wait = job_find_column (schema, job_find_group (schema, "cpu_usage"), "io_wait");
  merging->rapl = job_find_group (schema, "energy_rapl");
  merging->rapl_energy = job_find_column (schema, merging->rapl, "energy");
}

/* The raw value of a counter: its change from 0. */
static double
standing (const struct table *table, size_t row, size_t column)
{
  static const struct value zero = { .type = VALUE_UINT };
  struct value value;

  if (column == NONE)
    return nan ("");
  value = report_value (&table->group->metrics[column], table_get (table, row, column), &zero, 1);
  return job_number (&value);
}

static double
standing_of_node (const struct table *table, size_t column)
{
  double sum = nan (""), value;

  if (table->group->metrics[column].flags & METRIC_OF_NODE)
    return standing (table, TABLE_NODE, column);
  for (size_t row = 0; row < table->rows; row++) {
    value = standing (table, row, column);
    if (!isnan (value))
      sum = isnan (sum) ? value : sum + value;
  }
  return sum;
}

static double
rate_of_node (const struct report_group *pair, size_t column)
{
  struct value moved = job_node_value (pair, column, NULL, NULL);

  return value_double (&moved) / ((double) report_elapsed_ns (pair) / NS_PER_S);
}

/* In percent of one CPU: four busy CPUs are 400. */
static double
cpu_percent (struct merging *merging, const struct table *liveness, double cpu_time)
{
  double before = merging->cpu_time, seconds = (double) (liveness->monotonic_ns - merging->monotonic_ns) / NS_PER_S;

  merging->cpu_time = cpu_time;
  merging->monotonic_ns = liveness->monotonic_ns;
  return cpu_time >= before && seconds > 0 ? (cpu_time - before) / seconds * 100 : nan ("");
}

/* In percent of all CPUs of the node. */
static double
busy_percent (const struct merging *merging, const struct report_group *pair, size_t idle)
{
  struct value resting = job_node_value (pair, idle, NULL, NULL), waiting = { .type = VALUE_MISSING };

  if (merging->io_wait != NONE)
    waiting = job_node_value (pair, merging->io_wait, NULL, NULL);
  return fmin (fmax (100 - job_number (&resting) - (waiting.type == VALUE_MISSING ? 0 : job_number (&waiting)), 0),
               100);
}

static double
quantity_value (struct merging *merging, const struct cluster_frame *frame, size_t index, size_t liveness_row)
{
  size_t column = merging->places[index].column, row;
  const struct report_group *pair;
  const char *job = merging->report->id;

  if (column == NONE)
    return nan ("");
  pair = &frame->groups[merging->places[index].group];
  if (!pair->now)
    return nan ("");
  switch (quantities[index].source) {
  case ROW:
    row = table_find_row (pair->now, job, strlen (job), liveness_row);
    if (row == NONE)
      return nan ("");
    return pair->now->group->metrics[column].kind == COUNTER ? standing (pair->now, row, column)
                                                             : job_gauge (pair->now, row, column);
  case NODE:
    return standing_of_node (pair->now, column);
  case NODE_RATE:
    return rate_of_node (pair, column);
  case CPU_TIME:
    return standing (pair->now, liveness_row, column) + standing (pair->now, liveness_row, merging->system_time);
  case CPU_PERCENT:
    return cpu_percent (merging, pair->now,
                        standing (pair->now, liveness_row, column) +
                            standing (pair->now, liveness_row, merging->system_time));
  case CPU_PERCENT_SYS: {
    struct value resting = job_node_value (pair, column, NULL, NULL);
    return resting.type == VALUE_MISSING ? nan ("") : busy_percent (merging, pair, column);
  }
  default:
    return nan ("");
  }
}

/* ---- energy counters ---- */

/* NULL: there are too many, or its name is too long. */
static struct domain *
domain_of (struct merging *merging, const char *label, size_t length)
{
  struct domain *domain;

  for (size_t i = 0; i < merging->domain_count; i++)
    if (strlen (merging->domains[i].label) == length && memcmp (merging->domains[i].label, label, length) == 0)
      return &merging->domains[i];
  if (merging->domain_count == DOMAINS_MAX || length >= sizeof domain->label)
    return NULL;
  domain = array_add (merging->domains, merging->domain_count, merging->domain_capacity);
  *domain = (struct domain){ .count = 0 };
  memcpy (domain->label, label, length);
  return domain;
}

static void
domain_fill (struct domain *domain, size_t count)
{
  while (domain->count < count)
    *array_add (domain->values, domain->count, domain->capacity) = nan ("");
}

/* Of the newest sample. */
static void
take_domains (struct merging *merging, const struct cluster_frame *frame)
{
  const struct table *now = merging->rapl_energy == NONE ? NULL : frame->groups[merging->rapl].now;
  size_t length;

  for (size_t row = 0; now && row < now->rows; row++) {
    const char *label = table_label (now, row, &length);
    struct domain *domain = domain_of (merging, label, length);
    if (!domain)
      continue;
    domain_fill (domain, merging->count - 1);
    *array_add (domain->values, domain->count, domain->capacity) = standing (now, row, merging->rapl_energy) * 1e6;
  }
}

static void
domains_free (struct merging *merging)
{
  for (size_t i = 0; i < merging->domain_count; i++)
    free (merging->domains[i].values);
  merging->domain_count = 0;
}

/* ---- writing ---- */

static void
perfmon_put (struct merging *merging)
{
  if (!merging->failed && merging->perfmon->put (merging->perfmon->context, &merging->json.out, merging->error) < 0)
    merging->failed = true;
  buffer_clear (&merging->json.out);
}

static bool
is_percent (const struct quantity *quantity)
{
  return strstr (quantity->name, "percent") != NULL;
}

static void
write_list (struct merging *merging, size_t index)
{
  struct json *json = &merging->json;

  json_array (json_key (json, quantities[index].name));
  for (size_t i = 0; i < merging->count; i++) {
    double value = merging->samples[i].values[index];
    if (isnan (value))
      json_null (json);
    else if (is_percent (&quantities[index]))
      json_real_places (json, value, PERCENT_PLACES);
    else
      json_real (json, value);
    if (json->out.length >= PUT_AT)
      perfmon_put (merging);
  }
  json_array_end (json);
}

static void
write_domain (struct merging *merging, struct domain *domain)
{
  struct json *json = &merging->json;

  domain_fill (domain, merging->count);
  json_array (json_key_n (json, domain->label, strlen (domain->label)));
  for (size_t i = 0; i < domain->count; i++) {
    json_real (json, domain->values[i]);
    if (json->out.length >= PUT_AT)
      perfmon_put (merging);
  }
  json_array_end (json);
}

static bool
same_outer (size_t index, size_t other)
{
  const char *one = quantities[index].outer, *two = other < QUANTITIES ? quantities[other].outer : NULL;

  return one && two && strcmp (one, two) == 0;
}

static void
perfmon_node (struct merging *merging, size_t index)
{
  struct json *json = &merging->json;
  const char *name = merging->report->nodes[index].name;

  json_object (json_key_n (json, name, strlen (name)));
  json_array (json_key (json, "time_stamps"));
  for (size_t i = 0; i < merging->count; i++)
    json_real_places (json, (double) merging->samples[i].time_ns / NS_PER_S, TIME_PLACES);
  json_array_end (json);
  for (size_t i = 0; i < QUANTITIES; i++) {
    if (quantities[i].outer && (i == 0 || !same_outer (i, i - 1)))
      json_object (json_key (json, quantities[i].outer));
    write_list (merging, i);
    if (quantities[i].outer && !same_outer (i, i + 1))
      json_object_end (json);
  }
  json_object (json_key (json, "rapl_powercap"));
  for (size_t i = 0; i < merging->domain_count; i++)
    write_domain (merging, &merging->domains[i]);
  json_object_end (json);
  json_object_end (json);
  perfmon_put (merging);
}

/* Writes the nodes up to this one; those without samples have empty lists. */
static void
go_on_to (struct merging *merging, size_t node)
{
  for (; merging->at < node; merging->at++) {
    perfmon_node (merging, merging->order[merging->at]);
    merging->count = 0;
    domains_free (merging);
    merging->cpu_time = nan ("");
  }
}

/* ---- frames ---- */

static void
merge_frame (void *context, const struct cluster_frame *frame)
{
  struct merging *merging = context;
  const char *job = merging->report->id;
  const struct table *liveness;
  struct sample *sample;
  size_t row;

  go_on_to (merging, merging->walked);
  if (merging->schema != frame->schema)
    find_places (merging, frame->schema);
  liveness = merging->liveness == NONE ? NULL : frame->groups[merging->liveness].now;
  row = liveness ? table_find_row (liveness, job, strlen (job), 0) : NONE;
  if (row == NONE)
    return;
  sample = array_add (merging->samples, merging->count, merging->capacity);
  sample->time_ns = frame->time_ns;
  for (size_t i = 0; i < QUANTITIES; i++)
    sample->values[i] = quantity_value (merging, frame, i, row);
  take_domains (merging, frame);
}

static const struct view merge_view = { .name = "perfmon", .frame = merge_frame };

/* ---- */

static void
write_head (struct merging *merging)
{
  const struct job_report *report = merging->report;
  struct json *json = &merging->json;

  json_object (json);
  json_array (json_key (json, "host_names"));
  for (size_t i = 0; i < report->node_count; i++)
    json_text (json, report->nodes[i].name);
  json_array_end (json);
  json_key (json, "sampling_frequency");
  if (report->period_ns)
    json_real_places (json, (double) report->period_ns / NS_PER_S, TIME_PLACES);
  else
    json_null (json);
}

int
job_report_perfmon (struct history_file *file, const struct job_report *report, const struct job_perfmon *perfmon,
                    struct error *error)
{
  struct merging merging = { .report = report, .perfmon = perfmon, .error = error, .cpu_time = nan ("") };
  struct job_walk walk = job_walk (report);
  size_t broken;
  int result;

  merging.order = walk.order;
  walk.history.into = (struct history_into){
    .view = &merge_view, .state = &merging, .ended = &merging.failed, .progress = perfmon->progress
  };
  walk.history.node = &merging.walked;
  write_head (&merging);
  result = history_walk (file, &walk.history, &broken, error);
  if (result == 0) {
    go_on_to (&merging, report->node_count);
    json_object_end (&merging.json);
    json_newline (&merging.json);
    perfmon_put (&merging);
  }
  domains_free (&merging);
  free (merging.domains);
  free (merging.samples);
  json_free (&merging.json);
  job_walk_free (&walk);
  return result < 0 || merging.failed ? -1 : 0;
}
