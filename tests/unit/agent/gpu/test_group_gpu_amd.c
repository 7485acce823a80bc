/* gpu, gpu_info and job_gpu's view of AMD's GPUs, from the files of the driver amdgpu: values, files that are odd, GPUs
 * that are suspended, that vanish and that come. */
#include "tests/unit/agent/job/job_machine.h"

#include <errno.h>

#include "agent/gpu/amdgpu.h"
#include "agent/gpu/gpu.h"
#include "agent/gpu/gpu_metrics.h"
#include "agent/gpu/gpu_seen.h"
#include "synop/clock.h"

#define ROOT "tests/roots/amdgpu"
#define CARD(number) "/sys/class/drm/card" #number "/device"
#define NO_LIBRARY "[gpu]\nlibrary = /nonexistent/libnvidia-ml.so.1\n"

static int64_t later_ns; /* time that passes without being waited for */

int64_t __real_clock_monotonic (void);
int64_t __wrap_clock_monotonic (void);

int64_t
__wrap_clock_monotonic (void)
{
  return __real_clock_monotonic () + later_ns;
}

static int reading_fails; /* an errno that the driver gives for every file; else 0 */

ssize_t __real_pread (int fd, void *into, size_t size, off_t offset);
ssize_t __wrap_pread (int fd, void *into, size_t size, off_t offset);

ssize_t
__wrap_pread (int fd, void *into, size_t size, off_t offset)
{
  if (!reading_fails)
    return __real_pread (fd, into, size, offset);
  errno = reading_fails;
  return -1;
}

static void
amd_open (struct sampled *sampled, const struct sampler *sampler, const char *root)
{
  *sampled = (struct sampled){ .ini = NO_LIBRARY };
  sampled_open (sampled, sampler, root);
}

static int
amd_again (struct sampled *sampled)
{
  sampled_may_block (sampled);
  return sampled_again (sampled);
}

static void
test_values (void **state)
{
  struct sampled sampled;

  (void) state;
  amd_open (&sampled, &sampler_gpu, ROOT);
  assert_int_equal (amd_again (&sampled), 0);
  assert_true (sampled_may_block (&sampled)); /* NVIDIA's library, which is not there, is left alone for a while */
  for (int i = 0; i < 2; i++) { /* the second time from files that are open, and with what is read seldom */
    assert_int_equal (sampled_again (&sampled), 0);
    assert_string_equal (sampled.table.error, "");
    assert_int_equal (sampled.table.rows, 4);
    assert_uint (&sampled, "amd2", "utilization", 87);
    assert_uint (&sampled, "amd2", "memory_utilization", 41);
    assert_uint (&sampled, "amd2", "memory_used", UINT64_C (21474836480));
    assert_uint (&sampled, "amd2", "memory_total", UINT64_C (68702699520));
    assert_uint (&sampled, "amd2", "memory_free", UINT64_C (68702699520) - UINT64_C (21474836480));
    assert_missing (&sampled, "amd2", "bar1_total");
    assert_uint (&sampled, "amd2", "temperature", 47);
    assert_uint (&sampled, "amd2", "memory_temperature", 61);
    assert_uint (&sampled, "amd2", "power", 214000);
    assert_uint (&sampled, "amd2", "power_limit", 300000);
    assert_uint (&sampled, "amd2", "energy", 987654321);
    assert_uint (&sampled, "amd2", "clock_graphics", 1340);
    assert_uint (&sampled, "amd2", "clock_sm", 1340);
    assert_uint (&sampled, "amd2", "clock_memory", 1600);
    assert_uint (&sampled, "amd2", "clock_graphics_max", 1700);
    assert_uint (&sampled, "amd2", "clock_sm_max", 1700);
    assert_uint (&sampled, "amd2", "clock_memory_max", 1600);
    assert_missing (&sampled, "amd2", "fan_speed");
    assert_uint (&sampled, "amd2", "pcie_generation", 3); /* of its switch, to the slot */
    assert_uint (&sampled, "amd2", "pcie_width", 8);
    assert_uint (&sampled, "amd2", "pcie_replays", 12);
    assert_missing (&sampled, "amd2", "pcie_tx");
    assert_uint (&sampled, "amd2", "ecc_corrected", 317);
    assert_uint (&sampled, "amd2", "ecc_uncorrected", 2);
    assert_missing (&sampled, "amd2", "ecc_corrected_aggregate");
    assert_missing (&sampled, "amd2", "performance_state");
    assert_missing (&sampled, "amd2", "throttled_idle");
    assert_missing (&sampled, "amd2", "xid_errors");
    assert_text (&sampled, "amd2", "state", "ok");
  }
  assert_uint (&sampled, "amd0", "utilization", 0); /* the first on PCI */
  assert_missing (&sampled, "amd0", "memory_utilization");
  assert_uint (&sampled, "amd0", "temperature", 31); /* without a label */
  assert_missing (&sampled, "amd0", "memory_temperature");
  assert_uint (&sampled, "amd0", "power", 9000);
  assert_missing (&sampled, "amd0", "power_limit");
  assert_uint (&sampled, "amd0", "clock_graphics_max", 1630);
  assert_missing (&sampled, "amd0", "clock_memory_max");
  assert_uint (&sampled, "amd0", "fan_speed", 15);
  assert_uint (&sampled, "amd0", "pcie_generation", 1);
  assert_missing (&sampled, "amd0", "ecc_corrected");
  assert_text (&sampled, "amd0", "state", "ok");
  sampled_close (&sampled);
}

static void
test_suspended (void **state)
{
  struct sampled sampled;

  (void) state;
  amd_open (&sampled, &sampler_gpu, ROOT);
  assert_int_equal (amd_again (&sampled), 0);
  assert_text (&sampled, "amd1", "state", "suspended");
  for (size_t i = 0; i < GPU_COLUMNS; i++)
    if (i != STATE)
      assert_missing (&sampled, "amd1", gpu_metrics[i].name);
  sampled_close (&sampled);
}

static void
test_odd_files (void **state)
{
  struct sampled sampled;

  (void) state;
  amd_open (&sampled, &sampler_gpu, ROOT);
  assert_int_equal (amd_again (&sampled), 0);
  assert_missing (&sampled, "amd3", "utilization");
  assert_missing (&sampled, "amd3", "memory_utilization");
  assert_missing (&sampled, "amd3", "memory_used");
  assert_missing (&sampled, "amd3", "memory_free");
  assert_missing (&sampled, "amd3", "temperature");
  assert_missing (&sampled, "amd3", "memory_temperature");
  assert_uint (&sampled, "amd3", "power", 71500); /* the average is empty */
  assert_missing (&sampled, "amd3", "power_limit");
  assert_uint (&sampled, "amd3", "clock_sm", 132);
  assert_uint (&sampled, "amd3", "clock_graphics_max", 99);
  assert_missing (&sampled, "amd3", "clock_memory_max");
  assert_missing (&sampled, "amd3", "fan_speed");
  assert_missing (&sampled, "amd3", "pcie_generation");
  assert_missing (&sampled, "amd3", "pcie_width");
  assert_missing (&sampled, "amd3", "pcie_replays");
  assert_uint (&sampled, "amd3", "ecc_corrected", 5);
  assert_missing (&sampled, "amd3", "ecc_uncorrected");
  sampled_close (&sampled);
}

static void
test_info (void **state)
{
  struct sampled sampled;

  (void) state;
  amd_open (&sampled, &sampler_gpu_info, ROOT);
  assert_true (sampled_may_block (&sampled));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 4);
  assert_text (&sampled, "amd2", "uuid", "GPU-8f3a2c11d4e5b607");
  assert_text (&sampled, "amd2", "name", "AMD Instinct MI210");
  assert_text (&sampled, "amd2", "pci_bus_id", "0000:c3:00.0");
  assert_text (&sampled, "amd2", "serial", "692231000123");
  assert_text (&sampled, "amd2", "vbios", "113-D67301-063");
  assert_uint (&sampled, "amd2", "pcie_generation_max", 4);
  assert_uint (&sampled, "amd2", "pcie_width_max", 16);
  assert_missing (&sampled, "amd2", "minor");
  assert_text (&sampled, "amd0", "name", "AMD 0x687f");
  assert_missing (&sampled, "amd0", "uuid");
  assert_missing (&sampled, "amd0", "serial");
  assert_uint (&sampled, "amd0", "pcie_generation_max", 3);
  assert_text (&sampled, "amd1", "uuid", "GPU-51e0aa77c0ffee01"); /* suspended */
  assert_missing (&sampled, "amd1", "pcie_generation_max");
  assert_missing (&sampled, "amd3", "uuid"); /* all zeros */
  assert_text (&sampled, NULL, "driver_version", "amdgpu 6.7.0");
  for (unsigned i = 0; i < 3; i++) {
    assert_int_equal (amd_again (&sampled), 0);
    assert_int_equal (sampled.table.rows, 4);
  }
  later_ns += 61 * NS_PER_S;
  assert_int_equal (amd_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 4);
  sampled_close (&sampled);
}

static void
card_write (const struct scratch *scratch, unsigned card, const char *slot, const char *id)
{
  char path[128], text[128];

  snprintf (path, sizeof path, "/sys/class/drm/card%u/device/gpu_busy_percent", card);
  scratch_write (scratch, path, "10\n");
  snprintf (path, sizeof path, "/sys/class/drm/card%u/device/unique_id", card);
  scratch_write (scratch, path, id);
  snprintf (path, sizeof path, "/sys/class/drm/card%u/device/uevent", card);
  snprintf (text, sizeof text, "DRIVER=amdgpu\nPCI_ID=1002:740F\nPCI_SLOT_NAME=%s\n", slot);
  scratch_write (scratch, path, text);
}

static void
test_vanishing (void **state)
{
  struct scratch scratch;
  struct sampled sampled;

  (void) state;
  scratch_init (&scratch);
  card_write (&scratch, 0, "0000:10:00.0", "aa\n");
  card_write (&scratch, 1, "0000:20:00.0", "bb\n");
  amd_open (&sampled, &sampler_gpu, scratch.root);
  assert_int_equal (amd_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 2);

  scratch_remove (&scratch, "/sys/class/drm/card0");
  assert_int_equal (amd_again (&sampled), 0); /* recorded files stay open; the kernel's do not */
  later_ns += 61 * NS_PER_S;
  assert_int_equal (amd_again (&sampled), -1);
  assert_string_equal (sampled.table.error, "GPU amd0: missing");
  assert_text (&sampled, "amd0", "state", "missing");
  assert_missing (&sampled, "amd0", "utilization");
  assert_uint (&sampled, "amd1", "utilization", 10);
  assert_text (&sampled, "amd1", "state", "ok");

  card_write (&scratch, 2, "0000:05:00.0", "cc\n"); /* new, and first on PCI */
  card_write (&scratch, 4, "0000:30:00.0", "aa\n"); /* the one that was gone, elsewhere */
  assert_int_equal (amd_again (&sampled), -1);
  later_ns += 61 * NS_PER_S;
  assert_int_equal (amd_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 3);
  assert_text (&sampled, "amd0", "state", "ok");
  assert_uint (&sampled, "amd2", "utilization", 10);

  scratch_remove (&scratch, "/sys/class/drm");
  later_ns += 61 * NS_PER_S;
  assert_int_equal (amd_again (&sampled), -1);
  assert_string_equal (sampled.table.error, "GPU amd0: missing; GPU amd1: missing; GPU amd2: missing");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* A folder in the place of a file gives an error when it is read, as a GPU does that has stopped answering. */
static void
test_faults (void **state)
{
  struct scratch scratch;
  struct sampled sampled;

  (void) state;
  scratch_init (&scratch);
  card_write (&scratch, 0, "0000:10:00.0", "aa\n");
  card_write (&scratch, 1, "0000:20:00.0", "bb\n");
  scratch_write (&scratch, CARD (0) "/mem_info_vram_used", "4096\n");
  scratch_write (&scratch, CARD (0) "/mem_busy_percent/folder", "");
  amd_open (&sampled, &sampler_gpu, scratch.root);
  assert_int_equal (amd_again (&sampled), 0); /* one file of some */
  assert_text (&sampled, "amd0", "state", "ok");
  sampled_close (&sampled);

  scratch_remove (&scratch, CARD (0) "/gpu_busy_percent");
  amd_open (&sampled, &sampler_gpu, scratch.root);
  assert_int_equal (amd_again (&sampled), -1);
  assert_string_equal (sampled.table.error, "GPU amd0: Is a directory");
  assert_text (&sampled, "amd0", "state", "Is a directory");
  assert_uint (&sampled, "amd0", "memory_used", 4096); /* the kernel knows it without the GPU */
  assert_text (&sampled, "amd1", "state", "ok");

  scratch_remove (&scratch, CARD (0));
  assert_int_equal (amd_again (&sampled), -1);
  assert_text (&sampled, "amd0", "state", "missing"); /* found out at once, and looked for soon */
  card_write (&scratch, 7, "0000:10:00.0", "aa\n");
  later_ns += 11 * NS_PER_S;
  assert_int_equal (amd_again (&sampled), 0);
  assert_text (&sampled, "amd0", "state", "ok");
  assert_uint (&sampled, "amd0", "utilization", 10);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* What the driver says while it resets a GPU, and of one that does not answer. */
static void
test_reset (void **state)
{
  struct scratch scratch;
  struct sampled sampled;

  (void) state;
  scratch_init (&scratch);
  card_write (&scratch, 0, "0000:10:00.0", "aa\n");
  amd_open (&sampled, &sampler_gpu, scratch.root);
  assert_int_equal (amd_again (&sampled), 0);
  reading_fails = EPERM;
  assert_int_equal (amd_again (&sampled), -1);
  assert_text (&sampled, "amd0", "state", "in reset");
  assert_missing (&sampled, "amd0", "utilization");
  reading_fails = ETIME;
  assert_int_equal (amd_again (&sampled), -1);
  assert_string_equal (sampled.table.error, "GPU amd0: Timer expired");
  reading_fails = EOPNOTSUPP;
  assert_int_equal (amd_again (&sampled), -1);
  assert_text (&sampled, "amd0", "state", "No data available");
  reading_fails = 0;
  assert_int_equal (amd_again (&sampled), 0);
  assert_uint (&sampled, "amd0", "utilization", 10);
  assert_text (&sampled, "amd0", "state", "ok");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* Looked for again each minute; what is loaded later is found. */
static void
test_none (void **state)
{
  struct scratch scratch;
  struct amdgpus *amdgpus;
  struct sampled sampled;

  (void) state;
  scratch_init (&scratch);
  amdgpus = amdgpus_create (scratch.root);
  assert_false (amdgpus_exist (scratch.root));
  assert_false (amdgpus_may_block (amdgpus));
  amd_open (&sampled, &sampler_gpu, scratch.root);
  assert_int_equal (amd_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 0);
  assert_string_equal (sampled.table.error, "");

  card_write (&scratch, 0, "0000:10:00.0", "aa\n");
  assert_true (amdgpus_exist (scratch.root));
  assert_false (amdgpus_may_block (amdgpus));
  later_ns += 61 * NS_PER_S;
  assert_true (amdgpus_may_block (amdgpus));
  assert_int_equal (amd_again (&sampled), 0);
  assert_uint (&sampled, "amd0", "utilization", 10);
  sampled_close (&sampled);
  amdgpus_destroy (amdgpus);
  scratch_free (&scratch);
}

static void
test_jobs_see_them (void **state)
{
  struct gpu_view view = { 0 };
  struct sampled sampled = { .ini = NO_LIBRARY };
  struct gpus *gpus;

  (void) state;
  sampled_open (&sampled, &sampler_gpu, ROOT);
  assert_int_equal (amd_again (&sampled), 0);
  gpus = service_find (&sampled.options->context, &service_gpus);
  gpu_view_take (&view, gpus->seen);
  assert_int_equal (view.gpu_count, 4);
  assert_string_equal (view.gpus[2].label, "amd2");
  assert_string_equal (view.gpus[2].uuid, "GPU-8f3a2c11d4e5b607");
  assert_int_equal (view.gpus[2].utilization, 87);
  assert_int_equal (view.gpus[2].energy_mj, 987654321);
  assert_true (view.gpus[2].no_processes);
  assert_true (view.gpus[1].utilization == UINT64_MAX);
  gpu_view_free (&view);
  sampled_close (&sampled);
}

/* An index is that of an AMD GPU where NVIDIA has none. Which processes are on it is not known, and no reason to call it
 * idle. */
static void
test_job (void **state)
{
  int64_t end_ns = clock_monotonic () + 60 * NS_PER_S;
  struct machine machine;
  struct sampled gpu = { .ini = NO_LIBRARY }, job = { 0 };

  (void) state;
  machine_init (&machine);
  card_write (&machine.scratch, 0, "0000:10:00.0", "aa\n");
  card_write (&machine.scratch, 1, "0000:20:00.0", "bb\n");
  card_write (&machine.scratch, 2, "0000:30:00.0", "cc\n");
  scratch_write (&machine.scratch, CARD (2) "/gpu_busy_percent", "0\n");
  machine_put (&machine,
               (struct made){ .pid = 20, .environment = "SYNOP_JOB_ID=j HIP_VISIBLE_DEVICES=1,2", .start = 50 });
  machine_put (&machine,
               (struct made){ .pid = 21, .environment = "SYNOP_JOB_ID=k ROCR_VISIBLE_DEVICES=GPU-aa", .start = 50 });
  sampled_open (&gpu, &sampler_gpu, machine.scratch.root);
  job.options = gpu.options;
  sampled_open (&job, &sampler_job_gpu, machine.scratch.root);
  assert_int_equal (amd_again (&gpu), 0);
  do {
    usleep (5000);
    assert_int_equal (sampled_again (&job), 0);
  } while (job.table.rows < 2 && clock_monotonic () < end_ns);
  assert_text (&job, "j", "gpus", "amd1,amd2");
  assert_uint (&job, "j", "gpus_allocated", 2);
  assert_uint (&job, "j", "gpus_idle", 1);
  assert_text (&job, "j", "idle", "amd2");
  assert_missing (&job, "j", "gpus_used");
  assert_missing (&job, "j", "memory_used");
  assert_real (&job, "j", "utilization", 5);
  assert_text (&job, "k", "gpus", "amd0");
  sampled_close (&job);
  sampled_close (&gpu);
  scratch_free (&machine.scratch);
}

static void
test_allocates_nothing (void **state)
{
#if COUNTS_ALLOCATIONS
  struct sampled sampled;
  size_t before;

  amd_open (&sampled, &sampler_gpu, ROOT);
  assert_int_equal (amd_again (&sampled), 0);
  assert_int_equal (amd_again (&sampled), 0);
  before = allocations;
  assert_int_equal (amd_again (&sampled), 0);
  assert_int_equal (allocations, before);
  sampled_close (&sampled);
#endif
  (void) state;
}

static void
test_recorded (void **state)
{
  struct sampled sampled;

  (void) state;
  if (access (ROOT_PROCFS CARD (0), F_OK) != 0) {
    print_message ("# skipped: there is no %s\n", ROOT_PROCFS CARD (0));
    skip ();
  }
  amd_open (&sampled, &sampler_gpu, ROOT_PROCFS);
  assert_int_equal (amd_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 1);
  assert_uint (&sampled, "amd0", "utilization", 4);
  assert_uint (&sampled, "amd0", "memory_used", 1490378752);
  assert_uint (&sampled, "amd0", "memory_total", UINT64_C (8573157376));
  assert_uint (&sampled, "amd0", "clock_graphics_max", 1630);
  assert_uint (&sampled, "amd0", "clock_memory_max", 945);
  assert_uint (&sampled, "amd0", "pcie_generation", 3);
  assert_uint (&sampled, "amd0", "pcie_width", 16);
  assert_uint (&sampled, "amd0", "pcie_replays", 0);
  assert_text (&sampled, "amd0", "state", "ok");
  sampled_close (&sampled);

  amd_open (&sampled, &sampler_gpu_info, ROOT_PROCFS);
  assert_int_equal (amd_again (&sampled), 0);
  assert_text (&sampled, "amd0", "uuid", "GPU-0123456789abcdef");
  assert_text (&sampled, "amd0", "name", "AMD 0x687f");
  assert_text (&sampled, "amd0", "vbios", "115-D050PIL-100");
  assert_text (&sampled, NULL, "driver_version", "amdgpu");
  sampled_close (&sampled);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_values),   cmocka_unit_test (test_suspended), cmocka_unit_test (test_odd_files),
    cmocka_unit_test (test_info),     cmocka_unit_test (test_vanishing), cmocka_unit_test (test_faults),
    cmocka_unit_test (test_none),     cmocka_unit_test (test_reset),     cmocka_unit_test (test_jobs_see_them),
    cmocka_unit_test (test_recorded), cmocka_unit_test (test_job),       cmocka_unit_test (test_allocates_nothing),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
