/* See job_list_table.h. */
#include "aggregator/report/job_list_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregator/report/job_words.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define COLUMNS 11
#define TEXT_CELL 38 /* characters */

#define CELL sizeof (struct words)
struct cells {
  char text[COLUMNS][CELL];
};

static const char *const titles[COLUMNS] = { "JOB",      "USER", "NAME",     "STATE",  "NODES", "STARTED",
                                             "DURATION", "CPU%", "CPU TIME", "MEMORY", "ENERGY" };
static const bool rights[COLUMNS] = { [4] = true, [6] = true, [7] = true, [8] = true, [9] = true, [10] = true };

static void
cell_text (char cell[CELL], const char *text)
{
  strcpy (cell, *text ? words_short (text, TEXT_CELL).text : "-");
}

static void
cell_time (char cell[CELL], int64_t ns)
{
  time_t seconds = (time_t) (ns / NS_PER_S);
  struct tm tm;

  if (!localtime_r (&seconds, &tm) || strftime (cell, CELL, "%Y-%m-%d %H:%M:%S", &tm) == 0)
    strcpy (cell, "-");
}

/* "3-04:05:06", "04:05:06", as schedulers write it. */
static void
cell_duration (char cell[CELL], double seconds)
{
  long long whole = seconds > 0 && seconds < 1e12 ? (long long) (seconds + 0.5) : 0;

  if (isnan (seconds))
    strcpy (cell, "-");
  else if (whole >= 86400)
    snprintf (cell, CELL, "%lld-%02lld:%02lld:%02lld", whole / 86400, whole / 3600 % 24, whole / 60 % 60, whole % 60);
  else
    snprintf (cell, CELL, "%02lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
}

/* A number of the summary, which job_summary_write wrote: the first of that name, behind `from` if that is there. */
static double
summary_number (const char *summary, const char *from, const char *name)
{
  char key[64];
  const char *at = from ? strstr (summary, from) : summary;
  double number;

  snprintf (key, sizeof key, "\"%s\":", name);
  at = at ? strstr (at, key) : NULL;
  return at && sscanf (at + strlen (key), "%lf", &number) == 1 ? number : nan ("");
}

static void
fill (struct cells *cells, const struct job_record *job, int64_t now_ns)
{
  double efficiency = summary_number (job->summary, NULL, "cpu_efficiency");
  int64_t end_ns = job->ended_ns ? job->ended_ns : now_ns;

  cell_text (cells->text[0], job->shown);
  cell_text (cells->text[1], job->user);
  cell_text (cells->text[2], *job->name ? job->name : job->command);
  strcpy (cells->text[3], job->ended_ns ? "ended" : "running");
  snprintf (cells->text[4], CELL, "%zu", job->node_count);
  cell_time (cells->text[5], job->started_ns);
  cell_duration (cells->text[6], (double) (end_ns - job->started_ns) / (double) NS_PER_S);
  if (isnan (efficiency))
    strcpy (cells->text[7], "-");
  else
    snprintf (cells->text[7], CELL, "%.1f", efficiency);
  cell_duration (cells->text[8], summary_number (job->summary, NULL, "cpu_time"));
  strcpy (cells->text[9], words_value (summary_number (job->summary, "\"memory_peak\":{", "bytes"), "B").text);
  strcpy (cells->text[10], words_value (summary_number (job->summary, NULL, "energy_kwh") * 1000, "Wh").text);
}

/* Characters, not bytes. */
static int
width (const char *text)
{
  int count = 0;

  for (; *text; text++)
    count += ((unsigned char) *text & 0xc0) != 0x80;
  return count;
}

static void
add_cells (struct buffer *out, const char *const *texts, const int *widths)
{
  for (int i = 0; i < COLUMNS; i++) {
    int pad = widths[i] - width (texts[i]);
    bool last = i == COLUMNS - 1;
    buffer_printf (out, "%s%*s%s%*s", i ? "  " : "", rights[i] ? pad : 0, "", texts[i], rights[i] || last ? 0 : pad,
                   "");
  }
  buffer_add_string (out, "\n");
}

void
job_list_table (struct buffer *out, const struct job_list *list)
{
  struct cells *rows = memory_new (list->count, sizeof *rows);
  int widths[COLUMNS];
  int64_t now = clock_wall ();

  for (int i = 0; i < COLUMNS; i++)
    widths[i] = width (titles[i]);
  for (size_t row = 0; row < list->count; row++) {
    fill (&rows[row], &list->jobs[row], now);
    for (int i = 0; i < COLUMNS; i++)
      widths[i] = width (rows[row].text[i]) > widths[i] ? width (rows[row].text[i]) : widths[i];
  }
  add_cells (out, titles, widths);
  for (size_t row = 0; row < list->count; row++) {
    const char *texts[COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
      texts[i] = rows[row].text[i];
    add_cells (out, texts, widths);
  }
  free (rows);
}
