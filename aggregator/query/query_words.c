/* Units, times and durations of an answer as people read them, and what is said beside it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregator/query/query_text.h"
#include "synop/clock.h"

#define GAPS_NAMED 3
#define SERIES_NAMED 5

/* ---- numbers ---- */

struct scale
query_scale (const struct query_answer *answer)
{
  static const struct {
    const char *unit, *shown;
    bool prefixed; /* k, M, G stand before it */
  } units[] = { { "bytes", "B" },
                { "bytes/s", "B/s" },
                { "seconds", "s" },
                { "watts", "W" },
                { "joules", "J" },
                { "percent", "%" },
                { "celsius", "°C" },
                { "ratio", "" },
                { "boolean", "" },
                { "hertz", "Hz", true },
                { "bits_per_second", "bit/s", true } };
  static const struct scale hertz[] = { { 1, "Hz" }, { 1e6, "MHz" }, { 1e9, "GHz" } },
                            bits[] = { { 1, "bit/s" }, { 1e6, "Mbit/s" }, { 1e9, "Gbit/s" } },
                            counts[] = { { 1, "" }, { 1e6, "million" }, { 1e9, "thousand million" } };
  double most = 0;
  size_t step;

  for (size_t i = 0; i < answer->series_count; i++)
    most = fmax (most, fmax (fabs (answer->series[i].min), fabs (answer->series[i].max)));
  step = most >= 1e9 ? 2 : most >= 1e6 ? 1 : 0;
  if (!*answer->unit)
    return counts[step];
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (strcmp (units[i].unit, answer->unit) == 0)
      return !units[i].prefixed ? scale_for (units[i].shown, most) : *units[i].shown == 'H' ? hertz[step] : bits[step];
  return (struct scale){ 1, answer->unit };
}

/* As many digits as the greatest needs for four. */
int
query_places (const struct query_answer *answer, const struct scale *scale)
{
  double most = 0;

  for (size_t i = 0; i < answer->series_count; i++)
    most = fmax (most, fmax (fabs (answer->series[i].min), fabs (answer->series[i].max)));
  most /= scale->divisor;
  return most == 0 || most >= 1000 ? 0 : most >= 100 ? 1 : most >= 10 ? 2 : most >= 0.1 ? 3 : most >= 0.001 ? 5 : 9;
}

/* ---- times ---- */

const char *
query_time_format (const struct query_answer *answer)
{
  int64_t step = answer->step_ns, day = 86400 * NS_PER_S;

  if (step % day == 0)
    return "%Y-%m-%d";
  if (answer->to_ns - answer->from_ns > day)
    return step % (60 * NS_PER_S) ? "%m-%d %H:%M:%S" : "%m-%d %H:%M";
  return step % (60 * NS_PER_S) ? "%H:%M:%S" : "%H:%M";
}

void
query_time (struct buffer *out, int64_t time_ns, const char *format, bool parts)
{
  time_t seconds = (time_t) (time_ns / NS_PER_S);
  char text[64];
  struct tm tm;

  if (localtime_r (&seconds, &tm) && strftime (text, sizeof text, format, &tm) > 0)
    buffer_add_string (out, text);
  if (parts)
    buffer_printf (out, ".%03d", (int) (time_ns % NS_PER_S / NS_PER_MS));
}

/* "5 min", "90 s", "1.5 h" */
void
query_duration (struct buffer *out, int64_t ns)
{
  static const struct {
    int64_t ns;
    const char *name;
  } units[] = { { 86400 * NS_PER_S, "d" }, { 3600 * NS_PER_S, "h" }, { 60 * NS_PER_S, "min" }, { NS_PER_S, "s" } };
  size_t i = 0;

  while (i < 3 && ns % units[i].ns != 0)
    i++;
  buffer_printf (out, "%.6g %s", (double) ns / (double) units[i].ns, units[i].name);
}

/* ---- what is said beside it ---- */

static void
from_to (struct buffer *out, const struct query_answer *answer, int64_t from_ns, int64_t to_ns)
{
  const char *format = query_time_format (answer);

  query_time (out, from_ns, format, false);
  buffer_add_string (out, " to ");
  query_time (out, to_ns, format, false);
}

static void
note_tiers (struct buffer *out, const struct query_answer *answer)
{
  buffer_add_string (out, answer->piece_count ? "From " : "The history has nothing of this time.");
  for (size_t i = 0; i < answer->piece_count; i++) {
    const struct query_piece *piece = &answer->pieces[i];
    buffer_printf (out, "%s%s", i ? "; " : "", query_tier_names[piece->tier]);
    if (answer->piece_count > 1) {
      buffer_add_string (out, ", ");
      from_to (out, answer, piece->from_ns, piece->to_ns);
    }
  }
  buffer_add_string (out, answer->piece_count ? ".\n" : "\n");
}

static void
note_gaps (struct buffer *out, const struct query_answer *answer)
{
  if (!answer->gap_count || !answer->series_count) /* then it is all of it, which is said */
    return;
  buffer_add_string (out, "Missing: ");
  for (size_t i = 0; i < answer->gap_count && i < GAPS_NAMED; i++) {
    buffer_add_string (out, i ? "; " : "");
    from_to (out, answer, answer->gaps[i].from_ns, answer->gaps[i].to_ns);
  }
  if (answer->gap_count > GAPS_NAMED)
    buffer_printf (out, " and %zu more times", answer->gap_count - GAPS_NAMED);
  buffer_add_string (out, ".\n");
}

/* Series that lack more than all do. */
static void
note_series (struct buffer *out, const struct query_answer *answer)
{
  size_t common = 0, named = 0, lacking = 0;

  for (size_t i = 0; i < answer->gap_count; i++)
    common += (size_t) ((answer->gaps[i].to_ns - answer->gaps[i].from_ns) / answer->step_ns);
  for (size_t i = 0; i < answer->series_count; i++) {
    const struct query_series *series = &answer->series[i];
    if (series->missing <= common || lacking++ >= SERIES_NAMED)
      continue;
    buffer_printf (out, "%s%s%s", named++ ? ", " : "Steps without a value: ", series->node, series->row ? " " : "");
    words_add (out, series->row ? series->row : "", 38);
    buffer_printf (out, " %zu of %zu", series->missing, answer->steps);
  }
  if (lacking > SERIES_NAMED)
    buffer_printf (out, " and %zu more", lacking - SERIES_NAMED);
  if (lacking)
    buffer_add_string (out, ".\n");
}

void
query_write_notes (struct buffer *out, const struct query_answer *answer)
{
  buffer_add (out, answer->note.data, answer->note.length);
  if (!answer->instant)
    note_tiers (out, answer);
  if (!answer->series_count && answer->piece_count)
    buffer_add_string (out, "No node has it in this time.\n");
  else
    note_gaps (out, answer);
  note_series (out, answer);
  if (answer->now_ns < answer->to_ns && answer->series_count) {
    buffer_add_string (out, "The step of ");
    query_time (out, answer->to_ns - answer->step_ns, query_time_format (answer), false);
    buffer_add_string (out, " is not over yet.\n");
  }
  if (answer->left_out)
    buffer_printf (out, "%zu more series %s left out.\n", answer->left_out, answer->left_out == 1 ? "is" : "are");
  if (answer->others)
    buffer_add_string (out, "Rows of other users are left out.\n");
  if (answer->broken)
    buffer_printf (out, "%zu pieces of the history are damaged and left out.\n", answer->broken);
}
