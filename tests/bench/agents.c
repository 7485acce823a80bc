/* See agents.h. */
#include "tests/bench/agents.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zmq.h>

#include "agent/groups.h"
#include "agent/uplink/probe_schedule.h"
#include "synop/clock.h"
#include "synop/control.h"
#include "synop/link.h"
#include "synop/memory.h"
#include "tests/lib/options_for.h"

#define LISTEN_EVERY (50 * NS_PER_MS) /* without a probe that waits for its answer */
#define HEARTBEAT_MS 5000             /* these as in common/link/link_agent.c */
#define HEARTBEAT_TIMEOUT_MS 15000
#define QUEUE_FRAMES 300

/* ---- keys ---- */

int
agents_make_keys (const char *folder, unsigned count)
{
  uint8_t seed[BENCH_SEED_SIZE];
  char path[4096], name[32];
  struct error error;
  int fd;

  snprintf (path, sizeof path, "%s/sim.seed", folder);
  fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 || getrandom (seed, sizeof seed, 0) != sizeof seed || write (fd, seed, sizeof seed) != sizeof seed)
    bench_fail (path, strerror (errno));
  close (fd);
  for (unsigned i = 0; i < count; i++) {
    struct key_pair keys;

    bench_keys (&keys, seed, i);
    bench_node_name (name, sizeof name, i);
    snprintf (path, sizeof path, "%s/nodes/%s.pub", folder, name);
    if (key_public_write (path, keys.public_key, name, &error) < 0)
      bench_fail (path, error.text);
  }
  return 0;
}

/* ---- sockets ---- */

static void
set_int (void *socket, int option, int value)
{
  if (zmq_setsockopt (socket, option, &value, sizeof value) < 0)
    bench_fail ("zmq_setsockopt", zmq_strerror (zmq_errno ()));
}

static void *
open_socket (struct agents *agents, int type, const struct key_pair *keys, const uint8_t *server, const char *endpoint)
{
  void *socket = zmq_socket (agents->context, type);

  if (!socket)
    bench_fail ("zmq_socket", zmq_strerror (zmq_errno ()));
  zmq_setsockopt (socket, ZMQ_CURVE_SERVERKEY, server, KEY_SIZE);
  zmq_setsockopt (socket, ZMQ_CURVE_PUBLICKEY, keys->public_key, KEY_SIZE);
  zmq_setsockopt (socket, ZMQ_CURVE_SECRETKEY, keys->secret_key, KEY_SIZE);
  set_int (socket, ZMQ_LINGER, 0);
  set_int (socket, ZMQ_SNDHWM, QUEUE_FRAMES);
  set_int (socket, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS);
  set_int (socket, ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS);
  if (zmq_connect (socket, endpoint) < 0)
    bench_fail (endpoint, zmq_strerror (zmq_errno ()));
  return socket;
}

/* -1 when the socket takes no more. */
static int
send_control (struct agents *agents, struct agent *agent, struct control *message)
{
  message->session = agent->session;
  memcpy (message->schema_hash, agents->schema->hash, SCHEMA_HASH_SIZE);
  buffer_clear (&agents->message);
  control_write (&agents->message, message);
  return zmq_send (agent->control, agents->message.data, agents->message.length, ZMQ_DONTWAIT) < 0 ? -1 : 0;
}

static void
send_hello (struct agents *agents, struct agent *agent)
{
  struct control hello = { .type = CONTROL_HELLO,
                           .first_sequence = agents->options.ring,
                           .last_sequence = agent->sequence,
                           .period_ns = NS_PER_S,
                           .version = "bench" };

  strcpy (hello.node, agent->node);
  send_control (agents, agent, &hello);
}

static void
agent_open (struct agents *agents, struct agent *agent, unsigned index, const uint8_t *seed, const uint8_t *server)
{
  const struct agents_options *options = &agents->options;
  char control[LINK_ENDPOINT_MAX];
  struct key_pair keys;
  struct error error;

  bench_keys (&keys, seed, index);
  bench_node_name (agent->node, sizeof agent->node, index);
  getrandom (&agent->session, sizeof agent->session, 0);
  agent->session |= 1;
  agent->sequence = options->held;
  prober_init (&agent->prober, agent->session);
  agent->data = open_socket (agents, ZMQ_PUB, &keys, server, options->endpoint);
  agent->asked_facts = true;
  agent->welcomed = !options->full;
  if (!options->full)
    return;
  if (link_control_endpoint (options->endpoint, control, &error) < 0)
    bench_fail (options->endpoint, error.text);
  agent->control = open_socket (agents, ZMQ_DEALER, &keys, server, control);
  send_hello (agents, agent); /* goes when it is connected */
}

/* ---- frames ---- */

/* Into agents->frame. */
static void
make_frame (struct agents *agents, const struct agent *agent, uint64_t sequence, int64_t monotonic_ns,
            const struct table *const *tables, size_t count)
{
  struct frame_header header = {
    .session = agent->session, .sequence = sequence, .monotonic_ns = monotonic_ns, .wall_ns = clock_wall ()
  };

  strcpy (header.node, agent->node);
  memcpy (header.schema, agents->schema->hash, SCHEMA_HASH_SIZE);
  buffer_clear (&agents->frame);
  frame_write (&agents->frame, &header, agents->schema, tables, count);
}

/* The tables that a frame carries: the facts only when they were asked for. */
static size_t
choose_tables (const struct agents *agents, bool facts, const struct table **tables)
{
  size_t count = 0;

  for (size_t i = 0; i < agents->sample.count; i++)
    if (facts || !(agents->sample.tables[i]->group->flags & GROUP_ONCE))
      tables[count++] = agents->sample.tables[i];
  return count;
}

static void
agent_publish (struct agents *agents, struct agent *agent)
{
  const struct table *tables[SCHEMA_GROUPS_MAX];
  size_t count = choose_tables (agents, agent->asked_facts, tables);
  int64_t now_ns = clock_monotonic ();

  agent->sequence++;
  make_frame (agents, agent, agent->sequence, agents->options.together ? agents->sampled_ns : now_ns, tables, count);
  agent->asked_facts = false;
  atomic_store (&agent->sent_ns[agent->sequence % AGENT_SENT], now_ns);
  if (zmq_send (agent->data, agents->frame.data, agents->frame.length, ZMQ_DONTWAIT) < 0)
    agents->dropped++;
  agents->publishing += !agent->publishing;
  agent->publishing = true;
  agents->frames++;
  agents->bytes += agents->frame.length;
}

/* Frames of before the start are of a second each. */
static int64_t
time_of (const struct agents *agents, struct agent *agent, uint64_t sequence)
{
  if (sequence > agents->options.held)
    return atomic_load (&agent->sent_ns[sequence % AGENT_SENT]);
  return agents->begun_ns - (int64_t) (agents->options.held + 1 - sequence) * NS_PER_S;
}

/* The ring: what is asked for is made again. */
static void
agent_replay (struct agents *agents, struct agent *agent, const struct control *request)
{
  struct control end = { .type = CONTROL_REPLAY_END, .from = request->from, .to = request->to };
  const struct table *tables[SCHEMA_GROUPS_MAX];
  size_t count = choose_tables (agents, false, tables), bytes = 0;
  uint64_t last = request->to < agent->sequence ? request->to : agent->sequence;

  for (uint64_t i = request->from; i <= last; i++) {
    struct control replayed = { .type = CONTROL_REPLAYED };
    make_frame (agents, agent, i, time_of (agents, agent, i), tables, count);
    bytes += agents->frame.length;
    replayed.frame = (const uint8_t *) agents->frame.data;
    replayed.frame_length = agents->frame.length;
    if (end.sent == request->frames || bytes > request->bytes || send_control (agents, agent, &replayed) < 0) {
      end.to = i - 1;
      break;
    }
    end.sent++;
  }
  agents->replayed += end.sent;
  send_control (agents, agent, &end);
}

/* ---- an agent's second ---- */

static void
agent_message (struct agents *agents, struct agent *agent, const void *bytes, size_t length, int64_t now_ns)
{
  struct control schema = { .type = CONTROL_SCHEMA,
                            .schema = (const uint8_t *) agents->schema->encoded.data,
                            .schema_length = agents->schema->encoded.length };
  struct control message;
  struct error error;

  if (control_read (bytes, length, &message, &error) != 0)
    return;
  if (message.type == CONTROL_WELCOME) {
    agent->welcomed = agent->asked_facts = true;
    if (!message.known)
      send_control (agents, agent, &schema);
    prober_start (&agent->prober, now_ns);
  } else if (message.type == CONTROL_PROBE_ANSWER) {
    prober_take (&agent->prober, &message, now_ns);
    if (!message.known)
      send_hello (agents, agent);
  } else if (message.type == CONTROL_SCHEMA_REQUEST) {
    send_control (agents, agent, &schema);
  } else if (message.type == CONTROL_REPLAY_REQUEST && message.session == agent->session) {
    agent_replay (agents, agent, &message);
  }
}

static void
agent_listen (struct agents *agents, struct agent *agent, int64_t now_ns)
{
  struct control probe;
  zmq_msg_t message;

  if (agent->prober.t1 != 0 || now_ns >= agent->listen_ns) {
    agent->listen_ns = now_ns + LISTEN_EVERY;
    zmq_msg_init (&message);
    while (zmq_msg_recv (&message, agent->control, ZMQ_DONTWAIT) >= 0)
      agent_message (agents, agent, zmq_msg_data (&message), zmq_msg_size (&message), clock_monotonic ());
    zmq_msg_close (&message);
  }
  if (now_ns >= agent->prober.next_ns) {
    prober_send (&agent->prober, clock_monotonic (), &probe);
    if (agent->prober.sent == PROBE_BURST) /* from then on as after ten minutes, each at a time of its own */
      agent->prober.next_ns = now_ns + PROBE_REST_NS / agents->options.count * (1 + (agent - agents->list));
    else if (agent->prober.sent > PROBE_BURST)
      agent->prober.next_ns = now_ns + PROBE_REST_NS;
    send_control (agents, agent, &probe);
  }
}

static void
sample_machine (struct agents *agents, int64_t now_ns)
{
  bool facts = false;

  for (unsigned i = 0; i < agents->options.count && !facts; i++)
    facts = agents->list[i].asked_facts;
  if (facts)
    sampling_ask_facts (agents->sampling);
  sampling_start (agents->sampling, now_ns);
  sampling_run (agents->sampling, now_ns, &agents->sample);
  agents->sampled_ns = now_ns;
}

static void
prepare (struct agents *agents)
{
  struct rlimit limit;
  const struct group *const *groups;
  size_t group_count;

  if (getrlimit (RLIMIT_NOFILE, &limit) == 0) { /* an agent takes four descriptors */
    limit.rlim_cur = limit.rlim_max;
    setrlimit (RLIMIT_NOFILE, &limit);
  }
  agents->context = zmq_ctx_new ();
  zmq_ctx_set (agents->context, ZMQ_MAX_SOCKETS, (int) agents->options.count * 2 + 16);
  agents->node = options_for ("", "%s", "");
  agents->sampling = sampling_create (samplers, agents->node->periods_ns, sampler_count, &agents->node->context);
  groups = sampling_groups (agents->sampling, &group_count);
  agents->schema = schema_create (groups, group_count);
}

void
agents_open (struct agents *agents, const struct agents_options *options)
{
  uint8_t seed[BENCH_SEED_SIZE], server[KEY_SIZE];
  struct error error;
  char path[4096];
  int64_t start_ns;

  *agents = (struct agents){ .options = *options, .begun_ns = clock_monotonic () };
  bench_seed_read (options->folder, seed);
  snprintf (path, sizeof path, "%s/aggregator.pub", options->folder);
  if (key_public_read (path, server, &error) < 0)
    bench_fail (path, error.text);
  prepare (agents);
  agents->list = memory_new (options->count, sizeof *agents->list);
  for (unsigned i = 0; i < options->count; i++)
    agent_open (agents, &agents->list[i], i, seed, server);
  start_ns = clock_monotonic ();
  start_ns += NS_PER_S - clock_wall () % NS_PER_S; /* whole seconds of cluster time, which is this host's */
  for (unsigned i = 0; i < options->count; i++)
    agents->list[i].due_ns = start_ns + (options->together ? 0 : NS_PER_S * i / options->count);
}

void
agents_step (struct agents *agents, int64_t now_ns)
{
  if (now_ns >= agents->list[0].due_ns)
    sample_machine (agents, now_ns);
  for (unsigned i = 0; i < agents->options.count; i++) {
    struct agent *agent = &agents->list[i];

    if (agent->control)
      agent_listen (agents, agent, now_ns);
    if (now_ns < agent->due_ns)
      continue;
    if (agent->welcomed)
      agent_publish (agents, agent);
    while (agent->due_ns <= now_ns) /* seconds that this machine was too slow for are left out */
      agent->due_ns += NS_PER_S;
  }
}

bool
agents_wait (int64_t due_ns, void *context, void (*command) (void *context, const char *line))
{
  struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

  for (;;) {
    int64_t left = due_ns - clock_monotonic ();
    struct timespec time = { .tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S };
    char line[256];
    ssize_t got;

    if (left <= 0)
      time = (struct timespec){ 0 };
    if (ppoll (&input, 1, &time, NULL) <= 0)
      return true;
    got = read (STDIN_FILENO, line, sizeof line - 1);
    if (got <= 0)
      return false;
    line[got] = '\0';
    command (context, line);
  }
}
