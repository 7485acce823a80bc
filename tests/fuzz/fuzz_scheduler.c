/* What schedulers' tools print: the first byte says which form of which scheduler's question it answers, "0" the first of
 * SLURM's. Behind them all are facts as the child that asks prints them, which its parent reads. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/scheduler/scheduler.h"
#include "synop/json.h"
#include "synop/memory.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* The forms of all schedulers, one after the other; NULL: no more. */
static const struct scheduler_form *
form_at (size_t index)
{
  for (size_t i = 0; i < SCHEDULERS; i++) {
    const struct scheduler *scheduler = scheduler_at (i);
    if (index < scheduler->form_count)
      return &scheduler->forms[index];
    index -= scheduler->form_count;
  }
  return NULL;
}

static void
check_text (const char *text)
{
  if (strlen (text) > JOB_FACT_TEXT_MAX)
    abort ();
  for (; *text; text++)
    if ((unsigned char) *text < ' ')
      abort ();
}

/* What is written of them is read as the same. */
static void
check_facts (const struct job_facts *facts)
{
  struct json first = { 0 }, second = { 0 };
  struct job_facts again;

  for (size_t i = 0; i < JOB_FACT_TEXTS; i++)
    if (facts->texts[i])
      check_text (facts->texts[i]);
  for (size_t i = 0; i < JOB_FACT_NUMBERS; i++)
    if (isinf (facts->numbers[i]))
      abort ();
  job_facts_write (&first, facts);
  if (job_facts_read (&again, buffer_text (&first.out)) < 0 && !job_facts_are_empty (facts))
    abort ();
  job_facts_write (&second, &again);
  if (strcmp (buffer_text (&first.out), buffer_text (&second.out)) != 0)
    abort ();
  job_facts_free (&again);
  json_free (&first);
  json_free (&second);
}

static void
take (void *context, struct scheduler_job *job)
{
  char id[SCHEDULER_ID_SIZE];

  (void) context;
  if (!job->id || !job->user)
    abort ();
  scheduler_id (job->id, id);
  check_facts (&job->facts);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const struct scheduler_taker taker = { NULL, "|d|", take };
  const struct scheduler_form *form;
  struct error error = { "" };
  char *text, *command;

  if (size == 0)
    return 0;
  form = form_at ((size_t) (data[0] - '0') & 15);
  text = memory_copy ((const char *) data + 1, size - 1);
  command = scheduler_command (text);
  free (command);
  if (!form) {
    struct job_facts facts;
    if (job_facts_read (&facts, text) == 0)
      check_facts (&facts);
    job_facts_free (&facts);
  } else if (form->read (text, size - 1, &taker, &error) < 0 && !error.text[0]) {
    abort ();
  }
  free (text);
  return 0;
}
