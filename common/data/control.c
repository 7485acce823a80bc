/* Messages of the control channel, written and read. The header describes the formats. */
#include <msgpack.h>

#include "synop/control.h"

#include <string.h>

#include "common/data/trace_message.h"
#include "synop/wire.h"

static void
pack_text (struct msgpack_packer *packer, const char *text)
{
  wire_pack_text (packer, text, strlen (text));
}

static void
pack_hash (struct msgpack_packer *packer, const struct control *message)
{
  wire_pack_binary (packer, message->schema_hash, sizeof message->schema_hash);
}

static void
pack_bool (struct msgpack_packer *packer, bool value)
{
  if (value)
    msgpack_pack_true (packer);
  else
    msgpack_pack_false (packer);
}

static void
pack_held (struct msgpack_packer *packer, const struct control *message)
{
  msgpack_pack_array (packer, message->held_count);
  for (size_t i = 0; i < message->held_count; i++) {
    msgpack_pack_array (packer, 3);
    msgpack_pack_uint64 (packer, message->held[i].session);
    msgpack_pack_uint64 (packer, message->held[i].first);
    msgpack_pack_uint64 (packer, message->held[i].last);
  }
}

static void
pack_last (struct msgpack_packer *packer, const struct control *message)
{
  if (!message->has_last) {
    msgpack_pack_nil (packer);
    return;
  }
  msgpack_pack_array (packer, 4);
  for (int i = 0; i < 4; i++)
    msgpack_pack_int64 (packer, message->last[i]);
}

static void
pack_clock (struct msgpack_packer *packer, const struct control *message)
{
  if (!message->has_clock) {
    msgpack_pack_nil (packer);
    return;
  }
  msgpack_pack_array (packer, 5);
  msgpack_pack_int64 (packer, message->clock.node_ns);
  msgpack_pack_int64 (packer, message->clock.cluster_ns);
  msgpack_pack_int64 (packer, message->clock.bound_ns);
  msgpack_pack_double (packer, message->clock.drift);
  pack_bool (packer, message->clock.soon);
}

static void
pack_head (struct msgpack_packer *packer, enum control_type type, size_t fields)
{
  msgpack_pack_array (packer, fields + 2);
  msgpack_pack_uint32 (packer, CONTROL_VERSION);
  msgpack_pack_uint32 (packer, type);
}

void
control_write (struct buffer *out, const struct control *message)
{
  struct msgpack_packer packer;

  wire_packer (&packer, out);
  switch (message->type) {
  case CONTROL_HELLO:
    pack_head (&packer, message->type, 8);
    pack_text (&packer, message->node);
    msgpack_pack_uint64 (&packer, message->session);
    pack_hash (&packer, message);
    msgpack_pack_uint64 (&packer, message->first_sequence);
    msgpack_pack_uint64 (&packer, message->last_sequence);
    msgpack_pack_int64 (&packer, message->period_ns);
    pack_text (&packer, message->version);
    pack_held (&packer, message);
    break;
  case CONTROL_SCHEMA:
    pack_head (&packer, message->type, 2);
    pack_hash (&packer, message);
    wire_pack_binary (&packer, message->schema, message->schema_length);
    break;
  case CONTROL_PROBE:
    pack_head (&packer, message->type, 3);
    msgpack_pack_uint64 (&packer, message->session);
    msgpack_pack_int64 (&packer, message->t1);
    pack_last (&packer, message);
    break;
  case CONTROL_REPLAYED:
    pack_head (&packer, message->type, 1);
    wire_pack_binary (&packer, message->frame, message->frame_length);
    break;
  case CONTROL_REPLAY_END:
    pack_head (&packer, message->type, 4);
    msgpack_pack_uint64 (&packer, message->session);
    msgpack_pack_uint64 (&packer, message->from);
    msgpack_pack_uint64 (&packer, message->to);
    msgpack_pack_uint64 (&packer, message->sent);
    break;
  case CONTROL_TRACE_ANSWER:
    pack_head (&packer, message->type, 1 + TRACE_ANSWER_FIELDS);
    msgpack_pack_uint64 (&packer, message->session);
    trace_answer_pack (&packer, &message->traced);
    break;
  case CONTROL_WELCOME:
    pack_head (&packer, message->type, 5);
    msgpack_pack_uint64 (&packer, message->session);
    pack_bool (&packer, message->known);
    msgpack_pack_uint64 (&packer, message->last_sequence);
    pack_text (&packer, message->version);
    msgpack_pack_uint32 (&packer, message->bytes);
    break;
  case CONTROL_PROBE_ANSWER:
    pack_head (&packer, message->type, 6);
    msgpack_pack_uint64 (&packer, message->session);
    msgpack_pack_int64 (&packer, message->t1);
    msgpack_pack_int64 (&packer, message->t2);
    msgpack_pack_int64 (&packer, message->t3);
    pack_bool (&packer, message->known);
    pack_clock (&packer, message);
    break;
  case CONTROL_REPLAY_REQUEST:
    pack_head (&packer, message->type, 5);
    msgpack_pack_uint64 (&packer, message->session);
    msgpack_pack_uint64 (&packer, message->from);
    msgpack_pack_uint64 (&packer, message->to);
    msgpack_pack_uint32 (&packer, message->frames);
    msgpack_pack_uint32 (&packer, message->bytes);
    break;
  case CONTROL_TRACE_REQUEST:
    pack_head (&packer, message->type, 1 + TRACE_REQUEST_FIELDS);
    msgpack_pack_uint64 (&packer, message->session);
    trace_request_pack (&packer, &message->trace);
    break;
  case CONTROL_SCHEMA_REQUEST:
    pack_head (&packer, message->type, 1);
    pack_hash (&packer, message);
    break;
  case CONTROL_WRONG_NODE:
    pack_head (&packer, message->type, 2);
    msgpack_pack_uint64 (&packer, message->session);
    pack_text (&packer, message->node);
    break;
  }
}

/* ---- reading ---- */

/* Reads a text for terminals: printable ASCII alone. */
static void
read_text (struct wire *wire, char *into, size_t max)
{
  size_t length;
  const char *text = wire_text (wire, &length, max);

  for (size_t i = 0; i < length; i++)
    if (text[i] < 0x20 || text[i] > 0x7e)
      wire->bad = true;
  if (!wire->bad)
    memcpy (into, text, length); /* `into` is zeroed */
}

static void
read_hash (struct wire *wire, struct control *message)
{
  size_t length;
  const uint8_t *hash = wire_binary (wire, &length, SCHEMA_HASH_SIZE);

  if (length == SCHEMA_HASH_SIZE)
    memcpy (message->schema_hash, hash, SCHEMA_HASH_SIZE);
  else
    wire->bad = true;
}

static void
read_session (struct wire *wire, struct control *message)
{
  message->session = wire_uint (wire, UINT64_MAX);
  if (message->session == 0)
    wire->bad = true;
}

static void
read_node (struct wire *wire, struct control *message)
{
  read_text (wire, message->node, FRAME_NODE_MAX);
  if (node_name_check (message->node, strlen (message->node), NULL) != 0)
    wire->bad = true;
}

static void
read_hello (struct wire *wire, struct control *message)
{
  read_node (wire, message);
  read_session (wire, message);
  read_hash (wire, message);
  message->first_sequence = wire_uint (wire, INT64_MAX);
  message->last_sequence = wire_uint (wire, INT64_MAX);
  message->period_ns = (int64_t) wire_uint (wire, CONTROL_PERIOD_MAX_NS);
  if (message->period_ns < CONTROL_PERIOD_MIN_NS)
    wire->bad = true;
  read_text (wire, message->version, CONTROL_TEXT_MAX);
}

/* Reads earlier sessions; those that there is no room for are skipped. */
static void
read_held (struct wire *wire, struct control *message)
{
  uint32_t count = wire_array (wire, UINT32_MAX);

  for (uint32_t i = 0; i < count && !wire->bad; i++) {
    uint32_t fields = wire_array (wire, UINT32_MAX);
    struct control_held held = { .session = wire_uint (wire, UINT64_MAX),
                                 .first = wire_uint (wire, INT64_MAX),
                                 .last = wire_uint (wire, INT64_MAX) };

    if (fields < 3 || held.session == 0 || held.first == 0 || held.last < held.first)
      wire->bad = true;
    wire_skip_items (wire, fields < 3 ? 0 : fields - 3);
    if (!wire->bad && message->held_count < CONTROL_HELD_MAX)
      message->held[message->held_count++] = held;
  }
}

/* Session, from and to of a replay. `slack` 1 permits an empty range, whose `to` is `from` - 1. */
static void
read_range (struct wire *wire, struct control *message, uint64_t slack)
{
  read_session (wire, message);
  message->from = wire_uint (wire, INT64_MAX);
  message->to = wire_uint (wire, INT64_MAX);
  if (message->from == 0 || message->to + slack < message->from)
    wire->bad = true;
}

static void
read_last (struct wire *wire, struct control *message)
{
  if (wire_nil (wire))
    return;
  uint32_t count = wire_array (wire, UINT32_MAX);

  if (count < 4)
    wire->bad = true;
  for (int i = 0; i < 4; i++)
    message->last[i] = wire_int (wire);
  wire_skip_items (wire, count < 4 ? 0 : count - 4);
  message->has_last = !wire->bad;
}

static bool
time_is_sane (int64_t ns)
{
  return ns < INT64_MAX / 4 && ns > -INT64_MAX / 4;
}

/* Values that no clock has are refused: they would overflow the agent's arithmetic. */
static void
read_clock (struct wire *wire, struct control *message)
{
  struct control_clock *clock = &message->clock;

  if (wire_nil (wire))
    return;
  uint32_t count = wire_array (wire, UINT32_MAX);

  if (count < 5)
    wire->bad = true;
  clock->node_ns = wire_int (wire);
  clock->cluster_ns = wire_int (wire);
  clock->bound_ns = wire_int (wire);
  clock->drift = wire_real (wire);
  clock->soon = wire_bool (wire);
  wire_skip_items (wire, count < 5 ? 0 : count - 5);
  if (!(clock->drift > -CONTROL_DRIFT_MAX && clock->drift < CONTROL_DRIFT_MAX) || clock->bound_ns < 0 ||
      !time_is_sane (clock->node_ns) || !time_is_sane (clock->cluster_ns))
    wire->bad = true;
  message->has_clock = !wire->bad;
}

/* Reads the `count` fields of a message, and returns how many the type requires; 0 for an unknown type. A hello's
 * earlier sessions, a welcome's largest frame, and the clocks in probes and answers are optional. */
static uint32_t
read_fields (struct wire *wire, struct control *message, uint64_t type, uint32_t count)
{
  switch (type) {
  case CONTROL_HELLO:
    read_hello (wire, message);
    if (count < 8)
      return 7;
    read_held (wire, message);
    return 8;
  case CONTROL_SCHEMA:
    read_hash (wire, message);
    message->schema = wire_binary (wire, &message->schema_length, SCHEMA_BYTES_MAX);
    return 2;
  case CONTROL_PROBE:
    read_session (wire, message);
    message->t1 = wire_int (wire);
    if (count < 3)
      return 2;
    read_last (wire, message);
    return 3;
  case CONTROL_REPLAYED:
    message->frame = wire_binary (wire, &message->frame_length, FRAME_BYTES_MAX);
    return 1;
  case CONTROL_REPLAY_END:
    read_range (wire, message, 1);
    message->sent = wire_uint (wire, INT64_MAX);
    return 4;
  case CONTROL_TRACE_ANSWER:
    read_session (wire, message);
    trace_answer_read (wire, &message->traced);
    return 1 + TRACE_ANSWER_FIELDS;
  case CONTROL_WELCOME:
    read_session (wire, message);
    message->known = wire_bool (wire);
    message->last_sequence = wire_uint (wire, INT64_MAX);
    read_text (wire, message->version, CONTROL_TEXT_MAX);
    if (count < 5)
      return 4;
    message->bytes = (uint32_t) wire_uint (wire, UINT32_MAX);
    return 5;
  case CONTROL_PROBE_ANSWER:
    read_session (wire, message);
    message->t1 = wire_int (wire);
    message->t2 = wire_int (wire);
    message->t3 = wire_int (wire);
    message->known = wire_bool (wire);
    if (count < 6)
      return 5;
    read_clock (wire, message);
    return 6;
  case CONTROL_REPLAY_REQUEST:
    read_range (wire, message, 0);
    message->frames = (uint32_t) wire_uint (wire, UINT32_MAX);
    message->bytes = (uint32_t) wire_uint (wire, UINT32_MAX);
    return 5;
  case CONTROL_TRACE_REQUEST:
    read_session (wire, message);
    trace_request_read (wire, &message->trace);
    return 1 + TRACE_REQUEST_FIELDS;
  case CONTROL_SCHEMA_REQUEST:
    read_hash (wire, message);
    return 1;
  case CONTROL_WRONG_NODE:
    read_session (wire, message);
    read_node (wire, message);
    return 2;
  default:
    return 0;
  }
}

int
control_read (const void *bytes, size_t length, struct control *message, struct error *error)
{
  struct wire wire = wire_over (bytes, length);
  uint32_t fields = wire_array (&wire, UINT32_MAX);
  uint64_t version = wire_uint (&wire, UINT64_MAX);

  *message = (struct control){ 0 };
  if (length > CONTROL_BYTES_MAX)
    return error_set (error, "the control message has %zu bytes, over the limit of %d", length, CONTROL_BYTES_MAX);
  if (!wire.bad && version != CONTROL_VERSION) {
    error_set (error, "version %llu of control messages is not known", (unsigned long long) version);
    return 1;
  }

  uint64_t type = wire_uint (&wire, UINT64_MAX);

  if (wire.bad || fields < 2)
    return error_set (error, "the control message is no array of a version and a type");

  uint32_t known = read_fields (&wire, message, type, fields - 2);

  if (known == 0) {
    error_set (error, "type %llu of control messages is not known", (unsigned long long) type);
    return 1;
  }
  if (fields < known + 2)
    wire.bad = true;
  else
    wire_skip_items (&wire, fields - known - 2);
  if (wire.bad || wire.at != wire.end)
    return error_set (error, "the control message of type %llu is broken", (unsigned long long) type);
  message->type = (enum control_type) type;
  return 0;
}
