/* Many agents in one process: each has a CURVE key, a PUB and a DEALER of its own, says hello, sends its schema, probes
 * the clock, and publishes one frame a second, as a real one does. What they publish is what this machine's samplers
 * find, sampled once a second.
 *
 *   bench_load keys FOLDER COUNT                                        FOLDER/nodes/simN.pub and FOLDER/sim.seed
 *   bench_load run FOLDER COUNT ENDPOINT spread|together full|data      FOLDER is that of the aggregator's keys
 *
 * together: all at whole seconds of cluster time, as nodes do that know it; spread: evenly over the second, the most
 * work for a receiver. data: without the control channel, for a bare receiver. Each line on standard input is answered by a JSON object of what was done so
 * far; its end ends the program. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zmq.h>

#include "agent/probe_schedule.h"
#include "agent/prober.h"
#include "agent/sampler.h"
#include "agent/sampling.h"
#include "synop/clock.h"
#include "synop/control.h"
#include "synop/frame.h"
#include "synop/link.h"
#include "synop/memory.h"
#include "tests/bench/bench_keys.h"

#define STEP (1 * NS_PER_MS)
#define LISTEN_EVERY (100 * NS_PER_MS) /* without a probe that waits for its answer */
#define HEARTBEAT_MS 5000              /* these as in common/link_agent.c */
#define HEARTBEAT_TIMEOUT_MS 15000
#define QUEUE_FRAMES 300

struct agent {
  char node[FRAME_NODE_MAX + 1];
  uint64_t session, sequence;
  void *data, *control; /* control: NULL when there is none */
  int64_t due_ns, listen_ns;
  struct prober prober;
  bool welcomed, asked_facts;
};

struct load {
  void *context;
  struct agent *agents;
  unsigned count;
  bool together;
  struct sampling *sampling;
  struct schema *schema;
  struct sample sample;
  int64_t sampled_ns;
  struct buffer frame, message;
  uint64_t frames, bytes, dropped;
  unsigned publishing;
};

/* ---- keys ---- */

static int
make_keys (const char *folder, unsigned count)
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
open_socket (struct load *load, int type, const struct key_pair *keys, const uint8_t *server, const char *endpoint)
{
  void *socket = zmq_socket (load->context, type);

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

static void
send_control (struct load *load, struct agent *agent, struct control *message)
{
  message->session = agent->session;
  memcpy (message->schema_hash, load->schema->hash, SCHEMA_HASH_SIZE);
  buffer_clear (&load->message);
  control_write (&load->message, message);
  zmq_send (agent->control, load->message.data, load->message.length, ZMQ_DONTWAIT);
}

static void
send_hello (struct load *load, struct agent *agent)
{
  struct control hello = {
    .type = CONTROL_HELLO, .last_sequence = agent->sequence, .period_ns = NS_PER_S, .version = "bench"
  };

  strcpy (hello.node, agent->node);
  send_control (load, agent, &hello);
}

static void
agent_open (struct load *load, unsigned index, const uint8_t *seed, const uint8_t *server, const char *endpoint,
            bool full)
{
  struct agent *agent = &load->agents[index];
  char control[LINK_ENDPOINT_MAX];
  struct key_pair keys;
  struct error error;

  bench_keys (&keys, seed, index);
  bench_node_name (agent->node, sizeof agent->node, index);
  getrandom (&agent->session, sizeof agent->session, 0);
  agent->session |= 1;
  prober_init (&agent->prober, agent->session);
  agent->data = open_socket (load, ZMQ_PUB, &keys, server, endpoint);
  agent->asked_facts = true;
  agent->welcomed = !full;
  if (!full)
    return;
  if (link_control_endpoint (endpoint, control, &error) < 0)
    bench_fail (endpoint, error.text);
  agent->control = open_socket (load, ZMQ_DEALER, &keys, server, control);
  send_hello (load, agent); /* goes when it is connected */
}

/* ---- an agent's second ---- */

static void
agent_message (struct load *load, struct agent *agent, const void *bytes, size_t length, int64_t now_ns)
{
  struct control schema = { .type = CONTROL_SCHEMA,
                            .schema = (const uint8_t *) load->schema->encoded.data,
                            .schema_length = load->schema->encoded.length };
  struct control message;
  struct error error;

  if (control_read (bytes, length, &message, &error) != 0)
    return;
  if (message.type == CONTROL_WELCOME) {
    agent->welcomed = agent->asked_facts = true;
    if (!message.known)
      send_control (load, agent, &schema);
    prober_start (&agent->prober, now_ns);
  } else if (message.type == CONTROL_PROBE_ANSWER) {
    prober_take (&agent->prober, &message, now_ns);
    if (!message.known)
      send_hello (load, agent);
  } else if (message.type == CONTROL_SCHEMA_REQUEST) {
    send_control (load, agent, &schema);
  }
}

static void
agent_listen (struct load *load, struct agent *agent, int64_t now_ns)
{
  struct control probe;
  zmq_msg_t message;

  if (agent->prober.t1 != 0 || now_ns >= agent->listen_ns) {
    agent->listen_ns = now_ns + LISTEN_EVERY;
    zmq_msg_init (&message);
    while (zmq_msg_recv (&message, agent->control, ZMQ_DONTWAIT) >= 0)
      agent_message (load, agent, zmq_msg_data (&message), zmq_msg_size (&message), clock_monotonic ());
    zmq_msg_close (&message);
  }
  if (now_ns >= agent->prober.next_ns) {
    prober_send (&agent->prober, clock_monotonic (), &probe);
    if (agent->prober.sent == PROBE_BURST) /* from then on as after ten minutes, each at a time of its own */
      agent->prober.next_ns = now_ns + PROBE_REST_NS / load->count * (1 + (agent - load->agents));
    else if (agent->prober.sent > PROBE_BURST)
      agent->prober.next_ns = now_ns + PROBE_REST_NS;
    send_control (load, agent, &probe);
  }
}

/* The tables that this frame carries: the facts only when they were asked for. */
static size_t
choose_tables (const struct load *load, struct agent *agent, const struct table **tables)
{
  bool facts = agent->asked_facts;
  size_t count = 0;

  for (size_t i = 0; i < load->sample.count; i++) {
    bool once = load->sample.tables[i]->group->flags & GROUP_ONCE;

    if (once && facts)
      agent->asked_facts = false;
    if (!once || facts)
      tables[count++] = load->sample.tables[i];
  }
  return count;
}

static void
agent_publish (struct load *load, struct agent *agent)
{
  struct frame_header header = { .session = agent->session,
                                 .sequence = ++agent->sequence,
                                 .monotonic_ns = load->together ? load->sampled_ns : clock_monotonic (),
                                 .wall_ns = clock_wall () };
  const struct table *tables[SCHEMA_GROUPS_MAX];
  size_t count = choose_tables (load, agent, tables);

  strcpy (header.node, agent->node);
  memcpy (header.schema, load->schema->hash, SCHEMA_HASH_SIZE);
  buffer_clear (&load->frame);
  frame_write (&load->frame, &header, load->schema, tables, count);
  if (zmq_send (agent->data, load->frame.data, load->frame.length, ZMQ_DONTWAIT) < 0)
    load->dropped++;
  load->publishing += agent->sequence == 1;
  load->frames++;
  load->bytes += load->frame.length;
}

static void
sample_machine (struct load *load, int64_t now_ns)
{
  bool facts = false;

  for (unsigned i = 0; i < load->count && !facts; i++)
    facts = load->agents[i].asked_facts;
  if (facts)
    sampling_ask_facts (load->sampling);
  sampling_start (load->sampling, now_ns);
  sampling_run (load->sampling, now_ns, &load->sample);
  load->sampled_ns = now_ns;
}

/* ---- all of them ---- */

static void
answer_command (const struct load *load)
{
  printf ("{\"frames\": %llu, \"bytes\": %llu, \"dropped\": %llu, \"publishing\": %u}\n",
          (unsigned long long) load->frames, (unsigned long long) load->bytes, (unsigned long long) load->dropped,
          load->publishing);
  fflush (stdout);
}

/* Waits, and answers commands meanwhile. False at the end of standard input. */
static bool
wait_until (const struct load *load, int64_t due_ns)
{
  struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

  for (;;) {
    int64_t left = due_ns - clock_monotonic ();
    struct timespec time = { .tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S };
    char line[256];

    if (left <= 0)
      time = (struct timespec){ 0 };
    if (ppoll (&input, 1, &time, NULL) <= 0)
      return true;
    if (read (STDIN_FILENO, line, sizeof line) <= 0)
      return false;
    answer_command (load);
  }
}

/* Frames that are due are sent; an answer is read within a step of its coming. */
static void
load_run (struct load *load)
{
  int64_t now_ns = clock_monotonic ();

  while (wait_until (load, now_ns + STEP)) {
    now_ns = clock_monotonic ();
    if (now_ns >= load->agents[0].due_ns)
      sample_machine (load, now_ns);
    for (unsigned i = 0; i < load->count; i++) {
      struct agent *agent = &load->agents[i];

      if (agent->control)
        agent_listen (load, agent, now_ns);
      if (now_ns < agent->due_ns)
        continue;
      if (agent->welcomed)
        agent_publish (load, agent);
      while (agent->due_ns <= now_ns) /* seconds that this machine was too slow for are left out */
        agent->due_ns += NS_PER_S;
    }
  }
}

static void
load_prepare (struct load *load, const struct sampler_context *context)
{
  struct rlimit limit;
  int64_t *periods = memory_new (sampler_count, sizeof *periods);
  const struct group *const *groups;
  size_t group_count;

  if (getrlimit (RLIMIT_NOFILE, &limit) == 0) { /* an agent takes four descriptors */
    limit.rlim_cur = limit.rlim_max;
    setrlimit (RLIMIT_NOFILE, &limit);
  }
  load->context = zmq_ctx_new ();
  zmq_ctx_set (load->context, ZMQ_MAX_SOCKETS, (int) load->count * 2 + 16);
  for (size_t i = 0; i < sampler_count; i++)
    periods[i] = NS_PER_S;
  load->sampling = sampling_create (samplers, periods, sampler_count, context);
  groups = sampling_groups (load->sampling, &group_count);
  load->schema = schema_create (groups, group_count);
  free (periods);
}

int
main (int argc, char **argv)
{
  struct sampler_context context = { .root = "",
                                     .disk_exclude = "loop*,ram*,zram*,fd*,sr*",
                                     .filesystem_exclude = "",
                                     .filesystem_types_exclude = "",
                                     .network_exclude = "",
                                     .instance_endpoint = "http://169.254.169.254" };
  struct load load = { 0 };
  uint8_t seed[BENCH_SEED_SIZE], server[KEY_SIZE];
  char path[4096];
  struct error error;
  int64_t start_ns;

  if (argc == 4 && strcmp (argv[1], "keys") == 0)
    return make_keys (argv[2], (unsigned) strtoul (argv[3], NULL, 10));
  if (argc != 7 || strcmp (argv[1], "run") != 0 || (load.count = (unsigned) strtoul (argv[3], NULL, 10)) == 0) {
    fprintf (stderr, "usage: bench_load keys FOLDER COUNT\n"
                     "       bench_load run FOLDER COUNT ENDPOINT spread|together full|data\n");
    return 2;
  }
  bench_seed_read (argv[2], seed);
  snprintf (path, sizeof path, "%s/aggregator.pub", argv[2]);
  if (key_public_read (path, server, &error) < 0)
    bench_fail (path, error.text);
  load_prepare (&load, &context);
  load.agents = memory_new (load.count, sizeof *load.agents);
  for (unsigned i = 0; i < load.count; i++)
    agent_open (&load, i, seed, server, argv[4], strcmp (argv[6], "full") == 0);
  load.together = strcmp (argv[5], "together") == 0;
  start_ns = clock_monotonic ();
  start_ns += NS_PER_S - clock_wall () % NS_PER_S; /* whole seconds of cluster time, which is this host's */
  for (unsigned i = 0; i < load.count; i++)
    load.agents[i].due_ns = start_ns + (load.together ? 0 : NS_PER_S * i / load.count);
  load_run (&load);
  _exit (0); /* the sockets go with the process */
}
