/* The child that answers from the history; see api_read.h. It has less of everything than the aggregator: it is ended first
 * when memory is short, and gets no more than it may need. */
#include "aggregator/api/api_read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/api/api_openapi.h"
#include "aggregator/api/api_route.h"
#include "aggregator/query/when.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/local_socket.h"
#include "synop/log.h"
#include "synop/memory.h"

#define WORDS_AT_ONCE 4096
#define MEMORY_MAX (UINT64_C (2) << 30)
#define SECONDS_MAX 60 /* of CPU; its parent ends it before */
#define NICE 5
#define CATCH_UP_S 1 /* who asks often gets what was written; see history.h */
#define OOM_SCORE "500"

static void
limit_self (void)
{
  const struct rlimit seconds = { SECONDS_MAX, SECONDS_MAX };
  int fd = open ("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

  if (fd >= 0 && write (fd, OOM_SCORE, strlen (OOM_SCORE)) < 0)
    log_debug ("oom_score_adj: %s", strerror (errno));
  file_close (&fd);
  setpriority (PRIO_PROCESS, 0, NICE);
  setrlimit (RLIMIT_CPU, &seconds);
#ifndef SANITIZED /* ASan maps terabytes */
  setrlimit (RLIMIT_AS, &(struct rlimit){ MEMORY_MAX, MEMORY_MAX });
#endif
}

/* Has the aggregator write what it still holds in memory. */
static void
catch_up (const struct api_read *read)
{
  struct buffer request = { 0 }, answer = { 0 };
  struct error error;
  struct stat file;

  if (stat (read->words[API_WORD_HISTORY], &file) == 0) {
    buffer_printf (&request, "flush\tto=%" PRId64 "\tfile=%" PRIu64 ":%" PRIu64 "\n", INT64_MAX, (uint64_t) file.st_dev,
                   (uint64_t) file.st_ino);
    local_socket_request_within (read->words[API_WORD_SOCKET], buffer_text (&request), CATCH_UP_S, &answer, &error);
  }
  buffer_free (&request);
  buffer_free (&answer);
}

int
api_read_interval (const struct api_read *read, int64_t *from_ns, int64_t *to_ns, struct api_error *error)
{
  struct error why;

  if (when_parse (api_value (read->ask, "from"), read->now_ns, from_ns, &why) < 0 ||
      when_parse (api_value (read->ask, "to"), read->now_ns, to_ns, &why) < 0)
    return api_error_set (error, 400, "from", "%s", why.text);
  return 0;
}

void
api_read_print (struct api_read *read)
{
  struct buffer head = { 0 };

  if (!read->begun) {
    buffer_printf (&head, "%u %s %s\n", read->status, read->type, read->name);
    read->code |= file_print (&head);
  }
  read->begun = true;
  read->code |= file_print (&read->out);
  buffer_clear (&read->out);
  buffer_free (&head);
}

/* ---- the request ---- */

/* The words that come on standard input, NULL behind them. The name is what ps shows. */
static size_t
words_read (struct buffer *text, char ***words)
{
  size_t count = 0, room = 0;
  ssize_t got;

  prctl (PR_SET_NAME, "synop-waits");
  while ((got = read (STDIN_FILENO, buffer_reserve (text, WORDS_AT_ONCE), WORDS_AT_ONCE)) > 0)
    text->length += (size_t) got;
  prctl (PR_SET_NAME, "synop-answers");
  buffer_add (text, "", 1); /* whatever came, the last word ends */
  *words = NULL;
  for (char *at = text->data, *end = text->data + text->length - 1; at < end; at += strlen (at) + 1)
    *array_add (*words, count, room) = at;
  return count;
}

static int
ask_read (struct api_ask *ask, const char *path, char **pairs, size_t count, struct api_error *error)
{
  const char *part;

  ask->route = api_route_find (path, &part, error);
  if (!ask->route)
    return -1;
  if (!ask->route->read)
    return api_error_set (error, 400, NULL, "%s is not answered from the history", path);
  for (size_t i = 0; i < count; i++) {
    char *value = strchr (pairs[i], '=');
    if (value)
      *value++ = '\0';
    if (api_ask_take (ask, pairs[i], value, error) < 0)
      return -1;
  }
  return api_ask_check (ask, part, error);
}

static int
answer (struct api_read *read, struct api_error *error)
{
  struct error why;

  if (*read->words[API_WORD_FRESH])
    catch_up (read);
  read->file = history_file_open (read->words[API_WORD_HISTORY], &why);
  if (!read->file)
    return api_error_set (error, 503, NULL, "%s", why.text);
  return read->ask->route->read (read, error);
}

static int
print_description (void)
{
  struct buffer text = { 0 };
  int code;

  api_openapi_write (&text);
  code = file_print (&text);
  buffer_free (&text);
  return code;
}

int
api_read_main (int argc, char **argv)
{
  struct api_ask ask = { 0 };
  struct api_error error = { 0 };
  struct buffer text = { 0 };
  char **words = NULL;
  size_t count = 0;
  struct api_read read = { .ask = &ask, .status = 200, .type = "application/json" };

  if (argc == 2 && strcmp (argv[1], "openapi.json") == 0)
    return print_description ();
  limit_self ();
  if (argc == 1 && !isatty (STDIN_FILENO))
    count = words_read (&text, &words);
  if (count <= API_WORDS_OWN) {
    log_error ("\"" API_READ_COMMAND "\" is for the aggregator alone: it answers /api/v1/ from the history");
    return 2;
  }
  read.words = (const char *const *) words;
  read.now_ns = clock_wall ();
  if (viewer_read (&read.viewer, read.words[API_WORD_VIEWER]) < 0)
    read.viewer = viewer_nobody;
  if (ask_read (&ask, words[API_WORDS_OWN], words + API_WORDS_OWN + 1, count - API_WORDS_OWN - 1, &error) < 0 ||
      answer (&read, &error) < 0) {
    read.type = "application/json";
    read.name[0] = '\0';
    buffer_clear (&read.out);
    read.status = error.status;
    api_error_write (&error, &read.out);
  }
  api_read_print (&read);
  history_file_close (read.file);
  buffer_free (&read.out);
  api_ask_free (&ask);
  buffer_free (&text);
  free (words);
  return read.code;
}
