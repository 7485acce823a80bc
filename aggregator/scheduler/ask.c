/* See ask.h. What tools print is untrusted: it is read here, where nothing else can be harmed. */
#include "aggregator/scheduler/ask.h"

#include <errno.h>
#include <grp.h>
#include <math.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "aggregator/scheduler/scheduler.h"
#include "aggregator/scheduler/tool.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/json.h"
#include "synop/log.h"
#include "synop/memory.h"

#define WORDS_MAX 192
#define DELIMITER_SIZE 20

struct wanted {
  char *id, *user;
  int64_t started_ns;
  double best; /* of the current answer: how far its start is from ours, in seconds; NaN: none */
  struct job_facts answer, facts;
};

struct ask {
  const struct scheduler *scheduler;
  int64_t deadline_ns;
  const char *words[WORDS_MAX];
  size_t before; /* how many of the words these are */
  char **environment;
  char delimiter[DELIMITER_SIZE];
  struct wanted *wanted;
  size_t count;
  struct error error; /* the first */
  bool found;         /* a tool of it is here */
  bool answered;      /* and has answered */
};

/* ---- answers ---- */

/* PBS may leave out its server: "12.pbs" is "12". */
static bool
is_id (const char *one, const char *other)
{
  size_t length = strlen (one) < strlen (other) ? strlen (one) : strlen (other);

  return strncmp (one, other, length) == 0 && (one[length] == '\0' || one[length] == '.') &&
         (other[length] == '\0' || other[length] == '.');
}

/* Of several runs of an id the one that began nearest to ours. */
static void
take (void *context, struct scheduler_job *job)
{
  struct ask *ask = context;

  for (size_t i = 0; i < ask->count; i++) {
    struct wanted *wanted = &ask->wanted[i];
    double far = fabs ((double) (job->facts.times_ns[JOB_FACT_STARTED] - wanted->started_ns)) / NS_PER_S;
    if (!is_id (wanted->id, job->id) || wanted->best <= far)
      continue;
    if (*job->user && *wanted->user && strcmp (job->user, wanted->user) != 0)
      continue; /* another user's job of that id */
    wanted->best = far;
    job_facts_free (&wanted->answer);
    job_facts_copy (&wanted->answer, &job->facts);
  }
}

static bool
lacks (const struct wanted *wanted, const struct scheduler_form *form)
{
  return !wanted->facts.known || (form->completes && !wanted->facts.texts[JOB_FACT_COMMAND]);
}

static void
take_answers (struct ask *ask)
{
  for (size_t i = 0; i < ask->count; i++) {
    struct wanted *wanted = &ask->wanted[i];
    job_facts_add (&wanted->facts, &wanted->answer);
    wanted->best = nan ("");
  }
}

/* ---- questions ---- */

/* The words of a question about `count` jobs from there on that lack something; returns the first behind them. */
static size_t
make_words (struct ask *ask, const struct scheduler_form *form, size_t from, char **ids, char **delimiter)
{
  struct buffer joined = { 0 };
  size_t at = ask->before, asked = 0;

  for (size_t i = 0; form->words[i]; i++) {
    ask->words[at++] = form->words[i];
    if (strcmp (form->words[i], SCHEDULER_DELIMITER) == 0)
      ask->words[at - 1] = *delimiter = memory_format ("%s%s", form->words[i], ask->delimiter);
  }
  for (; from < ask->count && asked < form->most; from++) {
    if (!lacks (&ask->wanted[from], form))
      continue;
    if (!form->commas)
      ask->words[at++] = ask->wanted[from].id;
    else
      buffer_printf (&joined, "%s%s", joined.length ? "," : "", ask->wanted[from].id);
    asked++;
  }
  if (joined.length)
    ask->words[at++] = *ids = memory_string (buffer_text (&joined));
  if (form->behind)
    ask->words[at++] = form->behind;
  ask->words[at] = NULL;
  buffer_free (&joined);
  return asked ? from : SIZE_MAX;
}

static void
note_error (struct ask *ask, const struct error *error)
{
  if (!ask->error.text[0])
    ask->error = *error;
}

static enum tool_end
ask_form (struct ask *ask, const struct scheduler_form *form)
{
  const struct scheduler_taker taker = { ask, ask->delimiter, take };
  enum tool_end end = TOOL_ANSWERED;
  struct buffer output = { 0 };
  size_t next = 0;

  while (end != TOOL_ABSENT && end != TOOL_LATE && clock_monotonic () < ask->deadline_ns) {
    char *ids = NULL, *delimiter = NULL;
    struct error error = { "" };
    next = make_words (ask, form, next, &ids, &delimiter);
    if (next != SIZE_MAX) {
      end = tool_run (ask->words, ask->environment, ask->deadline_ns, &output, &error);
      if (end == TOOL_ANSWERED || (end == TOOL_FAILED && output.length)) {
        struct error unread;
        if (form->read ((char *) (uintptr_t) buffer_text (&output), output.length, &taker, &unread) < 0 &&
            end == TOOL_ANSWERED)
          error_set (&error, "%.40s: %.160s", ask->words[ask->before], unread.text);
      }
      if (error.text[0])
        note_error (ask, &error);
      else
        ask->answered = true;
    }
    free (ids);
    free (delimiter);
    if (next == SIZE_MAX || next >= ask->count)
      break;
  }
  take_answers (ask);
  buffer_free (&output);
  return end;
}

static void
ask_all (struct ask *ask)
{
  const char *absent = "";

  for (size_t i = 0; i < ask->scheduler->form_count; i++) {
    const struct scheduler_form *form = &ask->scheduler->forms[i];
    enum tool_end end;
    if (strcmp (form->words[0], absent) == 0)
      continue;
    end = ask_form (ask, form);
    if (end == TOOL_ABSENT)
      absent = form->words[0];
    else
      ask->found = true;
  }
}

/* ---- who asks, and with what ---- */

static int
become (const char *name, struct error *error)
{
  const struct passwd *user = getpwnam (name);

  if (!user)
    return error_set (error, "there is no user %.64s ([scheduler] user)", name);
  if (user->pw_uid == geteuid ())
    return 0;
  if (initgroups (name, user->pw_gid) < 0 || setgid (user->pw_gid) < 0 || setuid (user->pw_uid) < 0)
    return error_set (error, "cannot ask as user %.64s ([scheduler] user): %s", name, strerror (errno));
  prctl (PR_SET_PDEATHSIG, SIGKILL); /* becoming another has cleared it */
  return 0;
}

/* Its own before ours: the first counts. */
static char **
make_environment (const struct scheduler *scheduler)
{
  size_t count = 1, at = 0;
  char **made;

  for (size_t i = 0; scheduler->environment && scheduler->environment[i]; i++)
    count++;
  for (size_t i = 0; environ[i]; i++)
    count++;
  made = memory_new (count + 1, sizeof *made);
  made[at++] = (char *) (uintptr_t) "LC_ALL=C";
  for (size_t i = 0; scheduler->environment && scheduler->environment[i]; i++)
    made[at++] = (char *) (uintptr_t) scheduler->environment[i];
  for (size_t i = 0; environ[i]; i++)
    made[at++] = environ[i];
  return made;
}

static void
draw_delimiter (char delimiter[DELIMITER_SIZE])
{
  uint64_t number = 0;

  if (getrandom (&number, sizeof number, 0) < 0)
    number = (uint64_t) clock_monotonic ();
  snprintf (delimiter, DELIMITER_SIZE, "|%016llx|", (unsigned long long) number);
}

/* "ID,SECONDS,USER" */
static int
read_wanted (struct wanted *wanted, char *word)
{
  char *rest = word, *id = strsep (&rest, ","), *start = strsep (&rest, ","), checked[SCHEDULER_ID_SIZE];

  if (!start || !rest || !scheduler_id (id, checked))
    return -1;
  *wanted = (struct wanted){ .id = id, .user = rest, .best = nan ("") };
  wanted->started_ns = strtoll (start, NULL, 10) * NS_PER_S;
  job_facts_init (&wanted->answer);
  job_facts_init (&wanted->facts);
  return 0;
}

static int
print (struct ask *ask)
{
  struct json json = { 0 };
  int code;

  if (!ask->found && !ask->error.text[0])
    error_set (&ask->error, "there is no tool of %s on this machine", ask->scheduler->name);
  if (!ask->found)
    buffer_add_string (&json.out, ASK_ABSENT "\n");
  for (size_t i = 0; i < ask->count; i++) {
    struct job_facts *facts = &ask->wanted[i].facts;
    if (!facts->known)
      job_facts_set_error (facts, ask->answered ? "the scheduler does not know this job" : ask->error.text);
    buffer_printf (&json.out, "%zu ", i);
    job_facts_write (&json, facts);
    json_newline (&json);
    job_facts_free (facts);
  }
  code = file_print (&json.out);
  json_free (&json);
  return code;
}

int
ask_main (int argc, char **argv)
{
  struct ask ask = { 0 };
  int code, bad = 0;

  if (argc <= ASK_WORDS || argc > ASK_WORDS + SCHEDULER_JOBS_MAX ||
      !(ask.scheduler = scheduler_find (argv[ASK_WORD_SCHEDULER]))) {
    log_error ("\"" ASK_COMMAND "\" is for the aggregator alone: it asks a scheduler about jobs");
    return 2;
  }
  ask.deadline_ns = clock_monotonic () + strtoll (argv[ASK_WORD_TIMEOUT], NULL, 10) * NS_PER_MS;
  ask.count = (size_t) (argc - ASK_WORDS);
  ask.wanted = memory_new (ask.count, sizeof ask.wanted[0]);
  for (size_t i = 0; i < ask.count; i++)
    bad |= read_wanted (&ask.wanted[i], argv[ASK_WORDS + i]);
  for (char *rest = argv[ASK_WORD_TOOLS], *word; (word = strsep (&rest, " ")) && ask.before < WORDS_MAX / 2;)
    if (*word)
      ask.words[ask.before++] = word;
  draw_delimiter (ask.delimiter);
  ask.environment = make_environment (ask.scheduler);
  if (bad)
    error_set (&ask.error, "an id that no scheduler has");
  else if (!*argv[ASK_WORD_USER] || become (argv[ASK_WORD_USER], &ask.error) == 0)
    ask_all (&ask);
  else
    ask.found = true;
  code = print (&ask);
  free (ask.environment);
  free (ask.wanted);
  return code;
}
