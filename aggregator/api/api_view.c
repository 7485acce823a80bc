/* See api_view.h. */
#include "aggregator/api/api_view.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/api/api_private.h"
#include "aggregator/history/history.h"
#include "aggregator/history/history_view.h"
#include "aggregator/views/views.h"
#include "synop/memory.h"

#define AT(member) .offset = offsetof (struct api_settings, member)
#define TAKEN .reload = OPTIONS_RELOADED
#define PERCENT(KEY, MEMBER, FALLBACK, HELP)                                                                           \
  {                                                                                                                    \
    "advice", KEY, "advice-" KEY, OPTION_SIZE, AT (advice.MEMBER), FALLBACK, "0", "100", TAKEN, .help = HELP           \
  }

/* "0.31" */
static int
check_number (const char *value, struct error *error)
{
  char *end;
  double number = strtod (value, &end);

  return strspn (value, "0123456789.") == strlen (value) && end > value && !*end && number <= 1e6
             ? 0
             : error_set (error, "must be a number from 0 to 1000000, as 0.31");
}

static int
check_word (const char *value, struct error *error)
{
  for (const char *at = value; *at; at++)
    if ((unsigned char) *at <= ' ')
      return error_set (error, "must be a word");
  return strlen (value) > 16 ? error_set (error, "must have 16 bytes at most")
         : *value            ? 0
                             : error_set (error, "must not be empty");
}

static int
check_name (const char *value, struct error *error)
{
  for (const char *at = value; *at; at++)
    if ((unsigned char) *at < ' ')
      return error_set (error, "must be a name");
  return strlen (value) > 64 ? error_set (error, "must have 64 bytes at most") : 0;
}

static const struct option options[] = {
  { "cluster", "name", "cluster-name", OPTION_TEXT, AT (cluster), .check = check_name, TAKEN,
    .help = "What people call this cluster: reports of jobs say on which one they ran." },
  { "energy", "price_per_kwh", "price-per-kwh", OPTION_TEXT, AT (price_per_kwh), .check = check_number, TAKEN,
    .help = "What a kWh costs, as 0.31: reports of jobs say what theirs did." },
  { "energy", "currency", "currency", OPTION_TEXT, AT (currency), .fallback = "EUR", .check = check_word, TAKEN,
    .help = "The currency of that price, for people." },
  { "energy", "co2_per_kwh", "co2-per-kwh", OPTION_TEXT, AT (co2_per_kwh), .check = check_number, TAKEN,
    .help = "Kilograms of CO2 that a kWh stands for, as 0.35: reports of jobs say what theirs did." },
  { "advice", "shortest", "advice-shortest", OPTION_DURATION, AT (advice.shortest_ns), "60s", "0s", "1h", TAKEN,
    .help = "Reports note what a job asked for and did not use if it ran so long; what went wrong they note of any." },
  PERCENT ("cpu", cpu, "50", "CPU use below so many percent of the job's CPUs is noted."),
  PERCENT ("memory", memory, "50", "Memory use below so many percent of what was asked for is noted."),
  PERCENT ("gpu", gpu, "15", "GPU use below so many percent is noted."),
  PERCENT ("storage", storage, "50",
           "A job whose nodes wait for storage in so many percent of the time is bound by it."),
  PERCENT ("network", network, "70", "A job whose nodes use so many percent of their link is bound by the network."),
  PERCENT ("time", time, "10", "Less than so many percent of the time limit is noted."),
  PERCENT ("margin", margin, "20", "So many percent of what was used are added to the memory that is advised."),
};

static const char *const counters[] = { "api_streams", "api_readers", "api_refused", NULL };

static void
take_settings (void *state)
{
  struct api *api = state;
  const struct api_settings *settings = api->context->options;
  struct buffer limits = { 0 };
  const char *words[API_SETTINGS];

  advice_limits_put (&limits, &settings->advice);
  words[API_WORD_CLUSTER - API_WORD_PRICE] = settings->cluster;
  words[API_WORD_PRICE - API_WORD_PRICE] = settings->price_per_kwh;
  words[API_WORD_CURRENCY - API_WORD_PRICE] = settings->currency;
  words[API_WORD_CO2 - API_WORD_PRICE] = settings->co2_per_kwh;
  words[API_WORD_ADVICE - API_WORD_PRICE] = buffer_text (&limits);
  pthread_mutex_lock (&api->lock);
  for (size_t i = 0; i < API_SETTINGS; i++) {
    free (api->settings[i]);
    api->settings[i] = memory_string (words[i]);
  }
  pthread_mutex_unlock (&api->lock);
  buffer_free (&limits);
}

static int
open_api (const struct view_context *context, void **state, struct error *error)
{
  const struct history *history = views_state (context->views, &history_view);
  struct api *api = *state = memory_new (1, sizeof *api);

  (void) error;
  api->context = context;
  api->history = history ? history_path (history) : NULL;
  pthread_mutex_init (&api->lock, NULL);
  api_lives_init (api);
  take_settings (api);
  return 0;
}

/* HTTP has ended: it belongs to a view behind this one. */
static int
close_api (void *state)
{
  struct api *api = state;

  api_works_free (api);
  api_lives_free (api);
  for (size_t i = 0; i < API_SETTINGS; i++)
    free (api->settings[i]);
  pthread_mutex_destroy (&api->lock);
  free (api);
  return 0;
}

static struct http_site
api_site (void *api)
{
  static const struct http_route routes[] = {
    { API_PREFIX, "nodes, groups, jobs, reports, events, queries and the stream, as JSON", api_answer, .json = true },
    { "/api/v1", .answer = api_answer, .json = true },
  };

  return (struct http_site){ routes, sizeof routes / sizeof routes[0], api };
}

static void
poll_api (void *api, struct instant now)
{
  (void) now;
  api_works_reap (api);
}

static void
count_api (void *state, uint64_t *values)
{
  const struct api *api = state;

  values[0] = api->streaming;
  values[1] = api->running;
  values[2] = api->refused;
}

const struct view api_view = {
  .name = "api",
  .options = options,
  .option_count = sizeof options / sizeof options[0],
  .options_size = sizeof (struct api_settings),
  .counters = counters,
  .levels = 3, /* api_streams, api_readers */
  .open = open_api,
  .reload = take_settings,
  .site = api_site,
  .poll = poll_api,
  .count = count_api,
  .close = close_api,
};
