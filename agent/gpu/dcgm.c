/* Profiling by DCGM; see dcgm.h.
 *
 * The host engine is asked to watch fields of GPUs and samples them each second; we read the newest values from it. It
 * numbers GPUs in its own way, so they are found by their UUIDs. It has values that stand for none (blank), and keeps an
 * old value when it cannot get a new one (a paused profiler, a lost GPU): both are missing here. What we set up there ends
 * with the connection, so when anything differs we connect anew.
 *
 * The host engine's default port is also that of synop's aggregator. ZeroMQ sends a greeting to a client that connects,
 * and a host engine waits for a request: so libdcgm connects only after a check that nothing is sent first. */
#include "agent/gpu/dcgm.h"

#include <math.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/gpu/dcgm_library.h"
#include "synop/clock.h"
#include "synop/config.h"
#include "synop/memory.h"

#define WATCH_PERIOD_US 1000000
#define KEEP_S 30.0
#define KEEP 2
#define STALE (10 * NS_PER_S)
#define CONNECT_MS 1500
#define GREETING_S 1                  /* how long a greeting is waited for */
#define OTHER_PAUSE (10 * LAST_PAUSE) /* until the next check */
#define FIRST_PAUSE NS_PER_S
#define LAST_PAUSE (60 * NS_PER_S)

/* DCGM's numbers, and the factor to our units: its values are fractions, and bytes per second. */
static const struct {
  uint16_t field;
  double times;
} metrics[PROFILE_METRICS] = {
  [PROFILE_GRAPHICS] = { 1001, 100 },    [PROFILE_SM] = { 1002, 100 },          [PROFILE_OCCUPANCY] = { 1003, 100 },
  [PROFILE_TENSOR] = { 1004, 100 },      [PROFILE_DRAM] = { 1005, 100 },        [PROFILE_FP64] = { 1006, 100 },
  [PROFILE_FP32] = { 1007, 100 },        [PROFILE_FP16] = { 1008, 100 },        [PROFILE_PCIE_TX] = { 1009, 1 },
  [PROFILE_PCIE_RX] = { 1010, 1 },       [PROFILE_NVLINK_TX] = { 1011, 1 },     [PROFILE_NVLINK_RX] = { 1012, 1 },
  [PROFILE_TENSOR_IMMA] = { 1013, 100 }, [PROFILE_TENSOR_HMMA] = { 1014, 100 }, [PROFILE_TENSOR_DFMA] = { 1015, 100 },
  [PROFILE_INTEGER] = { 1016, 100 },
};

struct dcgm {
  struct dcgm_library library;
  char *address;
  bool embedded, connected, worked;
  uintptr_t handle;
  int64_t idle_until_ns, pause_ns;
  char reason[256]; /* why it is not connected */

  struct dcgm_device *devices; /* the watched devices */
  struct dcgm_entity *entities;
  size_t count, capacity;
  uint16_t fields[PROFILE_METRICS]; /* the fields that can be watched */
  uint8_t places[PROFILE_METRICS];  /* the place of each in a profile */
  unsigned field_count;
  struct dcgm_value *values; /* for one device */
};

static int
check_address (const char *address, struct error *error)
{
  const char *port = strrchr (address, ':');

  if (strcmp (address, "off") == 0 || strcmp (address, "embedded") == 0 || address[0] == '/')
    return 0;
  if (port && port > address && port[1] && strspn (port + 1, "0123456789") == strlen (port + 1))
    return 0;
  return error_set (error, "\"%s\" is not understood; expected off, embedded, HOST:PORT or the path of a socket",
                    address);
}

struct dcgm_options {
  char *address;
};

static const struct option option_rows[] = {
  { "gpu", "dcgm", "gpu-dcgm", OPTION_TEXT, offsetof (struct dcgm_options, address), DCGM_DEFAULT,
    .check = check_address,
    .help =
        "The source of gpu_profiling for GPUs older than Hopper: the host engine of DCGM at HOST:PORT or at the path "
        "of a socket; embedded: one in the agent; off: none. It is no error if no host engine runs at the default "
        "address." },
};
static const struct own_options own_options = OWN_OPTIONS (option_rows, struct dcgm_options);

static void
dcgm_start (void *state, const struct sampler_context *context)
{
  const struct dcgm_options *options = context_options (context, &own_options);
  struct dcgm *dcgm = state;

  dcgm->address = memory_string (options->address);
  dcgm->embedded = strcmp (dcgm->address, "embedded") == 0;
  dcgm->pause_ns = FIRST_PAUSE;
}

static void
disconnect (struct dcgm *dcgm)
{
  if (dcgm->connected)
    (dcgm->embedded ? dcgm->library.stop_embedded : dcgm->library.disconnect) (dcgm->handle);
  dcgm->connected = false;
}

static void
dcgm_stop (void *state)
{
  struct dcgm *dcgm = state;

  disconnect (dcgm);
  free (dcgm->address);
  free (dcgm->devices);
  free (dcgm->entities);
  free (dcgm->values);
}

const struct service service_dcgm = {
  .options = &own_options, .size = sizeof (struct dcgm), .start = dcgm_start, .stop = dcgm_stop
};

bool
dcgm_worked (const struct dcgm *dcgm)
{
  return dcgm->worked;
}

bool
dcgm_is_configured (const struct dcgm *dcgm)
{
  return strcmp (dcgm->address, "off") != 0 && strcmp (dcgm->address, DCGM_DEFAULT) != 0;
}

static int
fail (const struct dcgm *dcgm, const char *what, int result, struct error *error)
{
  const char *text = dcgm->library.text ? dcgm->library.text (result) : NULL;

  return error_set (error, "%s: %s (%d)", what, text ? text : "DCGM reports an error", result);
}

/* ---- setting up ---- */

static int
find_gpus (struct dcgm *dcgm, struct error *error)
{
  static const uint16_t uuid = DCGM_FIELD_UUID;
  struct dcgm_value *value = dcgm->values;
  uint32_t ids[DCGM_GPUS];
  int count = 0, result = dcgm->library.devices (dcgm->handle, ids, &count);

  if (result != DCGM_OK)
    return fail (dcgm, "the list of GPUs", result, error);
  for (int i = 0; i < count && i < DCGM_GPUS; i++) {
    struct dcgm_entity entity = { DCGM_GPU, ids[i] };

    *value = (struct dcgm_value){ .version = DCGM_VALUE_V2, .status = -1 };
    result = dcgm->library.latest (dcgm->handle, &entity, 1, &uuid, 1, DCGM_LIVE, value);
    if (result != DCGM_OK || value->status != DCGM_OK || value->type != DCGM_TYPE_TEXT)
      continue;
    for (size_t j = 0; j < dcgm->count; j++)
      if (strncmp (dcgm->devices[j].uuid, value->value.text, sizeof dcgm->devices[j].uuid) == 0 &&
          dcgm->devices[j].gpu_instance == UINT32_MAX)
        dcgm->entities[j] = entity;
  }
  return 0;
}

static int
find_instances (struct dcgm *dcgm, struct error *error)
{
  bool wanted = false;
  struct dcgm_migs *migs;
  int result;

  for (size_t j = 0; j < dcgm->count; j++)
    wanted = wanted || dcgm->devices[j].gpu_instance != UINT32_MAX;
  if (!wanted || !dcgm->library.migs)
    return 0;
  migs = memory_new (1, sizeof *migs);
  migs->version = DCGM_MIGS_V2;
  result = dcgm->library.migs (dcgm->handle, migs);
  for (size_t i = 0; result == DCGM_OK && i < migs->count && i < sizeof migs->list / sizeof migs->list[0]; i++)
    for (size_t j = 0; j < dcgm->count; j++)
      if (migs->list[i].entity.kind == DCGM_GPU_INSTANCE &&
          strncmp (dcgm->devices[j].uuid, migs->list[i].uuid, sizeof dcgm->devices[j].uuid) == 0 &&
          dcgm->devices[j].gpu_instance == migs->list[i].gpu_instance)
        dcgm->entities[j] = migs->list[i].entity;
  free (migs);
  return result == DCGM_OK ? 0 : fail (dcgm, "the list of MIG instances", result, error);
}

/* Names of field groups must differ, also between two agents. */
static int
watch (struct dcgm *dcgm, uintptr_t group, int count, const uint16_t *fields)
{
  uintptr_t made;
  char name[64];
  int result;

  snprintf (name, sizeof name, "synop-%ld-%u-%d", (long) getpid (), fields[0], count);
  result = dcgm->library.fields_create (dcgm->handle, count, fields, name, &made);
  if (result != DCGM_OK)
    return result;
  result = dcgm->library.watch (dcgm->handle, group, made, WATCH_PERIOD_US, KEEP_S, KEEP);
  if (result != DCGM_OK)
    dcgm->library.fields_destroy (dcgm->handle, made);
  return result;
}

/* Watches all fields at once; if some GPU lacks some, each field by itself. */
static int
watch_fields (struct dcgm *dcgm, uintptr_t group, struct error *error)
{
  int result;

  dcgm->field_count = 0;
  for (size_t i = 0; i < PROFILE_METRICS; i++) {
    dcgm->fields[i] = metrics[i].field;
    dcgm->places[i] = (uint8_t) i;
  }
  result = watch (dcgm, group, PROFILE_METRICS, dcgm->fields);
  if (result == DCGM_OK)
    dcgm->field_count = PROFILE_METRICS;
  for (size_t i = 0; dcgm->field_count < PROFILE_METRICS && i < PROFILE_METRICS; i++) {
    int one = watch (dcgm, group, 1, &metrics[i].field);

    if (one == DCGM_CONNECTION_LOST)
      return fail (dcgm, "profiling", one, error);
    if (one != DCGM_OK)
      continue;
    dcgm->fields[dcgm->field_count] = metrics[i].field;
    dcgm->places[dcgm->field_count++] = (uint8_t) i;
  }
  return dcgm->field_count ? 0 : fail (dcgm, "profiling", result, error);
}

static int
watch_devices (struct dcgm *dcgm, struct error *error)
{
  uintptr_t group;
  char name[64];
  size_t found = 0;
  int result;

  memset (dcgm->entities, 0, dcgm->count * sizeof *dcgm->entities);
  if (find_gpus (dcgm, error) < 0 || find_instances (dcgm, error) < 0)
    return -1;
  snprintf (name, sizeof name, "synop-%ld", (long) getpid ());
  result = dcgm->library.group_create (dcgm->handle, DCGM_GROUP_EMPTY, name, &group);
  for (size_t j = 0; result == DCGM_OK && j < dcgm->count; j++) {
    bool again = false; /* already listed: compute instances share a GPU instance */

    for (size_t k = 0; k < j; k++)
      again =
          again || (dcgm->entities[k].kind == dcgm->entities[j].kind && dcgm->entities[k].id == dcgm->entities[j].id);
    if (dcgm->entities[j].kind == 0 || again)
      continue;
    result = dcgm->library.group_add (dcgm->handle, group, dcgm->entities[j].kind, dcgm->entities[j].id);
    found++;
  }
  if (result != DCGM_OK)
    return fail (dcgm, "a group of GPUs", result, error);
  if (!found)
    return error_set (error, "it knows none of the GPUs");
  return watch_fields (dcgm, group, error);
}

/* Waits for a first byte and sends none. */
static bool
greets (const struct addrinfo *address)
{
  const struct timeval patience = { .tv_sec = GREETING_S };
  int fd = socket (address->ai_family, address->ai_socktype | SOCK_CLOEXEC, 0);
  bool greeted = false;
  char byte;

  if (fd < 0)
    return false;
  setsockopt (fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience); /* of connect () too */
  setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect (fd, address->ai_addr, address->ai_addrlen) == 0)
    greeted = recv (fd, &byte, 1, 0) == 1;
  close (fd);
  return greeted;
}

/* Whether the program at HOST:PORT sends first. False for other addresses. */
static bool
is_another_program (const char *text)
{
  const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
  char *host = memory_string (text[0] == '[' ? text + 1 : text), *port = strrchr (host, ':');
  struct addrinfo *found = NULL;
  bool another = false;

  if (port) {
    port[port > host && port[-1] == ']' ? -1 : 0] = '\0';
    if (getaddrinfo (host, port + 1, &hints, &found) == 0)
      another = greets (found);
  }
  if (found)
    freeaddrinfo (found);
  free (host);
  return another;
}

static int
connect_to (struct dcgm *dcgm, struct error *error)
{
  struct dcgm_connect how = { .version = DCGM_CONNECT_V2,
                              .timeout_ms = CONNECT_MS,
                              .is_path = dcgm->address[0] == '/' };
  int result;

  if (strcmp (dcgm->address, "off") == 0)
    return error_set (error, "it is off ([gpu] dcgm)");
  if (dcgm_library_load (&dcgm->library, error) < 0)
    return -1;
  if (!how.is_path && !dcgm->embedded && is_another_program (dcgm->address)) {
    dcgm->pause_ns = OTHER_PAUSE;
    return error_set (error, "%s: what listens there is no host engine: it speaks first, as synop's aggregator does",
                      dcgm->address);
  }
  result = dcgm->library.init ();
  if (result == DCGM_OK)
    result = dcgm->embedded ? dcgm->library.start_embedded (DCGM_EMBEDDED_AUTO, &dcgm->handle)
                            : dcgm->library.connect (dcgm->address, &how, &dcgm->handle);
  if (result != DCGM_OK)
    return fail (dcgm, dcgm->address, result, error);
  dcgm->connected = true;
  return 0;
}

static void
devices_take (struct dcgm *dcgm, const struct dcgm_device *devices, size_t count)
{
  if (count > dcgm->capacity) {
    dcgm->devices = memory_resize (dcgm->devices, count, sizeof *dcgm->devices);
    dcgm->entities = memory_resize (dcgm->entities, count, sizeof *dcgm->entities);
    dcgm->capacity = count;
  }
  memcpy (dcgm->devices, devices, count * sizeof *devices);
  dcgm->count = count;
  if (!dcgm->values)
    dcgm->values = memory_new (PROFILE_METRICS, sizeof *dcgm->values);
}

static bool
are_watched (const struct dcgm *dcgm, const struct dcgm_device *devices, size_t count)
{
  if (count != dcgm->count)
    return false;
  for (size_t i = 0; i < count; i++)
    if (strcmp (devices[i].uuid, dcgm->devices[i].uuid) != 0 ||
        devices[i].gpu_instance != dcgm->devices[i].gpu_instance)
      return false;
  return true;
}

static int
be_connected (struct dcgm *dcgm, const struct dcgm_device *devices, size_t count, struct error *error)
{
  if (dcgm->connected && are_watched (dcgm, devices, count))
    return 0;
  disconnect (dcgm);
  if (clock_monotonic () < dcgm->idle_until_ns)
    return error_set (error, "%s", dcgm->reason);
  devices_take (dcgm, devices, count);
  if (connect_to (dcgm, error) < 0 || watch_devices (dcgm, error) < 0) {
    disconnect (dcgm);
    dcgm->idle_until_ns = clock_monotonic () + dcgm->pause_ns;
    dcgm->pause_ns = dcgm->pause_ns < LAST_PAUSE / 2 ? dcgm->pause_ns * 2 : LAST_PAUSE;
    snprintf (dcgm->reason, sizeof dcgm->reason, "%.250s", error->text);
    return -1;
  }
  dcgm->pause_ns = FIRST_PAUSE;
  dcgm->worked = true;
  return 0;
}

/* ---- reading ---- */

static double
dcgm_number (const struct dcgm_value *value, int64_t wall_ns)
{
  if (value->status != DCGM_OK || wall_ns / 1000 - value->time_us > STALE / 1000)
    return nan ("");
  if (value->type == DCGM_TYPE_REAL && value->value.real < DCGM_BLANK_REAL)
    return value->value.real;
  if (value->type == DCGM_TYPE_INT64 && value->value.i64 < DCGM_BLANK_INT64)
    return (double) value->value.i64;
  return nan ("");
}

static int
read_one (struct dcgm *dcgm, const struct dcgm_entity *entity, struct gpu_profile *profile)
{
  int64_t wall_ns = clock_wall ();
  int result;

  if (entity->kind == 0)
    return DCGM_OK;
  for (unsigned i = 0; i < dcgm->field_count; i++) {
    dcgm->values[i].version = DCGM_VALUE_V2;
    dcgm->values[i].status = -1;
  }
  result = dcgm->library.latest (dcgm->handle, entity, 1, dcgm->fields, dcgm->field_count, 0, dcgm->values);
  for (unsigned i = 0; result == DCGM_OK && i < dcgm->field_count; i++)
    for (unsigned j = 0; j < dcgm->field_count; j++)
      if (dcgm->values[i].field == dcgm->fields[j])
        profile->values[dcgm->places[j]] = dcgm_number (&dcgm->values[i], wall_ns) * metrics[dcgm->places[j]].times;
  return result;
}

int
dcgm_read (struct dcgm *dcgm, const struct dcgm_device *devices, size_t count, struct gpu_profile *profiles,
           struct error *error)
{
  int rc = 0;

  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < PROFILE_METRICS; k++)
      profiles[i].values[k] = nan ("");
  if (be_connected (dcgm, devices, count, error) < 0)
    return error_prefix (error, "DCGM: ");
  for (size_t i = 0; i < count && dcgm->connected; i++) {
    int result = read_one (dcgm, &dcgm->entities[i], &profiles[i]);

    if (result == DCGM_OK)
      continue;
    rc = fail (dcgm, dcgm->address, result, error);
    error_prefix (error, "DCGM: ");
    if (result == DCGM_CONNECTION_LOST)
      disconnect (dcgm);
  }
  return rc;
}
