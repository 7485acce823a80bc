/* Sends what is sampled to the aggregator; see publisher.h.
 *
 *   connection up     -> hello
 *   welcome           -> a burst of probes; the facts go with the next frame; the first one begins the frames
 *   schema request    -> schema
 *   replay request    -> those frames that the ring holds, at most as many as are asked for, and the end
 *   probe answer      -> cluster time, on whose multiples is sampled from then on; hello again, when it says that the
 *                        aggregator does not know this session
 *   nothing for 120 s -> connect anew, since libzmq gives up for good after some errors
 *
 * Whatever the aggregator says, and however often, what is said back is bounded: two that answer each other at once
 * never end, and two agents with one key are such a case, as one of them is never known.
 *
 * Frames begin with the first welcome, since a PUB socket drops what it is given before the subscription has arrived.
 * From then on they are sent whatever happens, and libzmq keeps `queue_frames` of them while the aggregator is away. */
#include "agent/publisher.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "agent/footprint.h"
#include "agent/prober.h"
#include "synop/clock.h"
#include "synop/control.h"
#include "synop/frame.h"
#include "synop/keys.h"
#include "synop/link.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/schema.h"
#include "synop/version.h"

#define SILENCE_MAX (120 * NS_PER_S) /* more than two pauses between probes */
#define SILENCE_LOOK (10 * NS_PER_S)
/* Time for two probes, so that the first frame is sampled on cluster time already. */
#define CLOCK_LAG (300 * NS_PER_MS)

#define HELLO_PAUSE_FIRST NS_PER_S /* between hellos of a session that is not known, doubled each time */
#define HELLO_PAUSE_MAX (30 * NS_PER_S)
#define WELCOME_PAUSE NS_PER_S /* between two that start a burst of probes */
#define SCHEMAS_MAX 4          /* in a second */

enum publisher_state { STATE_NEW, STATE_UP, STATE_DOWN, STATE_REFUSED };

struct publisher {
  struct publisher_options options;
  struct sampling *sampling;
  struct schema *schema;
  struct link_agent *link;
  struct loop_watch *watch;
  struct loop_timer *sample_timer, *probe_timer, *silence_timer;
  enum publisher_state state;
  bool publishing; /* the first welcome has come */
  char key[KEY_TEXT_SIZE];
  struct frame_header header; /* sequence: of the last frame */
  struct buffer frame, message;
  int64_t heard_ns;       /* when the aggregator said something, or the last attempt to connect anew */
  int64_t read_ns;        /* when the message at hand was read */
  int64_t hello_ns;       /* the last hello of a session that was not known, */
  int64_t hello_pause_ns; /* and how long there is none after it */
  int64_t schemas_ns;     /* when a second began, */
  unsigned schemas;       /* and the schemas that were sent in it */
  struct prober prober;
  struct sampling_clock clock; /* cluster time, once it is known */
};

/* ---- the control channel ---- */

static int
publisher_write (struct publisher *publisher, const struct control *message)
{
  buffer_clear (&publisher->message);
  control_write (&publisher->message, message);
  if (link_agent_send (publisher->link, publisher->message.data, publisher->message.length) == 0)
    return 0;
  log_debug ("a message of type %d to the aggregator was dropped: its queue is full", (int) message->type);
  return -1;
}

/* What is of this session. */
static void
publisher_send (struct publisher *publisher, struct control *message)
{
  message->session = publisher->options.session;
  memcpy (message->schema_hash, publisher->schema->hash, sizeof message->schema_hash);
  publisher_write (publisher, message);
}

static void
publisher_tell_held (struct publisher *publisher, struct control *hello)
{
  struct control_held held[CONTROL_HELD_MAX + 1];
  size_t count = ring_sessions (publisher->options.ring, clock_monotonic (), held, CONTROL_HELD_MAX + 1);

  hello->first_sequence = publisher->header.sequence + 1;
  for (size_t i = 0; i < count; i++)
    if (held[i].session == publisher->options.session)
      hello->first_sequence = held[i].first;
    else if (hello->held_count < CONTROL_HELD_MAX)
      hello->held[hello->held_count++] = held[i];
}

static void
publisher_hello (struct publisher *publisher)
{
  struct control hello = { .type = CONTROL_HELLO,
                           .last_sequence = publisher->header.sequence,
                           .period_ns = sampling_shortest_period (publisher->sampling),
                           .version = SYNOP_VERSION };

  if (publisher->options.ring)
    publisher_tell_held (publisher, &hello);
  strcpy (hello.node, publisher->header.node);
  publisher_send (publisher, &hello);
}

/* An answer says that the aggregator does not know this session. */
static void
publisher_hello_again (struct publisher *publisher)
{
  int64_t pause = publisher->hello_pause_ns * 2;

  if (publisher->read_ns - publisher->hello_ns < publisher->hello_pause_ns)
    return;
  publisher->hello_ns = publisher->read_ns;
  publisher->hello_pause_ns = pause < HELLO_PAUSE_FIRST ? HELLO_PAUSE_FIRST
                              : pause > HELLO_PAUSE_MAX ? HELLO_PAUSE_MAX
                                                        : pause;
  publisher_hello (publisher);
}

/* It is known, or the connection is new. */
static void
publisher_settle_hello (struct publisher *publisher)
{
  if (publisher->hello_pause_ns > HELLO_PAUSE_FIRST)
    publisher->hello_pause_ns = HELLO_PAUSE_FIRST;
}

static void
publisher_send_schema (struct publisher *publisher)
{
  struct control schema = { .type = CONTROL_SCHEMA,
                            .schema = (const uint8_t *) publisher->schema->encoded.data,
                            .schema_length = publisher->schema->encoded.length };

  if (publisher->read_ns - publisher->schemas_ns >= NS_PER_S) {
    publisher->schemas_ns = publisher->read_ns;
    publisher->schemas = 0;
  }
  if (publisher->schemas == SCHEMAS_MAX)
    return; /* who misses it asks again */
  publisher->schemas++;
  publisher_send (publisher, &schema);
}

/* Nothing waits: a frame that does not fit the socket's queue ends the window before it. */
static void
publisher_replay (struct publisher *publisher, const struct control *request)
{
  struct control end = {
    .type = CONTROL_REPLAY_END, .session = request->session, .from = request->from, .to = request->to
  };
  struct ring_frame frame;
  uint64_t next = request->from;
  size_t bytes = 0;

  for (; publisher->options.ring && ring_next (publisher->options.ring, end.session, next, request->to, &frame);
       next = frame.sequence + 1) {
    struct control replayed = { .type = CONTROL_REPLAYED, .frame = frame.bytes, .frame_length = frame.length };

    if (frame.length > request->bytes)
      continue;
    bytes += frame.length;
    if (end.sent == request->frames || bytes > request->bytes || publisher_write (publisher, &replayed) < 0) {
      end.to = frame.sequence - 1;
      break;
    }
    end.sent++;
  }
  publisher_write (publisher, &end);
}

static void publisher_probe (void *context, int64_t due_ns);

static void
publisher_welcome (struct publisher *publisher, const struct control *welcome)
{
  int64_t first_ns;

  sampling_ask_facts (publisher->sampling);
  if (!welcome->known)
    publisher_send_schema (publisher);
  if (prober_runs (&publisher->prober) && publisher->read_ns - publisher->prober.first_ns < WELCOME_PAUSE)
    return;
  log_info ("%s %s: publishing node %s to aggregator %s", publisher->publishing ? "welcomed again by" : "welcomed by",
            publisher->options.endpoint, publisher->header.node, welcome->version);
  prober_start (&publisher->prober, publisher->read_ns);
  publisher_probe (publisher, publisher->read_ns);
  if (publisher->publishing)
    return;
  publisher->publishing = true;
  first_ns = sampling_next_instant (&publisher->clock, clock_monotonic () + CLOCK_LAG,
                                    sampling_shortest_period (publisher->sampling));
  sampling_start (publisher->sampling, first_ns);
  loop_timer_set (publisher->sample_timer, first_ns);
}

static void
publisher_answer (struct publisher *publisher, const struct control *answer)
{
  if (!prober_take (&publisher->prober, answer, publisher->read_ns))
    return;
  if (!answer->known) {
    publisher_hello_again (publisher);
    return;
  }
  publisher_settle_hello (publisher);
  loop_timer_set (publisher->probe_timer, publisher->prober.next_ns);
  if (!answer->has_clock)
    return;
  publisher->clock = (struct sampling_clock){ answer->clock.node_ns, answer->clock.cluster_ns, answer->clock.drift };
  if (!publisher->publishing)
    return;
  sampling_set_clock (publisher->sampling, &publisher->clock);
  loop_timer_set (publisher->sample_timer, sampling_next_due (publisher->sampling));
}

static void
publisher_message (struct publisher *publisher, const void *bytes, size_t length)
{
  struct control message;
  struct error error;
  int rc = control_read (bytes, length, &message, &error);

  publisher->heard_ns = publisher->read_ns;
  if (rc != 0) {
    log_debug ("a message of the aggregator is not understood: %s", rc < 0 ? error.text : "a type unknown here");
    return;
  }
  if (message.type == CONTROL_WELCOME && message.session == publisher->options.session)
    publisher_welcome (publisher, &message);
  else if (message.type == CONTROL_PROBE_ANSWER && message.session == publisher->options.session)
    publisher_answer (publisher, &message);
  else if (message.type == CONTROL_SCHEMA_REQUEST &&
           memcmp (message.schema_hash, publisher->schema->hash, SCHEMA_HASH_SIZE) == 0)
    publisher_send_schema (publisher);
  else if (message.type == CONTROL_REPLAY_REQUEST)
    publisher_replay (publisher, &message);
}

/* ---- the connection ---- */

/* libzmq tries again and again: only changes are told. */
static void
publisher_enter (struct publisher *publisher, enum publisher_state state)
{
  const char *endpoint = publisher->options.endpoint;

  if (publisher->state == state)
    return;
  if (state == STATE_UP)
    log_info ("connected to %s", endpoint);
  else if (state == STATE_REFUSED)
    log_warning ("the aggregator at %s does not admit this node's key, %s: let it in there with \"aggregator keys add "
                 "%s FILE\", where FILE is a copy of %s/agent.pub",
                 endpoint, publisher->key, publisher->header.node, publisher->options.keys);
  else if (publisher->state == STATE_NEW)
    log_warning ("no aggregator answers at %s; going on trying", endpoint);
  else
    log_warning ("lost the aggregator at %s: frames are kept until it is back", endpoint);
  publisher->state = state;
}

static void
publisher_event (struct publisher *publisher, const struct link_event *event)
{
  switch (event->type) {
  case LINK_UP:
    publisher_enter (publisher, STATE_UP);
    publisher->heard_ns = clock_monotonic ();
    publisher_settle_hello (publisher);
    publisher_hello (publisher);
    break;
  case LINK_DOWN:
    prober_stop (&publisher->prober);
    if (publisher->state == STATE_UP)
      publisher_enter (publisher, STATE_DOWN);
    break;
  case LINK_REFUSED:
    publisher_enter (publisher, STATE_REFUSED);
    break;
  case LINK_MESSAGE:
    publisher_message (publisher, event->bytes, event->length);
    break;
  }
}

static void
publisher_drain (struct publisher *publisher)
{
  struct link_event event;

  while (link_agent_next (publisher->link, &event)) {
    publisher->read_ns = clock_monotonic ();
    publisher_event (publisher, &event);
  }
}

static void
publisher_ready (void *context, uint32_t events)
{
  (void) events;
  publisher_drain (context);
}

/* ---- timers ---- */

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
              &(struct ring_frame){ header->session, header->sequence, frame->data, frame->length },
              clock_monotonic ());
  if (link_agent_publish (publisher->link, frame->data, frame->length) < 0)
    log_debug ("frame %" PRIu64 " was dropped: the queue is full", header->sequence);
}

static void
publisher_sample (void *context, int64_t due_ns)
{
  struct publisher *publisher = context;
  struct sample sample;

  (void) due_ns;
  sampling_run (publisher->sampling, clock_monotonic (), &sample);
  if (sample.count != 0)
    publisher_publish (publisher, &sample);
  loop_timer_set (publisher->sample_timer, sampling_next_due (publisher->sampling));
  publisher_drain (publisher);
  if (publisher->header.sequence == 1)
    footprint_settle ();
}

static void
publisher_probe (void *context, int64_t due_ns)
{
  struct publisher *publisher = context;
  struct control probe = { 0 };

  (void) due_ns;
  prober_send (&publisher->prober, clock_monotonic (), &probe);
  publisher_send (publisher, &probe);
  loop_timer_set (publisher->probe_timer, publisher->prober.next_ns);
}

static void
publisher_timed_probe (void *context, int64_t due_ns)
{
  publisher_probe (context, due_ns);
  publisher_drain (context); /* libzmq's fd speaks up only once */
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

/* Nodes that sample at one instant wait for what runs there at that instant: on busy machines for milliseconds, and on
 * idle ones for the threads that the last step of a sample wakes. The lowest real-time priority ends both. Only this
 * thread has it: those of libzmq and of lanes are reset. */
static void
publisher_hurry (void)
{
  struct sched_param parameter = { .sched_priority = sched_get_priority_min (SCHED_FIFO) };

  if (sched_setscheduler (0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameter) < 0)
    log_info ("samples are taken at the ordinary priority: %s", strerror (errno));
}

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
    publisher_hurry ();
  groups = sampling_groups (sampling, &count);
  publisher->schema = schema_create (groups, count);
  publisher->header.session = options->session;
  snprintf (publisher->header.node, sizeof publisher->header.node, "%s", options->node);
  memcpy (publisher->header.schema, publisher->schema->hash, SCHEMA_HASH_SIZE);
  prober_init (&publisher->prober, options->session);
  publisher->heard_ns = clock_monotonic ();

  publisher->sample_timer = loop_timer_add (loop, publisher_sample, publisher);
  publisher->probe_timer = loop_timer_add (loop, publisher_timed_probe, publisher);
  publisher->silence_timer = loop_timer_add (loop, publisher_silence, publisher);
  publisher->watch = loop_watch_add (loop, link_agent_fd (publisher->link), EPOLLIN, publisher_ready, publisher);
  loop_timer_set (publisher->silence_timer, publisher->heard_ns + SILENCE_LOOK);
  log_info ("node %s, key %s: connecting to %s", publisher->header.node, publisher->key, options->endpoint);
  footprint_settle ();
  publisher_drain (publisher);
  return publisher;
}

void
publisher_destroy (struct publisher *publisher)
{
  struct sched_param ordinary = { .sched_priority = 0 };

  if (!publisher)
    return;
  if (publisher->options.realtime)
    sched_setscheduler (0, SCHED_OTHER, &ordinary); /* the end is no matter of haste */
  loop_watch_remove (publisher->watch);
  loop_timer_remove (publisher->sample_timer);
  loop_timer_remove (publisher->probe_timer);
  loop_timer_remove (publisher->silence_timer);
  link_agent_destroy (publisher->link);
  schema_destroy (publisher->schema);
  buffer_free (&publisher->frame);
  buffer_free (&publisher->message);
  free (publisher);
}
