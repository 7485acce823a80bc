/* See commands.h. The file is named by its device and inode, which are the same however a path is written. */
#include "aggregator/command/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "synop/local_socket.h"
#include "synop/log.h"

#define PATIENCE 30 /* seconds: frequent readers are queued (history.h) */

static bool
begins (const struct buffer *answer, const char *word)
{
  return answer->length >= strlen (word) && memcmp (answer->data, word, strlen (word)) == 0;
}

void
catch_up (const struct options *options, int64_t to_ns)
{
  static const char lacking[] = "what is younger than a minute may be missing";
  struct buffer request = { 0 }, answer = { 0 };
  struct error error;
  struct stat file;

  if (stat (replay_path (options), &file) < 0) /* the reader says why */
    return;
  to_ns = to_ns > INT64_MAX - options->tick_period_ns ? INT64_MAX : to_ns + options->tick_period_ns;
  buffer_printf (&request, "flush\tto=%" PRId64 "\tfile=%" PRIu64 ":%" PRIu64 "\n", to_ns, (uint64_t) file.st_dev,
                 (uint64_t) file.st_ino);
  if (local_socket_request_within (options->socket, request.data, PATIENCE, &answer, &error) < 0) {
    if (errno != ENOENT && errno != ECONNREFUSED)
      log_warning ("%s; %s", error.text, lacking);
  } else if (begins (&answer, "error ")) {
    log_warning ("the aggregator says: %.*s; %s", (int) (answer.length - 7), answer.data + 6, lacking);
  } else if (!begins (&answer, "ok ") && !begins (&answer, "other ")) {
    log_warning ("%s: the aggregator closed without an answer; %s", options->socket, lacking);
  }
  buffer_free (&request);
  buffer_free (&answer);
}
