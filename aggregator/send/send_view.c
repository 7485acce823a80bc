/* See send_view.h. */
#include "aggregator/send/send_view.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/history.h"
#include "aggregator/history/history_view.h"
#include "aggregator/send/sender.h"
#include "aggregator/views/views.h"
#include "synop/clock.h"
#include "synop/log.h"
#include "synop/memory.h"

#define FRAMES_COME NS_PER_S        /* after the instant at which they were sampled they have come by then */
#define FLUSH_EVERY (10 * NS_PER_S) /* as often as the history closes chunks early */

struct running {
  struct running *next;
  char *name;
  const struct send_options *options;
  struct sender *sender;
  struct sender_counts counts;
};

struct send_senders {
  const struct view_context *context;
  struct history *history;
  struct running *running;         /* in order of names */
  int64_t flushed_ns, flush_to_ns; /* cluster time: the last flush, and up to when */
  uint64_t ticket;                 /* of it; 0: it is done */
  bool left;                       /* one that hung was left, ever */
};

/* ---- sections ---- */

static void
stop (struct send_senders *senders, const char *name)
{
  struct running **place = &senders->running, *one;

  while (*place && strcmp ((*place)->name, name) != 0)
    place = &(*place)->next;
  one = *place;
  if (!one)
    return;
  *place = one->next;
  senders->left |= !sender_destroy (one->sender);
  free (one->name);
  free (one);
}

static void
change_sender (void *context, const char *name, const void *before, const void *now)
{
  struct send_senders *senders = context;
  struct running **place = &senders->running, *one;

  (void) before;
  stop (senders, name);
  if (!now)
    return;
  if (!senders->history) {
    log_error ("[send %s] reads the history: it needs [history] enabled = yes", name);
    return;
  }
  while (*place && strcmp ((*place)->name, name) < 0)
    place = &(*place)->next;
  one = memory_new (1, sizeof *one);
  one->name = memory_string (name);
  one->options = now;
  one->sender = sender_create (name, now, history_path (senders->history));
  one->next = *place;
  *place = one;
}

static int
open_send (const struct view_context *context, void **state, struct error *error)
{
  struct send_senders *senders = *state = memory_new (1, sizeof *senders);

  (void) error;
  senders->context = context;
  senders->history = views_state (context->views, &history_view);
  curl_global_init (CURL_GLOBAL_DEFAULT);
  return 0;
}

static int
close_send (void *state)
{
  struct send_senders *senders = state;
  bool left;

  for (struct running *one = senders->running; one; one = one->next)
    sender_end (one->sender);
  while (senders->running)
    stop (senders, senders->running->name);
  left = senders->left;
  free (senders);
  if (!left) /* it may be in libcurl still */
    curl_global_cleanup ();
  return 0;
}

/* ---- what they are to send is written in time ---- */

static void
settle (struct send_senders *senders)
{
  if (!senders->ticket || !history_flush_is_written (senders->history, senders->ticket))
    return;
  senders->ticket = 0;
  for (struct running *one = senders->running; one; one = one->next)
    sender_settle (one->sender, senders->flush_to_ns);
}

/* Is a sender waiting for samples that have come since the last flush? */
static bool
is_wanted (struct send_senders *senders, int64_t now_ns)
{
  bool wanted = false;

  for (struct running *one = senders->running; one; one = one->next) {
    int64_t period = send_period (one->options), gather = send_gather (one->options);
    int64_t every = period > FLUSH_EVERY ? period : FLUSH_EVERY;
    int64_t instant;
    every = gather > every ? gather : every;
    instant = (now_ns - FRAMES_COME) / every * every;
    sender_count (one->sender, &one->counts);
    wanted |= one->counts.live && instant > senders->flushed_ns - FRAMES_COME;
  }
  return wanted;
}

static void
poll_send (void *state, struct instant now)
{
  struct send_senders *senders = state;
  int64_t now_ns;

  (void) now;
  if (!senders->running || !senders->history)
    return;
  now_ns = view_now_ns (senders->context);
  settle (senders);
  if (senders->ticket || !is_wanted (senders, now_ns))
    return;
  senders->flushed_ns = senders->flush_to_ns = now_ns;
  senders->ticket = history_flush_begin (senders->history, now_ns);
}

/* ---- status ---- */

static const char *const counters[] = { "samples_sent",
                                        "samples_dropped",
                                        "samples_late_dropped",
                                        "send_retries",
                                        "send_chunks_broken",
                                        "send_chunks_lost",
                                        NULL };

static void
count_send (void *state, uint64_t *values)
{
  const struct send_senders *senders = state;

  for (struct running *one = senders->running; one; one = one->next) {
    const struct sender_counts *counts = &one->counts;
    sender_count (one->sender, &one->counts);
    values[0] += counts->sent;
    values[1] += counts->dropped;
    values[2] += counts->late_dropped;
    values[3] += counts->retries;
    values[4] += counts->broken;
    values[5] += counts->lost;
  }
}

static double
behind (const struct send_senders *senders, const struct sender_counts *counts)
{
  int64_t ns = counts->waiting ? view_now_ns (senders->context) - counts->oldest_ns : 0;

  return ns > 0 ? (double) ns / NS_PER_S : 0;
}

static void
write_json (const struct send_senders *senders, struct json *json)
{
  json_key (json, "senders");
  json_array (json);
  for (struct running *one = senders->running; one; one = one->next) {
    const struct sender_counts *counts = &one->counts;
    const struct {
      const char *name;
      uint64_t value;
    } numbers[] = {
      { "sent", counts->sent },         { "dropped", counts->dropped }, { "late_dropped", counts->late_dropped },
      { "requests", counts->requests }, { "retries", counts->retries }, { "broken", counts->broken },
      { "lost", counts->lost },         { "waiting", counts->waiting }
    };
    json_object (json);
    json_key (json, "sender");
    json_text (json, one->name);
    json_key (json, "type");
    json_text (json, send_type_of (one->options)->name);
    json_key (json, "url");
    json_text (json, sender_target (one->sender));
    json_key (json, "protocol");
    json_text (json, counts->form ? counts->form : "");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
      json_key (json, numbers[i].name);
      json_uint (json, numbers[i].value);
    }
    json_key (json, "behind");
    json_real_places (json, behind (senders, counts), 1);
    json_key (json, "error");
    json_text (json, counts->error);
    json_object_end (json);
  }
  json_array_end (json);
}

static void
write_table (const struct send_senders *senders, struct buffer *out)
{
  int width = 6;

  for (struct running *one = senders->running; one; one = one->next)
    width = (int) strlen (one->name) > width ? (int) strlen (one->name) : width;
  if (senders->running)
    buffer_printf (out, "%-*s  %-12s  %12s  %9s  %9s  %9s  %s\n", width, "SENDER", "TYPE", "SENT", "DROPPED", "WAITING",
                   "BEHIND", "ERROR");
  for (struct running *one = senders->running; one; one = one->next)
    buffer_printf (out, "%-*s  %-12s  %12" PRIu64 "  %9" PRIu64 "  %9" PRIu64 "  %7.1f s  %s\n", width, one->name,
                   send_type_of (one->options)->name, one->counts.sent, one->counts.dropped, one->counts.waiting,
                   behind (senders, &one->counts), one->counts.error);
  if (senders->running)
    buffer_add_string (out, "\n");
}

static void
status_send (void *state, struct json *json, struct buffer *table)
{
  struct send_senders *senders = state;

  for (struct running *one = senders->running; one; one = one->next)
    sender_count (one->sender, &one->counts);
  if (json)
    write_json (senders, json);
  else
    write_table (senders, table);
}

const struct view send_view = {
  .name = "send",
  .counters = counters,
  .section_type = &send_config_type,
  .open = open_send,
  .section = change_sender,
  .poll = poll_send,
  .count = count_send,
  .status = status_send,
  .close = close_send,
};
