/* See samples.h. */
#include "agent/samples.h"

#include "agent/sampling/footprint.h"
#include "synop/clock.h"

bool
samples_are_wanted (const struct samples *samples)
{
  return samples->page || samples->feed;
}

void
samples_take (void *context, const struct sample *sample)
{
  struct samples *samples = context;

  if (samples->page)
    node_page_take (samples->page, sample);
  if (samples->feed)
    send_feed_take (samples->feed, sample);
}

static void
samples_due (void *context, int64_t due_ns)
{
  struct samples *samples = context;
  struct sample sample;

  (void) due_ns;
  sampling_run (samples->sampling, clock_monotonic (), &sample);
  samples_take (samples, &sample);
  loop_timer_set (samples->timer, sampling_next_due (samples->sampling));
  if (!samples->settled && sample.count != 0) {
    samples->settled = true;
    footprint_settle ();
  }
}

void
samples_begin (struct samples *samples)
{
  if (!samples->sampling)
    return;
  sampling_start (samples->sampling, clock_monotonic ());
  loop_timer_set (samples->timer, sampling_next_due (samples->sampling));
}

void
samples_run (struct samples *samples, struct sampling *sampling, struct loop *loop, struct notify *notify)
{
  samples->sampling = sampling;
  samples->timer = loop_timer_add (loop, samples_due, samples);
  samples_begin (samples);
  notify_ready (notify);
  loop_run (loop);
  notify_stopping (notify);
  loop_timer_remove (samples->timer);
}
