/* See kineto_messages.h. */
#include "agent/traces/kineto_messages.h"

#include <string.h>

#define TYPE_AT 8
#define TYPE_SIZE 32
#define CONTEXT_SIZE 16
#define REQUEST_SIZE 16 /* without the ids */
#define ACTIVITIES 2    /* a bit of a request's type */

static const char *const type_names[] = { [KINETO_CONTEXT] = "ctxt", [KINETO_REQUEST] = "req" };

static int32_t
read_int32 (const char *at)
{
  int32_t value;

  memcpy (&value, at, sizeof value);
  return value;
}

static bool
read_request (struct kineto_message *message, const char *payload, size_t length)
{
  int32_t count;

  if (length < REQUEST_SIZE)
    return false;
  count = read_int32 (payload + 4);
  if (count < 0 || count > KINETO_PIDS_MAX || length != REQUEST_SIZE + 4 * (size_t) count)
    return false;
  message->activities = read_int32 (payload) & ACTIVITIES;
  message->pid = count ? read_int32 (payload + REQUEST_SIZE) : 0;
  return true;
}

static bool
read_context (struct kineto_message *message, const char *payload, size_t length)
{
  if (length != CONTEXT_SIZE)
    return false;
  message->gpu = read_int32 (payload);
  message->pid = read_int32 (payload + 4);
  return true;
}

bool
kineto_read (struct kineto_message *message, const void *bytes, size_t length)
{
  const char *text = bytes;
  uint64_t size;

  *message = (struct kineto_message){ .gpu = -1 };
  if (length < KINETO_HEAD || length > KINETO_DATAGRAM_MAX)
    return false;
  memcpy (&size, text, sizeof size);
  if (size != length - KINETO_HEAD || !memchr (text + TYPE_AT, 0, TYPE_SIZE))
    return false;
  if (strcmp (text + TYPE_AT, type_names[KINETO_CONTEXT]) == 0) {
    message->kind = KINETO_CONTEXT;
    return read_context (message, text + KINETO_HEAD, (size_t) size);
  }
  if (strcmp (text + TYPE_AT, type_names[KINETO_REQUEST]) == 0) {
    message->kind = KINETO_REQUEST;
    return read_request (message, text + KINETO_HEAD, (size_t) size);
  }
  return false;
}

size_t
kineto_write (void *to, enum kineto_kind kind, const void *payload, size_t length)
{
  char *text = to;
  uint64_t size = length;

  memset (text, 0, KINETO_HEAD);
  memcpy (text, &size, sizeof size);
  strcpy (text + TYPE_AT, type_names[kind]);
  if (length)
    memcpy (text + KINETO_HEAD, payload, length);
  return KINETO_HEAD + length;
}
