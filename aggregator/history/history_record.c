/* See history_record.h. */
#include "aggregator/history/history_record.h"

#include <msgpack.h>

#include "synop/wire.h"

enum { RECORD_FRAME = 1, RECORD_TICK = 2 };
#define FRAME_FIELDS 8
#define TICK_FIELDS 11

static void
pack_optional (msgpack_packer *packer, int64_t value, int64_t missing)
{
  if (value == missing)
    msgpack_pack_nil (packer);
  else
    msgpack_pack_int64 (packer, value);
}

static int64_t
read_optional (struct wire *wire, int64_t missing)
{
  return wire_nil (wire) ? missing : wire_int (wire);
}

/* A hostile node's times may be anything: differences wrap. */
static int64_t
wrapped (uint64_t value)
{
  return (int64_t) value;
}

void
frame_record_write (struct buffer *out, int64_t number, const struct cluster_frame *frame)
{
  uint64_t distances[SCHEMA_GROUPS_MAX];
  size_t count = 0;
  msgpack_packer packer;

  for (size_t i = 0; i < frame->schema->group_count; i++) {
    const struct report_group *group = &frame->groups[i];
    if (group->now)
      distances[count++] = group->before ? frame->header->sequence - group->before->sequence : 0;
  }
  wire_packer (&packer, out);
  msgpack_pack_array (&packer, FRAME_FIELDS + count);
  msgpack_pack_int (&packer, RECORD_FRAME);
  msgpack_pack_int64 (&packer, number);
  msgpack_pack_int64 (&packer, wrapped ((uint64_t) frame->time_ns - (uint64_t) frame->header->monotonic_ns));
  pack_optional (&packer, frame->bound_ns, -1);
  pack_optional (&packer, frame->drift_ppb, INT64_MIN);
  pack_optional (&packer, frame->probe_age_ms, -1);
  msgpack_pack_int (&packer, frame->late);
  msgpack_pack_int64 (&packer, frame->tick_period_ns);
  for (size_t i = 0; i < count; i++)
    msgpack_pack_uint64 (&packer, distances[i]);
}

/* -1: not a record of that kind. */
static int
record_begin (struct wire *wire, unsigned kind, uint32_t fields, uint32_t *count)
{
  *count = wire_array (wire, UINT32_MAX);
  return *count < fields || wire_uint (wire, UINT64_MAX) != kind || wire->bad ? -1 : 0;
}

int
frame_record_read (struct frame_record *record, const void *bytes, size_t length, int64_t monotonic_ns)
{
  struct wire wire = wire_over (bytes, length);
  uint32_t count;

  if (record_begin (&wire, RECORD_FRAME, FRAME_FIELDS, &count) < 0 || count > FRAME_FIELDS + SCHEMA_GROUPS_MAX)
    return -1;
  record->number = wire_int (&wire);
  record->time_ns = wrapped ((uint64_t) wire_int (&wire) + (uint64_t) monotonic_ns);
  record->bound_ns = read_optional (&wire, -1);
  record->drift_ppb = read_optional (&wire, INT64_MIN);
  record->probe_age_ms = read_optional (&wire, -1);
  record->late = wire_uint (&wire, 1);
  record->tick_period_ns = (int64_t) wire_uint (&wire, INT64_MAX / 4);
  record->count = count - FRAME_FIELDS;
  for (size_t i = 0; i < record->count; i++)
    record->distances[i] = wire_uint (&wire, UINT64_MAX);
  return wire.bad ? -1 : 0;
}

void
tick_record_write (struct buffer *out, int64_t number, const struct cluster_tick_line *line)
{
  const struct tick_line *tick = line->tick;
  msgpack_packer packer;

  wire_packer (&packer, out);
  msgpack_pack_array (&packer, TICK_FIELDS);
  msgpack_pack_int (&packer, RECORD_TICK);
  msgpack_pack_int64 (&packer, number);
  msgpack_pack_int64 (&packer, tick->time_ns);
  msgpack_pack_int64 (&packer, tick->period_ns);
  msgpack_pack_uint64 (&packer, line->expected);
  msgpack_pack_uint64 (&packer, tick->reporting);
  msgpack_pack_uint64 (&packer, tick->waited_for);
  msgpack_pack_uint64 (&packer, line->stale);
  msgpack_pack_uint64 (&packer, line->down);
  msgpack_pack_int64 (&packer, tick->spread_ns);
  pack_optional (&packer, tick->bound_ns, -1);
}

int
tick_record_read (struct tick_record *record, const void *bytes, size_t length)
{
  struct wire wire = wire_over (bytes, length);
  uint32_t count;

  if (record_begin (&wire, RECORD_TICK, TICK_FIELDS, &count) < 0)
    return -1;
  record->number = wire_int (&wire);
  record->time_ns = wire_int (&wire);
  record->period_ns = (int64_t) wire_uint (&wire, INT64_MAX / 4);
  record->expected = (size_t) wire_uint (&wire, SIZE_MAX);
  record->reporting = (size_t) wire_uint (&wire, SIZE_MAX);
  record->waited_for = (size_t) wire_uint (&wire, SIZE_MAX);
  record->stale = (size_t) wire_uint (&wire, SIZE_MAX);
  record->down = (size_t) wire_uint (&wire, SIZE_MAX);
  record->spread_ns = wire_int (&wire);
  record->bound_ns = read_optional (&wire, -1);
  return wire.bad ? -1 : 0;
}
