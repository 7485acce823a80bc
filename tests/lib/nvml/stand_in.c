/* The stand-in's script, and what all its functions share; see stand_in.h. */
#include "tests/lib/nvml/stand_in.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINES 512
#define GPUS 64
#define INSTANCES 8

struct line {
  char word[16], text[112];
};

/* "value GPU KEY NUMBER" and "field GPU ID NUMBER", which are looked for in each call: they must cost nothing there. */
struct number {
  bool any, field;
  unsigned gpu;
  int instance;
  char key[32]; /* of a field its id */
  unsigned id;
  uint64_t number;
};

static struct {
  pthread_mutex_t lock;
  struct line lines[LINES];
  unsigned line_count;
  struct number numbers[LINES];
  unsigned number_count;
  bool rules; /* a line says something of calls */
  struct timespec changed;
  off_t size;
  ino_t inode;
  char driver[80];
  long reload;
  int starts; /* of the library, less its ends */
  bool stale; /* the driver was reloaded since the library was started */
  double loaded;
  unsigned given_xids;
  struct nvml_device gpus[GPUS], instances[GPUS][INSTANCES];
  unsigned gpu_count;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

static double
now (void)
{
  struct timespec time;

  clock_gettime (CLOCK_MONOTONIC, &time);
  return (double) time.tv_sec + (double) time.tv_nsec / 1e9;
}

static void
line_take (char *text)
{
  struct line *line = &all.lines[all.line_count];
  int used = 0;

  text[strcspn (text, "\n")] = '\0';
  if (sscanf (text, "%15s %n", line->word, &used) != 1 || text[0] == '#' || all.line_count == LINES)
    return;
  snprintf (line->text, sizeof line->text, "%s", text + used);
  all.line_count++;
}

static void
number_take (const struct line *line)
{
  struct number *number = &all.numbers[all.number_count];
  char where[16];
  unsigned long long value;

  *number = (struct number){ .instance = -1, .field = line->word[0] == 'f' };
  if (sscanf (line->text, "%15s %31s %llu", where, number->key, &value) != 3)
    return;
  number->any = where[0] == '*';
  sscanf (where, "%u:%d", &number->gpu, &number->instance);
  number->id = (unsigned) strtoul (number->key, NULL, 10);
  number->number = value;
  all.number_count++;
}

/* What the lines say of numbers and calls. */
static void
lines_sort (void)
{
  all.number_count = 0;
  all.rules = false;
  for (unsigned i = 0; i < all.line_count; i++) {
    const char *word = all.lines[i].word;

    if (strcmp (word, "value") == 0 || strcmp (word, "field") == 0)
      number_take (&all.lines[i]);
    all.rules |= strcmp (word, "error") == 0 || strcmp (word, "hang") == 0 || strcmp (word, "slow") == 0 ||
                 strcmp (word, "blank") == 0 || strcmp (word, "lost") == 0 || strcmp (word, "removed") == 0;
  }
}

static long
number_of (const char *word, long otherwise)
{
  for (unsigned i = all.line_count; i-- > 0;)
    if (strcmp (all.lines[i].word, word) == 0)
      return strtol (all.lines[i].text, NULL, 10);
  return otherwise;
}

static void
script_read (void)
{
  const char *path = getenv ("SYNOP_NVML_SCRIPT");
  struct stat status;
  char text[160];
  FILE *file;

  if (!path || stat (path, &status) < 0 ||
      (status.st_mtim.tv_sec == all.changed.tv_sec && status.st_mtim.tv_nsec == all.changed.tv_nsec &&
       status.st_size == all.size && status.st_ino == all.inode))
    return;
  file = fopen (path, "re");
  if (!file)
    return;
  all.changed = status.st_mtim;
  all.size = status.st_size;
  all.inode = status.st_ino;
  all.line_count = 0;
  while (fgets (text, sizeof text, file))
    line_take (text);
  fclose (file);
  lines_sort ();
  if (number_of ("reload", 0) != all.reload) {
    all.reload = number_of ("reload", 0);
    all.stale = all.starts > 0;
    all.loaded = now ();
  }
}

/* "3", "*", "0:1"; a GPU's lines are not those of its instances. */
static bool
concerns (const char *text, const struct nvml_device *device, int *used)
{
  unsigned gpu = 0;
  int instance = -1, length = 0;

  if (text[0] == '*') {
    *used = 1;
    return true;
  }
  if (sscanf (text, "%u%n", &gpu, &length) != 1)
    return false;
  *used = length;
  if (text[length] == ':' && sscanf (text + length, ":%d%n", &instance, &length) == 1)
    *used += length;
  return device && device->real == gpu && device->instance == instance;
}

static bool
is_real (const char *word, unsigned real)
{
  for (unsigned i = 0; i < all.line_count; i++)
    if (strcmp (all.lines[i].word, word) == 0 && strtoul (all.lines[i].text, NULL, 10) == real)
      return true;
  return false;
}

/* The last rule of that word for this call; its number into *code. */
static bool
rule (const char *word, const char *function, const struct nvml_device *device, long *code)
{
  if (!all.rules)
    return false;
  for (unsigned i = all.line_count; i-- > 0;) {
    char call[64];
    long number = 0;
    int used = 0, end = 0;
    const char *rest;

    if (strcmp (all.lines[i].word, word) != 0 || sscanf (all.lines[i].text, "%63s %n", call, &used) != 1 ||
        fnmatch (call, function, 0) != 0)
      continue;
    rest = all.lines[i].text + used;
    if (code && sscanf (rest, "%ld %n", &number, &end) == 1)
      rest += end;
    if (*rest && !concerns (rest, device, &used))
      continue;
    if (code)
      *code = number;
    return true;
  }
  return false;
}

/* Looking whether the script has changed costs a system call, which would be held against the agent's. */
static bool
begins_a_sample (const char *function, const struct nvml_device *device)
{
  static const char *const first[] = { "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetComputeRunningProcesses_v2",
                                       "nvmlDeviceGetVbiosVersion", "nvmlGpmSampleGet" };

  for (size_t i = 0; device && device->index == 0 && i < sizeof first / sizeof first[0]; i++)
    if (strcmp (function, first[i]) == 0)
      return true;
  return !device;
}

int
stand_in_call (const char *function, const struct nvml_device *device)
{
  long code = 0, slow_us = 0;
  bool hangs;

  pthread_mutex_lock (&all.lock);
  if (begins_a_sample (function, device))
    script_read ();
  hangs = rule ("hang", function, device, NULL);
  rule ("slow", function, device, &slow_us);
  if (!rule ("error", function, device, &code)) {
    if (all.stale || all.starts == 0)
      code = NVML_UNINITIALIZED;
    else if (all.rules && device && (is_real ("lost", device->real) || is_real ("removed", device->real)))
      code = NVML_GPU_IS_LOST;
  }
  pthread_mutex_unlock (&all.lock);
  if (slow_us)
    usleep ((useconds_t) slow_us);
  while (hangs) {
    usleep (5000);
    pthread_mutex_lock (&all.lock);
    script_read ();
    hangs = rule ("hang", function, device, NULL);
    pthread_mutex_unlock (&all.lock);
  }
  return (int) code;
}

bool
stand_in_blank (const char *function, const struct nvml_device *device)
{
  bool blank;

  pthread_mutex_lock (&all.lock);
  blank = rule ("blank", function, device, NULL);
  pthread_mutex_unlock (&all.lock);
  return blank;
}

bool
stand_in_text (const char *word, const struct nvml_device *device, char *text, size_t size)
{
  unsigned at = 0;
  const char *said;

  pthread_mutex_lock (&all.lock);
  said = stand_in_line (word, device, &at);
  if (said)
    snprintf (text, size, "%s", said + strspn (said, " "));
  pthread_mutex_unlock (&all.lock);
  return said != NULL;
}

const char *
stand_in_line (const char *word, const struct nvml_device *device, unsigned *at)
{
  while (*at < all.line_count) {
    const struct line *line = &all.lines[(*at)++];
    int used = 0;

    if (strcmp (line->word, word) == 0 && concerns (line->text, device, &used))
      return line->text + used;
  }
  return NULL;
}

/* The last one counts. */
static const struct number *
number_find (const struct nvml_device *device, bool field, const char *key, unsigned id)
{
  for (unsigned i = all.number_count; i-- > 0;) {
    const struct number *number = &all.numbers[i];

    if (number->field == field && (field ? number->id == id : strcmp (number->key, key) == 0) &&
        (number->any || (number->gpu == device->real && number->instance == device->instance)))
      return number;
  }
  return NULL;
}

uint64_t
stand_in_value (const struct nvml_device *device, const char *key, uint64_t otherwise)
{
  const struct number *number;

  pthread_mutex_lock (&all.lock);
  number = number_find (device, false, key, 0);
  otherwise = number ? number->number : otherwise;
  pthread_mutex_unlock (&all.lock);
  return otherwise;
}

bool
stand_in_field (const struct nvml_device *device, uint32_t id, uint64_t *value)
{
  const struct number *number;

  pthread_mutex_lock (&all.lock);
  number = number_find (device, true, NULL, id);
  if (number)
    *value = number->number;
  pthread_mutex_unlock (&all.lock);
  return number;
}

double
stand_in_seconds (void)
{
  return now () - all.loaded;
}

/* ---- the library itself ---- */

EXPORT int nvmlInit_v2 (void);
EXPORT int nvmlShutdown (void);
EXPORT int nvmlSystemGetDriverVersion (char *text, unsigned length);
EXPORT int nvmlSystemGetCudaDriverVersion_v2 (int *version);
EXPORT int nvmlDeviceGetCount_v2 (uint32_t *count);
EXPORT int nvmlDeviceGetHandleByIndex_v2 (uint32_t index, struct nvml_device **device);
EXPORT int nvmlDeviceGetMigMode (struct nvml_device *device, uint32_t *mode, uint32_t *pending);
EXPORT int nvmlDeviceGetMaxMigDeviceCount (struct nvml_device *device, uint32_t *count);
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex (struct nvml_device *device, uint32_t index, struct nvml_device **mig);
EXPORT int nvmlEventSetCreate (struct nvml_event_set **set);
EXPORT int nvmlEventSetFree (struct nvml_event_set *set);
EXPORT int nvmlDeviceGetSupportedEventTypes (struct nvml_device *device, uint64_t *types);
EXPORT int nvmlDeviceRegisterEvents (struct nvml_device *device, uint64_t types, struct nvml_event_set *set);
EXPORT int nvmlEventSetWait_v2 (struct nvml_event_set *set, struct nvml_event *event, uint32_t timeout_ms);

/* Those that are removed are not in the order of the driver any more. */
static void
devices_list (void)
{
  unsigned wanted = (unsigned) number_of ("gpus", 2);

  all.gpu_count = 0;
  for (unsigned real = 0; real < wanted && real < GPUS; real++) {
    if (is_real ("removed", real))
      continue;
    all.gpus[all.gpu_count] = (struct nvml_device){ .index = all.gpu_count, .instance = -1, .real = real };
    for (int i = 0; i < INSTANCES; i++)
      all.instances[all.gpu_count][i] = (struct nvml_device){ .index = all.gpu_count, .instance = i, .real = real };
    all.gpu_count++;
  }
}

int
nvmlInit_v2 (void)
{
  int result;

  stand_in_call ("nvmlInit_v2", NULL); /* reads the script, and hangs if it says so */
  pthread_mutex_lock (&all.lock);
  result = (int) number_of ("init", 0);
  if (result == NVML_OK && all.starts++ == 0) {
    all.stale = false;
    if (all.loaded == 0)
      all.loaded = now ();
    devices_list ();
  }
  pthread_mutex_unlock (&all.lock);
  return result;
}

int
nvmlShutdown (void)
{
  pthread_mutex_lock (&all.lock);
  all.starts -= all.starts > 0;
  pthread_mutex_unlock (&all.lock);
  return NVML_OK;
}

int
nvmlSystemGetDriverVersion (char *text, unsigned length)
{
  int result = stand_in_call ("nvmlSystemGetDriverVersion", NULL);
  const char *driver = "550.54.15";

  for (unsigned i = 0; i < all.line_count; i++)
    if (strcmp (all.lines[i].word, "driver") == 0)
      driver = all.lines[i].text;
  snprintf (text, length, "%s", driver);
  return result;
}

int
nvmlSystemGetCudaDriverVersion_v2 (int *version)
{
  *version = 12040;
  return NVML_OK;
}

int
nvmlDeviceGetCount_v2 (uint32_t *count)
{
  int result = stand_in_call ("nvmlDeviceGetCount_v2", NULL);

  *count = all.gpu_count;
  return result;
}

int
nvmlDeviceGetHandleByIndex_v2 (uint32_t index, struct nvml_device **device)
{
  if (index >= all.gpu_count)
    return NVML_INVALID_ARGUMENT;
  *device = &all.gpus[index];
  return stand_in_call ("nvmlDeviceGetHandleByIndex_v2", *device);
}

static uint32_t
instances_of (const struct nvml_device *device)
{
  unsigned at = 0;
  const char *text = device->instance < 0 ? stand_in_line ("mig", device, &at) : NULL;

  return text ? (uint32_t) strtoul (text, NULL, 10) : 0;
}

int
nvmlDeviceGetMigMode (struct nvml_device *device, uint32_t *mode, uint32_t *pending)
{
  *mode = *pending = instances_of (device) > 0;
  return stand_in_call ("nvmlDeviceGetMigMode", device);
}

int
nvmlDeviceGetMaxMigDeviceCount (struct nvml_device *device, uint32_t *count)
{
  *count = INSTANCES - 1;
  return stand_in_call ("nvmlDeviceGetMaxMigDeviceCount", device);
}

int
nvmlDeviceGetMigDeviceHandleByIndex (struct nvml_device *device, uint32_t index, struct nvml_device **mig)
{
  if (index >= instances_of (device))
    return NVML_NOT_FOUND;
  *mig = &all.instances[device->index][index];
  return stand_in_call ("nvmlDeviceGetMigDeviceHandleByIndex", device);
}

/* ---- events ---- */

int
nvmlEventSetCreate (struct nvml_event_set **set)
{
  *set = (struct nvml_event_set *) &all;
  return stand_in_call ("nvmlEventSetCreate", NULL);
}

int
nvmlEventSetFree (struct nvml_event_set *set)
{
  unsigned told = 0;

  (void) set;
  pthread_mutex_lock (&all.lock);
  script_read ();
  for (unsigned i = 0; i < all.line_count; i++)
    told += strcmp (all.lines[i].word, "xid") == 0;
  all.given_xids = told > all.given_xids ? told : all.given_xids;
  pthread_mutex_unlock (&all.lock);
  return NVML_OK;
}

int
nvmlDeviceGetSupportedEventTypes (struct nvml_device *device, uint64_t *types)
{
  *types = number_of ("no_events", -1) == -1 ? 0x1f : 0;
  return stand_in_call ("nvmlDeviceGetSupportedEventTypes", device);
}

int
nvmlDeviceRegisterEvents (struct nvml_device *device, uint64_t types, struct nvml_event_set *set)
{
  (void) types;
  (void) set;
  return stand_in_call ("nvmlDeviceRegisterEvents", device);
}

int
nvmlEventSetWait_v2 (struct nvml_event_set *set, struct nvml_event *event, uint32_t timeout_ms)
{
  int result = stand_in_call ("nvmlEventSetWait_v2", NULL);
  unsigned seen = 0;

  (void) set;
  (void) timeout_ms;
  for (unsigned i = 0; result == NVML_OK && i < all.line_count; i++) {
    unsigned gpu;
    unsigned long long xid;

    if (strcmp (all.lines[i].word, "xid") != 0 || sscanf (all.lines[i].text, "%u %llu", &gpu, &xid) != 2 ||
        seen++ < all.given_xids)
      continue;
    all.given_xids++;
    *event = (struct nvml_event){ .type = NVML_EVENT_XID, .data = xid, .gpu_instance = UINT32_MAX };
    for (unsigned j = 0; j < all.gpu_count; j++)
      if (all.gpus[j].real == gpu)
        event->device = &all.gpus[j];
    return NVML_OK;
  }
  return result ? result : NVML_TIMEOUT;
}
