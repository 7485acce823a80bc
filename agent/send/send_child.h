/* The child that posts: frames come by its standard input, as a length (uint32_t) and the frame's bytes each, and by its standard
 * output goes the sequence of the last frame that was taken (uint64_t), at least every few seconds unless a receiver is waited for. */
#ifndef SYNOP_AGENT_SEND_CHILD_H
#define SYNOP_AGENT_SEND_CHILD_H

#include "agent/send/send_settings.h"
#include "synop/schema.h"

#define SEND_CHILD_WORD "send-child" /* the command by which the agent starts it */
#define SEND_CHILD_OPTIONS 3         /* its descriptor with the options, as --print-config writes them */

/* Until its input ends: then what was gathered is posted once. -1 and error: a names file is broken. */
int send_child_run (const struct send_settings *settings, const char *node, const struct schema *schema,
                    struct error *error);

#endif
