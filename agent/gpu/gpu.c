/* The node's GPUs: the library's life; see gpu.h, and gpu_list.c for the list.
 *
 * The library is loaded and started in the first sample, if there is a sign of a driver or the operator named it; loading
 * is retried each minute. When a call shows that the driver is gone (it was unloaded, or exchanged for another version) the
 * library is shut down and started again, at first in the next sample, later after a pause of up to a minute. The list is
 * made anew each minute, so that MIG devices that an operator makes appear, and within ten seconds when a device began to
 * give no values; the library is restarted first then, since only that brings back a GPU that was gone. */
#include "agent/gpu/gpu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/gpu/amdgpu.h"
#include "agent/gpu/gpm.h"
#include "agent/gpu/gpu_events.h"
#include "agent/gpu/gpu_processes.h"
#include "agent/gpu/gpu_seen.h"
#include "synop/clock.h"
#include "synop/config.h"
#include "synop/log.h"
#include "synop/memory.h"

#define DEFAULT_LIBRARY "libnvidia-ml.so.1"
#define CHECK_PERIOD (60 * NS_PER_S) /* between checks for a driver, and between attempts to load the library */
#define LIST_PERIOD (60 * NS_PER_S)
#define LOST_PERIOD (10 * NS_PER_S) /* for a device that was just lost */
#define FIRST_PAUSE NS_PER_S        /* the second one: the first retry is in the next sample */
#define LAST_PAUSE (60 * NS_PER_S)

struct gpu_state {
  pthread_rwlock_t lock; /* for struct gpus and the members below; workers hold it for reading during their samples */
  bool started;          /* nvmlInit worked */
  int64_t listed_ns;

  _Atomic int down; /* the result of a call that showed that the driver is gone; else NVML_OK */
  atomic_bool lost; /* a device was, since the list was made */

  pthread_mutex_t state_lock; /* for the members below: never held during a call */
  bool ever;                  /* the library was started once */
  int64_t idle_until_ns;      /* no call before that */
  int64_t pause_ns;           /* the next pause */
  char reason[512];           /* why there are no GPUs */

  char *library;   /* constant, as are the next two */
  bool configured; /* not the default */
  bool recorded;   /* a recorded machine is shown, which does not have this one's GPUs */
  bool reported;   /* the failure to load it was logged; under `lock` */

  bool seen; /* there is a sign of the driver; this and the next belong to the sampling thread */
  int64_t check_ns;
};

struct gpu_options {
  char *library;
};

static const struct option option_rows[] = {
  { "gpu", "library", "gpu-library", OPTION_TEXT, offsetof (struct gpu_options, library), DEFAULT_LIBRARY,
    .help = "NVIDIA's management library: a path, or a name that the system finds. Where there is none there are no "
            "GPUs." },
};
static const struct own_options own_options = OWN_OPTIONS (option_rows, struct gpu_options);

/* ---- from the sampling thread ---- */

static void
gpus_start (void *context_state, const struct sampler_context *context)
{
  const struct gpu_options *options = context_options (context, &own_options);
  struct gpus *gpus = context_state;
  struct gpu_state *state = memory_new (1, sizeof *state);

  pthread_rwlock_init (&state->lock, NULL);
  pthread_mutex_init (&state->state_lock, NULL);
  state->library = memory_string (options->library[0] ? options->library : DEFAULT_LIBRARY);
  state->configured = strcmp (state->library, DEFAULT_LIBRARY) != 0;
  state->recorded = context->root[0] != '\0';
  gpus->state = state;
  gpus->events = gpu_events_create (context->root);
  gpus->processes = gpu_processes_create ();
  gpus->gpm = gpm_create ();
  gpus->seen = gpu_seen_create ();
  gpus->amd = amdgpus_create (context->root);
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

static void
gpus_stop (void *context_state)
{
  struct gpus *gpus = context_state;
  struct gpu_state *state = gpus->state;

  library_stop (gpus);
  nvml_unload (&gpus->nvml);
  gpu_events_destroy (gpus->events);
  gpu_processes_destroy (gpus->processes);
  gpm_destroy (gpus->gpm);
  gpu_seen_destroy (gpus->seen);
  amdgpus_destroy (gpus->amd);
  pthread_rwlock_destroy (&state->lock);
  pthread_mutex_destroy (&state->state_lock);
  free (state->library);
  free (state);
}

/* GPUs keep their labels as long as the agent lives. */
const struct service service_gpus = {
  .options = &own_options, .size = sizeof (struct gpus), .start = gpus_start, .stop = gpus_stop, .lasts = true
};

/* In WSL the last of these exists. */
static bool
driver_is_there (struct gpu_state *state, int64_t now_ns)
{
  static const char *const signs[] = { "/dev/nvidiactl", "/proc/driver/nvidia", "/dev/dxg" };

  if (state->seen || state->recorded || now_ns < state->check_ns)
    return state->seen;
  state->check_ns = now_ns + CHECK_PERIOD;
  for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
    state->seen = state->seen || access (signs[i], F_OK) == 0;
  return state->seen;
}

/* Does not check a path of the library: its file server may be dead. */
bool
gpus_may_block (struct gpus *gpus)
{
  struct gpu_state *state = gpus->state;
  int64_t now_ns = clock_monotonic (), idle_until_ns;

  if (!state->configured && !driver_is_there (state, now_ns))
    return false;
  pthread_mutex_lock (&state->state_lock);
  idle_until_ns = state->idle_until_ns;
  pthread_mutex_unlock (&state->state_lock);
  return now_ns >= idle_until_ns;
}

/* ---- in workers: starting ---- */

/* Sets when the library may be started again: after a pause, which grows, of `least_ns` or more. */
static void
library_rest (struct gpus *gpus, const char *text, int64_t least_ns)
{
  struct gpu_state *state = gpus->state;

  pthread_mutex_lock (&state->state_lock);
  if (state->pause_ns < least_ns)
    state->pause_ns = least_ns;
  state->idle_until_ns = clock_monotonic () + state->pause_ns;
  state->pause_ns = state->pause_ns == 0 ? FIRST_PAUSE : 2 * state->pause_ns;
  if (state->pause_ns > LAST_PAUSE)
    state->pause_ns = LAST_PAUSE;
  snprintf (state->reason, sizeof state->reason, "%s", text);
  pthread_mutex_unlock (&state->state_lock);
}

static int
library_start (struct gpus *gpus)
{
  struct gpu_state *state = gpus->state;
  struct error error;
  int result;

  if (!gpus->nvml.library && nvml_load (&gpus->nvml, state->library, &error) < 0) {
    if (state->configured && !state->reported)
      log_warning ("[gpu] library: %s", error.text);
    state->reported = true;
    library_rest (gpus, error.text, CHECK_PERIOD);
    return -1;
  }
  result = gpus->nvml.init ();
  if (result != NVML_OK) {
    library_rest (gpus, nvml_result_text (result), 0);
    if (result == NVML_VERSION_MISMATCH) /* the file may have been exchanged for one that fits */
      nvml_unload (&gpus->nvml);
    return -1;
  }
  state->started = true;
  gpus->generation++;
  if (NVML_CALL (&gpus->nvml, driver_version, gpus->driver, sizeof gpus->driver) != NVML_OK)
    gpus->driver[0] = '\0';
  gpus->driver[sizeof gpus->driver - 1] = '\0';
  pthread_mutex_lock (&state->state_lock);
  state->ever = true;
  state->pause_ns = 0;
  state->reason[0] = '\0';
  pthread_mutex_unlock (&state->state_lock);
  return 0;
}

/* ---- in workers: a sample ---- */

/* A lost GPU comes back only with a restart of the library; a MIG device needs none. */
static bool
any_gpu_is_lost (const struct gpus *gpus)
{
  for (size_t i = 0; i < gpus->count; i++)
    if (gpus->list[i].result != NVML_OK && !gpus->list[i].parent)
      return true;
  return false;
}

/* To be called with the lock held for writing. */
static void
devices_refresh (struct gpus *gpus)
{
  struct gpu_state *state = gpus->state;
  int down = atomic_exchange (&state->down, NVML_OK);
  int64_t now_ns = clock_monotonic ();
  bool anew;
  int result;

  if (state->started) {
    if (down == NVML_OK && now_ns - state->listed_ns < (state->lost ? LOST_PERIOD : LIST_PERIOD))
      return;
    gpu_events_take (gpus->events, gpus); /* they are lost with their set */
    if (down != NVML_OK || any_gpu_is_lost (gpus))
      library_stop (gpus);
    if (down == NVML_VERSION_MISMATCH) /* the file may have been exchanged for one that fits */
      nvml_unload (&gpus->nvml);
  }
  anew = !state->started; /* then the handles in the list are void */
  if (anew && library_start (gpus) < 0)
    return;
  result = gpus_list (gpus);
  if (result != NVML_OK && !anew) /* retry in the next sample */
    return;
  if (result != NVML_OK)
    gpus_lose (gpus, result);
  gpu_events_start (gpus->events, gpus);
  state->listed_ns = now_ns;
  state->lost = result != NVML_OK;
}

/* There is no driver, or the library rests. */
static int
set_absent_error (struct gpus *gpus, struct table *table)
{
  struct gpu_state *state = gpus->state;
  bool ever;

  pthread_mutex_lock (&state->state_lock);
  ever = state->ever;
  if (ever)
    snprintf (table->error, sizeof table->error, "%.150s", state->reason);
  pthread_mutex_unlock (&state->state_lock);
  return ever ? -1 : 0;
}

static bool
is_idle (struct gpu_state *state)
{
  bool idle;

  pthread_mutex_lock (&state->state_lock);
  idle = clock_monotonic () < state->idle_until_ns;
  pthread_mutex_unlock (&state->state_lock);
  return idle;
}

int
gpus_begin (struct gpus *gpus, bool called, struct table *table)
{
  struct gpu_state *state = gpus->state;

  if (!called)
    return set_absent_error (gpus, table);
  /* Another group may have found out meanwhile that the library is to rest. */
  if (!is_idle (state) && pthread_rwlock_trywrlock (&state->lock) == 0) {
    devices_refresh (gpus);
    pthread_rwlock_unlock (&state->lock);
  }
  pthread_rwlock_rdlock (&state->lock);
  if (state->started && state->down == NVML_OK)
    return 1;
  pthread_rwlock_unlock (&state->lock);
  return set_absent_error (gpus, table);
}

void
gpus_end (struct gpus *gpus)
{
  pthread_rwlock_unlock (&gpus->state->lock);
}

bool
gpu_is_queried (const struct gpus *gpus, const struct gpu *gpu)
{
  return gpu->handle && gpus->state->down == NVML_OK;
}

bool
gpu_lacks (int result)
{
  return result == NVML_NOT_SUPPORTED || result == NVML_FUNCTION_NOT_FOUND || result == NVML_INVALID_ARGUMENT ||
         result == NVML_NO_PERMISSION || result == NVML_ARGUMENT_VERSION_MISMATCH;
}

void
gpu_set_result (struct gpus *gpus, struct gpu *gpu, int result)
{
  gpu->result = result;
  if (!atomic_exchange (&gpu->lost, result != NVML_OK) && result != NVML_OK)
    gpus->state->lost = true;
}

bool
gpu_goes_on (struct gpus *gpus, struct gpu *gpu, int result)
{
  int fine = NVML_OK;

  switch (result) {
  case NVML_UNINITIALIZED:
  case NVML_DRIVER_NOT_LOADED:
  case NVML_VERSION_MISMATCH:
    if (atomic_compare_exchange_strong (&gpus->state->down, &fine, result))
      library_rest (gpus, nvml_result_text (result), 0);
    return false;
  case NVML_GPU_IS_LOST:
  case NVML_RESET_REQUIRED:
    gpu_set_result (gpus, gpu, result);
    return false;
  default:
    return true;
  }
}

const char *
gpu_state_text (const struct gpu *gpu)
{
  int result = gpu->result;

  if (gpu->missing)
    return "missing";
  switch (result) {
  case NVML_OK:
    return "ok";
  case NVML_GPU_IS_LOST:
    return "lost";
  case NVML_RESET_REQUIRED:
    return "reset required";
  default:
    return nvml_result_text (result);
  }
}

int
gpus_add_errors (struct gpus *gpus, struct table *table)
{
  size_t length = 0;

  if (gpus->state->down != NVML_OK)
    return set_absent_error (gpus, table);
  for (size_t i = 0; i < gpus->count && length < sizeof table->error; i++)
    if (gpus->list[i].result != NVML_OK)
      length += (size_t) snprintf (table->error + length, sizeof table->error - length, "%sGPU %s: %s",
                                   length ? "; " : "", gpus->list[i].label, gpu_state_text (&gpus->list[i]));
  return length ? -1 : 0;
}

/* ---- for --list-groups ---- */

void
nvidia_absent (const struct sampler_context *context, char *text, size_t size)
{
  struct gpus *gpus = service_take (context, &service_gpus);
  struct table table = { .error = "" };
  const char *amd = amdgpus_exist (context->root) ? "" : "; nor has it an AMD GPU";

  text[0] = '\0';
  if (gpus_begin (gpus, true, &table) == 1) {
    if (gpus->count == 0)
      snprintf (text, size, "the driver has no GPU%s", amd);
    gpus_end (gpus);
  } else {
    pthread_mutex_lock (&gpus->state->state_lock);
    if (gpus->state->reason[0])
      snprintf (text, size, "%s%s", gpus->state->reason, amd);
    pthread_mutex_unlock (&gpus->state->state_lock);
  }
  service_leave (gpus);
}

void
gpus_absent (const struct sampler_context *context, char *text, size_t size)
{
  text[0] = '\0';
  if (!amdgpus_exist (context->root))
    nvidia_absent (context, text, size);
}
