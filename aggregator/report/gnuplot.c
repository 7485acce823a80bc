/* See gnuplot.h.
 *
 * The script goes through a socket and not a pipe, so that a gnuplot that dies early is an error code here and no signal.
 * All three ends are served by one poll with one deadline: neither a full pipe nor a silent child can hold us. */
#include "aggregator/report/gnuplot.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregator/report/job_words.h"
#include "synop/child.h"
#include "synop/file.h"
#include "synop/memory.h"

#define OUTPUT_MAX ((size_t) 512 << 20)
#define WORDS_MAX 16384 /* of its standard error */

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
    else /* quotes, backslashes, backquotes; gnuplot takes all digits that follow, so a digit begins a new string */
      buffer_printf (script, "\\%o%s", c,
                     i + 1 < clean.length && isdigit ((unsigned char) clean.data[i + 1]) ? "\".\"" : "");
  }
  buffer_add (script, "\"", 1);
  buffer_free (&clean);
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
start (struct child *child, struct error *error)
{
  static const char *const words[] = { "gnuplot", "--default-settings", NULL };
  char **environment = plain_environment ();
  int result =
      child_start (child, &(struct child_program){ .words = words, .environment = environment, .listens = true });

  if (result < 0)
    error_set (error, "cannot start gnuplot: %s", strerror (errno));
  free (environment);
  return result;
}

/* Writes more of the script; at its end gnuplot's standard input is closed. */
static void
feed (struct child *child, const struct buffer *script, size_t *sent)
{
  ssize_t n = send (child->in, script->data + *sent, script->length - *sent, MSG_NOSIGNAL | MSG_DONTWAIT);

  if (n > 0)
    *sent += (size_t) n;
  else if (n < 0 && errno != EAGAIN && errno != EINTR)
    file_close (&child->in); /* it reads no more: its exit status gives the reason */
  if (*sent == script->length)
    file_close (&child->in);
}

static void
take (int *fd, struct buffer *to, size_t limit)
{
  char *room = buffer_reserve (to, 65536);
  ssize_t n = read (*fd, room, 65536);

  if (n > 0)
    to->length += to->length < limit ? (size_t) n : 0; /* output over the limit is read and dropped */
  else if (n == 0 || (errno != EINTR && errno != EAGAIN))
    file_close (fd);
}

/* Runs until gnuplot has closed its outputs. */
static int
converse (struct child *child, int64_t deadline_ns, const struct buffer *script, struct buffer *output,
          struct buffer *words)
{
  size_t sent = 0;

  while (child->out >= 0 || child->err >= 0) {
    struct pollfd ends[] = { { child->in, POLLOUT, 0 }, { child->out, POLLIN, 0 }, { child->err, POLLIN, 0 } };
    int64_t left = deadline_ns - clock_monotonic ();

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

/* Its exit status; -1 when it still runs, though it closed its outputs. */
static int
reap (struct child *child, int64_t deadline_ns, int *status)
{
  while (!child_reap (child, status)) {
    if (clock_monotonic () >= deadline_ns)
      return -1;
    poll (NULL, 0, 5);
  }
  return *status < 0 ? -1 : 0;
}

/* Its error output in one line: the prompt, the caret and all line ends become single blanks. */
static int
gnuplot_fail (struct error *error, const char *summary, const struct buffer *words)
{
  struct buffer line = { 0 };

  for (size_t i = 0; i < words->length; i++) {
    bool blank = words->data[i] == ' ' || words->data[i] == '\n' || words->data[i] == '\t' || words->data[i] == '\r';
    if (!blank || (line.length && line.data[line.length - 1] != ' '))
      buffer_add (&line, blank ? " " : words->data + i, 1);
  }
  error_set (error, "%s%s%.400s", summary, line.length > 0 ? ": " : "", buffer_text (&line));
  buffer_free (&line);
  return -1;
}

static int
judge (int status, const struct buffer *output, size_t before, const struct buffer *words, struct error *error)
{
  char summary[80];

  if (WIFSIGNALED (status)) {
    snprintf (summary, sizeof summary, "gnuplot died of signal %d (%.40s)", WTERMSIG (status),
              strsignal (WTERMSIG (status)));
    return gnuplot_fail (error, summary, words);
  }
  if (WEXITSTATUS (status) == CHILD_ABSENT)
    return error_set (error, "plots need gnuplot, which is not installed: the package is gnuplot-nox on Debian and "
                             "Ubuntu, gnuplot on Fedora and RHEL");
  if (WEXITSTATUS (status) == CHILD_CANNOT)
    return error_set (error, "gnuplot cannot be started");
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
  int64_t deadline_ns = clock_monotonic () + limit_ns;
  struct buffer words = { 0 };
  size_t before = output->length;
  struct child child;
  int status, result = -1;

  if (start (&child, error))
    return -1;
  if (converse (&child, deadline_ns, script, output, &words) || reap (&child, deadline_ns, &status))
    error_set (error, "gnuplot did not end within %.3g s", (double) limit_ns / NS_PER_S);
  else
    result = judge (status, output, before, &words, error);
  child_kill (&child);
  while (child.pid > 0 && !child_reap (&child, &status))
    poll (NULL, 0, 5);
  buffer_free (&words);
  return result;
}
