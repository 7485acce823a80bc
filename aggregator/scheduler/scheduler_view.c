/* The view that asks schedulers about jobs that begin and end. One child at a time for each scheduler asks for all that are
 * due; what it prints is bounded, and so is how long it may take. */
#include "aggregator/scheduler/scheduler_view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/history/history.h"
#include "aggregator/history/history_file.h"
#include "aggregator/history/history_view.h"
#include "aggregator/history/job_store.h"
#include "aggregator/scheduler/ask.h"
#include "aggregator/scheduler/inquiries.h"
#include "aggregator/views/views.h"
#include "synop/child.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/json.h"
#include "synop/log.h"
#include "synop/memory.h"

#define PAUSE NS_PER_S                /* between two questions to one scheduler: so many jobs are asked for at once */
#define GRACE (5 * NS_PER_S)          /* of the child, after its own deadline */
#define ABSENT_PAUSE (600 * NS_PER_S) /* until tools that were not there are looked for again */
#define ANSWER_MAX (4u << 20)         /* bytes */
#define PIPE_BYTES (256 * 1024)
#define READ_AT_ONCE 65536
#define END_TRIES 100
#define LOOK_BACK (3600 * NS_PER_S) /* at the start: jobs that ended since are asked for, if need be */
#define AT(member) .offset = offsetof (struct settings, member)

enum enabled { ENABLED_AUTO, ENABLED_YES, ENABLED_NO };
static const char *const enabled_names[] = { "auto", "yes", "no", NULL };

struct settings {
  int enabled;
  char *command, *user;
  int64_t timeout_ns;
};

static const struct option options[] = {
  { "scheduler", "enabled", "scheduler-enabled", OPTION_CHOICE, AT (enabled), .fallback = "auto",
    .choices = enabled_names, .reload = OPTIONS_RELOADED,
    .help = "Whether schedulers are asked what they know of jobs, by their own tools (sacct, qstat, oarstat, bjobs, "
            "flux): auto where these are found; yes: with a warning where they are not." },
  { "scheduler", "command", "scheduler-command", OPTION_TEXT, AT (command), .fallback = "", .reload = OPTIONS_RELOADED,
    .help = "Words before each tool's, with no shell between: \"ssh head\", \"env PATH=/opt/slurm/bin\"." },
  { "scheduler", "timeout", "scheduler-timeout", OPTION_DURATION, AT (timeout_ns), .fallback = "10s", .minimum = "1s",
    .maximum = "5m", .reload = OPTIONS_RELOADED,
    .help = "How long a scheduler may take to answer; then its tool is killed, and asked again later." },
  { "scheduler", "user", "scheduler-user", OPTION_TEXT, AT (user), .fallback = "", .reload = OPTIONS_RELOADED,
    .help = "The user that the tools run as, where the aggregator runs as root. Empty: as the aggregator." },
};

static const char *const counters[] = { "scheduler_questions", "scheduler_failures", "scheduler_jobs_left_out", NULL };

/* A question on its way. */
struct question {
  struct child child;
  struct inquiry *asked[SCHEDULER_JOBS_MAX];
  size_t count;
  struct buffer answer;
  int64_t until_ns;  /* then the child is killed */
  int64_t next_ns;   /* no other question before */
  int64_t absent_ns; /* until when no tools are there; 0: they are */
};

struct scheduler_view {
  const struct view_context *context;
  struct inquiries *inquiries;
  struct question questions[SCHEDULERS];
  uint64_t asked, failed, left_out;
};

/* ---- reports ---- */

static void
report (void *context, const struct inquiry *inquiry)
{
  const struct scheduler_view *view = context;
  const char *const texts[JOB_TEXTS] = { inquiry->scheduler->name, inquiry->user, "", "", "" };
  const struct job_row row = { JOB_ROW_FACTS, inquiry->key, 0, 0, { inquiry->shown } };

  view_job_row (view->context, &row);
  view_job (view->context, &(struct job_line){ .event = JOB_FACTS,
                                               .key = inquiry->key,
                                               .time_ns = view_now_ns (view->context),
                                               .label = inquiry->label,
                                               .texts = texts,
                                               .started_ns = inquiry->started_ns,
                                               .facts = inquiry->shown });
}

/* ---- questions ---- */

static void
start (struct scheduler_view *view, const struct scheduler *scheduler, struct question *question, int64_t now_ns)
{
  const struct settings *settings = view->context->options;
  char *timeout = memory_format ("%" PRId64, settings->timeout_ns / NS_PER_MS);
  char **words = memory_new (ASK_WORDS + 2 + question->count, sizeof *words);
  size_t at = 0;

  words[at++] = memory_string ("synop-aggregator");
  words[at++] = memory_string (ASK_COMMAND);
  words[at++] = memory_string (scheduler->name);
  words[at++] = timeout;
  words[at++] = memory_string (settings->user);
  words[at++] = memory_string (settings->command);
  for (size_t i = 0; i < question->count; i++)
    words[at++] = memory_format ("%s,%" PRId64 ",%s", question->asked[i]->id, question->asked[i]->started_ns / NS_PER_S,
                                 question->asked[i]->user);
  if (child_start (&question->child,
                   &(struct child_program){ .path = "/proc/self/exe", .words = (const char *const *) words }) < 0)
    log_error ("scheduler: no child can be started: %s", strerror (errno));
  else
    fcntl (question->child.out, F_SETPIPE_SZ, PIPE_BYTES);
  file_close (&question->child.err); /* what it logs is in its answer */
  view->asked++;
  question->until_ns = now_ns + settings->timeout_ns + GRACE;
  question->next_ns = now_ns + PAUSE;
  while (at > 0)
    free (words[--at]);
  free (words);
}

/* False: it may print more. */
static bool
listen_to (struct question *question)
{
  ssize_t n = 1;

  while (n > 0 && question->child.out >= 0) {
    char *room = buffer_reserve (&question->answer, READ_AT_ONCE);
    n = read (question->child.out, room, READ_AT_ONCE);
    if (n > 0 && question->answer.length < ANSWER_MAX)
      question->answer.length += (size_t) n;
  }
  if (n == 0)
    file_close (&question->child.out);
  return question->child.out < 0;
}

/* The facts of the line "NUMBER JSON" with that number; without one, what `why` says. */
static void
find_facts (struct question *question, size_t number, const char *why, struct job_facts *facts)
{
  const char *at = buffer_text (&question->answer);
  char *line = NULL, *end;

  job_facts_init (facts);
  for (; *at && !line; at += strcspn (at, "\n"), at += *at == '\n')
    if (strtoul (at, &end, 10) == number && end != at && *end == ' ')
      line = memory_copy (end, strcspn (end, "\n"));
  if (!line || job_facts_read (facts, line) < 0)
    job_facts_set_error (facts, why);
  free (line);
}

static void
answer_all (struct scheduler_view *view, const struct scheduler *scheduler, struct question *question, const char *why,
            int64_t now_ns)
{
  bool absent = strncmp (buffer_text (&question->answer), ASK_ABSENT "\n", sizeof ASK_ABSENT) == 0;
  const struct settings *settings = view->context->options;
  bool known = false;

  for (size_t i = 0; i < question->count; i++) {
    struct job_facts facts;
    find_facts (question, i, why, &facts);
    known |= facts.known;
    inquiries_answer (view->inquiries, question->asked[i], &facts, absent, now_ns);
  }
  if (absent && !question->absent_ns && settings->enabled == ENABLED_YES)
    log_warning ("scheduler: there is no tool of %s here: [scheduler] command says how to reach one", scheduler->name);
  if (!absent || now_ns >= question->absent_ns)
    question->absent_ns = absent ? now_ns + ABSENT_PAUSE : 0;
  view->failed += !known;
  question->count = 0;
  buffer_clear (&question->answer);
}

/* Has it ended, one way or the other? */
static bool
is_over (struct question *question, int64_t now_ns)
{
  int status;

  if (now_ns > question->until_ns)
    child_kill (&question->child);
  else if (!listen_to (question))
    return false;
  return child_reap (&question->child, &status);
}

/* Takes the answer of one that was asked; asks when it may. */
static void
step (struct scheduler_view *view, const struct scheduler *scheduler, struct question *question, int64_t now_ns)
{
  const struct settings *settings = view->context->options;

  if (question->child.pid > 0) {
    if (is_over (question, now_ns))
      answer_all (view, scheduler, question, "the scheduler did not answer in time", now_ns);
    return;
  }
  if (now_ns < question->next_ns || settings->enabled == ENABLED_NO)
    return;
  question->count = inquiries_take (view->inquiries, scheduler, question->asked, SCHEDULER_JOBS_MAX, now_ns);
  if (!question->count)
    return;
  if (now_ns < question->absent_ns)
    buffer_add_string (&question->answer, ASK_ABSENT "\n");
  else
    start (view, scheduler, question, now_ns);
  if (question->child.pid == 0)
    answer_all (view, scheduler, question, "no tool of the scheduler is on this machine", now_ns);
}

static void
poll_questions (void *state, struct instant now)
{
  struct scheduler_view *view = state;

  for (size_t i = 0; i < SCHEDULERS; i++)
    step (view, scheduler_at (i), &view->questions[i], now.monotonic_ns);
}

/* ---- reports of other views ---- */

static void
note_job (struct scheduler_view *view, const struct job_line *line, bool ended)
{
  if (!inquiries_note (view->inquiries, line->key, line->label, line->texts[JOB_SCHEDULER], line->texts[JOB_USER],
                       line->started_ns, ended, NULL, clock_monotonic ()))
    view->left_out++;
}

static void
see_job (void *state, const struct job_line *line)
{
  if (line->event == JOB_STARTED || line->event == JOB_RESUMED || line->event == JOB_ENDED)
    note_job (state, line, line->event == JOB_ENDED);
}

/* ---- start and end ---- */

/* Jobs that run, and those that ended lately of which not all is known. The history itself reports what is wrong with it. */
static void
restore (struct scheduler_view *view, const char *path)
{
  struct job_query query = { .from_ns = clock_wall () - LOOK_BACK, .to_ns = INT64_MAX };
  struct job_list list = { 0 };
  struct error error;
  struct history_file *file = history_file_open (path, &error);

  if (file && job_store_list (file, &query, &list, &error) == 0)
    for (size_t i = 0; i < list.count; i++) {
      const struct job_record *job = &list.jobs[i];
      if (!job->facts.final)
        inquiries_note (view->inquiries, job->key, job->label, job->scheduler, job->user, job->started_ns,
                        job->ended_ns != 0, &job->facts, clock_monotonic ());
    }
  job_list_free (&list);
  history_file_close (file);
}

static int
open_scheduler (const struct view_context *context, void **state, struct error *error)
{
  const struct history *history = views_state (context->views, &history_view);
  struct scheduler_view *view = *state = memory_new (1, sizeof *view);

  (void) error;
  view->context = context;
  view->inquiries = inquiries_create (report, view);
  if (history)
    restore (view, history_path (history));
  return 0;
}

static int
close_scheduler (void *state)
{
  struct scheduler_view *view = state;
  int status;

  for (size_t i = 0; i < SCHEDULERS; i++) {
    struct question *question = &view->questions[i];
    if (question->child.pid > 0) {
      child_kill (&question->child);
      for (int tries = 0; tries < END_TRIES && !child_reap (&question->child, &status); tries++)
        poll (NULL, 0, 10);
    }
    buffer_free (&question->answer);
  }
  inquiries_destroy (view->inquiries);
  free (view);
  return 0;
}

static void
count_questions (void *state, uint64_t *values)
{
  const struct scheduler_view *view = state;

  values[0] = view->asked;
  values[1] = view->failed;
  values[2] = view->left_out;
}

const struct view scheduler_view = {
  .name = "scheduler",
  .options = options,
  .option_count = sizeof options / sizeof options[0],
  .options_size = sizeof (struct settings),
  .counters = counters,
  .open = open_scheduler,
  .job = see_job,
  .poll = poll_questions,
  .count = count_questions,
  .close = close_scheduler,
};
