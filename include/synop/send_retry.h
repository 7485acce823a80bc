/* When what was not taken is tried again. Pure. */
#ifndef SYNOP_SEND_RETRY_H
#define SYNOP_SEND_RETRY_H

#include <stdint.h>

#include "synop/clock.h"

#define SEND_PAUSE_FIRST (NS_PER_S / 2)  /* then twice as long each time */
#define SEND_AFTER_MOST (600 * NS_PER_S) /* a receiver that asks for more waits so long */

struct send_retry {
  int64_t most_ns; /* the longest pause that is not asked for */
  int64_t next_ns; /* 0: the first */
};

/* It failed once more: how long to wait now. `after_ns`: what the receiver asked for; 0: nothing. */
int64_t send_retry_pause (struct send_retry *retry, int64_t after_ns);
void send_retry_done (struct send_retry *retry); /* it was taken */

#endif
