/* Answers clock probes in the link's receiving thread, right after their receipt: a probe does not wake the main
 * thread, and its answer does not wait for it. The main thread gives the desk the state of each node's clock. */
#ifndef SYNOP_CLOCK_DESK_H
#define SYNOP_CLOCK_DESK_H

#include <stddef.h>
#include <stdint.h>

#include "synop/control.h"
#include "synop/link.h"

struct clock_desk;

struct clock_desk *clock_desk_create (void);
void clock_desk_destroy (struct clock_desk *desk);

/* Sets a node's session and clock (NULL: unknown); session 0: the node is gone. */
void clock_desk_set (struct clock_desk *desk, const char *node, uint64_t session, const struct control_clock *clock);

/* For link_server_options.answer_now: answers a probe; returns 0 for other messages. */
size_t clock_desk_answer (void *desk, const char *node, const void *bytes, size_t length, int64_t received_ns,
                          uint8_t answer[LINK_ANSWER_NOW_MAX]);

#endif
