/* See commands.h. An epilog must not fail because of us: an unknown job is a warning. */
#include "aggregator/command/commands.h"

#include <string.h>

#include "synop/local_socket.h"
#include "synop/log.h"

#define REQUEST_MAX 4096

/* Text that can be a word of the request. */
static bool
is_word (const char *text)
{
  for (; *text; text++)
    if ((unsigned char) *text < ' ' || *text == 127)
      return false;
  return true;
}

static int
make_request (const struct options *options, struct buffer *request)
{
  if (!is_word (options->job) || !is_word (options->user) || !is_word (options->name)) {
    log_error ("job: ID, --user and --name must have no control characters");
    return -1;
  }
  buffer_printf (request, "job\t%s\t%s", options->verb, options->job);
  if (*options->user)
    buffer_printf (request, "\tuser=%s", options->user);
  if (*options->name)
    buffer_printf (request, "\tname=%s", options->name);
  buffer_add (request, "\n", 2);
  if (request->length <= REQUEST_MAX)
    return 0;
  log_error ("job: ID, --user and --name are longer than %d bytes together", REQUEST_MAX);
  return -1;
}

/* "ok", "ok " and a note, or "error " and the reason. */
static int
take_answer (const struct options *options, struct buffer *answer)
{
  buffer_text (answer);
  answer->data[strcspn (answer->data, "\n")] = '\0';
  if (strcmp (answer->data, "ok") == 0)
    return 0;
  if (strncmp (answer->data, "ok ", 3) == 0) {
    log_warning ("%s", answer->data + 3);
    return 0;
  }
  if (strncmp (answer->data, "error ", 6) == 0)
    log_error ("the aggregator says: %s", answer->data + 6);
  else
    log_error ("%s: the aggregator closed without an answer", options->socket);
  return 1;
}

int
job_run (const struct options *options)
{
  struct buffer request = { 0 }, answer = { 0 };
  struct error error;
  int code = 1;

  if (make_request (options, &request) < 0)
    code = 2;
  else if (local_socket_request (options->socket, request.data, &answer, &error) < 0)
    client_log_no_answer (options, &(struct reach){ 0 }, &error);
  else
    code = take_answer (options, &answer);
  buffer_free (&request);
  buffer_free (&answer);
  return code;
}
