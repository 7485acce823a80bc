#include "synop/send_retry.h"

int64_t
send_retry_pause (struct send_retry *retry, int64_t after_ns)
{
  int64_t pause = retry->next_ns ? retry->next_ns : SEND_PAUSE_FIRST;

  pause = pause < retry->most_ns ? pause : retry->most_ns;
  retry->next_ns = 2 * pause;
  after_ns = after_ns < SEND_AFTER_MOST ? after_ns : SEND_AFTER_MOST;
  return after_ns > pause ? after_ns : pause;
}

void
send_retry_done (struct send_retry *retry)
{
  retry->next_ns = 0;
}
