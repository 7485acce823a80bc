/* Every frame that is sampled, appended to a file as it is sent: for tests, and for debugging. */
#ifndef SYNOP_AGENT_FRAME_LOG_H
#define SYNOP_AGENT_FRAME_LOG_H

#include <stdbool.h>
#include <stddef.h>

struct frame_log;

/* NULL for an empty path; frame_log_add accepts it. A file that cannot be written is logged, once. */
struct frame_log *frame_log_create (const char *path);
void frame_log_destroy (struct frame_log *log);
void frame_log_add (struct frame_log *log, const void *bytes, size_t length);

#endif
