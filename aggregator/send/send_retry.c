#include "aggregator/send/send_retry.h"

int64_t
send_retry_pause (struct send_retry *retry, int64_t after_ns)
{
  int64_t pause = SEND_PAUSE_FIRST;

  for (unsigned i = 0; i < retry->failures && pause < SEND_PAUSE_MOST; i++)
    pause *= 2;
  retry->failures++;
  pause = pause < SEND_PAUSE_MOST ? pause : SEND_PAUSE_MOST;
  after_ns = after_ns < SEND_AFTER_MOST ? after_ns : SEND_AFTER_MOST;
  return after_ns > pause ? after_ns : pause;
}

void
send_retry_done (struct send_retry *retry)
{
  retry->failures = 0;
}
