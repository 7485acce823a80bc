/* Fuzzes the reader of frames, and what follows it: the report, and the writer.
 *
 * Input: two bytes with the length of a first frame, that frame, and a second one, so that the report has something to
 * compare with. What was read must be written and read again alike, and a frame is as good with the first one's tables at
 * hand as without. The schema is this file's own. Links libcommon. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "synop/frame.h"
#include "synop/report.h"

#define GROUPS 3

static const struct metric cpu_metrics[] = {
  { "user", COUNTER, UNIT_PERCENT, FOLD_MEAN, METRIC_SHARE, 1, 100, .help = "" },
  { "switches", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = "" },
  { "frequency", GAUGE, UNIT_HERTZ, FOLD_MAX, 0, 1000, 1, .help = "" },
};
static const struct metric net_metrics[] = {
  { "bytes", COUNTER, UNIT_BYTES, FOLD_SUM, METRIC_WRAPS32, 4, 0, .help = "" },
  { "level", GAUGE, UNIT_COUNT, FOLD_MIN, 0, 1, 1000, .help = "" },
  { "state", TEXT, .help = "" },
};
static const struct metric load_metrics[] = {
  { "load", GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = "" },
  { "kernel", TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE, .help = "" },
};
static const struct group cpu = {
  "cpu", "system_data", "CPU", "usage_data", "average_usage", 0, "", GROUP_METRICS (cpu_metrics)
};
static const struct group net = {
  "net", "system_data", "device", "devices", "total", 0, "", GROUP_METRICS (net_metrics)
};
static const struct group load = { "load", "", "", "", "", GROUP_ONCE, "", GROUP_METRICS (load_metrics) };
static const struct group *const groups[GROUPS] = { &cpu, &net, &load };

/* The tables of one frame. */
struct intake {
  struct table tables[GROUPS];
  const struct table *order[GROUPS];
  size_t count;
  const struct intake *before; /* NULL: none */
};

static struct table *
intake_take (void *context, size_t group)
{
  struct intake *intake = context;

  return &intake->tables[group];
}

static void
intake_done (void *context, size_t group, struct table *table)
{
  struct intake *intake = context;

  intake->order[intake->count++] = table;
  if (table->group != groups[group])
    abort ();
}

static const struct table *
intake_last (void *context, size_t group)
{
  const struct intake *intake = context;

  return intake->before == NULL ? NULL : &intake->before->tables[group];
}

static void
intake_init (struct intake *intake, const struct intake *before)
{
  intake->count = 0;
  intake->before = before;
  for (size_t i = 0; i < GROUPS; i++) {
    table_init (&intake->tables[i], groups[i]);
    table_begin (&intake->tables[i]);
  }
}

static void
intake_free (struct intake *intake)
{
  for (size_t i = 0; i < GROUPS; i++)
    table_free (&intake->tables[i]);
}

static int
frame_take (struct intake *intake, const struct schema *schema, const void *bytes, size_t length,
            struct frame_header *header)
{
  struct frame_sink sink = { intake, intake_take, intake_done, intake_last };
  struct error error;

  if (frame_read_header (bytes, length, header, &error) != 0 ||
      frame_read_tables (bytes, length, header, schema, &sink, &error) != 0) {
    if (intake->count != 0)
      abort (); /* a broken frame changes nothing */
    return -1;
  }
  return 0;
}

/* Written and read and written again: the same bytes. */
static void
check_again (const struct intake *intake, const struct schema *schema, const struct frame_header *header)
{
  struct buffer one = { 0 }, other = { 0 };
  struct intake again;
  struct frame_header read;

  frame_write (&one, header, schema, intake->order, intake->count);
  intake_init (&again, NULL);
  if (frame_take (&again, schema, one.data, one.length, &read) != 0)
    abort ();
  frame_write (&other, &read, schema, again.order, again.count);
  if (one.length != other.length || memcmp (one.data, other.data, one.length) != 0)
    abort ();
  intake_free (&again);
  buffer_free (&one);
  buffer_free (&other);
}

static void
check_report (const struct intake *before, const struct intake *now)
{
  struct report_group pairs[GROUPS];
  struct json json = { 0 };

  for (size_t i = 0; i < GROUPS; i++)
    pairs[i] = (struct report_group){ &now->tables[i], &before->tables[i] };
  json_object (&json);
  report_write (&json, pairs, GROUPS, NULL, NULL);
  json_object_end (&json);
  json_newline (&json);
  if (memchr (json.out.data, '\n', json.out.length) != json.out.data + json.out.length - 1)
    abort ();
  json_free (&json);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  if (size < 2)
    return 0;

  size_t first = (size_t) data[0] << 8 | data[1];
  struct schema *schema = schema_create (groups, GROUPS);
  struct intake before, now, alone;
  struct frame_header header;
  int result;

  data += 2;
  size -= 2;
  if (first > size)
    first = size;
  intake_init (&before, NULL);
  intake_init (&now, &before);
  intake_init (&alone, NULL);
  if (frame_take (&before, schema, data, first, &header) == 0)
    check_again (&before, schema, &header);
  result = frame_take (&now, schema, data + first, size - first, &header);
  if (result == 0)
    check_again (&now, schema, &header);
  if (frame_take (&alone, schema, data + first, size - first, &header) != result)
    abort ();
  check_report (&before, &now);
  intake_free (&before);
  intake_free (&now);
  intake_free (&alone);
  schema_destroy (schema);
  return 0;
}
