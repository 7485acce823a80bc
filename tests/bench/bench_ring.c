/* What the ring costs the agent, with samples of a machine:
 *
 *   bench_ring cost FILE ROOT SAMPLES      one JSON object on standard output
 *   bench_ring fill FILE SIZE NODE         makes a ring of that size that is full of this machine's frames
 *
 * `cost` takes SAMPLES samples of all groups with the agent's own samplers (ROOT "": the live machine), and adds each
 * frame to a ring in FILE, to one in memory, and to none: a bare memcpy of the same bytes into as much memory, which is
 * walked in the same way. All have been filled before. They are timed in turn, frame by frame, as CPU time of this thread. A pause between samples
 * lets the caches go cold, as they are when an agent wakes once a second. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/groups.h"
#include "agent/sampling/sampling.h"
#include "agent/uplink/ring.h"
#include "synop/clock.h"
#include "synop/frame.h"
#include "synop/json.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "tests/lib/options_for.h"

#define SIZE ((size_t) 32 * 1024 * 1024)
#define AGE (900 * NS_PER_S)
#define PAUSE_US 20000
#define WARM_UP 5

struct work {
  struct agent_options *options;
  struct sampling *sampling;
  struct schema *schema;
  struct sample sample;
  struct frame_header header;
  struct buffer frame;
};

static int64_t
cpu_self (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void
work_open (struct work *work, const char *root, const char *node)
{
  const struct group *const *groups;
  size_t count;

  *work = (struct work){ .header = { .session = 1 } };
  snprintf (work->header.node, sizeof work->header.node, "%s", node);
  work->options = options_for (root, "%s", "");
  work->sampling = sampling_create (samplers, work->options->periods_ns, sampler_count, &work->options->context);
  groups = sampling_groups (work->sampling, &count);
  work->schema = schema_create (groups, count);
  memcpy (work->header.schema, work->schema->hash, SCHEMA_HASH_SIZE);
}

static void
work_close (struct work *work)
{
  sampling_destroy (work->sampling);
  agent_options_destroy (work->options);
  schema_destroy (work->schema);
  buffer_free (&work->frame);
}

static void
sample_once (struct work *work)
{
  int64_t now_ns = clock_monotonic ();

  sampling_start (work->sampling, now_ns); /* all are due */
  sampling_run (work->sampling, now_ns, &work->sample);
}

static void
encode (struct work *work)
{
  work->header.sequence++;
  work->header.monotonic_ns = work->sample.monotonic_ns;
  work->header.wall_ns = work->sample.wall_ns;
  buffer_clear (&work->frame);
  frame_write (&work->frame, &work->header, work->schema, (const struct table *const *) work->sample.tables,
               work->sample.count);
}

static struct ring *
open_ring (const char *path, size_t size, const char *node, bool file)
{
  const struct ring_options options = { path, size, AGE, node };
  struct ring *ring = ring_create (&options, clock_monotonic (), clock_wall ());

  if (ring_is_file (ring) == file)
    return ring;
  fprintf (stderr, "bench_ring: %s\n", ring_trouble (ring));
  exit (1);
}

static void
add (struct ring *ring, const struct work *work, int64_t now_ns)
{
  const struct ring_frame frame = { work->header.session, work->header.sequence, work->frame.data, work->frame.length };

  ring_add (ring, &frame, now_ns, work->header.wall_ns);
}

/* ---- fill ---- */

/* The same sample with other numbers, until the first of them is gone. */
static void
fill_ring (struct ring *ring, struct work *work)
{
  uint64_t first = work->header.sequence + 1;
  struct ring_frame frame;

  for (int i = 0; i < 2; i++)
    sample_once (work); /* the second has no facts */
  do {
    encode (work);
    add (ring, work, clock_monotonic ());
  } while (ring_next (ring, 1, first, first, SIZE_MAX, &frame));
}

static void
fill (const char *path, size_t size, const char *node)
{
  struct ring *ring = open_ring (path, size, node, true);
  struct work work;

  work_open (&work, "", node);
  fill_ring (ring, &work);
  work_close (&work);
  ring_destroy (ring);
}

/* ---- cost ---- */

static void
cost (const char *path, const char *root, size_t samples)
{
  struct ring *file = open_ring (path, SIZE, "bench", true), *memory = open_ring ("", SIZE, "bench", false);
  char *bare = memory_new (1, SIZE);
  int64_t sample_ns = 0, file_ns = 0, memory_ns = 0, bare_ns = 0;
  size_t bytes = 0, at = 0;
  struct json json = { 0 };
  struct work work;

  work_open (&work, root, "bench");
  fill_ring (file, &work);
  fill_ring (memory, &work);
  memset (bare, 1, SIZE);
  for (size_t i = 0; i < samples + WARM_UP; i++) {
    int64_t times[5];

    usleep (PAUSE_US);
    times[0] = cpu_self ();
    sample_once (&work);
    encode (&work);
    times[1] = cpu_self ();
    add (file, &work, clock_monotonic ());
    times[2] = cpu_self ();
    add (memory, &work, clock_monotonic ());
    times[3] = cpu_self ();
    at = at + work.frame.length > SIZE ? 0 : at;
    memcpy (bare + at, work.frame.data, work.frame.length);
    at += work.frame.length;
    times[4] = cpu_self ();
    if (i < WARM_UP)
      continue;
    sample_ns += times[1] - times[0];
    file_ns += times[2] - times[1];
    memory_ns += times[3] - times[2];
    bare_ns += times[4] - times[3];
    bytes += work.frame.length;
  }
  json_object (&json);
  const struct {
    const char *name;
    double value;
  } figures[] = {
    { "sample_us", (double) sample_ns / (double) samples / 1e3 },
    { "file_us", (double) file_ns / (double) samples / 1e3 },
    { "memory_us", (double) memory_ns / (double) samples / 1e3 },
    { "bare_us", (double) bare_ns / (double) samples / 1e3 },
    { "frame_bytes", (double) bytes / (double) samples },
  };
  for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
    json_key (&json, figures[i].name);
    json_real (&json, figures[i].value);
  }
  json_object_end (&json);
  json_newline (&json);
  fwrite (json.out.data, 1, json.out.length, stdout);
  json_free (&json);
  work_close (&work);
  ring_destroy (file);
  ring_destroy (memory);
  free (bare);
}

int
main (int argc, char **argv)
{
  log_set_level (LOG_LEVEL_WARNING);
  if (argc == 5 && strcmp (argv[1], "cost") == 0 && strtoul (argv[4], NULL, 10) > 0)
    cost (argv[2], argv[3], strtoul (argv[4], NULL, 10));
  else if (argc == 5 && strcmp (argv[1], "fill") == 0 && strtoul (argv[3], NULL, 10) > 0)
    fill (argv[2], strtoul (argv[3], NULL, 10), argv[4]);
  else {
    fprintf (stderr,
             "usage: bench_ring cost FILE ROOT SAMPLES | fill FILE SIZE NODE   (ROOT \"\": the live machine)\n");
    return 2;
  }
  return 0;
}
