/* See now.h: who asks, and who watches. */
#include "aggregator/now/now.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregator/now/now_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define IDLE_MOST (2 * NS_PER_S)    /* without a tick, before there was one */
#define ANSWER_PART 5               /* one in, of the time: for answers and first lines, */
#define ANSWER_MOST NS_PER_S        /* of which so much may be used at once: many viewers come back together */
#define TICK_MOST (100 * NS_PER_MS) /* for the lines of a tick: those of other questions are skipped then */

struct now *
now_create (const struct cluster *cluster)
{
  struct now *now = memory_new (1, sizeof *now);

  now->cluster = cluster;
  now->listed = UINT64_MAX;
  now->idle_most_ns = IDLE_MOST;
  now->left_ns = ANSWER_MOST;
  now->left_at_ns = clock_monotonic ();
  return now;
}

void
now_destroy (struct now *now)
{
  if (!now)
    return;
  now_schemas_free (now);
  catalog_free (&now->catalog);
  free (now->order);
  free (now->states);
  free (now->found);
  free (now);
}

/* ---- answers, for a part of the main thread's time ---- */

/* CPU time of this thread: what others take of a machine that is busy is not ours. */
static int64_t
time_used (void)
{
  struct timespec used;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * NS_PER_S + used.tv_nsec;
}

static int
time_is_left (struct now *now, struct error *error)
{
  int64_t now_ns = clock_monotonic ();

  now->left_ns += (now_ns - now->left_at_ns) / ANSWER_PART;
  now->left_ns = now->left_ns < ANSWER_MOST ? now->left_ns : ANSWER_MOST;
  now->left_at_ns = now_ns;
  return now->left_ns > 0 ? 0 : error_set (error, "busy: more is asked for than there is time for; ask again");
}

static void
time_spend (struct now *now, int64_t begin_ns)
{
  now->left_ns -= time_used () - begin_ns;
}

static int
answer (struct now *now, const struct viewer *viewer, char *words, int64_t time_ns, struct buffer *out,
        struct error *error)
{
  struct now_question *question = now_question_take (now, viewer, words, false, error);
  struct json json = { 0 };
  int result;

  if (!question)
    return -1;
  result = now_write (now, question, time_ns, true, &json, error);
  if (result == 0)
    buffer_add (out, json.out.data, json.out.length);
  json_free (&json);
  now_question_free (now, question);
  return result;
}

int
now_answer (struct now *now, const struct viewer *viewer, char *words, int64_t time_ns, struct buffer *out,
            struct error *error)
{
  int64_t begin_ns = time_used ();
  int result;

  if (time_is_left (now, error) < 0)
    return -1;
  result = answer (now, viewer, words, time_ns, out, error);
  time_spend (now, begin_ns);
  return result;
}

/* ---- who watches ---- */

static struct line *
line_of_error (const struct error *error)
{
  struct buffer text = { 0 };
  struct line *line;

  buffer_printf (&text, "error %s\n", error->text);
  line = line_create (text.data, text.length);
  buffer_free (&text);
  return line;
}

/* Makes a line of the question; what is wrong is the line, and the last one for who gets it. */
static int
line_make (struct now *now, struct now_question *question, bool names, struct error *error)
{
  struct line **line = names ? &question->whole : &question->plain;
  struct json json = { 0 };

  question->failed = now_write (now, question, now->time_ns, names, &json, error) < 0;
  *line = question->failed ? line_of_error (error) : line_create (json.out.data, json.out.length);
  json_free (&json);
  return question->failed ? -1 : 0;
}

/* With names, where the reader has others. */
static void
reader_feed (struct now_reader *reader)
{
  struct now_question *question = reader->question;
  bool names = reader->list != question->list;
  struct line **line = names ? &question->whole : &question->plain;
  struct error error;

  if (reader->over)
    return;
  if (!outlet_empty (reader->outlet)) {
    reader->now->skipped++;
    return;
  }
  if (!*line)
    line_make (reader->now, question, names, &error);
  outlet_put (reader->outlet, *line);
  reader->list = question->list;
  reader->over = question->failed;
  reader->fed = true;
}

static void
lines_drop (struct now_question *question)
{
  line_release (question->plain);
  line_release (question->whole);
  question->plain = question->whole = NULL;
}

/* The question with its first line, all names in it. NULL and error. */
static struct now_question *
question_begin (struct now *now, const struct viewer *viewer, char *words, int64_t time_ns, struct error *error)
{
  struct now_question *question = now_question_take (now, viewer, words, true, error);

  now->time_ns = time_ns;
  if (!question || line_make (now, question, true, error) == 0)
    return question;
  lines_drop (question);
  if (question->readers == 0)
    now_question_free (now, question);
  return NULL;
}

struct now_reader *
now_attach (struct now *now, const struct viewer *viewer, char *words, int64_t time_ns, struct outlet *outlet,
            void (*ready) (void *context), void *context, struct error *error)
{
  int64_t begin_ns = time_used ();
  struct now_question *question =
      time_is_left (now, error) < 0 ? NULL : question_begin (now, viewer, words, time_ns, error);
  struct now_reader *reader;

  time_spend (now, begin_ns);
  if (!question)
    return NULL;
  question->readers++;
  reader = memory_new (1, sizeof *reader);
  *reader = (struct now_reader){ .now = now,
                                 .next = now->readers,
                                 .place = &now->readers,
                                 .question = question,
                                 .outlet = outlet,
                                 .list = UINT64_MAX,
                                 .ready = ready,
                                 .context = context };
  if (reader->next)
    reader->next->place = &reader->next;
  now->readers = reader;
  now->reader_count++;
  reader_feed (reader);
  reader->fed = false; /* who attaches flushes it */
  lines_drop (question);
  return reader;
}

void
now_detach (struct now_reader *reader)
{
  if (!reader)
    return;
  *reader->place = reader->next;
  if (reader->next)
    reader->next->place = reader->place;
  reader->now->reader_count--;
  if (--reader->question->readers == 0)
    now_question_free (reader->now, reader->question);
  free (reader);
}

void
now_frame (struct now *now, const struct node *node)
{
  size_t searched = 0;

  if (!now->watched)
    return;
  now_list (now);
  for (size_t i = 0; i < SLOTS; i++)
    if (now->metrics[i].values)
      now->metrics[i].values[node->place] = now_value (now, &now->metrics[i], node, NULL, &searched);
}

void
now_tick (struct now *now, int64_t time_ns, int64_t period_ns)
{
  now->due = now->readers;
  now->ticked = true;
  now->idle_most_ns = 2 * period_ns;
  now->time_ns = time_ns;
}

/* Without ticks, since no node ever reported or all were removed, there is a line now and then. */
void
now_poll (struct now *now, struct instant instant)
{
  if (now->ticked) {
    now->ticked = false;
    now->idle_ns = instant.monotonic_ns;
  } else if (instant.monotonic_ns - now->idle_ns > now->idle_most_ns) {
    now->idle_ns = instant.monotonic_ns;
    now->due = now->readers;
    now->time_ns = cluster_time (now->cluster, instant.monotonic_ns);
  }
}

/* Makes the question's lines, and gives them to its readers. */
static void
question_serve (struct now *now, struct now_question *question)
{
  now_question_choose (now, question);
  for (struct now_reader *reader = now->readers; reader; reader = reader->next)
    if (reader->question == question)
      reader_feed (reader);
  lines_drop (question);
}

/* Those that were served last wait longest when there is no time for all. */
static void
questions_serve (struct now *now)
{
  int64_t begin_ns = time_used ();
  size_t count = 0;

  for (const struct now_question *question = now->questions; question; question = question->next)
    count++;
  for (; count > 0 && time_used () - begin_ns < TICK_MOST; count--) {
    struct now_question *question = now->questions;
    question_serve (now, question);
    now_question_unlink (question);
    now_question_link (now, question);
  }
  for (const struct now_question *question = now->questions; count > 0; question = question->next, count--)
    now->skipped += question->readers;
}

void
now_flush (struct now *now)
{
  struct now_reader *next;

  if (!now->due)
    return;
  now->due = false;
  now_list (now);
  questions_serve (now);
  for (struct now_reader *reader = now->readers; reader; reader = next) {
    next = reader->next;
    if (!reader->fed)
      continue;
    reader->fed = false;
    reader->ready (reader->context);
  }
}

struct now_counts
now_count (const struct now *now)
{
  return (struct now_counts){ now->reader_count, now->watched, now->skipped };
}
