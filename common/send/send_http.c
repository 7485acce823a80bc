/* See send_http.h. */
#include "synop/send_http.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/send/curl_library.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/memory.h"
#include "synop/version.h"

#define SECRET_MAX 16384
#define CONNECT_MS 10000L
#define LOOK_MS 1000

struct send_http {
  struct send_http_options options;
  const struct curl_library *curl; /* NULL: there is none, and why: */
  struct error absent;
  CURL *easy;
  CURLM *multi;
  char why[CURL_ERROR_SIZE];
  struct send_answer *answer;
  size_t text;
  atomic_bool stop;
};

/* The first words of an answer, in one line, and its first bytes; the rest is read and forgotten. */
static size_t
take_text (char *bytes, size_t size, size_t count, void *context)
{
  struct send_http *http = context;
  struct send_answer *answer = http->answer;
  size_t room = sizeof answer->text - 1 - http->text, length = size * count < room ? size * count : room;
  size_t left = sizeof answer->body - answer->length, taken = size * count < left ? size * count : left;

  memcpy (answer->body + answer->length, bytes, taken);
  answer->length += taken;
  for (size_t i = 0; i < length; i++) {
    bool plain = (unsigned char) bytes[i] >= ' ' && bytes[i] != 0x7f;
    answer->text[http->text++] = plain ? bytes[i] : ' ';
  }
  return size * count;
}

/* A line of the answer's head. Remote write's receivers count what they wrote of each kind of which there is some, or may be. */
static size_t
take_head (char *bytes, size_t size, size_t count, void *context)
{
  static const char written[] = "X-Prometheus-Remote-Write-";
  struct send_http *http = context;
  struct send_answer *answer = http->answer;
  char line[128], kind[32];
  uint64_t number;

  snprintf (line, sizeof line, "%.*s", (int) (size * count), bytes);
  answer->closes |= strncmp (line, "HTTP/1.0 ", 9) == 0 || strncasecmp (line, "Connection: close", 17) == 0;
  if (strncasecmp (line, "Date: ", 6) == 0)
    answer->date_s = http->curl->getdate (line + 6, NULL);
  if (strncasecmp (line, written, strlen (written)) == 0 &&
      sscanf (line + strlen (written), "%31[A-Za-z]-%*7[A-Za-z]: %" SCNu64, kind, &number) == 2) {
    answer->counted = true;
    answer->taken = strcasecmp (kind, "Samples") == 0 ? number : answer->taken;
  }
  return size * count;
}

static struct curl_slist *
make_headers (const struct curl_library *curl, const char *const *headers)
{
  struct curl_slist *list = curl->slist_append (NULL, "Expect:"); /* no waiting for a 100 */

  for (; *headers; headers++)
    list = curl->slist_append (list, *headers);
  return list;
}

static void
set_up (struct send_http *http)
{
  const struct send_http_options *options = &http->options;
  const struct curl_library *curl = http->curl;
  long timeout_ms = (long) (options->timeout_ns / NS_PER_MS);

  http->easy = curl->easy_init ();
  http->multi = curl->multi_init ();
  if (!http->easy || !http->multi)
    abort ();
  curl->easy_setopt (http->easy, CURLOPT_POST, 1L);
  curl->easy_setopt (http->easy, CURLOPT_USERAGENT, "synop/" SYNOP_VERSION);
  curl->easy_setopt (http->easy, CURLOPT_NOSIGNAL, 1L);
  curl->easy_setopt (http->easy, CURLOPT_TIMEOUT_MS, timeout_ms);
  curl->easy_setopt (http->easy, CURLOPT_CONNECTTIMEOUT_MS, timeout_ms < CONNECT_MS ? timeout_ms : CONNECT_MS);
  curl->easy_setopt (http->easy, CURLOPT_ERRORBUFFER, http->why);
  curl->easy_setopt (http->easy, CURLOPT_WRITEFUNCTION, take_text);
  curl->easy_setopt (http->easy, CURLOPT_WRITEDATA, http);
  curl->easy_setopt (http->easy, CURLOPT_HEADERFUNCTION, take_head);
  curl->easy_setopt (http->easy, CURLOPT_HEADERDATA, http);
  if (*options->ca)
    curl->easy_setopt (http->easy, CURLOPT_CAINFO, options->ca);
  if (*options->certificate) {
    curl->easy_setopt (http->easy, CURLOPT_SSLCERT, options->certificate);
    curl->easy_setopt (http->easy, CURLOPT_SSLKEY, options->key);
  }
}

struct send_http *
send_http_create (const struct send_http_options *options)
{
  struct send_http *http = memory_new (1, sizeof *http);

  http->options = *options;
  http->curl = curl_library (&http->absent);
  if (http->curl)
    set_up (http);
  return http;
}

void
send_http_destroy (struct send_http *http)
{
  if (!http)
    return;
  if (http->curl) {
    http->curl->easy_cleanup (http->easy);
    http->curl->multi_cleanup (http->multi);
  }
  free (http);
}

void
send_http_stop (struct send_http *http)
{
  if (!http || !http->curl)
    return;
  atomic_store (&http->stop, true);
  http->curl->multi_wakeup (http->multi);
}

/* ---- secrets ---- */

/* The first line of a file. */
static int
read_secret (const char *path, char secret[SECRET_MAX], struct send_answer *answer)
{
  struct error error;

  if (file_read_text (path, secret, SECRET_MAX, &error) < 0) {
    snprintf (answer->text, sizeof answer->text, "%.255s", error.text);
    return -1;
  }
  secret[strcspn (secret, "\r\n")] = '\0';
  return 0;
}

static int
set_secrets (struct send_http *http, const struct send_request *request, struct send_answer *answer)
{
  const struct send_http_options *options = &http->options;
  const struct curl_library *curl = http->curl;
  char secret[SECRET_MAX];
  int result = 0;

  if (request->sigv4) {
    curl->easy_setopt (http->easy, CURLOPT_AWS_SIGV4, request->sigv4);
    curl->easy_setopt (http->easy, CURLOPT_USERNAME, request->user);
    curl->easy_setopt (http->easy, CURLOPT_PASSWORD, request->password);
  }

  if (*options->bearer_file && (result = read_secret (options->bearer_file, secret, answer)) == 0) {
    curl->easy_setopt (http->easy, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    curl->easy_setopt (http->easy, CURLOPT_XOAUTH2_BEARER, secret);
  }
  if (*options->user && (result = read_secret (options->password_file, secret, answer)) == 0) {
    curl->easy_setopt (http->easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl->easy_setopt (http->easy, CURLOPT_USERNAME, options->user);
    curl->easy_setopt (http->easy, CURLOPT_PASSWORD, secret);
  }
  explicit_bzero (secret, sizeof secret);
  return result;
}

/* ---- a request ---- */

static CURLcode
perform (struct send_http *http)
{
  const struct curl_library *curl = http->curl;
  CURLcode code = CURLE_ABORTED_BY_CALLBACK;
  int running = 1, messages;

  http->why[0] = '\0';
  curl->multi_add_handle (http->multi, http->easy);
  while (running && !atomic_load (&http->stop)) {
    curl->multi_perform (http->multi, &running);
    if (running)
      curl->multi_poll (http->multi, NULL, 0, LOOK_MS, NULL);
  }
  for (CURLMsg *message; (message = curl->multi_info_read (http->multi, &messages));)
    if (message->msg == CURLMSG_DONE)
      code = message->data.result;
  curl->multi_remove_handle (http->multi, http->easy);
  return code;
}

/* What takes samples answers no web page to them: a proxy does, that wants a login, or a server at a wrong url. */
static bool
is_page (const struct send_answer *answer)
{
  static const char *const begins[] = { "<!doctype html", "<html" };
  size_t blank = 0;

  while (blank < answer->length && strchr (" \t\r\n", answer->body[blank]))
    blank++;
  for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
    if (answer->length - blank >= strlen (begins[i]) &&
        strncasecmp (answer->body + blank, begins[i], strlen (begins[i])) == 0)
      return true;
  return false;
}

void
send_http_post (struct send_http *http, const struct send_request *request, struct send_answer *answer)
{
  const struct curl_library *curl = http->curl;
  struct curl_slist *headers;
  curl_off_t after = 0;
  long connections = 0;
  CURLcode code;

  *answer = (struct send_answer){ 0 };
  http->answer = answer;
  http->text = 0;
  if (!curl)
    snprintf (answer->text, sizeof answer->text, "%.255s", http->absent.text);
  if (!curl || set_secrets (http, request, answer) < 0)
    return;
  headers = make_headers (curl, request->headers);
  curl->easy_setopt (http->easy, CURLOPT_URL, request->url ? request->url : http->options.url);
  curl->easy_setopt (http->easy, CURLOPT_HTTPHEADER, headers);
  curl->easy_setopt (http->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) request->body.length);
  curl->easy_setopt (http->easy, CURLOPT_POSTFIELDS, request->body.data);
  code = perform (http);
  curl->slist_free_all (headers);
  curl->easy_getinfo (http->easy, CURLINFO_NUM_CONNECTS, &connections);
  answer->fresh = connections > 0;
  if (code == CURLE_OK) {
    curl->easy_getinfo (http->easy, CURLINFO_RESPONSE_CODE, &answer->status);
    curl->easy_getinfo (http->easy, CURLINFO_RETRY_AFTER, &after);
    answer->after_ns = after < 86400 ? after * NS_PER_S : 86400 * NS_PER_S;
    if (answer->status >= 200 && answer->status < 300 && is_page (answer)) {
      snprintf (answer->text, sizeof answer->text, "what answers %ld is a web page, and no receiver: is its url right?",
                answer->status);
      answer->status = 0;
    }
  } else {
    snprintf (answer->text, sizeof answer->text, "%s", *http->why ? http->why : curl->easy_strerror (code));
  }
}

void
send_answer_text (const struct send_answer *answer, char *text, size_t size)
{
  if (answer->status)
    snprintf (text, size, "the receiver answers %ld: %s", answer->status, answer->text);
  else
    snprintf (text, size, "%s", answer->text);
}
