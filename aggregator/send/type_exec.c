/* Frames as JSON lines on the standard input of a program, which is started by a shell and again whenever it ends.
 *
 * Lines were delivered when the program has read them: none of them is left in its socket. What a program that ends had not
 * read comes once more, from the load's begin. What it prints, on either output, goes into the log. */
#include <errno.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregator/send/send_options.h"
#include "aggregator/send/send_text.h"
#include "synop/child.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/send_retry.h"

#define WELL_AFTER (10 * NS_PER_S) /* one that ran for so long is started anew at once */
#define LOOK_MS 5                  /* how often is asked whether it has read all */
#define END_MS 1000                /* which it has for its end */
#define LOG_EVERY (10 * NS_PER_S)  /* in which so many of its lines are logged: */
#define LOG_MOST 20

struct exec_options {
  char *command;
};

struct exec_output {
  char line[400];
  size_t length;
};

struct exec_state {
  const struct send_setting *setting;
  const struct exec_options *own;
  struct child child;
  struct exec_output out, err;
  struct send_retry retry;
  int64_t started_ns, start_after_ns;
  uint64_t starts;
  struct buffer text; /* of the load at hand, */
  size_t written;     /* and how much of it was written; */
  bool pending;       /* there is one */
  char ended[192];    /* how it ended */
  int64_t logged_ns;
  unsigned logged;
  uint64_t unlogged;
};

static void *
exec_open (const struct send_setting *setting)
{
  struct exec_state *state = memory_new (1, sizeof *state);

  state->setting = setting;
  state->own = setting->own;
  state->retry.most_ns = setting->options->retry_ns;
  state->child = (struct child){ .in = -1, .out = -1, .err = -1 };
  return state;
}

/* ---- what it prints ---- */

static void
log_line (struct exec_state *state, struct exec_output *output)
{
  int64_t now_ns = clock_monotonic ();

  if (now_ns >= state->logged_ns + LOG_EVERY) {
    if (state->unlogged)
      log_info ("send %s: %" PRIu64 " lines of the program were not logged", state->setting->name, state->unlogged);
    state->logged_ns = now_ns;
    state->logged = 0;
    state->unlogged = 0;
  }
  if (output->length && state->logged++ < LOG_MOST)
    log_info ("send %s: the program: %.*s", state->setting->name, (int) output->length, output->line);
  else
    state->unlogged += output->length > 0;
  output->length = 0;
}

/* In lines; of one that is longer the beginning. */
static void
take_output (struct exec_state *state, int fd, struct exec_output *output)
{
  char bytes[4096];
  ssize_t length;

  while (fd >= 0 && (length = read (fd, bytes, sizeof bytes)) > 0)
    for (ssize_t i = 0; i < length; i++)
      if (bytes[i] == '\n')
        log_line (state, output);
      else if (output->length < sizeof output->line)
        output->line[output->length++] = (unsigned char) bytes[i] >= ' ' && bytes[i] != 0x7f ? bytes[i] : ' ';
}

static void
take_outputs (struct exec_state *state)
{
  take_output (state, state->child.out, &state->out);
  take_output (state, state->child.err, &state->err);
}

/* ---- its life ---- */

static void
note_end (struct exec_state *state, int status)
{
  int64_t now_ns = clock_monotonic ();

  log_line (state, &state->out);
  log_line (state, &state->err);
  if (WIFSIGNALED (status))
    snprintf (state->ended, sizeof state->ended, "the program was ended by signal %d (%s)", WTERMSIG (status),
              strsignal (WTERMSIG (status)));
  else
    snprintf (state->ended, sizeof state->ended, "the program ended with status %d", WEXITSTATUS (status));
  if (now_ns >= state->started_ns + WELL_AFTER)
    send_retry_done (&state->retry);
  state->start_after_ns = now_ns + send_retry_pause (&state->retry, 0);
  state->pending = false;
}

/* Does it run? */
static bool
runs (struct exec_state *state)
{
  int status;

  if (!state->child.pid)
    return false;
  take_outputs (state);
  if (!child_reap (&state->child, &status))
    return true;
  note_end (state, status);
  return false;
}

static int
start (struct exec_state *state, struct send_answer *answer)
{
  const char *words[] = { "/bin/sh", "-c", state->own->command, NULL };
  const struct child_program program = { .words = words, .listens = true };

  if (child_start (&state->child, &program) < 0) {
    snprintf (answer->text, sizeof answer->text, "the program cannot be started: %s", strerror (errno));
    return -1;
  }
  state->started_ns = clock_monotonic ();
  answer->fresh = state->starts++ > 0;
  return 0;
}

/* Waits until one of these, or it is to stop. */
static void
wait_for (const struct exec_state *state, int fd, int timeout_ms)
{
  struct pollfd waits[] = { { .fd = state->setting->stop, .events = POLLIN },
                            { .fd = fd, .events = POLLOUT },
                            { .fd = state->child.out, .events = POLLIN },
                            { .fd = state->child.err, .events = POLLIN } };

  poll (waits, sizeof waits / sizeof waits[0], timeout_ms);
}

static void
exec_close (void *context)
{
  struct exec_state *state = context;
  int64_t due_ns = clock_monotonic () + END_MS * NS_PER_MS;

  file_close (&state->child.in);
  while (runs (state) && clock_monotonic () < due_ns)
    poll (NULL, 0, LOOK_MS);
  child_kill (&state->child);
  while (runs (state))
    poll (NULL, 0, LOOK_MS);
  buffer_free (&state->text);
  free (state);
}

/* ---- a load ---- */

static int
unread (const struct exec_state *state)
{
  int bytes = 0;

  return ioctl (state->child.in, SIOCOUTQ, &bytes) < 0 ? 0 : bytes;
}

/* Writes what there is room for. True: all was written and read. */
static bool
go_on (struct exec_state *state)
{
  size_t left = state->text.length - state->written;
  struct pollfd input = { .fd = state->child.in }; /* closed at the other end? */
  ssize_t written =
      left ? send (state->child.in, state->text.data + state->written, left, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;

  state->written += written > 0 ? (size_t) written : 0;
  return state->written == state->text.length && unread (state) == 0 && !(poll (&input, 1, 0) > 0);
}

/* A program that closed its standard input and goes on reads nothing any more. */
static enum send_verdict
wait_until_read (struct exec_state *state, struct send_answer *answer)
{
  int64_t due_ns = clock_monotonic () + state->setting->options->timeout_ns;

  while (runs (state)) {
    bool all = go_on (state);
    if (all && runs (state)) {
      state->pending = false;
      return SEND_TAKEN;
    }
    if (send_is_stopped (state->setting) || clock_monotonic () >= due_ns) {
      snprintf (answer->text, sizeof answer->text, "the program does not read its standard input");
      return SEND_AGAIN;
    }
    wait_for (state, state->written < state->text.length ? state->child.in : -1, LOOK_MS);
  }
  snprintf (answer->text, sizeof answer->text, "%s", state->ended);
  return SEND_AGAIN;
}

static enum send_verdict
exec_deliver (void *context, const struct send_load *load, size_t *count, struct send_answer *answer)
{
  struct exec_state *state = context;
  int64_t pause_ns;

  (void) count;
  if (!runs (state)) {
    while ((pause_ns = state->start_after_ns - clock_monotonic ()) > 0 && !send_is_stopped (state->setting))
      wait_for (state, -1, (int) (pause_ns / NS_PER_MS) + 1);
    if (send_is_stopped (state->setting) || start (state, answer) < 0)
      return SEND_AGAIN;
  }
  if (!state->pending) {
    send_text (load, &state->text);
    state->written = 0;
    state->pending = true;
  }
  return wait_until_read (state, answer);
}

/* One that ends while nothing waits is started with what comes next. */
static void
exec_rest (void *context)
{
  runs (context);
}

/* ---- options ---- */

static int
exec_check (const struct send_options *options, const void *own, struct error *error)
{
  const struct exec_options *exec = own;

  (void) options;
  return *exec->command ? 0 : error_set (error, "command: must be given");
}

static const char *
exec_target (const struct send_setting *setting)
{
  const struct exec_options *own = setting->own;

  return own->command;
}

static const struct option options[] = {
  { "", "command", NULL, OPTION_TEXT, .offset = offsetof (struct exec_options, command),
    .help = "Of exec: the program with its arguments, for /bin/sh. It reads JSON lines on its standard input." },
};

const struct send_type send_exec = {
  .name = "exec",
  .shared = "",
  .own = { options, sizeof options / sizeof options[0], sizeof (struct exec_options) },
  .lines = true,
  .check = exec_check,
  .target = exec_target,
  .open = exec_open,
  .close = exec_close,
  .deliver = exec_deliver,
  .rest = exec_rest,
};
