/* See commands.h. Simple blocking programs: signals end them as they end any other. */
#include "aggregator/command/commands.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "synop/file.h"
#include "synop/local_socket.h"
#include "synop/log.h"
#include "synop/memory.h"

#define READ_AT_ONCE 65536
#define RETRY_MS 250

/* The aggregator's own words for a request that it refuses, "error ...", or NULL. */
static bool
is_refusal (const struct buffer *answer)
{
  return answer->length >= 6 && memcmp (answer->data, "error ", 6) == 0;
}

/* On the way to it, or by it. */
static void
log_refusal (const struct reach *reach, const struct buffer *answer)
{
  char *text = memory_copy (answer->data + 6, answer->length - 6);
  bool far = *reach->url && strstr (text, reach->url);

  text[strcspn (text, "\n")] = '\0';
  log_error ("%s%s", far ? "" : "the aggregator says: ", text);
  free (text);
}

void
client_log_no_answer (const struct options *options, const struct reach *reach, const struct error *error)
{
  if (reach->chosen)
    log_error ("%s", error->text);
  else if (errno == EACCES)
    local_socket_log_forbidden (options->socket, error->text);
  else
    log_error ("%s; is an aggregator running? [aggregator] socket (%s) or --socket says where, and --url, SYNOP_URL or "
               "[access] url where one answers over HTTP",
               error->text, config_source (options->config, "aggregator", "socket"));
}

int
client_status (const struct options *options)
{
  struct buffer answer = { 0 };
  struct reach reach;
  struct error error;
  int code = 1;

  reach_init (&reach, options);
  if (reach_request (&reach, options->json ? "status\n" : "status\ttable\n", &answer, &error) < 0)
    client_log_no_answer (options, &reach, &error);
  else if (is_refusal (&answer))
    log_refusal (&reach, &answer);
  else if (answer.length == 0)
    log_error ("%s: the aggregator closed without an answer", options->socket);
  else
    code = file_print (&answer);
  buffer_free (&answer);
  reach_free (&reach);
  return code;
}

/* ---- tail ---- */

struct tail {
  const struct options *options;
  struct reach reach;
  struct buffer request, lines;
  uint64_t shown;
  bool again; /* not the first time that it attaches */
};

enum tail_end { TAIL_LOST, TAIL_DONE, TAIL_FAILED };

static void
add_filter (struct buffer *request, const char *name, const char *globs)
{
  if (*globs)
    buffer_printf (request, "\t%s=%s", name, globs);
}

static int
make_request (struct tail *tail)
{
  const struct options *options = tail->options;

  buffer_add_string (&tail->request, "tail");
  add_filter (&tail->request, "node", options->node);
  add_filter (&tail->request, "group", options->group);
  add_filter (&tail->request, "type", options->type);
  buffer_add_string (&tail->request, "\n");
  if (tail->request.length <= 4096 && !strpbrk (options->node, "\t\n") && !strpbrk (options->group, "\t\n") &&
      !strpbrk (options->type, "\t\n"))
    return 0;
  log_error ("--node, --group and --type must have no tabs or newlines, and fewer than 4096 bytes together");
  return -1;
}

/* Shows the complete lines received; the rest waits for its end. */
static enum tail_end
show_lines (struct tail *tail)
{
  struct buffer whole = { .data = tail->lines.data };
  uint64_t count = tail->options->count;
  char *end;

  while ((count == 0 || tail->shown < count) &&
         (end = memchr (tail->lines.data + whole.length, '\n', tail->lines.length - whole.length))) {
    whole.length = (size_t) (end + 1 - tail->lines.data);
    tail->shown++;
  }
  if (is_refusal (&whole)) {
    log_refusal (&tail->reach, &whole);
    return TAIL_FAILED;
  }
  if (file_print (&whole) != 0)
    return TAIL_FAILED;
  tail->lines.length -= whole.length;
  memmove (tail->lines.data, tail->lines.data + whole.length, tail->lines.length);
  return count && tail->shown >= count ? TAIL_DONE : TAIL_LOST;
}

static enum tail_end
follow (struct tail *tail, int fd)
{
  struct pollfd ready[] = { { .fd = fd, .events = POLLIN }, { .fd = STDOUT_FILENO, .events = 0 } };

  buffer_clear (&tail->lines); /* drops half a line of the last connection */
  for (;;) {
    ssize_t got;
    if (poll (ready, 2, -1) < 0 && errno != EINTR)
      return TAIL_FAILED;
    if (ready[1].revents & (POLLERR | POLLHUP | POLLNVAL)) /* nobody reads what we show */
      return TAIL_DONE;
    if (!ready[0].revents)
      continue;
    got = recv (fd, buffer_reserve (&tail->lines, READ_AT_ONCE), READ_AT_ONCE, 0);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
      return TAIL_LOST;
    if (got > 0) {
      enum tail_end end;
      tail->lines.length += (size_t) got;
      end = show_lines (tail);
      if (end != TAIL_LOST)
        return end;
    }
  }
}

/* Waits for the aggregator to come back; the first time it must be there. */
static int
attach (struct tail *tail)
{
  struct error error;
  int fd;

  for (;;) {
    struct pollfd reader = { .fd = STDOUT_FILENO };
    fd = reach_begin (&tail->reach, buffer_text (&tail->request), &error);
    if (fd >= 0 || !tail->again)
      break;
    if (poll (&reader, 1, RETRY_MS) > 0)
      return -1; /* nobody reads what we show */
  }
  if (fd < 0)
    client_log_no_answer (tail->options, &tail->reach, &error);
  else if (tail->again)
    log_info ("attached again");
  return fd;
}

int
client_tail (const struct options *options)
{
  struct tail tail = { .options = options };
  enum tail_end end = make_request (&tail) < 0 ? TAIL_FAILED : TAIL_LOST;

  reach_init (&tail.reach, options);
  if (end == TAIL_LOST)
    filters_check_stream (options, &tail.reach);
  while (end == TAIL_LOST) {
    int fd = attach (&tail);
    if (fd < 0) {
      end = tail.again ? TAIL_DONE : TAIL_FAILED;
      break;
    }
    end = follow (&tail, fd);
    close (fd);
    tail.again = true;
    if (end == TAIL_LOST) {
      log_warning ("%s: the aggregator is gone; waiting for it", options->socket);
      poll (NULL, 0, RETRY_MS);
    }
  }
  buffer_free (&tail.request);
  buffer_free (&tail.lines);
  reach_free (&tail.reach);
  return end == TAIL_DONE ? 0 : 1;
}
