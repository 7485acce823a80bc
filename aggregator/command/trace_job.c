/* See trace_job.h. */
#include "aggregator/command/trace_job.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aggregator/command/commands.h"
#include "aggregator/traces/trace_desk.h"
#include "aggregator/traces/trace_result.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/local_socket.h"
#include "synop/log.h"
#include "synop/memory.h"

#define REQUEST_MAX 4096
#define READ_AT_ONCE 65536
#define START_KINETO (10 * NS_PER_S)
#define START_OTHERS (2 * NS_PER_S)
#define DURATION_KINETO (500 * NS_PER_MS)
#define DURATION_OTHERS (10 * NS_PER_S)

static volatile sig_atomic_t interrupted; /* the signal's number */

struct asking {
  const struct options *options;
  struct trace_question question; /* its ranks */
  struct buffer lines;
  struct trace_result *result;
  struct trace_line sum; /* the last one */
  bool begun, refused, ended;
};

/* ---- the request ---- */

static void
add_word (struct buffer *request, const char *name, const char *value)
{
  if (value && *value)
    buffer_printf (request, "\t%s=%s", name, value);
}

static int
add_times (struct buffer *request, const struct options *options, struct error *error)
{
  bool kineto = options->tool == 0;
  int64_t start_ns = kineto ? START_KINETO : START_OTHERS, duration_ns = options->duration_ns;
  struct error why;

  if (*options->start && duration_parse (options->start + (*options->start == '+'), &start_ns, &why) < 0)
    return config_error (options->config, "trace", "start", error, "%s", why.text);
  if (options->iterations && duration_ns)
    return config_error (options->config, "trace", "iterations", error, "does not go with --duration");
  if (duration_ns == 0 && options->iterations == 0)
    duration_ns = kineto ? DURATION_KINETO : DURATION_OTHERS;
  buffer_printf (request, "\tdelay=%" PRId64 "\tduration=%" PRId64 "\titerations=%" PRIu64 "\tlimit=%" PRIu64, start_ns,
                 duration_ns, options->iterations, options->limit);
  return 0;
}

/* As the aggregator will read it, so that what is wrong is known before. */
static int
check_request (struct trace_question *question, const struct buffer *request, struct error *error)
{
  char *words = memory_copy (request->data + strlen ("trace\t"), request->length - strlen ("trace\t"));
  int rc = trace_question_read (question, words, error);

  free (words);
  return rc < 0 ? error_prefix (error, "--") : 0;
}

static int
make_request (struct buffer *request, struct trace_question *question, const struct options *options,
              struct error *error)
{
  const char *texts[] = { options->job, options->output_path, options->trace_nodes, options->ranks, options->tool_set };

  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    if (texts[i] && strpbrk (texts[i], "\t\n"))
      return error_set (error, "trace: texts must have no tabs or newlines");
  buffer_add_string (request, options->list ? "trace\tlist" : "trace\tbegin");
  add_word (request, "job", options->job);
  add_word (request, "nodes", options->trace_nodes);
  if (!options->list) {
    if (options->output_path[0] != '/' ||
        !(strstr (options->output_path, "{rank}") || strstr (options->output_path, "{pid}") ||
          strstr (options->output_path, "{node}")))
      return config_error (options->config, "trace", "output", error,
                           "-o says where each trace is to lie, as /shared/traces/{job}/{node}-{rank}.json");
    if (add_times (request, options, error) < 0)
      return -1;
    add_word (request, "tool", options_trace_tools[options->tool]);
    add_word (request, "output", options->output_path);
    add_word (request, "ranks", options->ranks);
    add_word (request, "options", options->tool_set);
  }
  if (check_request (question, request, error) < 0)
    return -1;
  buffer_add_string (request, "\n");
  return request->length <= REQUEST_MAX ? 0 : error_set (error, "trace: the options are too long together");
}

/* ---- lines that come ---- */

static void
show_progress (const struct asking *asking)
{
  struct buffer line = { 0 };

  if (asking->options->json || asking->options->list || !isatty (STDERR_FILENO))
    return;
  trace_result_progress (asking->result, &line);
  fprintf (stderr, "\r%s ", buffer_text (&line));
  buffer_free (&line);
}

static void
take_order (struct asking *asking, const struct trace_line *line)
{
  const struct options *options = asking->options;

  asking->begun = true;
  if (!options->list && !options->json)
    log_info ("job %s: %s is to begin at %s on %lld node%s", options->job, options_trace_tools[options->tool],
              line->start, line->nodes, line->nodes == 1 ? "" : "s");
}

static void
take_line (struct asking *asking, const char *text, size_t length)
{
  struct trace_line line;

  if (length > 6 && memcmp (text, "error ", 6) == 0) {
    log_error ("the aggregator says: %.*s", (int) length - 6, text + 6);
    asking->refused = true;
    return;
  }
  if (asking->options->json)
    printf ("%.*s\n", (int) length, text);
  trace_result_take (asking->result, text, length, &line);
  if (line.kind == TRACE_LINE_ORDER)
    take_order (asking, &line);
  if (line.kind != TRACE_LINE_LISTED && line.kind != TRACE_LINE_END)
    return;
  asking->sum = line;
  asking->ended = line.kind == TRACE_LINE_END || !(asking->options->wait || asking->options->list);
}

static void
take_lines (struct asking *asking)
{
  size_t taken = 0;
  char *end;

  while (!asking->ended && !asking->refused &&
         (end = memchr (asking->lines.data + taken, '\n', asking->lines.length - taken))) {
    take_line (asking, asking->lines.data + taken, (size_t) (end - asking->lines.data) - taken);
    taken = (size_t) (end + 1 - asking->lines.data);
  }
  asking->lines.length -= taken;
  memmove (asking->lines.data, asking->lines.data + taken, asking->lines.length);
  show_progress (asking);
  fflush (stdout);
}

static void
interrupt (int signal)
{
  interrupted = signal;
}

/* Signals come while it waits, and at no other time. */
static void
catch_signals (sigset_t *before)
{
  const struct sigaction action = { .sa_handler = interrupt };
  sigset_t caught;

  sigemptyset (&caught);
  sigaddset (&caught, SIGINT);
  sigaddset (&caught, SIGTERM);
  sigprocmask (SIG_BLOCK, &caught, before);
  sigaction (SIGINT, &action, NULL);
  sigaction (SIGTERM, &action, NULL);
}

/* Until the last line, or the aggregator is gone. */
static void
follow (struct asking *asking, int fd)
{
  struct pollfd ready = { .fd = fd, .events = POLLIN };
  sigset_t before;

  catch_signals (&before);
  while (!asking->ended && !asking->refused && !interrupted) {
    ssize_t got;
    if (ppoll (&ready, 1, NULL, &before) < 0) {
      if (errno != EINTR)
        return;
      continue;
    }
    got = recv (fd, buffer_reserve (&asking->lines, READ_AT_ONCE), READ_AT_ONCE, 0);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
      return;
    if (got < 0)
      continue;
    asking->lines.length += (size_t) got;
    take_lines (asking);
  }
}

/* ---- the end ---- */

/* Ranks that were asked for, and are nowhere. */
static bool
has_ranks (const struct asking *asking)
{
  struct buffer missing = { 0 };
  bool all;

  for (size_t i = 0; i < asking->question.rank_count; i++)
    if (!trace_result_has_rank (asking->result, asking->question.ranks[i]))
      buffer_printf (&missing, "%s%u", missing.length ? "," : "", (unsigned) asking->question.ranks[i]);
  all = missing.length == 0;
  if (!all)
    log_error ("rank %s: no process of the job that has registered; \"synop-aggregator trace --list %s\" shows those "
               "that have",
               buffer_text (&missing), asking->options->job);
  buffer_free (&missing);
  return all;
}

/* Is all there that was asked for? */
static bool
is_fine (const struct asking *asking)
{
  const struct options *options = asking->options;
  const struct trace_line *sum = &asking->sum;

  if (sum->failed > 0)
    return false;
  if (!options->limit && !has_ranks (asking))
    return false;
  if (sum->processes == 0)
    (options->list ? log_info : log_error) (
        "no process%s has registered: it has to be started with KINETO_USE_DAEMON=1, its agent with [traces] enabled = "
        "yes; in a container the agent's socket has to be there (docs/traces.md)",
        options->job ? " of the job" : "");
  if (options->list)
    return true;
  return sum->processes > 0 && sum->unregistered == 0 && (!options->wait || sum->ended == sum->processes);
}

/* 0: there is none. */
static size_t
terminal_width (void)
{
  struct winsize size = { 0 };

  return isatty (STDOUT_FILENO) && ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static int
finish (struct asking *asking)
{
  const struct options *options = asking->options;
  struct buffer table = { 0 };
  int code = 0;

  if (!asking->begun) {
    if (!asking->refused)
      log_error ("%s: the aggregator closed without an answer", options->socket);
    return 1;
  }
  if (!options->json) {
    if (!options->list && isatty (STDERR_FILENO))
      fprintf (stderr, "\n");
    trace_result_table (asking->result, terminal_width (), &table);
    code = file_print (&table);
    buffer_free (&table);
  }
  if (!asking->ended)
    log_error ("%s: agents go on with what they have begun%s%s",
               interrupted ? "not waited for any longer" : "the aggregator has ended",
               options->list ? "" : ", and the files will lie at ", options->list ? "" : options->output_path);
  if (interrupted && !asking->ended)
    return 128 + interrupted;
  return asking->ended && is_fine (asking) ? code : 1;
}

int
trace_job_run (const struct options *options)
{
  struct asking asking = { .options = options, .result = trace_result_create (options->list) };
  struct buffer request = { 0 };
  struct error error;
  int code = 2, fd;

  if (make_request (&request, &asking.question, options, &error) < 0) {
    log_error ("%s", error.text);
  } else if ((fd = local_socket_begin (options->socket, buffer_text (&request), &error)) < 0) {
    client_log_no_answer (options, &(struct reach){ 0 }, &error);
    code = 1;
  } else {
    follow (&asking, fd);
    close (fd);
    code = finish (&asking);
  }
  trace_result_destroy (asking.result);
  buffer_free (&asking.lines);
  buffer_free (&request);
  return code;
}
