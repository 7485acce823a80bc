/* Answers of SLURM's tools that are no JSON: fields of sacct, a row each job, and `scontrol -o`, a line of NAME=VALUE.
 * SLURM_TIME_FORMAT has times in seconds since 1970. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/scheduler/scheduler_json.h"

#define COLUMNS_MAX 24
#define MEBI 1048576.0

static int64_t
time_of (const char *text)
{
  char *end = NULL;
  long long seconds = text ? strtoll (text, &end, 10) : 0;

  return text && end != text && !*end ? scheduler_time ((double) seconds) : 0;
}

/* "0:9" */
static void
set_exit (struct job_facts *facts, const char *text)
{
  unsigned code, signal;

  if (!text || sscanf (text, "%u:%u", &code, &signal) != 2)
    return;
  answer_set_number (facts, JOB_FACT_EXIT_CODE, code);
  answer_set_number (facts, JOB_FACT_EXIT_SIGNAL, signal);
}

static void
set_text (struct job_facts *facts, enum job_fact_text which, const char *text)
{
  if (text)
    job_facts_set_text (facts, which, text, strlen (text));
}

/* ---- sacct -P ---- */

/* Parts the line at the delimiter; the last column takes all that is left. */
static size_t
part (char *line, const char *delimiter, char *cells[COLUMNS_MAX], size_t most)
{
  size_t count = 0;

  while (line && count < most) {
    char *end = count + 1 < most ? strstr (line, delimiter) : NULL;
    cells[count++] = line;
    if (end)
      *end = '\0';
    line = end ? end + strlen (delimiter) : NULL;
  }
  return count;
}

struct sheet {
  char *names[COLUMNS_MAX], *cells[COLUMNS_MAX];
  size_t count;
};

static const char *
cell (const struct sheet *sheet, const char *name)
{
  for (size_t i = 0; i < sheet->count; i++)
    if (strcmp (sheet->names[i], name) == 0)
      return sheet->cells[i];
  return NULL;
}

static void
take_row (const struct sheet *sheet, const struct scheduler_taker *taker)
{
  const char *id = cell (sheet, "JobIDRaw"), *shown = cell (sheet, "JobID"), *limit = cell (sheet, "TimelimitRaw");
  struct job_facts facts;

  if (!id)
    return;
  job_facts_init (&facts);
  scheduler_set_slurm_state (&facts, cell (sheet, "State"));
  set_exit (&facts, cell (sheet, "ExitCode"));
  set_text (&facts, JOB_FACT_PARTITION, cell (sheet, "Partition"));
  set_text (&facts, JOB_FACT_ACCOUNT, cell (sheet, "Account"));
  set_text (&facts, JOB_FACT_QOS, cell (sheet, "QOS"));
  if (shown && strchr (shown, '_'))
    set_text (&facts, JOB_FACT_ARRAY, shown);
  scheduler_set_tres (&facts, cell (sheet, "ReqTRES"));
  if (limit && strtod (limit, NULL) > 0) /* in minutes, or "UNLIMITED" */
    answer_set_number (&facts, JOB_FACT_TIME_LIMIT, strtod (limit, NULL) * 60);
  facts.times_ns[JOB_FACT_SUBMITTED] = time_of (cell (sheet, "Submit"));
  facts.times_ns[JOB_FACT_ELIGIBLE] = time_of (cell (sheet, "Eligible"));
  facts.times_ns[JOB_FACT_STARTED] = time_of (cell (sheet, "Start"));
  facts.times_ns[JOB_FACT_ENDED] = time_of (cell (sheet, "End"));
  scheduler_set_command (&facts, cell (sheet, "SubmitLine"));
  scheduler_end_slurm (&facts, !limit || strtod (limit, NULL) > 0 || strcmp (limit, "UNLIMITED") == 0);
  answer_give (taker, id, cell (sheet, "User"), &facts);
}

/* A command may have newlines: what follows them is no row, since it cannot hold the delimiter. */
int
scheduler_read_sacct (char *text, size_t length, const struct scheduler_taker *taker, struct error *error)
{
  struct sheet sheet;
  char *rest = text, *line = strsep (&rest, "\n");

  (void) length;
  sheet.count = part (line, taker->delimiter, sheet.names, COLUMNS_MAX);
  if (sheet.count < 2)
    return error_set (error, "its answer has no columns");
  while ((line = strsep (&rest, "\n")))
    if (part (line, taker->delimiter, sheet.cells, sheet.count) == sheet.count)
      take_row (&sheet, taker);
  return 0;
}

/* ---- scontrol -o ---- */

#define VALUE_SIZE 512
struct value {
  char text[VALUE_SIZE];
};

/* The first " NAME=" up to the next blank; "" without one. */
static struct value
value_of (const char *line, const char *name)
{
  struct value value = { "" };
  char key[40];
  int length = snprintf (key, sizeof key, " %s=", name);
  const char *found = strstr (line, key);

  if (found)
    snprintf (value.text, sizeof value.text, "%.*s", (int) strcspn (found + length, " "), found + length);
  if (strcmp (value.text, "(null)") == 0 || strcmp (value.text, "N/A") == 0)
    value.text[0] = '\0';
  return value;
}

static void
take_wishes (struct job_facts *facts, const char *line)
{
  struct value wished = value_of (line, "ReqTRES"), tres = value_of (line, "TRES");

  scheduler_set_tres (facts, *wished.text ? wished.text : tres.text);
  answer_set_number (facts, JOB_FACT_TIME_LIMIT, scheduler_seconds (value_of (line, "TimeLimit").text));
  answer_set_number (facts, JOB_FACT_MEMORY_PER_NODE, scheduler_bytes (value_of (line, "MinMemoryNode").text, MEBI));
  answer_set_number (facts, JOB_FACT_MEMORY_PER_CPU, scheduler_bytes (value_of (line, "MinMemoryCPU").text, MEBI));
}

static void
take_line (const char *line, const struct scheduler_taker *taker)
{
  struct value user = value_of (line, "UserId"), array = value_of (line, "ArrayJobId"),
               task = value_of (line, "ArrayTaskId");
  char id[32], both[VALUE_SIZE * 2 + 2];
  struct job_facts facts;

  if (sscanf (line, "JobId=%31[0-9]", id) != 1)
    return;
  job_facts_init (&facts);
  scheduler_set_slurm_state (&facts, value_of (line, "JobState").text);
  set_exit (&facts, value_of (line, "ExitCode").text);
  set_text (&facts, JOB_FACT_PARTITION, value_of (line, "Partition").text);
  set_text (&facts, JOB_FACT_ACCOUNT, value_of (line, "Account").text);
  set_text (&facts, JOB_FACT_QOS, value_of (line, "QOS").text);
  if (*array.text && *task.text) {
    snprintf (both, sizeof both, "%s_%s", array.text, task.text);
    set_text (&facts, JOB_FACT_ARRAY, both);
  }
  take_wishes (&facts, line);
  answer_set_number (&facts, JOB_FACT_RESTARTS, scheduler_bytes (value_of (line, "Restarts").text, 1));
  facts.times_ns[JOB_FACT_SUBMITTED] = time_of (value_of (line, "SubmitTime").text);
  facts.times_ns[JOB_FACT_ELIGIBLE] = time_of (value_of (line, "EligibleTime").text);
  facts.times_ns[JOB_FACT_STARTED] = time_of (value_of (line, "StartTime").text);
  if (facts.final) /* before it is when it would have to end */
    facts.times_ns[JOB_FACT_ENDED] = time_of (value_of (line, "EndTime").text);
  scheduler_set_command (&facts, value_of (line, "Command").text);
  user.text[strcspn (user.text, "(")] = '\0';
  answer_give (taker, id, user.text, &facts);
}

int
scheduler_read_scontrol (char *text, size_t length, const struct scheduler_taker *taker, struct error *error)
{
  char *rest = text;

  (void) length;
  if (!strstr (text, "JobId="))
    return error_set (error, "its answer has no job");
  for (char *line; (line = strsep (&rest, "\n"));)
    take_line (line, taker);
  return 0;
}
