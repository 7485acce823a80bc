/* The node's GPUs: the library's life, and the list of devices; see gpu.h.
 *
 * The library is loaded when the agent starts and started in the first sample. When it says that the driver is gone (it
 * was unloaded, or exchanged for another version) it is shut down and started again, at first in the next sample, later
 * after a pause of up to a minute. The list is made anew each minute, so that MIG devices that an operator makes appear, and
 * as soon as a GPU is lost. */
#include "agent/gpu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/gpm.h"
#include "agent/gpu_events.h"
#include "agent/gpu_processes.h"
#include "agent/gpu_seen.h"
#include "synop/clock.h"
#include "synop/log.h"
#include "synop/memory.h"

#define DEFAULT_LIBRARY "libnvidia-ml.so.1"
#define LOOK_PERIOD (60 * NS_PER_S) /* for a library that was not there */
#define LIST_PERIOD (60 * NS_PER_S)
#define FIRST_PAUSE NS_PER_S /* the second one: the first try again is that of the next sample */
#define LAST_PAUSE (60 * NS_PER_S)

struct gpu_state {
  pthread_mutex_t lock; /* over struct gpus, and all here but what is said below */
  bool started;         /* nvmlInit worked */
  bool down;            /* a call said in this sample that the driver is gone */
  int64_t listed_ns, pause_ns;

  pthread_mutex_t small; /* over what follows: never held during a call */
  unsigned references;
  bool ever;             /* the library was started once */
  int64_t idle_until_ns; /* no call before that */
  char reason[512];      /* why there are no GPUs */

  char *root, *library; /* of the sampling thread, while `loaded` is false */
  int64_t look_ns;
  bool loaded;
};

/* ---- from the sampling thread ---- */

static void
reason_set (struct gpus *gpus, const char *text)
{
  pthread_mutex_lock (&gpus->state->small);
  snprintf (gpus->state->reason, sizeof gpus->state->reason, "%s", text);
  pthread_mutex_unlock (&gpus->state->small);
}

static void
library_look (struct gpus *gpus)
{
  struct gpu_state *state = gpus->state;
  struct error error;

  state->loaded = nvml_load (&gpus->nvml, state->library, &error) == 0;
  if (!state->loaded)
    reason_set (gpus, error.text);
  state->look_ns = clock_monotonic () + LOOK_PERIOD;
}

static struct gpus *
gpus_create (const char *root, const char *library)
{
  struct gpus *gpus = memory_new (1, sizeof *gpus);
  struct gpu_state *state = memory_new (1, sizeof *state);

  pthread_mutex_init (&state->lock, NULL);
  pthread_mutex_init (&state->small, NULL);
  state->references = 1;
  state->root = memory_string (root);
  state->library = memory_string (library && library[0] ? library : DEFAULT_LIBRARY);
  state->pause_ns = 0;
  gpus->state = state;
  gpus->events = gpu_events_create (root);
  gpus->processes = gpu_processes_create ();
  gpus->gpm = gpm_create ();
  gpus->seen = gpu_seen_create ();
  library_look (gpus);
  return gpus;
}

/* The context's place keeps a reference of its own: a lane may close its group long after the context is gone. */
struct gpus *
gpus_open (const struct sampler_context *context)
{
  struct gpus *gpus = context->gpus ? *context->gpus : NULL;

  if (!gpus)
    gpus = gpus_create (context->root, context->gpu_library);
  if (!context->gpus)
    return gpus;
  *context->gpus = gpus;
  pthread_mutex_lock (&gpus->state->small);
  gpus->state->references++;
  pthread_mutex_unlock (&gpus->state->small);
  return gpus;
}

static void
library_stop (struct gpus *gpus)
{
  gpu_events_stop (gpus->events, &gpus->nvml);
  gpm_stop (gpus->gpm, &gpus->nvml);
  if (gpus->state->started)
    gpus->nvml.shutdown ();
  gpus->state->started = false;
}

void
gpus_unref (struct gpus *gpus)
{
  struct gpu_state *state = gpus ? gpus->state : NULL;
  bool last;

  if (!gpus)
    return;
  pthread_mutex_lock (&state->small);
  last = --state->references == 0;
  pthread_mutex_unlock (&state->small);
  if (!last)
    return;
  library_stop (gpus);
  nvml_unload (&gpus->nvml);
  gpu_events_destroy (gpus->events);
  gpu_processes_destroy (gpus->processes);
  gpm_destroy (gpus->gpm);
  gpu_seen_destroy (gpus->seen);
  pthread_mutex_destroy (&state->lock);
  pthread_mutex_destroy (&state->small);
  free (state->root);
  free (state->library);
  free (state);
  free (gpus);
}

bool
gpus_may_block (struct gpus *gpus)
{
  struct gpu_state *state = gpus->state;
  int64_t now_ns = clock_monotonic (), idle_until_ns;

  if (!state->loaded) {
    const char *sign = strchr (state->library, '/') ? state->library : "/dev/nvidiactl";

    if (now_ns < state->look_ns)
      return false;
    state->look_ns = now_ns + LOOK_PERIOD;
    if (access (sign, F_OK) == 0)
      library_look (gpus);
    if (!state->loaded)
      return false;
  }
  pthread_mutex_lock (&state->small);
  idle_until_ns = state->idle_until_ns;
  pthread_mutex_unlock (&state->small);
  return now_ns >= idle_until_ns;
}

/* ---- in lanes: starting ---- */

/* Not again before a pause, which grows. */
static void
library_rest (struct gpus *gpus, const char *text)
{
  struct gpu_state *state = gpus->state;

  pthread_mutex_lock (&state->small);
  state->idle_until_ns = clock_monotonic () + state->pause_ns;
  snprintf (state->reason, sizeof state->reason, "%s", text);
  pthread_mutex_unlock (&state->small);
  state->pause_ns = state->pause_ns == 0 ? FIRST_PAUSE : 2 * state->pause_ns;
  if (state->pause_ns > LAST_PAUSE)
    state->pause_ns = LAST_PAUSE;
}

static int
library_start (struct gpus *gpus)
{
  struct gpu_state *state = gpus->state;
  struct error error;
  int result;

  if (!gpus->nvml.library && nvml_load (&gpus->nvml, state->library, &error) < 0) {
    library_rest (gpus, error.text);
    return -1;
  }
  result = gpus->nvml.init ();
  if (result != NVML_OK) {
    library_rest (gpus, nvml_result_text (result));
    if (result == NVML_VERSION_MISMATCH) /* the file may have been exchanged for one that fits */
      nvml_unload (&gpus->nvml);
    return -1;
  }
  state->started = true;
  state->pause_ns = 0;
  state->listed_ns = 0;
  gpus->generation++;
  if (NVML_CALL (&gpus->nvml, driver_version, gpus->driver, sizeof gpus->driver) != NVML_OK)
    gpus->driver[0] = '\0';
  gpus->driver[sizeof gpus->driver - 1] = '\0';
  pthread_mutex_lock (&state->small);
  state->ever = true;
  state->reason[0] = '\0';
  pthread_mutex_unlock (&state->small);
  return 0;
}

/* ---- the list ---- */

static void
text_of (struct nvml_device *device, nvml_device_text_fn *call, char text[GPU_TEXT])
{
  if (!call || call (device, text, GPU_TEXT) != NVML_OK)
    text[0] = '\0';
  text[GPU_TEXT - 1] = '\0';
}

static void
gpu_describe (struct gpus *gpus, struct gpu *gpu, struct nvml_device *handle)
{
  const struct nvml *nvml = &gpus->nvml;
  struct nvml_pci pci = { .bus_id = "" };

  gpu->handle = handle;
  gpu->gpu_instance = gpu->compute_instance = UINT32_MAX;
  text_of (handle, nvml->uuid, gpu->uuid);
  text_of (handle, nvml->name, gpu->name);
  if (NVML_CALL (nvml, pci, handle, &pci) == NVML_OK) {
    memcpy (gpu->bus_id, pci.bus_id, sizeof gpu->bus_id - 1);
    gpu->domain = pci.domain;
    gpu->bus = pci.bus;
    gpu->slot = pci.device;
  }
  if (NVML_CALL (nvml, minor, handle, &gpu->minor) != NVML_OK)
    gpu->minor = UINT32_MAX;
}

static struct gpu *
find_uuid (struct gpu *list, size_t count, const char *uuid)
{
  for (size_t i = 0; uuid[0] && i < count; i++)
    if (strcmp (list[i].uuid, uuid) == 0)
      return &list[i];
  return NULL;
}

static bool
label_is_taken (const struct gpu *list, size_t count, const char *label)
{
  for (size_t i = 0; i < count; i++)
    if (strcmp (list[i].label, label) == 0)
      return true;
  return false;
}

/* Of the last in the list: its index in the driver's order, unless another one bears that already. */
static void
label_choose (const struct gpus *gpus, const struct gpu *old, size_t old_count, struct gpu *gpu, uint32_t index)
{
  do
    snprintf (gpu->label, sizeof gpu->label, "%u", index++);
  while (label_is_taken (old, old_count, gpu->label) || label_is_taken (gpus->list, gpus->count - 1, gpu->label));
}

/* What outlives a new list. */
static void
gpu_inherit (struct gpu *gpu, const struct gpu *old)
{
  memcpy (gpu->label, old->label, sizeof gpu->label);
  gpu->xids = old->xids;
  gpu->xid = old->xid;
  gpu->use_seen_us = old->use_seen_us;
}

static void
label_child (struct gpu *gpu, const char *parent, uint32_t index)
{
  char label[sizeof gpu->label];

  snprintf (label, sizeof label, "%.10s:%u", parent, index % 1000);
  memcpy (gpu->label, label, sizeof label);
}

static void
list_mig (struct gpus *gpus, size_t parent_index)
{
  const struct nvml *nvml = &gpus->nvml;
  uint32_t now = 0, pending = 0, most = 0;
  struct gpu *parent = &gpus->list[parent_index];

  if (NVML_CALL (nvml, mig_mode, parent->handle, &now, &pending) != NVML_OK || now != 1 ||
      NVML_CALL (nvml, mig_count, parent->handle, &most) != NVML_OK)
    return;
  for (uint32_t i = 0; i < most && i < GPU_DEVICES_MAX && gpus->count < GPU_DEVICES_MAX; i++) {
    struct gpu *gpu = &gpus->list[gpus->count];
    struct nvml_device *handle;

    if (NVML_CALL (nvml, mig_by_index, parent->handle, i, &handle) != NVML_OK)
      continue;
    *gpu = (struct gpu){ .label = "" };
    gpu_describe (gpus, gpu, handle);
    gpu->parent = parent->handle;
    label_child (gpu, parent->label, i);
    NVML_CALL (nvml, gpu_instance, handle, &gpu->gpu_instance);
    NVML_CALL (nvml, compute_instance, handle, &gpu->compute_instance);
    parent->split = true;
    gpus->count++;
  }
}

/* A GPU whose handle cannot be had is known by its index alone: the driver names none that it cannot reach. */
static struct gpu *
list_one (struct gpus *gpus, uint32_t index, struct gpu *old, size_t old_count)
{
  struct gpu *gpu = &gpus->list[gpus->count++], *was;
  struct nvml_device *handle = NULL;
  int result = gpus->nvml.by_index (index, &handle);

  *gpu = (struct gpu){ .label = "" };
  if (result == NVML_OK)
    gpu_describe (gpus, gpu, handle);
  gpu->result = result;
  was = find_uuid (old, old_count, gpu->uuid);
  if (!was && result != NVML_OK) /* one that was there and now is not */
    for (size_t i = 0; i < old_count; i++) {
      char label[16];

      snprintf (label, sizeof label, "%u", index);
      if (!old[i].parent && strcmp (old[i].label, label) == 0)
        was = &old[i];
    }
  if (was && result != NVML_OK) {
    *gpu = *was;
    gpu->handle = NULL;
    gpu->result = result;
    gpu->missing = gpu->split = false;
  } else if (was)
    gpu_inherit (gpu, was);
  else
    label_choose (gpus, old, old_count, gpu, index);
  if (was)
    was->label[0] = '\0'; /* has its place in the new list */
  return gpu;
}

/* Those that are gone stay, at the end; MIG devices are made and removed by operators, and do not. */
static void
keep_missing (struct gpus *gpus, const struct gpu *old, size_t old_count)
{
  for (size_t i = 0; i < old_count && gpus->count < GPU_DEVICES_MAX; i++) {
    struct gpu *gpu = &gpus->list[gpus->count];

    if (!old[i].label[0] || old[i].parent)
      continue;
    *gpu = old[i];
    gpu->handle = NULL;
    gpu->missing = true;
    gpu->split = false;
    gpu->result = NVML_NOT_FOUND;
    gpus->count++;
  }
}

static void
devices_list (struct gpus *gpus)
{
  struct gpu *old = memory_new (gpus->count, sizeof *old);
  size_t old_count = gpus->count;
  uint32_t count = 0;

  memcpy (old, gpus->list, old_count * sizeof *old);
  gpus->count = 0;
  if (gpus->nvml.count (&count) != NVML_OK)
    count = 0;
  for (uint32_t i = 0; i < count && gpus->count < GPU_DEVICES_MAX; i++) {
    const struct gpu *gpu = list_one (gpus, i, old, old_count);

    if (gpu->handle)
      list_mig (gpus, (size_t) (gpu - gpus->list));
  }
  keep_missing (gpus, old, old_count);
  free (old);
  gpus->listing++;
  gpu_events_start (gpus->events, gpus);
  gpus->state->listed_ns = clock_monotonic ();
}

/* ---- in lanes: a sample ---- */

/* A GPU that is gone comes back with a new start of the library only. */
static bool
anything_is_lost (const struct gpus *gpus)
{
  for (size_t i = 0; i < gpus->count; i++)
    if (gpus->list[i].result != NVML_OK)
      return true;
  return false;
}

static void
devices_refresh (struct gpus *gpus)
{
  struct gpu_state *state = gpus->state;
  int64_t now_ns = clock_monotonic ();

  if (state->started && state->listed_ns != 0 && now_ns - state->listed_ns < LIST_PERIOD)
    return;
  if (state->started && state->listed_ns != 0 && anything_is_lost (gpus))
    library_stop (gpus);
  if (state->started || library_start (gpus) == 0)
    devices_list (gpus);
}

/* No driver, or one that is left alone for a while. */
static int
tell_absent (struct gpus *gpus, struct table *table)
{
  struct gpu_state *state = gpus->state;
  bool ever;

  pthread_mutex_lock (&state->small);
  ever = state->ever;
  if (ever)
    snprintf (table->error, sizeof table->error, "%.150s", state->reason);
  pthread_mutex_unlock (&state->small);
  return ever ? -1 : 0;
}

static bool
is_idle (struct gpu_state *state)
{
  bool idle;

  pthread_mutex_lock (&state->small);
  idle = clock_monotonic () < state->idle_until_ns;
  pthread_mutex_unlock (&state->small);
  return idle;
}

int
gpus_begin (struct gpus *gpus, bool called, struct table *table)
{
  struct gpu_state *state = gpus->state;

  if (called) {
    pthread_mutex_lock (&state->lock);
    state->down = false;
    if (!is_idle (state)) /* another group may have found out meanwhile */
      devices_refresh (gpus);
    if (state->started)
      return 1;
    pthread_mutex_unlock (&state->lock);
  }
  return tell_absent (gpus, table);
}

void
gpus_end (struct gpus *gpus)
{
  pthread_mutex_unlock (&gpus->state->lock);
}

bool
gpu_is_asked (const struct gpus *gpus, const struct gpu *gpu)
{
  return gpu->handle && !gpus->state->down;
}

bool
gpu_lacks (int result)
{
  return result == NVML_NOT_SUPPORTED || result == NVML_FUNCTION_NOT_FOUND || result == NVML_INVALID_ARGUMENT ||
         result == NVML_NO_PERMISSION || result == NVML_ARGUMENT_VERSION_MISMATCH;
}

bool
gpu_goes_on (struct gpus *gpus, struct gpu *gpu, int result)
{
  struct gpu_state *state = gpus->state;

  switch (result) {
  case NVML_UNINITIALIZED:
  case NVML_DRIVER_NOT_LOADED:
  case NVML_VERSION_MISMATCH:
    if (!state->down) {
      library_stop (gpus);
      if (result == NVML_VERSION_MISMATCH)
        nvml_unload (&gpus->nvml);
      for (size_t i = 0; i < gpus->count; i++)
        gpus->list[i].handle = NULL;
      library_rest (gpus, nvml_result_text (result));
    }
    state->down = true;
    return false;
  case NVML_GPU_IS_LOST:
  case NVML_RESET_REQUIRED:
    gpu->result = result;
    return false;
  default:
    return true;
  }
}

const char *
gpu_state_text (const struct gpu *gpu)
{
  if (gpu->missing)
    return "missing";
  switch (gpu->result) {
  case NVML_OK:
    return "ok";
  case NVML_GPU_IS_LOST:
    return "lost";
  case NVML_RESET_REQUIRED:
    return "reset required";
  default:
    return nvml_result_text (gpu->result);
  }
}

int
gpus_tell_errors (struct gpus *gpus, struct table *table)
{
  size_t length = 0;

  if (gpus->state->down)
    return tell_absent (gpus, table);
  for (size_t i = 0; i < gpus->count && length < sizeof table->error; i++)
    if (gpus->list[i].result != NVML_OK)
      length += (size_t) snprintf (table->error + length, sizeof table->error - length, "%sGPU %s: %s",
                                   length ? "; " : "", gpus->list[i].label, gpu_state_text (&gpus->list[i]));
  return length ? -1 : 0;
}

void
gpus_absent (const struct sampler_context *context, char *text, size_t size)
{
  struct gpus *gpus = gpus_open (context);
  struct table table = { .error = "" };

  text[0] = '\0';
  if (gpus_begin (gpus, gpus_may_block (gpus), &table) == 1) {
    if (gpus->count == 0)
      snprintf (text, size, "the driver has no GPU");
    gpus_end (gpus);
  } else
    snprintf (text, size, "%s", gpus->state->reason);
  gpus_unref (gpus);
}
