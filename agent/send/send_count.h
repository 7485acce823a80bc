/* `--dry-run`: how many series would be sent, and what they cost. */
#ifndef SYNOP_AGENT_SEND_COUNT_H
#define SYNOP_AGENT_SEND_COUNT_H

#include "agent/sampling/sampling.h"
#include "agent/send/send_settings.h"
#include "synop/schema.h"

/* Samples twice, `period_ns` apart. `price`: of a series a month; negative: it is not known. -1 and error: a names file is broken. */
int send_count (const struct send_settings *settings, const char *node, const struct schema *schema,
                struct sampling *sampling, int64_t period_ns, double price, struct buffer *out, struct error *error);

#endif
