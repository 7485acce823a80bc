/* Frames for the child that posts: handed to it by a pipe, kept until it says that they were taken, so that one that ends or is
 * killed loses none. Never waits: what does not fit is dropped, the oldest first, and counted. */
#ifndef SYNOP_AGENT_SEND_FEED_H
#define SYNOP_AGENT_SEND_FEED_H

#include "agent/sampling/sampling.h"
#include "agent/send/send_settings.h"
#include "synop/loop.h"
#include "synop/schema.h"

struct send_feed_options {
  struct loop *loop;
  const char *node;
  uint64_t session;
  const struct schema *schema; /* of all groups that there may be */
};

struct send_feed;

/* The settings stay, and change before send_feed_change alone. `config`: all options as a file, for the child. */
struct send_feed *send_feed_create (const struct send_feed_options *options, const struct send_settings *settings,
                                    const char *config);
/* Lets the child post what was gathered, for 3 s at most. */
void send_feed_destroy (struct send_feed *feed); /* NULL is fine */
void send_feed_take (struct send_feed *feed, const struct sample *sample);
void send_feed_change (struct send_feed *feed, const char *config); /* another child goes on */

#endif
