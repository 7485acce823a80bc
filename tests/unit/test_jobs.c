/* The core of jobs on a virtual clock: nodes that show jobs each second, lose their link, die, and set their clocks;
 * aggregators that are started again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "aggregator/job_store.h"
#include "aggregator/jobs.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define START (INT64_C (1700000000) * NS_PER_S)
#define GRACE (30 * NS_PER_S)
#define NODES 4
#define RING 600

/* ---- what nodes know of jobs ---- */

static const struct metric info_metrics[] = { { "scheduler", TEXT }, { "user", TEXT },  { "name", TEXT },
                                              { "command", TEXT },   { "array", TEXT }, { "cpus", GAUGE },
                                              { "started", GAUGE } };
static const struct metric cpu_metrics[] = { { "user_time", COUNTER, .per = 1000000000 },
                                             { "system_time", COUNTER, .per = 1000000000 } };
static const struct metric memory_metrics[] = { { "rss", GAUGE, .times = 1024 }, { "oom_kills", COUNTER } };
static const struct metric io_metrics[] = { { "read_bytes", COUNTER }, { "write_bytes", COUNTER } };
static const struct metric other_metrics[] = { { "tasks", GAUGE, .flags = METRIC_OF_NODE } };
#define JOB_GROUP(what)                                                                                                \
  static const struct group what##_group = {                                                                           \
    .name = "job_" #what, .section = REPORT_JOBS, .row = "job", .rows_name = "jobs", GROUP_METRICS (what##_metrics)    \
  }
JOB_GROUP (info);
JOB_GROUP (cpu);
JOB_GROUP (memory);
JOB_GROUP (io);
static const struct group other_group = { .name = "load", .section = "system_data", GROUP_METRICS (other_metrics) };
enum { OTHER, CPU, INFO, MEMORY, IO, GROUPS };
static const struct group *const groups[] = { &other_group, &cpu_group, &info_group, &memory_group, &io_group };

/* A job on a node, as its agent keeps it. */
struct work {
  char label[40];
  const char *user, *array;
  double cpu, rate;   /* seconds, and a second */
  double memory;      /* KiB */
  int64_t started_ns; /* cluster time */
  bool told;          /* job_info is out */
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
  int64_t wall_ns;   /* its wall clock is ahead of cluster time by */
  int64_t period_ns; /* how often it samples */
  struct work *works;
  size_t count, capacity;
  struct sample ring[RING];
  size_t held;
};

/* ---- what is said of them ---- */

struct said {
  enum job_event event;
  char label[160], nodes[64], reason[16], user[32], array[32];
  int64_t time_ns, started_ns, ended_ns;
  char *summary;
};

/* What the history would hold. */
struct stored {
  int64_t key;
  char label[160], user[32];
  int64_t started_ns, ended_ns, seen_ns;
  char *state;
  struct job_record_node nodes[NODES];
  size_t node_count;
};

struct scene {
  struct jobs *jobs;
  int64_t now_ns;
  struct schema *schema;
  struct table tables[GROUPS];
  struct player *nodes;
  size_t node_count;
  struct said *said;
  size_t said_count, told; /* told: those that the test has looked at */
  struct stored *stored;
  size_t stored_count;
  bool many; /* only counts */
};

static void
take_line (void *context, const struct job_line *line)
{
  struct scene *scene = context;
  struct said *said;

  if (scene->many)
    return;
  scene->said = memory_resize (scene->said, scene->said_count + 1, sizeof *said);
  said = &scene->said[scene->said_count++];
  *said = (struct said){
    .event = line->event, .time_ns = line->time_ns, .started_ns = line->started_ns, .ended_ns = line->ended_ns
  };
  snprintf (said->label, sizeof said->label, "%s", line->label);
  snprintf (said->user, sizeof said->user, "%s", line->texts[JOB_USER]);
  snprintf (said->array, sizeof said->array, "%s", line->texts[JOB_ARRAY]);
  snprintf (said->reason, sizeof said->reason, "%s", line->reason ? line->reason : "");
  for (size_t i = 0; i < line->node_count; i++)
    snprintf (said->nodes + strlen (said->nodes), sizeof said->nodes - strlen (said->nodes), "%s%s", i ? "," : "",
              line->nodes[i]);
  said->summary = line->summary ? memory_copy (line->summary, line->summary_length) : NULL;
}

static void
take_row (void *context, const struct job_row *row)
{
  struct scene *scene = context;
  struct stored *stored;
  size_t at = 0;

  if (scene->many)
    return;
  while (at < scene->stored_count && scene->stored[at].key != row->key)
    at++;
  if (at == scene->stored_count) {
    assert_int_equal (row->kind, JOB_ROW_JOB); /* first */
    scene->stored = memory_resize (scene->stored, ++scene->stored_count, sizeof *stored);
    scene->stored[at] = (struct stored){ .key = row->key };
  }
  stored = &scene->stored[at];
  if (row->kind == JOB_ROW_JOB) {
    snprintf (stored->label, sizeof stored->label, "%s", row->texts[0]);
    snprintf (stored->user, sizeof stored->user, "%s", row->texts[1 + JOB_USER]);
    stored->started_ns = row->time_ns;
    stored->seen_ns = stored->seen_ns ? stored->seen_ns : row->time_ns;
  } else if (row->kind == JOB_ROW_NODE) {
    assert_true (stored->node_count < NODES);
    stored->nodes[stored->node_count++] = (struct job_record_node){ memory_string (row->texts[0]), row->time_ns };
  } else if (row->kind == JOB_ROW_END) {
    stored->ended_ns = row->time_ns;
  } else {
    free (stored->state);
    stored->state = memory_string (row->texts[0]);
    stored->seen_ns = row->time_ns;
  }
}

/* ---- the scene ---- */

static struct jobs *
core (struct scene *scene)
{
  return jobs_create (&(struct jobs_options){ .grace_ns = GRACE, .context = scene, .line = take_line, .row = take_row },
                      scene->now_ns);
}

static void
add_nodes (struct scene *scene, size_t count)
{
  scene->node_count = count;
  scene->nodes = memory_new (count, sizeof *scene->nodes);
  for (size_t i = 0; i < count; i++) {
    snprintf (scene->nodes[i].name, sizeof scene->nodes[i].name, "n%zu", i + 1);
    scene->nodes[i].period_ns = NS_PER_S;
  }
}

static struct scene *
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

static void
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
  for (size_t i = 0; i < scene->said_count; i++)
    free (scene->said[i].summary);
  for (size_t i = 0; i < scene->stored_count; i++) {
    for (size_t k = 0; k < scene->stored[i].node_count; k++)
      free (scene->stored[i].nodes[k].name);
    free (scene->stored[i].state);
  }
  free (scene->nodes);
  free (scene->said);
  free (scene->stored);
  free (scene);
}

static size_t
row_of (struct table *table, const struct work *work)
{
  return table_add_row (table, work->label, strlen (work->label));
}

static void
fill_info (const struct player *node, struct table *table, const struct work *work)
{
  size_t row = row_of (table, work);

  table_set_text (table, row, 0, "slurm", 5);
  table_set_text (table, row, 1, work->user, strlen (work->user));
  table_set_text (table, row, 2, "relax", 5);
  table_set_text (table, row, 3, "python3", 7);
  if (work->array)
    table_set_text (table, row, 4, work->array, strlen (work->array));
  table_set_uint (table, row, 5, 4);
  table_set_real (table, row, 6, (double) (work->started_ns + node->wall_ns) / (double) NS_PER_S);
}

static void
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
    scene->tables[i].period_ns = node->period_ns;
    if (i != INFO || !node->no_info)
      pairs[i].now = &scene->tables[i];
  }
  for (size_t i = 0; i < sample->count; i++) {
    const struct work *work = &sample->works[i];
    size_t row = row_of (&scene->tables[CPU], work);
    table_set_uint (&scene->tables[CPU], row, 0, (uint64_t) (work->cpu * 0.75e9));
    table_set_uint (&scene->tables[CPU], row, 1, (uint64_t) (work->cpu * 0.25e9));
    row = row_of (&scene->tables[MEMORY], work);
    table_set_uint (&scene->tables[MEMORY], row, 0, (uint64_t) work->memory);
    row = row_of (&scene->tables[IO], work);
    table_set_uint (&scene->tables[IO], row, 0, (uint64_t) (work->cpu * 1000));
    if (!work->told && !node->no_info)
      fill_info (node, &scene->tables[INFO], work);
  }
  jobs_frame (scene->jobs, &frame, scene->now_ns);
}

static void
sample (struct scene *scene, struct player *node)
{
  struct sample one = { .time_ns = scene->now_ns, .count = node->count };

  one.works = memory_new (node->count, sizeof *one.works);
  for (size_t i = 0; i < node->count; i++) {
    node->works[i].cpu += node->works[i].rate * (double) node->period_ns / (double) NS_PER_S;
    one.works[i] = node->works[i];
    node->works[i].told = true;
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
static void
replay (struct scene *scene, struct player *node)
{
  for (size_t i = 0; i < node->held; i++) {
    send (scene, node, &node->ring[i]);
    free (node->ring[i].works);
  }
  node->held = 0;
}

static void
tick_for (struct scene *scene, int64_t ns)
{
  for (int64_t end = scene->now_ns + ns; scene->now_ns < end;) {
    scene->now_ns += NS_PER_S / 4;
    jobs_tick (scene->jobs, scene->now_ns);
  }
}

static void
run (struct scene *scene, int seconds)
{
  for (int second = 0; second < seconds; second++) {
    for (size_t i = 0; i < scene->node_count; i++)
      if (!scene->nodes[i].dead && (scene->now_ns - START) % scene->nodes[i].period_ns == 0)
        sample (scene, &scene->nodes[i]);
    tick_for (scene, NS_PER_S);
  }
}

static struct work *
begin (struct scene *scene, size_t node, const char *label, double rate)
{
  struct player *player = &scene->nodes[node];

  if (player->count == player->capacity) {
    player->capacity = player->capacity ? 2 * player->capacity : 8;
    player->works = memory_resize (player->works, player->capacity, sizeof *player->works);
  }
  player->works[player->count] =
      (struct work){ .user = "ana", .rate = rate, .memory = 1024, .started_ns = scene->now_ns - NS_PER_S / 2 };
  snprintf (player->works[player->count].label, sizeof player->works[0].label, "%s", label);
  return &player->works[player->count++];
}

static void
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
static void
restart (struct scene *scene, bool marked, int64_t away_ns)
{
  char scheduler[] = "slurm", nothing[] = "";

  if (marked)
    jobs_mark (scene->jobs);
  jobs_destroy (scene->jobs);
  scene->now_ns += away_ns;
  scene->jobs = core (scene);
  for (size_t i = 0; i < scene->stored_count; i++) {
    const struct stored *stored = &scene->stored[i];
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

/* ---- what must be said ---- */

static const struct said *
next_said (struct scene *scene)
{
  if (scene->told == scene->said_count)
    fail_msg ("nothing more was said");
  return &scene->said[scene->told++];
}

#define SAID(kind, id, on)                                                                                             \
  do {                                                                                                                 \
    said = next_said (scene);                                                                                          \
    assert_string_equal (said->label, id);                                                                             \
    assert_int_equal (said->event, kind);                                                                              \
    assert_string_equal (said->nodes, on);                                                                             \
  } while (0)
#define ENDED(id, on, why)                                                                                             \
  do {                                                                                                                 \
    SAID (JOB_ENDED, id, on);                                                                                          \
    assert_string_equal (said->reason, why);                                                                           \
  } while (0)
#define SUMMARY(text)                                                                                                  \
  do {                                                                                                                 \
    if (!strstr (said->summary, text))                                                                                 \
      fail_msg ("%s is not in %s", text, said->summary);                                                               \
  } while (0)
#define NOTHING_MORE() assert_int_equal (scene->told, scene->said_count)

/* ---- scenarios ---- */

static void
test_one (void **state)
{
  struct scene *scene = scene_create (3);
  const struct said *said;
  struct work *work;

  (void) state;
  run (scene, 2);
  begin (scene, 0, "123", 2);
  begin (scene, 1, "123", 4)->memory = 4096;
  run (scene, 1);
  NOTHING_MORE (); /* it is held back, since more nodes may come */
  run (scene, 3);
  SAID (JOB_STARTED, "123", "n1,n2");
  assert_string_equal (said->user, "ana");
  assert_true (said->time_ns == START + 3 * NS_PER_S / 2 && said->started_ns == said->time_ns);
  work = begin (scene, 2, "123", 0);
  work->started_ns = scene->now_ns;
  run (scene, 6);
  SAID (JOB_NODE, "123", "n3");
  assert_true (said->time_ns == START + 6 * NS_PER_S);
  end (scene, 0, "123");
  end (scene, 1, "123");
  run (scene, 20);
  NOTHING_MORE (); /* n3 shows it */
  end (scene, 2, "123");
  run (scene, 29);
  NOTHING_MORE ();
  run (scene, 3);
  ENDED ("123", "n1,n2,n3", "gone");
  assert_true (said->ended_ns == START + 31 * NS_PER_S);
  SUMMARY ("{\"duration\":29.5,\"nodes\":3,\"cpus\":12,\"cpu_time\":60,\"cpu_user_time\":45,\"cpu_system_time\":15,"
           "\"cpu_efficiency\":16.949153,\"memory_peak\":{\"node\":\"n2\",\"bytes\":4194304},\"read_bytes\":60000,"
           "\"write_bytes\":null,\"processes\":null,\"oom_kills\":null,\"lost_nodes\":[],\"per_node\":{\"n1\":{"
           "\"duration\":9,\"cpus\":4,\"cpu_time\":20,\"memory_peak\":1048576,\"read_bytes\":20000,"
           "\"write_bytes\":null},\"n2\":{");
  NOTHING_MORE ();
  assert_int_equal (jobs_counts (scene->jobs)->jobs_running, 0);
  scene_destroy (scene);
}

/* Tasks of an array are jobs; steps are of their job, so nothing here knows of them. */
static void
test_array (void **state)
{
  struct scene *scene = scene_create (2);
  const struct said *said;

  (void) state;
  begin (scene, 0, "100", 1)->array = "100_1";
  begin (scene, 0, "101", 1)->array = "100_2";
  begin (scene, 1, "42[3].pbs", 1);
  run (scene, 4);
  SAID (JOB_STARTED, "100", "n1");
  assert_string_equal (said->array, "100_1");
  SAID (JOB_STARTED, "101", "n1");
  assert_string_equal (said->array, "100_2");
  SAID (JOB_STARTED, "42[3].pbs", "n2");
  end (scene, 0, "100");
  run (scene, 32);
  ENDED ("100", "n1", "gone");
  SUMMARY ("\"cpu_time\":4,");
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* A requeue with the same id is /1 where the scheduler counts, and a new run where it does not. */
static void
test_requeue (void **state)
{
  struct scene *scene = scene_create (2);
  const struct said *said;
  struct error error;

  (void) state;
  begin (scene, 0, "7", 1);
  begin (scene, 1, "8", 1);
  run (scene, 4);
  SAID (JOB_STARTED, "7", "n1");
  SAID (JOB_STARTED, "8", "n2");
  end (scene, 0, "7");
  end (scene, 1, "8");
  assert_int_equal (jobs_end (scene->jobs, "8", scene->now_ns, &error), 1);
  ENDED ("8", "n2", "told");
  begin (scene, 1, "7/1", 2);
  begin (scene, 0, "8", 3)->started_ns = scene->now_ns;
  run (scene, 4);
  SAID (JOB_STARTED, "8", "n1");
  SAID (JOB_STARTED, "7/1", "n2");
  assert_true (scene->stored[1].key != scene->stored[2].key && strcmp (scene->stored[2].label, "8") == 0);
  assert_int_equal (jobs_end (scene->jobs, "7", scene->now_ns, &error), 2); /* all runs of it */
  ENDED ("7", "n1", "told");
  SUMMARY ("\"cpu_time\":4,");
  ENDED ("7/1", "n2", "told");
  SUMMARY ("\"cpu_time\":8,");
  assert_int_equal (jobs_end (scene->jobs, "8/0", scene->now_ns, &error), 1);
  ENDED ("8", "n1", "told");
  SUMMARY ("\"cpu_time\":12,");
  NOTHING_MORE ();
  scene_destroy (scene);
}

static void
test_restart (void **state)
{
  struct scene *scene = scene_create (3);
  const struct said *said;

  (void) state;
  begin (scene, 0, "1", 1);
  begin (scene, 1, "1", 1);
  begin (scene, 1, "gone", 1);
  begin (scene, 2, "2", 1);
  run (scene, 10);
  SAID (JOB_STARTED, "1", "n1,n2");
  SAID (JOB_STARTED, "gone", "n2");
  SAID (JOB_STARTED, "2", "n3");
  scene->nodes[1].dead = true; /* what n2 had is told by nobody any more */
  scene->nodes[2].silent = true;
  run (scene, 5);
  restart (scene, true, 100 * NS_PER_S);
  run (scene, 5);
  NOTHING_MORE ();
  end (scene, 2, "2");
  run (scene, 5);
  scene->nodes[2].silent = false;
  replay (scene, &scene->nodes[2]);
  run (scene, 22);
  ENDED ("gone", "n2", "restart");
  assert_true (said->ended_ns == START + 9 * NS_PER_S);
  SUMMARY ("\"cpu_time\":10,");
  SUMMARY ("\"lost_nodes\":[\"n2\"]");
  run (scene, 12);
  ENDED ("2", "n3", "gone");
  assert_true (said->ended_ns == START + 119 * NS_PER_S);
  SUMMARY ("\"cpu_time\":20,"); /* by its frames: the clock of the agent stood still while nobody sampled */
  end (scene, 0, "1");
  run (scene, 32);
  ENDED ("1", "n1,n2", "gone");
  SUMMARY ("\"cpu_time\":69,");
  SUMMARY ("\"lost_nodes\":[\"n2\"]");
  NOTHING_MORE ();
  assert_int_equal (scene->stored_count, 3);
  scene_destroy (scene);
}

/* Killed: what was told last is a minute old at most, and frames bring the rest. */
static void
test_kill (void **state)
{
  struct scene *scene = scene_create (1);
  const struct said *said;

  (void) state;
  begin (scene, 0, "1", 1);
  run (scene, 90);
  SAID (JOB_STARTED, "1", "n1");
  assert_true (scene->stored[0].seen_ns > START + 50 * NS_PER_S);
  restart (scene, false, 0);
  run (scene, 10);
  NOTHING_MORE ();
  restart (scene, false, 0); /* and it has gone meanwhile */
  end (scene, 0, "1");
  run (scene, 32);
  ENDED ("1", "n1", "restart");
  NOTHING_MORE ();
  scene_destroy (scene);
}

static void
test_node_dies (void **state)
{
  struct scene *scene = scene_create (4);
  const struct said *said;

  (void) state;
  for (size_t i = 0; i < 4; i++)
    begin (scene, i, "1", 1);
  begin (scene, 1, "2", 1);
  run (scene, 10);
  SAID (JOB_STARTED, "1", "n1,n2,n3,n4");
  SAID (JOB_STARTED, "2", "n2");
  scene->nodes[1].dead = true;
  scene->nodes[3].silent = true; /* its link alone */
  run (scene, 10);
  jobs_node_down (scene->jobs, "n2");
  jobs_node_down (scene->jobs, "n4");
  run (scene, 10);
  scene->nodes[3].silent = false;
  replay (scene, &scene->nodes[3]);
  run (scene, 12);
  ENDED ("2", "n2", "gone");
  SUMMARY ("\"lost_nodes\":[\"n2\"]");
  assert_true (said->ended_ns == START + 9 * NS_PER_S);
  end (scene, 2, "1"); /* n3 has done its part, and lives */
  run (scene, 20);
  end (scene, 0, "1");
  end (scene, 3, "1");
  run (scene, 32);
  ENDED ("1", "n1,n2,n3,n4", "gone");
  SUMMARY ("\"lost_nodes\":[\"n2\"]");
  SUMMARY ("\"cpu_time\":176,"); /* 62, 10, 42, 62 */
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* It comes back, and knows nothing of the job. */
static void
test_node_boots (void **state)
{
  struct scene *scene = scene_create (2);
  const struct said *said;

  (void) state;
  begin (scene, 0, "1", 1);
  begin (scene, 1, "1", 1);
  run (scene, 10);
  SAID (JOB_STARTED, "1", "n1,n2");
  scene->nodes[1].dead = true;
  run (scene, 10);
  jobs_node_down (scene->jobs, "n2");
  scene->nodes[1].dead = false;
  end (scene, 1, "1");
  run (scene, 10);
  end (scene, 0, "1");
  run (scene, 32);
  ENDED ("1", "n1,n2", "gone");
  SUMMARY ("\"lost_nodes\":[\"n2\"]");
  scene_destroy (scene);
}

/* Nobody says that it is down: its silence does. */
static void
test_silent_node (void **state)
{
  struct scene *scene = scene_create (2);
  const struct said *said;
  struct error error;

  (void) state;
  begin (scene, 0, "1", 1);
  begin (scene, 1, "1", 1);
  run (scene, 10);
  SAID (JOB_STARTED, "1", "n1,n2");
  scene->nodes[1].dead = true;
  run (scene, 5);
  assert_int_equal (jobs_end (scene->jobs, "1", scene->now_ns, &error), 1);
  ENDED ("1", "n1,n2", "told");
  SUMMARY ("\"lost_nodes\":[\"n2\"]");
  scene_destroy (scene);
}

static void
test_wall_clock_steps (void **state)
{
  struct scene *scene = scene_create (1);
  const struct said *said;

  (void) state;
  scene->nodes[0].wall_ns = -7200 * NS_PER_S;
  begin (scene, 0, "1", 1);
  run (scene, 5);
  SAID (JOB_STARTED, "1", "n1");
  assert_true (said->started_ns == START - NS_PER_S / 2);
  for (int i = 0; i < 4; i++) {
    scene->nodes[0].wall_ns += 1800 * NS_PER_S;
    scene->nodes[0].works[0].told = false;
    scene->nodes[0].works[0].started_ns -= (i & 1 ? -900 : 700) * NS_PER_S; /* an agent that is confused by it */
    run (scene, 5);
  }
  end (scene, 0, "1");
  run (scene, 32);
  ENDED ("1", "n1", "gone");
  assert_true (said->started_ns == START - NS_PER_S / 2);
  SUMMARY ("{\"duration\":24.5,\"nodes\":1,\"cpus\":4,\"cpu_time\":25,");
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* The aggregator's own clock is set back: what runs goes on, and ends. */
static void
test_aggregator_clock_steps (void **state)
{
  struct scene *scene = scene_create (1);
  const struct said *said;

  (void) state;
  begin (scene, 0, "1", 1);
  run (scene, 5);
  SAID (JOB_STARTED, "1", "n1");
  scene->now_ns -= 3600 * NS_PER_S;
  run (scene, 10);
  scene->now_ns += 7200 * NS_PER_S;
  run (scene, 10);
  NOTHING_MORE ();
  scene->now_ns -= 3600 * NS_PER_S;
  run (scene, 10);
  end (scene, 0, "1");
  run (scene, 32);
  ENDED ("1", "n1", "gone");
  SUMMARY ("\"cpu_time\":35,");
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* While the aggregator is stopped nobody is seen, and nobody is gone because of that. */
static void
test_stopped_aggregator (void **state)
{
  struct scene *scene = scene_create (1);
  const struct said *said;

  (void) state;
  begin (scene, 0, "1", 1);
  run (scene, 5);
  SAID (JOB_STARTED, "1", "n1");
  scene->now_ns += 300 * NS_PER_S;
  jobs_tick (scene->jobs, scene->now_ns);
  tick_for (scene, 20 * NS_PER_S);
  run (scene, 5);
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* A link that is cut for longer than the grace: the job is taken for gone, and goes on. */
static void
test_late_frames (void **state)
{
  struct scene *scene = scene_create (2);
  const struct said *said;

  (void) state;
  begin (scene, 0, "1", 1);
  begin (scene, 1, "2", 1);
  run (scene, 10);
  SAID (JOB_STARTED, "1", "n1");
  SAID (JOB_STARTED, "2", "n2");
  scene->nodes[0].silent = scene->nodes[1].silent = true;
  run (scene, 20);
  end (scene, 1, "2");
  begin (scene, 1, "short", 1);
  run (scene, 20);
  end (scene, 1, "short");
  ENDED ("1", "n1", "gone");
  SUMMARY ("\"lost_nodes\":[\"n1\"]");
  ENDED ("2", "n2", "gone");
  run (scene, 20);
  scene->nodes[0].silent = scene->nodes[1].silent = false;
  run (scene, 1); /* live frames come first */
  SAID (JOB_RESUMED, "1", "n1");
  replay (scene, &scene->nodes[0]);
  replay (scene, &scene->nodes[1]);
  SAID (JOB_RESUMED, "2", "n2");
  run (scene, 5);
  SAID (JOB_STARTED, "short", "n2"); /* it began and ended meanwhile */
  assert_true (said->time_ns == START + 59 * NS_PER_S / 2);
  run (scene, 29);
  ENDED ("2", "n2", "gone");
  SUMMARY ("{\"duration\":29.5,\"nodes\":1,\"cpus\":4,\"cpu_time\":30,");
  SUMMARY ("\"lost_nodes\":[]");
  ENDED ("short", "n2", "gone");
  SUMMARY ("{\"duration\":19.5,\"nodes\":1,\"cpus\":4,\"cpu_time\":20,");
  end (scene, 0, "1");
  run (scene, 32);
  ENDED ("1", "n1", "gone");
  SUMMARY ("\"cpu_time\":105,");
  SUMMARY ("\"lost_nodes\":[]");
  NOTHING_MORE ();
  assert_int_equal (scene->stored_count, 3);
  assert_true (scene->stored[0].ended_ns > START + 100 * NS_PER_S);
  scene_destroy (scene);
}

/* The same of agents that tell no starts: the silence of the node, or no pause in the frames, make it one run. */
static void
test_late_frames_without_info (void **state)
{
  struct scene *scene = scene_create (2);
  const struct said *said;

  (void) state;
  scene->nodes[0].no_info = scene->nodes[1].no_info = true;
  begin (scene, 0, "1", 1);
  begin (scene, 1, "2", 1);
  run (scene, 10);
  SAID (JOB_STARTED, "1", "n1");
  SAID (JOB_STARTED, "2", "n2");
  scene->nodes[0].silent = scene->nodes[1].silent = true;
  run (scene, 50);
  ENDED ("1", "n1", "gone");
  ENDED ("2", "n2", "gone");
  end (scene, 1, "2");
  scene->nodes[0].silent = scene->nodes[1].silent = false;
  run (scene, 1);
  SAID (JOB_RESUMED, "1", "n1");
  replay (scene, &scene->nodes[1]);
  SAID (JOB_RESUMED, "2", "n2");
  run (scene, 5);
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* Late frames of a run that ended do not belong to the one that has its label now. */
static void
test_late_frames_of_an_earlier_run (void **state)
{
  struct scene *scene = scene_create (2);
  const struct said *said;
  struct error error;

  (void) state;
  begin (scene, 0, "1", 1);
  begin (scene, 1, "1", 100);
  run (scene, 5);
  SAID (JOB_STARTED, "1", "n1,n2");
  scene->nodes[1].silent = true;
  run (scene, 5);
  end (scene, 0, "1");
  end (scene, 1, "1");
  assert_int_equal (jobs_end (scene->jobs, "1", scene->now_ns, &error), 1);
  ENDED ("1", "n1,n2", "told");
  begin (scene, 0, "1", 1)->started_ns = scene->now_ns;
  run (scene, 5);
  SAID (JOB_STARTED, "1", "n1");
  scene->nodes[1].silent = false;
  replay (scene, &scene->nodes[1]);
  run (scene, 5);
  assert_int_equal (jobs_end (scene->jobs, "1", scene->now_ns, &error), 1);
  ENDED ("1", "n1", "told");
  SUMMARY ("{\"duration\":9,\"nodes\":1,\"cpus\":4,\"cpu_time\":10,");
  NOTHING_MORE ();
  scene_destroy (scene);
}

static void
test_told (void **state)
{
  struct scene *scene = scene_create (2);
  const struct said *said;
  struct error error;

  (void) state;
  assert_int_equal (jobs_start (scene->jobs, "1", "bob", "train", scene->now_ns, &error), 0);
  run (scene, 3);
  SAID (JOB_STARTED, "1", "");
  assert_string_equal (said->user, "bob");
  run (scene, 100); /* a prolog may take long */
  begin (scene, 0, "1", 1);
  run (scene, 5);
  SAID (JOB_NODE, "1", "n1");
  assert_int_equal (jobs_end (scene->jobs, "1", scene->now_ns, &error), 1);
  ENDED ("1", "n1", "told");
  assert_string_equal (said->user, "ana"); /* the node knows better */
  SUMMARY ("{\"duration\":107,");
  run (scene, 200); /* something of it stays, and is shown still */
  NOTHING_MORE ();
  scene->nodes[0].silent = true;
  run (scene, 40);
  scene->nodes[0].silent = false;
  run (scene, 1);
  replay (scene, &scene->nodes[0]);
  run (scene, 70);
  NOTHING_MORE ();
  assert_int_equal (jobs_start (scene->jobs, "1", "", "", scene->now_ns, &error), 0); /* but who says so is believed */
  run (scene, 4);
  SAID (JOB_STARTED, "1", "n1");
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* Told of before any node has shown it, or of one that no node ever shows. */
static void
test_told_alone (void **state)
{
  struct scene *scene = scene_create (1);
  const struct said *said;
  struct error error;

  (void) state;
  assert_int_equal (jobs_end (scene->jobs, "1", scene->now_ns + NS_PER_S, &error), 0);
  begin (scene, 0, "1", 1);
  run (scene, 10);
  NOTHING_MORE ();
  assert_int_equal (jobs_start (scene->jobs, "2", "bob", "", scene->now_ns, &error), 0);
  assert_int_equal (jobs_start (scene->jobs, "3", "bob", "", scene->now_ns, &error), 0);
  run (scene, 500);
  SAID (JOB_STARTED, "2", "");
  SAID (JOB_STARTED, "3", "");
  assert_int_equal (jobs_end (scene->jobs, "3", scene->now_ns, &error), 1);
  ENDED ("3", "", "told");
  SUMMARY ("{\"duration\":500,\"nodes\":0,\"cpus\":null,\"cpu_time\":null,");
  run (scene, 110);
  ENDED ("2", "", "gone");
  NOTHING_MORE ();
  assert_int_equal (jobs_start (scene->jobs, "a b", "", "", scene->now_ns, &error), -1);
  assert_int_equal (jobs_end (scene->jobs, "", scene->now_ns, &error), -1);
  scene_destroy (scene);
}

static void
test_pause (void **state)
{
  struct scene *scene = scene_create (2);
  const struct said *said;

  (void) state;
  scene->nodes[1].no_info = true;
  for (int i = 0; i < 2; i++) {
    begin (scene, 0, "1", 1);
    begin (scene, 1, "2", 1);
    run (scene, 5);
    end (scene, 0, "1");
    end (scene, 1, "2");
    run (scene, 25);
  }
  SAID (JOB_STARTED, "1", "n1");
  SAID (JOB_STARTED, "2", "n2");
  NOTHING_MORE (); /* shorter than the grace */
  run (scene, 10);
  ENDED ("1", "n1", "gone");
  SUMMARY (
      "{\"duration\":34.5,\"nodes\":1,\"cpus\":4,\"cpu_time\":10,"); /* the agent began anew with its second part */
  ENDED ("2", "n2", "gone");
  begin (scene, 0, "1", 1);
  begin (scene, 1, "2", 1);
  run (scene, 5);
  SAID (JOB_STARTED, "1", "n1"); /* longer: another run */
  SAID (JOB_STARTED, "2", "n2");
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* The same label a year later. */
static void
test_reuse (void **state)
{
  struct scene *scene = scene_create (1);
  const struct said *said;

  (void) state;
  begin (scene, 0, "1", 1);
  run (scene, 5);
  end (scene, 0, "1");
  run (scene, 40);
  SAID (JOB_STARTED, "1", "n1");
  ENDED ("1", "n1", "gone");
  scene->now_ns += 365 * 86400 * NS_PER_S;
  begin (scene, 0, "1", 2)->user = "eve";
  run (scene, 5);
  SAID (JOB_STARTED, "1", "n1");
  assert_string_equal (said->user, "eve");
  assert_int_equal (scene->stored_count, 2);
  assert_true (scene->stored[1].key > scene->stored[0].key);
  scene_destroy (scene);
}

/* The agent was started again, and its book was lost. */
static void
test_counter_falls (void **state)
{
  struct scene *scene = scene_create (1);
  const struct said *said;

  (void) state;
  begin (scene, 0, "1", 3);
  run (scene, 10);
  scene->nodes[0].works[0].cpu = 0;
  run (scene, 5);
  end (scene, 0, "1");
  run (scene, 32);
  SAID (JOB_STARTED, "1", "n1");
  ENDED ("1", "n1", "gone");
  SUMMARY ("\"cpu_time\":45,");
  scene_destroy (scene);
}

static void
test_no_info (void **state)
{
  struct scene *scene = scene_create (1);
  const struct said *said;

  (void) state;
  scene->nodes[0].no_info = true;
  begin (scene, 0, "1", 1);
  run (scene, 5);
  SAID (JOB_STARTED, "1", "n1");
  assert_string_equal (said->user, "");
  assert_true (said->time_ns == START);
  scene->nodes[0].no_info = false; /* another agent */
  scene->nodes[0].works[0].told = false;
  scene->nodes[0].works[0].started_ns = START - 3600 * NS_PER_S;
  run (scene, 5);
  assert_string_equal (scene->stored[0].user, "ana");
  assert_true (scene->stored[0].started_ns == START - 3600 * NS_PER_S);
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* A node that samples every two minutes does not end its jobs between. */
static void
test_long_period (void **state)
{
  struct scene *scene = scene_create (1);
  const struct said *said;

  (void) state;
  scene->nodes[0].period_ns = 120 * NS_PER_S;
  begin (scene, 0, "1", 1);
  run (scene, 600);
  SAID (JOB_STARTED, "1", "n1");
  NOTHING_MORE ();
  end (scene, 0, "1");
  run (scene, 400);
  ENDED ("1", "n1", "gone");
  scene_destroy (scene);
}

/* Whoever is admitted and sends ever new labels, or such that are none, finds an end. */
static void
test_hostile (void **state)
{
  struct scene *scene = scene_create (2);
  char label[40];

  (void) state;
  scene->many = true;
  begin (scene, 1, "honest", 1);
  for (int second = 0; second < 40; second++) {
    scene->nodes[0].count = 0;
    for (int i = 0; i < 3000; i++) {
      snprintf (label, sizeof label, "%d-%d", second, i);
      begin (scene, 0, label, 1);
    }
    run (scene, 1);
    assert_true (jobs_counts (scene->jobs)->jobs_running <= JOBS_NODE_MAX + 1);
  }
  assert_true (jobs_counts (scene->jobs)->job_rows_refused > 30 * 3000);
  assert_true (jobs_counts (scene->jobs)->jobs_started <= 2 * JOBS_NODE_MAX + 1);
  scene->nodes[0].count = 0;
  run (scene, 40);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_running, 1);
  begin (scene, 0, "a b", 1);
  begin (scene, 0, "", 1);
  run (scene, 5);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_running, 1);
  scene_destroy (scene);
}

static void
test_many (void **state)
{
  struct scene *scene = scene_create (100);
  char label[40];

  (void) state;
  scene->many = true;
  for (size_t i = 0; i < 10000; i++) {
    snprintf (label, sizeof label, "%zu", i);
    begin (scene, i % 100, label, 1);
    begin (scene, (i + 1) % 100, label, 1);
  }
  run (scene, 10);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_running, 10000);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_started, 10000);
  for (size_t i = 0; i < 100; i++)
    scene->nodes[i].count = 0;
  run (scene, 32);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_running, 0);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_ended, 10000);
  assert_int_equal (jobs_counts (scene->jobs)->job_rows_refused, 0);
  scene_destroy (scene);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_one),
    cmocka_unit_test (test_array),
    cmocka_unit_test (test_requeue),
    cmocka_unit_test (test_restart),
    cmocka_unit_test (test_kill),
    cmocka_unit_test (test_node_dies),
    cmocka_unit_test (test_node_boots),
    cmocka_unit_test (test_silent_node),
    cmocka_unit_test (test_wall_clock_steps),
    cmocka_unit_test (test_aggregator_clock_steps),
    cmocka_unit_test (test_stopped_aggregator),
    cmocka_unit_test (test_late_frames),
    cmocka_unit_test (test_late_frames_without_info),
    cmocka_unit_test (test_late_frames_of_an_earlier_run),
    cmocka_unit_test (test_told),
    cmocka_unit_test (test_told_alone),
    cmocka_unit_test (test_pause),
    cmocka_unit_test (test_reuse),
    cmocka_unit_test (test_counter_falls),
    cmocka_unit_test (test_no_info),
    cmocka_unit_test (test_long_period),
    cmocka_unit_test (test_hostile),
    cmocka_unit_test (test_many),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
