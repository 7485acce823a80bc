/* Line protocol to a subject of NATS, as cc-metric-store and ClusterCockpit's collector have it:
 *
 *   cpu_user,cluster=c1,type=hwthread,type-id=3,hostname=n1 value=12.5 1700000000
 *
 * Samples were taken when the server has seen them, which it says by answering a PING that comes behind them; with JetStream,
 * when the stream says for each message that it has stored it. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/send/line_protocol.h"
#include "aggregator/send/nats.h"
#include "aggregator/send/send_options.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/memory.h"

#define SECRET_SIZE 4096
#define CONNECT_MS 2000
#define FLUSH_MS 250        /* at once: it may be to stop */
#define STORE_MS 5000       /* for a message to be stored */
#define MESSAGE_MOST 262144 /* bytes, if the server takes so many */

struct nats_own {
  char *cluster, *subject, *credentials;
  bool jetstream;
};

struct nats_state {
  const struct send_setting *setting;
  const struct nats_own *own;
  struct line_style style;
  char *subject;
  bool loaded;
  struct nats nats;
  struct nats_connection *connection; /* NULL: none */
  size_t connected;                   /* how often */
  struct buffer lines;
};

static void *
nats_open (const struct send_setting *setting)
{
  struct nats_state *state = memory_new (1, sizeof *state);

  state->setting = setting;
  state->own = setting->own;
  state->style = (struct line_style){ .node = "hostname",
                                      .key = "cluster",
                                      .value = state->own->cluster,
                                      .usual = "type=node",
                                      .dashes = true,
                                      .jobless = true,
                                      .times = LINE_S };
  state->subject =
      *state->own->subject ? memory_string (state->own->subject) : memory_format ("%s.metrics", state->own->cluster);
  return state;
}

static void
disconnect (struct nats_state *state)
{
  if (state->connection)
    state->nats.destroy (state->connection);
  state->connection = NULL;
}

static void
nats_close (void *context)
{
  struct nats_state *state = context;

  disconnect (state);
  buffer_free (&state->lines);
  free (state->subject);
  free (state);
}

/* ---- connecting ---- */

static enum send_verdict
fail (struct nats_state *state, struct send_answer *answer, int status)
{
  const char *more = NULL;

  if (state->connection)
    state->nats.last_error (state->connection, &more);
  else
    more = state->nats.thread_error (NULL);
  if (more && *more == '(' && strstr (more, "): ")) /* where in libnats */
    more = strstr (more, "): ") + strlen ("): ");
  snprintf (answer->text, sizeof answer->text, "%.80s: %.40s%s%.120s", state->setting->options->url,
            state->nats.status_text (status), more && *more ? ": " : "", more ? more : "");
  disconnect (state);
  return SEND_AGAIN;
}

/* A secret's first line. */
static int
read_secret (const char *path, char secret[SECRET_SIZE], struct send_answer *answer)
{
  struct error error;

  if (file_read_text (path, secret, SECRET_SIZE, &error) < 0) {
    snprintf (answer->text, sizeof answer->text, "%.255s", error.text);
    return -1;
  }
  secret[strcspn (secret, "\r\n")] = '\0';
  return 0;
}

static int
set_login (struct nats_state *state, struct nats_options *made, struct send_answer *answer)
{
  const struct send_options *options = state->setting->options;
  char secret[SECRET_SIZE];
  int status = NATS_OK;

  if (*options->user || *options->token_file) {
    if (read_secret (*options->user ? options->password_file : options->token_file, secret, answer) < 0)
      return -1;
    status = *options->user ? state->nats.set_user (made, options->user, secret) : state->nats.set_token (made, secret);
    explicit_bzero (secret, sizeof secret);
  }
  if (status == NATS_OK && *state->own->credentials)
    status = state->nats.set_credentials (made, state->own->credentials, NULL);
  return status == NATS_OK ? 0 : (fail (state, answer, status), -1);
}

static int
set_tls (struct nats_state *state, struct nats_options *made)
{
  const struct send_options *options = state->setting->options;
  int status = NATS_OK;

  if (strncmp (options->url, "tls:", 4) == 0 || *options->ca || *options->certificate)
    status = state->nats.set_secure (made, true);
  if (status == NATS_OK && *options->ca)
    status = state->nats.load_ca (made, options->ca);
  if (status == NATS_OK && *options->certificate)
    status = state->nats.load_certificate (made, options->certificate, options->key);
  return status;
}

static int
set_all (struct nats_state *state, struct nats_options *made, struct send_answer *answer)
{
  int status = state->nats.set_url (made, state->setting->options->url);

  if (status == NATS_OK)
    status = state->nats.set_name (made, "synop");
  if (status == NATS_OK)
    status = state->nats.set_timeout (made, CONNECT_MS);
  if (status == NATS_OK)
    status = state->nats.set_allow_reconnect (made, false);
  if (status == NATS_OK)
    status = set_tls (state, made);
  if (status == NATS_OK)
    return set_login (state, made, answer);
  fail (state, answer, status);
  return -1;
}

static int
connect_now (struct nats_state *state, struct send_answer *answer)
{
  struct nats_options *made = NULL;
  int status = state->nats.options_create (&made), result = -1;

  if (status != NATS_OK)
    fail (state, answer, status);
  else
    result = set_all (state, made, answer);
  if (result == 0 && (status = state->nats.connect (&state->connection, made)) != NATS_OK) {
    fail (state, answer, status);
    result = -1;
  }
  if (made)
    state->nats.options_destroy (made);
  answer->fresh = result == 0 && state->connected++ > 0;
  return result;
}

static int
be_connected (struct nats_state *state, struct send_answer *answer)
{
  struct error error;

  if (!state->loaded && nats_load (&state->nats, &error) < 0) {
    snprintf (answer->text, sizeof answer->text, "%.255s", error.text);
    return -1;
  }
  state->loaded = true;
  if (state->connection && state->nats.is_closed (state->connection))
    disconnect (state);
  return state->connection ? 0 : connect_now (state, answer);
}

/* ---- messages ---- */

/* JetStream answers {"stream":"S","seq":1}, or {"error":{"description":"maximum messages exceeded"},"stream":"S","seq":0}. */
static enum send_verdict
judge_stored (const struct nats_state *state, const char *reply, size_t length, struct send_answer *answer)
{
  json_t *said = json_loadb (reply, length, 0, NULL);
  json_t *error = json_object_get (said, "error");
  const char *why = json_string_value (json_object_get (error, "description"));
  bool stored = !error && json_integer_value (json_object_get (said, "seq")) > 0;

  if (!stored)
    snprintf (answer->text, sizeof answer->text, "JetStream did not store %.80s: %.*s", state->subject,
              why ? 120 : (int) (length < 120 ? length : 120), why ? why : reply);
  json_decref (said);
  return stored ? SEND_TAKEN : SEND_AGAIN;
}

static enum send_verdict
store (struct nats_state *state, const char *lines, size_t length, struct send_answer *answer)
{
  struct nats_message *reply = NULL;
  int status = state->nats.request (&reply, state->connection, state->subject, lines, (int) length, STORE_MS);
  enum send_verdict verdict;

  if (status != NATS_OK)
    return fail (state, answer, status);
  verdict = judge_stored (state, state->nats.message_data (reply), (size_t) state->nats.message_length (reply), answer);
  state->nats.message_destroy (reply);
  return verdict;
}

static enum send_verdict
publish (struct nats_state *state, const char *lines, size_t length, struct send_answer *answer)
{
  int status = state->nats.publish (state->connection, state->subject, lines, (int) length);

  return status == NATS_OK ? SEND_TAKEN : fail (state, answer, status);
}

/* An error that the server sent meanwhile is about what was published: no permission, too large. */
static enum send_verdict
confirm (struct nats_state *state, struct send_answer *answer)
{
  int64_t due_ns = clock_monotonic () + state->setting->options->timeout_ns;
  const char *text = NULL;
  int status;

  do
    status = state->nats.flush (state->connection, FLUSH_MS);
  while (status == NATS_TIMEOUT && clock_monotonic () < due_ns && !send_is_stopped (state->setting));
  if (status == NATS_OK)
    status = state->nats.last_error (state->connection, &text);
  return status == NATS_OK ? SEND_TAKEN : fail (state, answer, status);
}

/* Where the next message ends: behind a line. */
static size_t
message_end (const struct buffer *lines, size_t from, size_t most)
{
  size_t to = lines->length - from <= most ? lines->length : from + most;

  while (to > from && lines->data[to - 1] != '\n')
    to--;
  return to > from ? to : lines->length;
}

static enum send_verdict
nats_deliver (void *context, const struct send_load *load, size_t *count, struct send_answer *answer)
{
  struct nats_state *state = context;
  enum send_verdict verdict = SEND_TAKEN;
  size_t most;

  if (be_connected (state, answer) < 0 || send_is_stopped (state->setting))
    return SEND_AGAIN;
  buffer_clear (&state->lines);
  for (size_t i = 0; i < *count; i++)
    line_put (&state->lines, &state->style, &load->samples[i]);
  most = (size_t) state->nats.most (state->connection);
  most = most && most < MESSAGE_MOST ? most : MESSAGE_MOST;
  for (size_t from = 0, to; verdict == SEND_TAKEN && from < state->lines.length; from = to) {
    to = message_end (&state->lines, from, most);
    verdict = (state->own->jetstream ? store : publish) (state, state->lines.data + from, to - from, answer);
  }
  return verdict == SEND_TAKEN && !state->own->jetstream ? confirm (state, answer) : verdict;
}

/* ---- options ---- */

static int
nats_check (const struct send_options *options, const void *own, struct error *error)
{
  const struct nats_own *nats = own;

  if (!*nats->cluster)
    return error_set (error, "cluster: must be given");
  if (*nats->credentials && (*options->user || *options->token_file))
    return error_set (error, "credentials: goes with neither user nor token_file");
  return 0;
}

#define AT(member) .offset = offsetof (struct nats_own, member)
static const struct option options[] = {
  { "", "cluster", NULL, OPTION_TEXT, AT (cluster), .help = "Of nats: the cluster's name, a tag of all lines." },
  { "", "subject", NULL, OPTION_TEXT, AT (subject), .help = "Of nats: where to. Empty: CLUSTER.metrics." },
  { "", "credentials", NULL, OPTION_PATH, AT (credentials),
    .help = "Of nats: file with credentials (.creds), a JWT and its seed." },
  { "", "jetstream", NULL, OPTION_BOOLEAN, AT (jetstream), "no",
    .help = "Of nats: a stream stores the subject, and says so for each message." },
};

const struct send_type send_nats = {
  .name = "nats",
  .schemes = "nats tls",
  .shared = SEND_FOR_SAMPLES SEND_FOR_LOGIN SEND_FOR_TLS "token_file ",
  .own = { options, sizeof options / sizeof options[0], sizeof (struct nats_own) },
  .names = "clustercockpit",
  .period_ns = 15 * NS_PER_S,
  .check = nats_check,
  .open = nats_open,
  .close = nats_close,
  .deliver = nats_deliver,
};
