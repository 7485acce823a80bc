/* The publisher's protocol with the aggregator on the control channel:
 *
 *   connection up     -> hello, which lists what the ring holds
 *   welcome           -> a burst of probes; the facts go with the next frame
 *   schema request    -> schema: of the current samples, or of frames in the ring; else one without bytes
 *   trace request     -> trace answers, from whom publisher_options.trace names
 *   wrong node        -> nothing: an operator has to correct it
 *   replay request    -> frames that the ring holds, no more than requested, and the end
 *   probe answer      -> cluster time, on whose multiples samples are taken from then on; hello again, if it says that the
 *                        aggregator does not know this session
 *
 * Whatever the aggregator sends, and however often, the answers are bounded: two programs that answer each other at once
 * never end, and two agents with one key are such a case, as the aggregator never knows one of them. Received messages are
 * bounded too, since the thread is that of the samples: some at once, then a pause; meanwhile others fill libzmq's queue,
 * and then the aggregator's own. An answer to a replay request ends early when it takes long, which the protocol permits,
 * and all of them together have a part of the time. Frames of the ring that are on a disk and not in memory are read by a
 * thread: the answer waits for it, the samples do not. */
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>

#include "agent/uplink/publisher_private.h"
#include "synop/clock.h"
#include "synop/control.h"
#include "synop/log.h"
#include "synop/version.h"

/* Time for two probes, so that the first frame is sampled on cluster time already. */
#define CLOCK_LAG (300 * NS_PER_MS)

#define HELLO_PAUSE_FIRST NS_PER_S /* between hellos while the session is not known, doubled each time */
#define HELLO_PAUSE_MAX (30 * NS_PER_S)
#define WELCOME_PAUSE NS_PER_S        /* between two welcomes that start a burst of probes */
#define SCHEMAS_MAX 4                 /* in a second */
#define EVENTS_MAX 32                 /* events handled at once, */
#define EVENTS_PAUSE (10 * NS_PER_MS) /* and the pause after them */
#define REPLAY_FRAMES_MAX 64          /* in one answer, */
#define REPLAY_BYTES_MAX (256 * 1024)
#define REPLAY_TIME (2 * NS_PER_MS)
#define REPLAY_PART 20 /* answers may take one in so many parts of the time */
#define REPLAY_PAUSE_LEAST NS_PER_MS
#define REPLAY_READING (10 * NS_PER_MS) /* until the next check whether a frame was read */
#define LOG_PERIOD (60 * NS_PER_S)      /* between log lines about requests that an aggregator may send at any rate */

/* ---- sending ---- */

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

/* Sends a message of this session. */
static void
publisher_send (struct publisher *publisher, struct control *message)
{
  message->session = publisher->options.session;
  memcpy (message->schema_hash, publisher->schema->hash, sizeof message->schema_hash);
  publisher_write (publisher, message);
}

static void
publisher_add_held (struct publisher *publisher, struct control *hello)
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

void
publisher_hello (struct publisher *publisher)
{
  struct control hello = { .type = CONTROL_HELLO,
                           .last_sequence = publisher->header.sequence,
                           .period_ns = sampling_shortest_period (publisher->sampling),
                           .version = SYNOP_VERSION };

  if (publisher->options.ring)
    publisher_add_held (publisher, &hello);
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

/* The session is known, or the connection is new. */
static void
publisher_settle_hello (struct publisher *publisher)
{
  if (publisher->hello_pause_ns > HELLO_PAUSE_FIRST)
    publisher->hello_pause_ns = HELLO_PAUSE_FIRST;
}

static void
publisher_send_schema (struct publisher *publisher, const uint8_t hash[SCHEMA_HASH_SIZE])
{
  const struct schema *current = publisher->schema;
  struct control schema = { .type = CONTROL_SCHEMA };
  const void *bytes = "";

  if (memcmp (hash, current->hash, SCHEMA_HASH_SIZE) == 0) {
    bytes = current->encoded.data;
    schema.schema_length = current->encoded.length;
  } else if (publisher->options.ring && ring_schema (publisher->options.ring, hash, &bytes, &schema.schema_length)) {
    if (!bytes)
      return; /* it is being read: the next request gets it */
  }
  schema.schema = bytes;
  memcpy (schema.schema_hash, hash, SCHEMA_HASH_SIZE);
  if (publisher->read_ns - publisher->schemas_ns >= NS_PER_S) {
    publisher->schemas_ns = publisher->read_ns;
    publisher->schemas = 0;
  }
  if (publisher->schemas == SCHEMAS_MAX)
    return; /* the aggregator repeats its request */
  publisher->schemas++;
  publisher_write (publisher, &schema);
}

static bool
logged_lately (int64_t *logged_ns)
{
  int64_t now_ns = clock_monotonic ();

  if (*logged_ns && now_ns - *logged_ns < LOG_PERIOD)
    return true;
  *logged_ns = now_ns;
  return false;
}

/* Never blocks: a frame that does not fit the socket's queue, or is still on the disk, ends the window before it, and the
 * aggregator requests the rest again. False: the first frame is being read, nothing was sent yet. */
static bool
publisher_replay (struct publisher *publisher)
{
  struct replay_request *request = &publisher->replay;
  struct control end = {
    .type = CONTROL_REPLAY_END, .session = request->session, .from = request->from, .to = request->to
  };
  struct ring_frame frame;
  uint64_t next = request->next;
  int64_t begun_ns = clock_monotonic ();
  size_t bytes = 0, bytes_max = request->bytes < REPLAY_BYTES_MAX ? request->bytes : REPLAY_BYTES_MAX;

  for (; publisher->options.ring &&
         ring_next (publisher->options.ring, end.session, next, request->to, request->bytes, &frame);
       next = frame.sequence + 1) {
    struct control replayed = { .type = CONTROL_REPLAYED, .frame = frame.bytes, .frame_length = frame.length };
    bool enough = !frame.bytes || end.sent == REPLAY_FRAMES_MAX ||
                  (end.sent && (bytes + frame.length > bytes_max || clock_monotonic () - begun_ns > REPLAY_TIME));

    if (!frame.bytes && end.sent == 0) {
      request->next = frame.sequence;
      return false;
    }
    if (enough || end.sent == request->frames || publisher_write (publisher, &replayed) < 0) {
      end.to = frame.sequence - 1;
      break;
    }
    bytes += frame.length;
    end.sent++;
  }
  publisher_write (publisher, &end);
  return true;
}

/* Answers the pending request, unless the pause after the last answers is not over. */
static void
publisher_replay_if_due (struct publisher *publisher)
{
  int64_t begun_ns = clock_monotonic (), pause_ns;

  if (!publisher->replay.waits)
    return;
  if (begun_ns < publisher->replay_ns) {
    loop_timer_set (publisher->control_timer, publisher->replay_ns);
    return;
  }
  if (!publisher_replay (publisher)) {
    publisher->replay_ns = clock_monotonic () + REPLAY_READING;
    loop_timer_set (publisher->control_timer, publisher->replay_ns);
    return;
  }
  publisher->replay.waits = false;
  pause_ns = (clock_monotonic () - begun_ns) * REPLAY_PART;
  publisher->replay_ns = clock_monotonic () + (pause_ns > REPLAY_PAUSE_LEAST ? pause_ns : REPLAY_PAUSE_LEAST);
}

/* An aggregator sends its next request when it was answered: of several pending ones the last counts. */
static void
publisher_take_request (struct publisher *publisher, const struct control *request)
{
  publisher->replays_lost += publisher->replay.waits;
  publisher->replay = (struct replay_request){ true,          request->session, request->from, request->to,
                                               request->from, request->frames,  request->bytes };
  if (publisher->replays_lost && !logged_lately (&publisher->replays_lost_ns)) {
    log_warning ("%s requests earlier frames faster than it is answered: %" PRIu64 " requests were dropped",
                 publisher->endpoint, publisher->replays_lost);
    publisher->replays_lost = 0;
  }
  publisher_replay_if_due (publisher);
}

void
publisher_send_traced (struct publisher *publisher, const struct trace_answer *answer)
{
  struct control message = { .type = CONTROL_TRACE_ANSWER, .traced = *answer };

  publisher_send (publisher, &message);
}

void
publisher_probe (struct publisher *publisher, int64_t now_ns)
{
  struct control probe = { 0 };

  prober_send (&publisher->prober, now_ns, &probe);
  publisher_send (publisher, &probe);
  loop_timer_set (publisher->probe_timer, publisher->prober.next_ns);
}

/* ---- receiving ---- */

static void
publisher_welcome (struct publisher *publisher, const struct control *welcome)
{
  sampling_ask_facts (publisher->sampling);
  publisher->frame_bytes_max = welcome->bytes == 0                  ? FRAME_BYTES_DEFAULT
                               : welcome->bytes < FRAME_BYTES_LEAST ? FRAME_BYTES_LEAST
                               : welcome->bytes > FRAME_BYTES_MAX   ? FRAME_BYTES_MAX
                                                                    : welcome->bytes;
  if (!welcome->known)
    publisher_send_schema (publisher, publisher->schema->hash);
  if (prober_runs (&publisher->prober) && publisher->read_ns - publisher->prober.first_ns < WELCOME_PAUSE)
    return;
  log_info ("%s %s: publishing node %s to aggregator %s", publisher->welcomed ? "welcomed again by" : "welcomed by",
            publisher->endpoint, publisher->header.node, welcome->version);
  publisher->unsettled |= !publisher->welcomed;
  publisher->welcomed = true;
  prober_start (&publisher->prober, publisher->read_ns);
  publisher_probe (publisher, publisher->read_ns);
  publisher_begin (publisher, clock_monotonic () + CLOCK_LAG);
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
  if (!publisher->begun)
    return;
  sampling_set_clock (publisher->sampling, &publisher->clock);
  loop_timer_set (publisher->sample_timer, sampling_next_due (publisher->sampling));
}

/* The hello was refused. */
static void
publisher_misnamed (struct publisher *publisher, const char *name)
{
  if (!logged_lately (&publisher->misnamed_ns))
    log_warning ("the aggregator at %s refuses node %s: this key, %s, is listed there for node %s; give --node %s, "
                 "or revoke the key there and add it as %s",
                 publisher->endpoint, publisher->header.node, publisher->key, name, name, publisher->header.node);
  publisher_enter (publisher, STATE_MISNAMED);
}

static void
publisher_take_trace (struct publisher *publisher, const struct trace_request *request)
{
  if (publisher->options.trace)
    publisher->options.trace (publisher->options.trace_context, request);
}

static void
publisher_message (struct publisher *publisher, const void *bytes, size_t length)
{
  struct control message;
  struct error error;
  int rc = control_read (bytes, length, &message, &error);

  publisher->received_ns = publisher->read_ns;
  if (rc != 0) {
    log_debug ("a message of the aggregator is not understood: %s", rc < 0 ? error.text : "a type unknown here");
    return;
  }
  if (message.type == CONTROL_WELCOME && message.session == publisher->options.session)
    publisher_welcome (publisher, &message);
  else if (message.type == CONTROL_PROBE_ANSWER && message.session == publisher->options.session)
    publisher_answer (publisher, &message);
  else if (message.type == CONTROL_SCHEMA_REQUEST)
    publisher_send_schema (publisher, message.schema_hash);
  else if (message.type == CONTROL_WRONG_NODE && message.session == publisher->options.session)
    publisher_misnamed (publisher, message.node);
  else if (message.type == CONTROL_TRACE_REQUEST && message.session == publisher->options.session)
    publisher_take_trace (publisher, &message.trace);
  else if (message.type == CONTROL_REPLAY_REQUEST)
    publisher_take_request (publisher, &message);
}

/* ---- the connection ---- */

void
publisher_notify_status (struct publisher *publisher)
{
  notify_status (publisher->options.notify,
                 publisher->state == STATE_NEW          ? "node %s, connecting to %s"
                 : publisher->state == STATE_UP         ? "node %s, connected to %s"
                 : publisher->state == STATE_REFUSED    ? "node %s, its key is not admitted by %s"
                 : publisher->state == STATE_OVER_LIMIT ? "node %s, whose key has too many connections to %s"
                 : publisher->state == STATE_MISNAMED   ? "node %s, its key is another node's at %s"
                                                        : "node %s, without an answer from %s",
                 publisher->header.node, publisher->endpoint);
}

/* libzmq retries forever: only changes are logged. */
void
publisher_enter (struct publisher *publisher, enum publisher_state state)
{
  const char *endpoint = publisher->endpoint;

  if (publisher->state == state)
    return;
  if (state == STATE_UP)
    log_info ("connected to %s", endpoint);
  else if (state == STATE_REFUSED)
    log_warning ("the aggregator at %s does not admit this node's key, %s: either it is not listed there; let it in "
                 "with \"synop-aggregator keys add %s FILE\", where FILE is a copy of %s/agent.pub; or "
                 "%s/aggregator.pub is the key of another aggregator",
                 endpoint, publisher->key, publisher->header.node, publisher->keys, publisher->keys);
  else if (state == STATE_OVER_LIMIT)
    log_warning ("the aggregator at %s lists this node's key, %s, but has as many connections of it as a key may have: "
                 "other agents use the same key, or earlier connections have not ended yet; retrying",
                 endpoint, publisher->key);
  else if (state == STATE_MISNAMED)
    log_debug ("%s refuses the node's name", endpoint); /* which was logged */
  else if (publisher->state == STATE_NEW && link_agent_nameless (publisher->link))
    log_warning ("the host's name in %s cannot be resolved: is it spelled right? Retrying", endpoint);
  else if (publisher->state == STATE_NEW)
    log_warning ("no aggregator answers at %s; retrying", endpoint);
  else
    log_warning ("lost the aggregator at %s: frames are kept until it is back", endpoint);
  publisher->state = state;
  publisher_notify_status (publisher);
}

static void
publisher_event (struct publisher *publisher, const struct link_event *event)
{
  switch (event->type) {
  case LINK_UP:
    publisher_enter (publisher, STATE_UP);
    publisher->received_ns = clock_monotonic ();
    publisher->replay.waits = false; /* it was of the last connection */
    publisher_settle_hello (publisher);
    publisher_hello (publisher);
    break;
  case LINK_DOWN:
    prober_stop (&publisher->prober);
    if (publisher->state == STATE_UP || publisher->state == STATE_MISNAMED)
      publisher_enter (publisher, STATE_DOWN);
    break;
  case LINK_REFUSED:
    publisher_enter (publisher, STATE_REFUSED);
    break;
  case LINK_OVER_LIMIT:
    prober_stop (&publisher->prober);
    publisher_enter (publisher, STATE_OVER_LIMIT);
    break;
  case LINK_MESSAGE:
    publisher_message (publisher, event->bytes, event->length);
    break;
  }
}

void
publisher_drain (struct publisher *publisher)
{
  struct link_event event;

  for (unsigned events = 0; !publisher->paused && link_agent_next (publisher->link, &event);) {
    publisher->read_ns = clock_monotonic ();
    publisher_event (publisher, &event);
    if (++events < EVENTS_MAX)
      continue;
    publisher->paused = true;
    loop_watch_change (publisher->watch, 0);
    loop_timer_set (publisher->control_timer, clock_monotonic () + EVENTS_PAUSE);
  }
}

void
publisher_resume (void *context, int64_t due_ns)
{
  struct publisher *publisher = context;

  (void) due_ns;
  if (publisher->paused)
    loop_watch_change (publisher->watch, EPOLLIN);
  publisher->paused = false;
  publisher_replay_if_due (publisher);
  publisher_drain (publisher);
}
