/* See gnuplot.h.
 *
 * The script goes through a socket and not a pipe, so that a gnuplot that dies early is an error code here and no signal.
 * All three ends are served by one poll with one deadline: neither a full pipe nor a silent child can hold us. */
#include "aggregator/report/gnuplot.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregator/report/job_words.h"
#include "synop/memory.h"

#define OUTPUT_MAX ((size_t) 512 << 20)
#define WORDS_MAX 16384 /* of what it says on its standard error */

struct child {
  pid_t pid;
  int in, out, err; /* -1: closed */
  int64_t deadline_ns;
};

void
gnuplot_quote (struct buffer *script, const char *text, size_t limit)
{
  struct buffer clean = { 0 };

  words_add (&clean, text, limit);
  buffer_add (script, "\"", 1);
  for (size_t i = 0; i < clean.length; i++) {
    unsigned char c = (unsigned char) clean.data[i];
    if (c >= 0x80 || isalnum (c) || strchr (" .,-_:;()[]/", c))
      buffer_add (script, clean.data + i, 1);
    else /* quotes, backslashes, backquotes; gnuplot takes all digits that follow, so one of the text begins anew */
      buffer_printf (script, "\\%o%s", c,
                     i + 1 < clean.length && isdigit ((unsigned char) clean.data[i + 1]) ? "\".\"" : "");
  }
  buffer_add (script, "\"", 1);
  buffer_free (&clean);
}

static void
close_end (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

/* The user's environment without what would make gnuplot behave unlike itself. Free the array alone. */
static char **
plain_environment (void)
{
  size_t count = 0, kept = 0;
  char **made;

  while (environ && environ[count])
    count++;
  made = memory_new (count + 1, sizeof *made);
  for (size_t i = 0; i < count; i++)
    if (strncmp (environ[i], "GNU", 3) != 0 && strncmp (environ[i], "DISPLAY=", 8) != 0)
      made[kept++] = environ[i];
  return made;
}

static int
spawn (struct child *child, int in, int out, int err, struct error *error)
{
  char *arguments[] = { (char *) "gnuplot", (char *) "--default-settings", NULL };
  char **environment = plain_environment ();
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t pipe_alone, none;
  int code;

  sigemptyset (&none);
  sigemptyset (&pipe_alone);
  sigaddset (&pipe_alone, SIGPIPE);
  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_adddup2 (&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2 (&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2 (&actions, err, STDERR_FILENO);
  posix_spawnattr_init (&attributes);
  posix_spawnattr_setflags (&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup (&attributes, 0); /* its own, so that it is ended with whatever it started */
  posix_spawnattr_setsigdefault (&attributes, &pipe_alone);
  posix_spawnattr_setsigmask (&attributes, &none);
  code = posix_spawnp (&child->pid, "gnuplot", &actions, &attributes, arguments, environment);
  posix_spawnattr_destroy (&attributes);
  posix_spawn_file_actions_destroy (&actions);
  free (environment);
  if (code == ENOENT)
    return error_set (error, "plots need gnuplot, which is not installed: the package is gnuplot-nox on Debian and "
                             "Ubuntu, gnuplot on Fedora and RHEL");
  if (code)
    return error_set (error, "cannot start gnuplot: %s", strerror (code));
  return 0;
}

static int
start (struct child *child, struct error *error)
{
  int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 }, result = -1;

  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) || pipe2 (out, O_CLOEXEC) || pipe2 (err, O_CLOEXEC)) {
    error_set (error, "cannot start gnuplot: %s", strerror (errno));
    goto end;
  }
  if (spawn (child, in[1], out[1], err[1], error))
    goto end;
  child->in = in[0], child->out = out[0], child->err = err[0];
  in[0] = out[0] = err[0] = -1;
  result = 0;
end:
  for (size_t i = 0; i < 2; i++) {
    close_end (&in[i]);
    close_end (&out[i]);
    close_end (&err[i]);
  }
  return result;
}

/* Gives it more of the script; the end of it closes its standard input. */
static void
feed (struct child *child, const struct buffer *script, size_t *sent)
{
  ssize_t n = send (child->in, script->data + *sent, script->length - *sent, MSG_NOSIGNAL | MSG_DONTWAIT);

  if (n > 0)
    *sent += (size_t) n;
  else if (n < 0 && errno != EAGAIN && errno != EINTR)
    close_end (&child->in); /* it reads no more: its exit says why */
  if (*sent == script->length)
    close_end (&child->in);
}

static void
take (int *fd, struct buffer *to, size_t limit)
{
  char *room = buffer_reserve (to, 65536);
  ssize_t n = read (*fd, room, 65536);

  if (n > 0)
    to->length += to->length < limit ? (size_t) n : 0; /* what is over is read and dropped */
  else if (n == 0 || errno != EINTR)
    close_end (fd);
}

static int
late (struct error *error, int64_t limit_ns)
{
  return error_set (error, "gnuplot did not end within %.3g s", (double) limit_ns / NS_PER_S);
}

/* Until it has closed its outputs. */
static int
converse (struct child *child, const struct buffer *script, struct buffer *output, struct buffer *words)
{
  size_t sent = 0;

  while (child->out >= 0 || child->err >= 0) {
    struct pollfd ends[] = { { child->in, POLLOUT, 0 }, { child->out, POLLIN, 0 }, { child->err, POLLIN, 0 } };
    int64_t left = child->deadline_ns - clock_monotonic ();

    if (left <= 0)
      return -1;
    if (poll (ends, 3, (int) (left / NS_PER_MS) + 1) < 0 && errno != EINTR)
      return -1;
    if (ends[0].revents)
      feed (child, script, &sent);
    if (ends[1].revents)
      take (&child->out, output, OUTPUT_MAX);
    if (ends[2].revents)
      take (&child->err, words, WORDS_MAX);
  }
  return 0;
}

/* Its exit status; -1 when it goes on running, as one that closed its outputs may. */
static int
reap (struct child *child, int *status)
{
  pid_t got;

  while ((got = waitpid (child->pid, status, WNOHANG)) <= 0) {
    if (got < 0 && errno != EINTR)
      return -1;
    if (clock_monotonic () >= child->deadline_ns)
      return -1;
    poll (NULL, 0, 5);
  }
  child->pid = 0;
  return 0;
}

/* What it said, in one line: the prompt, the caret and all line ends become single blanks. */
static int
gnuplot_fail (struct error *error, const char *what, const struct buffer *words)
{
  struct buffer line = { 0 };

  for (size_t i = 0; i < words->length; i++) {
    bool blank = words->data[i] == ' ' || words->data[i] == '\n' || words->data[i] == '\t' || words->data[i] == '\r';
    if (!blank || (line.length && line.data[line.length - 1] != ' '))
      buffer_add (&line, blank ? " " : words->data + i, 1);
  }
  buffer_add (&line, "", 1);
  error_set (error, "%s%s%.400s", what, line.length > 1 ? ": " : "", line.data);
  buffer_free (&line);
  return -1;
}

static int
judge (int status, const struct buffer *output, size_t before, const struct buffer *words, struct error *error)
{
  char what[80];

  if (WIFSIGNALED (status)) {
    snprintf (what, sizeof what, "gnuplot died of signal %d (%.40s)", WTERMSIG (status), strsignal (WTERMSIG (status)));
    return gnuplot_fail (error, what, words);
  }
  if (WEXITSTATUS (status) != 0)
    return gnuplot_fail (error, "gnuplot failed", words);
  if (output->length == before)
    return gnuplot_fail (error, "gnuplot drew nothing", words);
  if (output->length - before >= OUTPUT_MAX)
    return error_set (error, "gnuplot drew over %zu MiB", OUTPUT_MAX >> 20);
  return 0;
}

int
gnuplot_run (const struct buffer *script, int64_t limit_ns, struct buffer *output, struct error *error)
{
  struct child child = { .in = -1, .out = -1, .err = -1, .deadline_ns = clock_monotonic () + limit_ns };
  struct buffer words = { 0 };
  size_t before = output->length;
  int status, result = -1;

  if (start (&child, error))
    return -1;
  if (converse (&child, script, output, &words) || reap (&child, &status))
    late (error, limit_ns);
  else
    result = judge (status, output, before, &words, error);
  if (child.pid > 0) {
    kill (-child.pid, SIGKILL);
    while (waitpid (child.pid, &status, 0) < 0 && errno == EINTR)
      ;
  }
  close_end (&child.in);
  close_end (&child.out);
  close_end (&child.err);
  buffer_free (&words);
  return result;
}
