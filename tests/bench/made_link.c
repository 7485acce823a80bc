/* Stands in for the aggregator's end of the link (synop/link.h): thousands of made-up agents in the aggregator's own
 * process, without a socket. All else of the aggregator is as it is. Each node whose key is listed sends a hello, its
 * schema, clock probes, and a frame a second; frames of all come spread over a part of the second. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "agent/uplink/prober.h"
#include "synop/clock.h"
#include "synop/control.h"
#include "synop/link.h"
#include "synop/memory.h"
#include "tests/bench/made_cluster.h"

#define STEP (10 * NS_PER_MS)
#define SPREAD (200 * NS_PER_MS) /* of a second: all sample at its begin */
#define ROWS_MAX 4

struct made_agent {
  char node[FRAME_NODE_MAX + 1];
  unsigned index;
  uint64_t session, sequence;
  int64_t due_ns, behind_ns; /* the sample */
  bool greeted, owes_schema;
  struct prober prober;
  double counters[MADE_METRICS][ROWS_MAX];
};

struct link_server {
  struct link_server_options options;
  struct schema *schema;
  struct table tables[MADE_METRICS];
  const struct table *list[MADE_METRICS];
  size_t columns[MADE_METRICS];
  struct made_agent *agents;
  size_t count, at; /* whose turn it is */
  int fd;
  struct buffer message;
};

static void
add_agent (void *context, const char *node, const uint8_t key[KEY_SIZE])
{
  struct link_server *link = context;
  struct made_agent *agent = &link->agents[link->count++];

  (void) key;
  snprintf (agent->node, sizeof agent->node, "%s", node);
  agent->index = made_index (node);
  if (getrandom (&agent->session, sizeof agent->session, 0) < 0)
    abort ();
  agent->session |= 1;
  prober_init (&agent->prober, agent->session);
}

static void
begin (struct link_server *link)
{
  int64_t start_ns = clock_monotonic () + NS_PER_S - clock_wall () % NS_PER_S;
  struct itimerspec every = { { 0, STEP }, { 0, STEP } };

  for (size_t i = 0; i < link->count; i++) {
    link->agents[i].behind_ns = SPREAD * (int64_t) i / (int64_t) link->count;
    link->agents[i].due_ns = start_ns + link->agents[i].behind_ns;
  }
  for (size_t i = 0, tables = 0; i < MADE_METRICS; i++) {
    if (i == 0 || strcmp (made_metrics[i].group, made_metrics[i - 1].group) != 0) {
      table_init (&link->tables[tables], link->schema->groups[tables]);
      link->list[tables] = &link->tables[tables];
      tables++;
    }
    link->columns[i] = made_column (link->tables[tables - 1].group, made_metrics[i].metric);
  }
  timerfd_settime (link->fd, 0, &every, NULL);
}

struct link_server *
link_server_create (const struct link_server_options *options, struct error *error)
{
  struct link_server *link = memory_new (1, sizeof *link);

  (void) error;
  link->options = *options;
  link->schema = made_schema ();
  link->agents = memory_new (key_set_count (options->allowed) + 1, sizeof *link->agents);
  key_set_each (options->allowed, add_agent, link);
  link->fd = timerfd_create (CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  begin (link);
  return link;
}

void
link_server_destroy (struct link_server *link)
{
  if (link == NULL)
    return;
  close (link->fd);
  for (size_t i = 0; i < MADE_METRICS && link->list[i] != NULL; i++)
    table_free (&link->tables[i]);
  schema_destroy (link->schema);
  buffer_free (&link->message);
  free (link->agents);
  free (link);
}

const char *
link_server_endpoint (const struct link_server *link)
{
  (void) link;
  return "tcp://127.0.0.1:5555";
}

int
link_server_fd (const struct link_server *link)
{
  return link->fd;
}

/* ---- what an agent sends ---- */

static void
fill (struct link_message *message, const struct link_server *link, const struct made_agent *agent,
      enum link_channel channel, int64_t now_ns)
{
  uint32_t place = (uint32_t) (agent - link->agents);

  *message = (struct link_message){ .channel = channel, .received_ns = now_ns, .ready_ns = now_ns };
  strcpy (message->node, agent->node);
  memcpy (message->routing, &place, sizeof place);
  message->routing_length = sizeof place;
  message->bytes = memory_copy (link->message.data, link->message.length);
  message->length = link->message.length;
}

static void
write_control (struct link_server *link, const struct made_agent *agent, struct control *control)
{
  control->session = agent->session;
  strcpy (control->node, agent->node);
  memcpy (control->schema_hash, link->schema->hash, SCHEMA_HASH_SIZE);
  buffer_clear (&link->message);
  control_write (&link->message, control);
}

static void
hello (struct link_server *link, struct made_agent *agent)
{
  struct control control = { .type = CONTROL_HELLO, .period_ns = NS_PER_S, .version = "made" };

  agent->greeted = true;
  write_control (link, agent, &control);
}

static void
send_schema (struct link_server *link, struct made_agent *agent)
{
  struct control control = { .type = CONTROL_SCHEMA,
                             .schema = (const uint8_t *) link->schema->encoded.data,
                             .schema_length = link->schema->encoded.length };

  agent->owes_schema = false;
  write_control (link, agent, &control);
}

/* The answer comes at once. */
static void
probe (struct link_server *link, struct made_agent *agent)
{
  int64_t now_ns = clock_monotonic ();
  uint8_t bytes[LINK_ANSWER_NOW_MAX];
  struct control control, answer;
  struct error error;
  size_t length;

  prober_send (&agent->prober, now_ns, &control);
  control.type = CONTROL_PROBE;
  write_control (link, agent, &control);
  length = link->options.answer_now (link->options.answer_context, agent->node, link->message.data,
                                     link->message.length, clock_monotonic (), bytes);
  if (length > 0 && control_read (bytes, length, &answer, &error) == 0)
    prober_take (&agent->prober, &answer, clock_monotonic ());
}

static void
set_values (struct link_server *link, struct made_agent *agent, struct table *table, size_t metric, double seconds)
{
  const struct made_metric *made = &made_metrics[metric];
  size_t column = link->columns[metric];
  const struct metric *declared = &table->group->metrics[column];

  for (unsigned i = 0; i < (made->row ? made->rows : 1); i++) {
    double value = made_value (agent->index, metric, i, seconds);
    size_t row = made->row ? i : TABLE_NODE;
    if (declared->kind == COUNTER) {
      agent->counters[metric][i] += declared->flags & METRIC_SHARE ? value / 100 : value;
      value = agent->counters[metric][i];
    }
    table_set_uint (table, row, column, (uint64_t) (value * (declared->per ? declared->per : 1)));
  }
}

static void
frame (struct link_server *link, struct made_agent *agent, int64_t now_ns)
{
  struct frame_header header = { .session = agent->session,
                                 .sequence = ++agent->sequence,
                                 .monotonic_ns = agent->due_ns - agent->behind_ns };
  size_t count = 0;
  double seconds;

  header.wall_ns = clock_wall () - (now_ns - header.monotonic_ns);
  seconds = (double) header.wall_ns / 1e9;
  strcpy (header.node, agent->node);
  memcpy (header.schema, link->schema->hash, SCHEMA_HASH_SIZE);
  for (size_t i = 0; i < MADE_METRICS; i++) {
    if (i == 0 || strcmp (made_metrics[i].group, made_metrics[i - 1].group) != 0) {
      struct table *table = &link->tables[count++];
      table_begin (table);
      table->period_ns = NS_PER_S;
      for (unsigned row = 0; made_metrics[i].row && row < made_metrics[i].rows; row++) {
        char label[16];
        table_add_row (table, label, (size_t) snprintf (label, sizeof label, "%s%u", made_metrics[i].row, row));
      }
    }
    set_values (link, agent, &link->tables[count - 1], i, seconds);
  }
  buffer_clear (&link->message);
  frame_write (&link->message, &header, link->schema, link->list, count);
}

/* False: it has nothing to send now. */
static bool
next_message (struct link_server *link, struct made_agent *agent, int64_t now_ns, struct link_message *message)
{
  bool data = false;

  if (now_ns < agent->due_ns)
    return false;
  if (made_is_away (agent->index, (double) clock_wall () / 1e9)) {
    agent->due_ns += NS_PER_S;
    return false;
  }
  if (!agent->greeted) {
    hello (link, agent);
  } else if (agent->owes_schema) {
    send_schema (link, agent);
  } else if (prober_runs (&agent->prober) && now_ns >= agent->prober.next_ns) {
    probe (link, agent);
  } else {
    data = true;
    frame (link, agent, now_ns);
    while (agent->due_ns <= now_ns) /* seconds that this machine was too slow for are left out */
      agent->due_ns += NS_PER_S;
  }
  fill (message, link, agent, data ? LINK_DATA : LINK_CONTROL, now_ns);
  return true;
}

/* All nodes have their turn before one is asked again. */
size_t
link_server_take (struct link_server *link, struct link_message *messages, size_t max)
{
  int64_t now_ns = clock_monotonic ();
  size_t taken = 0, seen = 0;
  uint64_t expired;

  for (; taken < max && seen < link->count; seen++) {
    taken += next_message (link, &link->agents[link->at], now_ns, &messages[taken]);
    link->at = (link->at + 1) % link->count;
  }
  if (taken == 0 && read (link->fd, &expired, sizeof expired) < 0 && errno != EAGAIN)
    abort ();
  return taken;
}

void
link_server_release (struct link_server *link, struct link_message *message)
{
  (void) link;
  free (message->bytes);
}

int
link_server_send (struct link_server *link, const uint8_t *routing, size_t routing_length, const void *bytes,
                  size_t length)
{
  struct control control;
  struct made_agent *agent;
  struct error error;
  uint32_t place;

  if (routing_length != sizeof place || control_read (bytes, length, &control, &error) != 0)
    return -1;
  memcpy (&place, routing, sizeof place);
  agent = &link->agents[place];
  if (control.type == CONTROL_WELCOME) {
    agent->owes_schema = !control.known;
    prober_start (&agent->prober, clock_monotonic ());
  } else if (control.type == CONTROL_SCHEMA_REQUEST) {
    agent->owes_schema = true;
  }
  return 0;
}

/* ---- what this has none of ---- */

void
link_server_counts (const struct link_server *link, struct link_counts *counts)
{
  *counts = (struct link_counts){ .accepted = 2 * link->count, .connections = 2 * link->count };
}

uint64_t
link_server_over_limit (struct link_server *link, char node[65])
{
  (void) link;
  node[0] = '\0';
  return 0;
}

uint64_t
link_server_unlisted (struct link_server *link, char key[KEY_TEXT_SIZE], char address[LINK_ADDRESS_MAX])
{
  (void) link;
  key[0] = address[0] = '\0';
  return 0;
}
