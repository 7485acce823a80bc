/* Open events and their sums; see counter_set.h.
 *
 * What a read of a batch gives (PERF_FORMAT_GROUP): the number of events, the time that they were enabled, the time that
 * they ran, and a count for each, in the order in which they were opened. */
#include "agent/counters/counter_set.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/source/parse.h"
#include "synop/array.h"
#include "synop/memory.h"

/* Events take turns of some milliseconds: a task that worked for less than some rounds of them may have missed its. */
#define ROUNDS_NS 100000000

struct reader {
  const struct counter_batch *batch;
  uint32_t row;
  bool unscaled;
  bool of_tasks; /* enabled while they work alone */
  uint8_t count;
  uint8_t events[COUNTER_BATCH_MAX];                    /* which of the batch: those that could be opened together */
  int fds[COUNTER_BATCH_MAX];                           /* the first is the leader */
  uint64_t enabled, running, counts[COUNTER_BATCH_MAX]; /* at the last read */
};

struct counter_set {
  const struct counter_kernel *kernel;
  struct counter_budget *budget;
  struct counter_row *rows;
  size_t row_count;
  struct reader *readers;
  size_t count, room, events;
};

struct counter_batch *
counter_plan_batch (struct counter_plan *plan)
{
  struct counter_batch *batch = array_add (plan->batches, plan->count, plan->room);

  *batch = (struct counter_batch){ .count = 0 };
  return batch;
}

struct counter_set *
counter_set_create (const struct counter_kernel *kernel, struct counter_budget *budget, size_t rows)
{
  struct counter_set *set = memory_new (1, sizeof *set);

  set->kernel = kernel;
  set->budget = budget;
  set->rows = memory_new (rows, sizeof *set->rows);
  set->row_count = rows;
  return set;
}

void
counter_set_destroy (struct counter_set *set)
{
  if (!set)
    return;
  counter_set_close (set);
  free (set->rows);
  free (set);
}

size_t
counter_set_events (const struct counter_set *set)
{
  return set->events;
}

struct counter_row *
counter_set_row (const struct counter_set *set, size_t row)
{
  return &set->rows[row];
}

bool
counter_row_value (const struct counter_row *row, size_t column, uint64_t *value)
{
  *value = row->sums[column];
  return (row->open & ~row->broken & ~row->missing) >> column & 1;
}

/* ---- opening ---- */

static int
event_open (struct counter_set *set, const struct counter_event *event, const struct counter_target *target, int leader)
{
  struct perf_event_attr attr = event->attr;
  int fd;

  if (set->budget->used >= set->budget->most)
    return -EMFILE;
  attr.size = sizeof attr;
  attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attr.inherit = target->inherit;
  fd = set->kernel->open (set->kernel->context, &attr, target->pid, target->cpu, leader, target->flags);
  if (fd >= 0) {
    set->budget->used++;
    set->events++;
  }
  return fd;
}

static struct reader *
reader_add (struct counter_set *set, const struct counter_batch *batch, size_t row, const struct counter_target *target)
{
  struct reader *reader = array_add (set->readers, set->count, set->room);

  *reader = (struct reader){
    .batch = batch, .row = (uint32_t) row, .unscaled = batch->cpus[0] && target->cpu < 0, .of_tasks = target->pid >= 0
  };
  return reader;
}

static void
reader_take (struct reader *reader, size_t event, int fd)
{
  reader->events[reader->count] = (uint8_t) event;
  reader->fds[reader->count++] = fd;
}

/* The machine or its kernel does not have the event: that is no fault. */
static bool
is_absent (int result)
{
  return result == -ENOENT || result == -EOPNOTSUPP || result == -EINVAL || result == -ENXIO;
}

static bool
is_for_cpu (const struct counter_batch *batch, int cpu)
{
  return !batch->cpus[0] || cpu < 0 || scan_list_has (scan_over (batch->cpus, strlen (batch->cpus)), (uint64_t) cpu);
}

/* Events that do not fit together on the hardware (one counter is the NMI watchdog's) are opened apart. */
int
counter_set_open (struct counter_set *set, size_t row, const struct counter_batch *batch,
                  const struct counter_target *target)
{
  struct counter_row *sums = &set->rows[row];
  struct reader *reader = NULL;
  int first = 0;

  if (!is_for_cpu (batch, target->cpu))
    return 0;
  for (size_t i = 0; i < batch->count; i++) {
    const struct counter_event *event = &batch->events[i];
    int fd = event_open (set, event, target, reader ? reader->fds[0] : -1);

    if (fd == -EINVAL && reader) {
      fd = event_open (set, event, target, -1);
      reader = fd >= 0 ? NULL : reader;
    }
    if (fd < 0) {
      if (fd != -ESRCH) /* the process has just ended */
        sums->broken |= event->columns;
      first = first || is_absent (fd) ? first : fd;
      continue;
    }
    sums->open |= event->columns;
    reader = reader ? reader : reader_add (set, batch, row, target);
    reader_take (reader, i, fd);
  }
  return first;
}

void
counter_set_join (struct counter_set *set, struct counter_set *other)
{
  for (size_t i = 0; i < other->count; i++)
    *array_add (set->readers, set->count, set->room) = other->readers[i];
  for (size_t i = 0; i < set->row_count; i++) {
    set->rows[i].open |= other->rows[i].open;
    set->rows[i].broken |= other->rows[i].broken;
  }
  set->events += other->events;
  other->events = other->count = 0;
  counter_set_destroy (other);
}

void
counter_set_close (struct counter_set *set)
{
  for (size_t i = 0; i < set->count; i++)
    for (size_t k = set->readers[i].count; k-- > 0;)
      set->kernel->close (set->kernel->context, set->readers[i].fds[k]);
  for (size_t i = 0; i < set->row_count; i++)
    set->rows[i].open = set->rows[i].broken = set->rows[i].missing = 0;
  set->budget->used -= set->events;
  free (set->readers);
  set->readers = NULL;
  set->count = set->room = set->events = 0;
}

/* ---- reading ---- */

static uint32_t
reader_columns (const struct reader *reader)
{
  uint32_t columns = 0;

  for (size_t i = 0; i < reader->count; i++)
    columns |= reader->batch->events[reader->events[i]].columns;
  return columns;
}

static void
event_add (struct counter_row *row, const struct counter_event *event, uint64_t count)
{
  for (uint32_t left = event->columns; left; left &= left - 1)
    row->sums[__builtin_ctz (left)] += count * event->weight;
}

/* When it ran for too short a time the counts stay for the next read, which covers more of it. */
static void
reader_add_counts (struct counter_set *set, struct reader *reader, uint64_t enabled, uint64_t running,
                   const uint64_t counts[])
{
  struct counter_row *row = &set->rows[reader->row];
  uint64_t was_on = enabled - reader->enabled, ran = running - reader->running;
  bool by_chance = reader->of_tasks && ran < was_on && was_on < ROUNDS_NS;

  if (was_on == 0 && ran == 0)
    return;
  if (!reader->unscaled) {
    if (!by_chance)
      row->running = fmin (row->running, (double) ran / (double) was_on);
    if ((double) ran < COUNTER_LEAST * (double) was_on) {
      row->missing |= by_chance ? 0 : reader_columns (reader);
      return;
    }
  }
  for (size_t i = 0; i < reader->count; i++) {
    uint64_t count = counts[i] - reader->counts[i];

    if (ran < was_on && !reader->unscaled)
      count = (uint64_t) ((unsigned __int128) count * was_on / ran);
    event_add (row, &reader->batch->events[reader->events[i]], count);
    reader->counts[i] = counts[i];
  }
  reader->enabled = enabled;
  reader->running = running;
}

int
counter_set_read (struct counter_set *set)
{
  struct {
    uint64_t count, enabled, running, values[COUNTER_BATCH_MAX];
  } read;
  int first = 0;

  for (size_t i = 0; i < set->row_count; i++) {
    set->rows[i].missing = 0;
    set->rows[i].running = (double) NAN;
  }
  for (size_t i = 0; i < set->count; i++) {
    struct reader *reader = &set->readers[i];
    ssize_t got = set->kernel->read (set->kernel->context, reader->fds[0], &read, sizeof read);

    if (got >= 24 && read.count == reader->count) {
      reader_add_counts (set, reader, read.enabled, read.running, read.values);
      continue;
    }
    set->rows[reader->row].missing |= reader_columns (reader);
    first = first ? first : got < 0 ? (int) got : -EIO;
  }
  return first;
}
