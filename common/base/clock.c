/* The only clock_gettime of the project, and the text of a time. */
#include "synop/clock.h"

#include <time.h>

static int64_t
clock_read (clockid_t id)
{
  struct timespec now = { 0 };

  clock_gettime (id, &now); /* cannot fail for the two clocks used */
  return (int64_t) now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t
clock_monotonic (void)
{
  return clock_read (CLOCK_MONOTONIC);
}

int64_t
clock_wall (void)
{
  return clock_read (CLOCK_REALTIME);
}

static char *
digits_put (char *to, unsigned value, int count)
{
  for (int i = count - 1; i >= 0; i--) {
    to[i] = (char) ('0' + value % 10);
    value /= 10;
  }
  return to + count;
}

/* By hand, since every line of the stream has one. Any int64_t lies between the years 1677 and 2262. */
size_t
clock_text (int64_t wall_ns, char text[CLOCK_TEXT_SIZE])
{
  int64_t seconds = wall_ns / NS_PER_S;
  int64_t rest = wall_ns % NS_PER_S;

  if (rest < 0) {
    rest += NS_PER_S;
    seconds--;
  }

  time_t time = (time_t) seconds;
  struct tm tm = { 0 };
  char *at = text;

  gmtime_r (&time, &tm);
  at = digits_put (at, (unsigned) (tm.tm_year + 1900), 4);
  *at++ = '-';
  at = digits_put (at, (unsigned) (tm.tm_mon + 1), 2);
  *at++ = '-';
  at = digits_put (at, (unsigned) tm.tm_mday, 2);
  *at++ = 'T';
  at = digits_put (at, (unsigned) tm.tm_hour, 2);
  *at++ = ':';
  at = digits_put (at, (unsigned) tm.tm_min, 2);
  *at++ = ':';
  at = digits_put (at, (unsigned) tm.tm_sec, 2);
  *at++ = '.';
  at = digits_put (at, (unsigned) rest, 9);
  *at++ = 'Z';
  *at = 0;
  return (size_t) (at - text);
}
