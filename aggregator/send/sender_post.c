/* What a sender does while it waits: for time to pass, and for its request to be taken; see sender_private.h. */
#include <inttypes.h>
#include <stdio.h>

#include "aggregator/send/sender_private.h"
#include "synop/clock.h"
#include "synop/log.h"

bool
sender_rest (struct sender *sender, int64_t ns)
{
  int64_t due = clock_monotonic () + ns;
  struct timespec until = { due / NS_PER_S, due % NS_PER_S };
  bool end;

  pthread_mutex_lock (&sender->mutex);
  while (!sender->end && clock_monotonic () < due)
    pthread_cond_timedwait (&sender->wake, &sender->mutex, &until);
  end = sender->end;
  pthread_mutex_unlock (&sender->mutex);
  return !end;
}

static bool
is_ended (struct sender *sender)
{
  return !sender_rest (sender, 0);
}

/* ---- what is reported ---- */

void
sender_note_error (struct sender *sender, const char *text)
{
  pthread_mutex_lock (&sender->mutex);
  snprintf (sender->counts.error, sizeof sender->counts.error, "%s", text);
  pthread_mutex_unlock (&sender->mutex);
}

void
sender_begin_failing (struct sender *sender, const char *text)
{
  if (!sender->failing_ns)
    log_warning ("send %s: %s; it is tried again, and what is to be sent waits in the history", sender->name, text);
  sender->failing_ns = sender->failing_ns ? sender->failing_ns : clock_monotonic ();
  sender_note_error (sender, text);
}

void
sender_end_failing (struct sender *sender)
{
  if (sender->failing_ns)
    log_info ("send %s: it goes on, after %.1f s", sender->name,
              (double) (clock_monotonic () - sender->failing_ns) / NS_PER_S);
  sender->failing_ns = 0;
  sender_note_error (sender, "");
}

void
sender_count_waiting (struct sender *sender)
{
  int64_t last = sender->place.chunk;
  struct error error;

  history_file_number (sender->file, "SELECT ifnull (max (id), 0) FROM chunks", &last, &error);
  pthread_mutex_lock (&sender->mutex);
  sender->counts.waiting = (uint64_t) (last > sender->place.chunk ? last - sender->place.chunk : 0);
  pthread_mutex_unlock (&sender->mutex);
}

/* ---- one that the type delivers ---- */

static enum send_verdict
deliver_once (struct sender *sender, const struct send_load *load, size_t *count, struct send_answer *answer)
{
  enum send_verdict verdict;

  *count = load->count;
  verdict = sender->type->deliver (sender->type_state, load, count, answer);
  sender->gone |= answer->fresh;
  return verdict;
}

/* ---- a request ---- */

static void
pack (struct sender *sender, const struct send_load *load)
{
  struct send_request *request = &sender->request;

  *request = (struct send_request){ .body = request->body, .count = load->count, .form = "" };
  buffer_clear (&request->body);
  sender->type->pack (sender->type_state, load, request);
  pthread_mutex_lock (&sender->mutex);
  sender->counts.form = request->form;
  pthread_mutex_unlock (&sender->mutex);
}

/* A connection that the receiver did not say it would close, and that is gone, says that the receiver may be another one by
 * now, also when nothing was sent while it was away. */
static void
note_connection (struct sender *sender, const struct send_answer *answer)
{
  sender->gone |= answer->status == 0 || (answer->fresh && sender->kept);
  sender->kept = answer->status != 0 && !answer->closes;
}

static enum send_verdict
post_once (struct sender *sender, struct send_answer *answer)
{
  struct send_request *request = &sender->request;

  answer->status = 200;
  if (!request->body.length)
    return sender->type->judge (sender->type_state, answer);
  answer->status = 0;
  if (sender->type->prepare && sender->type->prepare (sender->type_state, request, answer) < 0)
    return SEND_AGAIN;
  send_http_post (sender->http, request, answer);
  note_connection (sender, answer);
  return answer->status ? sender->type->judge (sender->type_state, answer) : SEND_AGAIN;
}

/* ---- until it is taken ---- */

static enum send_verdict
try_once (struct sender *sender, const struct send_load *load, size_t *count, struct send_answer *answer)
{
  enum send_verdict verdict;

  *answer = (struct send_answer){ 0 };
  if (sender->http) {
    verdict = post_once (sender, answer);
    *count = sender->request.count;
  } else {
    verdict = deliver_once (sender, load, count, answer);
  }
  pthread_mutex_lock (&sender->mutex);
  sender->counts.requests += answer->status != 0 || verdict != SEND_AGAIN;
  sender->counts.retries += verdict == SEND_AGAIN && !sender->end;
  pthread_mutex_unlock (&sender->mutex);
  return verdict;
}

int
sender_post (struct sender *sender, const struct send_load *load, size_t *count, struct send_answer *answer,
             enum send_verdict *verdict)
{
  if (sender->http)
    pack (sender, load);
  for (;;) {
    char text[512];
    if (is_ended (sender))
      return -1;
    *verdict = try_once (sender, load, count, answer);
    if (*verdict == SEND_ANOTHER) {
      if (*answer->text)
        log_info ("send %s: %s", sender->name, answer->text);
      pack (sender, load);
      continue;
    }
    if (*verdict != SEND_AGAIN)
      break;
    if (is_ended (sender))
      return -1;
    send_answer_text (answer, text, sizeof text);
    sender_begin_failing (sender, text);
    sender_count_waiting (sender);
    if (!sender_rest (sender, send_retry_pause (&sender->retry, answer->after_ns)))
      return -1;
  }
  send_retry_done (&sender->retry);
  return 0;
}
