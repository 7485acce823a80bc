/* Whose a request is: by what it shows, in this order: a MUNGE credential, a token; else by what a trusted proxy says, or the
 * kernel of whoever connects from this host.
 *
 *   Authorization: MUNGE MUNGE:AwQDAADlq...:     made of the request's target: http_request_target
 *   Authorization: Bearer synop_Zk3b...          as "synop-aggregator token USER" made it */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aggregator/access/access_munge.h"
#include "aggregator/access/access_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define MUNGE_PAUSE (10 * NS_PER_S) /* while munged does not answer */

/* What follows "SCHEME "; NULL: it is another. */
static const char *
of_scheme (const char *authorization, const char *scheme)
{
  size_t length = strlen (scheme);

  if (!authorization || strncasecmp (authorization, scheme, length) != 0 || authorization[length] != ' ')
    return NULL;
  return authorization + length + strspn (authorization + length, " ");
}

/* ---- MUNGE ---- */

static char *
copy_locked (struct access *access, char *const *text)
{
  char *copy;

  pthread_mutex_lock (&access->lock);
  copy = memory_string (*text);
  pthread_mutex_unlock (&access->lock);
  return copy;
}

/* True: munged did not answer a moment ago, and why. */
static bool
munge_is_silent (struct access *access, struct error *why)
{
  bool silent;

  pthread_mutex_lock (&access->lock);
  silent = clock_monotonic () < access->munge_later_ns;
  if (silent)
    *why = access->munge_error;
  pthread_mutex_unlock (&access->lock);
  return silent;
}

static void
munge_pause (struct access *access, const struct error *why)
{
  pthread_mutex_lock (&access->lock);
  access->munge_later_ns = clock_monotonic () + MUNGE_PAUSE;
  access->munge_error = *why;
  pthread_mutex_unlock (&access->lock);
}

/* -1 and error: it is not valid, or not for this request. */
static int
check_credential (struct access *access, const struct http_request *request, const char *credential, uint32_t *uid,
                  struct error *why)
{
  char *socket = copy_locked (access, &access->munge_socket);
  struct buffer target = { 0 }, payload = { 0 };
  bool silent = false;
  int result = -1;

  http_request_target (request, &target);
  if (!munge_is_silent (access, why))
    result = access_munge_decode (socket, credential, &payload, uid, &silent, why);
  if (result == 0 && (payload.length != target.length || memcmp (payload.data, target.data, target.length) != 0))
    result = error_set (why, "MUNGE: the credential was made for another request; its payload has to be \"%.300s\"",
                        buffer_text (&target));
  if (silent)
    munge_pause (access, why);
  buffer_free (&target);
  buffer_free (&payload);
  free (socket);
  return result;
}

static enum http_who
who_by_munge (struct access *access, const struct http_request *request, const char *credential, struct viewer *viewer,
              struct error *why)
{
  uint32_t uid;

  if (check_credential (access, request, credential, &uid, why) < 0)
    return HTTP_IMPOSTOR;
  return access_viewer (access, uid, false, viewer, why) < 0 ? HTTP_IMPOSTOR : HTTP_KNOWN;
}

/* ---- tokens ---- */

static enum http_who
who_by_token (struct access *access, const char *token, struct viewer *viewer, struct error *why)
{
  char name[VIEWER_NAME_MAX + 1];
  int found;

  pthread_mutex_lock (&access->lock);
  found = access_tokens_find (access->tokens, token, name, why);
  pthread_mutex_unlock (&access->lock);
  if (found < 0 || access_viewer_named (access, name, viewer, why) < 0)
    return HTTP_IMPOSTOR;
  return HTTP_KNOWN;
}

/* ---- proxies, and connections of this host ---- */

static enum http_who
who_by_proxy (struct access *access, const struct http_request *request, struct viewer *viewer, struct error *why)
{
  char *header = copy_locked (access, &access->proxy_user_header);
  const char *name = *header ? http_request_header (request, header) : NULL;
  enum http_who who = HTTP_NOBODY;

  if (name && viewer_is_user (name))
    who = access_viewer_named (access, name, viewer, why) < 0 ? HTTP_IMPOSTOR : HTTP_KNOWN;
  free (header);
  return who;
}

static enum http_who
who_by_connection (struct access *access, const struct http_request *request, struct viewer *viewer, struct error *why)
{
  int64_t owner = http_request_owner (request);

  if (owner >= 0)
    return access_viewer (access, (uint32_t) owner, true, viewer, why) < 0 ? HTTP_IMPOSTOR : HTTP_LOCAL;
  pthread_mutex_lock (&access->lock);
  viewer->all = access->everybody; /* who is nobody sees all where everybody does */
  pthread_mutex_unlock (&access->lock);
  return HTTP_NOBODY;
}

enum http_who
access_who (void *context, const struct http_request *request, struct viewer *viewer, struct error *why)
{
  struct access *access = context;
  const char *authorization = http_request_header (request, "Authorization"), *shown;

  *viewer = viewer_nobody;
  if ((shown = of_scheme (authorization, "MUNGE")))
    return who_by_munge (access, request, shown, viewer, why);
  if ((shown = of_scheme (authorization, "Bearer")))
    return who_by_token (access, shown, viewer, why);
  if (http_request_is_proxied (request))
    return who_by_proxy (access, request, viewer, why);
  return who_by_connection (access, request, viewer, why);
}
