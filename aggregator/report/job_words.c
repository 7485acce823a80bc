/* See job_words.h. */
#include "aggregator/report/job_words.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "synop/clock.h"
#include "synop/memory.h"
#include "synop/text.h"

#define UNKNOWN_CHARACTER "\xef\xbf\xbd" /* U+FFFD */
#define ELLIPSIS "\xe2\x80\xa6"

/* The character at the beginning of `text`: its length there, and what is shown for it. */
static size_t
character (const char *text, size_t left, const char **shown, size_t *shown_length)
{
  size_t length;
  uint32_t c = text_character (text, left, &length);

  *shown = text_is_unsound (c) ? UNKNOWN_CHARACTER : text;
  *shown_length = text_is_unsound (c) ? strlen (UNKNOWN_CHARACTER) : length;
  return length;
}

void
words_add (struct buffer *to, const char *text, size_t limit)
{
  size_t length = strlen (text), count = 0, step, head, shown_length;
  const char *shown;

  for (size_t at = 0; at < length; at += character (text + at, length - at, &shown, &shown_length))
    count++;
  head = count > limit ? limit / 2 : count;
  for (size_t at = 0, i = 0; at < length; at += step, i++) {
    step = character (text + at, length - at, &shown, &shown_length);
    if (i == head)
      buffer_add_string (to, ELLIPSIS);
    if (i < head || i >= count - (limit - head - 1))
      buffer_add (to, shown, shown_length);
  }
}

struct words
words_short (const char *text, size_t limit)
{
  struct buffer clean = { 0 };
  struct words words;

  words_add (&clean, text, limit);
  snprintf (words.text, sizeof words.text, "%.*s", (int) clean.length, clean.data ? clean.data : "");
  buffer_free (&clean);
  return words;
}

struct words
words_number (double value)
{
  double size = fabs (value);
  struct words words;

  if (isnan (value))
    snprintf (words.text, sizeof words.text, "-");
  else if (size >= 1e7)
    snprintf (words.text, sizeof words.text, "%.3g", value);
  else
    snprintf (words.text, sizeof words.text, "%.*f", size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : 2, value);
  return words;
}

struct scale
scale_for (const char *unit, double maximum)
{
  static const struct {
    const char *unit;
    double step;
    const char *names[6];
  } ladders[] = {
    { "B", 1024, { "B", "KiB", "MiB", "GiB", "TiB", "PiB" } },
    { "B/s", 1024, { "B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "PiB/s" } },
    { "FLOP/s", 1000, { "FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s" } },
    { "FLOP", 1000, { "FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP" } },
    { "W", 1000, { "W", "kW", "MW", "GW", "TW", "PW" } },
    { "J", 1000, { "J", "kJ", "MJ", "GJ", "TJ", "PJ" } },
    { "Wh", 1000, { "Wh", "kWh", "MWh", "GWh", "TWh", "PWh" } },
  };
  struct scale scale = { 1, unit };

  if (strcmp (unit, "s") == 0 && maximum >= 2 * 3600)
    return (struct scale){ 3600, "h" };
  for (size_t i = 0; i < sizeof ladders / sizeof ladders[0]; i++)
    if (strcmp (ladders[i].unit, unit) == 0)
      for (size_t k = 0; k < 6; k++) {
        scale.unit = ladders[i].names[k];
        if (k == 5 || !(maximum >= scale.divisor * ladders[i].step * 0.9995))
          break;
        scale.divisor *= ladders[i].step;
      }
  return scale;
}

struct words
words_value (double value, const char *unit)
{
  struct scale scale = scale_for (unit, value);
  struct words words = words_number (value / scale.divisor);
  size_t length = strlen (words.text);

  if (!isnan (value) && scale.unit[0])
    snprintf (words.text + length, sizeof words.text - length, " %s", scale.unit);
  return words;
}

struct words
words_resolution (const struct job_report *report)
{
  double hours = job_report_share (report, report->hour_samples);
  double minutes = job_report_share (report, report->minute_samples - report->hour_samples);
  struct words words = { "" };

  if (hours > 0)
    snprintf (words.text, sizeof words.text, "hours for %.3g %%, minutes for %.3g %% of the samples", hours, minutes);
  else if (minutes > 0)
    snprintf (words.text, sizeof words.text, "minutes for %.3g %% of the samples", minutes);
  return words;
}

struct words
words_times (double times)
{
  struct words words = { "-" };

  if (isfinite (times))
    snprintf (words.text, sizeof words.text, times < 100 ? "%.1fx" : "%.0fx", times);
  return words;
}

struct words
words_duration (double seconds)
{
  struct words words;
  unsigned long long whole = seconds > 0 && seconds < 1e18 ? (unsigned long long) (seconds + 0.5) : 0;

  if (!isfinite (seconds) || seconds >= 1e18)
    snprintf (words.text, sizeof words.text, "-");
  else if (seconds < 59.95)
    snprintf (words.text, sizeof words.text, "%.*f s", seconds < 9.995 ? 2 : 1, seconds < 0 ? 0 : seconds);
  else if (whole < 3600)
    snprintf (words.text, sizeof words.text, "%llu min %llu s", whole / 60, whole % 60);
  else if (whole < 86400)
    snprintf (words.text, sizeof words.text, "%llu h %llu min %llu s", whole / 3600, whole / 60 % 60, whole % 60);
  else
    snprintf (words.text, sizeof words.text, "%llu d %llu h %llu min", whole / 86400, whole / 3600 % 24,
              whole / 60 % 60);
  return words;
}

static struct words
local_time (int64_t time_ns, const char *format)
{
  time_t seconds = (time_t) (time_ns / NS_PER_S);
  struct words words = { "-" };
  struct tm local;

  if (localtime_r (&seconds, &local) && strftime (words.text, sizeof words.text, format, &local) == 0)
    words.text[0] = '\0';
  return words;
}

struct words
words_time (int64_t time_ns)
{
  return local_time (time_ns, "%Y-%m-%d %H:%M:%S %Z");
}

struct words
words_clock (int64_t time_ns)
{
  return local_time (time_ns, "%H:%M:%S");
}

/* ---- "n[1-12,14]" ---- */

/* A name in three pieces: "rack2-" "07" ".site". The number is the last one before the first dot. */
struct name {
  const char *text;
  size_t head, digits, length;
  unsigned long long number;
  int width; /* of a number with leading zeros; else 0 */
};

static struct name
name_split (const char *text)
{
  struct name name = { .text = text, .length = strlen (text) };
  size_t end = strcspn (text, "."), start;

  while (end > 0 && !isdigit ((unsigned char) text[end - 1]))
    end--;
  for (start = end; start > 0 && end - start < 18 && isdigit ((unsigned char) text[start - 1]);)
    start--;
  name.head = end ? start : name.length;
  name.digits = end - (end ? start : 0);
  if (name.digits) {
    name.number = strtoull (text + start, NULL, 10);
    name.width = text[start] == '0' && name.digits > 1 ? (int) name.digits : 0;
  }
  return name;
}

/* Whether `next` belongs to the brackets that `first` opened. */
static bool
name_joins (const struct name *first, const struct name *next)
{
  char digits[24];
  size_t tail = first->head + first->digits, next_tail = next->head + next->digits;

  if (!first->digits || !next->digits || first->head != next->head ||
      first->length - tail != next->length - next_tail || memcmp (first->text, next->text, first->head) != 0 ||
      strcmp (first->text + tail, next->text + next_tail) != 0)
    return false;
  snprintf (digits, sizeof digits, "%0*llu", first->width, next->number);
  return strlen (digits) == next->digits && memcmp (digits, next->text + next->head, next->digits) == 0;
}

/* The names[0..count), which share all but the number: "n[1-3,7]". */
static void
add_group (struct buffer *to, const struct name *names, size_t count)
{
  const struct name *first = names;

  buffer_printf (to, "%.*s%s", (int) first->head, first->text, count > 1 ? "[" : "");
  for (size_t i = 0, end; i < count && first->digits; i = end) {
    for (end = i + 1; end < count && names[end].number == names[end - 1].number + 1;)
      end++;
    buffer_printf (to, "%s%0*llu", i ? "," : "", first->width, names[i].number);
    if (end - i > 1)
      buffer_printf (to, "%s%0*llu", end - i > 2 ? "-" : ",", first->width, names[end - 1].number);
  }
  buffer_printf (to, "%s%s", count > 1 ? "]" : "", first->text + first->head + first->digits);
}

void
words_nodes (struct buffer *to, const struct job_report *report, const bool *chosen, size_t limit)
{
  struct name *names = memory_new (report->node_count, sizeof *names);
  struct buffer list = { 0 };
  size_t count = 0;

  for (size_t i = 0; i < report->node_count; i++)
    if (!chosen || chosen[i])
      names[count++] = name_split (report->nodes[i].name);
  for (size_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && name_joins (&names[i], &names[end]);)
      end++;
    if (list.length > limit) {
      buffer_printf (&list, " and %zu more", count - i);
      break;
    }
    buffer_add_string (&list, i ? "," : "");
    add_group (&list, &names[i], end - i);
  }
  words_add (to, buffer_text (&list), SIZE_MAX);
  buffer_free (&list);
  free (names);
}

void
words_lost_nodes (struct buffer *to, const struct job_report *report, size_t limit)
{
  bool *lost = memory_new (report->node_count, sizeof *lost);

  for (size_t i = 0; i < report->node_count; i++)
    lost[i] = report->nodes[i].lost;
  words_nodes (to, report, lost, limit);
  free (lost);
}
