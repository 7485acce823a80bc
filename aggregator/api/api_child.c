/* Children that answer from the history (api_read.h). One is started ahead and waits for the next question: to start a
 * process and to link it takes as long as many an answer. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "aggregator/api/api_private.h"
#include "aggregator/api/api_read.h"
#include "synop/file.h"
#include "synop/log.h"

static int
start (struct child *child)
{
  static const char *const words[] = { "synop-aggregator", API_READ_COMMAND, NULL };
  const struct child_program program = { .path = "/proc/self/exe", .words = words, .listens = true };

  if (child_start (child, &program) < 0)
    return -1;
  file_close (&child->err); /* what it logs is in its answer */
  return 0;
}

void
api_child_prepare (struct api *api)
{
  if (api->spare.pid == 0 && start (&api->spare) < 0)
    log_debug ("HTTP: no child can be started: %s", strerror (errno));
}

int
api_child_ask (struct api *api, struct child *child, char *const *words)
{
  struct buffer question = { 0 };
  int status;

  if (api->spare.pid > 0 && !child_reap (&api->spare, &status)) {
    *child = api->spare;
    api->spare.pid = 0;
  } else if (start (child) < 0) {
    return -1;
  }
  for (; *words; words++)
    buffer_add (&question, *words, strlen (*words) + 1);
  if (send (child->in, question.data, question.length, MSG_NOSIGNAL) != (ssize_t) question.length)
    log_debug ("HTTP: a child takes no question: %s", strerror (errno));
  file_close (&child->in);
  buffer_free (&question);
  return 0;
}

void
api_child_dismiss (struct api *api)
{
  if (api->spare.pid == 0)
    return;
  child_kill (&api->spare);
  api->ending[0] = api->spare;
  api->spare.pid = 0;
}
