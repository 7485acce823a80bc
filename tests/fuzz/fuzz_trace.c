/* Traces of a profiler: any bytes are read or refused with their place; each event that is given is JSON, and stays JSON with
 * the same members when it is moved. */
#include <fcntl.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aggregator/traces/trace_event.h"
#include "aggregator/traces/trace_file.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static int
take_event (void *context, const char *text, size_t length)
{
  const struct trace_move move = { .shift_ns = 12345, .rank = 7, .process = "70001" };
  struct trace_event event;
  struct buffer moved = { 0 };
  json_t *before = json_loadb (text, length, JSON_ALLOW_NUL, NULL), *after;

  trace_event_read (&event, text, length);
  trace_event_write (&moved, &event, text, length, &move);
  after = json_loadb (moved.data, moved.length, JSON_ALLOW_NUL, NULL);
  /* libjansson refuses what is no UTF-8, or a number that is too large. */
  if (before && (!after || json_object_size (before) != json_object_size (after)))
    abort ();
  json_decref (before);
  json_decref (after);
  buffer_free (&moved);
  return ++*(size_t *) context < 1000 ? 0 : -1;
}

static int
take_member (void *context, const char *name, const char *text, size_t length)
{
  (void) context;
  if (strlen (name) >= 256 || length == 0 || !text[0])
    abort ();
  return 0;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  size_t events = 0;
  const struct trace_taker taker = { &events, take_event, take_member };
  struct error error = { "" };
  int fd = memfd_create ("trace", MFD_CLOEXEC);
  char path[64];

  snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
  if (fd < 0 || write (fd, data, size) != (ssize_t) size)
    abort ();
  if (trace_file_read (path, &taker, &error) < 0 && !error.text[0])
    abort ();
  close (fd);
  return 0;
}
