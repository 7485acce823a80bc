/* Jobs in a scratch history: frames of made-up nodes with the groups that agents have for jobs. */
#ifndef SYNOP_TESTS_JOB_HISTORY_H
#define SYNOP_TESTS_JOB_HISTORY_H

#include <math.h>

#include "aggregator/report/job_report_private.h"
#include "aggregator/report/job_report_write.h"
#include "tests/unit/aggregator/history/history_bench.h"

#define JOB_GROUP(NAME)                                                                                                \
  {                                                                                                                    \
#NAME, "job_data", "job", "jobs", "total", 0, "A group.", GROUP_METRICS(NAME##_metrics)                            \
  }

static const struct metric job_info_metrics[] = {
  { "user", TEXT, UNIT_NONE, FOLD_NONE, .help = "User." },
  { "cpus", GAUGE, UNIT_COUNT, FOLD_NONE, .help = "CPUs." },
  { "source", TEXT, UNIT_NONE, FOLD_NONE, .help = "Source." },
};
static const struct metric job_cpu_metrics[] = {
  { "user_time", COUNTER, UNIT_SECONDS, FOLD_SUM, .per = 1000000000, .help = "Time." },
  { "system_time", COUNTER, UNIT_SECONDS, FOLD_SUM, .per = 1000000000, .help = "Time." },
  { "usage", COUNTER, UNIT_SECONDS, FOLD_SUM, METRIC_SHARE, .per = 1000000000, .help = "Use." },
  { "cpus", GAUGE, UNIT_COUNT, FOLD_SUM, .help = "CPUs." },
};
static const struct metric job_memory_metrics[] = {
  { "rss", GAUGE, UNIT_BYTES, FOLD_SUM, .help = "Memory." },
  { "rss_peak", GAUGE, UNIT_BYTES, FOLD_SUM, .help = "Peak." },
  { "percent", GAUGE, UNIT_PERCENT, FOLD_SUM, .help = "Percent." },
  { "cgroup_limit", GAUGE, UNIT_BYTES, FOLD_SUM, .help = "Limit." },
  { "swap", GAUGE, UNIT_BYTES, FOLD_SUM, .help = "Swap." },
  { "oom_kills", COUNTER, UNIT_COUNT, FOLD_SUM, .help = "Kills." },
};
static const struct metric job_io_metrics[] = {
  { "read_bytes", COUNTER, UNIT_BYTES, FOLD_SUM, .help = "Read." },
  { "write_bytes", COUNTER, UNIT_BYTES, FOLD_SUM, .help = "Written." },
};
static const struct metric job_processes_metrics[] = {
  { "processes", GAUGE, UNIT_COUNT, FOLD_SUM, .help = "Processes." },
  { "threads", GAUGE, UNIT_COUNT, FOLD_SUM, .help = "Threads." },
};
static const struct metric network_metrics[] = {
  { "rx_bytes", COUNTER, UNIT_BYTES, FOLD_SUM, .help = "Received." },
  { "tx_bytes", COUNTER, UNIT_BYTES, FOLD_SUM, .help = "Sent." },
  { "in_total", GAUGE, UNIT_BOOLEAN, FOLD_NONE, METRIC_COUNTS, .help = "Counts." },
  { "speed", GAUGE, UNIT_BITS_PER_SECOND, FOLD_NONE, .help = "Speed." },
};
static const struct metric job_gpu_metrics[] = {
  { "gpus", TEXT, UNIT_NONE, FOLD_NONE, .help = "GPUs." },
  { "idle", TEXT, UNIT_NONE, FOLD_NONE, .help = "Idle ones." },
  { "gpus_used", GAUGE, UNIT_COUNT, FOLD_SUM, .help = "Used." },
  { "gpus_idle", GAUGE, UNIT_COUNT, FOLD_SUM, .help = "Idle." },
};
static const struct metric gpu_info_metrics[] = {
  { "name", TEXT, UNIT_NONE, FOLD_NONE, .help = "Model." },
};
static const struct metric pressure_metrics[] = {
  { "io_some_avg10", GAUGE, UNIT_PERCENT, FOLD_MEAN, METRIC_OF_NODE, .help = "Waiting." },
};
static const struct metric gpu_metrics[] = {
  { "utilization", GAUGE, UNIT_PERCENT, FOLD_MEAN, .help = "Use." },
  { "memory_used", GAUGE, UNIT_BYTES, FOLD_SUM, .help = "Memory." },
  { "energy", COUNTER, UNIT_JOULES, FOLD_SUM, .help = "Energy." },
  { "memory_total", GAUGE, UNIT_BYTES, FOLD_SUM, .help = "Memory." },
};
static const struct metric job_energy_metrics[] = {
  { "energy", COUNTER, UNIT_JOULES, FOLD_SUM, .per = 1000000, .help = "Energy." },
  { "estimated", COUNTER, UNIT_JOULES, FOLD_SUM, .per = 1000000, .help = "Estimated." },
};
static const struct metric node_power_metrics[] = {
  { "energy", COUNTER, UNIT_JOULES, FOLD_SUM, .per = 1000000, .help = "Energy." },
  { "whole", GAUGE, UNIT_BOOLEAN, FOLD_MIN, METRIC_OF_NODE, .help = "All of it." },
};
static const struct group job_groups[] = {
  JOB_GROUP (job_info),
  JOB_GROUP (job_cpu),
  JOB_GROUP (job_memory),
  JOB_GROUP (job_io),
  { "network", "system_data", "interface", "devices", "total", 0, "A group.", GROUP_METRICS (network_metrics) },
  JOB_GROUP (job_processes),
  JOB_GROUP (job_gpu),
  { "gpu", "system_data", "GPU", "gpus", "total", 0, "A group.", GROUP_METRICS (gpu_metrics) },
  JOB_GROUP (job_energy),
  { "node_power", "system_data", "part", "parts", "node", 0, "A group.", GROUP_METRICS (node_power_metrics) },
  { "pressure", "system_data", "part", "parts", "node", 0, "A group.", GROUP_METRICS (pressure_metrics) },
  { "gpu_info", "system_data", "GPU", "gpus", "total", 0, "A group.", GROUP_METRICS (gpu_info_metrics) },
};
static const struct group *const job_group_list[] = {
  &job_groups[0], &job_groups[1], &job_groups[2], &job_groups[3], &job_groups[4],  &job_groups[5],
  &job_groups[6], &job_groups[7], &job_groups[8], &job_groups[9], &job_groups[10], &job_groups[11]
};
#define JOB_GROUPS 12
#define SECOND_NS INT64_C (1000000000)

/* The tables of a node's last frame, with which the next is compared, as the core does. */
struct job_chain {
  struct table tables[JOB_GROUPS];
  uint64_t session; /* 0: there was none */
};

/* One sample. Counters are as they stand. */
struct job_sample {
  struct job_chain *chain; /* NULL: it is compared with nothing */
  double at;               /* seconds since the scratch's start */
  uint64_t session, sequence;
  bool lo_counts;              /* for all that its agent says, though it is compared */
  bool absent;                 /* the job is not there */
  bool gone;                   /* its row is the last, without processes */
  bool other;                  /* another job is there too */
  uint64_t user_ms, system_ms; /* of CPU time */
  double cpus;
  uint64_t rss, rss_peak, read, written, received, sent;
  bool no_memory;             /* the row has no values there */
  double rss_real;            /* rather than rss, unless 0 */
  int64_t period_ns;          /* as told; 0: a second */
  const char *source, *error; /* of job_info; of job_io. NULL: none */
  const char *network_error;  /* beside its values; NULL: none */
  double joules, estimated;   /* of the job; 0: not known */
  unsigned node_gpus;      /* GPU K is used by 10 K percent, K bytes, K joules a second; 9 has no use that is known */
  const char *gpus, *mute; /* of which the job has these; error of job_gpu. NULL: none */
  bool amd;                /* the last is "amd0" */
  /* 0 or NULL: none, as before. */
  uint64_t limit, swap, oom_kills, link; /* link: bits a second */
  double waiting;                        /* percent, for storage */
  unsigned threads;                      /* 0: 12 */
  const char *idle, *types[4];           /* of the job's GPUs; the models of the node's */
  unsigned used;                         /* of the job's GPUs, with processes of the job */
  unsigned gpu_percent[4];               /* where the types are known */
};

static inline void
fill_job (struct table tables[JOB_GROUPS], const char *job, const struct job_sample *sample)
{
  size_t length = strlen (job), row;
  uint64_t user = sample->user_ms * 1000000, system = sample->system_ms * 1000000;

  for (size_t i = 1; i < 4; i++)
    table_add_row (&tables[i], job, length);
  table_set_uint (&tables[1], 0, 0, user);
  table_set_uint (&tables[1], 0, 1, system);
  table_set_uint (&tables[1], 0, 2, sample->cpus > 0 ? (uint64_t) ((double) (user + system) / sample->cpus) : 0);
  if (sample->cpus > 0)
    table_set_real (&tables[1], 0, 3, sample->cpus);
  if (!sample->no_memory) {
    table_set_uint (&tables[2], 0, 0, sample->rss);
    if (sample->rss_real != 0)
      table_set_real (&tables[2], 0, 0, sample->rss_real);
    table_set_uint (&tables[2], 0, 1, sample->rss_peak);
    table_set_real (&tables[2], 0, 2, 12.5);
    if (sample->limit)
      table_set_uint (&tables[2], 0, 3, sample->limit);
    table_set_uint (&tables[2], 0, 4, sample->swap);
    table_set_uint (&tables[2], 0, 5, sample->oom_kills);
  }
  table_set_uint (&tables[3], 0, 0, sample->read);
  table_set_uint (&tables[3], 0, 1, sample->written);
  row = table_add_row (&tables[5], job, length);
  table_set_uint (&tables[5], row, 0, sample->gone ? 0 : 3);
  table_set_uint (&tables[5], row, 1, sample->gone ? 0 : sample->threads ? sample->threads : 12);
  if (sample->joules > 0) {
    row = table_add_row (&tables[8], job, length);
    table_set_uint (&tables[8], row, 0, (uint64_t) (sample->joules * 1e6));
    table_set_uint (&tables[8], row, 1, (uint64_t) (sample->estimated * 1e6));
    table_set_uint (&tables[9], TABLE_NODE, 1, sample->estimated > 0);
  }
  if (sample->source) {
    row = table_add_row (&tables[0], job, length);
    table_set_text (&tables[0], row, 0, "ana", 3);
    table_set_text (&tables[0], row, 2, sample->source, strlen (sample->source));
  }
}

static inline void
fill_gpus (struct table *jobs, struct table *gpus, struct table *info, const char *job, const struct job_sample *sample)
{
  if (sample->gpus) {
    size_t row = table_add_row (jobs, job, strlen (job));
    table_set_text (jobs, row, 0, sample->gpus, strlen (sample->gpus));
    if (sample->idle)
      table_set_text (jobs, row, 1, sample->idle, strlen (sample->idle));
    if (sample->idle) {
      unsigned idle = sample->idle[0] != '\0';
      for (const char *at = sample->idle; *at; at++)
        idle += *at == ',';
      table_set_uint (jobs, row, 2, sample->used);
      table_set_uint (jobs, row, 3, idle);
    }
  }
  if (sample->mute)
    snprintf (jobs->error, sizeof jobs->error, "%s", sample->mute);
  for (unsigned i = 0; i < sample->node_gpus; i++) {
    char label[8];
    snprintf (label, sizeof label, sample->amd && i + 1 == sample->node_gpus ? "amd0" : "%u", i);
    table_add_row (gpus, label, strlen (label));
    if (i != 9)
      table_set_uint (gpus, i, 0, 10 * i);
    table_set_uint (gpus, i, 1, i);
    table_set_uint (gpus, i, 2, i * sample->sequence);
    if (i < 4 && sample->types[i]) {
      table_set_uint (gpus, i, 0, sample->gpu_percent[i]);
      table_set_uint (gpus, i, 1, UINT64_C (20) << 30);
      table_set_uint (gpus, i, 3, UINT64_C (80) << 30);
      table_set_text (info, table_add_row (info, label, strlen (label)), 0, sample->types[i],
                      strlen (sample->types[i]));
    }
  }
}

static inline void
put_sample (struct scratch *scratch, const char *node, const char *job, const struct job_sample *sample)
{
  struct table tables[JOB_GROUPS];
  const struct table *list[JOB_GROUPS];
  struct report_group groups[JOB_GROUPS] = { 0 };
  struct frame_header header = { .session = sample->session ? sample->session : 5, .sequence = sample->sequence };
  struct buffer bytes = { 0 };
  struct cluster_frame frame = { .header = &header,
                                 .time_ns = scratch->start_ns + (int64_t) (sample->at * 1e9),
                                 .bound_ns = -1,
                                 .drift_ppb = INT64_MIN,
                                 .probe_age_ms = -1,
                                 .schema = scratch->schema,
                                 .groups = groups };

  strcpy (header.node, node);
  memcpy (header.schema, scratch->schema->hash, SCHEMA_HASH_SIZE);
  header.monotonic_ns = (int64_t) (sample->at * 1e9) + 5000 * SECOND_NS;
  for (size_t i = 0; i < JOB_GROUPS; i++) {
    table_init (&tables[i], &job_groups[i]);
    if (sample->chain && sample->chain->session == header.session)
      groups[i].before = &sample->chain->tables[i];
    tables[i].sequence = header.sequence;
    tables[i].monotonic_ns = header.monotonic_ns;
    tables[i].period_ns = sample->period_ns ? sample->period_ns : SECOND_NS;
    list[i] = groups[i].now = &tables[i];
  }
  if (!sample->absent)
    fill_job (tables, job, sample);
  fill_gpus (&tables[6], &tables[7], &tables[11], job, sample);
  if (sample->waiting > 0)
    table_set_real (&tables[10], TABLE_NODE, 0, sample->waiting);
  if (sample->other)
    table_set_uint (&tables[1], table_add_row (&tables[1], "other", 5), 0, 77);
  if (sample->error)
    snprintf (tables[3].error, sizeof tables[3].error, "%s", sample->error);
  if (sample->network_error)
    snprintf (tables[4].error, sizeof tables[4].error, "%s", sample->network_error);
  table_add_row (&tables[4], "lo", 2);
  table_add_row (&tables[4], "eth0", 4);
  table_add_row (&tables[4], "bond0", 5);
  table_set_uint (&tables[4], 0, 0,
                  1000000 * sample->sequence); /* neither of them counts: lo not even where an agent of */
  table_set_uint (&tables[4], 2, 0, 2000000 * sample->sequence); /* before does not say so */
  table_set_uint (&tables[4], 2, 2, 0);
  if (sample->chain && !sample->lo_counts)
    table_set_uint (&tables[4], 0, 2, 0);
  table_set_uint (&tables[4], 1, 0, sample->received);
  table_set_uint (&tables[4], 1, 1, sample->sent);
  if (sample->link)
    table_set_uint (&tables[4], 1, 3, sample->link);
  frame_write (&bytes, &header, scratch->schema, list, JOB_GROUPS);
  frame.bytes = bytes.data;
  frame.length = bytes.length;
  history_put_frame (scratch->history, &frame);
  for (size_t i = 0; i < JOB_GROUPS; i++) {
    if (sample->chain) {
      if (!sample->chain->session)
        table_init (&sample->chain->tables[i], &job_groups[i]);
      table_copy (&sample->chain->tables[i], &tables[i]);
    }
    table_free (&tables[i]);
  }
  if (sample->chain)
    sample->chain->session = header.session;
  buffer_free (&bytes);
}

/* A node on which the job uses `busy` of its `cpus`, `rss` bytes, and each second reads 1000, writes 500, receives
 * 3000 and sends 2000 bytes. Sample 1 is at second 0. */
static inline struct job_sample
steady (uint64_t sequence, double cpus, double busy, uint64_t rss)
{
  return (struct job_sample){ .at = (double) sequence - 1,
                              .sequence = sequence,
                              .user_ms = (uint64_t) (busy * 900 * (double) (sequence - 1)),
                              .system_ms = (uint64_t) (busy * 100 * (double) (sequence - 1)),
                              .cpus = cpus,
                              .rss = rss,
                              .rss_peak = rss + 1000,
                              .read = 1000 * (sequence - 1),
                              .written = 500 * (sequence - 1),
                              .received = 70000 + 3000 * sequence,
                              .sent = 2000 * sequence,
                              .source = sequence == 1 ? "cgroup" : NULL };
}

static inline int
job_scratch_create (void **state)
{
  scratch_create (state);
  struct scratch *scratch = *state;

  schema_destroy (scratch->schema);
  scratch->schema = schema_create (job_group_list, JOB_GROUPS);
  scratch_open (scratch);
  return 0;
}

/* From second 0 to `seconds`; `nodes` are parted by commas. `ended` false: it runs. The run before it ended at `after`. */
static inline struct job_report *
make_job_report_after (struct scratch *scratch, const char *nodes, double after, double seconds, bool ended,
                       const char *summary)
{
  char *list = memory_string (nodes), *rest = list;
  struct job_record job = { .label = (char *) "123",
                            .scheduler = (char *) "slurm",
                            .user = (char *) "ana",
                            .name = (char *) "relax",
                            .command = (char *) "python3",
                            .array = (char *) "",
                            .cpus = nan (""),
                            .started_ns = scratch->start_ns,
                            .reason = (char *) (ended ? "gone" : ""),
                            .summary = (char *) (summary ? summary : "") };
  struct job_report *report;
  struct history_file *file;
  struct error error = { "" };

  scratch_close (scratch);
  job.nodes = memory_new (1024, sizeof job.nodes[0]);
  for (char *name; (name = strsep (&rest, ",")) != NULL;)
    if (*name) {
      job.nodes[job.node_count].name = name;
      job.nodes[job.node_count++].first_ns = scratch->start_ns;
    }
  job.after_ns = scratch->start_ns + (int64_t) (after * 1e9);
  job.ended_ns = ended ? scratch->start_ns + (int64_t) (seconds * 1e9) : 0;
  file = history_file_open (scratch->path, &error);
  if (!file)
    print_message ("# %s\n", error.text);
  assert_non_null (file);
  report = job_report_make (file, &job, NULL, scratch->start_ns + (int64_t) (seconds * 1e9), NULL, &error);
  assert_non_null (report);
  history_file_close (file);
  free (job.nodes);
  free (list);
  return report;
}

static inline struct job_report *
make_job_report (struct scratch *scratch, const char *nodes, double seconds, bool ended, const char *summary)
{
  return make_job_report_after (scratch, nodes, -1, seconds, ended, summary);
}

static inline void
job_chain_free (struct job_chain *chain)
{
  for (size_t i = 0; chain->session && i < JOB_GROUPS; i++)
    table_free (&chain->tables[i]);
  *chain = (struct job_chain){ 0 };
}

static inline bool
says (const struct job_report *report, const char *part)
{
  for (size_t i = 0; i < report->unknown_count; i++)
    if (strstr (report->unknown[i], part))
      return true;
  return false;
}

#endif
