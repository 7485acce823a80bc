/* Kineto's datagrams, which any process may send; and the paths and options of a request, and /proc/PID/status. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/traces/kineto_messages.h"
#include "agent/traces/peer.h"
#include "agent/traces/trace_text.h"

#define FILE_KEY "\nACTIVITIES_LOG_FILE="

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
read_texts (const char *text)
{
  const struct trace_words words = { "1/2", "n1", -1, 12 };
  char path[TRACES_PATH_MAX + 1], other[TRACES_PATH_MAX + 1], answer[KINETO_ANSWER_MAX];
  struct traces_request request = { .duration_ns = 1000000, .config = text };
  struct peer peer;
  size_t behind;

  if (trace_path (text, &words, path, NULL) == 0 && trace_path_check (path, "/tmp,/a/b", &behind, NULL) == 0) {
    if (strstr (path, "/../") || behind > strlen (path))
      abort ();
    trace_path_kineto (path, 12, other);
  }
  if (trace_config_check (TRACES_KINETO, text, NULL) == 0 &&
      trace_config (answer, &request, "/a/b", 0, 10000000000) > 0 && strstr (strstr (answer, FILE_KEY) + 1, FILE_KEY))
    abort (); /* the file is ours to name */
  peer_parse_status (&peer, text);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct kineto_message message;
  char *text;

  kineto_read (&message, data, size);
  peer_rank ((const char *) data, size);
  text = malloc (size + 1);
  if (!text)
    return 0;
  memcpy (text, data, size);
  text[size] = 0;
  read_texts (text);
  free (text);
  return 0;
}
