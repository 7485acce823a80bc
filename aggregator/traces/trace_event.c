/* Events of a trace; see trace_event.h. */
#include "aggregator/traces/trace_event.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ID_BITS 40 /* of 53 that a number of JSON has: 8,000 ranks are left */

/* ---- reading ---- */

/* Behind a text in quotes. */
static const char *
string_end (const char *at)
{
  for (at++; *at != '"'; at++)
    at += *at == '\\';
  return at + 1;
}

/* Behind a value: the text is valid, so that braces in pairs are enough. */
static const char *
value_end (const char *at, const char *end)
{
  size_t depth = 0;

  while (at < end) {
    if (*at == '"') {
      at = string_end (at);
      if (depth == 0)
        return at;
      continue;
    }
    if (depth == 0 && (*at == ',' || *at == '}' || *at == ']'))
      return at;
    if (*at == '{' || *at == '[')
      depth++;
    else if ((*at == '}' || *at == ']') && --depth == 0)
      return at + 1;
    at++;
  }
  return end;
}

static bool
is_name (const struct trace_part *part, const char *name)
{
  return part->length == strlen (name) + 2 && memcmp (part->text + 1, name, part->length - 2) == 0;
}

static void
member_note (struct trace_event *event, const struct trace_part *name, const struct trace_part *value)
{
  if (is_name (name, "ph"))
    event->phase = value->length > 2 && *value->text == '"' ? value->text[1] : '\0';
  else if (is_name (name, "ts"))
    event->time = *value;
  else if (is_name (name, "pid"))
    event->process = *value;
  else if (is_name (name, "id"))
    event->id = *value;
  else if (is_name (name, "bind_id"))
    event->bind_id = *value;
  else if (is_name (name, "name"))
    event->name = *value;
  else if (is_name (name, "args"))
    event->arguments = *value;
}

void
trace_event_read (struct trace_event *event, const char *text, size_t length)
{
  const char *at = text + 1, *end = text + length;

  *event = (struct trace_event){ 0 };
  while (at < end && *at == '"') {
    struct trace_part name = { at, 0 }, value;

    at = string_end (at);
    name.length = (size_t) (at - name.text);
    value.text = ++at; /* behind the colon */
    at = value_end (at, end);
    value.length = (size_t) (at - value.text);
    member_note (event, &name, &value);
    at += at < end && *at == ',';
  }
}

static bool
is_digit (char byte)
{
  return byte >= '0' && byte <= '9';
}

bool
trace_event_time (const struct trace_event *event, int64_t *time_ns)
{
  const char *at = event->time.text, *end = at + event->time.length;
  int64_t whole = 0, fraction = 0, unit = 100;
  bool negative;

  if (!at || at == end || (!is_digit (*at) && *at != '-'))
    return false;
  if (memchr (at, 'e', event->time.length) || memchr (at, 'E', event->time.length)) {
    double us = strtod (at, NULL);

    *time_ns = us > -9e15 && us < 9e15 ? (int64_t) (us * 1000) : 0;
    return true;
  }
  negative = *at == '-';
  for (at += negative; at < end && is_digit (*at); at++)
    if (whole < INT64_MAX / 10000)
      whole = whole * 10 + (*at - '0');
  for (at += at < end && *at == '.'; at < end && is_digit (*at) && unit > 0; at++, unit /= 10)
    fraction += (*at - '0') * unit;
  *time_ns = (negative ? -1 : 1) * (whole * 1000 + fraction);
  return true;
}

/* ---- writing ---- */

void
trace_time_put (struct buffer *out, int64_t time_ns)
{
  uint64_t absolute = time_ns < 0 ? (uint64_t) -time_ns : (uint64_t) time_ns;

  buffer_printf (out, "%s%" PRIu64 ".%03u", time_ns < 0 ? "-" : "", absolute / 1000, (unsigned) (absolute % 1000));
}

/* FNV-1a. */
static uint64_t
text_hash (const struct trace_part *part)
{
  uint64_t hash = UINT64_C (14695981039346656037);

  for (size_t i = 0; i < part->length; i++)
    hash = (hash ^ (unsigned char) part->text[i]) * UINT64_C (1099511628211);
  return hash;
}

/* A small number stays what it is behind the rank; any other id is hashed. */
static void
id_put (struct buffer *out, const struct trace_part *id, uint64_t rank)
{
  uint64_t number = 0, most = UINT64_C (1) << ID_BITS;
  size_t i = 0;

  while (i < id->length && is_digit (id->text[i]) && number < most)
    number = number * 10 + (uint64_t) (id->text[i++] - '0');
  if (i < id->length || number >= most)
    number = text_hash (id);
  buffer_printf (out, "%" PRIu64, rank << ID_BITS | (number & (most - 1)));
}

struct change {
  const struct trace_part *part;
  enum { CHANGE_TIME, CHANGE_PROCESS, CHANGE_ID } what;
};

static void
change_put (struct buffer *out, const struct trace_event *event, const struct change *change,
            const struct trace_move *move)
{
  int64_t time_ns;

  if (change->what == CHANGE_PROCESS)
    buffer_add_string (out, move->process);
  else if (change->what == CHANGE_ID)
    id_put (out, change->part, move->rank);
  else if (event->phase != 'M' && trace_event_time (event, &time_ns))
    trace_time_put (out, time_ns + move->shift_ns);
  else
    buffer_add (out, change->part->text, change->part->length);
}

void
trace_event_write (struct buffer *out, const struct trace_event *event, const char *text, size_t length,
                   const struct trace_move *move)
{
  const struct change changes[] = { { &event->time, CHANGE_TIME },
                                    { &event->process, CHANGE_PROCESS },
                                    { &event->id, CHANGE_ID },
                                    { &event->bind_id, CHANGE_ID } };
  const char *at = text, *end = text + length;

  while (at < end) {
    const struct change *first = NULL;

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
      if (changes[i].part->text >= at && changes[i].part->text && (!first || changes[i].part->text < first->part->text))
        first = &changes[i];
    if (!first) {
      buffer_add (out, at, (size_t) (end - at));
      return;
    }
    buffer_add (out, at, (size_t) (first->part->text - at));
    change_put (out, event, first, move);
    at = first->part->text + first->part->length;
  }
}
