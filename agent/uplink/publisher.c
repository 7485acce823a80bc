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
#include "agent/uplink/publisher.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "agent/sampling/footprint.h"
#include "agent/uplink/publisher_private.h"
#include "synop/clock.h"
#include "synop/key_folder.h"
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
  frame_write_within (frame, header, publisher->schema, (const struct table *const *) sample->tables, sample->count,
                      publisher->frame_bytes_max);
  if (publisher->options.ring) {
    ring_keep_schema (publisher->options.ring, publisher->schema);
    ring_add (publisher->options.ring,
              &(struct ring_frame){ header->session, header->sequence, frame->data, frame->length }, clock_monotonic (),
              header->wall_ns);
  }
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
    log_info ("not welcomed by %s yet: frames are kept for it from now on", publisher->endpoint);
    publisher_begin (publisher, clock_monotonic ());
    return;
  }
  sampling_run (publisher->sampling, clock_monotonic (), &sample);
  if (sample.count != 0)
    publisher_publish (publisher, &sample);
  if (sample.count != 0 && publisher->options.sampled != NULL)
    publisher->options.sampled (publisher->options.sampled_context, &sample);
  loop_timer_set (publisher->sample_timer, sampling_next_due (publisher->sampling));
  publisher_drain (publisher);
  if (publisher->unsettled)
    footprint_settle ();
  publisher->unsettled = false;
  notify_ready (publisher->options.notify);
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
    log_debug ("nothing heard from %s for %d s: connecting anew", publisher->endpoint, (int) (SILENCE_MAX / NS_PER_S));
    publisher->heard_ns = now_ns;
    link_agent_reconnect (publisher->link);
  } else if (publisher->state == STATE_CROWDED) {
    link_agent_reconnect (publisher->link); /* libzmq has given up */
  } else if (publisher->state == STATE_NEW && now_ns - publisher->heard_ns >= SILENCE_LOOK &&
             !link_agent_greeting (publisher->link)) {
    publisher_enter (publisher, STATE_DOWN);
  }
  loop_timer_set (publisher->silence_timer, now_ns + SILENCE_LOOK);
  publisher_drain (publisher);
}

static int
read_keys (const char *folder, const char *node, struct link_agent_options *link, struct error *error)
{
  char *own = memory_format ("%s/agent.key", folder);
  char *server = memory_format ("%s/aggregator.pub", folder);
  int rc = -1;

  if (key_pair_read (own, &link->keys, error) < 0)
    error_prefix (error, "this node's key, which \"synop-agent keys init --keys %s --node %s\" makes: ", folder, node);
  else if (key_public_read (server, link->server_key, error) < 0)
    error_prefix (error, "the aggregator's public key, to be copied from the master: ");
  else
    rc = key_folder_check (folder, error);
  free (own);
  free (server);
  return rc;
}

static bool
is_connected_so (const struct publisher *publisher, const struct link_agent_options *link)
{
  char key[KEY_TEXT_SIZE];

  key_text (link->keys.public_key, key);
  return publisher->link && strcmp (key, publisher->key) == 0 && strcmp (link->endpoint, publisher->endpoint) == 0 &&
         link->queue_frames == publisher->queue_frames &&
         memcmp (link->server_key, publisher->server_key, KEY_SIZE) == 0;
}

/* From the old link, if there is one, to the new one. */
static void
publisher_set_link (struct publisher *publisher, struct link_agent *link, const struct link_agent_options *options)
{
  loop_watch_remove (publisher->watch);
  link_agent_destroy (publisher->link);
  publisher->link = link;
  publisher->watch = loop_watch_add (publisher->loop, link_agent_fd (link), EPOLLIN, publisher_ready, publisher);
  publisher->deaf = publisher->asked.waits = false;
  publisher->state = STATE_NEW;
  publisher->heard_ns = clock_monotonic ();
  publisher->queue_frames = options->queue_frames;
  snprintf (publisher->endpoint, sizeof publisher->endpoint, "%s", options->endpoint);
  memcpy (publisher->server_key, options->server_key, KEY_SIZE);
  key_text (options->keys.public_key, publisher->key);
  prober_stop (&publisher->prober);
  log_info ("node %s, key %s: connecting to %s", publisher->header.node, publisher->key, publisher->endpoint);
  publisher_tell_status (publisher);
}

static int
publisher_link (struct publisher *publisher, const char *endpoint, const char *keys, int queue_frames,
                struct error *error)
{
  struct link_agent_options options = { .endpoint = endpoint, .queue_frames = queue_frames };
  struct link_agent *link = NULL;
  int rc = read_keys (keys, publisher->header.node, &options, error);

  if (rc == 0 && !is_connected_so (publisher, &options)) {
    link = link_agent_create (&options, error);
    rc = link ? 0 : -1;
  }
  if (link)
    publisher_set_link (publisher, link, &options);
  if (rc == 0) {
    free (publisher->keys);
    publisher->keys = memory_string (keys);
  }
  explicit_bzero (&options, sizeof options);
  return rc;
}

int
publisher_connect (struct publisher *publisher, const char *endpoint, const char *keys, int queue_frames,
                   struct error *error)
{
  int rc = publisher_link (publisher, endpoint, keys, queue_frames, error);

  publisher_drain (publisher);
  return rc;
}

/* ---- the sampling ---- */

static void
publisher_make_schema (struct publisher *publisher)
{
  size_t count;
  const struct group *const *groups = sampling_groups (publisher->sampling, &count);

  schema_destroy (publisher->schema);
  publisher->schema = schema_create (groups, count);
  memcpy (publisher->header.schema, publisher->schema->hash, SCHEMA_HASH_SIZE);
}

void
publisher_leave_sampling (struct publisher *publisher)
{
  if (publisher->options.realtime)
    sampling_calm (publisher->sampling);
  publisher->sampling = NULL;
}

/* Samples go on at the next instant. The aggregator asks for the schema of a frame that it does not know. */
void
publisher_use_sampling (struct publisher *publisher, struct sampling *sampling)
{
  publisher->sampling = sampling;
  if (publisher->options.realtime)
    sampling_hurry (sampling);
  publisher_make_schema (publisher);
  publisher->unsettled = true;
  if (publisher->begun) {
    publisher->begun = false;
    publisher_begin (publisher, clock_monotonic ());
    sampling_set_clock (sampling, &publisher->clock);
    loop_timer_set (publisher->sample_timer, sampling_next_due (sampling));
  }
  if (publisher->state == STATE_UP)
    publisher_hello (publisher);
  publisher_drain (publisher);
}

/* ---- life ---- */

struct publisher *
publisher_create (const struct publisher_options *options, struct loop *loop, struct sampling *sampling,
                  struct error *error)
{
  struct publisher *publisher = memory_new (1, sizeof *publisher);

  publisher->options = *options;
  publisher->loop = loop;
  publisher->sampling = sampling;
  publisher->header.session = options->session;
  publisher->frame_bytes_max = FRAME_BYTES_DEFAULT;
  snprintf (publisher->header.node, sizeof publisher->header.node, "%s", options->node);
  prober_init (&publisher->prober, options->session);
  if (publisher_link (publisher, options->endpoint, options->keys, options->queue_frames, error) < 0) {
    publisher_destroy (publisher);
    return NULL;
  }

  publisher_make_schema (publisher);
  publisher->log = frame_log_create (options->frame_log);
  if (options->realtime)
    sampling_hurry (sampling);
  publisher->sample_timer = loop_timer_add (loop, publisher_sample, publisher);
  publisher->probe_timer = loop_timer_add (loop, publisher_timed_probe, publisher);
  publisher->silence_timer = loop_timer_add (loop, publisher_silence, publisher);
  publisher->talk_timer = loop_timer_add (loop, publisher_talk_on, publisher);
  loop_timer_set (publisher->silence_timer, publisher->heard_ns + SILENCE_LOOK);
  if (options->ring)
    loop_timer_set (publisher->sample_timer, publisher->heard_ns + WELCOME_WAIT);
  else
    notify_ready (options->notify); /* as ready as it can be: samples wait for the first welcome */
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
  loop_timer_remove (publisher->talk_timer);
  link_agent_destroy (publisher->link);
  frame_log_destroy (publisher->log);
  schema_destroy (publisher->schema);
  buffer_free (&publisher->frame);
  buffer_free (&publisher->message);
  free (publisher->keys);
  free (publisher);
}
