/* Which groups this machine lacks the hardware or driver for, and why: the end of --list-groups. */
#ifndef SYNOP_AGENT_ABSENT_H
#define SYNOP_AGENT_ABSENT_H

#include "agent/sampling/sampler.h"
#include "synop/buffer.h"

/* Asks the samplers and waits a limited time for them. Writes a line for each reason, with the names of the groups. */
void absent_write (struct buffer *out, const struct sampler_context *context);

#endif
