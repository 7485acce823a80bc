/* Amazon CloudWatch: PutMetricData over HTTPS, signed; or lines in its embedded metric format for its agent.
 *
 * The samples at hand are folded once, and go in as many requests as they take: of one namespace each, within the limits. What
 * CloudWatch refuses is halved until what is wrong is alone, and dropped. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregator/send/aws.h"
#include "aggregator/send/cloudwatch.h"
#include "aggregator/send/cloudwatch_answer.h"
#include "aggregator/send/line_socket.h"
#include "aggregator/send/send_options.h"
#include "synop/clock.h"
#include "synop/globs.h"
#include "synop/gzip.h"
#include "synop/memory.h"

#define GZIP_FROM 1024 /* bytes: less is not worth it */
#define LOAD_MOST 60000
#define LOAD_BYTES ((size_t) 16 * 1024 * 1024)

enum { FORMAT_REQUEST, FORMAT_EMF };
enum { RESOLUTION_60, RESOLUTION_1 };

struct cloudwatch_options {
  char *namespace, *allow, *region, *profile, *credentials_file;
  int format, resolution;
};

struct cloudwatch {
  const struct send_options *options;
  struct aws_options aws_options;
  struct aws *aws;
  struct globs allow;
  bool allows;
  struct cloudwatch_form form;
  struct line_socket socket;
  struct cloudwatch_fold fold;
  bool folded;      /* the fold is of the load at hand */
  size_t at, count; /* in the fold's metrics: what is in the request at hand */
  size_t most;      /* metrics in a request: half as many after one was refused, then more again */
  uint64_t samples; /* of the load */
  uint64_t dropped; /* of these */
  char why[200];    /* they were dropped */
  struct buffer plain;
  char url[256], sigv4[128], token[8300];
};

static int64_t
resolution_s (const struct cloudwatch_options *own)
{
  return own->resolution == RESOLUTION_1 ? 1 : 60;
}

static int64_t
cloudwatch_gather (const void *own)
{
  return resolution_s (own) * NS_PER_S;
}

static void *
cloudwatch_open (const struct send_setting *setting)
{
  const struct cloudwatch_options *own = setting->own;
  struct cloudwatch *state = memory_new (1, sizeof *state);

  state->options = setting->options;
  state->aws_options = (struct aws_options){ own->region, own->profile, own->credentials_file };
  state->aws = aws_create (&state->aws_options);
  globs_init (&state->allow, own->allow);
  state->allows = *own->allow;
  state->form = (struct cloudwatch_form){ own->namespace, resolution_s (own) };
  state->most = CLOUDWATCH_METRICS_MAX;
  line_socket_init (&state->socket, setting);
  return state;
}

static void
cloudwatch_close (void *context)
{
  struct cloudwatch *state = context;

  aws_destroy (state->aws);
  globs_free (&state->allow);
  cloudwatch_fold_free (&state->fold);
  line_socket_close (&state->socket);
  buffer_free (&state->plain);
  explicit_bzero (state->token, sizeof state->token);
  free (state);
}

/* Each series costs money: those of a set that is made for CloudWatch, and what the option allows. */
static bool
cloudwatch_wants (void *context, const struct send_series *series)
{
  const struct cloudwatch *state = context;
  const struct metric_family *family = series->family->public;

  return family->type != FAMILY_INFO &&
         (family->quoted || (state->allows && globs_match (&state->allow, family->name)));
}

/* ---- requests ---- */

static void
fold (struct cloudwatch *state, const struct send_load *load)
{
  int64_t now_s = clock_wall () / NS_PER_S;

  cloudwatch_fold (&state->fold, load->samples, load->count, state->form.resolution_s, now_s - CLOUDWATCH_OLDEST_S);
  state->folded = true;
  state->at = 0;
  state->most = CLOUDWATCH_METRICS_MAX;
  state->samples = load->count;
  state->dropped = state->fold.old + state->fold.unfit;
  *state->why = '\0';
  if (state->fold.unfit)
    snprintf (state->why, sizeof state->why,
              "%" PRIu64 " samples are no numbers that CloudWatch takes, or have more than %d dimensions",
              state->fold.unfit, CLOUDWATCH_DIMENSIONS_MAX);
  if (state->fold.old)
    snprintf (state->why, sizeof state->why, "%" PRIu64 " samples are older than two weeks, which CloudWatch takes not",
              state->fold.old);
}

static void
cloudwatch_pack (void *context, const struct send_load *load, struct send_request *request)
{
  struct cloudwatch *state = context;

  if (!state->folded)
    fold (state, load);
  state->count = 0;
  if (state->at == state->fold.metric_count)
    return;
  state->count = cloudwatch_put_form (&state->plain, &state->form, &state->fold, state->at, state->most);
  request->headers[0] = "Content-Type: application/x-www-form-urlencoded; charset=utf-8";
  if (state->plain.length >= GZIP_FROM && gzip_pack (&state->plain, GZIP_FAST, &request->body, NULL) == 0)
    request->headers[1] = "Content-Encoding: gzip";
  else
    buffer_add (&request->body, state->plain.data, state->plain.length);
}

/* The service's address in a region. */
static const char *
find_url (struct cloudwatch *state, const char *region)
{
  const char *end = strncmp (region, "cn-", 3) == 0 ? ".cn" : "";

  if (*state->options->url)
    return state->options->url;
  snprintf (state->url, sizeof state->url, "https://monitoring.%.64s.amazonaws.com%s/", region, end);
  return state->url;
}

static int
cloudwatch_prepare (void *context, struct send_request *request, struct send_answer *answer)
{
  struct cloudwatch *state = context;
  struct error error;
  const char *region = aws_region (state->aws, &error);
  const struct aws_keys *keys = region ? aws_keys (state->aws, clock_wall () / NS_PER_S, &error) : NULL;
  size_t next = request->headers[1] ? 2 : 1;

  if (!keys) {
    snprintf (answer->text, sizeof answer->text, "%.250s", error.text);
    return -1;
  }
  snprintf (state->sigv4, sizeof state->sigv4, "aws:amz:%.64s:monitoring", region);
  request->url = find_url (state, region);
  request->sigv4 = state->sigv4;
  request->user = keys->id;
  request->password = keys->secret;
  if (*keys->token) {
    snprintf (state->token, sizeof state->token, "X-Amz-Security-Token: %s", keys->token);
    request->headers[next++] = state->token;
  }
  request->headers[next] = NULL;
  return 0;
}

/* ---- answers ---- */

static uint64_t
samples_at_hand (const struct cloudwatch *state)
{
  uint64_t samples = 0;

  for (size_t i = state->at; i < state->at + state->count; i++)
    samples += state->fold.metrics[i].samples;
  return samples;
}

/* All of it is taken, but for what was dropped. */
static enum send_verdict
end_load (const struct cloudwatch *state, struct send_answer *answer)
{
  answer->taken = state->samples - state->dropped;
  snprintf (answer->text, sizeof answer->text, "%s", state->why);
  answer->status = 0; /* the words are ours */
  return state->dropped ? SEND_PART : SEND_TAKEN;
}

/* Half of them, or without the only one. */
static void
take_refusal (struct cloudwatch *state, const struct send_answer *answer)
{
  if (state->count > 1) {
    state->most = state->count / 2;
    return;
  }
  snprintf (state->why, sizeof state->why, "CloudWatch refuses a metric: %.150s", answer->text);
  state->dropped += samples_at_hand (state);
  state->at += state->count;
}

static enum send_verdict
cloudwatch_judge (void *context, struct send_answer *answer)
{
  struct cloudwatch *state = context;
  enum cloudwatch_judgement judgement = cloudwatch_judge_answer (answer, clock_wall () / NS_PER_S);

  if (judgement == CLOUDWATCH_KEYS)
    aws_forget (state->aws);
  if (judgement == CLOUDWATCH_KEYS || judgement == CLOUDWATCH_AGAIN)
    return SEND_AGAIN;
  if (judgement == CLOUDWATCH_REFUSED) {
    take_refusal (state, answer);
  } else {
    state->at += state->count;
    state->most *= state->most < CLOUDWATCH_METRICS_MAX ? 2 : 1;
  }
  *answer->text = '\0';
  if (state->at < state->fold.metric_count)
    return SEND_ANOTHER;
  state->folded = false;
  return end_load (state, answer);
}

/* ---- lines, over a socket ---- */

static enum send_verdict
cloudwatch_deliver (void *context, const struct send_load *load, size_t *count, struct send_answer *answer)
{
  struct cloudwatch *state = context;
  enum send_verdict verdict = SEND_TAKEN;

  (void) count;
  fold (state, load);
  state->folded = false;
  buffer_clear (&state->plain);
  cloudwatch_put_emf (&state->plain, &state->form, &state->fold);
  if (state->plain.length)
    verdict = line_socket_write (&state->socket, &state->plain, answer);
  return verdict == SEND_TAKEN ? end_load (state, answer) : verdict;
}

/* ---- options ---- */

static bool
names_rule (const char *names)
{
  for (const char *at = names; *at; at += strspn (at, ", ")) {
    size_t length = strcspn (at, ", ");
    if (length == strlen ("synop") && strncmp (at, "synop", length) == 0)
      return true;
    at += length;
  }
  return false;
}

static int
cloudwatch_check (const struct send_options *options, const void *context, struct error *error)
{
  const struct cloudwatch_options *own = context;

  if ((own->format == FORMAT_EMF) == send_posts (options))
    return error_set (error, own->format == FORMAT_EMF
                                 ? "url: must be given, tcp://127.0.0.1:25888 of CloudWatch's agent"
                                 : "format: must be emf, for a url that is no http");
  if (names_rule (options->names) && !*own->allow)
    return error_set (error, "allow: must say which of synop's own names are sent, since each series costs money");
  return 0;
}

static int
check_namespace (const char *value, struct error *error)
{
  if (strlen (value) > CLOUDWATCH_NAME_MAX || strncmp (value, "AWS/", 4) == 0 || *value == ':')
    return error_set (error, "must be at most %d characters, and not begin with AWS/ or ':'", CLOUDWATCH_NAME_MAX);
  return 0;
}

static const char *const formats[] = { [FORMAT_REQUEST] = "request", [FORMAT_EMF] = "emf", NULL };
static const char *const resolutions[] = { [RESOLUTION_60] = "60", [RESOLUTION_1] = "1", NULL };

#define AT(member) .offset = offsetof (struct cloudwatch_options, member)
static const struct option options[] = {
  { "", "format", NULL, OPTION_CHOICE, AT (format), "request", .choices = formats,
    .help = "Of cloudwatch: request: posted to the service; emf: lines in its embedded metric format, to its agent." },
  { "", "namespace", NULL, OPTION_TEXT, AT (namespace), "synop", .check = check_namespace,
    .help = "Of cloudwatch: the namespace of metrics whose name says none." },
  { "", "allow", NULL, OPTION_LIST, AT (allow), .check = globs_list_check,
    .help = "Of cloudwatch: patterns of names that are sent, since each series costs money. Names in quotes in a names "
            "file always are." },
  { "", "resolution", NULL, OPTION_CHOICE, AT (resolution), "60", .choices = resolutions,
    .help = "Of cloudwatch: seconds whose values are one datum: 60, or 1 as high resolution has it." },
  { "", "region", NULL, OPTION_TEXT, AT (region),
    .help = "Of cloudwatch: AWS' region. Empty: AWS_REGION, or that of the instance." },
  { "", "profile", NULL, OPTION_TEXT, AT (profile),
    .help = "Of cloudwatch: section of the credentials file. Empty: AWS_PROFILE, or default." },
  { "", "credentials_file", NULL, OPTION_PATH, AT (credentials_file),
    .help =
        "Of cloudwatch: file with keys, as ~/.aws/credentials. Empty: the environment, that file, the container's or "
        "the instance's role." },
};

const struct send_type send_cloudwatch = {
  .name = "cloudwatch",
  .schemes = "http https tcp udp unix unixgram",
  .shared = "names labels " SEND_FOR_TLS,
  .own = { options, sizeof options / sizeof options[0], sizeof (struct cloudwatch_options) },
  .names = "gpumon",
  .period_ns = 10 * NS_PER_S,
  .folds = true,
  .url_optional = true,
  .load_most = LOAD_MOST,
  .load_bytes = LOAD_BYTES,
  .gather_ns = cloudwatch_gather,
  .check = cloudwatch_check,
  .open = cloudwatch_open,
  .close = cloudwatch_close,
  .wants = cloudwatch_wants,
  .pack = cloudwatch_pack,
  .prepare = cloudwatch_prepare,
  .judge = cloudwatch_judge,
  .deliver = cloudwatch_deliver,
};
