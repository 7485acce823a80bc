/* A stand-in for NVIDIA's libdcgm: build/tests/lib/libdcgm.so.4, for faults. It does what a text file says, whose path is
 * in SYNOP_DCGM_SCRIPT and which is read again when it has changed. It shares dcgm_library.h with the agent, so it
 * proves nothing about the real library's layout. Its GPUs have the UUIDs of the other stand-in (tests/lib/nvml), and
 * numbers of their own: 10, 11 ...; MIG instances 100, 101 ..., those of the second GPU 108 ... Lines:
 *
 *   down                   no host engine can be reached
 *   restart 1              each new number: connections that were made are lost
 *   gpus 2                 how many it knows (default 2)
 *   mig 0 2                that GPU is split into so many instances
 *   error CALL CODE        that function returns that
 *   hang CALL              it does not return while the script has that line
 *   unsupported FIELD      watching it fails, with others too
 *   value FIELD NUMBER     of all entities, as DCGM has it; default: (FIELD - 1000) / 100, or as many MB; and a
 *                          thousandth of the entity's number, or so many bytes
 *   blank FIELD KIND       0 to 3: what stands for no value, and why
 *   nan FIELD
 *   status FIELD CODE      its own result
 *   old SECONDS            values are of then
 */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/gpu/dcgm_library.h"

#define EXPORT __attribute__ ((visibility ("default")))
#define LINES 64
#define FIRST_FIELD 1001
#define FIELDS 32

struct line {
  char word[16], name[64];
  double number;
};

static struct {
  pthread_mutex_t lock;
  struct line lines[LINES];
  unsigned count;
  struct stat read;     /* the script, as it was */
  uintptr_t connection; /* the one that there is; 0: none */
  uintptr_t connections;
  double restart;
  uint16_t fields[64][FIELDS]; /* of each field group, ended by 0 */
  unsigned field_groups;
  bool watched[FIELDS];
  struct dcgm_entity group[64];
  unsigned group_count;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

EXPORT int dcgmInit (void);
EXPORT int dcgmConnect_v2 (const char *address, struct dcgm_connect *how, uintptr_t *handle);
EXPORT int dcgmDisconnect (uintptr_t handle);
EXPORT int dcgmStartEmbedded (int mode, uintptr_t *handle);
EXPORT int dcgmStopEmbedded (uintptr_t handle);
EXPORT int dcgmGetAllDevices (uintptr_t handle, uint32_t ids[DCGM_GPUS], int *count);
EXPORT int dcgmGetGpuInstanceHierarchy (uintptr_t handle, struct dcgm_migs *migs);
EXPORT int dcgmGroupCreate (uintptr_t handle, int type, const char *name, uintptr_t *group);
EXPORT int dcgmGroupAddEntity (uintptr_t handle, uintptr_t group, uint32_t kind, uint32_t id);
EXPORT int dcgmFieldGroupCreate (uintptr_t handle, int count, const uint16_t *fields, const char *name,
                                 uintptr_t *group);
EXPORT int dcgmFieldGroupDestroy (uintptr_t handle, uintptr_t group);
EXPORT int dcgmWatchFields (uintptr_t handle, uintptr_t group, uintptr_t fields, long long period_us, double keep_s,
                            int keep);
EXPORT int dcgmEntitiesGetLatestValues (uintptr_t handle, const struct dcgm_entity *entities, unsigned entity_count,
                                        const uint16_t *fields, unsigned field_count, unsigned flags,
                                        struct dcgm_value *values);
EXPORT const char *errorString (int result);

/* ---- the script ---- */

static const struct line *
find (const char *word, const char *name)
{
  for (unsigned i = all.count; i-- > 0;)
    if (strcmp (all.lines[i].word, word) == 0 && (!name || strcmp (all.lines[i].name, name) == 0))
      return &all.lines[i];
  return NULL;
}

static const struct line *
find_field (const char *word, unsigned field)
{
  char name[16];

  snprintf (name, sizeof name, "%u", field);
  return find (word, name);
}

static double
number_of (const char *word, double otherwise)
{
  const struct line *line = find (word, NULL);

  return line ? strtod (line->name, NULL) : otherwise;
}

static void
script_read (void)
{
  const char *path = getenv ("SYNOP_DCGM_SCRIPT");
  struct stat status;
  char text[128];
  FILE *file;

  if (!path || stat (path, &status) < 0 ||
      (status.st_ino == all.read.st_ino && status.st_size == all.read.st_size &&
       status.st_mtim.tv_sec == all.read.st_mtim.tv_sec && status.st_mtim.tv_nsec == all.read.st_mtim.tv_nsec))
    return;
  file = fopen (path, "re");
  if (!file)
    return;
  all.read = status;
  all.count = 0;
  while (all.count < LINES && fgets (text, sizeof text, file)) {
    struct line *line = &all.lines[all.count];

    *line = (struct line){ .number = 0 };
    if (sscanf (text, "%15s %63s %lf", line->word, line->name, &line->number) >= 1)
      all.count++;
  }
  fclose (file);
  if (number_of ("restart", 0) < all.restart || number_of ("restart", 0) > all.restart)
    all.connection = 0;
  all.restart = number_of ("restart", 0);
  if (find ("down", NULL))
    all.connection = 0;
}

/* What the function has to return; `handle` 0: it needs no connection. Holds the lock then, until done (). */
static int
begin (const char *function, uintptr_t handle)
{
  const struct line *line;

  pthread_mutex_lock (&all.lock);
  script_read ();
  while (find ("hang", function)) {
    pthread_mutex_unlock (&all.lock);
    usleep (5000);
    pthread_mutex_lock (&all.lock);
    script_read ();
  }
  line = find ("error", function);
  if (line)
    return (int) line->number;
  return handle && handle != all.connection ? DCGM_CONNECTION_LOST : DCGM_OK;
}

static int
done (int result)
{
  pthread_mutex_unlock (&all.lock);
  return result;
}

/* ---- connections ---- */

int
dcgmInit (void)
{
  return done (begin ("dcgmInit", 0));
}

static int
connection_make (uintptr_t *handle)
{
  all.field_groups = all.group_count = 0;
  memset (all.watched, 0, sizeof all.watched);
  *handle = all.connection = ++all.connections;
  return DCGM_OK;
}

int
dcgmConnect_v2 (const char *address, struct dcgm_connect *how, uintptr_t *handle)
{
  int result = begin ("dcgmConnect_v2", 0);

  if (result == DCGM_OK && (how->version != DCGM_CONNECT_V2 || (how->is_path != 0) != (address[0] == '/')))
    result = -12;
  if (result == DCGM_OK)
    result = find ("down", NULL) ? DCGM_CONNECTION_LOST : connection_make (handle);
  return done (result);
}

int
dcgmStartEmbedded (int mode, uintptr_t *handle)
{
  int result = begin ("dcgmStartEmbedded", 0);

  if (result == DCGM_OK)
    result = mode == DCGM_EMBEDDED_AUTO ? connection_make (handle) : -1;
  return done (result);
}

int
dcgmDisconnect (uintptr_t handle)
{
  int result = begin ("dcgmDisconnect", handle);

  if (result == DCGM_OK)
    all.connection = 0;
  return done (result);
}

int
dcgmStopEmbedded (uintptr_t handle)
{
  return dcgmDisconnect (handle);
}

/* ---- entities ---- */

static uint32_t
gpu_count (void)
{
  return (uint32_t) number_of ("gpus", 2);
}

int
dcgmGetAllDevices (uintptr_t handle, uint32_t ids[DCGM_GPUS], int *count)
{
  int result = begin ("dcgmGetAllDevices", handle);

  *count = (int) gpu_count ();
  for (uint32_t i = 0; i < gpu_count () && i < DCGM_GPUS; i++)
    ids[i] = 10 + i;
  return done (result);
}

static void
uuid_of (uint32_t gpu, char *text, size_t size)
{
  snprintf (text, size, "GPU-00000000-0000-0000-0000-%012u", gpu);
}

int
dcgmGetGpuInstanceHierarchy (uintptr_t handle, struct dcgm_migs *migs)
{
  int result = begin ("dcgmGetGpuInstanceHierarchy", handle);

  if (migs->version != DCGM_MIGS_V2)
    result = -12;
  migs->count = 0;
  for (uint32_t gpu = 0; gpu < gpu_count (); gpu++) {
    const struct line *line = find_field ("mig", gpu);

    for (uint32_t i = 0; line && i < (uint32_t) line->number; i++) {
      struct dcgm_mig *mig = &migs->list[migs->count++];

      *mig = (struct dcgm_mig){ .entity = { DCGM_GPU_INSTANCE, 100 + gpu * 8 + i },
                                .parent = { DCGM_GPU, 10 + gpu },
                                .gpu_index = gpu,
                                .gpu_instance = i + 1 };
      uuid_of (gpu, mig->uuid, sizeof mig->uuid);
    }
  }
  return done (result);
}

int
dcgmGroupCreate (uintptr_t handle, int type, const char *name, uintptr_t *group)
{
  int result = begin ("dcgmGroupCreate", handle);

  *group = 7;
  return done (result ? result : type == DCGM_GROUP_EMPTY && name[0] ? DCGM_OK : -1);
}

int
dcgmGroupAddEntity (uintptr_t handle, uintptr_t group, uint32_t kind, uint32_t id)
{
  int result = begin ("dcgmGroupAddEntity", handle);

  if (group != 7 || all.group_count == 64)
    result = -1;
  if (result == DCGM_OK)
    all.group[all.group_count++] = (struct dcgm_entity){ kind, id };
  return done (result);
}

/* ---- fields ---- */

int
dcgmFieldGroupCreate (uintptr_t handle, int count, const uint16_t *fields, const char *name, uintptr_t *group)
{
  int result = begin ("dcgmFieldGroupCreate", handle);

  if (all.field_groups == 64 || count >= FIELDS || !name[0])
    result = -24;
  if (result == DCGM_OK) {
    memcpy (all.fields[all.field_groups], fields, (size_t) count * sizeof *fields);
    all.fields[all.field_groups][count] = 0;
    *group = ++all.field_groups;
  }
  return done (result);
}

int
dcgmFieldGroupDestroy (uintptr_t handle, uintptr_t group)
{
  (void) group;
  return done (begin ("dcgmFieldGroupDestroy", handle));
}

int
dcgmWatchFields (uintptr_t handle, uintptr_t group, uintptr_t fields, long long period_us, double keep_s, int keep)
{
  int result = begin ("dcgmWatchFields", handle);
  const uint16_t *list = all.fields[fields - 1];

  if (group != 7 || period_us < 100000 || keep_s <= 0 || keep < 0)
    result = -1;
  for (unsigned i = 0; result == DCGM_OK && list[i]; i++)
    if (find_field ("unsupported", list[i]))
      result = -36;
  for (unsigned i = 0; result == DCGM_OK && list[i]; i++)
    all.watched[list[i] - FIRST_FIELD] = true;
  return done (result);
}

static bool
is_watched (const struct dcgm_entity *entity, uint16_t field)
{
  for (unsigned i = 0; i < all.group_count; i++)
    if (all.group[i].kind == entity->kind && all.group[i].id == entity->id)
      return field >= FIRST_FIELD && field < FIRST_FIELD + FIELDS && all.watched[field - FIRST_FIELD];
  return false;
}

static void
value_fill (struct dcgm_value *value, const struct dcgm_entity *entity, uint16_t field)
{
  const struct line *line = find_field ("status", field), *blank = find_field ("blank", field);
  bool bytes = field >= 1009 && field <= 1012;
  double real = bytes ? (field - 1000) * 1e6 + entity->id : (field - 1000) / 100.0 + entity->id / 1000.0;
  struct timespec now;

  clock_gettime (CLOCK_REALTIME, &now);
  value->time_us = (now.tv_sec - (int64_t) number_of ("old", 0)) * 1000000 + now.tv_nsec / 1000;
  value->type = bytes ? DCGM_TYPE_INT64 : DCGM_TYPE_REAL;
  value->status = !is_watched (entity, field) ? -16 : line ? (int) line->number : DCGM_OK;
  line = find_field ("value", field);
  if (line)
    real = line->number;
  if (find_field ("nan", field))
    real = nan ("");
  if (bytes)
    value->value.i64 = blank ? DCGM_BLANK_INT64 + (int64_t) blank->number : (int64_t) real;
  else
    value->value.real = blank ? DCGM_BLANK_REAL + blank->number : real;
}

int
dcgmEntitiesGetLatestValues (uintptr_t handle, const struct dcgm_entity *entities, unsigned entity_count,
                             const uint16_t *fields, unsigned field_count, unsigned flags, struct dcgm_value *values)
{
  int result = begin ("dcgmEntitiesGetLatestValues", handle);

  for (unsigned i = 0; result == DCGM_OK && i < entity_count; i++)
    for (unsigned j = 0; j < field_count; j++) {
      struct dcgm_value *value = &values[i * field_count + j];

      if (value->version != DCGM_VALUE_V2)
        return done (-12);
      value->entity = entities[i];
      value->field = fields[j];
      if (fields[j] == DCGM_FIELD_UUID) {
        value->status = flags & DCGM_LIVE ? DCGM_OK : -16;
        value->type = DCGM_TYPE_TEXT;
        uuid_of (entities[i].id - 10, value->value.text, sizeof value->value.text);
      } else
        value_fill (value, &entities[i], fields[j]);
    }
  return done (result);
}

const char *
errorString (int result)
{
  switch (result) {
  case DCGM_CONNECTION_LOST:
    return "the stand-in's connection is not valid";
  case -36:
    return "the stand-in cannot profile that";
  default:
    return "the stand-in tells an error";
  }
}
