/* gpu and the groups beside it, on the stand-in for NVIDIA's library (tests/lib/nvml/stand_in.h): values, what stands for
 * none, and every fault that it can have. */
#include "tests/unit/agent/sampler_test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <sys/mman.h>

#include "agent/gpu/gpu.h"
#include "agent/gpu/gpu_events.h"
#include "agent/gpu/gpu_seen.h"
#include "agent/sampling/worker.h"
#include "synop/clock.h"

#define GIB (UINT64_C (1) << 30)

struct scene {
  struct scratch scratch;
  struct agent_options *options; /* of all that are open at once */
  char library[512], script[128];
};

static struct scene scene;
static _Atomic int64_t later_ns; /* time that passes without being waited for */
static int64_t still_ns;         /* not 0: no other time passes */

int64_t __real_clock_monotonic (void);
int64_t __wrap_clock_monotonic (void);

int64_t
__wrap_clock_monotonic (void)
{
  return (still_ns ? still_ns : __real_clock_monotonic ()) + later_ns;
}

static void
script (const char *text)
{
  scratch_write (&scene.scratch, "/new", text);
  char from[128];

  snprintf (from, sizeof from, "%s/new", scene.scratch.root);
  assert_int_equal (rename (from, scene.script), 0); /* another file: noticed whatever its time and size are */
}

static int
scene_begin (void **state)
{
  char self[400] = "";

  (void) state;
  scratch_init (&scene.scratch);
  scratch_write (&scene.scratch, "/dev/kmsg", "6,1,1,-;NVRM: Xid (PCI:0000:10:00): 31, before the agent\n");
  scratch_write (&scene.scratch, "/proc/4321/comm", "train\n");
  snprintf (scene.script, sizeof scene.script, "%s/script", scene.scratch.root);
  setenv ("SYNOP_NVML_SCRIPT", scene.script, 1);
  assert_true (readlink ("/proc/self/exe", self, sizeof self - 1) > 0);
  snprintf (scene.library, sizeof scene.library, "%s/../lib/libnvidia-ml.so.1", dirname (self));
  scene.options = NULL;
  still_ns = 0;
  return 0;
}

static struct agent_options *
scene_options (void)
{
  if (!scene.options)
    scene.options = options_for (scene.scratch.root, "[gpu]\nlibrary = %s\n", scene.library);
  return scene.options;
}

static struct gpus *
scene_gpus (void)
{
  return service_find (&scene_options ()->context, &service_gpus);
}

/* The library is unloaded with the last of its users, and forgets all. */
static void
scene_forget (void)
{
  if (scene.options)
    agent_options_destroy (scene.options);
  scene.options = NULL;
}

static int
scene_end (void **state)
{
  (void) state;
  scene_forget ();
  scratch_free (&scene.scratch);
  return 0;
}

/* What is logged between log_begin and log_end. */
struct log {
  char text[4000];
  unsigned lines;
  int file, before;
};

static void
log_begin (struct log *log)
{
  *log = (struct log){ .file = memfd_create ("log", MFD_CLOEXEC), .before = dup (STDERR_FILENO) };
  assert_true (log->file >= 0 && log->before >= 0);
  dup2 (log->file, STDERR_FILENO);
}

static void
log_end (struct log *log)
{
  dup2 (log->before, STDERR_FILENO);
  close (log->before);
  assert_true (pread (log->file, log->text, sizeof log->text - 1, 0) >= 0);
  close (log->file);
  for (const char *at = log->text; (at = strchr (at, '\n')); at++)
    log->lines++;
}

static void
gpu_open (struct sampled *sampled, const struct sampler *sampler)
{
  sampled->options = scene_options ();
  sampled_open (sampled, sampler, scene.scratch.root);
}

static int
gpu_again (struct sampled *sampled)
{
  sampled_may_block (sampled);
  return sampled_again (sampled);
}

static void
test_values (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  script ("gpus 8\nvalue 2 reasons 68\nvalue 2 violation11 5000\nvalue 2 retired_double 3\nvalue 2 remapped 4\n"
          "value 2 energy 123456\nfield 2 82 55\nfield 2 138 4711\nfield 2 59 7\n");
  gpu_open (&sampled, &sampler_gpu);
  assert_true (sampled_may_block (&sampled));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "");
  assert_int_equal (sampled.table.rows, 8);
  assert_uint (&sampled, "2", "utilization", 52);
  assert_uint (&sampled, "2", "memory_utilization", 20);
  assert_uint (&sampled, "2", "memory_used", 3 * GIB);
  assert_uint (&sampled, "2", "memory_reserved", GIB / 2);
  assert_uint (&sampled, "2", "memory_total", 80 * GIB);
  assert_uint (&sampled, "2", "memory_free", 80 * GIB - 3 * GIB - GIB / 2);
  assert_uint (&sampled, "2", "bar1_used", 5 << 20);
  assert_uint (&sampled, "2", "temperature", 42);
  assert_uint (&sampled, "2", "memory_temperature", 55);
  assert_missing (&sampled, "1", "memory_temperature");
  assert_uint (&sampled, "2", "power", 102000);
  assert_uint (&sampled, "2", "power_limit", 700000);
  assert_uint (&sampled, "2", "energy", 123456);
  assert_uint (&sampled, "2", "clock_graphics", 1700);
  assert_uint (&sampled, "2", "clock_sm", 1701);
  assert_uint (&sampled, "2", "clock_memory_max", 1982);
  assert_uint (&sampled, "2", "throttled_sw_power_cap", 1);
  assert_uint (&sampled, "2", "throttled_hw_thermal", 1);
  assert_uint (&sampled, "2", "throttled_hw_slowdown", 0);
  assert_uint (&sampled, "2", "throttled_idle", 0);
  assert_uint (&sampled, "2", "throttle_time_thermal", 1000);
  assert_uint (&sampled, "2", "throttle_time_application_clocks", 10000);
  assert_uint (&sampled, "2", "throttle_time_base_clocks", 5000);
  assert_uint (&sampled, "2", "pcie_width", 16);
  assert_uint (&sampled, "2", "pcie_rx", 1001);
  assert_uint (&sampled, "2", "nvlink_tx", 5711);
  assert_missing (&sampled, "2", "nvlink_rx");
  assert_uint (&sampled, "2", "nvlink_recovery_errors", 7);
  assert_uint (&sampled, "2", "ecc_uncorrected", 1);
  assert_uint (&sampled, "2", "ecc_corrected_aggregate", 10);
  assert_uint (&sampled, "2", "retired_pages_double_bit", 3);
  assert_uint (&sampled, "2", "remapped_rows_correctable", 4);
  assert_uint (&sampled, "2", "xid_errors", 0);
  assert_missing (&sampled, "2", "xid");
  assert_text (&sampled, "2", "state", "ok");
  sampled_close (&sampled);
}

static void
test_blank_is_missing (void **state)
{
  static const char *const blank[] = { "utilization",        "memory_used",   "temperature", "power",    "energy",
                                       "memory_temperature", "ecc_corrected", "nvlink_tx",   "nvlink_rx" };
  struct sampled sampled = { 0 };

  (void) state;
  script ("gpus 1\nblank * 0\n");
  gpu_open (&sampled, &sampler_gpu);
  assert_int_equal (gpu_again (&sampled), 0);
  for (size_t i = 0; i < sizeof blank / sizeof blank[0]; i++)
    assert_missing (&sampled, "0", blank[i]);
  assert_text (&sampled, "0", "state", "ok");
  script ("gpus 1\nvalue 0 reasons 18446744073709551615\nvalue 0 violation1 9223372036854775792\n");
  assert_int_equal (gpu_again (&sampled), 0);
  assert_missing (&sampled, "0", "throttled_hw_slowdown");
  assert_missing (&sampled, "0", "throttle_time_thermal");
  assert_uint (&sampled, "0", "throttle_time_application_clocks", 10000);
  script ("gpus 1\nvalue 0 temperature 4294967294\nvalue 0 power 4294967294\nvalue 0 clock 4294967290\n");
  assert_int_equal (gpu_again (&sampled), 0);
  assert_missing (&sampled, "0", "temperature");
  assert_missing (&sampled, "0", "power");
  assert_missing (&sampled, "0", "clock_graphics");
  sampled_close (&sampled);
}

static void
test_mig (void **state)
{
  struct sampled sampled = { 0 }, info = { 0 };

  (void) state;
  script ("gpus 2\nmig 0 2\nvalue 0:1 memory_used 77\n");
  gpu_open (&sampled, &sampler_gpu);
  gpu_open (&info, &sampler_gpu_info);
  assert_int_equal (gpu_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 4);
  assert_missing (&sampled, "0", "memory_used"); /* else it would count twice */
  assert_uint (&sampled, "0", "power", 100000);
  assert_uint (&sampled, "0:1", "memory_used", 77);
  assert_uint (&sampled, "0:0", "memory_total", 10 * GIB);
  assert_missing (&sampled, "0:1", "power");
  assert_missing (&sampled, "0:1", "utilization");
  assert_missing (&sampled, "0:1", "xid_errors");
  assert_uint (&sampled, "1", "memory_used", 2 * GIB);
  assert_int_equal (gpu_again (&info), 0);
  assert_text (&info, "0", "uuid", "GPU-00000000-0000-0000-0000-000000000000");
  assert_text (&info, "0:1", "uuid", "MIG-00000000-0000-0000-0000-000000000001");
  assert_text (&info, "1", "pci_bus_id", "00000000:11:00.0");
  assert_text (&info, "1", "name", "Stand-in H100 1");
  assert_uint (&info, "0:1", "gpu_instance", 2);
  assert_uint (&info, "0", "mig", 1);
  assert_text (&info, NULL, "driver_version", "550.54.15");
  assert_text (&info, NULL, "cuda_version", "12.4");
  sampled_close (&info);
  sampled_close (&sampled);
}

static void
test_errors_of_calls (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  script (
      "gpus 2\nerror nvmlDeviceGetPowerUsage 10 0\nerror nvmlDeviceGetFanSpeed 3\nerror nvmlDeviceGetClockInfo 999 1\n"
      "error nvmlDeviceGetMemoryInfo_v2 13\n");
  gpu_open (&sampled, &sampler_gpu);
  assert_int_equal (gpu_again (&sampled), 0);
  assert_missing (&sampled, "0", "power");
  assert_uint (&sampled, "1", "power", 101000);
  assert_missing (&sampled, "1", "fan_speed");
  assert_missing (&sampled, "1", "clock_sm");
  assert_uint (&sampled, "0", "memory_used", GIB); /* by the older function */
  assert_missing (&sampled, "0", "memory_reserved");
  script ("gpus 2\n");
  assert_int_equal (gpu_again (&sampled), 0);
  assert_uint (&sampled, "0", "power", 100000);
  assert_uint (&sampled, "1", "clock_sm", 1701);
  assert_missing (&sampled, "1", "fan_speed"); /* it said that it has none: not asked again */
  script ("gpus 2\nerror nvmlDevice* 999 1\n");
  assert_int_equal (gpu_again (&sampled), -1);
  assert_string_equal (sampled.table.error, "GPU 1: the driver reports an unknown error");
  assert_uint (&sampled, "0", "power", 100000);
  script ("gpus 2\nerror * 2 1\n"); /* as if it had nothing at all */
  assert_int_equal (gpu_again (&sampled), -1);
  assert_string_equal (sampled.table.error, "GPU 1: an argument is invalid");
  script ("gpus 2\nlost 1\n");
  assert_int_equal (gpu_again (&sampled), -1);
  assert_text (&sampled, "1", "state", "lost");
  script ("gpus 2\n");
  assert_int_equal (gpu_again (&sampled), 0);
  assert_uint (&sampled, "1", "power", 101000);
  sampled_close (&sampled);
}

static void
test_a_lost_gpu_stays_a_row (void **state)
{
  struct sampled sampled = { 0 }, links = { 0 };

  (void) state;
  script ("gpus 4\n");
  gpu_open (&sampled, &sampler_gpu);
  gpu_open (&links, &sampler_gpu_nvlink);
  assert_int_equal (gpu_again (&sampled), 0);
  script ("gpus 4\nlost 1\nerror * 16 3\n");
  assert_int_equal (gpu_again (&sampled), -1);
  assert_string_equal (sampled.table.error, "GPU 1: lost; GPU 3: reset required");
  assert_int_equal (sampled.table.rows, 4);
  assert_text (&sampled, "1", "state", "lost");
  assert_missing (&sampled, "1", "power");
  assert_uint (&sampled, "2", "power", 102000);
  assert_int_equal (gpu_again (&links), 0);
  assert_true (sampled_has_row (&links, "0:0"));
  assert_false (sampled_has_row (&links, "1:0"));
  script ("gpus 4\n");
  assert_int_equal (gpu_again (&sampled), 0);
  assert_text (&sampled, "1", "state", "ok");
  assert_uint (&sampled, "1", "power", 101000);
  sampled_close (&links);
  sampled_close (&sampled);
}

/* What was lost is looked for within ten seconds, and then each minute: the library is started again for that. */
static void
test_a_lost_gpu_is_looked_for (void **state)
{
#define COUNTLESS "GPU 0: the driver reports an unknown error; GPU 1: the driver reports an unknown error"
#define LOST "error nvmlDeviceGetUtilizationRates 15 1\n"
  static const struct {
    int after_s;
    const char *script, *error;
    size_t rows;
  } steps[] = {
    { 0, "gpus 2\n", "", 2 },
    { 5, "gpus 2\nremoved 1\n", "GPU 1: lost", 2 },
    { 3, "gpus 2\nremoved 1\n", "GPU 1: lost", 2 },
    { 3, "gpus 2\nremoved 1\n", "GPU 1: missing", 2 },
    { 30, "gpus 2\n", "GPU 1: missing", 2 },
    { 31, "gpus 2\n", "", 2 },
    { 11, "gpus 2\n" LOST, "GPU 1: lost", 2 },
    { 11, "gpus 2\nmig 0 2\n" LOST, "GPU 1: lost", 4 }, /* a new list, which does not help; */
    { 11, "gpus 2\n" LOST, "GPU 1: lost", 4 },          /* none any more */
    { 50, "gpus 2\n", "", 2 },
    { 61, "gpus 2\nerror nvmlDeviceGetCount_v2 999\n", "", 2 }, /* the list stays */
    { 1, "gpus 2\nmig 0 2\n", "", 4 },                          /* and is made at once */
    { 1, "gpus 2\nerror nvmlDeviceGetCount_v2 999\nreload 1\n", "the library is not initialized", 4 },
    { 1, "gpus 2\nerror nvmlDeviceGetCount_v2 999\nreload 1\n", COUNTLESS, 2 },
    { 11, "gpus 2\nreload 1\n", "", 2 },
  };
  struct sampled sampled = { 0 };

  (void) state;
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
    script (steps[i].script);
    if (i == 0)
      gpu_open (&sampled, &sampler_gpu);
    later_ns += steps[i].after_s * NS_PER_S;
    assert_int_equal (gpu_again (&sampled), steps[i].error[0] ? -1 : 0);
    assert_string_equal (sampled.table.error, steps[i].error);
    assert_int_equal (sampled.table.rows, steps[i].rows);
  }
  sampled_close (&sampled);
}

/* The driver was reloaded, and lists one GPU less: labels stay with their GPUs. */
static void
test_reload_and_removal (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  script ("gpus 3\n");
  gpu_open (&sampled, &sampler_gpu);
  assert_int_equal (gpu_again (&sampled), 0);
  script ("gpus 3\nreload 1\nremoved 1\n");
  assert_int_equal (gpu_again (&sampled), -1);
  assert_string_equal (sampled.table.error, "the library is not initialized");
  assert_int_equal (gpu_again (&sampled), -1); /* started again */
  assert_string_equal (sampled.table.error, "GPU 1: missing");
  assert_int_equal (sampled.table.rows, 3);
  assert_text (&sampled, "1", "state", "missing");
  assert_uint (&sampled, "2", "power", 102000);
  assert_uint (&sampled, "0", "power", 100000);
  script ("gpus 3\nreload 2\n"); /* and it is back */
  assert_int_equal (gpu_again (&sampled), -1);
  assert_int_equal (gpu_again (&sampled), 0);
  assert_text (&sampled, "1", "state", "ok");
  assert_uint (&sampled, "1", "power", 101000);
  sampled_close (&sampled);
}

/* The list is made anew each minute: what a GPU is called stays, also where UUIDs are not to be had or not unique. */
static void
test_a_new_list_keeps_labels (void **state)
{
#define SAME "gpus 4\nvalue * uuid 7\n"
  static const char *const scripts[] = { SAME, SAME "error nvmlDeviceGetUUID 4\n", SAME "error nvmlDeviceGetUUID 4 2\n",
                                         SAME "error nvmlDeviceGetUUID 4\nerror nvmlDeviceGetPciInfo_v3 4\n" };
  struct sampled sampled = { 0 };

  (void) state;
  script (scripts[0]);
  gpu_open (&sampled, &sampler_gpu);
  for (size_t i = 0; i < 2 * sizeof scripts / sizeof scripts[0]; i++) {
    script (scripts[i / 2]);
    later_ns += 61 * NS_PER_S;
    assert_int_equal (gpu_again (&sampled), 0);
    assert_string_equal (sampled.table.error, "");
    assert_int_equal (sampled.table.rows, 4);
    assert_uint (&sampled, "0", "power", 100000);
    assert_uint (&sampled, "3", "power", 103000);
    assert_text (&sampled, "2", "state", "ok");
  }
  sampled_close (&sampled);
}

static void
test_the_driver_goes (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  script ("gpus 1\n");
  gpu_open (&sampled, &sampler_gpu);
  assert_int_equal (gpu_again (&sampled), 0);
  script ("gpus 1\ninit 18\nreload 1\n");
  assert_int_equal (gpu_again (&sampled), -1);
  assert_int_equal (gpu_again (&sampled), -1);
  assert_string_equal (sampled.table.error, "the driver and its library are of different versions");
  assert_int_equal (sampled.table.rows, 0);
  assert_true (gpu_again (&sampled) < 0);      /* that took the last try before a pause: */
  assert_false (sampled_may_block (&sampled)); /* no call, and no thread */
  assert_int_equal (sampled_again (&sampled), -1);
  sampled_close (&sampled);
}

static void
test_no_driver (void **state)
{
  struct sampled sampled = { 0 };
  char text[200];

  (void) state;
  script ("init 9\n");
  gpu_open (&sampled, &sampler_gpu);
  for (int i = 0; i < 3; i++)
    assert_int_equal (gpu_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 0);
  assert_string_equal (sampled.table.error, "");
  assert_false (sampled_may_block (&sampled));
  sampled_close (&sampled);
  scene_forget ();
  nvidia_absent (&scene_options ()->context, text, sizeof text);
  assert_string_equal (text, "the NVIDIA driver is not loaded; nor has it an AMD GPU");
}

static void
test_no_library (void **state)
{
  struct sampled sampled = { 0 };
  struct log log;
  char text[200];

  (void) state;
  snprintf (scene.library, sizeof scene.library, "/nonexistent/libnvidia-ml.so.1");
  gpu_open (&sampled, &sampler_gpu);
  log_begin (&log);
  for (int i = 0; i < 3; i++) {
    assert_true (sampled_may_block (&sampled)); /* a path is looked at in the worker alone */
    assert_int_equal (sampled_again (&sampled), 0);
    assert_int_equal (sampled.table.rows, 0);
    assert_false (sampled_may_block (&sampled)); /* for a minute */
    later_ns += 61 * NS_PER_S;
  }
  log_end (&log);
  assert_int_equal (log.lines, 1); /* told once */
  assert_non_null (strstr (log.text, "warning: [gpu] library: /nonexistent/libnvidia-ml.so.1: cannot open"));
  gpus_absent (&scene_options ()->context, text, sizeof text);
  assert_non_null (strstr (text, "/nonexistent/libnvidia-ml.so.1"));
  sampled_close (&sampled);
}

/* The default is loaded where there is a driver, and else not even looked for. */
static void
test_no_default_library (void **state)
{
  struct sampled sampled = { 0 };
  struct log log;

  (void) state;
  if (access ("/dev/nvidiactl", F_OK) == 0 || access ("/proc/driver/nvidia", F_OK) == 0 ||
      access ("/dev/dxg", F_OK) == 0) {
    print_message ("# skipped: this machine has a driver\n");
    skip ();
  }
  scene.library[0] = '\0';
  gpu_open (&sampled, &sampler_gpu);
  log_begin (&log);
  for (int i = 0; i < 3; i++) {
    assert_false (sampled_may_block (&sampled));
    assert_int_equal (sampled_again (&sampled), 0);
    later_ns += 61 * NS_PER_S;
  }
  log_end (&log);
  assert_int_equal (log.lines, 0);
  sampled_close (&sampled);
}

static void
test_another_library (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  snprintf (scene.library, sizeof scene.library, "libm.so.6");
  gpu_open (&sampled, &sampler_gpu);
  assert_int_equal (gpu_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 0);
  assert_false (sampled_may_block (&sampled));
  sampled_close (&sampled);
}

static void
test_xid_events (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  script ("gpus 2\nxid 1 31\n");
  gpu_open (&sampled, &sampler_gpu);
  assert_int_equal (gpu_again (&sampled), 0);
  assert_uint (&sampled, "1", "xid_errors", 1);
  assert_uint (&sampled, "1", "xid", 31);
  script ("gpus 2\nxid 1 31\nxid 1 79\nxid 0 13\n");
  assert_int_equal (gpu_again (&sampled), 0);
  assert_uint (&sampled, "1", "xid_errors", 2);
  assert_uint (&sampled, "1", "xid", 79);
  assert_uint (&sampled, "0", "xid", 13);
  assert_int_equal (gpu_again (&sampled), 0);
  assert_uint (&sampled, "1", "xid_errors", 2);
  script ("gpus 2\nxid 1 31\nxid 1 79\nxid 0 13\nxid 0 48\n");
  later_ns += 61 * NS_PER_S; /* the list, and the set of events, are made anew */
  assert_int_equal (gpu_again (&sampled), 0);
  assert_uint (&sampled, "0", "xid_errors", 2);
  assert_uint (&sampled, "0", "xid", 48);
  script ("gpus 2\nxid 1 31\nxid 1 79\nxid 0 13\nxid 0 48\nxid 0 10000000000000000\n");
  assert_int_equal (gpu_again (&sampled), 0);
  assert_uint (&sampled, "0", "xid", 48); /* no XID has such a number */
  sampled_close (&sampled);
}

static void
test_xids_of_the_kernel_log (void **state)
{
  struct sampled sampled = { 0 };
  char path[128];
  FILE *log;

  (void) state;
  script ("gpus 2\nno_events\n");
  gpu_open (&sampled, &sampler_gpu);
  assert_int_equal (gpu_again (&sampled), 0);
  assert_uint (&sampled, "0", "xid_errors", 0); /* what was there before is another's */
  snprintf (path, sizeof path, "%s/dev/kmsg", scene.scratch.root);
  log = fopen (path, "a");
  fputs ("4,2,2,-;NVRM: Xid (PCI:0000:11:00): 79, pid=1234, GPU has fallen off the bus.\n"
         "6,3,3,-;usb 1-1: new device\n4,4,4,-;NVRM: Xid (PCI:0000:77:00): 48, another machine's\n",
         log);
  fclose (log);
  assert_int_equal (gpu_again (&sampled), 0);
  assert_uint (&sampled, "1", "xid_errors", 1);
  assert_uint (&sampled, "1", "xid", 79);
  assert_uint (&sampled, "0", "xid_errors", 0);
  sampled_close (&sampled);
}

/* Two that alternate, 1000 of them: a line at once, and one each minute with what came meanwhile. */
static void
test_xids_that_alternate (void **state)
{
  struct sampled sampled = { 0 };
  struct log log;
  char path[128];

  (void) state;
  still_ns = __real_clock_monotonic ();
  script ("gpus 1\nno_events\n");
  gpu_open (&sampled, &sampler_gpu);
  assert_int_equal (gpu_again (&sampled), 0);
  snprintf (path, sizeof path, "%s/dev/kmsg", scene.scratch.root);
  log_begin (&log);
  for (int i = 0; i < 1000; i++) {
    FILE *kmsg = fopen (path, "a");

    fprintf (kmsg, "4,2,2,-;NVRM: Xid (PCI:0000:10:00): %d, pid=1234\n", i % 2 ? 79 : 31);
    fclose (kmsg);
    assert_int_equal (gpu_again (&sampled), 0);
    later_ns += NS_PER_S / 8;
  }
  later_ns += 61 * NS_PER_S;
  assert_int_equal (gpu_again (&sampled), 0);
  log_end (&log);
  assert_uint (&sampled, "0", "xid_errors", 1000);
  assert_int_equal (log.lines, 4); /* at 0, 60, 120 s, and the rest */
  assert_non_null (strstr (log.text, "GPU 0 (00000000:10:00.0): XID 31\n"));
  assert_non_null (strstr (log.text, "XID 79, 31 (480 times since the last line)\n"));
  assert_non_null (strstr (log.text, "XID 79, 31 (39 times since the last line)\n"));
  sampled_close (&sampled);
}

/* Many at once: each number is told. */
static void
test_xids_at_once (void **state)
{
  struct sampled sampled = { 0 };
  struct log log;

  (void) state;
  script ("gpus 1\nxid 0 79\nxid 0 79\nxid 0 154\nxid 0 45\n");
  gpu_open (&sampled, &sampler_gpu);
  log_begin (&log);
  for (int i = 0; i < 3; i++) {
    assert_int_equal (gpu_again (&sampled), 0);
    later_ns += 61 * NS_PER_S;
  }
  log_end (&log);
  assert_int_equal (log.lines, 1);
  assert_non_null (strstr (log.text, ": XID 79, 154, 45 (4 times)\n"));
  sampled_close (&sampled);
}

static void
test_xid_records (void **state)
{
  static const struct {
    const char *text;
    bool good;
    uint32_t domain, bus, slot, xid;
  } records[] = {
    { "4,1143,6178432,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1", true, 0, 0x3b, 0, 79 },
    { "NVRM: Xid (0002:FF:1f): 31, Ch 00000010", true, 2, 0xff, 0x1f, 31 },
    { "NVRM: Xid (PCI:0000:3b:00.0): 8", true, 0, 0x3b, 0, 8 },
    { "NVRM: Xid (PCI:0000:3b", false },
    { "NVRM: Xid (PCI:0000:3b:00): ", false },
    { "NVRM: Xid (PCI:zz:3b:00): 5", false },
    { "NVRM: Xid (PCI:fffffffff:3b:00): 5", false },
    { "NVRM: Xid (", false },
    { "NVRM: loading", false },
    { "", false },
  };

  (void) state;
  for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
    struct xid_record record;

    assert_int_equal (xid_parse (&record, records[i].text, strlen (records[i].text)), records[i].good);
    if (!records[i].good)
      continue;
    assert_int_equal (record.domain, records[i].domain);
    assert_int_equal (record.bus, records[i].bus);
    assert_int_equal (record.slot, records[i].slot);
    assert_int_equal (record.xid, records[i].xid);
  }
}

static void
test_links (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  script ("gpus 2\nvalue 1 links 18\nvalue 0 links 2\nfield 1 138 100\nfield 1 139 200\nfield 1 161 30\n");
  gpu_open (&sampled, &sampler_gpu_nvlink);
  assert_int_equal (gpu_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 20);
  assert_uint (&sampled, "1:17", "tx", 117);
  assert_uint (&sampled, "1:0", "rx", 200);
  assert_uint (&sampled, "1:3", "replay_errors", 33);
  assert_uint (&sampled, "1:3", "recovery_errors", 13); /* the field is not there: by its call */
  assert_uint (&sampled, "1:16", "active", 1);
  assert_uint (&sampled, "1:17", "active", 0);
  assert_missing (&sampled, "0:1", "tx");
  assert_uint (&sampled, "0:1", "crc_errors", 21);
  sampled_close (&sampled);
}

static void
test_links_without_numbers (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  script ("field 1 138 10000000000000000\nfield 1 139 9223372036854775792\nfield 1 161 18446744073709551000\n");
  gpu_open (&sampled, &sampler_gpu_nvlink);
  assert_int_equal (gpu_again (&sampled), 0);
  assert_missing (&sampled, "1:0", "tx");
  assert_missing (&sampled, "1:0", "rx");
  assert_uint (&sampled, "1:1", "replay_errors", 1); /* by its call */
  sampled_close (&sampled);
}

static const char *
job_of (void *context, uint32_t pid)
{
  (void) context;
  return pid == 4321 ? "77" : NULL;
}

static void
test_processes (void **state)
{
  struct sampled sampled = { 0 };
  struct gpu_view view = { 0 };
  char text[4096] =
      "gpus 2\nvalue 1 sm 33\nprocess 0 4321 1000\nprocess 1 4321 2000\nprocess 1 99 18446744073709551615\n"
      "graphics 1 99 5\ngraphics 1 98 6\nprocess 0 97 10000000000000000\n";

  (void) state;
  script (text);
  gpu_open (&sampled, &sampler_gpu_processes);
  assert_int_equal (gpu_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 5);
  assert_missing (&sampled, "0/97", "memory_used");
  assert_uint (&sampled, "0/4321", "memory_used", 1000);
  assert_uint (&sampled, "1/4321", "memory_used", 2000);
  assert_text (&sampled, "1/4321", "command", "train");
  assert_text (&sampled, "1/4321", "kind", "compute");
  assert_uint (&sampled, "1/4321", "utilization", 33);
  assert_missing (&sampled, "1/4321", "job");
  assert_missing (&sampled, "1/99", "memory_used");
  assert_missing (&sampled, "1/99", "command");
  assert_text (&sampled, "1/99", "kind", "compute"); /* of two lists the first counts */
  assert_text (&sampled, "1/98", "kind", "graphics");
  assert_missing (&sampled, "1/98", "utilization");

  gpu_view_take (&view, scene_gpus ()->seen);
  gpu_view_name_jobs (&view, scene_gpus ()->seen, job_of, NULL);
  gpu_view_free (&view);
  for (int i = 0; i < 100; i++)
    snprintf (text + strlen (text), sizeof text - strlen (text), "process 0 %d 1\n", 5000 + i);
  script (text);
  assert_int_equal (gpu_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 105);
  assert_text (&sampled, "0/4321", "job", "77");
  assert_text (&sampled, "1/4321", "job", "77");
  assert_missing (&sampled, "1/99", "job");
  sampled_close (&sampled);
}

static bool
collect (struct worker *worker, struct table *table, int64_t wait_ns)
{
  worker_begin (worker);
  return worker_collect (worker, table, clock_monotonic () + wait_ns);
}

/* In the place of libc's: there is a driver. */
static bool has_driver;

int
access (const char *path, int mode)
{
  return has_driver && strcmp (path, "/dev/nvidiactl") == 0 ? 0 : faccessat (AT_FDCWD, path, mode, 0);
}

/* The GPUs of this machine are none of a recorded one. */
static void
test_recorded_machine (void **state)
{
  const char *const roots[] = { "", scene.scratch.root };

  (void) state;
  has_driver = true;
  for (size_t i = 0; i < 2; i++) {
    struct agent_options *options = options_for (roots[i], "%s", "");
    struct gpus *gpus = service_take (&options->context, &service_gpus);

    assert_int_equal (gpus_may_block (gpus), roots[i][0] == '\0');
    service_leave (gpus);
    agent_options_destroy (options);
  }
  has_driver = false;
}

/* A call that hangs: "timed out", and by itself fine again when it returns. The other groups of the GPUs go on. */
static void
test_hang (void **state)
{
  struct sampled links = { 0 };
  struct worker *worker;
  struct table table;
  bool good = false;

  (void) state;
  later_ns = 0; /* a worker waits by the real clock */
  script ("gpus 2\n");
  worker = worker_create (&sampler_gpu, sampler_gpu.open (&scene_options ()->context));
  gpu_open (&links, &sampler_gpu_nvlink);
  table_init (&table, sampler_gpu.group);
  assert_true (collect (worker, &table, 60 * NS_PER_S));
  assert_int_equal (table.rows, 2);
  script ("gpus 2\nhang nvmlDeviceGetPowerUsage 1\n");
  assert_false (collect (worker, &table, 20 * NS_PER_MS));
  assert_string_equal (table.error, "timed out");
  assert_false (collect (worker, &table, 20 * NS_PER_MS));
  later_ns += 61 * NS_PER_S; /* the list is due, and waits */
  assert_int_equal (gpu_again (&links), 0);
  assert_true (sampled_has_row (&links, "1:0"));
  later_ns = 0;
  script ("gpus 2\n");
  for (int i = 0; i < 6000 && !good; i++) {
    good = collect (worker, &table, 10 * NS_PER_MS);
    usleep (10000);
  }
  assert_true (good);
  assert_string_equal (table.error, "");
  assert_int_equal (table.rows, 2);
  worker_destroy (worker);
  sampled_close (&links);
  table_free (&table);
}

/* All groups over one list, in workers as in the agent, while GPUs come and go, and the driver with them. */
static void
test_groups_at_once (void **state)
{
  static const char *const scripts[] = {
    "gpus 3\n", "gpus 3\nmig 0 2\n", "gpus 3\nremoved 1\n", "gpus 3\nreload 1\nremoved 1\n", "gpus 3\nreload 2\n",
  };
  static const struct sampler *const together[] = { &sampler_gpu, &sampler_gpu_nvlink, &sampler_gpu_processes,
                                                    &sampler_gpu_info };
  enum { WORKERS = sizeof together / sizeof together[0], ROUNDS = 60 };
  struct worker *workers[WORKERS];
  struct table tables[WORKERS];

  (void) state;
  for (size_t i = 0; i < WORKERS; i++) {
    workers[i] = worker_create (together[i], together[i]->open (&scene_options ()->context));
    table_init (&tables[i], together[i]->group);
  }
  for (size_t round = 0; round < ROUNDS; round++) {
    script (round < ROUNDS - 5 ? scripts[round / 2 % 5] : "gpus 3\n");
    later_ns += 31 * NS_PER_S;
    for (size_t i = 0; i < WORKERS; i++)
      worker_begin (workers[i]);
    for (size_t i = 0; i < WORKERS; i++)
      assert_true (worker_collect (workers[i], &tables[i], __real_clock_monotonic () + 60 * NS_PER_S));
    assert_true (tables[0].rows >= 3 || tables[0].error[0]);
  }
  assert_int_equal (tables[0].rows, 3);
  for (size_t i = 0; i < WORKERS; i++) {
    assert_string_equal (tables[i].error, "");
    worker_destroy (workers[i]);
    table_free (&tables[i]);
  }
}

static void
test_pcie_that_takes_long_goes_round (void **state)
{
  struct sampled sampled = { 0 };
  unsigned measured = 0;

  (void) state;
  script ("gpus 3\nslow nvmlDeviceGetPcieThroughput 11000\n");
  gpu_open (&sampled, &sampler_gpu);
  gpu_again (&sampled);
  for (int i = 0; i < 3; i++) {
    unsigned now = 0;

    gpu_again (&sampled);
    for (unsigned gpu = 0; gpu < 3; gpu++) {
      char label[4] = { (char) ('0' + gpu) };

      if (sampled_value (&sampled, label, "pcie_tx")->type == VALUE_UINT) {
        measured |= 1u << gpu;
        now++;
      }
    }
    assert_int_equal (now, 1);
  }
  assert_int_equal (measured, 7);
  sampled_close (&sampled);
}

static void
test_nothing_is_allocated (void **state)
{
#if COUNTS_ALLOCATIONS
  struct sampled sampled = { 0 };
  size_t before;

  (void) state;
  script ("gpus 8\n");
  gpu_open (&sampled, &sampler_gpu);
  for (int i = 0; i < 3; i++)
    gpu_again (&sampled);
  before = allocations;
  for (int i = 0; i < 3; i++)
    gpu_again (&sampled);
  assert_int_equal (allocations, before);
  sampled_close (&sampled);
#else
  (void) state;
  skip ();
#endif
}

/* Debian's libnvidia-ml1, or any on a machine without a driver: the real library's own words. */
static void
test_the_real_library (void **state)
{
  const char *named = getenv ("SYNOP_REAL_NVML"), *path = named ? named : "libnvidia-ml.so.1";
  struct agent_options *options;
  char text[200];
  void *library;

  (void) state;
  library = dlopen (path, RTLD_NOW | RTLD_LOCAL);
  if (!library || access ("/proc/driver/nvidia/version", F_OK) == 0) {
    print_message ("# skipped: %s\n", library ? "this machine has the driver" : "libnvidia-ml1 is not installed");
    if (library)
      dlclose (library);
    skip ();
  }
  options = options_for ("", "[gpu]\nlibrary = %s\n", path);
  nvidia_absent (&options->context, text, sizeof text);
  agent_options_destroy (options);
  dlclose (library);
  assert_memory_equal (text, "the NVIDIA driver is not loaded", strlen ("the NVIDIA driver is not loaded"));
}

#define SCENE(test) cmocka_unit_test_setup_teardown (test, scene_begin, scene_end)

int
main (void)
{
  const struct CMUnitTest tests[] = {
    SCENE (test_values),
    SCENE (test_blank_is_missing),
    SCENE (test_mig),
    SCENE (test_a_lost_gpu_is_looked_for),
    SCENE (test_errors_of_calls),
    SCENE (test_a_lost_gpu_stays_a_row),
    SCENE (test_reload_and_removal),
    SCENE (test_a_new_list_keeps_labels),
    SCENE (test_the_driver_goes),
    SCENE (test_no_driver),
    SCENE (test_no_library),
    SCENE (test_no_default_library),
    SCENE (test_another_library),
    SCENE (test_xid_events),
    SCENE (test_xids_of_the_kernel_log),
    SCENE (test_xids_that_alternate),
    SCENE (test_xids_at_once),
    cmocka_unit_test (test_xid_records),
    SCENE (test_links),
    SCENE (test_links_without_numbers),
    SCENE (test_processes),
    SCENE (test_recorded_machine),
    SCENE (test_hang),
    SCENE (test_groups_at_once),
    SCENE (test_pcie_that_takes_long_goes_round),
    SCENE (test_nothing_is_allocated),
    cmocka_unit_test (test_the_real_library),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
