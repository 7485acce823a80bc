/* A link's both ends in one process, for its tests: a server that takes what comes and echoes control messages, and
 * agents that note their events. WAIT turns it all until a condition holds. */
#ifndef SYNOP_TESTS_LINK_SCENE_H
#define SYNOP_TESTS_LINK_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/clock.h"
#include "synop/link.h"

#define AGENTS 4
#define SCENE_LIMIT_NS (60 * NS_PER_S)
#ifndef SCENE_HANDSHAKE_MS
#define SCENE_HANDSHAKE_MS 30000
#endif

/* libzmq (and libstdc++, that only libzmq uses) is not built for ThreadSanitizer, which cannot see how its threads hand
 * things over. */
const char *__tsan_default_suppressions (void);
const char *
__tsan_default_suppressions (void)
{
  return "race:libzmq.so\nrace:libstdc++.so";
}

struct scene_agent {
  struct link_agent *link;
  unsigned up, down, refused, crowded, messages;
  char last[64];          /* the last control message */
  unsigned data, control; /* what the server took from n<index> */
  char last_data[64];     /* the last frame that the server took */
  unsigned after;         /* frames of n0 that it had taken then */
  uint8_t routing[64];    /* of its last control message */
  size_t routing_length;
};

struct scene {
  struct key_pair server_keys, keys[AGENTS];
  struct key_set *allowed;
  struct link_server_options options;
  struct link_server *server;
  struct link_counts counts;
  struct scene_agent agents[AGENTS];
  unsigned strangers; /* messages of a node that is none of the agents */
  bool idle;          /* the server takes nothing */
};

static struct scene *
scene_create (void)
{
  struct scene *scene = calloc (1, sizeof *scene);
  assert_non_null (scene);
  key_pair_make (&scene->server_keys);
  for (int i = 0; i < AGENTS; i++)
    key_pair_make (&scene->keys[i]);
  scene->allowed = key_set_create ();
  scene->options = (struct link_server_options){
    .endpoint = "tcp://127.0.0.1:*",
    .keys = scene->server_keys,
    .allowed = scene->allowed,
    .queue_bytes = 64 * 1024 * 1024,
    .queue_messages = 10000,
    .data_bytes_max = 100000,
    .handshake_ms = SCENE_HANDSHAKE_MS,
  };
  return scene;
}

static void
scene_allow (struct scene *scene, int agent)
{
  char node[16];
  struct error error;
  snprintf (node, sizeof node, "n%d", agent);
  assert_int_equal (key_set_add (scene->allowed, node, scene->keys[agent].public_key, &error), 0);
}

static void
scene_serve (struct scene *scene)
{
  struct error error = { "" };
  scene->server = link_server_create (&scene->options, &error);
  assert_string_equal (error.text, "");
  assert_non_null (scene->server);
}

static void
scene_agent (struct scene *scene, int agent)
{
  struct error error = { "" };
  struct link_agent_options options = { .endpoint = link_server_endpoint (scene->server),
                                        .keys = scene->keys[agent],
                                        .queue_frames = 5000 };
  memcpy (options.server_key, scene->server_keys.public_key, KEY_SIZE);
  scene->agents[agent].link = link_agent_create (&options, &error);
  assert_string_equal (error.text, "");
  assert_non_null (scene->agents[agent].link);
}

static void
scene_destroy (struct scene *scene)
{
  for (int i = 0; i < AGENTS; i++)
    link_agent_destroy (scene->agents[i].link);
  link_server_destroy (scene->server);
  key_set_destroy (scene->allowed);
  free (scene);
}

static void
scene_text (char *to, size_t size, const void *bytes, size_t length)
{
  snprintf (to, size, "%.*s", (int) length, (const char *) bytes);
}

static void
scene_message (struct scene *scene, struct link_message *message)
{
  unsigned index = message->node[0] == 'n' ? (unsigned) message->node[1] - '0' : AGENTS;
  assert_true (message->received_ns <= clock_monotonic ());
  if (index >= AGENTS) {
    scene->strangers++;
    return;
  }
  struct scene_agent *agent = &scene->agents[index];
  if (message->channel == LINK_DATA) {
    agent->data++;
    agent->after = scene->agents[0].data;
    scene_text (agent->last_data, sizeof agent->last_data, message->bytes, message->length);
    return;
  }
  agent->control++;
  agent->routing_length = message->routing_length;
  memcpy (agent->routing, message->routing, message->routing_length);
  assert_int_equal (
      link_server_send (scene->server, message->routing, message->routing_length, message->bytes, message->length), 0);
}

static void
scene_event (struct scene_agent *agent, const struct link_event *event)
{
  switch (event->type) {
  case LINK_UP:
    agent->up++;
    break;
  case LINK_DOWN:
    agent->down++;
    break;
  case LINK_REFUSED:
    agent->refused++;
    break;
  case LINK_OVER_LIMIT:
    agent->crowded++;
    break;
  case LINK_MESSAGE:
    agent->messages++;
    scene_text (agent->last, sizeof agent->last, event->bytes, event->length);
    break;
  }
}

/* Waits for the descriptors, as the programs do, and takes all that is there. */
static void
scene_step (struct scene *scene)
{
  struct pollfd fds[AGENTS + 1];
  for (int i = 0; i < AGENTS; i++)
    fds[i] = (struct pollfd){ scene->agents[i].link ? link_agent_fd (scene->agents[i].link) : -1, POLLIN, 0 };
  fds[AGENTS] = (struct pollfd){ scene->server && !scene->idle ? link_server_fd (scene->server) : -1, POLLIN, 0 };
  poll (fds, AGENTS + 1, 10);
  for (int i = 0; i < AGENTS; i++) {
    struct link_event event;
    while (fds[i].revents && link_agent_next (scene->agents[i].link, &event))
      scene_event (&scene->agents[i], &event);
  }
  struct link_message messages[64];
  size_t count = fds[AGENTS].revents ? link_server_take (scene->server, messages, 64) : 0;
  for (size_t i = 0; i < count; i++) {
    scene_message (scene, &messages[i]);
    link_server_release (scene->server, &messages[i]);
  }
  if (scene->server)
    link_server_counts (scene->server, &scene->counts);
}

#define WAIT(scene, condition)                                                                                         \
  for (int64_t limit = clock_monotonic () + SCENE_LIMIT_NS; !(condition);) {                                           \
    if (clock_monotonic () > limit)                                                                                    \
      fail_msg ("waited in vain for: %s", #condition);                                                                 \
    scene_step (scene);                                                                                                \
  }

static void
scene_publish (struct scene *scene, int agent, const char *text)
{
  assert_int_equal (link_agent_publish (scene->agents[agent].link, text, strlen (text)), 0);
}

/* Sends, and as the programs must, looks for events after it. */
static void
scene_send (struct scene *scene, int agent, const char *text)
{
  struct link_event event;
  assert_int_equal (link_agent_send (scene->agents[agent].link, text, strlen (text)), 0);
  while (link_agent_next (scene->agents[agent].link, &event))
    scene_event (&scene->agents[agent], &event);
}

/* Publishes until a frame got through: what was sent before the subscription arrived is lost, as always with PUB. */
static void
scene_flows (struct scene *scene, int agent)
{
  unsigned before = scene->agents[agent].data;
  int64_t next = 0;
  for (int64_t limit = clock_monotonic () + SCENE_LIMIT_NS; scene->agents[agent].data == before;) {
    if (clock_monotonic () > limit)
      fail_msg ("no frame of n%d came through", agent);
    if (clock_monotonic () >= next) {
      scene_publish (scene, agent, "frame");
      next = clock_monotonic () + 20 * NS_PER_MS;
    }
    scene_step (scene);
  }
}

/* Server and agents 0 to count - 1, listed and up. */
static struct scene *
scene_up (int count)
{
  struct scene *scene = scene_create ();
  scene_serve (scene);
  for (int i = 0; i < count; i++) {
    scene_allow (scene, i);
    scene_agent (scene, i);
  }
  for (int i = 0; i < count; i++)
    WAIT (scene, scene->agents[i].up);
  for (int i = 0; i < count; i++)
    scene_flows (scene, i);
  return scene;
}

#endif
