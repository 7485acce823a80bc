/* A question to the API, by HTTP: with each credential that there is in turn, until one is taken. */
#include <curl/curl.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/access/access_munge.h"
#include "aggregator/api/api_route.h"
#include "aggregator/reach/reach_message.h"
#include "aggregator/reach/reach_private.h"
#include "synop/http.h"
#include "synop/version.h"

#define CONNECT_SECONDS 10L
#define IDLE_SECONDS 60L
#define REFUSAL_MAX (64 * 1024)
#define UNAUTHORIZED 401

/* ---- the question ---- */

void
reach_path (struct reach_question *question, const char *part)
{
  http_target_add (&question->path, part, "/");
}

void
reach_parameter (struct reach_question *question, const char *name, const char *value)
{
  if (!value || !*value)
    return;
  buffer_printf (&question->parameters, "%s%s=", question->parameters.length ? "&" : "?", name);
  http_target_add (&question->parameters, value, "");
}

void
reach_question_free (struct reach_question *question)
{
  buffer_free (&question->path);
  buffer_free (&question->parameters);
}

/* ---- one try ---- */

struct asking {
  const struct reach *reach;
  CURL *easy;
  void *context;
  int (*put) (void *context, const void *bytes, size_t length, struct error *error); /* NULL: it is printed */
  struct buffer refusal; /* the answer, where it is none of 200 */
  struct error put_error;
  bool failed; /* `put` did */
  bool endless;
};

static size_t
take_body (char *bytes, size_t size, size_t count, void *context)
{
  struct asking *asking = context;
  size_t length = size * count;
  long status = 0;

  curl_easy_getinfo (asking->easy, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) {
    if (asking->refusal.length + length <= REFUSAL_MAX)
      buffer_add (&asking->refusal, bytes, length);
    return length;
  }
  asking->failed =
      (asking->put ? asking->put : reach_put_output) (asking->context, bytes, length, &asking->put_error) < 0;
  return asking->failed ? 0 : length;
}

/* A host with a wrong name in its certificate, a redirection, a proxy of the environment: none of them gets a credential. */
static void
set_up (struct asking *asking, const char *url, struct curl_slist *headers, char *why)
{
  CURL *easy = asking->easy;

  curl_easy_reset (easy);
  curl_easy_setopt (easy, CURLOPT_URL, url);
  curl_easy_setopt (easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt (easy, CURLOPT_USERAGENT, "synop/" SYNOP_VERSION);
  curl_easy_setopt (easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt (easy, CURLOPT_PROXY, "");
  curl_easy_setopt (easy, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
  curl_easy_setopt (easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt (easy, CURLOPT_LOW_SPEED_LIMIT, asking->endless ? 0L : 1L);
  curl_easy_setopt (easy, CURLOPT_LOW_SPEED_TIME, IDLE_SECONDS);
  curl_easy_setopt (easy, CURLOPT_ERRORBUFFER, why);
  curl_easy_setopt (easy, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt (easy, CURLOPT_WRITEDATA, asking);
  if (*asking->reach->ca)
    curl_easy_setopt (easy, CURLOPT_CAINFO, asking->reach->ca);
}

/* The status; 0 and error: there was no answer. */
static long
perform (struct asking *asking, const char *url, const char *authorization, struct error *error)
{
  struct curl_slist *headers = authorization ? curl_slist_append (NULL, authorization) : NULL;
  char why[CURL_ERROR_SIZE] = "";
  long status = 0;
  CURLcode code;

  buffer_clear (&asking->refusal);
  set_up (asking, url, headers, why);
  code = curl_easy_perform (asking->easy);
  curl_easy_getinfo (asking->easy, CURLINFO_RESPONSE_CODE, &status);
  curl_slist_free_all (headers);
  if (code == CURLE_OK)
    return status;
  if (asking->failed)
    *error = asking->put_error;
  else
    error_set (error, "%s: %s; is the aggregator there? %s", asking->reach->url, *why ? why : curl_easy_strerror (code),
               asking->reach->usual ? "[access] url, SYNOP_URL or --url says where it is"
                                    : "that is what [access] url, "
                                      "SYNOP_URL or --url says");
  return 0;
}

/* ---- all of them ---- */

static int
fail (struct asking *asking, long status, const char *as, const char *tried, struct error *error)
{
  char *message = reach_message (buffer_text (&asking->refusal));

  if (status == UNAUTHORIZED)
    error_set (error,
               "%s: it does not let %s in:%s; MUNGE works where munged runs here and there; a token is made by "
               "\"synop-aggregator token %s\" on the aggregator's host, for ~/.config/synop/token",
               asking->reach->url, asking->reach->user, tried, asking->reach->user);
  else
    error_set (error, "%s (%s, asked as %s)", message, asking->reach->url, as);
  free (message);
  return -1;
}

static int
try_all (struct asking *asking, const char *target, struct error *error)
{
  struct buffer url = { 0 }, tried = { 0 };
  char as[128] = "nobody";
  long status = UNAUTHORIZED;
  int result = -1;

  buffer_printf (&url, "%s%s", asking->reach->url, target + 1);
  for (enum reach_credential kind = 0; kind < REACH_CREDENTIALS && status == UNAUTHORIZED; kind++) {
    struct buffer header = { 0 };
    struct error why;
    if (reach_credential_make (kind, asking->reach, target, &header, &why) < 0) {
      buffer_printf (&tried, " %s;", why.text);
      continue;
    }
    snprintf (as, sizeof as, "%.64s%s", asking->reach->user, reach_credential_names[kind]);
    status = perform (asking, buffer_text (&url), header.length ? buffer_text (&header) : NULL, error);
    if (status == UNAUTHORIZED) {
      char *message = reach_message (buffer_text (&asking->refusal));
      buffer_printf (&tried, " %s;", message);
      free (message);
    }
    if (header.length)
      explicit_bzero (header.data, header.length);
    buffer_free (&header);
  }
  if (tried.length)
    tried.length--;
  if (status == 200)
    result = 0;
  else if (status != 0)
    fail (asking, status, as, buffer_text (&tried), error);
  buffer_free (&url);
  buffer_free (&tried);
  return result;
}

static void
curl_begin (void)
{
  curl_global_init (CURL_GLOBAL_DEFAULT);
}

int
reach_ask (const struct reach *reach, struct reach_question *question, void *context,
           int (*put) (void *context, const void *bytes, size_t length, struct error *error), struct error *error)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  struct asking asking = { .reach = reach, .context = context, .put = put, .endless = question->endless };
  struct buffer target = { 0 };
  int result;

  pthread_once (&once, curl_begin);
  asking.easy = curl_easy_init ();
  buffer_printf (&target, API_PREFIX "%s", buffer_text (&question->path));
  buffer_add_string (&target, buffer_text (&question->parameters));
  result = asking.easy ? try_all (&asking, buffer_text (&target), error) : error_set (error, "libcurl does not start");
  curl_easy_cleanup (asking.easy);
  buffer_free (&asking.refusal);
  buffer_free (&target);
  return result;
}
