/* See job_accounting.h. What the file holds, in the machine's own byte order:
 *
 *   head      magic "synopJOB", version (4 bytes), size of a record (4), boot (40)
 *   records   from byte 4096 on, two for each entry: serial (8), seconds of the last end, 0 while it lives (8),
 *             label (136), totals, SipHash-2-4 of all before (8)
 *
 * Of an entry's two records the whole one with the higher serial counts; without one the entry is free. */
#include "agent/job/job_accounting.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "synop/file.h"
#include "synop/hash.h"
#include "synop/memory.h"

#define VERSION 1
#define RECORDS_AT 4096
#define VALUE_MAX (UINT64_C (1) << 62) /* no total comes near */

static const char magic[8] = "synopJOB";
static const uint8_t sum_key[crypto_shorthash_KEYBYTES] = "synop job book 1";

struct head {
  char magic[8];
  uint32_t version, record_size;
  char boot[40];
};

struct record {
  uint64_t serial, ended_s;
  char label[136];
  struct job_totals totals;
  uint8_t sum[crypto_shorthash_BYTES];
};

#define ACCOUNTING_SIZE (RECORDS_AT + sizeof (struct record) * 2 * JOB_ACCOUNTING_ENTRIES)

struct place { /* the often used values of an entry, so that mapped pages stay untouched */
  uint32_t hash;
  bool used, alive;
  uint64_t serial, ended_s;
};

struct job_accounting {
  uint8_t *map;
  int fd; /* -1: memory */
  struct place places[JOB_ACCOUNTING_ENTRIES];
};

static struct record *
record_at (const struct job_accounting *accounting, size_t entry, uint64_t serial)
{
  return (struct record *) (accounting->map + RECORDS_AT) + entry * 2 + serial % 2;
}

static void
record_sum (const struct record *record, uint8_t sum[crypto_shorthash_BYTES])
{
  crypto_shorthash (sum, (const uint8_t *) record, offsetof (struct record, sum), sum_key);
}

/* ---- the file ---- */

static bool
totals_are_sound (const struct job_totals *totals)
{
  const uint64_t *value = (const uint64_t *) totals;

  for (size_t i = 0; i < offsetof (struct job_totals, flow_known) / sizeof *value; i++)
    if (value[i] > VALUE_MAX)
      return false;
  return totals->rss_peak <= VALUE_MAX && totals->started_ns >= 0;
}

static bool
record_is_sound (const struct record *record)
{
  uint8_t sum[sizeof record->sum];
  size_t length = strnlen (record->label, sizeof record->label);

  record_sum (record, sum);
  if (memcmp (sum, record->sum, sizeof sum) != 0 || length == 0 || length >= JOB_LABEL_SIZE)
    return false;
  for (size_t i = 0; i < length; i++)
    if (record->label[i] <= ' ' || record->label[i] > '~')
      return false;
  return record->serial != 0 && totals_are_sound (&record->totals);
}

/* Reads which entries exist. Jobs that lived then may go on; they are kept for an hour from now. With pread rather than
 * through the map, whose pages would count as this program's. */
static void
index_read (struct job_accounting *accounting, uint64_t now_s)
{
  struct record pair[2];

  for (size_t i = 0; i < JOB_ACCOUNTING_ENTRIES; i++) {
    struct place *place = &accounting->places[i];
    off_t at = (off_t) (RECORDS_AT + i * sizeof pair);

    if (pread (accounting->fd, pair, sizeof pair, at) != sizeof pair)
      return;
    for (size_t copy = 0; copy < 2; copy++)
      if (pair[copy].serial % 2 == copy && pair[copy].serial > place->serial && record_is_sound (&pair[copy]))
        *place = (struct place){ .hash = (uint32_t) hash_text (pair[copy].label),
                                 .used = true,
                                 .serial = pair[copy].serial,
                                 .ended_s = pair[copy].ended_s ? pair[copy].ended_s : now_s };
  }
}

static int
open_locked (const char *path, struct stat *status, struct error *error)
{
  int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

  if (fd < 0)
    return error_set (error, "%s: %s; make it writable or set [jobs] book", path, strerror (errno));
  if (fstat (fd, status) < 0 || !S_ISREG (status->st_mode))
    error_set (error, "%s is no file; set [jobs] book", path);
  else if (flock (fd, LOCK_EX | LOCK_NB) < 0)
    error_set (error, "%s: %s; give each agent of this machine a [jobs] book of its own", path,
               errno == EWOULDBLOCK ? "another agent uses it" : strerror (errno));
  else
    return fd;
  close (fd);
  return -1;
}

enum verdict { ACCOUNTING_GOOD, ACCOUNTING_NEW, ACCOUNTING_STRANGE };

static enum verdict
check_head (int fd, const struct stat *status, const char *boot)
{
  struct head head = { .version = 0 };

  if (status->st_size == 0)
    return ACCOUNTING_NEW;
  if (pread (fd, &head, sizeof head, 0) != sizeof head)
    return ACCOUNTING_STRANGE;
  if (sodium_is_zero ((const uint8_t *) &head, sizeof head)) /* killed before it had written the head */
    return ACCOUNTING_NEW;
  if (memcmp (head.magic, magic, sizeof magic) != 0 || head.version != VERSION ||
      head.record_size != sizeof (struct record) || status->st_size != (off_t) ACCOUNTING_SIZE)
    return ACCOUNTING_STRANGE;
  return strncmp (head.boot, boot, sizeof head.boot - 1) == 0 ? ACCOUNTING_GOOD : ACCOUNTING_NEW;
}

/* Renames a file that cannot be read as accounting, and begins a new one. */
static int
set_aside (const char *path, int fd, struct stat *status, struct error *warning)
{
  char *aside = memory_format ("%s.broken", path);
  int rc = rename (path, aside);

  close (fd);
  if (rc < 0)
    fd = error_set (warning, "%s is no accounting file of this agent's jobs: %s; remove it or set [jobs] book", path,
                    strerror (errno));
  else {
    fd = open_locked (path, status, warning);
    if (fd >= 0)
      error_set (warning, "%s is truncated or of another version: renamed to %s, and jobs are counted anew", path,
                 aside);
  }
  free (aside);
  return fd;
}

/* Allocates all of its disk space now: a mapped page that finds none later would end the agent. */
static int
map_file (struct job_accounting *accounting, const char *path, struct error *warning)
{
  int result;

  do
    result = posix_fallocate (accounting->fd, 0, ACCOUNTING_SIZE);
  while (result == EINTR);
  if (result != 0)
    return error_set (warning, "%s: %s; it needs %zu bytes: make room or set [jobs] book", path, strerror (result),
                      (size_t) ACCOUNTING_SIZE);
  accounting->map = mmap (NULL, ACCOUNTING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, accounting->fd, 0);
  if (accounting->map != MAP_FAILED)
    return 0;
  accounting->map = NULL;
  return error_set (warning, "%s: %s; set [jobs] book", path, strerror (errno));
}

static int
accounting_open_file (struct job_accounting *accounting, const char *path, const char *boot, uint64_t now_s,
                      struct error *warning)
{
  struct head head = { .version = VERSION, .record_size = sizeof (struct record) };
  struct stat status;
  enum verdict verdict;

  file_folder_make (path, 0750);
  accounting->fd = open_locked (path, &status, warning);
  if (accounting->fd < 0)
    return -1;
  verdict = check_head (accounting->fd, &status, boot);
  if (verdict == ACCOUNTING_STRANGE && (accounting->fd = set_aside (path, accounting->fd, &status, warning)) < 0)
    return -1;
  if (verdict != ACCOUNTING_GOOD && ftruncate (accounting->fd, 0) < 0)
    return error_set (warning, "%s: %s; set [jobs] book", path, strerror (errno));
  if (map_file (accounting, path, warning) < 0)
    return -1;
  if (verdict == ACCOUNTING_GOOD)
    index_read (accounting, now_s);
  else {
    memcpy (head.magic, magic, sizeof magic);
    snprintf (head.boot, sizeof head.boot, "%s", boot);
    memcpy (accounting->map, &head, sizeof head);
  }
  return 0;
}

struct job_accounting *
job_accounting_create (const char *path, const char *boot, uint64_t now_s, struct error *warning)
{
  struct job_accounting *accounting = memory_new (1, sizeof *accounting);

  accounting->fd = -1;
  warning->text[0] = 0;
  if (path[0] && accounting_open_file (accounting, path, boot, now_s, warning) == 0)
    return accounting;
  file_close (&accounting->fd);
  accounting->map =
      mmap (NULL, ACCOUNTING_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (accounting->map == MAP_FAILED)
    abort (); /* as memory_new does */
  return accounting;
}

void
job_accounting_destroy (struct job_accounting *accounting)
{
  if (!accounting)
    return;
  munmap (accounting->map, ACCOUNTING_SIZE);
  file_close (&accounting->fd);
  free (accounting);
}

/* ---- entries ---- */

static void
record_write (struct job_accounting *accounting, size_t entry, const struct record *from)
{
  struct place *place = &accounting->places[entry];
  struct record *record;

  place->serial++;
  record = record_at (accounting, entry, place->serial);
  memcpy (record->label, from->label, sizeof record->label);
  record->totals = from->totals;
  record->serial = place->serial;
  record->ended_s = place->ended_s;
  record_sum (record, record->sum);
}

static size_t
find_known (const struct job_accounting *accounting, const char *label)
{
  uint32_t hash = (uint32_t) hash_text (label);

  for (size_t i = 0; i < JOB_ACCOUNTING_ENTRIES; i++) {
    const struct place *place = &accounting->places[i];

    if (place->used && !place->alive && place->hash == hash &&
        strcmp (record_at (accounting, i, place->serial)->label, label) == 0)
      return i;
  }
  return SIZE_MAX;
}

/* One that was never used, else the one whose job ended first. */
static size_t
find_free (const struct job_accounting *accounting)
{
  size_t best = SIZE_MAX;

  for (size_t i = 0; i < JOB_ACCOUNTING_ENTRIES; i++) {
    const struct place *place = &accounting->places[i];

    if (!place->used)
      return i;
    if (!place->alive && (best == SIZE_MAX || place->ended_s < accounting->places[best].ended_s))
      best = i;
  }
  return best;
}

size_t
job_accounting_take (struct job_accounting *accounting, const char *label, uint32_t uid, uint64_t now_s,
                     struct job_totals *totals)
{
  size_t entry = find_known (accounting, label);
  bool fresh = entry == SIZE_MAX;
  struct record record = { .serial = 0 };
  struct place *place;

  if (fresh)
    entry = find_free (accounting);
  if (entry == SIZE_MAX)
    return SIZE_MAX;
  place = &accounting->places[entry];
  if (!fresh && now_s <= place->ended_s + JOB_ACCOUNTING_KEPT_S &&
      record_at (accounting, entry, place->serial)->totals.uid == uid)
    record.totals = record_at (accounting, entry, place->serial)->totals;
  record.totals.uid = uid;
  *totals = record.totals;
  snprintf (record.label, sizeof record.label, "%s", label);
  place->hash = (uint32_t) hash_text (label);
  place->used = place->alive = true;
  place->ended_s = 0;
  record_write (accounting, entry, &record);
  return entry;
}

void
job_accounting_write (struct job_accounting *accounting, size_t entry, const struct job_totals *totals)
{
  const struct record *now = record_at (accounting, entry, accounting->places[entry].serial);
  struct record record;

  memcpy (record.label, now->label, sizeof record.label);
  record.totals = *totals;
  record_write (accounting, entry, &record);
}

void
job_accounting_give_back (struct job_accounting *accounting, size_t entry, uint64_t now_s)
{
  struct record record = *record_at (accounting, entry, accounting->places[entry].serial);

  accounting->places[entry].alive = false;
  accounting->places[entry].ended_s = now_s;
  record_write (accounting, entry, &record);
}
