/* See query.h: the parameters of a question. */
#include "aggregator/query/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/query/query_private.h"
#include "aggregator/query/when.h"
#include "synop/clock.h"
#include "synop/config.h"
#include "synop/memory.h"

const char *const query_keys[] = { "metric", "node",      "rows", "row",      "fold", "top", "bottom", "job",
                                   "user",   "scheduler", "rate", "combined", "from", "to",  "step",   NULL };

static int
set_bool (bool *to, const char *value, struct error *error)
{
  static const char *const words[] = { "no", "yes", "false", "true", "off", "on", "0", "1", NULL };
  size_t i = 0;

  while (words[i] && strcasecmp (words[i], value) != 0)
    i++;
  if (!words[i] && *value)
    return error_set (error, "must be yes or no, not \"%.64s\"", value);
  *to = !*value || i % 2;
  return 0;
}

static int
set_count (size_t *to, const char *value, struct error *error)
{
  char *end;
  unsigned long long number = strtoull (value, &end, 10);

  if (*end || end == value || *value == '-' || number == 0 || number > QUERY_POINTS_MAX)
    return error_set (error, "must be a number of series, from 1 to %d, not \"%.64s\"", QUERY_POINTS_MAX, value);
  *to = (size_t) number;
  return 0;
}

static int
set_fold (enum query_fold *to, const char *value, struct error *error)
{
  for (size_t i = QUERY_SUM; i <= QUERY_MAX; i++)
    if (strcmp (query_fold_names[i], value) == 0) {
      *to = (enum query_fold) i;
      return 0;
    }
  return error_set (error, "must be sum, mean, min or max, not \"%.64s\"", value);
}

static int
set_step (char **to, const char *value, struct error *error)
{
  int64_t ns;

  if (duration_parse (value, &ns, error) < 0)
    return -1;
  if (ns < NS_PER_MS)
    return error_set (error, "must be 1ms at least, not \"%.64s\"", value);
  free (*to);
  *to = memory_string (value);
  return 0;
}

static int
set_when (char **to, const char *value, struct error *error)
{
  int64_t ns;

  if (when_parse (value, clock_wall (), &ns, error) < 0)
    return -1;
  free (*to);
  *to = memory_string (value);
  return 0;
}

static int
unknown_key (const char *key, struct error *error)
{
  error_set (error, "there is no such parameter");
  config_hint_nearest (error, key, query_keys);
  return -1;
}

int
query_set (struct query *query, const char *key, const char *value, struct error *error)
{
  const struct {
    const char *key;
    char **text;
    bool *yes;
    size_t *count;
  } places[] = { { "metric", .text = &query->metric },    { "node", .text = &query->node },
                 { "row", .text = &query->row },          { "job", .text = &query->job },
                 { "user", .text = &query->user },        { "scheduler", .text = &query->scheduler },
                 { "rows", .yes = &query->rows },         { "rate", .yes = &query->rate },
                 { "combined", .yes = &query->combined }, { "top", .count = &query->top },
                 { "bottom", .count = &query->bottom } };

  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    if (strcmp (places[i].key, key) != 0)
      continue;
    if (places[i].yes)
      return set_bool (places[i].yes, value, error);
    if (places[i].count)
      return *value ? set_count (places[i].count, value, error) : 0;
    free (*places[i].text);
    *places[i].text = *value ? memory_string (value) : NULL;
    return 0;
  }
  if (strcmp (key, "fold") == 0)
    return *value ? set_fold (&query->fold, value, error) : 0;
  if (strcmp (key, "step") == 0)
    return *value ? set_step (&query->step, value, error) : 0;
  if (strcmp (key, "from") == 0 || strcmp (key, "to") == 0)
    return *value ? set_when (*key == 'f' ? &query->from : &query->to, value, error) : 0;
  return unknown_key (key, error);
}

void
query_free (struct query *query)
{
  char *const texts[] = { query->metric,    query->node, query->row, query->job, query->user,
                          query->scheduler, query->from, query->to,  query->step };

  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    free (texts[i]);
  *query = (struct query){ 0 };
}

int
query_interval (const struct query *query, int64_t now_ns, int64_t *from_ns, int64_t *to_ns, const char **key,
                struct error *error)
{
  char from[CLOCK_TEXT_SIZE], to[CLOCK_TEXT_SIZE];

  *key = "to";
  *to_ns = now_ns;
  if (query->to && when_parse (query->to, now_ns, to_ns, error) < 0)
    return -1;
  *key = "from";
  *from_ns = *to_ns - 3600 * NS_PER_S;
  if (query->from && when_parse (query->from, now_ns, from_ns, error) < 0)
    return -1;
  *from_ns = *from_ns < 0 ? 0 : *from_ns; /* there is nothing of before 1970 */
  *to_ns = *to_ns > INT64_MAX / 2 ? INT64_MAX / 2 : *to_ns;
  if (*from_ns < *to_ns)
    return 0;
  clock_text (*from_ns, from);
  clock_text (*to_ns, to);
  return error_set (error, "must be before its end (--to), but they are %s and %s", from, to);
}
