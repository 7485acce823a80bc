/* The child that answers from the history; see api_read.h. It has less of everything than the aggregator: it is ended first
 * when memory is short, and gets no more than it may need. */
#include "aggregator/api/api_read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/api/api_openapi.h"
#include "aggregator/api/api_route.h"
#include "aggregator/query/when.h"
#include "synop/array.h"
#include "synop/child.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/local_socket.h"
#include "synop/log.h"
#include "synop/memory.h"

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

/* ---- the request ---- */

/* Its words, which are parts of the text; they have no end but `count`. */
static char **
words_read (struct buffer *text, size_t *count)
{
  size_t length = 0, room = 0;
  struct stat status;
  char **words = NULL;

  *count = 0;
  if (fstat (CHILD_EXTRA, &status) < 0 || !S_ISREG (status.st_mode))
    return NULL;
  buffer_reserve (text, (size_t) status.st_size + 1);
  for (ssize_t got = 1; got > 0 && length<(size_t) status.st_size; length += got> 0 ? (size_t) got : 0)
    got = pread (CHILD_EXTRA, text->data + length, (size_t) status.st_size - length, (off_t) length);
  text->length = length;
  text->data[length] = '\0';
  for (size_t at = 0; at < length; at += strlen (text->data + at) + 1)
    *array_add (words, *count, room) = text->data + at;
  return words;
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
  struct api_read read = { .ask = &ask, .now_ns = clock_wall (), .type = "application/json" };
  struct buffer head = { 0 }, text = { 0 };
  size_t count;
  int code;

  if (argc == 2 && strcmp (argv[1], "openapi.json") == 0)
    return print_description ();
  read.words = words_read (&text, &count);
  if (count <= API_WORDS_OWN) {
    free (read.words);
    buffer_free (&text);
    log_error ("\"" API_READ_COMMAND "\" is for the aggregator alone: it answers /api/v1/ from the history");
    return 2;
  }
  if (viewer_read (&read.viewer, read.words[API_WORD_VIEWER]) < 0)
    read.viewer = viewer_nobody;
  limit_self ();
  count -= API_WORDS_OWN + 1;
  if (ask_read (&ask, read.words[API_WORDS_OWN], read.words + API_WORDS_OWN + 1, count, &error) < 0 ||
      answer (&read, &error) < 0) {
    read.type = "application/json";
    read.name[0] = '\0';
    buffer_clear (&read.out);
    api_error_write (&error, &read.out);
  }
  buffer_printf (&head, "%u %s %s\n", error.status ? error.status : 200, read.type, read.name);
  code = file_print (&head) || file_print (&read.out);
  history_file_close (read.file);
  buffer_free (&head);
  buffer_free (&read.out);
  api_ask_free (&ask);
  free (read.words);
  buffer_free (&text);
  return code;
}
