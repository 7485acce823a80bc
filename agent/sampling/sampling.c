/* When the groups are sampled, and their tables; see sampling.h. */
#include "agent/sampling/sampling.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sampling/bounds.h"
#include "agent/sampling/worker.h"
#include "synop/clock.h"
#include "synop/log.h"
#include "synop/memory.h"

/* How long a sample waits for the samplers in workers: a quarter of the group's period, and never more than this.
 * They run beside the ordinary ones, and one that misses it is not waited for again until it has finished
 * (worker.h), so a file server that dies delays one frame by a tenth of a second at most, and none after that. */
#define WORKER_WAIT_MAX (100 * NS_PER_MS)

struct slot {
  const struct sampler *sampler;
  void *state;
  struct worker *worker; /* NULL: sampled in place; else it owns `state` */
  struct table table;    /* the publisher may swap it with another one of the group */
  struct bounds *bounds;
  int64_t *spent_ns; /* in the context; NULL: none */
  int64_t period_ns, due_ns;
  bool due;          /* in the sample that is being taken */
  bool asked;        /* GROUP_ONCE: to be sampled */
  bool sampled;      /* at least once */
  bool awaited;      /* in a worker: requested, no result yet */
  bool waits;        /* GROUP_ONCE in a worker: to be begun as soon as possible */
  bool worked;       /* at least once */
  bool there;        /* it has had a value or an error */
  bool logged;       /* the failure is logged */
  unsigned failures; /* in a row */
};

/* The worker of a sampler that was closed while it hung. */
struct stuck {
  const struct sampler *sampler;
  struct worker *worker;
};

struct sampling {
  struct sampling_clock clock;
  struct slot *slots;
  const struct group **groups;
  size_t count;
  struct table **due_tables; /* of the last sample */
  size_t *due_slots;
  struct stuck *stuck;
  size_t stuck_count;
  bool hurried;                                             /* the thread has a real-time priority */
  char logged_error[sizeof ((struct table *) NULL)->error]; /* last error logged in this sample */
};

static int64_t
floor_to_multiple (int64_t value, int64_t period_ns)
{
  int64_t rest = value % period_ns;

  return value - rest - (rest < 0 ? period_ns : 0);
}

int64_t
sampling_next_instant (const struct sampling_clock *clock, int64_t after_ns, int64_t period_ns)
{
  int64_t since = after_ns - clock->here_ns;
  int64_t there = clock->there_ns + since + llround ((double) since * clock->drift);
  int64_t multiple = floor_to_multiple (there, period_ns);
  int64_t instant;

  do { /* at most twice: the conversion there and back may round */
    multiple += period_ns;
    int64_t ahead = multiple - clock->there_ns;

    instant = clock->here_ns + ahead - llround ((double) ahead * (clock->drift / (1 + clock->drift)));
  } while (instant <= after_ns);
  return instant;
}

static bool
is_once (const struct slot *slot)
{
  return slot->sampler->group->flags & GROUP_ONCE;
}

static void
slot_open (struct slot *slot, const struct sampler *sampler, int64_t period_ns, const struct sampler_context *context)
{
  slot->sampler = sampler;
  slot->state = sampler->open (context);
  if (sampler->may_block)
    slot->worker = worker_create (sampler, slot->state);
  table_init (&slot->table, sampler->group);
  slot->bounds = bounds_create (sampler->group);
  slot->period_ns = period_ns;
  slot->due_ns = INT64_MAX;
  slot->asked = is_once (slot);
}

void
sampling_open (struct sampling *sampling, const struct sampler *const *list, const int64_t *periods_ns, size_t count,
               const struct sampler_context *context)
{
  sampling->slots = memory_new (count, sizeof *sampling->slots);
  sampling->groups = memory_new (count, sizeof *sampling->groups);
  sampling->due_tables = memory_new (count, sizeof *sampling->due_tables);
  sampling->due_slots = memory_new (count, sizeof *sampling->due_slots);
  for (size_t i = 0; i < count; i++)
    if (periods_ns[i] != 0) {
      slot_open (&sampling->slots[sampling->count], list[i], periods_ns[i], context);
      sampling->slots[sampling->count].spent_ns = context->spent_ns ? &context->spent_ns[i] : NULL;
      sampling->groups[sampling->count++] = list[i]->group;
    }
}

struct sampling *
sampling_create (const struct sampler *const *list, const int64_t *periods_ns, size_t count,
                 const struct sampler_context *context)
{
  struct sampling *sampling = memory_new (1, sizeof *sampling);

  sampling_open (sampling, list, periods_ns, count, context);
  return sampling;
}

void
sampling_close (struct sampling *sampling)
{
  for (size_t i = 0; i < sampling->count; i++) {
    struct slot *slot = &sampling->slots[i];

    if (!slot->worker)
      slot->sampler->close (slot->state);
    else if (worker_busy (slot->worker)) {
      sampling->stuck = memory_resize (sampling->stuck, sampling->stuck_count + 1, sizeof *sampling->stuck);
      sampling->stuck[sampling->stuck_count++] = (struct stuck){ slot->sampler, slot->worker };
    } else
      worker_destroy (slot->worker);
    table_free (&slot->table);
    bounds_destroy (slot->bounds);
  }
  sampling->count = 0;
  free (sampling->slots);
  free (sampling->groups);
  free (sampling->due_tables);
  free (sampling->due_slots);
}

void
sampling_destroy (struct sampling *sampling)
{
  if (!sampling)
    return;
  sampling_close (sampling);
  for (size_t i = 0; i < sampling->stuck_count; i++)
    worker_destroy (sampling->stuck[i].worker);
  free (sampling->stuck);
  free (sampling);
}

const struct group *const *
sampling_groups (const struct sampling *sampling, size_t *count)
{
  *count = sampling->count;
  return sampling->groups;
}

int64_t
sampling_shortest_period (const struct sampling *sampling)
{
  int64_t shortest = INT64_MAX;

  for (size_t i = 0; i < sampling->count; i++)
    if (!is_once (&sampling->slots[i]) && sampling->slots[i].period_ns < shortest)
      shortest = sampling->slots[i].period_ns;
  return shortest;
}

void
sampling_hurry (struct sampling *sampling)
{
  struct sched_param parameter = { .sched_priority = sched_get_priority_min (SCHED_FIFO) };

  sampling->hurried = sched_setscheduler (0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameter) == 0;
  if (!sampling->hurried)
    log_info ("samples are taken at the ordinary priority: %s", strerror (errno));
}

void
sampling_calm (struct sampling *sampling)
{
  struct sched_param ordinary = { .sched_priority = 0 };

  if (sampling->hurried) /* the flag stays: with RLIMIT_RTPRIO alone a thread may not clear it */
    sched_setscheduler (0, SCHED_OTHER | SCHED_RESET_ON_FORK, &ordinary);
  sampling->hurried = false;
}

void
sampling_start (struct sampling *sampling, int64_t instant_ns)
{
  for (size_t i = 0; i < sampling->count; i++)
    if (!is_once (&sampling->slots[i]))
      sampling->slots[i].due_ns = instant_ns;
}

void
sampling_ask_facts (struct sampling *sampling)
{
  for (size_t i = 0; i < sampling->count; i++)
    sampling->slots[i].asked = is_once (&sampling->slots[i]);
}

int64_t
sampling_next_due (const struct sampling *sampling)
{
  int64_t next = INT64_MAX;

  for (size_t i = 0; i < sampling->count; i++)
    if (sampling->slots[i].due_ns < next)
      next = sampling->slots[i].due_ns;
  return next;
}

/* Logs a failure that lasts, and its end: one late sample on a busy machine is not worth a line. A failure from the
 * start is how the machine is (no such hardware): it is in the report, and in the log at level debug. Groups that
 * share a source fail with the same error: the first is logged. */
static void
slot_log (struct sampling *sampling, struct slot *slot)
{
  const char *name = slot->sampler->group->name;

  if (!slot->table.error[0]) {
    if (slot->logged)
      log_info ("group %s: fine again", name);
    slot->logged = false;
    slot->worked = true;
    slot->failures = 0;
  } else if (++slot->failures == 2) {
    slot->logged = slot->worked && strcmp (sampling->logged_error, slot->table.error) != 0;
    if (slot->logged)
      log_warning ("group %s: %s", name, slot->table.error);
    else
      log_debug ("group %s: %s", name, slot->table.error);
    if (slot->logged)
      strcpy (sampling->logged_error, slot->table.error);
  }
}

/* Begins a sample, unless the same sampler still hangs in an earlier worker. */
static void
slot_begin (struct sampling *sampling, struct slot *slot)
{
  for (size_t i = 0; i < sampling->stuck_count; i++) {
    struct stuck *stuck = &sampling->stuck[i];

    if (stuck->sampler != slot->sampler)
      continue;
    if (worker_busy (stuck->worker)) {
      slot->waits = is_once (slot);
      return;
    }
    worker_destroy (stuck->worker);
    *stuck = sampling->stuck[--sampling->stuck_count];
    break;
  }
  slot->waits = false;
  worker_begin (slot->worker);
}

/* What comes late is "timed out" first, and rides with the first sample that finds it complete. */
static void
slot_collect (struct slot *slot, int64_t now_ns)
{
  int64_t wait_ns = slot->period_ns / 4 < WORKER_WAIT_MAX ? slot->period_ns / 4 : WORKER_WAIT_MAX;
  bool there = worker_collect (slot->worker, &slot->table, slot->due ? now_ns + wait_ns : now_ns);

  slot->due |= there;
  slot->awaited = !there;
}

static void
slot_note (struct slot *slot)
{
  slot->there |= table_has_values (&slot->table) || slot->table.error[0];
  if (slot->spent_ns && (slot->there || !slot->sampler->optional))
    *slot->spent_ns = slot->table.took_ns;
}

static void
slot_sample (struct slot *slot, int64_t now_ns)
{
  int64_t began_ns = clock_monotonic ();

  table_begin (&slot->table);
  slot->table.monotonic_ns = now_ns;
  if (slot->sampler->sample (slot->state, &slot->table) < 0 && !slot->table.error[0])
    snprintf (slot->table.error, sizeof slot->table.error, "cannot be read");
  slot->table.took_ns = clock_monotonic () - began_ns;
  slot_note (slot);
}

/* A worker's late result was read since the worker began; others since this sample began. */
static void
slot_check (struct slot *slot, int64_t began_ns, int64_t now_ns)
{
  if (slot->worker && slot->table.monotonic_ns < began_ns)
    began_ns = slot->table.monotonic_ns;
  bounds_check (slot->bounds, &slot->table, began_ns, now_ns);
}

/* The next instant is at least half a period ahead: after a late wake, after a start between two multiples, or when
 * the mapping to the other clock has moved, two samples close together would be of no use. */
static void
slot_plan (struct sampling *sampling, struct slot *slot, int64_t now_ns)
{
  if (!is_once (slot))
    slot->due_ns = sampling_next_instant (&sampling->clock, now_ns + slot->period_ns / 2 - 1, slot->period_ns);
}

/* The first sample has all groups, those of longer periods too. */
void
sampling_set_clock (struct sampling *sampling, const struct sampling_clock *clock)
{
  int64_t shortest_ns = sampling_shortest_period (sampling);
  int64_t earliest_ns = sampling_next_due (sampling) - shortest_ns / 2;

  sampling->clock = *clock;
  for (size_t i = 0; i < sampling->count; i++) {
    struct slot *slot = &sampling->slots[i];
    int64_t period_ns = slot->sampled ? slot->period_ns : shortest_ns; /* the first sample has all */
    int64_t after_ns = slot->due_ns - period_ns / 2;

    if (slot->due_ns == INT64_MAX)
      continue;
    /* The instant nearest to the planned one: a mapping that became a little better moves it by microseconds, and
     * must not skip it, even if the instant has just passed. Of a long period the nearest may be seconds ago, where
     * nothing else is sampled: the next one then. */
    slot->due_ns = sampling_next_instant (clock, after_ns > earliest_ns ? after_ns : earliest_ns, period_ns);
  }
}

void
sampling_run (struct sampling *sampling, int64_t now_ns, struct sample *sample)
{
  int64_t began_ns = clock_monotonic ();

  *sample = (struct sample){ .monotonic_ns = now_ns,
                             .wall_ns = now_ns + clock_wall_ahead (),
                             .tables = sampling->due_tables,
                             .slots = sampling->due_slots };
  sampling->logged_error[0] = '\0';
  for (size_t i = 0; i < sampling->count; i++) {
    struct slot *slot = &sampling->slots[i];

    slot->due = slot->due_ns <= now_ns || slot->asked;
    slot->asked = false;
    if (slot->worker && (slot->due || slot->waits))
      slot_begin (sampling, slot);
  }
  for (size_t i = 0; i < sampling->count; i++)
    if (sampling->slots[i].due && !sampling->slots[i].worker) {
      slot_sample (&sampling->slots[i], now_ns);
      if (sampling->hurried)
        sched_yield ();
    }
  for (size_t i = 0; i < sampling->count; i++) {
    struct slot *slot = &sampling->slots[i];

    if (slot->worker && (slot->due || slot->awaited))
      slot_collect (slot, now_ns);
    if (!slot->due)
      continue;
    slot->sampled = true;
    slot_log (sampling, slot);
    slot_check (slot, now_ns, now_ns + (clock_monotonic () - began_ns));
    slot->table.monotonic_ns = now_ns;
    slot->table.period_ns = slot->period_ns;
    slot_plan (sampling, slot, now_ns);
    slot_note (slot);
    if (slot->sampler->optional && !slot->there)
      continue;
    sampling->due_tables[sample->count] = &slot->table;
    sampling->due_slots[sample->count++] = i;
  }
}

void
sampling_skip (struct sampling *sampling, int64_t now_ns)
{
  for (size_t i = 0; i < sampling->count; i++)
    if (sampling->slots[i].due_ns <= now_ns)
      slot_plan (sampling, &sampling->slots[i], now_ns);
}
