/* Which groups this machine has nothing of, and why: the end of --list-groups. */
#ifndef SYNOP_AGENT_ABSENT_H
#define SYNOP_AGENT_ABSENT_H

#include "agent/sampling/sampler.h"
#include "synop/buffer.h"

/* Asks the samplers, and waits for their answers, but not for ever. A line for each reason, with the groups' names. */
void absent_write (struct buffer *out, const struct sampler_context *context);

#endif
