/* See inquiries.h. */
#include "aggregator/scheduler/inquiries.h"

#include <string.h>

#include "synop/clock.h"
#include "synop/json.h"
#include "synop/memory.h"

#define WAIT NS_PER_S              /* accounting comes a little later than the job */
#define RETRY_FIRST (3 * NS_PER_S) /* doubled each time: 6 minutes in all */
#define TRIES_MAX 7

struct inquiries {
  inquiries_report_fn *report;
  void *context;
  struct inquiry *all;
};

struct inquiries *
inquiries_create (inquiries_report_fn *report, void *context)
{
  struct inquiries *inquiries = memory_new (1, sizeof *inquiries);

  inquiries->report = report;
  inquiries->context = context;
  return inquiries;
}

static void
drop (struct inquiries *inquiries, struct inquiry *inquiry)
{
  HASH_DEL (inquiries->all, inquiry);
  job_facts_free (&inquiry->facts);
  free (inquiry->label);
  free (inquiry->user);
  free (inquiry->shown);
  free (inquiry);
}

void
inquiries_destroy (struct inquiries *inquiries)
{
  struct inquiry *inquiry, *next;

  if (!inquiries)
    return;
  HASH_ITER (hh, inquiries->all, inquiry, next) drop (inquiries, inquiry);
  free (inquiries);
}

static struct inquiry *
add (struct inquiries *inquiries, int64_t key, const char *label, const struct job_facts *facts)
{
  struct inquiry *inquiry = memory_new (1, sizeof *inquiry);

  inquiry->key = key;
  inquiry->label = memory_string (label);
  job_facts_init (&inquiry->facts);
  if (facts)
    job_facts_copy (&inquiry->facts, facts);
  HASH_ADD (hh, inquiries->all, key, sizeof inquiry->key, inquiry);
  return inquiry;
}

bool
inquiries_note (struct inquiries *inquiries, int64_t key, const char *label, const char *scheduler, const char *user,
                int64_t started_ns, bool ended, const struct job_facts *facts, int64_t now_ns)
{
  const struct scheduler *known = scheduler_find (scheduler);
  char id[SCHEDULER_ID_SIZE];
  struct inquiry *inquiry;

  if (!known || !scheduler_id (label, id))
    return true; /* nobody can be asked */
  HASH_FIND (hh, inquiries->all, &key, sizeof key, inquiry);
  if (!inquiry && HASH_COUNT (inquiries->all) >= INQUIRIES_MAX)
    return false;
  if (!inquiry)
    inquiry = add (inquiries, key, label, facts);
  memcpy (inquiry->id, id, sizeof id);
  free (inquiry->user);
  inquiry->user = memory_string (user);
  inquiry->scheduler = known;
  inquiry->started_ns = started_ns;
  inquiry->ended = ended;
  inquiry->tries = 0;
  inquiry->due_ns = now_ns + WAIT;
  return true;
}

size_t
inquiries_take (struct inquiries *inquiries, const struct scheduler *scheduler, struct inquiry **due, size_t most,
                int64_t now_ns)
{
  size_t count = 0;

  for (struct inquiry *inquiry = inquiries->all; inquiry && count < most; inquiry = inquiry->hh.next) {
    if (inquiry->scheduler != scheduler || inquiry->asked || inquiry->due_ns > now_ns)
      continue;
    inquiry->asked = true;
    inquiry->due_ns = INT64_MAX; /* unless it ends meanwhile */
    due[count++] = inquiry;
  }
  return count;
}

/* Reports them when something in them has changed. */
static void
show (struct inquiries *inquiries, struct inquiry *inquiry)
{
  struct json json = { 0 };

  job_facts_write (&json, &inquiry->facts);
  if (!inquiry->shown || strcmp (inquiry->shown, buffer_text (&json.out)) != 0) {
    free (inquiry->shown);
    inquiry->shown = memory_string (buffer_text (&json.out));
    inquiries->report (inquiries->context, inquiry);
  }
  json_free (&json);
}

/* Newer facts count, and older ones where there are none. That nothing was answered is only said of a job of which nothing is
 * known. */
static void
merge (struct inquiry *inquiry, struct job_facts *facts)
{
  if (!facts->known) {
    if (!inquiry->facts.known)
      job_facts_set_error (&inquiry->facts, facts->error);
    job_facts_free (facts);
    return;
  }
  job_facts_set_error (&inquiry->facts, NULL);
  job_facts_add (facts, &inquiry->facts);
  inquiry->facts = *facts;
  job_facts_init (facts);
}

void
inquiries_answer (struct inquiries *inquiries, struct inquiry *inquiry, struct job_facts *facts, bool final,
                  int64_t now_ns)
{
  bool again = inquiry->due_ns != INT64_MAX; /* it ended while it was asked about: that is asked next */

  inquiry->asked = false;
  merge (inquiry, facts);
  final |=
      inquiry->ended ? inquiry->facts.final : inquiry->facts.outcome == JOB_OUTCOME_RUNNING || inquiry->facts.final;
  if (inquiry->facts.known || final || inquiry->tries + 1 >= TRIES_MAX)
    show (inquiries, inquiry);
  if (again)
    return;
  if (!final && inquiry->tries + 1 < TRIES_MAX) {
    inquiry->due_ns = now_ns + (RETRY_FIRST << inquiry->tries);
    inquiry->tries++;
  } else if (inquiry->ended) {
    drop (inquiries, inquiry);
  }
}
