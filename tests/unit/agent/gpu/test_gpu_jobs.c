/* Processes and jobs on GPUs, on the stand-in for NVIDIA's library (tests/lib/nvml/stand_in.h): floods of processes, times
 * from the future, and what job_gpu makes of what a job was given. */
#include "tests/unit/agent/job/job_machine.h"

#include <libgen.h>
#include <time.h>

#include "agent/gpu/gpu.h"
#include "agent/gpu/gpu_seen.h"
#include "agent/gpu/pid_map.h"

struct scene {
  struct machine machine;
  struct agent_options *options;
  struct sampled gpu, processes, jobs;
  char library[512], script[128];
};

static void
script (const struct scene *scene, const char *text)
{
  char from[128];

  scratch_write (&scene->machine.scratch, "/new", text);
  snprintf (from, sizeof from, "%s/new", scene->machine.scratch.root);
  assert_int_equal (rename (from, scene->script), 0); /* another file: noticed whatever its time and size are */
}

static void
scene_group (struct scene *scene, struct sampled *sampled, const struct sampler *sampler)
{
  sampled->options = scene->options;
  sampled_open (sampled, sampler, scene->machine.scratch.root);
}

static void
scene_begin (struct scene *scene, const char *text)
{
  char self[400] = "";

  *scene = (struct scene){ .options = NULL };
  machine_init (&scene->machine);
  snprintf (scene->script, sizeof scene->script, "%s/script", scene->machine.scratch.root);
  setenv ("SYNOP_NVML_SCRIPT", scene->script, 1);
  assert_true (readlink ("/proc/self/exe", self, sizeof self - 1) > 0);
  snprintf (scene->library, sizeof scene->library, "%s/../lib/libnvidia-ml.so.1", dirname (self));
  script (scene, text);
  scene->options = options_for (scene->machine.scratch.root, "[gpu]\nlibrary = %s\n", scene->library);
  scene_group (scene, &scene->gpu, &sampler_gpu);
  scene_group (scene, &scene->processes, &sampler_gpu_processes);
  scene_group (scene, &scene->jobs, &sampler_job_gpu);
}

static void
scene_end (struct scene *scene)
{
  sampled_close (&scene->jobs);
  sampled_close (&scene->processes);
  sampled_close (&scene->gpu);
  agent_options_destroy (scene->options);
  scratch_free (&scene->machine.scratch);
}

static int
in_worker (struct sampled *sampled)
{
  sampled_may_block (sampled);
  return sampled_again (sampled);
}

/* Until job_gpu has that many jobs, as of the processes that are there; what is asked in threads takes a while. */
static void
scene_sample (struct scene *scene, size_t jobs)
{
  int64_t end_ns = clock_monotonic () + 60 * NS_PER_S;

  in_worker (&scene->gpu);
  in_worker (&scene->processes);
  do {
    usleep (5000);
    assert_int_equal (sampled_again (&scene->jobs), 0);
  } while (scene->jobs.table.rows < jobs && clock_monotonic () < end_ns);
  assert_int_equal (scene->jobs.table.rows, jobs);
}

/* ---- processes ---- */

static void
test_pid_map (void **state)
{
  struct pid_map map = { 0 };

  (void) state;
  assert_int_equal (pid_map_find (&map, 7), SIZE_MAX);
  for (uint32_t size = 1; size <= 5000; size *= 17) {
    pid_map_begin (&map, size);
    for (uint32_t i = 0; i < size; i++)
      assert_int_equal (pid_map_add (&map, 1 + i * 4096, i), i);
    assert_int_equal (pid_map_add (&map, 1, 99), 0);
    for (uint32_t i = 0; i < size; i++)
      assert_int_equal (pid_map_find (&map, 1 + i * 4096), i);
    assert_int_equal (pid_map_find (&map, 2), SIZE_MAX);
    assert_int_equal (pid_map_find (&map, 0), SIZE_MAX);
  }
  pid_map_begin (&map, 3);
  assert_int_equal (pid_map_find (&map, 1), SIZE_MAX);
  pid_map_free (&map);
}

static void
crowd (char text[1000], unsigned of_each)
{
  int length = snprintf (text, 1000, "gpus 8\n");

  for (int i = 0; i < 8; i++)
    length += snprintf (text + length, 1000 - (size_t) length, "value %d many %u\nvalue %d many_base %d\n", i, of_each,
                        i, 100000 * (i + 1));
}

/* GPUs share what may be told; how many are left out is said, and a job's use of such a GPU is not known. */
static void
test_a_crowd (void **state)
{
  static const struct {
    const char *label;
    bool is;
  } told[] = {
    { "0/101999", true },                        /* who comes first may have half, */
    { "1/200559", true }, { "1/200560", false }, /* and leaves 256 for each of the others */
    { "2/300255", true }, { "2/300256", false },
    { "3/400009", true }, { "5/600000", false }, /* the driver tells such a list as a whole */
    { "6/701013", true }, { "6/701014", false },
    { "7/800255", true }, { "7/800256", false },
  };
  char text[1000];
  struct scene scene;

  (void) state;
  crowd (text, 512);
  scene_begin (&scene, text);
  assert_int_equal (in_worker (&scene.processes), 0);
  assert_int_equal (scene.processes.table.rows, 8 * 512);
  crowd (text, 2000);
  strcat (text, "value 3 many 10\nvalue 4 many 0\nvalue 5 many 5000\ngraphics 6 800000 5\ngraphics 6 700001 5\n");
  script (&scene, text);
  assert_int_equal (in_worker (&scene.processes), -1);
  assert_int_equal (scene.processes.table.rows, GPU_PROCESSES_MAX);
  snprintf (text, sizeof text, "%zu processes are left out: there are more than 4096",
            5 * 2000 + 10 + 5000 + 1 - scene.processes.table.rows);
  assert_string_equal (scene.processes.table.error, text);
  for (size_t i = 0; i < sizeof told / sizeof told[0]; i++)
    if (sampled_has_row (&scene.processes, told[i].label) != told[i].is)
      fail_msg ("%s is %stold", told[i].label, told[i].is ? "not " : "");

  machine_put (&scene.machine,
               (struct made){ .pid = 700001, .environment = "SYNOP_JOB_ID=j CUDA_VISIBLE_DEVICES=2,6", .start = 50 });
  machine_put (&scene.machine,
               (struct made){ .pid = 21, .environment = "SYNOP_JOB_ID=k CUDA_VISIBLE_DEVICES=3", .start = 50 });
  scene_sample (&scene, 2);
  assert_missing (&scene.jobs, "j", "gpus_used");
  assert_missing (&scene.jobs, "j", "memory_used");
  assert_text (&scene.jobs, "j", "idle", "");
  assert_uint (&scene.jobs, "k", "gpus_used", 0);
  assert_text (&scene.jobs, "k", "idle", "3");
  assert_int_equal (in_worker (&scene.processes), -1);
  assert_text (&scene.processes, "6/700001", "job", "j");
  script (&scene, "gpus 8\nprocess 6 700001 5\n");
  scene_sample (&scene, 2);
  assert_string_equal (scene.processes.table.error, "");
  assert_text (&scene.jobs, "j", "idle", "2");
  assert_uint (&scene.jobs, "j", "memory_used", 5);
  scene_end (&scene);
}

/* It costs as much as there are processes: their square would take minutes. */
static void
test_a_crowd_is_read_soon (void **state)
{
  char text[1000];
  struct scene scene;
  clock_t begin;

  (void) state;
  crowd (text, 4000);
  scene_begin (&scene, text);
  assert_int_equal (in_worker (&scene.processes), -1);
  begin = clock (); /* of this process: the machine has other work */
  for (int i = 0; i < 10; i++)
    assert_int_equal (in_worker (&scene.processes), -1);
  assert_in_range (clock () - begin, 0, 10 * CLOCKS_PER_SEC);
  scene_end (&scene);
}

static void
use_at (struct scene *scene, int64_t us)
{
  char text[200];

  snprintf (text, sizeof text, "gpus 1\nprocess 0 77 1000\nvalue * use_time %llu\n", (unsigned long long) us);
  script (scene, text);
  assert_int_equal (in_worker (&scene->processes), 0);
}

/* A time from the future does not count, and a clock that is set back hides nothing. */
static void
test_times_of_use (void **state)
{
  int64_t now_us = clock_wall () / 1000;
  struct scene scene;

  (void) state;
  scene_begin (&scene, "gpus 1\n");
  use_at (&scene, now_us);
  assert_uint (&scene.processes, "0/77", "utilization", 60);
  use_at (&scene, now_us);
  assert_missing (&scene.processes, "0/77", "utilization"); /* it was told already */
  use_at (&scene, -1);
  assert_missing (&scene.processes, "0/77", "utilization");
  use_at (&scene, now_us + 1);
  assert_uint (&scene.processes, "0/77", "utilization", 60);
  ((struct gpus *) service_find (&scene.options->context, &service_gpus))->list[0].use_seen_us =
      (uint64_t) now_us + UINT64_C (3600000000); /* then the clock was set back */
  use_at (&scene, now_us + 2);
  assert_uint (&scene.processes, "0/77", "utilization", 60);
  use_at (&scene, now_us + 3);
  assert_uint (&scene.processes, "0/77", "utilization", 60);
  scene_end (&scene);
}

/* ---- jobs ---- */

static void
test_what_ends_a_list (void **state)
{
  static const struct {
    const char *words, *gpus;
  } lists[] = { { "0,-1,1", "0" }, { "2,0", "0,2" }, { "1,none,2", "1" }, { "0-1,3", "0,1,3" },
                { "1,2x,3", "1" }, { "3,,1", "3" },  { "1,9,2", "1,2" } };
  struct scene scene;

  (void) state;
  scene_begin (&scene, "gpus 4\n");
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    char environment[100];

    snprintf (environment, sizeof environment, "SYNOP_JOB_ID=j%zu CUDA_VISIBLE_DEVICES=%s", i, lists[i].words);
    machine_put (&scene.machine, (struct made){ .pid = 20 + (int) i, .environment = environment, .start = 50 });
  }
  machine_put (&scene.machine,
               (struct made){ .pid = 50, .environment = "SYNOP_JOB_ID=none CUDA_VISIBLE_DEVICES=-1,0", .start = 50 });
  scene_sample (&scene, sizeof lists / sizeof lists[0]);
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    char label[8];

    snprintf (label, sizeof label, "j%zu", i);
    assert_text (&scene.jobs, label, "gpus", lists[i].gpus);
  }
  scene_end (&scene);
}

/* A text that is full ends behind a whole label; all of the UUIDs that a node may have are taken. */
static void
test_many_gpus (void **state)
{
  char text[1000] = "gpus 32\n", environment[700] = "SYNOP_JOB_ID=u CUDA_VISIBLE_DEVICES=", cut[512] = "";
  struct scene scene;
  size_t length;

  (void) state;
  for (int i = 0; i < 32; i++)
    snprintf (text + strlen (text), sizeof text - strlen (text), "mig %d 7\n", i);
  scene_begin (&scene, text);
  machine_put (
      &scene.machine,
      (struct made){ .pid = 20, .environment = "SYNOP_JOB_ID=j CUDA_VISIBLE_DEVICES=GPU-0,MIG-0", .start = 50 });
  for (int i = 16; i < 32; i++)
    snprintf (environment + strlen (environment), sizeof environment - strlen (environment),
              "%sGPU-00000000-0000-0000-0000-%012d", i > 16 ? "," : "", i);
  machine_put (&scene.machine, (struct made){ .pid = 21, .environment = environment, .start = 50 });
  scene_sample (&scene, 2);
  assert_uint (&scene.jobs, "j", "gpus_allocated", 256);
  for (int i = 0; i < 256; i++) {
    char label[16];

    length = strlen (cut);
    snprintf (label, sizeof label, i % 8 ? "%d:%d" : "%d", i / 8, i % 8 - 1);
    if (length + 1 + strlen (label) + 4 >= sizeof cut) {
      strcat (cut, ",...");
      break;
    }
    snprintf (cut + length, sizeof cut - length, "%s%s", length ? "," : "", label);
  }
  assert_text (&scene.jobs, "j", "gpus", cut);
  assert_text (&scene.jobs, "j", "idle", cut);
  assert_uint (&scene.jobs, "u", "gpus_allocated", 16);
  scene_end (&scene);
}

#define FOLDER(id) "/synop_job_" id

static void
put_in_folder (struct scene *scene, int pid, const char *id, const char *more, const char *devices)
{
  char cgroup[100], environment[100], path[100];

  snprintf (cgroup, sizeof cgroup, "3:devices:" FOLDER ("%s") "\n", id);
  snprintf (environment, sizeof environment, "SYNOP_JOB_ID=%s%s", id, more);
  snprintf (path, sizeof path, "/d" FOLDER ("%s") "/devices.list", id);
  scratch_write (&scene->machine.scratch, path, devices);
  machine_put (&scene->machine, (struct made){ .pid = pid, .environment = environment, .cgroup = cgroup, .start = 50 });
}

/* Which GPUs the cgroup permits is what a job was given, where its environment says nothing. */
static void
test_devices_of_the_cgroup (void **state)
{
  struct scene scene;

  (void) state;
  scene_begin (&scene, "gpus 4\nvalue 0 minor 3\nvalue 3 minor 0\nmig 2 2\nprocess 1 23 1000\n");
  scratch_write (&scene.machine.scratch, "/proc/self/mountinfo", "33 25 0:30 / /d rw - cgroup cgroup rw,devices\n");
  put_in_folder (&scene, 20, "two", "", "c 1:3 rwm\nc 195:255 rw\nc 195:3 rw\nc 195:1 rwm\nc 508:2 r\nc *:* m\n");
  put_in_folder (&scene, 21, "named", " CUDA_VISIBLE_DEVICES=1", "c 195:3 rw\n");
  put_in_folder (&scene, 22, "split", "", "c 195:2 rw\n");
  put_in_folder (&scene, 23, "free", "", "a *:* rwm\n");
  put_in_folder (&scene, 24, "whole", "", "c 195:0 rw\nc 195:1 rw\nc 195:2 rw\nc 195:3 rw\n");
  put_in_folder (&scene, 25, "major", "", "c 195:* rwm\n");
  put_in_folder (&scene, 26, "made", "", "c 195:* m\nb 195:1 rw\nc 195:1 r\nc 195:999 rw\nc 195:x rw\nc\n\n");
  scene_sample (&scene, 3);
  assert_text (&scene.jobs, "two", "gpus", "0,1");
  assert_uint (&scene.jobs, "two", "gpus_allocated", 2);
  assert_uint (&scene.jobs, "two", "gpus_idle", 2);
  assert_text (&scene.jobs, "named", "gpus", "1");
  assert_text (&scene.jobs, "free", "gpus", "1"); /* by its process */
  assert_missing (&scene.jobs, "free", "gpus_allocated");
  assert_int_equal (in_worker (&scene.processes), 0);
  assert_text (&scene.processes, "1/23", "job", "free");
  scene_end (&scene);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_pid_map),
    cmocka_unit_test (test_a_crowd),
    cmocka_unit_test (test_a_crowd_is_read_soon),
    cmocka_unit_test (test_times_of_use),
    cmocka_unit_test (test_what_ends_a_list),
    cmocka_unit_test (test_many_gpus),
    cmocka_unit_test (test_devices_of_the_cgroup),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
