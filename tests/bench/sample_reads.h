/* Which files a sample reads: pread is interposed (--wrap=pread), and what it delivered can be read again, barely. */
#ifndef SYNOP_SAMPLE_READS_H
#define SYNOP_SAMPLE_READS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "synop/error.h"
#include "synop/memory.h"

static void
fail (const char *what, const struct error *error)
{
  fprintf (stderr, "bench_sample: %s%s%s\n", what, error ? ": " : "", error ? error->text : "");
  exit (1);
}

struct read_call {
  int fd;
  size_t size;
  off_t offset;
};

struct read_list {
  struct read_call *calls;
  size_t count, calls_made, bytes; /* calls_made: with those that found the end of a file */
};

static struct read_list *recorded; /* NULL: not now */
static pthread_mutex_t recorded_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool recording;

ssize_t __real_pread (int fd, void *into, size_t size, off_t offset);
ssize_t __wrap_pread (int fd, void *into, size_t size, off_t offset);

ssize_t
__wrap_pread (int fd, void *into, size_t size, off_t offset)
{
  ssize_t got = __real_pread (fd, into, size, offset);

  if (!atomic_load_explicit (&recording, memory_order_relaxed))
    return got;
  pthread_mutex_lock (&recorded_lock);
  recorded->calls_made++;
  if (got > 0) {
    recorded->calls = memory_resize (recorded->calls, recorded->count + 1, sizeof *recorded->calls);
    recorded->calls[recorded->count++] = (struct read_call){ fd, size, offset };
    recorded->bytes += (size_t) got;
  }
  pthread_mutex_unlock (&recorded_lock);
  return got;
}

static void
record_begin (struct read_list *list)
{
  *list = (struct read_list){ 0 };
  recorded = list;
  atomic_store (&recording, true);
}

/* Processes of jobs may end meanwhile, and files that are looked at now and then are closed: a few may fail. */
static void
read_bare (const struct read_list *list, char *into)
{
  size_t failed = 0;

  for (size_t i = 0; i < list->count; i++)
    failed += __real_pread (list->calls[i].fd, into, list->calls[i].size, list->calls[i].offset) < 0;
  if (failed > list->count / 20 + 1)
    fail ("many files that a sample has read were closed", NULL);
}

/* The buffer that takes any of them. */
static char *
record_end (const struct read_list *list, char *buffer, size_t *size)
{
  atomic_store (&recording, false);
  for (size_t i = 0; i < list->count; i++)
    if (list->calls[i].size > *size)
      *size = list->calls[i].size;
  return memory_resize (buffer, *size ? *size : 1, 1);
}

#endif
