/* Profiling by NVML's GPM; see gpm.h.
 *
 * The driver fills a sample of raw counters on request, and the library computes what happened between two of them, which
 * must lie more than 100 ms apart. So two are kept for each GPU, and the newer one is the older one of the next call. The
 * struct of a request ends in an array that grew from header to header while its version stayed: ours has room for more
 * than any library knows. */
#include "agent/gpu/gpm.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "agent/gpu/gpu.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define APART (110 * NS_PER_MS)
#define ROOM 1024
#define MIB 1048576.0

struct gpm_value {
  uint32_t id;
  int result;
  double value;
  const char *names[3];
};

struct gpm_request {
  uint32_t version, count; /* 1 */
  struct nvml_gpm_sample *older, *newer;
  struct gpm_value values[ROOM];
};

_Static_assert(sizeof (struct gpm_value) == 40, "layout of a value");
_Static_assert(offsetof (struct gpm_request, values) == 24, "layout of a request");

/* The library's numbers, and the factor to our units: it has MiB per second. */
static const struct {
  uint32_t id;
  double times;
} metrics[PROFILE_METRICS] = {
  [PROFILE_GRAPHICS] = { 1, 1 },     [PROFILE_SM] = { 2, 1 },          [PROFILE_OCCUPANCY] = { 3, 1 },
  [PROFILE_INTEGER] = { 4, 1 },      [PROFILE_TENSOR] = { 5, 1 },      [PROFILE_TENSOR_DFMA] = { 6, 1 },
  [PROFILE_TENSOR_HMMA] = { 7, 1 },  [PROFILE_TENSOR_IMMA] = { 9, 1 }, [PROFILE_DRAM] = { 10, 1 },
  [PROFILE_FP64] = { 11, 1 },        [PROFILE_FP32] = { 12, 1 },       [PROFILE_FP16] = { 13, 1 },
  [PROFILE_PCIE_TX] = { 20, MIB },   [PROFILE_PCIE_RX] = { 21, MIB },  [PROFILE_NVLINK_RX] = { 60, MIB },
  [PROFILE_NVLINK_TX] = { 61, MIB },
};

struct gpm_window {
  struct nvml_device *device; /* NULL: free */
  uint32_t gpu_instance;
  bool read;   /* since the last sweep */
  int lacks;   /* the reason if it has no GPM; else NVML_OK */
  bool filled; /* samples[at] is, at taken_ns */
  unsigned at;
  int64_t taken_ns;
  struct nvml_gpm_sample *samples[2];
  struct gpu_profile last;
};

struct gpm {
  struct gpm_window windows[GPU_DEVICES_MAX];
  struct gpm_request request;
};

struct gpm *
gpm_create (void)
{
  return memory_new (1, sizeof (struct gpm));
}

void
gpm_destroy (struct gpm *gpm)
{
  free (gpm);
}

static void
profile_clear (struct gpu_profile *profile)
{
  for (size_t i = 0; i < PROFILE_METRICS; i++)
    profile->values[i] = nan ("");
}

static void
window_free (struct gpm_window *window, const struct nvml *nvml)
{
  for (size_t i = 0; i < 2; i++)
    if (window->samples[i])
      NVML_CALL (nvml, gpm_free, window->samples[i]);
  *window = (struct gpm_window){ .device = NULL };
}

void
gpm_sweep (struct gpm *gpm, const struct nvml *nvml)
{
  for (size_t i = 0; i < GPU_DEVICES_MAX; i++) {
    struct gpm_window *window = &gpm->windows[i];

    if (window->device && !window->read)
      window_free (window, nvml);
    window->read = false;
  }
}

void
gpm_stop (struct gpm *gpm, const struct nvml *nvml)
{
  for (size_t i = 0; i < GPU_DEVICES_MAX; i++)
    if (gpm->windows[i].device)
      window_free (&gpm->windows[i], nvml);
}

static int
window_begin (struct gpm_window *window, const struct nvml *nvml, const struct gpu *gpu)
{
  struct nvml_gpm_support support = { .version = 1 };
  int result = NVML_CALL (nvml, gpm_support, gpu->parent ? gpu->parent : gpu->handle, &support);

  if (result == NVML_OK && !support.supported)
    result = NVML_NOT_SUPPORTED;
  for (size_t i = 0; result == NVML_OK && i < 2; i++)
    result = NVML_CALL (nvml, gpm_alloc, &window->samples[i]);
  if (result != NVML_OK)
    window_free (window, nvml);
  profile_clear (&window->last);
  window->device = result == NVML_OK || gpu_lacks (result) ? gpu->handle : NULL;
  window->gpu_instance = gpu->gpu_instance;
  window->lacks = result;
  return result;
}

/* NULL: all are in use. */
static struct gpm_window *
window_find (struct gpm *gpm, const struct gpu *gpu)
{
  struct gpm_window *unused = NULL;

  for (size_t i = 0; i < GPU_DEVICES_MAX; i++) {
    struct gpm_window *window = &gpm->windows[i];

    if (window->device == gpu->handle && window->gpu_instance == gpu->gpu_instance)
      return window;
    if (!unused && !window->device)
      unused = window;
  }
  return unused;
}

static int
sample_take (const struct nvml *nvml, const struct gpu *gpu, struct nvml_gpm_sample *sample)
{
  if (gpu->parent)
    return NVML_CALL (nvml, gpm_mig_get, gpu->parent, gpu->gpu_instance, sample);
  return NVML_CALL (nvml, gpm_get, gpu->handle, sample);
}

static int
samples_compare (struct gpm_request *request, const struct nvml *nvml, struct nvml_gpm_sample *older,
                 struct nvml_gpm_sample *newer, struct gpu_profile *profile)
{
  int result;

  request->version = 1;
  request->count = PROFILE_METRICS;
  request->older = older;
  request->newer = newer;
  for (size_t i = 0; i < PROFILE_METRICS; i++)
    request->values[i] = (struct gpm_value){ .id = metrics[i].id, .result = NVML_UNKNOWN };
  result = NVML_CALL (nvml, gpm_metrics, request);
  for (size_t i = 0; result == NVML_OK && i < PROFILE_METRICS; i++)
    if (request->values[i].result == NVML_OK)
      profile->values[i] = request->values[i].value * metrics[i].times;
  return result;
}

int
gpm_read (struct gpm *gpm, const struct nvml *nvml, const struct gpu *gpu, int64_t now_ns, struct gpu_profile *profile)
{
  struct gpm_window *window = window_find (gpm, gpu);
  int result = NVML_OK;

  profile_clear (profile);
  if (!window)
    return NVML_INSUFFICIENT_SIZE;
  if (!window->device)
    result = window_begin (window, nvml, gpu);
  window->read = true;
  if (result != NVML_OK || window->lacks)
    return result ? result : window->lacks;

  if (!window->filled || now_ns - window->taken_ns >= APART) {
    unsigned next = !window->at;

    bool taken;

    result = sample_take (nvml, gpu, window->samples[next]);
    taken = result == NVML_OK;
    if (gpu_lacks (result))
      window->lacks = result;
    profile_clear (&window->last);
    if (taken && window->filled)
      result = samples_compare (&gpm->request, nvml, window->samples[window->at], window->samples[next], &window->last);
    window->filled = taken;
    window->taken_ns = now_ns;
    window->at = next;
  }
  *profile = window->last;
  return result;
}
