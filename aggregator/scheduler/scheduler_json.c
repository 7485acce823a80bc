/* See scheduler_json.h. */
#include "aggregator/scheduler/scheduler_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *
answer_load (const char *text, size_t length, struct error *error)
{
  const char *begin = memchr (text, '{', length);
  json_error_t why;
  json_t *root = begin ? json_loadb (begin, length - (size_t) (begin - text),
                                     JSON_DISABLE_EOF_CHECK | JSON_DECODE_INT_AS_REAL, &why)
                       : NULL;

  if (root)
    return root;
  if (begin)
    error_set (error, "its answer is no JSON: %.100s", why.text);
  else
    error_set (error, "its answer is no JSON");
  return NULL;
}

const json_t *
answer_at (const json_t *object, const char *path)
{
  char name[64];

  while (object && *path) {
    size_t length = strcspn (path, ".");
    if (length >= sizeof name)
      return NULL;
    memcpy (name, path, length);
    name[length] = '\0';
    object = json_object_get (object, name);
    path += length + (path[length] == '.');
  }
  return object;
}

const char *
answer_text (const json_t *object, const char *path)
{
  const json_t *value = answer_at (object, path);

  return json_string_value (json_is_array (value) ? json_array_get (value, 0) : value);
}

double
answer_number (const json_t *object, const char *path)
{
  const json_t *value = answer_at (object, path), *set = json_object_get (value, "set");
  const char *text = json_string_value (value);
  char *end;
  double number;

  if (json_is_object (value)) {
    if (json_is_false (set) || json_is_true (json_object_get (value, "infinite")))
      return nan ("");
    value = json_object_get (value, "number");
  }
  if (json_is_number (value))
    return json_number_value (value);
  number = text ? strtod (text, &end) : nan ("");
  return text && end != text && !*end && isfinite (number) ? number : nan ("");
}

int64_t
answer_time (const json_t *object, const char *path)
{
  return scheduler_time (answer_number (object, path));
}

void
answer_set_text (struct job_facts *facts, enum job_fact_text which, const json_t *object, const char *path)
{
  const char *text = answer_text (object, path);

  if (text)
    job_facts_set_text (facts, which, text, strlen (text));
}

void
answer_set_number (struct job_facts *facts, enum job_fact_number which, double number)
{
  if (number >= 0 && number < 1e18)
    facts->numbers[which] = number;
}

void
answer_give (const struct scheduler_taker *taker, const char *id, const char *user, struct job_facts *facts)
{
  struct scheduler_job job = { id, user ? user : "", *facts };

  scheduler_share_memory (&job.facts);
  job.facts.known = true;
  if (!job.facts.final)
    job.facts.numbers[JOB_FACT_EXIT_CODE] = job.facts.numbers[JOB_FACT_EXIT_SIGNAL] = nan ("");
  taker->take (taker->context, &job);
  job_facts_free (&job.facts);
  job_facts_init (facts);
}
