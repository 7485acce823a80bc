/* See job_facts.h. */
#include "aggregator/views/job_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "synop/clock.h"
#include "synop/json.h"
#include "synop/memory.h"
#include "synop/text.h"

const char *const job_outcome_names[JOB_OUTCOMES] = { "unknown",   "pending",   "running", "completed",
                                                      "failed",    "cancelled", "timeout", "out_of_memory",
                                                      "node_fail", "preempted", "requeued" };
const char *const job_fact_text_names[JOB_FACT_TEXTS] = { "state", "partition", "account", "qos",
                                                          "array", "command",   "gpu_type" };
const char *const job_fact_number_names[JOB_FACT_NUMBERS] = { "exit_code",  "exit_signal",     "nodes",          "cpus",
                                                              "memory",     "memory_per_node", "memory_per_cpu", "gpus",
                                                              "time_limit", "restarts" };
const char *const job_fact_time_names[JOB_FACT_TIMES] = { "submitted", "eligible", "started", "ended" };

void
job_facts_init (struct job_facts *facts)
{
  *facts = (struct job_facts){ 0 };
  for (size_t i = 0; i < JOB_FACT_NUMBERS; i++)
    facts->numbers[i] = nan ("");
}

void
job_facts_free (struct job_facts *facts)
{
  for (size_t i = 0; i < JOB_FACT_TEXTS; i++)
    free (facts->texts[i]);
  free (facts->error);
  job_facts_init (facts);
}

bool
job_facts_are_empty (const struct job_facts *facts)
{
  return !facts->known && !facts->error;
}

double
job_facts_wait (const struct job_facts *facts)
{
  const int64_t *times = facts->times_ns;
  int64_t from = times[JOB_FACT_ELIGIBLE] ? times[JOB_FACT_ELIGIBLE] : times[JOB_FACT_SUBMITTED];

  if (!from || !times[JOB_FACT_STARTED] || times[JOB_FACT_STARTED] < from)
    return nan ("");
  return (double) (times[JOB_FACT_STARTED] - from) / (double) NS_PER_S;
}

bool
job_outcome_is_final (enum job_outcome outcome)
{
  return outcome >= JOB_OUTCOME_COMPLETED && outcome < JOB_OUTCOMES;
}

/* ---- texts ---- */

static char *
printable (const char *text, size_t length)
{
  char *made = memory_new (JOB_FACT_TEXT_MAX + 1, 1);
  size_t at = 0, bytes;

  for (size_t i = 0; i < length && text[i]; i += bytes) {
    uint32_t character = text_character (text + i, length - i, &bytes);
    bool unsound = text_is_unsound (character);
    if (at + (unsound ? 1 : bytes) > JOB_FACT_TEXT_MAX)
      break;
    memcpy (made + at, unsound ? "_" : text + i, unsound ? 1 : bytes);
    at += unsound ? 1 : bytes;
  }
  return made;
}

void
job_facts_set_text (struct job_facts *facts, enum job_fact_text which, const char *text, size_t length)
{
  if (!text || !length || !*text)
    return;
  free (facts->texts[which]);
  facts->texts[which] = printable (text, length);
  facts->known = true;
}

void
job_facts_set_error (struct job_facts *facts, const char *why)
{
  free (facts->error);
  facts->error = why ? printable (why, strlen (why)) : NULL;
}

void
job_facts_copy (struct job_facts *to, const struct job_facts *from)
{
  *to = *from;
  for (size_t i = 0; i < JOB_FACT_TEXTS; i++)
    to->texts[i] = memory_string (from->texts[i]);
  to->error = memory_string (from->error);
}

void
job_facts_add (struct job_facts *facts, struct job_facts *more)
{
  for (size_t i = 0; i < JOB_FACT_TEXTS; i++)
    if (!facts->texts[i]) {
      facts->texts[i] = more->texts[i];
      more->texts[i] = NULL;
    }
  for (size_t i = 0; i < JOB_FACT_NUMBERS; i++)
    if (isnan (facts->numbers[i]))
      facts->numbers[i] = more->numbers[i];
  for (size_t i = 0; i < JOB_FACT_TIMES; i++)
    if (!facts->times_ns[i])
      facts->times_ns[i] = more->times_ns[i];
  if (facts->outcome == JOB_OUTCOME_UNKNOWN)
    facts->outcome = more->outcome;
  if (!facts->error) {
    facts->error = more->error;
    more->error = NULL;
  }
  facts->known |= more->known;
  facts->final |= more->final;
  job_facts_free (more);
}

/* ---- JSON ---- */

void
job_facts_write (struct json *json, const struct job_facts *facts)
{
  if (job_facts_are_empty (facts)) {
    json_null (json);
    return;
  }
  json_object (json);
  if (facts->known) {
    json_text (json_key (json, "outcome"), job_outcome_names[facts->outcome]);
    json_bool (json_key (json, "final"), facts->final);
  }
  for (size_t i = 0; i < JOB_FACT_TEXTS; i++)
    if (facts->texts[i])
      json_text (json_key (json, job_fact_text_names[i]), facts->texts[i]);
  for (size_t i = 0; i < JOB_FACT_NUMBERS; i++)
    if (!isnan (facts->numbers[i]))
      json_real (json_key (json, job_fact_number_names[i]), facts->numbers[i]);
  for (size_t i = 0; i < JOB_FACT_TIMES; i++)
    if (facts->times_ns[i])
      json_time (json_key (json, job_fact_time_names[i]), facts->times_ns[i]);
  if (!isnan (job_facts_wait (facts)))
    json_real (json_key (json, "wait"), job_facts_wait (facts));
  if (facts->error)
    json_text (json_key (json, "error"), facts->error);
  json_object_end (json);
}
