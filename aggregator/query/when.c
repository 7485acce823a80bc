/* See when.h. strptime reads the parts; the rest selects the form. */
#include "aggregator/query/when.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "synop/clock.h"
#include "synop/config.h"

/* ".123456789", at most nine digits. Moves `*at` behind it. */
static int64_t
fraction (const char **at)
{
  int64_t ns = 0, unit = NS_PER_S / 10;

  if (**at != '.' || !isdigit ((unsigned char) (*at)[1]))
    return 0;
  for (++*at; isdigit ((unsigned char) **at); ++*at, unit /= 10)
    ns += (**at - '0') * unit;
  return ns;
}

/* "Z", "+01:00", or nothing for local time. False when it is none of these. */
static bool
zone (const char *at, bool *local, int64_t *offset_s)
{
  struct tm tm = { 0 };
  const char *end;

  *local = *at == '\0';
  *offset_s = 0;
  if (*local || strcasecmp (at, "z") == 0)
    return true;
  if ((*at != '+' && *at != '-') || strlen (at) != 6)
    return false;
  end = strptime (at + 1, "%H:%M", &tm);
  *offset_s = (*at == '-' ? -1 : 1) * (tm.tm_hour * 3600 + tm.tm_min * 60);
  return end && !*end;
}

/* mktime takes February 31 for a day in March. */
static bool
is_day (const struct tm *tm)
{
  struct tm day = { .tm_year = tm->tm_year, .tm_mon = tm->tm_mon, .tm_mday = tm->tm_mday };

  timegm (&day);
  return day.tm_mday == tm->tm_mday;
}

static int
instant (struct tm *tm, const char *rest, int64_t *ns)
{
  int64_t offset_s, more = fraction (&rest);
  bool local;
  time_t seconds;

  if (!is_day (tm) || !zone (rest, &local, &offset_s))
    return -1;
  tm->tm_isdst = -1;
  seconds = local ? mktime (tm) : timegm (tm);
  if (seconds < -9000000000 || seconds > 9000000000)
    return -1;
  *ns = ((int64_t) seconds - offset_s) * NS_PER_S + more;
  return 0;
}

int
when_parse (const char *text, int64_t now_ns, int64_t *ns, struct error *error)
{
  static const char *const days[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M",
                                      "%Y-%m-%d" };
  static const char *const hours[] = { "%H:%M:%S", "%H:%M" };
  time_t now = (time_t) (now_ns / NS_PER_S);
  int64_t before;

  if (strcmp (text, "now") == 0) {
    *ns = now_ns;
    return 0;
  }
  if (*text == '-' && duration_parse (text + 1, &before, NULL) == 0 && before >= 0) {
    *ns = now_ns - before;
    return 0;
  }
  for (size_t i = 0; i < sizeof days / sizeof days[0]; i++) {
    struct tm tm = { 0 };
    const char *rest = strptime (text, days[i], &tm);
    if (rest && instant (&tm, rest, ns) == 0)
      return 0;
  }
  for (size_t i = 0; i < sizeof hours / sizeof hours[0]; i++) {
    struct tm tm;
    const char *rest;
    localtime_r (&now, &tm);
    tm.tm_sec = 0;
    rest = strptime (text, hours[i], &tm);
    if (rest && !*rest && instant (&tm, rest, ns) == 0)
      return 0;
  }
  return error_set (
      error, "expected a time, such as 2026-11-21T10:00:00Z, 2026-11-21 10:00, 10:00, -1h or now, not \"%.64s\"", text);
}
