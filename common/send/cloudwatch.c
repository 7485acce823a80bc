/* See cloudwatch.h. */
#include "synop/cloudwatch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/send/aws.h"
#include "common/send/cloudwatch_answer.h"
#include "common/send/cloudwatch_private.h"
#include "synop/clock.h"
#include "synop/globs.h"
#include "synop/gzip.h"
#include "synop/memory.h"

#define GZIP_FROM 1024 /* bytes: less is not worth it */

enum { RESOLUTION_60, RESOLUTION_1 };
const char *const cloudwatch_resolutions[] = { [RESOLUTION_60] = "60", [RESOLUTION_1] = "1", NULL };

struct cloudwatch {
  const char *where; /* the option url */
  struct aws_options aws_options;
  struct aws *aws;
  struct globs allow;
  bool allows;
  struct cloudwatch_form form;
  struct cloudwatch_fold fold;
  bool folded;      /* the fold is of the samples at hand */
  size_t at, count; /* in the fold's metrics: what is in the request at hand */
  size_t most;      /* metrics in a request: half as many after one was refused, then more again */
  uint64_t samples; /* at hand */
  uint64_t dropped; /* of these */
  char why[200];    /* they were dropped */
  struct buffer plain;
  char url[256], sigv4[128], token[8300];
};

int64_t
cloudwatch_resolution (const struct cloudwatch_options *options)
{
  return options->resolution == RESOLUTION_1 ? 1 : 60;
}

struct cloudwatch *
cloudwatch_create (const struct cloudwatch_options *options, const char *url)
{
  struct cloudwatch *state = memory_new (1, sizeof *state);

  state->where = url;
  state->aws_options = (struct aws_options){ options->region, options->profile, options->credentials_file };
  state->aws = aws_create (&state->aws_options);
  globs_init (&state->allow, options->allow);
  state->allows = *options->allow;
  state->form = (struct cloudwatch_form){ options->namespace, cloudwatch_resolution (options) };
  return state;
}

void
cloudwatch_destroy (struct cloudwatch *state)
{
  aws_destroy (state->aws);
  globs_free (&state->allow);
  cloudwatch_fold_free (&state->fold);
  buffer_free (&state->plain);
  explicit_bzero (state->token, sizeof state->token);
  free (state);
}

/* Each series costs money: those of a set that is made for CloudWatch, and what the option allows. */
bool
cloudwatch_wants (void *context, const struct send_series *series)
{
  const struct cloudwatch *state = context;
  const struct metric_family *family = series->family->public;

  return family->type != FAMILY_INFO &&
         (family->quoted || (state->allows && globs_match (&state->allow, family->name)));
}

/* ---- requests ---- */

static void
fold (struct cloudwatch *state, const struct send_sample *samples, size_t count)
{
  int64_t now_s = clock_wall () / NS_PER_S;

  cloudwatch_fold (&state->fold, samples, count, state->form.resolution_s, now_s - CLOUDWATCH_OLDEST_S);
  state->folded = true;
  state->at = 0;
  state->most = CLOUDWATCH_METRICS_MAX;
  state->samples = count;
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

void
cloudwatch_pack (struct cloudwatch *state, const struct send_sample *samples, size_t count,
                 struct send_request *request)
{
  if (!state->folded)
    fold (state, samples, count);
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

  if (*state->where)
    return state->where;
  snprintf (state->url, sizeof state->url, "https://monitoring.%.64s.amazonaws.com%s/", region, end);
  return state->url;
}

int
cloudwatch_prepare (struct cloudwatch *state, struct send_request *request, struct send_answer *answer)
{
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

enum send_verdict
cloudwatch_judge (struct cloudwatch *state, struct send_answer *answer)
{
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

/* ---- lines ---- */

void
cloudwatch_put_lines (struct cloudwatch *state, const struct send_sample *samples, size_t count, struct buffer *lines)
{
  fold (state, samples, count);
  state->folded = false;
  cloudwatch_put_emf (lines, &state->form, &state->fold);
}

enum send_verdict
cloudwatch_lines_taken (struct cloudwatch *state, struct send_answer *answer)
{
  return end_load (state, answer);
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

int
cloudwatch_check (const struct cloudwatch_options *options, const char *names, struct error *error)
{
  return names_rule (names) && !*options->allow
             ? error_set (error, "allow: must say which of synop's own names are sent, since each series costs money")
             : 0;
}

int
cloudwatch_check_namespace (const char *value, struct error *error)
{
  if (strlen (value) > CLOUDWATCH_NAME_MAX || strncmp (value, "AWS/", 4) == 0 || *value == ':')
    return error_set (error, "must be at most %d characters, and not begin with AWS/ or ':'", CLOUDWATCH_NAME_MAX);
  return 0;
}
