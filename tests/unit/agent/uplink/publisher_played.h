/* The clock, the loop and the link of the agent's publisher, played: minutes pass at once, what is sent is noted, and
 * what is heard is what the test says. */
#ifndef SYNOP_TESTS_PUBLISHER_PLAYED_H
#define SYNOP_TESTS_PUBLISHER_PLAYED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "synop/clock.h"
#include "synop/control.h"
#include "synop/frame.h"
#include "synop/link.h"
#include "synop/loop.h"
#include "synop/memory.h"

#define S NS_PER_S
#define SESSION UINT64_C (0x1234567890abcdef)
#define START (INT64_C (1000) * S + 3)

/* ---- the clock ---- */

static int64_t now_ns;

int64_t
clock_monotonic (void)
{
  return now_ns;
}

int64_t
clock_wall (void)
{
  return now_ns + INT64_C (1700000000) * S;
}

size_t
clock_text (int64_t wall_ns, char text[CLOCK_TEXT_SIZE])
{
  return (size_t) snprintf (text, CLOCK_TEXT_SIZE, "%lld", (long long) wall_ns);
}

/* ---- the loop ---- */

struct loop_timer {
  loop_timer_fn run;
  void *context;
  int64_t due_ns;
};

static struct loop_timer timers[4];
static size_t timer_count;
static loop_fd_fn ready;
static void *ready_context;

struct loop_timer *
loop_timer_add (struct loop *loop, loop_timer_fn run, void *context)
{
  struct loop_timer *timer = &timers[timer_count++];

  (void) loop;
  assert_true (timer_count <= sizeof timers / sizeof timers[0]);
  *timer = (struct loop_timer){ run, context, INT64_MAX };
  return timer;
}

void
loop_timer_set (struct loop_timer *timer, int64_t due_ns)
{
  timer->due_ns = due_ns;
}

void
loop_timer_remove (struct loop_timer *timer)
{
  if (timer)
    timer->due_ns = INT64_MAX;
}

struct loop_watch *
loop_watch_add (struct loop *loop, int fd, uint32_t events, loop_fd_fn run, void *context)
{
  (void) loop;
  (void) events;
  assert_int_equal (fd, 77);
  ready = run;
  ready_context = context;
  return (struct loop_watch *) &ready;
}

static bool watched = true; /* the link's descriptor is */

void
loop_watch_change (struct loop_watch *watch, uint32_t changed)
{
  (void) watch;
  watched = changed != 0;
}

void
loop_watch_remove (struct loop_watch *watch)
{
  (void) watch;
}

static inline void
run_until (int64_t end_ns)
{
  for (;;) {
    struct loop_timer *next = &timers[0];
    int64_t due_ns;

    for (size_t i = 1; i < timer_count; i++)
      if (timers[i].due_ns < next->due_ns)
        next = &timers[i];
    due_ns = next->due_ns;

    if (due_ns > end_ns)
      break;
    now_ns = due_ns;
    next->due_ns = INT64_MAX;
    next->run (next->context, due_ns);
  }
  now_ns = end_ns;
}

/* ---- the link ---- */

static struct link_event events[4];
static size_t event_count, events_heard;
static size_t repeats; /* of the last one of them */
static struct control sent[512];
static uint64_t replayed[512]; /* the sequence numbers of replayed frames */
static size_t room = SIZE_MAX; /* messages that the socket takes */
static size_t sent_count;
static struct frame_header frames[8192];
static int64_t frame_times[8192];
static bool frame_has_facts[8192];
static size_t frame_count, reconnects;
static struct schema *sent_schema; /* the last one; NULL: it had no bytes */

struct link_agent *
link_agent_create (const struct link_agent_options *options, struct error *error)
{
  (void) error;
  assert_string_equal (options->endpoint, "tcp://master:5555");
  assert_in_range (options->queue_frames, 300, 301); /* a test changes it, to connect anew */
  return (struct link_agent *) &event_count;
}

void
link_agent_destroy (struct link_agent *link)
{
  (void) link;
}

int
link_agent_fd (const struct link_agent *link)
{
  (void) link;
  return 77;
}

static inline struct table *
take_table (void *context, size_t group)
{
  *(bool *) context |= group == 1;
  return NULL;
}

static inline void
done_table (void *context, size_t group, struct table *table)
{
  (void) context;
  (void) group;
  (void) table;
}

static struct schema *declared;
static struct buffer published; /* all frames, one behind the other */

int
link_agent_publish (struct link_agent *link, const void *bytes, size_t length)
{
  struct frame_sink sink = { &frame_has_facts[frame_count], take_table, done_table };
  struct error error;

  (void) link;
  assert_int_equal (frame_read_header (bytes, length, &frames[frame_count], &error), 0);
  assert_memory_equal (frames[frame_count].schema, declared->hash, SCHEMA_HASH_SIZE);
  frame_has_facts[frame_count] = false;
  assert_int_equal (frame_read_tables (bytes, length, &frames[frame_count], declared, &sink, &error), 0);
  frame_times[frame_count++] = now_ns;
  buffer_add (&published, bytes, length);
  return 0;
}

int
link_agent_send (struct link_agent *link, const void *bytes, size_t length)
{
  struct control *message = &sent[sent_count++];
  struct error error;

  (void) link;
  assert_true (sent_count <= sizeof sent / sizeof sent[0]);
  if (room == 0) {
    sent_count--;
    return -1;
  }
  room--;
  assert_int_equal (control_read (bytes, length, message, &error), 0);
  if (message->type == CONTROL_REPLAYED) {
    struct frame_header header;

    assert_int_equal (frame_read_header (message->frame, message->frame_length, &header, &error), 0);
    replayed[sent_count - 1] = header.sequence;
  }
  if (message->type == CONTROL_SCHEMA) {
    schema_destroy (sent_schema);
    sent_schema = message->schema_length ? schema_read (message->schema, message->schema_length, &error) : NULL;
    assert_true (sent_schema || message->schema_length == 0);
  }
  return 0;
}

bool
link_agent_next (struct link_agent *link, struct link_event *event)
{
  (void) link;
  if (event_count == 0)
    return false;
  *event = events[0];
  events_heard++;
  if (repeats && event_count == 1) { /* the aggregator says it again and again */
    repeats--;
    return true;
  }
  memmove (events, events + 1, --event_count * sizeof events[0]);
  return true;
}

bool
link_agent_nameless (const struct link_agent *link)
{
  (void) link;
  return false;
}

static bool greeting; /* somebody took the connection */

bool
link_agent_greeting (const struct link_agent *link)
{
  (void) link;
  return greeting;
}

void
link_agent_reconnect (struct link_agent *link)
{
  (void) link;
  reconnects++;
}

static inline void
happens (enum link_event_type type)
{
  events[event_count++] = (struct link_event){ .type = type };
  ready (ready_context, 1);
}

static inline void
hears_bytes (const void *bytes, size_t length)
{
  events[event_count++] = (struct link_event){ LINK_MESSAGE, bytes, length };
  ready (ready_context, 1);
}

static inline void
hears (struct control message)
{
  struct buffer bytes = { 0 };

  control_write (&bytes, &message);
  hears_bytes (bytes.data, bytes.length);
  buffer_free (&bytes);
}

static inline void
hears_welcome (bool known)
{
  hears ((struct control){ .type = CONTROL_WELCOME, .session = SESSION, .known = known, .version = "9" });
}

/* The link comes up, and the aggregator answers the hello. */
static inline void
is_welcomed (bool known)
{
  happens (LINK_UP);
  hears_welcome (known);
}

static inline void
hears_answer_to (int64_t t1, uint64_t session, bool known)
{
  hears ((struct control){ .type = CONTROL_PROBE_ANSWER, .session = session, .known = known, .t1 = t1 });
}

/* To the last message, a probe. */
static inline void
hears_answer (uint64_t session, bool known)
{
  assert_int_equal (sent[sent_count - 1].type, CONTROL_PROBE);
  hears_answer_to (sent[sent_count - 1].t1, session, known);
}

static inline size_t
count_sent (enum control_type type)
{
  size_t count = 0;

  for (size_t i = 0; i < sent_count; i++)
    count += sent[i].type == type;
  return count;
}

#endif
