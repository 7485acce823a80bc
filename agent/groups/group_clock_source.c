/* clock_source: what the kernel reads its time from, and the time zone. A kernel that finds its TSC unstable turns to
 * another source, and every reading of the clock is slow from then on.
 *
 *   /sys/devices/system/clocksource/clocksource0/{current,available}_clocksource    "tsc", "tsc hpet acpi_pm " */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/sampling/sampler.h"
#include "agent/source/facts.h"
#include "agent/source/parse.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define FOLDER "/sys/devices/system/clocksource/clocksource0"

enum { STATE, TIME_ZONE, TIME_ZONE_OFFSET };

static const struct metric metrics[] = {
  [STATE] = { "state", TEXT, UNIT_NONE, FOLD_NONE, .help = "`current` for the one that is in use, else `available`." },
  [TIME_ZONE] = { "time_zone", TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE, .help = "Time zone of the agent." },
  [TIME_ZONE_OFFSET] = { "time_zone_offset", GAUGE, UNIT_SECONDS, FOLD_NONE, METRIC_OF_NODE,
                         .bound = { .most = 86400, .negative = true }, .help = "How far its time is ahead of UTC." },
};

static const struct group group = {
  .name = "clock_source",
  .section = "system_data",
  .row = "source",
  .rows_name = "sources",
  .fold_name = "",
  .help = "What the kernel reads its time from, and the time zone. At most every 10 s.",
  GROUP_METRICS (metrics),
};

static void *
clock_source_open (const struct sampler_context *context)
{
  return memory_string (context->root);
}

/* This machine's: a recorded machine has none. */
static void
time_zone_set (struct table *table)
{
  time_t now = time (NULL);
  struct tm here;

  tzset ();
  if (!localtime_r (&now, &here))
    return;
  table_set_string (table, TABLE_NODE, TIME_ZONE, here.tm_zone);
  table_set_int (table, TABLE_NODE, TIME_ZONE_OFFSET, here.tm_gmtoff);
}

static bool
is_word (struct scan word, const char *text)
{
  return scan_length (&word) == strlen (text) && memcmp (word.at, text, strlen (text)) == 0;
}

static bool
has_word (struct scan list, const char *text)
{
  struct scan word;

  while (scan_word (&list, &word))
    if (is_word (word, text))
      return true;
  return false;
}

/* The kernel's list has the one in use. */
static void
sources_set (struct table *table, const char *root)
{
  char current[64], all[512];
  bool has_current = fact_text (current, sizeof current, root, FOLDER "/current_clocksource");
  bool has_all = fact_text (all, sizeof all, root, FOLDER "/available_clocksource");
  struct scan list = scan_over (all, strlen (all)), word;

  if (!has_current && !has_all)
    return;
  if (!has_word (list, current)) {
    table_complain (table, "%s" FOLDER ": \"%s\" is not in \"%.60s\"", root, current, all);
    return;
  }
  while (scan_word (&list, &word)) {
    const char *state = is_word (word, current) ? "current" : "available";
    size_t row = table_add_row (table, word.at, scan_length (&word));
    if (row != SIZE_MAX)
      table_set_string (table, row, STATE, state);
  }
}

static int
clock_source_sample (void *context, struct table *table)
{
  const char *root = context;

  sources_set (table, root);
  if (root[0] == '\0')
    time_zone_set (table);
  return 0;
}

static void
clock_source_close (void *context)
{
  free (context);
}

const struct sampler sampler_clock_source = {
  &group,
  NULL,
  clock_source_open,
  clock_source_sample,
  clock_source_close,
  .optional = true,
  .period_ns = 10 * NS_PER_S,
};
