/* The aggregator's end of the link among those who mean harm: none costs a healthy node a frame, each is counted. */
#define SCENE_HANDSHAKE_MS 500 /* tests wait for its end; a slow machine's own agents may need a second try */
#include "tests/unit/common/link/link_scene.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

static unsigned
port_of (const struct scene *scene)
{
  unsigned port;
  assert_int_equal (sscanf (link_server_endpoint (scene->server), "tcp://127.0.0.1:%u", &port), 1);
  return port;
}

/* A TCP connection to the data port, or `offset` ports further. */
static int
connect_to (const struct scene *scene, unsigned offset)
{
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons ((uint16_t) (port_of (scene) + offset)) };
  address.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
  int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true (fd >= 0);
  assert_int_equal (connect (fd, (struct sockaddr *) &address, sizeof address), 0);
  return fd;
}

/* A libzmq socket of somebody else's making, with the key of an agent if `keys` is not NULL. */
struct stranger {
  void *context, *socket;
};

static struct stranger
stranger_connect (const struct scene *scene, int type, const struct key_pair *keys, unsigned offset,
                  const char *routing_id, size_t routing_length)
{
  char endpoint[64];
  int linger = 0;
  struct stranger stranger = { .context = zmq_ctx_new () };
  stranger.socket = zmq_socket (stranger.context, type);
  zmq_setsockopt (stranger.socket, ZMQ_LINGER, &linger, sizeof linger);
  if (routing_length > 0)
    assert_int_equal (zmq_setsockopt (stranger.socket, ZMQ_ROUTING_ID, routing_id, routing_length), 0);
  if (keys) {
    zmq_setsockopt (stranger.socket, ZMQ_CURVE_SERVERKEY, scene->server_keys.public_key, KEY_SIZE);
    zmq_setsockopt (stranger.socket, ZMQ_CURVE_PUBLICKEY, keys->public_key, KEY_SIZE);
    zmq_setsockopt (stranger.socket, ZMQ_CURVE_SECRETKEY, keys->secret_key, KEY_SIZE);
  }
  snprintf (endpoint, sizeof endpoint, "tcp://127.0.0.1:%u", port_of (scene) + offset);
  assert_int_equal (zmq_connect (stranger.socket, endpoint), 0);
  return stranger;
}

static void
stranger_free (struct stranger *stranger)
{
  zmq_close (stranger->socket);
  zmq_ctx_term (stranger->context);
}

static void
without_curve_nobody_gets_in (void **state)
{
  (void) state;
  struct scene *scene = scene_up (1);
  struct stranger data = stranger_connect (scene, ZMQ_PUB, NULL, 0, NULL, 0);
  struct stranger control = stranger_connect (scene, ZMQ_DEALER, NULL, 1, NULL, 0);
  zmq_send (control.socket, "let me in", 9, ZMQ_DONTWAIT);
  WAIT (scene, scene->counts.handshake_failed >= 2);
  zmq_send (data.socket, "let me in", 9, ZMQ_DONTWAIT);
  scene_flows (scene, 0);
  assert_int_equal (scene->strangers, 0);
  assert_int_equal (scene->agents[0].control, 0);
  stranger_free (&data);
  stranger_free (&control);
  scene_destroy (scene);
}

/* A frame over the limit ends its connection, one just over it only is dropped; the agent comes back. */
static void
a_frame_too_large_costs_only_its_sender (void **state)
{
  (void) state;
  static char frame[5000];
  struct scene *scene = scene_create ();
  scene->options.data_bytes_max = 1000;
  scene_serve (scene);
  for (int i = 0; i < 2; i++) {
    scene_allow (scene, i);
    scene_agent (scene, i);
    scene_flows (scene, i);
  }
  memset (frame, 'x', sizeof frame);
  assert_int_equal (link_agent_publish (scene->agents[0].link, frame, 1000), 0);
  WAIT (scene, scene->agents[0].last_data[0] == 'x');
  assert_int_equal (link_agent_publish (scene->agents[0].link, frame, 1020), 0);
  WAIT (scene, scene->counts.malformed == 1);

  uint64_t accepted = scene->counts.accepted;
  unsigned before = scene->agents[1].data;
  assert_int_equal (link_agent_publish (scene->agents[0].link, frame, sizeof frame), 0);
  for (int i = 0; i < 20; i++)
    scene_publish (scene, 1, "healthy");
  WAIT (scene, scene->agents[1].data >= before + 20);
  WAIT (scene, scene->counts.accepted == accepted + 1);
  scene_flows (scene, 0);
  scene_destroy (scene);
}

static void
odd_messages_are_drained_and_counted (void **state)
{
  (void) state;
  char long_id[100];
  struct scene *scene = scene_up (2);
  memset (long_id, 'i', sizeof long_id);
  struct stranger control = stranger_connect (scene, ZMQ_DEALER, &scene->keys[0], 1, NULL, 0);
  struct stranger named = stranger_connect (scene, ZMQ_DEALER, &scene->keys[0], 1, long_id, sizeof long_id);
  zmq_send (control.socket, "one", 3, ZMQ_SNDMORE);
  zmq_send (control.socket, "two", 3, 0);
  zmq_send (control.socket, "one", 3, ZMQ_SNDMORE);
  zmq_send (control.socket, "two", 3, ZMQ_SNDMORE);
  zmq_send (control.socket, "three", 5, 0);
  zmq_send (control.socket, "", 0, 0);
  zmq_send (named.socket, "with a long routing id", 22, 0);
  WAIT (scene, scene->counts.malformed == 4);
  zmq_send (control.socket, "one", 3, 0);
  WAIT (scene, scene->agents[0].control == 1);

  struct stranger data = stranger_connect (scene, ZMQ_PUB, &scene->keys[0], 0, NULL, 0);
  for (int64_t limit = clock_monotonic () + SCENE_LIMIT_NS; scene->counts.malformed < 6;) {
    assert_true (clock_monotonic () < limit);
    zmq_send (data.socket, "one", 3, ZMQ_SNDMORE);
    zmq_send (data.socket, "two", 3, 0);
    zmq_send (data.socket, "", 0, 0);
    scene_step (scene);
  }
  scene_flows (scene, 1);
  stranger_free (&control);
  stranger_free (&named);
  stranger_free (&data);
  scene_destroy (scene);
}

/* A listed agent that claims another's routing id gets none of its answers. */
static void
a_routing_id_cannot_be_taken_over (void **state)
{
  (void) state;
  struct scene *scene = scene_up (1);
  scene_allow (scene, 1);
  scene_send (scene, 0, "first");
  WAIT (scene, scene->agents[0].messages == 1);
  struct stranger thief = stranger_connect (scene, ZMQ_DEALER, &scene->keys[1], 1,
                                            (const char *) scene->agents[0].routing, scene->agents[0].routing_length);
  uint64_t connections = scene->counts.connections;
  WAIT (scene, scene->counts.connections > connections || scene->counts.accepted >= 3);
  zmq_send (thief.socket, "mine", 4, 0);
  for (int i = 0; i < 20; i++) {
    scene_send (scene, 0, "second");
    WAIT (scene, scene->agents[0].messages == (unsigned) i + 2);
  }
  char got[16];
  assert_int_equal (zmq_recv (thief.socket, got, sizeof got, ZMQ_DONTWAIT), -1);
  assert_int_equal (scene->agents[1].control, 0);
  stranger_free (&thief);
  scene_destroy (scene);
}

static void
a_flood_costs_others_nothing (void **state)
{
  (void) state;
  enum { FRAMES = 50, SHARE = 100 }; /* of the queue's 400 messages */
  char text[32], flood[1000];
  struct scene *scene = scene_create ();
  scene->options.queue_messages = 400;
  scene_serve (scene);
  for (int i = 0; i < 2; i++) {
    scene_allow (scene, i);
    scene_agent (scene, i);
    scene_flows (scene, i);
  }
  memset (flood, 'x', sizeof flood);
  scene->idle = true; /* the main thread is busy elsewhere */
  unsigned before = scene->agents[1].data, flooded = scene->agents[0].data;
  for (unsigned i = 0; i < FRAMES; i++) {
    for (int k = 0; k < SHARE; k++)
      link_agent_publish (scene->agents[0].link, flood, sizeof flood);
    snprintf (text, sizeof text, "healthy %u", i);
    scene_publish (scene, 1, text);
    WAIT (scene, scene->counts.dropped_user >= i * SHARE); /* all have come: a socket that is full drops untold */
  }
  scene->idle = false;
  WAIT (scene, strcmp (scene->agents[1].last_data, "healthy 49") == 0);
  assert_in_range (scene->agents[1].data - before, FRAMES, FRAMES + 20);
  assert_in_range (scene->agents[1].after - flooded, 1, FRAMES + 21); /* they took turns */
  WAIT (scene, scene->agents[0].data - flooded >= SHARE - 5);
  assert_int_equal (scene->counts.dropped_full, 0);
  scene_destroy (scene);
}

static void
the_queue_is_bounded (void **state)
{
  (void) state;
  char frame[50000];
  struct scene *scene = scene_create ();
  scene->options.queue_bytes = 300000; /* becomes what the largest message needs, 1 MiB */
  scene_serve (scene);
  for (int i = 0; i < 2; i++) {
    scene_allow (scene, i);
    scene_agent (scene, i);
    scene_flows (scene, i);
  }
  scene->idle = true;
  memset (frame, 'x', sizeof frame);
  for (int i = 0; i < 24; i++)
    for (int k = 0; k < 2; k++)
      link_agent_publish (scene->agents[k].link, frame, sizeof frame);
  WAIT (scene, scene->counts.dropped_full + scene->counts.dropped_user >= 48 - 22);
  assert_true (scene->counts.dropped_full > 0);
  scene->idle = false;
  scene_flows (scene, 0);
  scene_flows (scene, 1);
  scene_destroy (scene);
}

/* What looks like an old ZMTP, like HTTP, like a ZMTP greeting with another mechanism, and noise. */
static void
random_bytes_are_counted (void **state)
{
  (void) state;
  enum { ROUNDS = 5, KINDS = 5, PORTS = 2, ALL = ROUNDS * KINDS * PORTS };
  static const char greeting[64] = "\xff\0\0\0\0\0\0\0\x01\x7f\x03\x00PLAIN";
  int fds[ALL], count = 0;
  struct scene *scene = scene_up (1);
  unsigned before = scene->agents[0].data;
  WAIT (scene, scene->counts.connections == 2);
  uint64_t failed = scene->counts.handshake_failed, accepted = scene->counts.accepted; /* a slow machine's own */
  srand (1);
  for (int round = 0; round < ROUNDS; round++)
    for (unsigned port = 0; port < PORTS; port++)
      for (int kind = 0; kind < KINDS; kind++) {
        char noise[300];
        for (size_t i = 0; i < sizeof noise; i++)
          noise[i] = (char) rand ();
        if (kind == 0)
          noise[0] = '\xff';
        else if (kind == 1)
          memset (noise, 0xff, sizeof noise);
        else if (kind == 2)
          memcpy (noise, greeting, sizeof greeting);
        else if (kind == 3)
          strcpy (noise, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        fds[count] = connect_to (scene, port);
        assert_true (send (fds[count++], noise, sizeof noise, MSG_NOSIGNAL) > 0);
        scene_publish (scene, 0, "healthy");
        scene_step (scene);
      }
  WAIT (scene, scene->counts.handshake_failed == failed + ALL && scene->counts.connections == 2);
  WAIT (scene, scene->agents[0].data >= before + ALL);
  for (int i = 0; i < count; i++)
    close (fds[i]);
  assert_int_equal (scene->counts.accepted, accepted + ALL);
  assert_int_equal (scene->agents[0].down, 0);
  scene_destroy (scene);
}

/* A port scan: connections that say nothing, and go away or stay. */
static void
idle_connections_are_closed (void **state)
{
  (void) state;
  enum { MANY = 1000 };
  int fds[MANY], count = 0;
  struct rlimit files;
  getrlimit (RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max; /* both ends of each are in this process */
  setrlimit (RLIMIT_NOFILE, &files);
  int many = files.rlim_max > 2 * MANY + 200 ? MANY : 100;

  struct scene *scene = scene_up (1);
  WAIT (scene, scene->counts.connections == 2);
  uint64_t failed = scene->counts.handshake_failed, accepted = scene->counts.accepted;
  while (count < many) {
    fds[count] = connect_to (scene, count % 2);
    count++;
    if (count % 50 == 0)
      scene_flows (scene, 0);
  }
  for (int i = 0; i < count; i += 10) /* these go before their time */
    close (fds[i]);
  WAIT (scene, scene->counts.accepted == accepted + (uint64_t) many && scene->counts.connections == 2);
  WAIT (scene, scene->counts.handshake_failed == failed + (uint64_t) many);
  scene_flows (scene, 0);
  assert_int_equal (scene->agents[0].down, 0);
  for (int i = 0; i < count; i++)
    if (i % 10 != 0)
      close (fds[i]);
  scene_destroy (scene);
}

/* Many agents with one key, say of a cloned machine: some are admitted, the others are told why not, and the other node
 * loses nothing. When they are gone the key's own node comes in. */
static void
connections_of_a_key_are_bounded (void **state)
{
  (void) state;
  enum { MANY = 60, ADMITTED = 2 * LINK_KEY_CONNECTIONS };
  struct stranger strangers[MANY];
  struct scene *scene = scene_up (2);
  char node[65] = "";
  uint64_t refused = 0;
  unsigned before = scene->agents[1].data;
  for (int i = 0; i < 2; i++)
    scene_send (scene, i, "hello"); /* from one address it is not known before whose connections these are */
  WAIT (scene, scene->agents[0].messages && scene->agents[1].messages);
  link_agent_destroy (scene->agents[0].link);
  scene->agents[0].link = NULL;
  WAIT (scene, scene->counts.connections == 2);

  for (int i = 0; i < MANY; i++) {
    strangers[i] = stranger_connect (scene, i % 2 ? ZMQ_DEALER : ZMQ_PUB, &scene->keys[0], i % 2, NULL, 0);
    scene_publish (scene, 1, "healthy");
  }
  for (int64_t limit = clock_monotonic () + SCENE_LIMIT_NS; refused < MANY - ADMITTED;) {
    assert_true (clock_monotonic () < limit);
    scene_step (scene);
    refused += link_server_over_limit (scene->server, node);
  }
  assert_string_equal (node, "n0");
  assert_in_range (refused, MANY - ADMITTED, MANY); /* a handshake that took too long is made again */
  WAIT (scene, scene->counts.connections <= 2 + ADMITTED);
  WAIT (scene, scene->agents[1].data >= before + MANY);

  scene_agent (scene, 0);
  scene->agents[0].refused = 0;
  WAIT (scene, scene->agents[0].crowded);
  assert_int_equal (scene->agents[0].refused, 0);
  for (int i = 0; i < MANY; i++)
    stranger_free (&strangers[i]);
  WAIT (scene, scene->counts.connections <= 3); /* one of the agent's two may have come in meanwhile */
  link_agent_reconnect (scene->agents[0].link);
  scene->agents[0].up = 0;
  WAIT (scene, scene->agents[0].up);
  scene_flows (scene, 0);
  assert_int_equal (scene->agents[1].down, 0);
  scene_destroy (scene);
}

/* More connections than there are to be: those that say nothing go, and a node that comes is taken. */
static void
connections_of_all_are_bounded (void **state)
{
  (void) state;
  enum { MANY = 200, MOST = 50 };
  int fds[MANY];
  struct scene *scene = scene_create ();
  scene->options.connections_max = MOST;
  scene->options.handshake_ms = 20000;
  scene_serve (scene);
  scene_allow (scene, 0);
  scene_agent (scene, 0);
  scene_flows (scene, 0);
  for (int i = 0; i < MANY; i++)
    fds[i] = connect_to (scene, i % 2);
  WAIT (scene, scene->counts.accepted >= MANY + 2 && scene->counts.connections <= MOST);
  assert_true (scene->counts.connections_ended >= MANY - MOST);
  scene_allow (scene, 1);
  scene_agent (scene, 1);
  scene_flows (scene, 1);
  assert_int_equal (scene->agents[0].down, 0);
  scene_flows (scene, 0);
  for (int i = 0; i < MANY; i++)
    close (fds[i]);
  scene_destroy (scene);
}

int
main (void)
{
  cmocka_set_message_output (CM_OUTPUT_TAP);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (without_curve_nobody_gets_in),
    cmocka_unit_test (a_frame_too_large_costs_only_its_sender),
    cmocka_unit_test (odd_messages_are_drained_and_counted),
    cmocka_unit_test (a_routing_id_cannot_be_taken_over),
    cmocka_unit_test (a_flood_costs_others_nothing),
    cmocka_unit_test (the_queue_is_bounded),
    cmocka_unit_test (random_bytes_are_counted),
    cmocka_unit_test (idle_connections_are_closed),
    cmocka_unit_test (connections_of_a_key_are_bounded),
    cmocka_unit_test (connections_of_all_are_bounded),
  };
  return cmocka_run_group_tests (tests, NULL, NULL);
}
