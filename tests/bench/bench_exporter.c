/* What a scrape of many nodes costs, without HTTP: what its bytes cost beside a copy of them.
 *
 *   bench_exporter NODES ROUNDS     one JSON object on standard output
 *
 * All nodes have what this machine's samplers find. In each round each node's frame is put, and the scrape of all is written
 * in pieces, as HTTP takes it. The times are CPU time, of the round where it was least. `put_ns`: of a frame; `begin_ns`: until the first
 * piece can be made, all tables read, a sample; `exporter_ns`: that and all pieces, a sample; `copy_ns`: of the same pieces to
 * where they are sent from.
 *
 *   bench_exporter NODES SECONDS beside    one JSON object
 *
 * Frames of one node after the other are put, a thousand a second, in turns of a second while nobody asks and while another
 * thread writes scrapes of all without a pause. The times are how long a put took by the clock, in us: half, 99 and 99.9 %. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/groups.h"
#include "agent/sampling/sampling.h"
#include "aggregator/exporter/exporter.h"
#include "aggregator/exporter/exporter_scrape.h"
#include "synop/clock.h"
#include "synop/data_folder.h"
#include "synop/frame.h"
#include "synop/json.h"
#include "synop/memory.h"
#include "tests/lib/options_for.h"

#define NAMES "node-exporter, dcgm-exporter, synop"
#define PIECE (32 * 1024)

struct bench {
  struct agent_options *options;
  struct sampling *sampling;
  struct schema *schema;
  struct node *nodes;
  size_t count;
  struct exporter *exporter;
  struct buffer frame;
  struct report_group groups[SCHEMA_GROUPS_MAX]; /* as the frame has them */
  struct table tables[SCHEMA_GROUPS_MAX];
  struct frame_header header;
  /* The least of all rounds. */
  int64_t put_ns, begin_ns, exporter_ns, copy_ns;
  uint64_t samples, bytes, most;
};

static void
note (int64_t *least_ns, int64_t ns)
{
  *least_ns = *least_ns == 0 || ns < *least_ns ? ns : *least_ns;
}

static int64_t
cpu (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void
fail (const char *what)
{
  fprintf (stderr, "bench_exporter: %s\n", what);
  exit (1);
}

static struct table *
table_take (void *context, size_t group)
{
  struct bench *bench = context;

  table_begin (&bench->tables[group]);
  bench->groups[group].now = &bench->tables[group];
  return &bench->tables[group];
}

/* One frame with all groups, and its tables as they are read of it. */
static void
frame_make (struct bench *bench)
{
  const struct frame_sink sink = { .context = bench, .take = table_take };
  struct sample sample;
  struct error error = { "" };
  size_t count;
  const struct group *const *groups;

  bench->options = options_for ("", "%s", "");
  bench->sampling = sampling_create (samplers, bench->options->periods_ns, sampler_count, &bench->options->context);
  groups = sampling_groups (bench->sampling, &count);
  bench->schema = schema_create (groups, count);
  for (size_t i = 0; i < count; i++)
    table_init (&bench->tables[i], groups[i]);
  sampling_start (bench->sampling, clock_monotonic ());
  sampling_run (bench->sampling, clock_monotonic (), &sample);
  bench->header = (struct frame_header){ .node = "n", .session = 1, .sequence = 1, .monotonic_ns = 1, .wall_ns = 1 };
  memcpy (bench->header.schema, bench->schema->hash, SCHEMA_HASH_SIZE);
  frame_write (&bench->frame, &bench->header, bench->schema, (const struct table *const *) sample.tables, sample.count);
  if (frame_read_header (bench->frame.data, bench->frame.length, &bench->header, &error) < 0 ||
      frame_read_tables (bench->frame.data, bench->frame.length, &bench->header, bench->schema, &sink, &error) < 0)
    fail (error.text);
}

static void
frame_put (struct bench *bench, size_t node)
{
  struct cluster_frame frame = { .node = &bench->nodes[node],
                                 .header = &bench->header,
                                 .bytes = bench->frame.data,
                                 .length = bench->frame.length,
                                 .time_ns = clock_monotonic (),
                                 .schema = bench->schema,
                                 .groups = bench->groups };

  exporter_put_frame (bench->exporter, &frame);
}

static void
frames_put (struct bench *bench, uint64_t round)
{
  int64_t begin = cpu ();

  bench->header.sequence = round;
  for (size_t i = 0; i < bench->count; i++)
    frame_put (bench, i);
  note (&bench->put_ns, cpu () - begin);
}

static uint64_t
samples_of (const char *text, size_t length)
{
  uint64_t count = 0;

  for (const char *end = text + length, *next; text < end; text = next + 1) {
    next = memchr (text, '\n', (size_t) (end - text));
    count += *text != '#';
  }
  return count;
}

static void
exporter_write (struct bench *bench)
{
  struct exporter_ask ask = { .now_ns = clock_monotonic (), .values = true };
  struct buffer piece = { 0 };
  char *target = memory_new (2, PIECE);
  struct exporter_scrape *scrape;
  int64_t begin = cpu (), copied = 0, counted = 0;
  bool more = true;

  if (exporter_scrape_begin (bench->exporter, &ask, &scrape) != EXPORTER_FOUND)
    fail ("no scrape");
  note (&bench->begin_ns, cpu () - begin);
  bench->samples = bench->bytes = 0;
  while (more) {
    int64_t since;
    buffer_clear (&piece);
    more = exporter_scrape_next (scrape, &piece, PIECE);
    since = cpu ();
    if (piece.length > 2 * (size_t) PIECE)
      fail ("a piece is far too long");
    memcpy (target, piece.data, piece.length);
    __asm__ volatile("" ::"r"(target) : "memory");
    copied += cpu () - since;
    since = cpu ();
    bench->samples += samples_of (piece.data, piece.length);
    bench->bytes += piece.length;
    bench->most = piece.length > bench->most ? piece.length : bench->most;
    counted += cpu () - since;
  }
  exporter_scrape_end (scrape);
  note (&bench->exporter_ns, cpu () - begin - copied - counted);
  note (&bench->copy_ns, copied);
  buffer_free (&piece);
  free (target);
}

/* ---- beside ---- */

struct reader {
  pthread_t thread;
  struct bench *bench;
  atomic_bool end;
};

static void *
pages_read (void *context)
{
  struct reader *reader = context;

  while (!reader->end)
    exporter_write (reader->bench);
  return NULL;
}

static int
compare (const void *one, const void *other)
{
  int64_t a = *(const int64_t *) one, b = *(const int64_t *) other;

  return (a > b) - (a < b);
}

#define PUTS 1000 /* a second */

/* A second of puts; how long each took goes behind those that are there. */
static void
second_put (struct bench *bench, struct buffer *taken)
{
  int64_t due = clock_monotonic ();

  for (size_t i = 0; i < PUTS; i++) {
    struct timespec until = { (due += NS_PER_S / PUTS) / NS_PER_S, due % NS_PER_S };
    int64_t begin, length;
    clock_nanosleep (CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    begin = clock_monotonic ();
    frame_put (bench, i % bench->count);
    length = clock_monotonic () - begin;
    buffer_add (taken, &length, sizeof length);
  }
}

static void
number (struct json *json, const char *name, double value)
{
  json_key (json, name);
  json_real (json, value);
}

static void
report (const struct bench *bench)
{
  struct json json = { 0 };
  double samples = (double) bench->samples;

  json_object (&json);
  number (&json, "samples", samples / (double) bench->count);
  number (&json, "sample_bytes", (double) bench->bytes / samples);
  number (&json, "piece_most", (double) bench->most);
  number (&json, "put_ns", (double) bench->put_ns / (double) bench->count);
  number (&json, "begin_ns", (double) bench->begin_ns / samples);
  number (&json, "exporter_ns", (double) bench->exporter_ns / samples);
  number (&json, "copy_ns", (double) bench->copy_ns / samples);
  json_object_end (&json);
  json_newline (&json);
  fwrite (json.out.data, 1, json.out.length, stdout);
  json_free (&json);
}

static void
quantiles (struct json *json, const char *name, struct buffer *taken)
{
  static const double parts[] = { 0.5, 0.99, 0.999 };
  size_t count = taken->length / sizeof (int64_t);
  const int64_t *times = (const void *) taken->data;

  qsort (taken->data, count, sizeof *times, compare);
  json_key (json, name);
  json_array (json);
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    json_real (json, (double) times[(size_t) ((double) (count - 1) * parts[i])] / 1e3);
  json_array_end (json);
}

static void
beside (struct bench *bench, uint64_t seconds)
{
  struct buffer alone = { 0 }, asked = { 0 };
  struct json json = { 0 };

  for (uint64_t i = 0; i < seconds; i++) {
    struct reader reader = { .bench = bench };
    second_put (bench, &alone);
    pthread_create (&reader.thread, NULL, pages_read, &reader);
    second_put (bench, &asked);
    reader.end = true;
    pthread_join (reader.thread, NULL);
  }
  json_object (&json);
  quantiles (&json, "alone", &alone);
  quantiles (&json, "asked", &asked);
  json_object_end (&json);
  json_newline (&json);
  fwrite (json.out.data, 1, json.out.length, stdout);
  json_free (&json);
  buffer_free (&alone);
  buffer_free (&asked);
}

int
main (int argc, char **argv)
{
  bool is_beside = argc == 4 && strcmp (argv[3], "beside") == 0;
  uint64_t rounds = argc == 3 || is_beside ? strtoull (argv[2], NULL, 10) : 0;
  struct bench bench = { .count = rounds ? strtoul (argv[1], NULL, 10) : 0 };
  struct naming *naming = naming_create ();
  char folder[4096];
  struct error error = { "" };

  if (bench.count == 0 || rounds == 0) {
    fprintf (stderr, "usage: bench_exporter NODES ROUNDS | NODES SECONDS beside\n");
    return 2;
  }
  data_folder ("aggregator", "names", folder, sizeof folder);
  if (naming_load (naming, NAMES, folder, &error) < 0)
    fail (error.text);
  frame_make (&bench);
  bench.exporter = exporter_create (naming, false);
  bench.nodes = memory_new (bench.count, sizeof bench.nodes[0]);
  for (size_t i = 0; i < bench.count; i++)
    snprintf (bench.nodes[i].name, sizeof bench.nodes[i].name, "node%05zu", i);
  for (uint64_t i = 0; i <= (is_beside ? 0 : rounds); i++) { /* the first makes the plan */
    frames_put (&bench, i + 1);
    exporter_write (&bench);
  }
  if (is_beside)
    beside (&bench, rounds);
  else
    report (&bench);
  exporter_destroy (bench.exporter);
  free (bench.nodes);
  buffer_free (&bench.frame);
  for (size_t i = 0; i < bench.schema->group_count; i++)
    table_free (&bench.tables[i]);
  schema_destroy (bench.schema);
  sampling_destroy (bench.sampling);
  agent_options_destroy (bench.options);
  return 0;
}
