/* See fact_rows.h. */
#include "aggregator/report/fact_rows.h"

#include <math.h>

#include "aggregator/report/job_words.h"

static struct buffer *
begin (struct fact_rows *rows, const char *label)
{
  rows->rows[rows->count].label = label;
  return &rows->rows[rows->count].value;
}

/* The row counts once it says something. */
static void
end (struct fact_rows *rows)
{
  rows->count += rows->rows[rows->count].value.length > 0;
}

static void
add_text (struct buffer *to, const char *before, const char *text)
{
  if (!text)
    return;
  buffer_printf (to, "%s%s", to->length ? ", " : "", before);
  words_add (to, text, JOB_FACT_TEXT_MAX);
}

static void
add_count (struct buffer *to, double count, const char *one, const char *many)
{
  if (!isnan (count) && count > 0)
    buffer_printf (to, "%s%.10g %s", to->length ? ", " : "", count, count > 1 ? many : one);
}

static void
add_state (struct buffer *to, const struct job_facts *facts)
{
  double code = facts->numbers[JOB_FACT_EXIT_CODE], signal = facts->numbers[JOB_FACT_EXIT_SIGNAL];

  add_text (to, "", facts->texts[JOB_FACT_STATE]);
  if (facts->final && !isnan (code) && (code > 0 || !(signal > 0)))
    buffer_printf (to, "%sexit code %.0f", to->length ? ", " : "", code);
  if (signal > 0)
    buffer_printf (to, "%ssignal %.0f", to->length ? ", " : "", signal);
  add_count (to, facts->numbers[JOB_FACT_RESTARTS], "restart", "restarts");
}

static void
add_request (struct buffer *to, const struct job_facts *facts)
{
  const double *numbers = facts->numbers;

  add_count (to, numbers[JOB_FACT_NODES], "node", "nodes");
  add_count (to, numbers[JOB_FACT_CPUS], "CPU", "CPUs");
  add_count (to, numbers[JOB_FACT_GPUS], "GPU", "GPUs");
  if (numbers[JOB_FACT_GPUS] > 0 && facts->texts[JOB_FACT_GPU_TYPE]) {
    buffer_add_string (to, " (");
    words_add (to, facts->texts[JOB_FACT_GPU_TYPE], JOB_FACT_TEXT_MAX);
    buffer_add_string (to, ")");
  }
  if (!isnan (numbers[JOB_FACT_MEMORY]))
    buffer_printf (to, "%s%s of memory", to->length ? ", " : "", words_value (numbers[JOB_FACT_MEMORY], "B").text);
  if (!isnan (numbers[JOB_FACT_TIME_LIMIT]))
    buffer_printf (to, "%s%s", to->length ? ", " : "", words_duration (numbers[JOB_FACT_TIME_LIMIT]).text);
}

static void
add_wait (struct buffer *to, const struct job_facts *facts)
{
  double wait = job_facts_wait (facts);

  if (!isnan (wait))
    buffer_printf (to, "%s", words_duration (wait).text);
  if (facts->times_ns[JOB_FACT_SUBMITTED])
    buffer_printf (to, "%ssubmitted %s", to->length ? ", " : "", words_time (facts->times_ns[JOB_FACT_SUBMITTED]).text);
}

void
fact_rows_init (struct fact_rows *rows, const struct job_facts *facts)
{
  struct buffer *place;

  *rows = (struct fact_rows){ 0 };
  if (facts->error)
    add_text (begin (rows, "Not known"), "", facts->error);
  end (rows);
  if (!facts->known)
    return;
  add_state (begin (rows, "State"), facts);
  end (rows);
  place = begin (rows, "Partition");
  add_text (place, "", facts->texts[JOB_FACT_PARTITION]);
  add_text (place, "account ", facts->texts[JOB_FACT_ACCOUNT]);
  add_text (place, "QOS ", facts->texts[JOB_FACT_QOS]);
  end (rows);
  add_request (begin (rows, "Asked for"), facts);
  end (rows);
  add_wait (begin (rows, "Waited"), facts);
  end (rows);
  add_text (begin (rows, "Submitted as"), "", facts->texts[JOB_FACT_COMMAND]);
  end (rows);
}

void
fact_rows_free (struct fact_rows *rows)
{
  for (size_t i = 0; i < FACT_ROWS_MAX; i++)
    buffer_free (&rows->rows[i].value);
}
