/* Facts of a job from the JSON that job_facts_write made. */
#include "aggregator/views/job_facts.h"

#include <jansson.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "synop/clock.h"

/* "2026-11-21T16:18:12.999976608Z"; 0: it is no time. */
static int64_t
time_of (const char *text)
{
  struct tm tm = { 0 };
  const char *rest = text ? strptime (text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
  double fraction = rest && *rest == '.' ? strtod (rest, NULL) : 0;
  int64_t seconds = rest ? (int64_t) timegm (&tm) : 0;

  if (seconds <= 0 || seconds > INT64_MAX / 2 / NS_PER_S)
    return 0;
  return seconds * NS_PER_S + (int64_t) (fraction * (double) NS_PER_S + 0.5);
}

static void
take (struct job_facts *facts, const json_t *object)
{
  const char *outcome = json_string_value (json_object_get (object, "outcome"));

  for (size_t i = 0; i < JOB_FACT_TEXTS; i++) {
    const json_t *text = json_object_get (object, job_fact_text_names[i]);
    job_facts_set_text (facts, (enum job_fact_text) i, json_string_value (text), json_string_length (text));
  }
  for (size_t i = 0; i < JOB_FACT_NUMBERS; i++) {
    const json_t *number = json_object_get (object, job_fact_number_names[i]);
    if (json_is_number (number))
      facts->numbers[i] = json_number_value (number);
  }
  for (size_t i = 0; i < JOB_FACT_TIMES; i++)
    facts->times_ns[i] = time_of (json_string_value (json_object_get (object, job_fact_time_names[i])));
  for (size_t i = 0; outcome && i < JOB_OUTCOMES; i++)
    if (strcmp (outcome, job_outcome_names[i]) == 0)
      facts->outcome = (enum job_outcome) i;
  facts->known = outcome != NULL;
  facts->final = json_is_true (json_object_get (object, "final"));
  job_facts_set_error (facts, json_string_value (json_object_get (object, "error")));
}

int
job_facts_read (struct job_facts *facts, const char *text)
{
  json_t *object = json_loads (text, 0, NULL);
  bool fine = json_is_object (object);

  job_facts_init (facts);
  if (fine)
    take (facts, object);
  json_decref (object);
  return fine ? 0 : -1;
}
