/* The core of jobs on a virtual clock: nodes that show jobs each second, lose their link, die, and set their clocks;
 * aggregators that are started again. */
#ifndef SYNOP_TESTS_JOBS_SCENE_H
#define SYNOP_TESTS_JOBS_SCENE_H

#include "synop/clock.h"
#include "tests/unit/aggregator/jobs/jobs_said.h"

#define START (INT64_C (1700000000) * NS_PER_S)
#define GRACE (30 * NS_PER_S)
#define RING 600

/* ---- what nodes know of jobs ---- */

static const struct metric info_metrics[] = { { "scheduler", TEXT }, { "user", TEXT },  { "name", TEXT },
                                              { "command", TEXT },   { "array", TEXT }, { "cpus", GAUGE },
                                              { "started", GAUGE },  { "uid", GAUGE } };
static const struct metric cpu_metrics[] = { { "user_time", COUNTER, .per = 1000000000 },
                                             { "system_time", COUNTER, .per = 1000000000 } };
static const struct metric memory_metrics[] = { { "rss", GAUGE, .times = 1024 }, { "oom_kills", COUNTER } };
static const struct metric io_metrics[] = { { "read_bytes", COUNTER }, { "write_bytes", COUNTER } };
static const struct metric energy_metrics[] = { { "energy", COUNTER, .per = 1000000 },
                                                { "estimated", COUNTER, .per = 1000000 } };
static const struct metric other_metrics[] = { { "tasks", GAUGE, .flags = METRIC_OF_NODE } };
#define JOB_GROUP(what)                                                                                                \
  static const struct group what##_group = {                                                                           \
    .name = "job_" #what, .section = REPORT_JOBS, .row = "job", .rows_name = "jobs", GROUP_METRICS (what##_metrics)    \
  }
JOB_GROUP (info);
JOB_GROUP (cpu);
JOB_GROUP (memory);
JOB_GROUP (io);
JOB_GROUP (energy);
static const struct group other_group = { .name = "load", .section = "system_data", GROUP_METRICS (other_metrics) };
enum { OTHER, CPU, INFO, MEMORY, IO, ENERGY, GROUPS };
static const struct group *const groups[] = { &other_group,  &cpu_group, &info_group,
                                              &memory_group, &io_group,  &energy_group };

/* A job on a node, as its agent keeps it. */
struct work {
  char label[40];
  const char *scheduler, *user, *array, *name;
  double cpus;        /* NaN: not told */
  double told_start;  /* in the place of started_ns, unless 0 */
  int64_t uid;        /* -1: not told */
  double cpu, rate;   /* seconds, and a second */
  double memory;      /* KiB */
  int64_t started_ns; /* cluster time */
  bool checked;       /* job_info is out */
};

struct sample {
  int64_t time_ns;
  size_t count;
  struct work *works;
};

struct player {
  char name[32];
  bool silent; /* its frames wait in its ring */
  bool dead;   /* there are none */
  bool no_info;
  int64_t wall_ns;                   /* its wall clock is ahead of cluster time by */
  int64_t period_ns;                 /* how often it samples */
  int64_t told_period_ns, sample_ns; /* as it says, unless 0 */
  struct work *works;
  size_t count, capacity;
  struct sample ring[RING];
  size_t held;
};

struct scene {
  struct jobs *jobs;
  int64_t now_ns;
  struct schema *schema;
  struct table tables[GROUPS];
  struct player *nodes;
  size_t node_count;
  struct noted noted;
};

/* ---- the scene ---- */

static inline struct jobs *
core (struct scene *scene)
{
  return jobs_create (
      &(struct jobs_options){
          .grace_ns = GRACE, .context = &scene->noted, .line = take_line, .row = take_row, .event = take_event },
      scene->now_ns);
}

static inline void
add_nodes (struct scene *scene, size_t count)
{
  scene->node_count = count;
  scene->nodes = memory_new (count, sizeof *scene->nodes);
  for (size_t i = 0; i < count; i++) {
    snprintf (scene->nodes[i].name, sizeof scene->nodes[i].name, "n%zu", i + 1);
    scene->nodes[i].period_ns = NS_PER_S;
  }
}

static inline struct scene *
scene_create (size_t nodes)
{
  struct scene *scene = memory_new (1, sizeof *scene);

  scene->now_ns = START;
  scene->schema = schema_create (groups, GROUPS);
  for (size_t i = 0; i < GROUPS; i++)
    table_init (&scene->tables[i], groups[i]);
  add_nodes (scene, nodes);
  scene->jobs = core (scene);
  return scene;
}

static inline void
scene_destroy (struct scene *scene)
{
  jobs_destroy (scene->jobs);
  schema_destroy (scene->schema);
  for (size_t i = 0; i < GROUPS; i++)
    table_free (&scene->tables[i]);
  for (size_t i = 0; i < scene->node_count; i++) {
    for (size_t k = 0; k < scene->nodes[i].held; k++)
      free (scene->nodes[i].ring[k].works);
    free (scene->nodes[i].works);
  }
  noted_free (&scene->noted);
  free (scene->nodes);
  free (scene);
}

static inline size_t
row_of (struct table *table, const struct work *work)
{
  return table_add_row (table, work->label, strlen (work->label));
}

static inline void
fill_info (const struct player *node, struct table *table, const struct work *work)
{
  size_t row = row_of (table, work);

  table_set_text (table, row, 0, work->scheduler, strlen (work->scheduler));
  table_set_text (table, row, 1, work->user, strlen (work->user));
  table_set_text (table, row, 2, work->name, strlen (work->name));
  table_set_text (table, row, 3, "python3", 7);
  if (work->array)
    table_set_text (table, row, 4, work->array, strlen (work->array));
  table_set_real (table, row, 5, work->cpus);
  table_set_real (table, row, 6,
                  work->told_start != 0 ? work->told_start
                                        : (double) (work->started_ns + node->wall_ns) / (double) NS_PER_S);
  if (work->uid >= 0)
    table_set_uint (table, row, 7, (uint64_t) work->uid);
}

static inline uint64_t
bounded (double number)
{
  return number < 1.8e19 ? (uint64_t) number : UINT64_MAX;
}

static inline void
send (struct scene *scene, const struct player *node, const struct sample *sample)
{
  struct frame_header header = { .session = 1, .sequence = 1, .monotonic_ns = sample->time_ns };
  struct report_group pairs[GROUPS] = { { NULL, NULL } };
  struct cluster_frame frame = { .header = &header,
                                 .time_ns = sample->time_ns,
                                 .wall_offset_ns = node->wall_ns,
                                 .late = sample->time_ns < scene->now_ns - NS_PER_S,
                                 .schema = scene->schema,
                                 .groups = pairs };

  snprintf (header.node, sizeof header.node, "%s", node->name);
  for (size_t i = 0; i < GROUPS; i++) {
    table_begin (&scene->tables[i]);
    scene->tables[i].period_ns = node->told_period_ns ? node->told_period_ns : node->period_ns;
    if (i != INFO || !node->no_info)
      pairs[i].now = &scene->tables[i];
  }
  for (size_t i = 0; i < sample->count; i++) {
    const struct work *work = &sample->works[i];
    size_t row = row_of (&scene->tables[CPU], work);
    table_set_uint (&scene->tables[CPU], row, 0, bounded (work->cpu * 0.75e9));
    table_set_uint (&scene->tables[CPU], row, 1, bounded (work->cpu * 0.25e9));
    row = row_of (&scene->tables[MEMORY], work);
    table_set_uint (&scene->tables[MEMORY], row, 0, (uint64_t) work->memory);
    row = row_of (&scene->tables[IO], work);
    table_set_uint (&scene->tables[IO], row, 0, bounded (work->cpu * 1000));
    row = row_of (&scene->tables[ENERGY], work);
    table_set_uint (&scene->tables[ENERGY], row, 0, bounded (work->cpu * 3600e6)); /* a Wh for each second */
    table_set_uint (&scene->tables[ENERGY], row, 1, bounded (work->cpu * 900e6));
    if (!work->checked && !node->no_info)
      fill_info (node, &scene->tables[INFO], work);
  }
  jobs_frame (scene->jobs, &frame, scene->now_ns);
}

static inline void
sample (struct scene *scene, struct player *node)
{
  struct sample one = { .time_ns = node->sample_ns ? node->sample_ns : scene->now_ns, .count = node->count };

  one.works = memory_new (node->count, sizeof *one.works);
  for (size_t i = 0; i < node->count; i++) {
    node->works[i].cpu += node->works[i].rate * (double) node->period_ns / (double) NS_PER_S;
    one.works[i] = node->works[i];
    node->works[i].checked = true;
  }
  if (node->silent) {
    assert_true (node->held < RING);
    node->ring[node->held++] = one;
    return;
  }
  send (scene, node, &one);
  free (one.works);
}

/* What waits in the ring comes, late. */
static inline void
replay (struct scene *scene, struct player *node)
{
  for (size_t i = 0; i < node->held; i++) {
    send (scene, node, &node->ring[i]);
    free (node->ring[i].works);
  }
  node->held = 0;
}

static inline void
tick_for (struct scene *scene, int64_t ns)
{
  for (int64_t end = scene->now_ns + ns; scene->now_ns < end;) {
    scene->now_ns += NS_PER_S / 4;
    jobs_tick (scene->jobs, scene->now_ns);
  }
}

static inline void
run (struct scene *scene, int seconds)
{
  for (int second = 0; second < seconds; second++) {
    for (size_t i = 0; i < scene->node_count; i++)
      if (!scene->nodes[i].dead && (scene->now_ns - START) % scene->nodes[i].period_ns == 0)
        sample (scene, &scene->nodes[i]);
    tick_for (scene, NS_PER_S);
  }
}

static inline struct work *
begin (struct scene *scene, size_t node, const char *label, double rate)
{
  struct player *player = &scene->nodes[node];

  if (player->count == player->capacity) {
    player->capacity = player->capacity ? 2 * player->capacity : 8;
    player->works = memory_resize (player->works, player->capacity, sizeof *player->works);
  }
  player->works[player->count] = (struct work){ .scheduler = "slurm",
                                                .user = "ana",
                                                .name = "relax",
                                                .cpus = 4,
                                                .uid = -1,
                                                .rate = rate,
                                                .memory = 1024,
                                                .started_ns = scene->now_ns - NS_PER_S / 2 };
  snprintf (player->works[player->count].label, sizeof player->works[0].label, "%s", label);
  return &player->works[player->count++];
}

static inline void
end (struct scene *scene, size_t node, const char *label)
{
  struct player *player = &scene->nodes[node];
  size_t at = 0;

  while (at < player->count && strcmp (player->works[at].label, label) != 0)
    at++;
  assert_true (at < player->count);
  memmove (player->works + at, player->works + at + 1, (--player->count - at) * sizeof *player->works);
}

/* The aggregator is killed, and started again from what the history holds: `marked` when it could end in order. */
static inline void
restart (struct scene *scene, bool marked, int64_t away_ns)
{
  char scheduler[] = "slurm", nothing[] = "";

  if (marked)
    jobs_mark (scene->jobs);
  jobs_destroy (scene->jobs);
  scene->now_ns += away_ns;
  scene->jobs = core (scene);
  for (size_t i = 0; i < scene->noted.stored_count; i++) {
    const struct stored *stored = &scene->noted.stored[i];
    jobs_restore (scene->jobs, &(struct job_record){ .key = stored->key,
                                                     .label = (char *) stored->label,
                                                     .scheduler = scheduler,
                                                     .user = (char *) stored->user,
                                                     .name = nothing,
                                                     .command = nothing,
                                                     .array = nothing,
                                                     .started_ns = stored->started_ns,
                                                     .ended_ns = stored->ended_ns,
                                                     .seen_ns = stored->seen_ns,
                                                     .state = stored->state ? stored->state : nothing,
                                                     .nodes = (struct job_record_node *) stored->nodes,
                                                     .node_count = stored->node_count });
  }
}

/* ---- steps that many tests take ---- */

/* All of so many nodes show job 1, for so many seconds. */
static inline struct scene *
scene_with_job (size_t nodes, int seconds)
{
  struct scene *scene = scene_create (nodes);

  for (size_t i = 0; i < nodes; i++)
    begin (scene, i, "1", 1);
  run (scene, seconds);
  return scene;
}

/* Job 1 on n1 and job 2 on n2; that they started is said. */
static inline void
begin_two (struct scene *scene, int seconds)
{
  begin (scene, 0, "1", 1);
  begin (scene, 1, "2", 1);
  run (scene, seconds);
  SAID (JOB_STARTED, "1", "n1");
  SAID (JOB_STARTED, "2", "n2");
}

#define WORD(...)                                                                                                      \
  &(struct job_announcement)                                                                                           \
  {                                                                                                                    \
    __VA_ARGS__, true, 0                                                                                               \
  }

/* A scheduler says that it has ended: as many runs had that label. */
static inline void
tell_end (struct scene *scene, const char *label, int runs)
{
  struct error error;

  assert_int_equal (jobs_end (scene->jobs, WORD (label, "", ""), scene->now_ns, &error), runs);
}

static inline void
tell_start (struct scene *scene, const char *label, const char *user, const char *name)
{
  struct error error;

  assert_int_equal (jobs_start (scene->jobs, WORD (label, user, name), scene->now_ns, &error), 0);
}

/* The last process of it ends on n1; when the grace has passed, it is gone. */
#define GOES(label, on) (end (scene, 0, label), run (scene, 32), ENDED (label, on, "gone"))

#endif
