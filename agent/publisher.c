/* Samples, makes frames of the samples, and hands them to the ring and to the PUB socket; see publisher.h.
 *
 * A PUB socket drops what it is given before the subscription has arrived, so frames that shall come live begin with
 * the first welcome, a moment later: then they are sampled on cluster time at once. From then on they are sent whatever
 * happens, and libzmq keeps `queue_frames` of them while the aggregator is away.
 *
 * Where there is a ring nothing waits for an aggregator that does not come: after WELCOME_WAIT samples are taken at the
 * multiples of this machine's own clock. The ring holds the frames, the hello tells of them, and the aggregator asks for
 * what it has not got.
 *
 * The rest of the conversation is in publisher_talk.c, but that the connection is made anew when nothing was heard for
 * 120 s, since libzmq gives up for good after some errors. */
#include "agent/publisher.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "agent/footprint.h"
#include "agent/publisher_private.h"
#include "synop/clock.h"
#include "synop/log.h"
#include "synop/memory.h"

#define WELCOME_WAIT NS_PER_S        /* connecting to an aggregator that is there takes a part of it */
#define SILENCE_MAX (120 * NS_PER_S) /* more than two pauses between probes */
#define SILENCE_LOOK (10 * NS_PER_S)

/* ---- frames ---- */

void
publisher_begin (struct publisher *publisher, int64_t after_ns)
{
  int64_t first_ns;

  if (publisher->begun)
    return;
  publisher->begun = publisher->unsettled = true;
  first_ns = sampling_next_instant (&publisher->clock, after_ns, sampling_shortest_period (publisher->sampling));
  sampling_start (publisher->sampling, first_ns);
  loop_timer_set (publisher->sample_timer, first_ns);
}

static void
publisher_publish (struct publisher *publisher, const struct sample *sample)
{
  struct buffer *frame = &publisher->frame;
  struct frame_header *header = &publisher->header;

  header->sequence++;
  header->monotonic_ns = sample->monotonic_ns;
  header->wall_ns = sample->wall_ns;
  buffer_clear (frame);
  frame_write (frame, header, publisher->schema, (const struct table *const *) sample->tables, sample->count);
  if (publisher->options.ring)
    ring_add (publisher->options.ring,
              &(struct ring_frame){ header->session, header->sequence, frame->data, frame->length }, clock_monotonic (),
              header->wall_ns);
  frame_log_add (publisher->log, frame->data, frame->length);
  if (link_agent_publish (publisher->link, frame->data, frame->length) < 0)
    log_debug ("frame %" PRIu64 " was dropped: the queue is full", header->sequence);
}

static void
publisher_sample (void *context, int64_t due_ns)
{
  struct publisher *publisher = context;
  struct sample sample;

  (void) due_ns;
  if (!publisher->begun) {
    log_info ("not welcomed by %s yet: frames are kept for it from now on", publisher->options.endpoint);
    publisher_begin (publisher, clock_monotonic ());
    return;
  }
  sampling_run (publisher->sampling, clock_monotonic (), &sample);
  if (sample.count != 0)
    publisher_publish (publisher, &sample);
  loop_timer_set (publisher->sample_timer, sampling_next_due (publisher->sampling));
  publisher_drain (publisher);
  if (publisher->unsettled)
    footprint_settle ();
  publisher->unsettled = false;
}

/* ---- the connection ---- */

static void
publisher_ready (void *context, uint32_t events)
{
  (void) events;
  publisher_drain (context);
}

static void
publisher_timed_probe (void *context, int64_t due_ns)
{
  (void) due_ns;
  publisher_probe (context, clock_monotonic ());
  publisher_drain (context);
}

static void
publisher_silence (void *context, int64_t due_ns)
{
  struct publisher *publisher = context;
  int64_t now_ns = clock_monotonic ();

  (void) due_ns;
  if (now_ns - publisher->heard_ns >= SILENCE_MAX) {
    log_debug ("nothing heard from %s for %d s: connecting anew", publisher->options.endpoint,
               (int) (SILENCE_MAX / NS_PER_S));
    publisher->heard_ns = now_ns;
    link_agent_reconnect (publisher->link);
  } else if (publisher->state == STATE_NEW) {
    publisher_enter (publisher, STATE_DOWN);
  }
  loop_timer_set (publisher->silence_timer, now_ns + SILENCE_LOOK);
  publisher_drain (publisher);
}

/* ---- life ---- */

static int
publisher_read_keys (struct publisher *publisher, struct link_agent_options *link, struct error *error)
{
  char *own = memory_format ("%s/agent.key", publisher->options.keys);
  char *server = memory_format ("%s/aggregator.pub", publisher->options.keys);
  int rc = -1;

  if (key_pair_read (own, &link->keys, error) < 0)
    error_prefix (error, "this node's key, which \"agent keys init\" makes: ");
  else if (key_public_read (server, link->server_key, error) < 0)
    error_prefix (error, "the aggregator's public key, to be copied from the master: ");
  else
    rc = 0;
  key_text (link->keys.public_key, publisher->key);
  free (own);
  free (server);
  return rc;
}

struct publisher *
publisher_create (const struct publisher_options *options, struct loop *loop, struct sampling *sampling,
                  struct error *error)
{
  struct link_agent_options link = { .endpoint = options->endpoint, .queue_frames = options->queue_frames };
  struct publisher *publisher = memory_new (1, sizeof *publisher);
  const struct group *const *groups;
  size_t count;

  publisher->options = *options;
  publisher->sampling = sampling;
  if (publisher_read_keys (publisher, &link, error) == 0)
    publisher->link = link_agent_create (&link, error);
  explicit_bzero (&link, sizeof link);
  if (!publisher->link) {
    publisher_destroy (publisher);
    return NULL;
  }

  if (options->realtime)
    sampling_hurry (sampling);
  groups = sampling_groups (sampling, &count);
  publisher->schema = schema_create (groups, count);
  publisher->header.session = options->session;
  snprintf (publisher->header.node, sizeof publisher->header.node, "%s", options->node);
  memcpy (publisher->header.schema, publisher->schema->hash, SCHEMA_HASH_SIZE);
  prober_init (&publisher->prober, options->session);
  publisher->log = frame_log_create (options->frame_log);
  publisher->heard_ns = clock_monotonic ();

  publisher->sample_timer = loop_timer_add (loop, publisher_sample, publisher);
  publisher->probe_timer = loop_timer_add (loop, publisher_timed_probe, publisher);
  publisher->silence_timer = loop_timer_add (loop, publisher_silence, publisher);
  publisher->watch = loop_watch_add (loop, link_agent_fd (publisher->link), EPOLLIN, publisher_ready, publisher);
  loop_timer_set (publisher->silence_timer, publisher->heard_ns + SILENCE_LOOK);
  if (options->ring)
    loop_timer_set (publisher->sample_timer, publisher->heard_ns + WELCOME_WAIT);
  log_info ("node %s, key %s: connecting to %s", publisher->header.node, publisher->key, options->endpoint);
  footprint_settle ();
  publisher_drain (publisher);
  return publisher;
}

void
publisher_destroy (struct publisher *publisher)
{
  if (!publisher)
    return;
  if (publisher->options.realtime)
    sampling_calm (publisher->sampling); /* the end is no matter of haste */
  loop_watch_remove (publisher->watch);
  loop_timer_remove (publisher->sample_timer);
  loop_timer_remove (publisher->probe_timer);
  loop_timer_remove (publisher->silence_timer);
  link_agent_destroy (publisher->link);
  frame_log_destroy (publisher->log);
  schema_destroy (publisher->schema);
  buffer_free (&publisher->frame);
  buffer_free (&publisher->message);
  free (publisher);
}
