/* See job_pids.h.
 *
 *   /proc/loadavg              0.92 0.70 1.10 4/112 28976            in the reader's pid namespace
 *   /proc/stat                 processes 26442                       forks since the machine was started, threads too
 *   /proc/sys/kernel/pid_max   4194304 */
#include "agent/job/job_pids.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/source/facts.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define TRIED_MAX 512      /* in one scan; more new ids than these are found by a sweep */
#define SWEEP_ENTRIES 1024 /* of /proc that a sweep reads in one scan: about a millisecond */
#define SWEEP_PERIOD (60 * NS_PER_S)
#define ROUND_MAX 131072 /* above this pid_max ids cannot wrap around between two scans, and forks are not counted */

/* ---- a set of ids ---- */

#define NO_PID 0
#define GONE UINT32_MAX

struct pid_set {
  uint32_t *slots; /* NO_PID: free; GONE: was in use */
  size_t mask, used;
};

static void
set_init (struct pid_set *set, size_t expected)
{
  size_t size = 1024;

  while (size < expected * 3)
    size *= 2;
  *set = (struct pid_set){ .slots = memory_new (size, sizeof *set->slots), .mask = size - 1 };
}

static uint32_t *
set_slot (const struct pid_set *set, uint32_t pid)
{
  size_t at = (pid * 2654435761u) >> 7 & set->mask;

  while (set->slots[at] != pid && set->slots[at] != NO_PID)
    at = (at + 1) & set->mask;
  return &set->slots[at];
}

static bool
set_has (const struct pid_set *set, uint32_t pid)
{
  return *set_slot (set, pid) == pid;
}

static void
set_add (struct pid_set *set, uint32_t pid)
{
  uint32_t *slot = set_slot (set, pid);

  if (*slot == pid)
    return;
  *slot = pid;
  if (++set->used * 2 <= set->mask)
    return;
  struct pid_set old = *set;
  set_init (set, old.used);
  for (size_t i = 0; i <= old.mask; i++)
    if (old.slots[i] != NO_PID && old.slots[i] != GONE) {
      *set_slot (set, old.slots[i]) = old.slots[i];
      set->used++;
    }
  free (old.slots);
}

static void
set_remove (struct pid_set *set, uint32_t pid)
{
  uint32_t *slot = set_slot (set, pid);

  if (*slot == pid)
    *slot = GONE;
}

/* ---- ---- */

struct job_pids {
  char *root;
  bool follows;     /* the last id of /proc/loadavg is one of /proc's */
  uint32_t pid_max; /* all ids are lower */
  uint32_t last;    /* the last id given, at the last scan */
  uint64_t forks;   /* then */
  struct reader loadavg, stat;
  struct buffer text;
  struct pid_set known; /* those checked */

  DIR *folder;         /* /proc; NULL: no sweep is under way */
  struct pid_set seen; /* by the sweep, or checked meanwhile: becomes `known` at its end */
  uint32_t from, span; /* known ids that may be reused and are checked again: `span` of them after `from` */
  bool again;          /* another sweep follows, since this one has passed ids that became unsure */
  int64_t swept_ns;    /* when the last one began */
  bool swept;          /* at least once */
};

static bool
last_pid_read (struct job_pids *pids, uint32_t *last)
{
  const char *blank;

  if (reader_read (&pids->loadavg, &pids->text) < 0)
    return false;
  blank = strrchr (pids->text.data, ' ');
  *last = blank ? (uint32_t) strtoul (blank, NULL, 10) : 0;
  return *last != 0 && *last < pids->pid_max;
}

static bool
forks_read (struct job_pids *pids, uint64_t *forks)
{
  static const char key[] = "\nprocesses ";
  const char *at;

  if (pids->pid_max > ROUND_MAX || reader_read (&pids->stat, &pids->text) < 0)
    return false;
  at = strstr (pids->text.data, key);
  *forks = at ? strtoull (at + sizeof key - 1, NULL, 10) : 0;
  return at != NULL;
}

static void
pid_max_read (struct job_pids *pids)
{
  uint64_t value;

  if (!fact_uint (&value, pids->root, "/proc/sys/kernel/pid_max") || value < 2 || value > 1 << 30)
    value = 4194304;
  pids->pid_max = (uint32_t) value;
}

struct job_pids *
job_pids_create (const char *root, bool own)
{
  struct job_pids *pids = memory_new (1, sizeof *pids);

  pids->root = memory_string (root);
  reader_init (&pids->loadavg, root, "/proc/loadavg");
  reader_init (&pids->stat, root, "/proc/stat");
  set_init (&pids->known, 0);
  pid_max_read (pids);
  pids->follows = own && last_pid_read (pids, &pids->last);
  return pids;
}

void
job_pids_destroy (struct job_pids *pids)
{
  if (!pids)
    return;
  reader_free (&pids->loadavg);
  reader_free (&pids->stat);
  buffer_free (&pids->text);
  free (pids->known.slots);
  free (pids->seen.slots);
  if (pids->folder)
    closedir (pids->folder);
  free (pids->root);
  free (pids);
}

void
job_pids_forget (struct job_pids *pids, pid_t pid)
{
  set_remove (&pids->known, (uint32_t) pid);
  if (pids->folder)
    set_remove (&pids->seen, (uint32_t) pid);
}

/* ---- a sweep: all of /proc ---- */

static void
sweep_begin (struct job_pids *pids, int64_t now_ns)
{
  char path[4096];

  snprintf (path, sizeof path, "%s/proc", pids->root);
  pids->folder = opendir (path);
  if (!pids->folder)
    return;
  set_init (&pids->seen, pids->known.used);
  pids->swept_ns = now_ns;
  pids->swept = true;
  pids->again = false;
  pid_max_read (pids);
}

static void
sweep_end (struct job_pids *pids)
{
  closedir (pids->folder);
  pids->folder = NULL;
  free (pids->known.slots);
  pids->known = pids->seen;
  pids->seen = (struct pid_set){ 0 };
  if (!pids->again)
    pids->span = 0;
}

static bool
is_unsure (const struct job_pids *pids, uint32_t pid)
{
  uint32_t after = pid > pids->from ? pid - pids->from : pid + pids->pid_max - pids->from;

  return pids->span != 0 && after <= pids->span;
}

static void
sweep_on (struct job_pids *pids, size_t entries, job_pids_fn *check, void *context)
{
  struct dirent *entry;

  for (size_t i = 0; i < entries; i++) {
    uint32_t pid;
    bool known;
    char *end;

    entry = readdir (pids->folder);
    if (!entry) {
      sweep_end (pids);
      return;
    }
    pid = (uint32_t) strtoul (entry->d_name, &end, 10);
    if (*end || pid == 0 || set_has (&pids->seen, pid))
      continue;
    known = set_has (&pids->known, pid) && !is_unsure (pids, pid);
    set_add (&pids->seen, pid);
    if (!known)
      check (context, (pid_t) pid);
  }
}

/* ---- ids given since the last scan ---- */

static void
make_unsure (struct job_pids *pids, uint32_t from, uint32_t span)
{
  if (pids->span == 0) {
    pids->from = from;
    pids->span = span;
  } else
    pids->span = span < pids->pid_max - pids->span ? pids->span + span : pids->pid_max; /* they follow each other */
}

static void
try_new (struct job_pids *pids, uint32_t now, job_pids_fn *check, void *context)
{
  uint64_t forks = pids->forks;
  bool counted = forks_read (pids, &forks);
  uint32_t span = now >= pids->last ? now - pids->last : now + pids->pid_max - pids->last;
  uint32_t from = pids->last;

  /* Ids in use are left out, so half a round of forks may have been a full one. */
  if (counted && pids->forks != 0 && forks - pids->forks > pids->pid_max / 2)
    span = pids->pid_max;
  pids->forks = forks;
  pids->last = now;
  if (span > TRIED_MAX || pids->span != 0)
    make_unsure (pids, from, span);
  if (span > TRIED_MAX) {
    pids->again = true;
    return;
  }
  for (uint32_t i = 1; i <= span; i++) {
    uint32_t pid = from + i < pids->pid_max ? from + i : from + i - pids->pid_max;

    if (pid == 0 || !check (context, (pid_t) pid))
      continue;
    set_add (&pids->known, pid);
    if (pids->folder)
      set_add (&pids->seen, pid);
  }
}

void
job_pids_find (struct job_pids *pids, int64_t now_ns, job_pids_fn *check, void *context)
{
  bool first = !pids->swept, whole = first || !pids->follows;
  uint32_t now;

  if (pids->follows && last_pid_read (pids, &now)) {
    if (first)
      pids->last = now;
    try_new (pids, now, check, context);
  }
  if (!pids->folder && (whole || pids->again || now_ns - pids->swept_ns >= SWEEP_PERIOD))
    sweep_begin (pids, now_ns);
  if (pids->folder)
    sweep_on (pids, whole ? SIZE_MAX : SWEEP_ENTRIES, check, context);
}
