/* The control channel: an agent's hello, schema, probe and replay messages, and the answers. */
#include <string.h>

#include "aggregator/core/cluster_private.h"
#include "synop/clock.h"
#include "synop/version.h"

#define PERIOD_MIN (10 * NS_PER_MS)
#define PERIOD_MAX (3600 * NS_PER_S)
#define FACTS_WAIT_FIRST NS_PER_S /* doubled each time */
#define FACTS_ASKED_MAX 5         /* a group may be switched off */

void
cluster_answer (struct cluster *cluster, const uint8_t *routing, size_t routing_length, const struct control *message)
{
  if (!cluster->options.output.answer)
    return;
  buffer_clear (&cluster->answer);
  control_write (&cluster->answer, message);
  cluster->options.output.answer (cluster->options.output.context, routing, routing_length, cluster->answer.data,
                                  cluster->answer.length);
}

static void
remember_hello (struct session *session, const struct cluster_message *message, const struct control *hello)
{
  int64_t period = hello->period_ns;

  if (!session->hello)
    session->base = hello->last_sequence;
  session->hello = true;
  session->hello_ns = message->received_ns;
  session->replays = hello->first_sequence != 0;
  session->period_ns = period < PERIOD_MIN ? PERIOD_MIN : period > PERIOD_MAX ? PERIOD_MAX : period;
  memcpy (session->version, hello->version, sizeof session->version);
  memcpy (session->routing, message->routing, message->routing_length);
  session->routing_length = message->routing_length;
}

static void
send_welcome (struct cluster *cluster, const struct session *session, bool known)
{
  struct control welcome = { .type = CONTROL_WELCOME,
                             .session = session->id,
                             .known = known,
                             .last_sequence = session->sequence,
                             .bytes = (uint32_t) cluster->options.frame_bytes_max };

  strcpy (welcome.version, SYNOP_VERSION);
  cluster_answer (cluster, session->routing, session->routing_length, &welcome);
}

/* Facts are all sent in the first frame: if one of them is there, the machine has no others. */
static bool
facts_are_missing (const struct node *node)
{
  const struct schema *schema = node->schema->schema;
  bool some = false;

  for (size_t i = 0; i < schema->group_count; i++)
    if (schema->groups[i]->flags & GROUP_ONCE) {
      if (node->groups[i])
        return false;
      some = true;
    }
  return some;
}

void
cluster_ask_facts (struct cluster *cluster, struct node *node, int64_t now_ns)
{
  struct session *session = &node->sessions[0];

  if (!session->routing_length || session->facts_asked == FACTS_ASKED_MAX || now_ns < session->facts_ask_ns)
    return;
  if (!facts_are_missing (node))
    return;
  if (session->facts_ask_ns) { /* not at the first frame: they may be on their way */
    session->facts_asked++;
    send_welcome (cluster, session, true);
  }
  session->facts_ask_ns = now_ns + (FACTS_WAIT_FIRST << session->facts_asked);
}

/* Answers to the agent, whose log is where its administrator looks. */
static void
refuse_name (struct cluster *cluster, const struct node *node, const struct cluster_message *message,
             const struct control *hello)
{
  struct control refusal = { .type = CONTROL_WRONG_NODE, .session = hello->session };

  strcpy (refusal.node, node->name);
  cluster_answer (cluster, message->routing, message->routing_length, &refusal);
}

static void
take_hello (struct cluster *cluster, struct node *node, const struct cluster_message *message,
            const struct control *hello, struct instant received)
{
  bool known = true; /* the agent need not send its schema: it is known, or was just requested from another node */
  struct session *session;
  struct error error;

  if (strcmp (hello->node, node->name) != 0) {
    error_set (&error, "a hello names node %s, its key is that of %s", hello->node, node->name);
    cluster_reject (cluster, node, REJECTED_WRONG_NODE, error.text, received);
    refuse_name (cluster, node, message, hello);
    return;
  }
  session = cluster_session (cluster, node, hello->session, received);
  if (session) {
    bool first = !session->hello;

    remember_hello (session, message, hello);
    cluster_hello_replay (cluster, node, hello, first,
                          received); /* before the schema of earlier frames may be replaced */
    cluster_report_clock (cluster, node);
    tick_expect (cluster->ticks, &node->tick, session->period_ns, cluster_time (cluster, received.monotonic_ns));
    if (!cluster_use_schema (cluster, node, hello->schema_hash)) {
      node->want.refused = false; /* the new connection may bring a valid schema */
      cluster_want_schema (cluster, node, hello->schema_hash);
      known = !cluster_ask_due (cluster, node, &node->want, received);
    }
  } else {
    session = node_session (node, hello->session);
    remember_hello (session, message, hello);
  }
  send_welcome (cluster, session, known);
}

/* ---- traces ---- */

int
cluster_request_trace (struct cluster *cluster, const char *name, const struct trace_request *request,
                       struct error *error)
{
  const struct node *node = cluster_find (cluster, name);
  struct control message = { .type = CONTROL_TRACE_REQUEST, .trace = *request };

  if (!node || node->state != NODE_UP || node->sessions[0].routing_length == 0)
    return error_set (error, "the node is %s", node ? node_state_name (node->state) : "not listed any more");
  if (request->start_ns && !cluster_node_time (cluster, node, request->start_ns, &message.trace.start_ns))
    return error_set (error, "the node's clock is not known yet");
  message.session = node->sessions[0].id;
  cluster_answer (cluster, node->sessions[0].routing, node->sessions[0].routing_length, &message);
  return 0;
}

static void
take_traced (struct cluster *cluster, const struct node *node, const struct control *message)
{
  if (cluster->options.output.traced && message->session == node->sessions[0].id)
    cluster->options.output.traced (cluster->options.output.context, node, &message->traced);
}

void
cluster_take_control (struct cluster *cluster, struct node *node, const struct cluster_message *message,
                      struct instant received)
{
  struct control control;
  struct error error;
  int result;

  cluster->counts.control++;
  result = control_read (message->bytes, message->length, &control, &error);
  if (result < 0 || message->routing_length > NODE_ROUTING_MAX) {
    cluster_reject (cluster, node, REJECTED_CONTROL, result < 0 ? error.text : "routing too long", received);
    return;
  }
  if (result == 0 && control.type == CONTROL_HELLO)
    take_hello (cluster, node, message, &control, received);
  else if (result == 0 && control.type == CONTROL_SCHEMA)
    cluster_take_schema (cluster, node, &control, received);
  else if (result == 0 && control.type == CONTROL_PROBE)
    cluster_take_probe (cluster, node, &control, received); /* the clock desk has already answered it */
  else if (result == 0 && control.type == CONTROL_REPLAYED)
    cluster_take_replayed (cluster, node, &control, received);
  else if (result == 0 && control.type == CONTROL_REPLAY_END)
    cluster_end_replay (cluster, node, &control, received);
  else if (result == 0 && control.type == CONTROL_TRACE_ANSWER)
    take_traced (cluster, node, &control);
  else
    cluster->counts.control_unknown++;
}
