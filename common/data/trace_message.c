/* See trace_message.h. */
#include <msgpack.h>

#include "common/data/trace_message.h"

#define RECORD_FIELDS 10

/* ---- writing ---- */

static void
pack_text (struct msgpack_packer *packer, struct trace_text text)
{
  wire_pack_text (packer, text.text ? text.text : "", text.length);
}

void
trace_request_pack (struct msgpack_packer *packer, const struct trace_request *request)
{
  msgpack_pack_uint64 (packer, request->id);
  msgpack_pack_int (packer, (int) request->kind);
  pack_text (packer, request->job);
  pack_text (packer, request->user);
  pack_text (packer, request->tool);
  pack_text (packer, request->options);
  pack_text (packer, request->output);
  msgpack_pack_array (packer, request->rank_count);
  for (size_t i = 0; i < request->rank_count; i++)
    msgpack_pack_uint32 (packer, request->ranks[i]);
  msgpack_pack_uint32 (packer, request->limit);
  msgpack_pack_int64 (packer, request->start_ns);
  msgpack_pack_int64 (packer, request->duration_ns);
  msgpack_pack_uint32 (packer, request->iterations);
}

static void
pack_record (struct msgpack_packer *packer, const struct trace_record *record)
{
  msgpack_pack_array (packer, RECORD_FIELDS);
  msgpack_pack_int64 (packer, record->pid);
  msgpack_pack_int64 (packer, record->rank);
  msgpack_pack_int64 (packer, record->uid);
  msgpack_pack_int64 (packer, record->device);
  msgpack_pack_int (packer, (int) record->state);
  msgpack_pack_int64 (packer, record->begun_ns);
  msgpack_pack_uint64 (packer, record->size);
  pack_text (packer, record->job);
  pack_text (packer, record->path);
  pack_text (packer, record->error);
}

void
trace_answer_pack (struct msgpack_packer *packer, const struct trace_answer *answer)
{
  msgpack_pack_uint64 (packer, answer->id);
  msgpack_pack_int (packer, (int) answer->progress);
  pack_text (packer, answer->error);
  msgpack_pack_array (packer, answer->count);
  for (size_t i = 0; i < answer->count; i++)
    pack_record (packer, &answer->records[i]);
}

/* ---- reading ---- */

/* Without control characters, but for the ends of lines where there may be some. */
static struct trace_text
read_text (struct wire *wire, size_t max, bool lines)
{
  struct trace_text text;

  text.text = wire_text (wire, &text.length, max);
  for (size_t i = 0; i < text.length; i++)
    if (((unsigned char) text.text[i] < 0x20 && !(lines && text.text[i] == '\n')) || text.text[i] == 0x7f)
      wire->bad = true;
  return text;
}

/* A number, or -1. */
static int64_t
read_number (struct wire *wire)
{
  int64_t number = wire_int (wire);

  if (number < -1 || number > UINT32_MAX)
    wire->bad = true;
  return number;
}

static int64_t
read_time (struct wire *wire)
{
  return (int64_t) wire_uint (wire, INT64_MAX / 4);
}

static uint64_t
read_id (struct wire *wire)
{
  uint64_t id = wire_uint (wire, UINT64_MAX);

  if (id == 0)
    wire->bad = true;
  return id;
}

void
trace_request_read (struct wire *wire, struct trace_request *request)
{
  request->id = read_id (wire);
  request->kind = (enum trace_kind) wire_uint (wire, TRACE_KINDS - 1);
  request->job = read_text (wire, TRACE_JOB_MAX, false);
  request->user = read_text (wire, TRACE_USER_MAX, false);
  request->tool = read_text (wire, TRACE_TOOL_MAX, false);
  request->options = read_text (wire, TRACE_OPTIONS_MAX, true);
  request->output = read_text (wire, TRACE_PATH_MAX, false);
  request->rank_count = wire_array (wire, TRACE_RANKS_MAX);
  for (size_t i = 0; i < request->rank_count && !wire->bad; i++)
    request->ranks[i] = (uint32_t) wire_uint (wire, INT32_MAX);
  request->limit = (uint32_t) wire_uint (wire, UINT32_MAX);
  request->start_ns = read_time (wire);
  request->duration_ns = (int64_t) wire_uint (wire, TRACE_DURATION_MAX_NS);
  request->iterations = (uint32_t) wire_uint (wire, TRACE_ITERATIONS_MAX);
  if (request->kind == TRACE_BEGIN && (request->job.length == 0 || request->tool.length == 0 ||
                                       (request->duration_ns == 0) == (request->iterations == 0)))
    wire->bad = true;
}

static void
read_record (struct wire *wire, struct trace_record *record)
{
  uint32_t fields = wire_array (wire, UINT32_MAX);

  if (fields < RECORD_FIELDS)
    wire->bad = true;
  record->pid = (int64_t) wire_uint (wire, INT32_MAX);
  record->rank = read_number (wire);
  record->uid = read_number (wire);
  record->device = read_number (wire);
  record->state = (enum trace_state) wire_uint (wire, TRACE_STATES - 1);
  record->begun_ns = read_time (wire);
  record->size = wire_uint (wire, INT64_MAX);
  record->job = read_text (wire, TRACE_JOB_MAX, false);
  record->path = read_text (wire, TRACE_PATH_MAX, false);
  record->error = read_text (wire, TRACE_ERROR_MAX, false);
  wire_skip_items (wire, fields < RECORD_FIELDS ? 0 : fields - RECORD_FIELDS);
}

void
trace_answer_read (struct wire *wire, struct trace_answer *answer)
{
  answer->id = read_id (wire);
  answer->progress = (enum trace_progress) wire_uint (wire, TRACE_PROGRESSES - 1);
  answer->error = read_text (wire, TRACE_ERROR_MAX, false);
  answer->count = wire_array (wire, TRACE_RECORDS_MAX);
  for (size_t i = 0; i < answer->count && !wire->bad; i++)
    read_record (wire, &answer->records[i]);
}
