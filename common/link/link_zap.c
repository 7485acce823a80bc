/* The ZAP handler (RFC 27 of ZeroMQ): may this key connect? Every handshake waits for it, so it never blocks.
 *
 *   request: "1.0", request id, domain, address, identity, "CURVE", public key (32 bytes)
 *   answer:  "1.0", request id, status code, status text, user id, metadata
 *
 * A key that is not listed is answered 300 ("try later") and not 400 ("no"): after a 400 a libzmq agent never tries
 * again, while after a 300 it comes back, and is admitted once its key has been added. A listed key that has as many
 * connections as it may have is answered 400: libzmq reports that code to the agent, which logs the reason and tries
 * again itself, while other clients stop trying twice a second. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/link/link_private.h"

enum { ZAP_VERSION, ZAP_REQUEST_ID, ZAP_DOMAIN, ZAP_ADDRESS, ZAP_IDENTITY, ZAP_MECHANISM, ZAP_KEY, ZAP_PARTS };
#define ZAP_BATCH 256 /* at a time, so that messages are received during a storm of handshakes */

struct zap_request {
  zmq_msg_t parts[ZAP_PARTS];
  size_t count; /* more than ZAP_PARTS: the rest was discarded */
};

static bool
request_read (void *socket, struct zap_request *request)
{
  request->count = 0;
  for (int more = 1; more;) {
    zmq_msg_t rest, *part = request->count < ZAP_PARTS ? &request->parts[request->count] : &rest;
    zmq_msg_init (part);
    if (zmq_msg_recv (part, socket, ZMQ_DONTWAIT) < 0) {
      zmq_msg_close (part);
      break;
    }
    more = zmq_msg_more (part);
    if (part == &rest)
      zmq_msg_close (part);
    request->count++;
  }
  return request->count > 0;
}

static void
request_free (struct zap_request *request)
{
  for (size_t i = 0; i < request->count && i < ZAP_PARTS; i++)
    zmq_msg_close (&request->parts[i]);
}

static bool
part_is (struct zap_request *request, size_t index, const char *text)
{
  size_t length = strlen (text);
  return zmq_msg_size (&request->parts[index]) == length &&
         memcmp (zmq_msg_data (&request->parts[index]), text, length) == 0;
}

static void
part_text (struct zap_request *request, size_t index, char *text, size_t size)
{
  size_t length = zmq_msg_size (&request->parts[index]);

  length = length < size ? length : size - 1;
  memcpy (text, zmq_msg_data (&request->parts[index]), length);
  text[length] = 0;
}

/* Kept until the main thread takes it; when the list is full further keys are left out. */
static void
note_refusal (struct link_server *link, struct link_refusals *refusals, const char *who, const char *address)
{
  size_t i = 0;

  pthread_mutex_lock (&link->refused_lock);
  while (i < refusals->used && strcmp (refusals->of[i].who, who) != 0)
    i++;
  if (i < LINK_REFUSALS_MAX) {
    struct link_refusal *refusal = &refusals->of[i];

    if (i == refusals->used)
      refusals->of[refusals->used++].count = 0;
    snprintf (refusal->who, sizeof refusal->who, "%s", who);
    snprintf (refusal->address, sizeof refusal->address, "%s", address);
    refusal->count++;
  }
  pthread_mutex_unlock (&link->refused_lock);
}

#define USER_ID_SIZE (KEY_TEXT_SIZE + 24)
enum verdict { ADMITTED, UNLISTED, OVER_LIMIT, MALFORMED };

/* Sets `id` of an admitted key, "KEY NUMBER": see link_connections.c. */
static enum verdict
judge (struct link_server *link, struct zap_request *request, char id[USER_ID_SIZE])
{
  if (request->count != ZAP_PARTS || !part_is (request, ZAP_VERSION, "1.0") ||
      !part_is (request, ZAP_MECHANISM, "CURVE") || zmq_msg_size (&request->parts[ZAP_KEY]) != KEY_SIZE) {
    link_count (&link->tally.zap_malformed);
    return MALFORMED;
  }
  enum link_channel channel = part_is (request, ZAP_DOMAIN, LINK_DOMAIN_DATA) ? LINK_DATA : LINK_CONTROL;
  uint8_t key[KEY_SIZE];
  char text[KEY_TEXT_SIZE], address[LINK_ADDRESS_MAX];
  memcpy (key, zmq_msg_data (&request->parts[ZAP_KEY]), KEY_SIZE);
  key_text (key, text);
  part_text (request, ZAP_ADDRESS, address, sizeof address);
  /* The monitor reported the connection before ZAP made this request. */
  link_watcher_read (channel == LINK_DATA ? &link->data_watcher : &link->control_watcher, link);
  const char *node = key_set_node (link->allowed, key);
  if (!node) {
    link_connection_refused (link, channel, address);
    link_count (&link->tally.key_refused);
    note_refusal (link, &link->unlisted, text, address);
    return UNLISTED;
  }
  struct link_user *user = link_users_find (&link->users, text);
  uint64_t serial = user ? link_connection_admit (link, channel, address, user) : 0;
  if (serial == 0) {
    note_refusal (link, &link->over_limit, node, address);
    return OVER_LIMIT;
  }
  snprintf (id, USER_ID_SIZE, "%s %" PRIu64, text, serial);
  return ADMITTED;
}

static void
answer (struct link_server *link, struct zap_request *request)
{
  static const struct {
    const char *code, *text;
  } answers[] = { [ADMITTED] = { "200", "OK" },
                  [UNLISTED] = { "300", "not listed" },
                  [OVER_LIMIT] = { "400", "too many connections of this key" },
                  [MALFORMED] = { "300", "not of CURVE" } };
  char user[USER_ID_SIZE] = "";
  enum verdict verdict = judge (link, request, user);
  const char *code = answers[verdict].code, *text = answers[verdict].text;
  zmq_msg_t *id = request->count > ZAP_REQUEST_ID ? &request->parts[ZAP_REQUEST_ID] : NULL;
  const int flags = ZMQ_DONTWAIT | ZMQ_SNDMORE;
  zmq_send (link->zap, "1.0", 3, flags);
  zmq_send (link->zap, id ? zmq_msg_data (id) : "", id ? zmq_msg_size (id) : 0, flags);
  zmq_send (link->zap, code, 3, flags);
  zmq_send (link->zap, text, strlen (text), flags);
  zmq_send (link->zap, user, strlen (user), flags);
  zmq_send (link->zap, "", 0, ZMQ_DONTWAIT);
}

void
link_zap_answer (struct link_server *link)
{
  struct zap_request request;
  for (int i = 0; i < ZAP_BATCH && request_read (link->zap, &request); i++) {
    answer (link, &request);
    request_free (&request);
  }
}
