/* The link between honest ends: frames, control messages, keys that come and go, restarts, endpoints. */
#include "tests/unit/common/link/link_scene.h"
#include "tests/unit/test_folder.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void
frames_and_control_go_round (void **state)
{
  (void) state;
  struct scene *scene = scene_up (2);
  for (int i = 0; i < 2; i++) {
    char text[32];
    snprintf (text, sizeof text, "hello %d", i);
    scene_send (scene, i, text);
    WAIT (scene, scene->agents[i].messages == 1);
    assert_string_equal (scene->agents[i].last, text);
    assert_int_equal (scene->agents[i].control, 1);
    scene_publish (scene, i, text);
    WAIT (scene, strcmp (scene->agents[i].last_data, text) == 0);
  }
  assert_int_equal (scene->strangers, 0);
  assert_int_equal (scene->counts.accepted, 4);
  assert_int_equal (scene->counts.connections, 4);
  assert_int_equal (scene->counts.handshake_failed, 0);
  assert_int_equal (scene->counts.key_refused, 0);
  assert_int_equal (scene->counts.malformed, 0);
  scene_destroy (scene);
}

static void
many_frames_arrive_whole_and_in_order (void **state)
{
  (void) state;
  enum { FRAMES = 2000, SIZE = 3000 };
  struct scene *scene = scene_up (1);
  WAIT (scene, scene->agents[0].data >= 1);
  unsigned before = scene->agents[0].data;
  char frame[SIZE + 1];
  memset (frame, 'x', SIZE);
  frame[SIZE] = 0;
  for (int i = 0; i < FRAMES; i++) {
    snprintf (frame, sizeof frame, "%d", i);
    assert_int_equal (link_agent_publish (scene->agents[0].link, frame, SIZE), 0);
    if (i % 100 == 0)
      scene_step (scene);
  }
  WAIT (scene, strcmp (scene->agents[0].last_data, "1999") == 0);
  assert_in_range (scene->agents[0].data - before, FRAMES, FRAMES + 20); /* a few of scene_flows may still come */
  scene_destroy (scene);
}

static void
an_unlisted_key_is_refused_and_heals (void **state)
{
  (void) state;
  char text[KEY_TEXT_SIZE], key[KEY_TEXT_SIZE] = "", address[LINK_ADDRESS_MAX] = "";
  struct scene *scene = scene_create ();
  scene_serve (scene);
  scene_agent (scene, 0);
  assert_int_equal (link_agent_send (scene->agents[0].link, "x", 1), -1);
  WAIT (scene, link_agent_greeting (scene->agents[0].link));
  WAIT (scene, scene->counts.key_refused >= 2 && scene->agents[0].refused >= 1);
  key_text (scene->keys[0].public_key, text);
  assert_in_range (link_server_unlisted (scene->server, key, address), 2, 100);
  assert_string_equal (key, text);
  assert_string_equal (address, "127.0.0.1");
  assert_int_equal (scene->agents[0].up, 0);
  assert_int_equal (scene->counts.handshake_failed, 0);

  scene_allow (scene, 0);
  WAIT (scene, scene->agents[0].up);
  assert_false (link_agent_greeting (scene->agents[0].link));
  scene_flows (scene, 0);
  scene_destroy (scene);
}

static void
an_agent_with_another_aggregators_key_is_told (void **state)
{
  (void) state;
  struct scene *scene = scene_create ();
  struct key_pair other = scene->server_keys;
  scene_allow (scene, 0);
  scene_serve (scene);
  key_pair_make (&scene->server_keys);
  scene_agent (scene, 0);
  scene->server_keys = other;
  WAIT (scene, scene->agents[0].refused && scene->counts.handshake_failed >= 2);
  assert_int_equal (scene->agents[0].up, 0);
  assert_int_equal (scene->agents[0].data, 0);
  scene_destroy (scene);
}

#define PATH_SIZE (TEST_FOLDER_SIZE + 8)

/* A key folder with n0.pub, which can be taken away. */
static void
key_folder_make (struct scene *scene, char folder[TEST_FOLDER_SIZE], char path[PATH_SIZE])
{
  struct error error;
  test_folder_make (folder);
  snprintf (path, PATH_SIZE, "%s/n0.pub", folder);
  assert_int_equal (key_public_write (path, scene->keys[0].public_key, "", &error), 0);
  assert_int_equal (key_set_load (scene->allowed, folder, &error), 0);
}

static void
a_revoked_key_is_cut_off_at_once (void **state)
{
  (void) state;
  struct error error;
  char folder[TEST_FOLDER_SIZE], path[PATH_SIZE], renamed[PATH_SIZE];
  struct scene *scene = scene_create ();
  key_folder_make (scene, folder, path);
  scene_serve (scene);
  scene_agent (scene, 0);
  WAIT (scene, scene->agents[0].up);
  scene_flows (scene, 0);

  /* The key of another node now: its frames are that node's. */
  snprintf (renamed, sizeof renamed, "%s/n1.pub", folder);
  assert_int_equal (rename (path, renamed), 0);
  assert_int_equal (key_set_load (scene->allowed, folder, &error), 0);
  scene_publish (scene, 0, "as n1");
  WAIT (scene, strcmp (scene->agents[1].last_data, "as n1") == 0);

  /* Frames that wait in the queue, and frames that come later. */
  scene->idle = true;
  struct pollfd waiting = { link_server_fd (scene->server), POLLIN, 0 };
  scene_publish (scene, 0, "too late");
  assert_int_equal (poll (&waiting, 1, 60000), 1);
  assert_int_equal (unlink (renamed), 0);
  assert_int_equal (key_set_load (scene->allowed, folder, &error), 0);
  scene->idle = false;
  unsigned before = scene->agents[0].data + scene->agents[1].data;
  WAIT (scene, scene->counts.key_revoked == 1);
  scene->idle = true; /* these must not even come into the queue */
  for (int i = 0; i < 10; i++)
    scene_publish (scene, 0, "much too late");
  scene_send (scene, 0, "so is this");
  WAIT (scene, scene->counts.key_revoked == 12);
  scene->idle = false;
  scene_step (scene);
  assert_int_equal (scene->agents[0].data + scene->agents[1].data, before);
  assert_int_equal (scene->agents[0].control, 0);
  scene_destroy (scene);
  rmdir (folder);
}

static void
an_aggregator_that_restarts_has_its_agents_back (void **state)
{
  (void) state;
  struct scene *scene = scene_up (2);
  char endpoint[LINK_ENDPOINT_MAX];
  strcpy (endpoint, link_server_endpoint (scene->server));
  scene->options.endpoint = endpoint;
  link_server_destroy (scene->server);
  scene->server = NULL;
  WAIT (scene, scene->agents[0].down && scene->agents[1].down);
  assert_int_equal (link_agent_send (scene->agents[0].link, "x", 1), -1); /* nothing stale waits */
  scene_publish (scene, 0, "while it was away");

  scene_serve (scene);
  WAIT (scene, scene->agents[0].up == 2 && scene->agents[1].up == 2);
  WAIT (scene, strcmp (scene->agents[0].last_data, "while it was away") == 0);
  scene_send (scene, 1, "again");
  WAIT (scene, scene->agents[1].messages == 1);
  scene_destroy (scene);
}

static void
an_agent_may_start_first (void **state)
{
  (void) state;
  struct scene *scene = scene_create ();
  char endpoint[LINK_ENDPOINT_MAX];
  scene_allow (scene, 0);
  scene_serve (scene);
  strcpy (endpoint, link_server_endpoint (scene->server));
  scene->options.endpoint = endpoint;
  scene_agent (scene, 0);
  link_server_destroy (scene->server);
  scene->server = NULL;
  scene_step (scene);
  scene_serve (scene);
  WAIT (scene, scene->agents[0].up);
  scene_flows (scene, 0);
  scene_destroy (scene);
}

static void
reconnecting_begins_anew (void **state)
{
  (void) state;
  struct link_event event;
  struct scene *scene = scene_up (1);
  link_agent_reconnect (scene->agents[0].link);
  while (link_agent_next (scene->agents[0].link, &event))
    scene_event (&scene->agents[0], &event);
  assert_int_equal (scene->agents[0].down, 1);
  WAIT (scene, scene->agents[0].up == 2);
  scene_flows (scene, 0);
  WAIT (scene, scene->counts.connections == 2);
  scene_destroy (scene);
}

static void
free_ports_are_found (void **state)
{
  (void) state;
  struct scene *scene = scene_create (), *other = scene_create ();
  unsigned port, other_port;
  scene_serve (scene);
  scene_serve (other);
  assert_int_equal (sscanf (link_server_endpoint (scene->server), "tcp://127.0.0.1:%u", &port), 1);
  assert_int_equal (sscanf (link_server_endpoint (other->server), "tcp://127.0.0.1:%u", &other_port), 1);
  assert_in_range (port, 1024, 32766);
  assert_in_range (other_port, 1024, 32766);
  assert_true (port != other_port);

  scene_destroy (other);
  scene_destroy (scene);
}

/* A socket on a port, 0 for any that is free; -1: it is taken. */
static int
bound (uint16_t port, struct sockaddr_in *address)
{
  int fd = socket (AF_INET, SOCK_STREAM, 0), yes = 1;
  socklen_t length = sizeof *address;

  *address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons (port) };
  address->sin_addr.s_addr = htonl (INADDR_LOOPBACK);
  assert_int_equal (setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
  if (bind (fd, (struct sockaddr *) address, length) < 0) {
    close (fd);
    return -1;
  }
  assert_int_equal (getsockname (fd, (struct sockaddr *) address, &length), 0);
  return fd;
}

/* A port that is taken, as data's and as control's. Both are held all the time: who does not listen, and lets others reuse
 * its address, keeps a port from all but those who ask for that one. */
static void
taken_ports_are_named (void **state)
{
  (void) state;
  struct scene *scene = scene_create ();
  struct error error;
  char expected[128], endpoint[LINK_ENDPOINT_MAX];
  struct sockaddr_in address, next;
  int held = bound (0, &address), taken;
  unsigned port = ntohs (address.sin_port);
  for (int i = 0; (taken = bound ((uint16_t) (port + 1), &next)) < 0; i++) {
    assert_true (i < 1000);
    close (held);
    held = bound (0, &address);
    port = ntohs (address.sin_port);
  }
  assert_int_equal (listen (taken, 1), 0);

  scene->options.endpoint = endpoint;
  snprintf (expected, sizeof expected, "cannot listen on tcp://127.0.0.1:%u: address in use", port + 1);
  for (unsigned data = port; data <= port + 1; data++) {
    snprintf (endpoint, sizeof endpoint, "tcp://127.0.0.1:%u", data);
    assert_null (link_server_create (&scene->options, &error));
    assert_string_equal (error.text, expected);
  }
  scene->options.endpoint = "tcp://192.0.2.1:5555";
  assert_null (link_server_create (&scene->options, &error));
  assert_string_equal (error.text, "cannot listen on tcp://192.0.2.1:5555: no such address on this host");
  close (taken);
  close (held);
  scene_destroy (scene);
}

static void
ipv6_is_asked_for_with_brackets (void **state)
{
  (void) state;
  struct scene *scene = scene_create ();
  struct error error;
  if (access ("/proc/net/if_inet6", R_OK) != 0) {
    print_message ("# no IPv6 here\n");
    scene_destroy (scene);
    skip ();
  }
  scene->options.endpoint = "tcp://[::1]:*";
  struct link_server *probe = link_server_create (&scene->options, &error);
  if (!probe) {
    print_message ("# no IPv6 on the loopback interface: %s\n", error.text);
    scene_destroy (scene);
    skip ();
  }
  scene->server = probe;
  scene_allow (scene, 0);
  scene_agent (scene, 0);
  WAIT (scene, scene->agents[0].up);
  scene_flows (scene, 0);
  scene_destroy (scene);
}

static void
endpoints_are_checked (void **state)
{
  (void) state;
  static const struct {
    const char *data, *control;
  } good[] = {
    { "tcp://master:5555", "tcp://master:5556" },
    { "tcp://*:5555", "tcp://*:5556" },
    { "tcp://127.0.0.1:*", "tcp://127.0.0.1:*" },
    { "tcp://[::1]:1", "tcp://[::1]:2" },
    { "tcp://n1.example-x.org:65534", "tcp://n1.example-x.org:65535" },
    { "tcp://[fe80::1%eth0]:80", "tcp://[fe80::1%eth0]:81" },
  };
  static const char *const bad[] = {
    "",
    "master:5555",
    "tcp://",
    "tcp://master",
    "tcp://master:",
    "tcp://:5555",
    "tcp://a:0",
    "tcp://a:65535",
    "tcp://a:123456",
    "tcp://a:5x",
    "tcp://a:-1",
    "udp://a:5555",
    "tcp://a b:1",
    "tcp://::1:5555",
    "tcp://[::1:5555",
    "tcp://[]:5555",
    "tcp://eth0;a:5555",
    "tcp://a/b:5555",
    "tcp://**:1",
    "tcp://a:5555:",
  };
  char control[LINK_ENDPOINT_MAX], text[600];
  struct error error;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_int_equal (link_control_endpoint (good[i].data, control, &error), 0);
    assert_string_equal (control, good[i].control);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    error.text[0] = 0;
    assert_int_equal (link_control_endpoint (bad[i], control, &error), -1);
    assert_non_null (strstr (error.text, bad[i]));
  }
  snprintf (text, sizeof text, "tcp://%0500d:1", 0);
  assert_int_equal (link_control_endpoint (text, control, &error), -1);

  struct link_agent_options options = { .queue_frames = 1 };
  options.endpoint = "tcp://*:5555";
  assert_null (link_agent_create (&options, &error));
  options.endpoint = "tcp://a:*";
  assert_null (link_agent_create (&options, &error));
  options.endpoint = "nonsense";
  assert_null (link_agent_create (&options, &error));
}

int
main (void)
{
  cmocka_set_message_output (CM_OUTPUT_TAP);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (frames_and_control_go_round),
    cmocka_unit_test (many_frames_arrive_whole_and_in_order),
    cmocka_unit_test (an_unlisted_key_is_refused_and_heals),
    cmocka_unit_test (an_agent_with_another_aggregators_key_is_told),
    cmocka_unit_test (a_revoked_key_is_cut_off_at_once),
    cmocka_unit_test (an_aggregator_that_restarts_has_its_agents_back),
    cmocka_unit_test (an_agent_may_start_first),
    cmocka_unit_test (reconnecting_begins_anew),
    cmocka_unit_test (free_ports_are_found),
    cmocka_unit_test (taken_ports_are_named),
    cmocka_unit_test (ipv6_is_asked_for_with_brackets),
    cmocka_unit_test (endpoints_are_checked),
  };
  return cmocka_run_group_tests (tests, NULL, NULL);
}
