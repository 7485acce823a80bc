/* Fuzzes the reader of control messages. What was read must be written and read again alike. Links libcommon. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "synop/control.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct error error = { "" };
  struct control message, again;
  struct buffer out = { 0 };
  int result = control_read (data, size, &message, &error);

  if ((result == 0) != (error.text[0] == 0))
    abort ();
  if (result != 0)
    return 0;
  control_write (&out, &message);
  if (control_read (out.data, out.length, &again, &error) != 0 || again.type != message.type ||
      again.session != message.session || again.schema_length != message.schema_length ||
      again.frame_length != message.frame_length || again.held_count != message.held_count || again.to != message.to ||
      strcmp (again.node, message.node) != 0)
    abort ();
  if (message.type == CONTROL_TRACE_REQUEST &&
      (again.trace.id != message.trace.id || again.trace.rank_count != message.trace.rank_count ||
       again.trace.output.length != message.trace.output.length || again.trace.start_ns != message.trace.start_ns))
    abort ();
  if (message.type == CONTROL_TRACE_ANSWER &&
      (again.traced.id != message.traced.id || again.traced.count != message.traced.count ||
       again.traced.error.length != message.traced.error.length))
    abort ();
  buffer_free (&out);
  return 0;
}
