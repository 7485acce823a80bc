/* Which groups this machine lacks the hardware or driver for; see absent.h. Samplers of one kind share a function that
 * answers this. Each function is called once, in a thread, since a driver may hang; all run at the same time. */
#include "agent/absent.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/clock.h"
#include "synop/memory.h"
#include "synop/thread.h"

#define PATIENCE_S 10
#define STACK (1 << 20) /* beside what samples need */

struct question {
  const struct sampler *sampler;
  const struct sampler_context *context;
  pthread_t thread;
  pthread_mutex_t lock; /* over what follows */
  pthread_cond_t done;
  bool answered;
  char text[512];
};

struct reason {
  const struct sampler *sampler; /* the first that has it */
  struct question *question;
  char text[512]; /* "": nothing is missing */
};

static void *
answer (void *argument)
{
  struct question *question = argument;
  char text[sizeof question->text] = "";

  question->sampler->absent (question->context, text, sizeof text);
  pthread_mutex_lock (&question->lock);
  memcpy (question->text, text, sizeof text);
  question->answered = true;
  pthread_cond_signal (&question->done);
  pthread_mutex_unlock (&question->lock);
  return NULL;
}

/* NULL: no thread could be started. */
static struct question *
ask (const struct sampler *sampler, const struct sampler_context *context)
{
  struct question *question = memory_new (1, sizeof *question);

  question->sampler = sampler;
  question->context = context;
  pthread_mutex_init (&question->lock, NULL);
  pthread_cond_init (&question->done, NULL);
  if (thread_start (&question->thread, STACK + sampler->stack, answer, question) == 0)
    return question;
  free (question);
  return NULL;
}

/* The question of a thread that hangs is never freed. */
static void
take_answer (struct reason *reason, const struct timespec *deadline)
{
  struct question *question = reason->question;
  bool answered;

  if (!question)
    return;
  pthread_mutex_lock (&question->lock);
  while (!question->answered && pthread_cond_timedwait (&question->done, &question->lock, deadline) == 0)
    continue;
  answered = question->answered;
  memcpy (reason->text, question->text, sizeof reason->text);
  pthread_mutex_unlock (&question->lock);
  if (answered) {
    pthread_join (question->thread, NULL);
    free (question);
  } else {
    pthread_detach (question->thread);
    snprintf (reason->text, sizeof reason->text, "the driver has not answered for %d s", PATIENCE_S);
  }
}

static struct reason *
find_reason (struct reason *reasons, size_t count, const struct sampler *sampler)
{
  for (size_t i = 0; i < count; i++)
    if (reasons[i].sampler->absent == sampler->absent)
      return &reasons[i];
  return NULL;
}

static bool
was_written (const struct reason *reasons, size_t index)
{
  for (size_t i = 0; i < index; i++)
    if (strcmp (reasons[i].text, reasons[index].text) == 0)
      return true;
  return false;
}

void
absent_write (struct buffer *out, const struct sampler_context *context)
{
  struct timespec deadline = { .tv_sec = (time_t) (clock_wall () / NS_PER_S) + PATIENCE_S };
  struct reason *reasons = memory_new (context->sampler_count, sizeof *reasons);
  const struct sampler *const *list = context->samplers;
  size_t count = 0;

  for (size_t i = 0; i < context->sampler_count; i++)
    if (list[i]->absent && !find_reason (reasons, count, list[i]))
      reasons[count++] = (struct reason){ .sampler = list[i], .question = ask (list[i], context) };
  for (size_t i = 0; i < count; i++)
    take_answer (&reasons[i], &deadline);
  for (size_t i = 0; i < count; i++) {
    const char *before = "\nNot on this machine: ";

    if (!reasons[i].text[0] || was_written (reasons, i))
      continue;
    for (size_t k = 0; k < context->sampler_count; k++)
      if (list[k]->absent && strcmp (find_reason (reasons, count, list[k])->text, reasons[i].text) == 0) {
        buffer_printf (out, "%s%s", before, list[k]->group->name);
        before = ", ";
      }
    buffer_printf (out, ": %s\n", reasons[i].text);
  }
  free (reasons);
}
