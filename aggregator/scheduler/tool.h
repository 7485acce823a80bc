/* A scheduler's tool, run to its end: with a deadline, and a bound on what it prints. For a process that has nothing else
 * to do. No shell. */
#ifndef SYNOP_AGGREGATOR_TOOL_H
#define SYNOP_AGGREGATOR_TOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/error.h"

#define TOOL_OUTPUT_MAX (16u << 20) /* bytes */

enum tool_end { TOOL_ANSWERED, TOOL_FAILED, TOOL_ABSENT, TOOL_LATE };

/* `words` end with NULL. TOOL_FAILED: it could not be run, printed too much, or ended with a code other than 0; the output may
 * be an answer all the same. `why`: a sentence for what is not TOOL_ANSWERED. */
enum tool_end tool_run (const char *const *words, char *const *environment, int64_t deadline_ns, struct buffer *output,
                        struct error *why);

#endif
