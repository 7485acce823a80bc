/* A long job's report is made of minutes where the history has them: it is the same as one made of frames alone, and most
 * frames are not unpacked. */
#include "aggregator/history/tier_store_private.h"
#include "tests/unit/aggregator/report/job_history.h"

#define PERIOD job.period
#define HOURS job.hours
#define SAMPLES ((uint64_t) HOURS * 3600 / PERIOD)
#define SHARE_PLACES 5e-5 /* percent: shares are stored to four places */
#define NODES "n1,n2,n3,n4"
#define FORGET "DELETE FROM tier_blocks; DELETE FROM tier_staged; DELETE FROM tier_parts"

static struct {
  unsigned period, hours; /* seconds */
} job = { 10, 12 };

struct made {
  const char *node;
  struct job_chain live, late;
  struct job_sample sample; /* counters as they stand */
  uint32_t state;
};

static uint64_t
chance (struct made *made, uint32_t below)
{
  made->state = made->state * 1664525 + 1013904223;
  return (made->state >> 8) % below;
}

static bool
within (uint64_t at, double from, double to) /* hours */
{
  double hour = (double) at * PERIOD / 3600;

  return hour >= from && hour < to;
}

static void
go_on (struct made *made, uint64_t at)
{
  struct job_sample *sample = &made->sample;

  sample->at = (double) at * PERIOD + 0.5;
  sample->period_ns = PERIOD * SECOND_NS;
  sample->session = sample->session ? sample->session : 5;
  sample->sequence++;
  sample->cpus = 4;
  sample->user_ms += chance (made, 4000 * PERIOD);
  sample->system_ms += chance (made, 300);
  sample->rss = 1 << 30 | chance (made, 1 << 29);
  sample->rss_peak = sample->rss > sample->rss_peak ? sample->rss : sample->rss_peak;
  sample->read += chance (made, 100) ? chance (made, 1000) : 1000000;
  sample->written += chance (made, 5) ? 0 : 4096;
  sample->received += chance (made, 100000);
  sample->sent += chance (made, 90000);
  sample->joules = 1 + (double) sample->user_ms / 10;
  sample->source = "cgroup";
}

static void
put_node (struct scratch *scratch, struct made *made, void (*befalls) (struct made *made, uint64_t at))
{
  struct job_sample held[64];
  size_t count = 0;

  for (uint64_t at = 0; at < SAMPLES; at++) {
    go_on (made, at);
    made->sample.absent = made->sample.other = made->sample.gone = false;
    made->sample.error = NULL;
    made->sample.chain = &made->live;
    befalls (made, at);
    if (made->sample.chain == &made->late)
      held[count++] = made->sample;
    else if (made->sample.chain)
      put_sample (scratch, made->node, "123", &made->sample);
    for (size_t i = 0; i < count && made->sample.chain == &made->live; i++) {
      put_sample (scratch, made->node, "123", &held[i]);
      count -= i + 1 == count ? count : 0;
    }
    if (at % 500 == 0)
      history_flush (scratch->history);
  }
  job_chain_free (&made->live);
  job_chain_free (&made->late);
}

static void
nothing (struct made *made, uint64_t at)
{
  (void) made;
  (void) at;
}

/* Frames that come late, and some that are lost. */
static void
network (struct made *made, uint64_t at)
{
  if (within (at, 3, 3.1))
    made->sample.chain = &made->late;
  if (within (at, 7, 7.2))
    made->sample.chain = NULL;
}

static void
lost (struct made *made, uint64_t at)
{
  if (within (at, 7, 7.2))
    made->sample.chain = NULL;
}

/* The agent is started anew, then for ten minutes it is not there; counters of the job and of the node fall. */
static void
restarts (struct made *made, uint64_t at)
{
  if (within (at, 2, 2.01) && made->sample.session == 5) {
    made->sample.session = 2;
    made->sample.sequence = 1;
  }
  if (within (at, 5, 5.17))
    made->sample.chain = NULL, made->sample.sequence--;
  if (at == 6 * 3600 / PERIOD + 7)
    made->sample.received = 17;
}

/* Another job is there for an hour, and for some time this one has no processes, or no row. */
static void
shares (struct made *made, uint64_t at)
{
  made->sample.other = within (at, 6, 7);
  made->sample.gone = within (at, 4, 4.3);
  made->sample.absent = within (at, 0, 1) || within (at, 8, 8.005) || within (at, 11.5, 12);
  made->sample.no_memory = within (at, 9, 9.2);
}

static void
shares_from_begin (struct made *made, uint64_t at)
{
  shares (made, at);
  made->sample.absent &= !within (at, 0, 1);
}

static void
counters_fall (struct made *made, uint64_t at)
{
  if (at == 6 * 3600 / PERIOD + 7)
    made->sample.read = 17;
}

/* The job has GPUs 0 and 1, of three. */
static void
with_gpus (struct made *made, uint64_t at)
{
  struct job_sample *sample = &made->sample;

  (void) at;
  sample->node_gpus = 3;
  sample->gpus = "0,1";
  sample->idle = "1";
  sample->used = 1;
  for (size_t i = 0; i < 3; i++)
    sample->types[i] = "NVIDIA H100";
  sample->gpu_percent[0] = chance (made, 101);
  sample->gpu_percent[2] = chance (made, 101);
}

/* It leaves both idle for a time, and for some minutes one after the other. */
static void
idle_now_and_then (struct made *made, uint64_t at)
{
  with_gpus (made, at);
  if (within (at, 3, 5) || (within (at, 6, 6.5) && chance (made, 2))) {
    made->sample.idle = "0,1";
    made->sample.used = 0;
    made->sample.gpu_percent[0] = 0;
  }
}

/* It has another, and that is in frames that are read. */
static void
other_gpus (struct made *made, uint64_t at)
{
  with_gpus (made, at);
  if (within (at, 2, 12))
    made->sample.gpus = "1,2";
  if (within (at, 2, 2.05))
    made->sample.idle = "1,2";
}

/* Another is left idle: as many as before. */
static void
idle_swapped (struct made *made, uint64_t at)
{
  with_gpus (made, at);
  if (within (at, 9, 12))
    made->sample.idle = "0";
}

/* Both are busy. */
static void
busy_gpus (struct made *made, uint64_t at)
{
  with_gpus (made, at);
  made->sample.idle = "";
  made->sample.used = 2;
  made->sample.gpu_percent[1] = chance (made, 101);
}

/* ---- comparison ---- */

static void
execute (const struct scratch *scratch, const char *text)
{
  sqlite3 *file;

  assert_int_equal (sqlite3_open (scratch->path, &file), SQLITE_OK);
  assert_int_equal (sqlite3_exec (file, text, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close (file);
}

static void
assert_alike (const char *one, const char *other)
{
  while (*one && *other) {
    char *end, *other_end;
    double value = strtod (one, &end), expected = strtod (other, &other_end);
    if (end == one || other_end == other) {
      if (*one++ != *other++)
        fail_msg ("%.60s rather than %.60s", one - 1, other - 1);
      continue;
    }
    if (!isfinite (value) || !isfinite (expected)) {
      if (*one++ != *other++)
        fail_msg ("%.60s rather than %.60s", one - 1, other - 1);
      continue;
    }
    if (!(fabs (value - expected) <= fmax (2e-6 * fabs (expected), SHARE_PLACES)))
      fail_msg ("%.80s rather than %.80s", one - 20, other - 20);
    one = end;
    other = other_end;
  }
  assert_true (!*one && !*other);
}

static void
assert_curves_alike (const struct job_report *one, const struct job_report *other)
{
  assert_int_equal (one->bins, other->bins);
  for (size_t node = 0; node < one->node_count; node++)
    for (size_t item = 0; item < JOB_ITEM_COUNT; item++)
      for (size_t bin = 0; one->nodes[node].series[item].known && bin < one->bins; bin++) {
        const struct job_series *a = &one->nodes[node].series[item], *b = &other->nodes[node].series[item];
        assert_int_equal (isnan (a->bins[bin]), isnan (b->bins[bin]));
        if (isnan (a->bins[bin]))
          continue;
        assert_true (fabsf (a->bins[bin] - b->bins[bin]) <= 1e-4F * fabsf (b->bins[bin]));
        assert_true (fabsf (a->bin_maxima[bin] - b->bin_maxima[bin]) <= 1e-5F * fabsf (b->bin_maxima[bin]));
      }
}

/* Folds what there is; and merges it, where that is due so long after now. */
static void
fold_all (struct scratch *scratch, int64_t seconds)
{
  struct error error = { "" };
  struct history_store *store = history_store_open (scratch->path, &error);
  const struct tier_limits limits = { .now_ns = clock_wall () + seconds * SECOND_NS,
                                      .minutes_before_ns = INT64_MIN,
                                      .hours_before_ns = INT64_MIN,
                                      .max_size = 1 << 30 };
  int more = 1;

  if (HOURS > 12) /* some of these tests delete metrics */
    store->tiers->whole_most = 0;
  while (more == 1)
    more = tier_store_work (store, &limits, INT64_MAX, &error);
  assert_int_equal (more, 0);
  history_store_close (store);
}

/* `damaged`: chunks of hours of which only minutes are read. They cannot be unpacked. `least`: samples in minutes. */
static void
assert_same (struct scratch *scratch, const char *nodes, bool ended, const char *damaged, uint64_t least,
             int64_t seconds)
{
  struct job_report *by_minutes, *by_frames;
  struct json json = { 0 }, other = { 0 };

  scratch_close (scratch);
  fold_all (scratch, seconds);
  execute (scratch, "CREATE TABLE kept AS SELECT id, data FROM chunks");
  if (damaged)
    execute (scratch, damaged);
  by_minutes = make_job_report (scratch, nodes, HOURS * 3600, ended, NULL);
  assert_int_equal (by_minutes->broken, 0);
  execute (scratch, "UPDATE chunks SET data = (SELECT data FROM kept WHERE kept.id = chunks.id);" FORGET);
  by_frames = make_job_report (scratch, nodes, HOURS * 3600, ended, NULL);
  assert_int_equal (by_frames->broken, 0);
  assert_int_equal (by_frames->minute_samples, 0);
  if (damaged)
    assert_true (by_minutes->minute_samples > least);
  assert_true (by_minutes->hour_samples <= (HOURS > 12 ? by_minutes->minute_samples : 0));
  by_minutes->minute_samples = by_minutes->hour_samples = 0;
  job_report_json (by_minutes, &json);
  job_report_json (by_frames, &other);
  assert_alike (buffer_text (&json.out), buffer_text (&other.out));
  assert_curves_alike (by_minutes, by_frames);
  json_free (&json);
  json_free (&other);
  job_report_destroy (by_minutes);
  job_report_destroy (by_frames);
}

static void
put_all (struct scratch *scratch, int second, /* of a minute, in which the job begins */
         bool simple)
{
  struct made nodes[] = { { .node = "n1", .state = 1 },
                          { .node = "n2", .state = 2 },
                          { .node = "n3", .state = 3 },
                          { .node = "n4", .state = 4 } };

  scratch->start_ns -= HOURS * 3600 * SECOND_NS + scratch->start_ns % (60 * SECOND_NS) - second * SECOND_NS;
  put_node (scratch, &nodes[0], nothing);
  put_node (scratch, &nodes[1], simple ? lost : network);
  put_node (scratch, &nodes[2], restarts);
  put_node (scratch, &nodes[3], simple ? shares_from_begin : shares);
}

/* `more`: what is damaged beside the chunks, in whole hours that begin from the first %lld until before the second one, in s. */
static void
assert_unread (struct scratch *scratch, int second, bool ended, int64_t seconds, const char *more)
{
  int64_t from, to;
  char damage[1024], minutes[512] = "";

  put_all (scratch, second, false);
  from = scratch->start_ns + (HOURS > 12 ? 13 * 3600 : 9 * 3600 + 2400) * SECOND_NS;
  to = scratch->start_ns + (HOURS - 1) * 3600 * SECOND_NS;
  if (more)
    snprintf (minutes, sizeof minutes, more, (long long) (from / SECOND_NS / 3600 + 1) * 3600,
              (long long) (to / SECOND_NS / 3600) * 3600);
  snprintf (damage, sizeof damage, "UPDATE chunks SET data = x'00' WHERE first_time > %lld AND last_time < %lld;%s",
            (long long) from, (long long) to, minutes);
  assert_same (scratch, NODES, ended, damage, 4 * SAMPLES * 8 / 10 * 9 / 10, seconds);
}

static void
test_same (void **state)
{
  assert_unread (*state, 2, true, 3 * 86400, NULL); /* merged */
}

/* The job's row is away at the end of one minute and the beginning of the next. */
static void
test_runs (void **state)
{
  assert_unread (*state, 42, false, 0, NULL);
}

/* Of a job of days whole hours are read: their minutes are there for job_cpu and job_processes alone. */
static void
test_hours (void **state)
{
  job.hours = 100;
  job.period = 30;
  assert_unread (*state, 2, true, 3 * 86400,
                 "DELETE FROM tier_blocks WHERE tier = 0 AND start >= %lld AND start < %lld AND metric > 0 AND"
                 " metric NOT IN (SELECT id FROM tier_metrics WHERE family IN ('job_cpu', 'job_processes'))");
}

/* Hours that were deleted, or that have not all: minutes are read. */
static void
test_without_hours (void **state)
{
  job.hours = 100;
  job.period = 30;
  assert_unread (*state, 2, true, 3 * 86400,
                 "DELETE FROM tier_blocks WHERE tier = 1 AND start >= %lld / 86400 * 86400 AND start < %lld");
}

/* What minutes do not have: counters of the job that fall, GPUs of the job, interfaces that should not count. */
static void
test_by_frames (void **state)
{
  struct scratch *scratch = *state;
  struct made nodes[] = { { .node = "n1", .state = 1 },
                          { .node = "n2", .state = 2, .sample = { .node_gpus = 2, .gpus = "0,1" } },
                          { .node = "n3", .state = 3, .sample = { .lo_counts = true } },
                          { .node = "n4", .state = 4, .sample = { .node_gpus = 2, .mute = "no driver" } } };

  scratch->start_ns -= HOURS * 3600 * SECOND_NS;
  put_node (scratch, &nodes[0], counters_fall);
  for (size_t i = 1; i < 4; i++)
    put_node (scratch, &nodes[i], nothing);
  assert_same (scratch, NODES, true, NULL, 0, 0);
}

static void
test_gpus (void **state)
{
  struct scratch *scratch = *state;
  struct made nodes[] = { { .node = "n1", .state = 1 },
                          { .node = "n2", .state = 2 },
                          { .node = "n3", .state = 3 },
                          { .node = "n4", .state = 4 } };
  char damage[512];

  scratch->start_ns -= HOURS * 3600 * SECOND_NS;
  put_node (scratch, &nodes[0], with_gpus);
  put_node (scratch, &nodes[1], idle_now_and_then);
  put_node (scratch, &nodes[2], other_gpus);
  put_node (scratch, &nodes[3], idle_swapped);
  scratch_close (scratch);
  snprintf (damage, sizeof damage,
            "UPDATE chunks SET data = x'00' WHERE node IN (SELECT id FROM nodes WHERE name IN ('n1', 'n2')) AND "
            "first_time > %lld AND last_time < %lld",
            (long long) (scratch->start_ns + (9 * 3600 + 2400) * SECOND_NS),
            (long long) (scratch->start_ns + 11 * 3600 * SECOND_NS));
  assert_same (scratch, NODES, true, damage, 2 * SAMPLES * 9 / 10, 0);
}

/* Which did most at the same time, minutes do not say. */
static void
test_busy_gpus (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *by_minutes, *by_frames;
  char nodes[4][3] = { "n1", "n2", "n3", "n4" };

  scratch->start_ns -= HOURS * 3600 * SECOND_NS;
  for (uint32_t i = 0; i < 4; i++) {
    struct made made = { .node = nodes[i], .state = i };
    put_node (scratch, &made, busy_gpus);
  }
  scratch_close (scratch);
  fold_all (scratch, 0);
  by_minutes = make_job_report (scratch, NODES, HOURS * 3600, true, NULL);
  execute (scratch, FORGET);
  by_frames = make_job_report (scratch, NODES, HOURS * 3600, true, NULL);
  assert_true (by_minutes->minute_samples > 4 * SAMPLES * 9 / 10);
  assert_int_equal (by_frames->minute_samples, 0);
  for (size_t i = 0; i < 4; i++) {
    const struct job_series *one = &by_minutes->nodes[i].series[JOB_GPU_USAGE],
                            *other = &by_frames->nodes[i].series[JOB_GPU_USAGE];
    assert_true (fabs (one->mean - other->mean) <= 1e-5 * other->mean);
    assert_true (one->maximum >= other->maximum && one->maximum <= 100);
    assert_true (one->minimum <= other->minimum && one->minimum >= 0);
    assert_int_equal (by_minutes->nodes[i].gpu_count, 2);
    for (size_t k = 0; k < 2; k++) {
      const struct report_gpu *gpu = &by_minutes->nodes[i].gpus[k], *same = &by_frames->nodes[i].gpus[k];
      assert_int_equal (gpu->samples, same->samples);
      assert_true (fabs (gpu->utilization.sum - same->utilization.sum) < 1e-3);
      assert_true (gpu->utilization.highest >= same->utilization.highest && gpu->utilization.highest <= 100);
    }
  }
  job_report_destroy (by_minutes);
  job_report_destroy (by_frames);
}

/* ---- frames that are deleted ---- */

static bool
is_near (double one, double other, double part)
{
  return (isnan (one) && isnan (other)) || fabs (one - other) <= part * fabs (other);
}

/* As the report from all frames, but for what minutes do not have. `part`: how much figures may differ. */
static void
assert_near_all (const struct job_report *bare, const struct job_report *all, double part)
{
  for (size_t i = 0; i < all->node_count; i++) {
    const struct job_node *node = &bare->nodes[i], *other = &all->nodes[i];
    assert_true (is_near (node->cpus, other->cpus, 1e-9));
    assert_true (is_near ((double) node->samples, (double) other->samples, part));
    assert_int_equal (node->shared, other->shared);
    assert_int_equal (node->lost, other->lost);
    if (i < 3) /* on n4 there was no row of the job for a time: more is not known */
      assert_true (fabs (node->gap_seconds - other->gap_seconds) <= 240);
    for (size_t item = 0; item < JOB_ITEM_COUNT; item++) {
      const struct job_series *one = &node->series[item], *two = &other->series[item];
      if (job_item_is_of_gpus (item))
        continue;
      if (one->known != two->known || !is_near (one->total, two->total, part) ||
          !is_near (one->mean, two->mean, part) || one->maximum > two->maximum * 1.01 || one->maximum < one->mean ||
          one->minimum < two->minimum * 0.99 - 1e-3)
        fail_msg ("%s of %s: %d %g %g %g %g rather than %d %g %g %g %g", job_items[item].name, other->name, one->known,
                  one->total, one->mean, one->minimum, one->maximum, two->known, two->total, two->mean, two->minimum,
                  two->maximum);
    }
  }
}

/* Deletes what ended before that hour of the job, as for its age. */
static struct job_report *
without_chunks (struct scratch *scratch, double hours)
{
  char text[128];

  snprintf (text, sizeof text, "DELETE FROM chunks WHERE last_time < %lld",
            (long long) (scratch->start_ns + (int64_t) (hours * 3600) * SECOND_NS));
  execute (scratch, text);
  return make_job_report (scratch, NODES, HOURS * 3600, true, NULL);
}

static void
assert_bare (struct scratch *scratch, const struct job_report *all, double hours, double least)
{
  struct job_report *bare = without_chunks (scratch, hours);
  uint64_t samples = 0;

  for (size_t i = 0; i < bare->node_count; i++)
    samples += bare->nodes[i].samples;
  assert_true ((double) bare->bare_samples >= least * (double) samples);
  assert_true (says (bare, "were deleted for their age"));
  assert_false (says (bare, "has no samples of this job's time"));
  assert_near_all (bare, all, 0.03);
  job_report_destroy (bare);
}

/* It is not known any more that the change behind frames that came late is of their time too, nor what the job used before it was
 * seen. */
static void
assert_all_bare (struct scratch *scratch, int second)
{
  struct job_report *all;

  put_all (scratch, second, true);
  scratch_close (scratch);
  fold_all (scratch, 3 * 86400);
  all = make_job_report (scratch, NODES, HOURS * 3600, true, NULL);
  assert_int_equal (all->bare_samples, 0);
  assert_bare (scratch, all, HOURS - 5.3, 0.5);
  assert_bare (scratch, all, HOURS + 1, 1);
  job_report_destroy (all);
}

static void
test_deleted (void **state)
{
  assert_all_bare (*state, 2);
}

static void
test_deleted_hours (void **state)
{
  job.hours = 100;
  job.period = 30;
  assert_all_bare (*state, 42);
}

/* A job that is not long has its report from minutes only where there is nothing else. */
static void
test_deleted_short (void **state)
{
  struct scratch *scratch = *state;
  struct made made = { .node = "n1", .state = 1 };
  struct job_report *all, *bare;

  job.hours = 1;
  scratch->start_ns -= 3600 * SECOND_NS + scratch->start_ns % (60 * SECOND_NS) - 2 * SECOND_NS;
  put_node (scratch, &made, nothing);
  scratch_close (scratch);
  fold_all (scratch, 3 * 86400);
  all = make_job_report (scratch, "n1,n9", 3600, true, NULL);
  assert_int_equal (all->minute_samples, 0);
  assert_int_equal (all->grain_ns, 1);
  execute (scratch, "DELETE FROM chunks");
  bare = make_job_report (scratch, "n1,n9", 3600, true, NULL);
  assert_int_equal (bare->bare_samples, bare->nodes[0].samples);
  assert_int_equal (bare->bins, 60 + 1);
  assert_near_all (bare, all, 0.02);
  job_report_destroy (all);
  job_report_destroy (bare);
}

/* Which GPUs the job had is not known any more: those of the node count, and the report says so. */
static void
test_deleted_gpus (void **state)
{
  struct scratch *scratch = *state;
  struct made made = { .node = "n1", .state = 1 };
  struct job_report *bare;

  job.hours = 2;
  scratch->start_ns -= HOURS * 3600 * SECOND_NS;
  put_node (scratch, &made, with_gpus);
  scratch_close (scratch);
  fold_all (scratch, 3 * 86400);
  bare = make_job_report (scratch, "n1", HOURS * 3600, true, NULL);
  assert_false (bare->whole_gpus);
  job_report_destroy (bare);
  execute (scratch, "DELETE FROM chunks");
  bare = make_job_report (scratch, "n1", HOURS * 3600, true, NULL);
  assert_true (bare->whole_gpus);
  assert_true (bare->nodes[0].series[JOB_GPU_USAGE].mean > 20 && bare->nodes[0].series[JOB_GPU_USAGE].mean < 60);
  assert_int_equal (bare->nodes[0].gpu_count, 0);
  job_report_destroy (bare);
}

static int
short_again (void **state)
{
  job.hours = 12;
  job.period = 10;
  return scratch_destroy (state);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown (test_same, job_scratch_create, scratch_destroy),
    cmocka_unit_test_setup_teardown (test_runs, job_scratch_create, scratch_destroy),
    cmocka_unit_test_setup_teardown (test_hours, job_scratch_create, short_again),
    cmocka_unit_test_setup_teardown (test_without_hours, job_scratch_create, short_again),
    cmocka_unit_test_setup_teardown (test_by_frames, job_scratch_create, scratch_destroy),
    cmocka_unit_test_setup_teardown (test_deleted, job_scratch_create, short_again),
    cmocka_unit_test_setup_teardown (test_deleted_hours, job_scratch_create, short_again),
    cmocka_unit_test_setup_teardown (test_deleted_short, job_scratch_create, short_again),
    cmocka_unit_test_setup_teardown (test_deleted_gpus, job_scratch_create, short_again),
    cmocka_unit_test_setup_teardown (test_gpus, job_scratch_create, scratch_destroy),
    cmocka_unit_test_setup_teardown (test_busy_gpus, job_scratch_create, scratch_destroy),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
