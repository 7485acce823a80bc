/* gpu_profiling on the stand-ins for NVIDIA's libraries (tests/lib/nvml, tests/lib/dcgm): the same values from either
 * source, what stands for none, and every fault that they can have.
 *
 * libdcgm is found by its name. A test that needs it opens the stand-in by its path first; the loader knows it then. */
#include "tests/unit/agent/sampler_test.h"

#include <dlfcn.h>
#include <libgen.h>
#include <math.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

#include "agent/gpu/dcgm.h"
#include "agent/gpu/gpu.h"
#include "agent/sampling/worker.h"
#include "synop/clock.h"

struct scene {
  struct scratch scratch;
  struct agent_options *options; /* of all that are open at once */
  void *libdcgm;
  char library[512], nvml[128], dcgm[128];
};

static struct scene scene;

/* Another file each time: noticed whatever its time and size are. */
static void
script (const char *path, const char *text)
{
  char from[128];

  scratch_write (&scene.scratch, "/new", text);
  snprintf (from, sizeof from, "%s/new", scene.scratch.root);
  assert_int_equal (rename (from, path), 0);
}

static int
scene_begin (void **state)
{
  char self[400] = "";

  (void) state;
  scratch_init (&scene.scratch);
  snprintf (scene.nvml, sizeof scene.nvml, "%s/nvml", scene.scratch.root);
  snprintf (scene.dcgm, sizeof scene.dcgm, "%s/dcgm", scene.scratch.root);
  setenv ("SYNOP_NVML_SCRIPT", scene.nvml, 1);
  setenv ("SYNOP_DCGM_SCRIPT", scene.dcgm, 1);
  assert_true (readlink ("/proc/self/exe", self, sizeof self - 1) > 0);
  snprintf (scene.library, sizeof scene.library, "%s/../lib/libnvidia-ml.so.1", dirname (self));
  scene.options = NULL;
  script (scene.nvml, "gpus 2\n");
  script (scene.dcgm, "gpus 2\n");
  return 0;
}

/* `dcgm` NULL: the default. */
static void
scene_options (const char *dcgm)
{
  scene.options = options_for (scene.scratch.root, "[gpu]\nlibrary = %s\n%s%s\n", scene.library, dcgm ? "dcgm = " : "",
                               dcgm ? dcgm : "");
}

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

static int
scene_with_dcgm (void **state)
{
  char path[600];

  scene_begin (state);
  snprintf (path, sizeof path, "%.*s/libdcgm.so.4", (int) (strrchr (scene.library, '/') - scene.library),
            scene.library);
  scene.libdcgm = scene.libdcgm ? scene.libdcgm : dlopen (path, RTLD_NOW);
  assert_non_null (scene.libdcgm);
  script (scene.nvml, "gpus 2\nvalue * gpm 0\n");
  return 0;
}

static void
profiling_open (struct sampled *sampled, const char *dcgm)
{
  scene_forget ();
  scene_options (dcgm);
  sampled->options = scene.options;
  sampled_open (sampled, &sampler_gpu_profiling, scene.scratch.root);
}

static int
sample (struct sampled *sampled)
{
  sampled_may_block (sampled);
  return sampled_again (sampled);
}

/* Until GPM has two samples that lie far enough apart. */
static int
sample_gpm (struct sampled *sampled, const char *label, const char *metric)
{
  int64_t end_ns = clock_monotonic () + 60 * NS_PER_S;
  int result;

  do {
    result = sample (sampled);
    if (sampled_has_row (sampled, label) && sampled_value (sampled, label, metric)->type == VALUE_REAL)
      return result;
    usleep (20000);
  } while (clock_monotonic () < end_ns);
  fail_msg ("no value of %s", metric);
  return -1;
}

static void
assert_near (const struct sampled *sampled, const char *label, const char *metric, double expected)
{
  const struct value *value = sampled_value (sampled, label, metric);

  if (value->type != VALUE_REAL || value->as.d < expected * 0.999999 || value->as.d > expected * 1.000001)
    fail_msg ("%s %s: type %d, %g; expected %g", label, metric, (int) value->type, value->as.d, expected);
}

static void
assert_source (const struct sampled *sampled, const char *expected)
{
  assert_text (sampled, NULL, "source", expected);
}

/* ---- GPM ---- */

static void
test_gpm (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  script (scene.nvml, "gpus 2\nvalue 1 gpm2 45500\nvalue 1 gpm20 3000\nvalue 1 gpm3 100020\n");
  profiling_open (&sampled, NULL);
  assert_true (sampled_may_block (&sampled));
  assert_int_equal (sampled_again (&sampled), 0); /* the first has nothing to compare with */
  assert_int_equal (sampled.table.rows, 2);
  assert_missing (&sampled, "0", "sm_active");
  assert_int_equal (sample_gpm (&sampled, "1", "sm_active"), 0);
  assert_string_equal (sampled.table.error, "");
  assert_source (&sampled, "gpm");
  assert_near (&sampled, "0", "graphics_engine_active", 0.1);
  assert_near (&sampled, "1", "graphics_engine_active", 0.2);
  assert_near (&sampled, "1", "sm_active", 45.5);
  assert_near (&sampled, "0", "sm_occupancy", 0.3);
  assert_near (&sampled, "1", "sm_occupancy", 100); /* a little over the whole */
  assert_near (&sampled, "0", "integer_active", 0.4);
  assert_near (&sampled, "0", "tensor_active", 0.5);
  assert_near (&sampled, "0", "tensor_dfma_active", 0.6);
  assert_near (&sampled, "0", "tensor_hmma_active", 0.7);
  assert_near (&sampled, "0", "tensor_imma_active", 0.9);
  assert_near (&sampled, "0", "dram_active", 1.0);
  assert_near (&sampled, "0", "fp64_active", 1.1);
  assert_near (&sampled, "0", "fp32_active", 1.2);
  assert_near (&sampled, "0", "fp16_active", 1.3);
  assert_near (&sampled, "1", "pcie_tx_rate", 3 * 1048576.0);
  assert_near (&sampled, "0", "pcie_rx_rate", 2.1 * 1048576.0);
  assert_near (&sampled, "0", "nvlink_rx_rate", 6.0 * 1048576.0);
  assert_near (&sampled, "0", "nvlink_tx_rate", 6.1 * 1048576.0);
  for (int i = 0; i < 3; i++) { /* at once again: the values stay */
    assert_int_equal (sample (&sampled), 0);
    assert_near (&sampled, "1", "sm_active", 45.5);
  }
  sampled_close (&sampled);
}

static void
test_gpm_errors_of_metrics (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  script (scene.nvml, "gpus 1\nvalue 0 gpm_error5 3\nvalue 0 gpm_nan10 1\nvalue 0 gpm11 10000000000000000\n"
                      "value 0 gpm20 18000000000000000000\nvalue 0 gpm12 250000\n");
  profiling_open (&sampled, NULL);
  assert_int_equal (sample_gpm (&sampled, "0", "sm_active"), 0);
  assert_missing (&sampled, "0", "tensor_active"); /* an error of its own */
  assert_missing (&sampled, "0", "dram_active");   /* NaN */
  assert_missing (&sampled, "0", "fp64_active");   /* 1e13 percent */
  assert_missing (&sampled, "0", "fp32_active");   /* 250 percent */
  assert_missing (&sampled, "0", "pcie_tx_rate");  /* more than there can be */
  assert_near (&sampled, "0", "fp16_active", 1.3);
  sampled_close (&sampled);
}

static void
test_gpm_mig (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  script (scene.nvml, "gpus 2\nmig 1 2\nvalue 1:1 gpm2 77000\n");
  profiling_open (&sampled, NULL);
  assert_int_equal (sample_gpm (&sampled, "1:1", "sm_active"), 0);
  assert_int_equal (sampled.table.rows, 4);
  assert_near (&sampled, "1:1", "sm_active", 77);
  assert_near (&sampled, "1:0", "sm_active", 0.3);
  assert_missing (&sampled, "1", "sm_active"); /* its instances have it */
  assert_missing (&sampled, "1:0", "pcie_tx_rate");
  assert_near (&sampled, "1", "pcie_tx_rate", 2.1 * 1048576.0);
  assert_near (&sampled, "0", "sm_active", 0.2);
  sampled_close (&sampled);
}

/* One call fails for one GPU: the others go on, and it comes back. */
static void
test_gpm_fails_for_a_while (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  profiling_open (&sampled, NULL);
  assert_int_equal (sample_gpm (&sampled, "1", "sm_active"), 0);
  script (scene.nvml, "gpus 2\nerror nvmlGpmSampleGet 10 1\nerror nvmlGpmMigSampleGet 10 1\n");
  usleep (120000);
  assert_int_equal (sample (&sampled), -1);
  assert_string_equal (sampled.table.error, "GPU 1: GPM: timed out in the driver");
  assert_missing (&sampled, "1", "sm_active");
  assert_near (&sampled, "0", "sm_active", 0.2);
  script (scene.nvml, "gpus 2\n");
  assert_int_equal (sample_gpm (&sampled, "1", "sm_active"), 0);
  sampled_close (&sampled);
}

static void
test_gpm_lost_and_reloaded (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  profiling_open (&sampled, NULL);
  assert_int_equal (sample_gpm (&sampled, "1", "sm_active"), 0);
  script (scene.nvml, "gpus 2\nlost 1\n");
  usleep (120000);
  assert_int_equal (sample (&sampled), -1);
  assert_string_equal (sampled.table.error, "GPU 1: lost");
  assert_int_equal (sampled.table.rows, 1);
  script (scene.nvml, "gpus 2\nreload 1\n");
  usleep (120000);
  assert_int_equal (sample (&sampled), -1); /* the driver is gone, and comes back after a pause */
  assert_int_equal (sample_gpm (&sampled, "1", "sm_active"), 0);
  assert_string_equal (sampled.table.error, "");
  sampled_close (&sampled);
}

/* ---- neither ---- */

static void
test_no_source (void **state)
{
  struct sampled sampled = { 0 };
  char reason[400];

  (void) state;
  assert_null (scene.libdcgm); /* these come before all that open it */
  script (scene.nvml, "gpus 2\nvalue * gpm 0\n");
  profiling_open (&sampled, NULL);
  for (int i = 0; i < 3; i++) {
    assert_int_equal (sample (&sampled), 0);
    assert_int_equal (sampled.table.rows, 0);
    assert_string_equal (sampled.table.error, "");
  }
  sampler_gpu_profiling.absent (&scene.options->context, reason, sizeof reason);
  assert_string_equal (reason, "the GPUs have no GPM (Hopper and newer have); DCGM: neither libdcgm.so.4 nor "
                               "libdcgm.so.3 can be loaded");
  sampled_close (&sampled);

  sampled = (struct sampled){ 0 };
  profiling_open (&sampled, "off");
  assert_int_equal (sample (&sampled), 0);
  assert_int_equal (sampled.table.rows, 0);
  sampler_gpu_profiling.absent (&scene.options->context, reason, sizeof reason);
  assert_string_equal (reason, "the GPUs have no GPM (Hopper and newer have); DCGM: it is off ([gpu] dcgm)");
  sampled_close (&sampled);
}

/* Who asks for DCGM is told. */
static void
test_no_library_that_was_asked_for (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  script (scene.nvml, "gpus 2\nvalue * gpm 0\n");
  profiling_open (&sampled, "embedded");
  assert_int_equal (sample (&sampled), -1);
  assert_string_equal (sampled.table.error, "DCGM: neither libdcgm.so.4 nor libdcgm.so.3 can be loaded");
  assert_int_equal (sampled.table.rows, 0);
  sampled_close (&sampled);
}

static void
test_no_gpus (void **state)
{
  struct sampled sampled = { 0 };
  char reason[400];

  (void) state;
  script (scene.nvml, "init 9\n");
  profiling_open (&sampled, NULL);
  assert_int_equal (sample (&sampled), 0);
  assert_int_equal (sampled.table.rows, 0);
  sampler_gpu_profiling.absent (&scene.options->context, reason, sizeof reason);
  assert_string_equal (reason, "the NVIDIA driver is not loaded; nor has it an AMD GPU"); /* as the others say */
  sampled_close (&sampled);
}

/* ---- DCGM ---- */

static void
test_dcgm (void **state)
{
  static const char *const addresses[] = { NULL, "embedded", "10.0.0.1:5555", "/run/dcgm.socket" };

  (void) state;
  for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
    struct sampled sampled = { 0 };

    profiling_open (&sampled, addresses[i]);
    assert_int_equal (sample (&sampled), 0);
    assert_string_equal (sampled.table.error, "");
    assert_int_equal (sampled.table.rows, 2);
    assert_source (&sampled, "dcgm");
    assert_near (&sampled, "0", "graphics_engine_active", 2);
    assert_near (&sampled, "1", "graphics_engine_active", 2.1);
    assert_near (&sampled, "0", "sm_active", 3);
    assert_near (&sampled, "0", "sm_occupancy", 4);
    assert_near (&sampled, "0", "tensor_active", 5);
    assert_near (&sampled, "0", "dram_active", 6);
    assert_near (&sampled, "0", "fp64_active", 7);
    assert_near (&sampled, "0", "fp32_active", 8);
    assert_near (&sampled, "0", "fp16_active", 9);
    assert_near (&sampled, "0", "tensor_imma_active", 14);
    assert_near (&sampled, "0", "tensor_hmma_active", 15);
    assert_near (&sampled, "0", "tensor_dfma_active", 16);
    assert_near (&sampled, "1", "integer_active", 17.1);
    assert_near (&sampled, "0", "pcie_tx_rate", 9e6 + 10);
    assert_near (&sampled, "0", "pcie_rx_rate", 10e6 + 10);
    assert_near (&sampled, "1", "nvlink_tx_rate", 11e6 + 11);
    assert_near (&sampled, "0", "nvlink_rx_rate", 12e6 + 10);
    sampled_close (&sampled);
  }
}

static void
test_dcgm_blank_values (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  script (scene.dcgm, "blank 1001 0\nblank 1002 1\nblank 1003 2\nblank 1004 3\nblank 1009 0\nblank 1010 1\n"
                      "blank 1011 2\nblank 1012 3\nnan 1005\nstatus 1006 -14\nvalue 1007 1e16\nvalue 1008 -0.5\n");
  profiling_open (&sampled, NULL);
  assert_int_equal (sample (&sampled), 0);
  assert_missing (&sampled, "0", "graphics_engine_active");
  assert_missing (&sampled, "0", "sm_active");
  assert_missing (&sampled, "0", "sm_occupancy");
  assert_missing (&sampled, "0", "tensor_active");
  assert_missing (&sampled, "0", "pcie_tx_rate");
  assert_missing (&sampled, "0", "pcie_rx_rate");
  assert_missing (&sampled, "0", "nvlink_tx_rate");
  assert_missing (&sampled, "0", "nvlink_rx_rate");
  assert_missing (&sampled, "0", "dram_active");
  assert_missing (&sampled, "0", "fp64_active");
  assert_missing (&sampled, "0", "fp32_active");
  assert_missing (&sampled, "0", "fp16_active");
  assert_near (&sampled, "0", "integer_active", 17);
  script (scene.dcgm, "old 60\n"); /* paused: the last values stay */
  assert_int_equal (sample (&sampled), 0);
  assert_missing (&sampled, "0", "integer_active");
  sampled_close (&sampled);
}

/* Before anything is checked for sense. */
static void
test_dcgm_blank_is_nan (void **state)
{
  struct dcgm *dcgm;
  struct dcgm_device device = { .uuid = "GPU-00000000-0000-0000-0000-000000000001", .gpu_instance = UINT32_MAX };
  struct gpu_profile profile;
  struct error error;

  (void) state;
  script (scene.dcgm, "blank 1002 0\nblank 1003 3\nblank 1009 0\nblank 1010 3\n");
  scene_options (NULL);
  dcgm = service_take (&scene.options->context, &service_dcgm);
  assert_int_equal (dcgm_read (dcgm, &device, 1, &profile, &error), 0);
  assert_true (isnan (profile.values[PROFILE_SM]));
  assert_true (isnan (profile.values[PROFILE_OCCUPANCY]));
  assert_true (isnan (profile.values[PROFILE_PCIE_TX]));
  assert_true (isnan (profile.values[PROFILE_PCIE_RX]));
  assert_false (isnan (profile.values[PROFILE_DRAM]));
  service_leave (dcgm);
}

/* Takes one connection, says that much at once, and keeps what it hears until the other side goes. */
struct listener {
  int fd;
  const char *greeting;
  char address[32];
  ssize_t heard;
  pthread_t thread;
};

static void *
listen_once (void *argument)
{
  struct listener *listener = argument;
  int connection = accept (listener->fd, NULL, NULL);
  char bytes[64];

  assert_true (connection >= 0);
  assert_int_equal (send (connection, listener->greeting, strlen (listener->greeting), MSG_NOSIGNAL),
                    strlen (listener->greeting));
  listener->heard = recv (connection, bytes, sizeof bytes, 0);
  close (connection);
  return NULL;
}

static void
listener_start (struct listener *listener)
{
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl (INADDR_LOOPBACK) } };
  socklen_t size = sizeof address;

  listener->fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal (bind (listener->fd, (struct sockaddr *) &address, size), 0);
  assert_int_equal (listen (listener->fd, 4), 0);
  assert_int_equal (getsockname (listener->fd, (struct sockaddr *) &address, &size), 0);
  snprintf (listener->address, sizeof listener->address, "127.0.0.1:%d", ntohs (address.sin_port));
  assert_int_equal (pthread_create (&listener->thread, NULL, listen_once, listener), 0);
}

/* The default port is that of synop's aggregator too, which speaks ZeroMQ: nothing is said to it. A host engine waits. */
static void
test_another_program_at_the_address (void **state)
{
  static const char *const greetings[] = { "\xff", "" };

  (void) state;
  for (int silent = 0; silent < 2; silent++) {
    struct listener listener = { .greeting = greetings[silent], .heard = -1 };
    struct sampled sampled = { 0 };

    listener_start (&listener);
    profiling_open (&sampled, listener.address);
    assert_int_equal (sample (&sampled), silent ? 0 : -1);
    assert_int_equal (sampled.table.rows, silent ? 2 : 0);
    assert_int_equal (strstr (sampled.table.error, "it speaks first") == NULL, silent);
    pthread_join (listener.thread, NULL);
    assert_int_equal (listener.heard, 0);
    close (listener.fd);
    sampled_close (&sampled);
  }
}

static void
test_dcgm_fields_that_a_gpu_lacks (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  script (scene.dcgm, "unsupported 1016\nunsupported 1013\n");
  profiling_open (&sampled, NULL);
  assert_int_equal (sample (&sampled), 0);
  assert_missing (&sampled, "0", "integer_active");
  assert_missing (&sampled, "0", "tensor_imma_active");
  assert_near (&sampled, "0", "tensor_hmma_active", 15);
  assert_near (&sampled, "0", "sm_active", 3);
  sampled_close (&sampled);
}

/* A K80: DCGM runs, and cannot profile it. */
static void
test_dcgm_cannot_profile (void **state)
{
  struct sampled sampled = { 0 };
  char reason[400];

  (void) state;
  script (scene.dcgm, "error dcgmWatchFields -36\n");
  profiling_open (&sampled, NULL);
  assert_int_equal (sample (&sampled), 0);
  assert_int_equal (sampled.table.rows, 0);
  sampler_gpu_profiling.absent (&scene.options->context, reason, sizeof reason);
  assert_string_equal (reason, "the GPUs have no GPM (Hopper and newer have); DCGM: profiling: the stand-in cannot "
                               "profile that (-36)");
  sampled_close (&sampled);
}

static void
test_dcgm_mig (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  script (scene.nvml, "gpus 2\nmig 1 2\nvalue * gpm 0\n");
  script (scene.dcgm, "gpus 2\nmig 1 2\n");
  profiling_open (&sampled, NULL);
  assert_int_equal (sample (&sampled), 0);
  assert_int_equal (sampled.table.rows, 4);
  assert_near (&sampled, "1:0", "sm_active", 2 + 10.8);
  assert_near (&sampled, "1:1", "sm_active", 2 + 10.9);
  assert_missing (&sampled, "1:0", "pcie_tx_rate");
  assert_missing (&sampled, "1", "sm_active");
  assert_near (&sampled, "1", "pcie_tx_rate", 9e6 + 11);
  sampled_close (&sampled);
}

static void
test_dcgm_gone_and_back (void **state)
{
  struct sampled sampled = { 0 };
  int64_t end_ns;

  (void) state;
  profiling_open (&sampled, NULL);
  assert_int_equal (sample (&sampled), 0);
  script (scene.dcgm, "restart 1\n"); /* it is there again at once */
  assert_int_equal (sample (&sampled), -1);
  assert_string_equal (sampled.table.error, "DCGM: " DCGM_DEFAULT ": the stand-in's connection is not valid (-21)");
  assert_int_equal (sampled.table.rows, 2);
  assert_missing (&sampled, "0", "sm_active");
  assert_int_equal (sample (&sampled), 0);
  assert_near (&sampled, "0", "sm_active", 3);

  script (scene.dcgm, "restart 1\ndown\n"); /* it is gone for a while */
  for (int i = 0; i < 5; i++) {
    assert_int_equal (sample (&sampled), -1);
    assert_string_equal (sampled.table.error, "DCGM: " DCGM_DEFAULT ": the stand-in's connection is not valid (-21)");
    assert_missing (&sampled, "0", "sm_active");
  }
  script (scene.dcgm, "restart 1\n");
  for (end_ns = clock_monotonic () + 60 * NS_PER_S; sample (&sampled) < 0 && clock_monotonic () < end_ns;)
    usleep (50000);
  assert_string_equal (sampled.table.error, "");
  assert_near (&sampled, "1", "sm_active", 3.1);
  sampled_close (&sampled);
}

/* No host engine at the default address is nothing to tell, until there was one. */
static void
test_dcgm_not_running (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  script (scene.dcgm, "down\n");
  profiling_open (&sampled, NULL);
  assert_int_equal (sample (&sampled), 0);
  assert_int_equal (sampled.table.rows, 0);
  sampled_close (&sampled);
  sampled = (struct sampled){ 0 };
  profiling_open (&sampled, "localhost:5555");
  assert_int_equal (sample (&sampled), -1);
  assert_string_equal (sampled.table.error, "DCGM: localhost:5555: the stand-in's connection is not valid (-21)");
  sampled_close (&sampled);
}

static void
test_dcgm_knows_other_gpus (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  script (scene.dcgm, "gpus 0\n");
  profiling_open (&sampled, "localhost:5555");
  assert_int_equal (sample (&sampled), -1);
  assert_string_equal (sampled.table.error, "DCGM: it knows none of the GPUs");
  sampled_close (&sampled);
}

/* One GPU of each kind in a node. */
static void
test_both_sources (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  script (scene.nvml, "gpus 2\nvalue 0 gpm 0\n");
  profiling_open (&sampled, NULL);
  assert_int_equal (sample_gpm (&sampled, "1", "sm_active"), 0);
  assert_source (&sampled, "gpm, dcgm");
  assert_near (&sampled, "1", "sm_active", 0.3);
  assert_near (&sampled, "0", "sm_active", 3);
  sampled_close (&sampled);
}

static void
test_gpm_not_permitted (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  script (scene.nvml, "gpus 2\nerror nvmlGpmSampleGet 4\n");
  profiling_open (&sampled, NULL);
  assert_int_equal (sample (&sampled), 0);
  assert_source (&sampled, "dcgm");
  assert_near (&sampled, "1", "sm_active", 3.1);
  sampled_close (&sampled);
}

/* A host engine that hangs: this group is late, the others of the GPUs are not, and nothing piles up. */
static void
test_dcgm_hangs (void **state)
{
  struct worker *worker, *gpu;
  struct table table, gpu_table;
  int64_t end_ns;

  (void) state;
  script (scene.dcgm, "hang dcgmEntitiesGetLatestValues\n");
  scene_options (NULL);
  worker = worker_create (&sampler_gpu_profiling, sampler_gpu_profiling.open (&scene.options->context));
  table_init (&table, sampler_gpu_profiling.group);
  worker_begin (worker);
  assert_false (worker_collect (worker, &table, clock_monotonic () + NS_PER_S / 10));
  assert_string_equal (table.error, "timed out");

  gpu = worker_create (&sampler_gpu, sampler_gpu.open (&scene.options->context));
  table_init (&gpu_table, sampler_gpu.group);
  worker_begin (gpu);
  assert_true (worker_collect (gpu, &gpu_table, clock_monotonic () + 60 * NS_PER_S));
  assert_int_equal (gpu_table.rows, 2);
  worker_destroy (gpu);
  table_free (&gpu_table);

  script (scene.dcgm, "gpus 2\n");
  for (end_ns = clock_monotonic () + 60 * NS_PER_S; clock_monotonic () < end_ns;) {
    worker_begin (worker);
    if (worker_collect (worker, &table, clock_monotonic () + NS_PER_S))
      break;
  }
  assert_int_equal (table.rows, 2);
  worker_destroy (worker);
  table_free (&table);
}

/* The thread has the stack that DCGM needs. */
static size_t stack_seen;

static int
stack_sample (void *state, struct table *table)
{
  pthread_attr_t attributes;

  (void) state;
  (void) table;
  assert_int_equal (pthread_getattr_np (pthread_self (), &attributes), 0);
  pthread_attr_getstacksize (&attributes, &stack_seen);
  pthread_attr_destroy (&attributes);
  return 0;
}

static void
stack_close (void *state)
{
  (void) state;
}

static bool
stack_may_block (void *state)
{
  (void) state;
  return true;
}

static void
test_stack (void **state)
{
  struct sampler sampler = sampler_gpu_profiling;
  struct table table;
  struct worker *worker;

  (void) state;
  sampler.sample = stack_sample;
  sampler.close = stack_close;
  sampler.may_block = stack_may_block;
  worker = worker_create (&sampler, NULL);
  table_init (&table, sampler.group);
  worker_begin (worker);
  assert_true (worker_collect (worker, &table, clock_monotonic () + 60 * NS_PER_S));
  assert_true (stack_seen >= DCGM_STACK);
  worker_destroy (worker);
  table_free (&table);
}

#if COUNTS_ALLOCATIONS
static void
test_steady_samples_allocate_nothing (void **state)
{
  struct sampled sampled = { 0 };
  size_t before;

  (void) state;
  script (scene.nvml, "gpus 2\nvalue 0 gpm 0\n");
  profiling_open (&sampled, NULL);
  assert_int_equal (sample_gpm (&sampled, "1", "sm_active"), 0);
  before = allocations;
  for (int i = 0; i < 100; i++)
    sample (&sampled);
  assert_int_equal (allocations, before);
  sampled_close (&sampled);
}
#endif

static int
set_address (const char *address, struct error *error)
{
  static const char *const words[] = { NULL };
  char program[] = "synop-agent", flag[] = "--gpu-dcgm", *argv[] = { program, flag, (char *) address, NULL };
  int at = 1;

  config_set_program (scene.options->config, "synop-agent", NULL);
  return config_read_arguments (scene.options->config, 3, argv, &at, words, NULL, NULL, error);
}

static void
test_addresses (void **state)
{
  static const char *const good[] = { "off", "embedded", "127.0.0.1:5555", "[::1]:5555", "host:1", "/run/socket" };
  static const char *const bad[] = { "on", "host", "host:", ":5555", "host:port", "run/socket" };
  struct error error;

  (void) state;
  scene_options (NULL);
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
    assert_int_equal (set_address (good[i], &error), 0);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_int_equal (set_address (bad[i], &error), -1);
  assert_string_equal (error.text,
                       "--gpu-dcgm: \"run/socket\" is not understood; expected off, embedded, HOST:PORT or the path of "
                       "a socket");
}

#define SCENE(test) cmocka_unit_test_setup_teardown (test, scene_begin, scene_end)
#define DCGM_SCENE(test) cmocka_unit_test_setup_teardown (test, scene_with_dcgm, scene_end)

int
main (void)
{
  const struct CMUnitTest tests[] = {
    SCENE (test_addresses),
    cmocka_unit_test (test_stack),
    SCENE (test_gpm),
    SCENE (test_gpm_errors_of_metrics),
    SCENE (test_gpm_mig),
    SCENE (test_gpm_fails_for_a_while),
    SCENE (test_gpm_lost_and_reloaded),
    SCENE (test_no_source),
    SCENE (test_no_library_that_was_asked_for),
    SCENE (test_no_gpus),
    DCGM_SCENE (test_dcgm),
    DCGM_SCENE (test_dcgm_blank_values),
    DCGM_SCENE (test_dcgm_blank_is_nan),
    DCGM_SCENE (test_another_program_at_the_address),
    DCGM_SCENE (test_dcgm_fields_that_a_gpu_lacks),
    DCGM_SCENE (test_dcgm_cannot_profile),
    DCGM_SCENE (test_dcgm_mig),
    DCGM_SCENE (test_dcgm_gone_and_back),
    DCGM_SCENE (test_dcgm_not_running),
    DCGM_SCENE (test_dcgm_knows_other_gpus),
    DCGM_SCENE (test_both_sources),
    DCGM_SCENE (test_gpm_not_permitted),
    DCGM_SCENE (test_dcgm_hangs),
#if COUNTS_ALLOCATIONS
    DCGM_SCENE (test_steady_samples_allocate_nothing),
#endif
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
