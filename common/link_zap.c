/* The ZAP handler (RFC 27 of ZeroMQ): may this key connect? Every handshake waits for it, so it never blocks.
 *
 *   request: "1.0", request id, domain, address, identity, "CURVE", public key (32 bytes)
 *   answer:  "1.0", request id, status code, status text, user id, metadata
 *
 * A key that is not listed is answered 300 ("try later") and not 400 ("no"): after a 400 a libzmq agent never tries
 * again, while after a 300 it comes back, and is admitted once its key has been added. */
#include <string.h>

#include "common/link_private.h"

enum { ZAP_VERSION, ZAP_REQUEST_ID, ZAP_DOMAIN, ZAP_ADDRESS, ZAP_IDENTITY, ZAP_MECHANISM, ZAP_KEY, ZAP_PARTS };
#define ZAP_BATCH 256 /* at most this many at once, so that messages have their turn during a storm of handshakes */

struct zap_request {
  zmq_msg_t parts[ZAP_PARTS];
  size_t count; /* more than ZAP_PARTS: the rest was thrown away */
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
refused (struct link_server *link, const char *key, struct zap_request *request)
{
  size_t length = zmq_msg_size (&request->parts[ZAP_ADDRESS]);
  if (length >= sizeof link->refused_address)
    length = sizeof link->refused_address - 1;
  link_count (&link->tally.key_refused);
  pthread_mutex_lock (&link->refused_lock);
  memcpy (link->refused_key, key, KEY_TEXT_SIZE);
  memcpy (link->refused_address, zmq_msg_data (&request->parts[ZAP_ADDRESS]), length);
  link->refused_address[length] = 0;
  pthread_mutex_unlock (&link->refused_lock);
}

/* True, and the user id, for a key that is listed. */
static bool
admits (struct link_server *link, struct zap_request *request, char user[KEY_TEXT_SIZE])
{
  if (request->count != ZAP_PARTS || !part_is (request, ZAP_VERSION, "1.0") ||
      !part_is (request, ZAP_MECHANISM, "CURVE") || zmq_msg_size (&request->parts[ZAP_KEY]) != KEY_SIZE) {
    link_count (&link->tally.zap_malformed);
    return false;
  }
  uint8_t key[KEY_SIZE];
  memcpy (key, zmq_msg_data (&request->parts[ZAP_KEY]), KEY_SIZE);
  key_text (key, user);
  if (key_set_node (link->allowed, key))
    return true;
  refused (link, user, request);
  return false;
}

static void
answer (struct link_server *link, struct zap_request *request)
{
  char user[KEY_TEXT_SIZE];
  bool good = admits (link, request, user);
  const char *code = good ? "200" : "300", *text = good ? "OK" : "not listed";
  zmq_msg_t *id = request->count > ZAP_REQUEST_ID ? &request->parts[ZAP_REQUEST_ID] : NULL;
  const int flags = ZMQ_DONTWAIT | ZMQ_SNDMORE;
  zmq_send (link->zap, "1.0", 3, flags);
  zmq_send (link->zap, id ? zmq_msg_data (id) : "", id ? zmq_msg_size (id) : 0, flags);
  zmq_send (link->zap, code, 3, flags);
  zmq_send (link->zap, text, strlen (text), flags);
  zmq_send (link->zap, user, good ? strlen (user) : 0, flags);
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
