/* Which process ids are looked at: those that are new, whatever the numbers do. */
#include "agent/job/job_pids.h"
#include "synop/clock.h"
#include "tests/unit/agent/sampler_test.h"

struct scene {
  struct scratch scratch;
  struct job_pids *pids;
  int64_t now_ns;
  unsigned looked[40000]; /* how often, by id */
  size_t looks;
};

static bool
look (void *context, pid_t pid)
{
  struct scene *scene = context;
  char path[128];

  assert_in_range (pid, 1, 39999);
  scene->looked[pid]++;
  scene->looks++;
  snprintf (path, sizeof path, "%s/proc/%d", scene->scratch.root, (int) pid);
  return access (path, F_OK) == 0;
}

static void
set_last (const struct scene *scene, unsigned last, unsigned forks)
{
  char text[64];

  snprintf (text, sizeof text, "0.92 0.70 1.10 4/112 %u\n", last);
  scratch_write (&scene->scratch, "/proc/loadavg", text);
  snprintf (text, sizeof text, "cpu 1\nprocesses %u\nprocs_running 1\n", forks);
  scratch_write (&scene->scratch, "/proc/stat", text);
}

static void
put (const struct scene *scene, unsigned pid)
{
  char path[64];

  snprintf (path, sizeof path, "/proc/%u/x", pid);
  scratch_write (&scene->scratch, path, "");
}

static struct scene *
scene_create (bool own, unsigned last)
{
  struct scene *scene = calloc (1, sizeof *scene);

  scratch_init (&scene->scratch);
  scratch_write (&scene->scratch, "/proc/sys/kernel/pid_max", "32768\n");
  scratch_write (&scene->scratch, "/proc/7up/x", "");
  set_last (scene, last, 1000);
  put (scene, 1);
  put (scene, 300);
  scene->pids = job_pids_create (scene->scratch.root, own);
  scene->now_ns = NS_PER_S;
  return scene;
}

static void
find (struct scene *scene)
{
  memset (scene->looked, 0, sizeof scene->looked);
  scene->looks = 0;
  scene->now_ns += NS_PER_S;
  job_pids_find (scene->pids, scene->now_ns, look, scene);
}

static void
scene_free (struct scene *scene)
{
  job_pids_destroy (scene->pids);
  scratch_free (&scene->scratch);
  free (scene);
}

static void
test_only_new_ones (void **state)
{
  struct scene *scene = scene_create (true, 300);

  (void) state;
  find (scene);
  assert_int_equal (scene->looked[1], 1);
  assert_int_equal (scene->looked[300], 1);
  assert_int_equal (scene->looked[7], 0);
  find (scene);
  assert_int_equal (scene->looks, 0);
  set_last (scene, 303, 1003);
  put (scene, 302);
  find (scene);
  assert_int_equal (scene->looks, 3);
  assert_int_equal (scene->looked[301] + scene->looked[302] + scene->looked[303], 3);
  for (int i = 0; i < 200; i++) { /* what was found is known to the sweep of each minute */
    find (scene);
    assert_int_equal (scene->looks, 0);
  }
  put (scene, 250); /* came behind its back */
  for (int i = 0; i < 61 && scene->looks == 0; i++)
    find (scene);
  assert_int_equal (scene->looks, 1);
  assert_int_equal (scene->looked[250], 1);
  scene_free (scene);
}

static void
test_numbers_begin_again (void **state)
{
  struct scene *scene = scene_create (true, 32760);

  (void) state;
  find (scene);
  set_last (scene, 302, 1310);
  find (scene); /* 32761 ... 32767, 1 ... 302: those in use are looked at once more, they may be others */
  assert_int_equal (scene->looked[32761] + scene->looked[32767], 2);
  assert_int_equal (scene->looked[1] + scene->looked[300] + scene->looked[302], 3);
  assert_int_equal (scene->looked[303] + scene->looked[32760], 0);
  assert_int_equal (scene->looks, 7 + 302);
  scene_free (scene);
}

/* More than are tried: found in the folder, where those in the span are looked at though they are known. */
static void
test_storm (void **state)
{
  struct scene *scene = scene_create (true, 200);

  (void) state;
  find (scene);
  assert_int_equal (scene->looked[300], 1);
  for (unsigned pid = 500; pid < 600; pid++)
    put (scene, pid);
  set_last (scene, 9000, 10000);
  find (scene);
  assert_int_equal (scene->looks, 101); /* 300 too, and not 1 */
  assert_int_equal (scene->looked[300], 1);
  assert_int_equal (scene->looked[599], 1);
  find (scene);
  assert_int_equal (scene->looks, 0);
  scene_free (scene);
}

/* All numbers were given out, and the last one is where it was. */
static void
test_full_round (void **state)
{
  struct scene *scene = scene_create (true, 400);

  (void) state;
  find (scene);
  set_last (scene, 400, 1000 + 32768);
  find (scene);
  assert_int_equal (scene->looked[1], 1);
  assert_int_equal (scene->looked[300], 1);
  find (scene);
  assert_int_equal (scene->looks, 0);
  scene_free (scene);
}

/* A big folder is gone through in parts; what becomes unsure meanwhile is looked at in another round. */
static void
test_storm_in_a_sweep (void **state)
{
  struct scene *scene = scene_create (true, 200);
  unsigned seen = 0;

  (void) state;
  for (unsigned pid = 1000; pid < 4000; pid++)
    put (scene, pid);
  find (scene);
  assert_int_equal (scene->looks, 3002);
  set_last (scene, 1100, 2000); /* 201 ... 1100 */
  find (scene);
  set_last (scene, 1103, 2003); /* three more: at once */
  find (scene);
  assert_int_equal (scene->looked[1101] + scene->looked[1102] + scene->looked[1103], 3);
  set_last (scene, 1700, 3000); /* and many more */
  for (int i = 0; i < 20; i++) {
    find (scene);
    seen += scene->looked[1699];
    assert_int_equal (scene->looked[1701], 0);
  }
  assert_true (seen >= 1);
  find (scene);
  assert_int_equal (scene->looks, 0);
  scene_free (scene);
}

static void
test_forgotten (void **state)
{
  struct scene *scene = scene_create (false, 300);

  (void) state;
  find (scene);
  assert_int_equal (scene->looks, 2);
  find (scene);
  assert_int_equal (scene->looks, 0);
  job_pids_forget (scene->pids, 300);
  put (scene, 20); /* another namespace: the last number says nothing */
  find (scene);
  assert_int_equal (scene->looks, 2);
  assert_int_equal (scene->looked[20] + scene->looked[300], 2);
  scratch_remove (&scene->scratch, "/proc/20");
  find (scene);
  put (scene, 20); /* it was away, so it may be another */
  find (scene);
  assert_int_equal (scene->looked[20], 1);
  scene_free (scene);
}

static void
test_many (void **state)
{
  struct scene *scene = scene_create (false, 300);

  (void) state;
  for (unsigned pid = 1000; pid < 6000; pid++)
    put (scene, pid);
  find (scene);
  assert_int_equal (scene->looks, 5002);
  for (unsigned pid = 1000; pid < 6000; pid++) {
    assert_int_equal (scene->looked[pid], 1);
    job_pids_forget (scene->pids, (pid_t) pid);
  }
  find (scene);
  assert_int_equal (scene->looks, 5000);
  find (scene);
  assert_int_equal (scene->looks, 0);
  scene_free (scene);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_only_new_ones),
    cmocka_unit_test (test_numbers_begin_again),
    cmocka_unit_test (test_storm),
    cmocka_unit_test (test_full_round),
    cmocka_unit_test (test_storm_in_a_sweep),
    cmocka_unit_test (test_forgotten),
    cmocka_unit_test (test_many),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
