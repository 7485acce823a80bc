/* InfluxDB's line protocol: over HTTP to InfluxDB 1 (`database`) and 2 (`bucket`), or to a socket, such as Telegraf's. */
#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/send/line_protocol.h"
#include "aggregator/send/line_socket.h"
#include "aggregator/send/send_options.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/memory.h"

#define TOKEN_SIZE 4096

struct influx_options {
  char *bucket, *org, *database;
};

struct influx_state {
  const struct send_setting *setting;
  const struct influx_options *own;
  char *url;
  char header[TOKEN_SIZE + 32]; /* with the token */
  struct line_socket socket;
  struct buffer lines;
  size_t asked; /* samples of the request at hand */
};

static const struct line_style style_ms = { .node = "host", .times = LINE_MS };

/* ---- a request ---- */

static void
put_argument (struct buffer *url, const char *name, const char *value)
{
  char *escaped = *value ? curl_easy_escape (NULL, value, 0) : NULL;

  if (escaped)
    buffer_printf (url, "&%s=%s", name, escaped);
  curl_free (escaped);
}

/* The option's url, with a path of its own or without. */
static char *
make_url (const struct influx_state *state)
{
  const char *base = state->setting->options->url, *path = strchr (strstr (base, "://") + 3, '/');
  size_t length = strlen (base);
  struct buffer url = { 0 };

  if (path && !path[1])
    length--;
  buffer_add (&url, base, length);
  if (!path || !path[1])
    buffer_add_string (&url, *state->own->bucket ? "/api/v2/write" : "/write");
  buffer_add_string (&url, "?precision=ms");
  put_argument (&url, "bucket", state->own->bucket);
  put_argument (&url, "org", state->own->org);
  put_argument (&url, "db", state->own->database);
  buffer_add (&url, "", 1);
  return url.data;
}

static void *
influx_open (const struct send_setting *setting)
{
  struct influx_state *state = memory_new (1, sizeof *state);

  state->setting = setting;
  state->own = setting->own;
  line_socket_init (&state->socket, setting);
  if (send_posts (setting->options))
    state->url = make_url (state);
  return state;
}

static void
influx_close (void *context)
{
  struct influx_state *state = context;

  line_socket_close (&state->socket);
  buffer_free (&state->lines);
  explicit_bzero (state->header, sizeof state->header);
  free (state->url);
  free (state);
}

static void
influx_pack (void *context, const struct send_load *load, struct send_request *request)
{
  struct influx_state *state = context;

  for (size_t i = 0; i < load->count; i++)
    line_put (&request->body, &style_ms, &load->samples[i]);
  state->asked = load->count;
  request->url = state->url;
  request->headers[0] = "Content-Type: text/plain; charset=utf-8";
}

static int
influx_prepare (void *context, struct send_request *request, struct send_answer *answer)
{
  struct influx_state *state = context;
  const char *token_file = state->setting->options->token_file;
  char token[TOKEN_SIZE];
  struct error error;

  if (!*token_file)
    return 0;
  if (file_read_text (token_file, token, sizeof token, &error) < 0) {
    snprintf (answer->text, sizeof answer->text, "%.255s", error.text);
    return -1;
  }
  token[strcspn (token, "\r\n")] = '\0';
  snprintf (state->header, sizeof state->header, "Authorization: Token %s", token);
  explicit_bzero (token, sizeof token);
  request->headers[1] = state->header;
  return 0;
}

/* "partial write: ... dropped=3": the others were written. */
static bool
is_partial (const struct influx_state *state, struct send_answer *answer)
{
  const char *dropped = strstr (answer->text, "dropped=");
  uint64_t count;

  if (answer->status != 400 || !strstr (answer->text, "partial write") || !dropped ||
      sscanf (dropped, "dropped=%" SCNu64, &count) != 1)
    return false;
  answer->taken = count < state->asked ? state->asked - count : 0;
  return true;
}

/* Who may not write, and where nothing is, is to be mended there: what was sent is well. */
static enum send_verdict
influx_judge (void *context, struct send_answer *answer)
{
  static const long again[] = { 401, 403, 404, 408, 429 };

  if (answer->status >= 200 && answer->status < 300)
    return SEND_TAKEN;
  if (is_partial (context, answer))
    return SEND_PART;
  for (size_t i = 0; i < sizeof again / sizeof again[0]; i++)
    if (answer->status == again[i])
      return SEND_AGAIN;
  return answer->status >= 400 && answer->status < 500 ? SEND_REFUSED : SEND_AGAIN;
}

/* ---- a socket ---- */

static enum send_verdict
influx_deliver (void *context, const struct send_load *load, size_t *count, struct send_answer *answer)
{
  static const struct line_style style_ns = { .node = "host", .times = LINE_NS };
  struct influx_state *state = context;

  buffer_clear (&state->lines);
  for (size_t i = 0; i < *count; i++)
    line_put (&state->lines, &style_ns, &load->samples[i]);
  return line_socket_write (&state->socket, &state->lines, answer);
}

/* ---- options ---- */

static int
influx_check (const struct send_options *options, const void *own, struct error *error)
{
  const struct influx_options *influx = own;

  if (!send_posts (options))
    return *influx->bucket || *influx->database ? error_set (error, "url: has no bucket or database, over a socket")
                                                : 0;
  if (!*influx->bucket == !*influx->database)
    return error_set (error, *influx->bucket ? "bucket: goes with no database: that is for InfluxDB 1"
                                             : "bucket: must be given, or database for InfluxDB 1");
  return 0;
}

#define AT(member) .offset = offsetof (struct influx_options, member)
static const struct option options[] = {
  { "", "bucket", NULL, OPTION_TEXT, AT (bucket), .help = "Of influx: where to in InfluxDB 2 and later." },
  { "", "org", NULL, OPTION_TEXT, AT (org), .help = "Of influx: whose bucket it is." },
  { "", "database", NULL, OPTION_TEXT, AT (database), .help = "Of influx: where to in InfluxDB 1." },
};

const struct send_type send_influx = {
  .name = "influx",
  .schemes = "http https udp tcp unix unixgram",
  .shared = SEND_FOR_SAMPLES SEND_FOR_HTTP "token_file ",
  .own = { options, sizeof options / sizeof options[0], sizeof (struct influx_options) },
  .names = "synop",
  .period_ns = 15 * NS_PER_S,
  .check = influx_check,
  .open = influx_open,
  .close = influx_close,
  .pack = influx_pack,
  .prepare = influx_prepare,
  .judge = influx_judge,
  .deliver = influx_deliver,
};
