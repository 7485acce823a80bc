/* See tool.h. */
#include "aggregator/scheduler/tool.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "synop/child.h"
#include "synop/clock.h"
#include "synop/file.h"

#define TALK_MAX 4096 /* bytes of its standard error */
#define AT_ONCE 65536

/* False: it printed more than `most`. */
static bool
take (int *fd, struct buffer *to, size_t most)
{
  char *room = buffer_reserve (to, AT_ONCE);
  ssize_t n = read (*fd, room, AT_ONCE);

  if (n > 0)
    to->length += to->length < most ? (size_t) n : 0;
  else if (n == 0 || (errno != EINTR && errno != EAGAIN))
    file_close (fd);
  return to->length < most;
}

/* Until it has closed its outputs. 1: late; 2: too much. */
static int
listen_to (struct child *child, int64_t deadline_ns, struct buffer *output, struct buffer *talk)
{
  while (child->out >= 0 || child->err >= 0) {
    struct pollfd ends[] = { { child->out, POLLIN, 0 }, { child->err, POLLIN, 0 } };
    int64_t left = deadline_ns - clock_monotonic ();
    if (left <= 0)
      return 1;
    if (poll (ends, 2, (int) (left / NS_PER_MS) + 1) < 0 && errno != EINTR)
      return 1;
    if (ends[0].revents && !take (&child->out, output, TOOL_OUTPUT_MAX))
      return 2;
    if (ends[1].revents)
      take (&child->err, talk, TALK_MAX);
  }
  return 0;
}

static bool
reap (struct child *child, int64_t deadline_ns, int *status)
{
  while (!child_reap (child, status)) {
    if (clock_monotonic () >= deadline_ns)
      return false;
    poll (NULL, 0, 2);
  }
  return true;
}

/* The first line that it complained with. */
static enum tool_end
fail (const char *tool, int status, struct buffer *talk, struct error *why)
{
  const char *text = buffer_text (talk), *line = text + strspn (text, "\n ");
  int length = (int) strcspn (line, "\n");

  if (length)
    error_set (why, "%.40s: %.*s", tool, length < 160 ? length : 160, line);
  else if (WIFEXITED (status))
    error_set (why, "%.40s ended with exit code %d", tool, WEXITSTATUS (status));
  else
    error_set (why, "%.40s was ended by signal %d", tool, WTERMSIG (status));
  return TOOL_FAILED;
}

enum tool_end
tool_run (const char *const *words, char *const *environment, int64_t deadline_ns, struct buffer *output,
          struct error *why)
{
  struct buffer talk = { 0 };
  enum tool_end end = TOOL_ANSWERED;
  struct child child;
  int status = 0, heard;

  buffer_clear (output);
  if (child_start (&child, &(struct child_program){ .words = words, .environment = environment }) < 0) {
    error_set (why, "%.40s cannot be run: %s", words[0], strerror (errno));
    return TOOL_FAILED;
  }
  heard = listen_to (&child, deadline_ns, output, &talk);
  if (heard || !reap (&child, deadline_ns, &status)) {
    child_kill (&child);
    reap (&child, clock_monotonic () + NS_PER_S, &status);
    end = heard == 2 ? TOOL_FAILED : TOOL_LATE;
    error_set (why, heard == 2 ? "%.40s printed over %u MiB" : "%.40s did not answer in time", words[0],
               TOOL_OUTPUT_MAX >> 20);
  } else if (WIFEXITED (status) && WEXITSTATUS (status) == CHILD_ABSENT && output->length == 0) {
    end = TOOL_ABSENT;
    error_set (why, "there is no %.40s on this machine", words[0]);
  } else if (status != 0) {
    end = fail (words[0], status, &talk, why);
  }
  buffer_free (&talk);
  return end;
}
