/* Who takes samples beside the publisher: the page, and the child that sends. Where nobody else samples, samples for them. */
#ifndef SYNOP_AGENT_SAMPLES_H
#define SYNOP_AGENT_SAMPLES_H

#include "agent/page/node_page.h"
#include "agent/sampling/sampling.h"
#include "agent/send/send_feed.h"
#include "synop/loop.h"
#include "synop/notify.h"

struct samples {
  struct node_page *page; /* NULL: there is none */
  struct send_feed *feed; /* the same */
  /* The rest is private. */
  struct sampling *sampling; /* NULL: others do */
  struct loop_timer *timer;
  bool settled;
};

bool samples_are_wanted (const struct samples *samples);
void samples_take (void *samples, const struct sample *sample);
/* Samples until the loop is stopped. `notify` may be NULL. */
void samples_run (struct samples *samples, struct sampling *sampling, struct loop *loop, struct notify *notify);
void samples_begin (struct samples *samples); /* the sampling was opened again */

#endif
