/* Fuzzes what reads the history's numbers without its frames: blobs of minutes and hours, which may be anything; and a good
 * chunk of which bytes are changed, folded into minutes, and read as one metric's samples. The first byte says which. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "aggregator/history/history_record.h"
#include "aggregator/history/history_samples.h"
#include "aggregator/history/tier_fold.h"
#include "aggregator/history/tier_format.h"
#include "aggregator/history/tier_grid.h"
#include "synop/clock.h"
#include "synop/frame.h"
#include "synop/hash.h"

int LLVMFuzzerInitialize (int *argc, char ***argv);
int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define FRAMES 20
#define TIME (INT64_C (1700000000) * NS_PER_S)

static const struct metric metrics[] = {
  { "level", GAUGE, UNIT_COUNT, FOLD_SUM, 0, .help = "Level." },
  { "bytes", COUNTER, UNIT_BYTES, FOLD_SUM, 0, .help = "Bytes." },
  { "counts", GAUGE, UNIT_COUNT, FOLD_MAX, METRIC_COUNTS, .help = "Whether the row counts." },
  { "used", COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_SHARE, .help = "Used." },
  { "load", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .help = "Load." },
};
static const struct group group = { "made", "device", "devices", "sum", "", 0, "A group.", GROUP_METRICS (metrics) };
static const struct group *const groups[] = { &group };

static struct schema *schema;
static struct buffer good; /* a chunk, inflated */
static struct chunk_row row = { .id = 1, .node = "n1", .session = 5, .first = 1, .last = FRAMES };
static struct history_file *file;
static struct tier_reader *reader;
static struct tier_writer *writer;

/* ---- what is good ---- */

static void
fill_table (struct table *table, uint64_t at)
{
  table_init (table, &group);
  table_add_row (table, "d0", 2);
  table_add_row (table, at % 7 ? "d1" : "other", at % 7 ? 2 : 5);
  for (size_t i = 0; i < 2; i++) {
    table_set_real (table, i, 0, 0.5 * (double) at);
    table_set_uint (table, i, 1, at * at * (i + 1));
    table_set_uint (table, i, 2, at % 3);
    table_set_uint (table, i, 3, at * NS_PER_S / 2);
  }
  table_set_real (table, TABLE_NODE, 4, (double) (at % 5));
}

static void
add_frame (struct chunk *chunk, uint64_t at)
{
  struct frame_header header = { .node = "n1",
                                 .session = row.session,
                                 .sequence = at,
                                 .monotonic_ns = (int64_t) at * 5 * NS_PER_S,
                                 .wall_ns = TIME + (int64_t) at * 5 * NS_PER_S };
  struct table now, before;
  const struct table *tables[] = { &now };
  struct report_group pair = { &now, at > 1 ? &before : NULL };
  struct cluster_frame frame = { .header = &header, .time_ns = header.wall_ns, .schema = schema, .groups = &pair };
  struct buffer record = { 0 }, bytes = { 0 };

  memcpy (header.schema, schema->hash, SCHEMA_HASH_SIZE);
  fill_table (&now, at);
  fill_table (&before, at - 1);
  now.sequence = at;
  before.sequence = at - 1;
  frame_write (&bytes, &header, schema, tables, 1);
  frame_record_write (&record, (int64_t) at, &frame);
  chunk_add (chunk, record.data, record.length);
  chunk_add (chunk, bytes.data, bytes.length);
  table_free (&now);
  table_free (&before);
  buffer_free (&record);
  buffer_free (&bytes);
}

static void
store (const struct buffer *packed)
{
  const char *folder = getenv ("TMPDIR");
  char path[512], name[600];
  struct error error;
  struct history_store *history;

  snprintf (path, sizeof path, "%s/fuzz-tiers-%d.db", folder ? folder : "/tmp", (int) getpid ());
  history = history_store_open (path, &error);
  if (!history || history_store_begin (history, &error) < 0 ||
      history_store_chunk (history, &row, schema->hash, &schema->encoded, packed, &error) != 0 ||
      history_store_end (history, &error) < 0)
    abort ();
  history_store_close (history);
  file = history_file_open (path, &error);
  if (!file || !history_file_schema (file, schema->hash, &error))
    abort ();
  for (size_t i = 0; i < 4; i++) {
    static const char *const ends[] = { "", "-wal", "-shm", "-lock" };
    snprintf (name, sizeof name, "%s%s", path, ends[i]);
    unlink (name);
  }
}

/* ---- blobs ---- */

struct counted {
  uint64_t points, count;
  struct tier_grid *grid; /* NULL: none */
};

static void
take_series (void *context, const struct tier_series *series)
{
  struct counted *counted = context;

  if (series->label && memchr (series->label, 0, series->length) == series->label + series->length)
    abort (); /* reads all of it */
  for (size_t i = 0; i < series->count; i++) {
    if (series->times[i] >= TIER_TIMES_MAX || series->cells[i].count == 0)
      abort ();
    counted->count += series->cells[i].count;
    counted->points++;
  }
  if (counted->grid)
    tier_grid_add (counted->grid, 1, series->node, series);
}

static void
put_sum (struct buffer *blob, size_t begin, size_t place)
{
  const uint8_t *bytes = (const uint8_t *) blob->data;
  uint32_t sum = (uint32_t) hash_add (hash_add (HASH_START, bytes + begin, place - begin), bytes + place + 4,
                                      blob->length - place - 4);

  for (size_t i = 0; i < 4; i++)
    blob->data[place + i] = (char) (sum >> 8 * i);
}

/* A blob of the first format whose payload is that, or one with that as its only segment, behind whose head it lies. */
static void
make_blob (struct buffer *blob, bool first, const uint8_t *data, size_t size)
{
  struct buffer directory = { 0 };

  if (first) {
    buffer_add (blob, (const char[TIER_HEAD_FIRST]){ TIER_FORMAT_FIRST, TIER_PLAIN }, TIER_HEAD_FIRST);
    buffer_add (blob, data, size);
    put_sum (blob, 0, 2);
    return;
  }
  varint_write (&directory, 1);
  varint_write (&directory, TIER_SEGMENT_HEAD + size);
  varint_write (&directory, 0);
  varint_write (&directory, UINT32_MAX);
  buffer_add (blob, (const char[TIER_HEAD]){ TIER_FORMAT, TIER_PLAIN, 0, 0, 0, 0, (char) directory.length }, TIER_HEAD);
  buffer_add (blob, directory.data, directory.length);
  put_sum (blob, 0, 2);
  buffer_add (blob, (const char[TIER_SEGMENT_HEAD]){ TIER_PLAIN }, TIER_SEGMENT_HEAD);
  buffer_add (blob, data, size);
  put_sum (blob, TIER_HEAD + directory.length, TIER_HEAD + directory.length + 1);
  buffer_free (&directory);
}

/* Whatever can be read can be written. */
static void
read_blob (bool first, const uint8_t *data, size_t size)
{
  struct counted counted = { .grid = tier_grid_create (60) }, again = { 0 };
  struct buffer blob = { 0 }, written = { 0 };

  make_blob (&blob, first, data, size);
  tier_reader_read (reader, data, size, 0, UINT32_MAX, &again, take_series, NULL); /* almost never past the sum */
  again = (struct counted){ 0 };
  if (tier_reader_read (reader, blob.data, blob.length, 0, UINT32_MAX, &counted, take_series, NULL) == 0 &&
      tier_grid_write_all (counted.grid, 0, writer, &written) &&
      (tier_reader_read (reader, written.data, written.length, 0, UINT32_MAX, &again, take_series, NULL) < 0 ||
       again.points > counted.points))
    abort ();
  tier_grid_destroy (counted.grid);
  buffer_free (&blob);
  buffer_free (&written);
}

/* ---- chunks ---- */

static bool
no_base (void *context, uint64_t sequence, const void **bytes, size_t *length)
{
  (void) context;
  (void) sequence;
  (void) bytes;
  (void) length;
  return false;
}

struct folding {
  struct chunk chunk;
  struct counted counted;
};

static void
fold_parts (void *context, const struct chunk_parts *parts)
{
  struct folding *folding = context;
  struct tier_folded folded = { 0 };
  const struct tier_sink sink = { &folding->counted, TIME / NS_PER_S / HOUR_S * HOUR_S, take_series };

  tier_fold (&folding->chunk, parts, &row, schema, &(struct tier_bases){ NULL, no_base }, &sink, writer, &folded);
  tier_folded_free (&folded);
}

/* Changes of a byte: its place in two bytes, and what it becomes. How many values it has. */
static uint64_t
read_chunk (const uint8_t *data, size_t size, const char *metric)
{
  struct buffer raw = { 0 }, packed = { 0 };
  struct folding folding = { 0 };
  struct samples samples = { 0 };
  struct error error;
  uint64_t values;

  buffer_add (&raw, good.data, good.length);
  for (; size >= 3; data += 3, size -= 3)
    raw.data[(data[0] << 8 | data[1]) % raw.length] = (char) data[2];
  buffer_reserve (&packed, ZSTD_compressBound (raw.length));
  packed.length = ZSTD_compress (packed.data, packed.capacity, raw.data, raw.length, 1);
  if (metric)
    samples_read (&samples, file, &row, packed.data, packed.length, "made", metric, &error);
  else
    chunk_unpack_parts (&folding.chunk, packed.data, packed.length, &(struct chunk_look){ &folding, fold_parts });
  values = metric ? samples.value_count : folding.counted.count;
  samples_free (&samples);
  chunk_free (&folding.chunk);
  buffer_free (&raw);
  buffer_free (&packed);
  return values;
}

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
  struct chunk chunk = { 0 };
  struct buffer packed = { 0 };

  (void) argc;
  (void) argv;
  schema = schema_create (groups, 1);
  for (uint64_t i = 1; i <= FRAMES; i++)
    add_frame (&chunk, i);
  row.first_time = TIME + 5 * NS_PER_S;
  row.last_time = TIME + FRAMES * 5 * NS_PER_S;
  chunk_pack (&chunk, &packed);
  if (chunk_inflate (&good, NULL, packed.data, packed.length, NULL) < 0)
    abort ();
  store (&packed);
  chunk_free (&chunk);
  buffer_free (&packed);
  reader = tier_reader_create ();
  writer = tier_writer_create (1);
  if (read_chunk (NULL, 0, NULL) < 5 * FRAMES || read_chunk (NULL, 0, "level") != 2 * FRAMES)
    abort (); /* what is good can be read */
  return 0;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  if (size == 0)
    return 0;
  if (data[0] % 4 == 0)
    read_blob (data[0] % 8 == 0, data + 1, size - 1);
  else
    read_chunk (data + 1, size - 1, data[0] % 4 == 1 ? NULL : metrics[data[0] / 4 % 5].name);
  return 0;
}
