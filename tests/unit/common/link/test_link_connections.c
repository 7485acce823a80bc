/* Whose connection is which: the shares of keys, guesses that are mended, and what is ended. The clock is played; the
 * descriptors are real, and what libzmq would tell of them is said here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/link/link_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define S NS_PER_S
#define PAIRS 40

static int64_t now_ns;

int64_t
clock_monotonic (void)
{
  return now_ns;
}

int64_t
clock_wall (void)
{
  return now_ns;
}

size_t
clock_text (int64_t wall_ns, char text[CLOCK_TEXT_SIZE])
{
  return (size_t) snprintf (text, CLOCK_TEXT_SIZE, "%lld", (long long) wall_ns);
}

struct stage {
  struct link_server link;
  struct link_user users[3];
  int listener;
  int peers[PAIRS], fds[PAIRS]; /* both ends; the second is that which libzmq would have accepted */
};

static int
setup (void **state)
{
  struct stage *stage = memory_new (1, sizeof *stage);
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };

  now_ns = 1000 * S;
  link_connections_init (&stage->link.connections, 0, 10 * S);
  stage->listener = socket (AF_INET, SOCK_STREAM, 0);
  assert_int_equal (bind (stage->listener, (struct sockaddr *) &address, sizeof address), 0);
  assert_int_equal (listen (stage->listener, PAIRS), 0);
  for (int i = 0; i < PAIRS; i++)
    stage->peers[i] = stage->fds[i] = -1;
  *state = stage;
  return 0;
}

static int
teardown (void **state)
{
  struct stage *stage = *state;

  for (int i = 0; i < PAIRS; i++) {
    if (stage->peers[i] >= 0)
      close (stage->peers[i]);
    if (stage->fds[i] >= 0)
      close (stage->fds[i]);
  }
  close (stage->listener);
  link_connections_free (&stage->link.connections);
  free (stage);
  return 0;
}

/* A connection from 127.0.0.`host`. */
static void
begins (struct stage *stage, int i, uint32_t host)
{
  struct sockaddr_in to, from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (0x7f000000 + host) };
  socklen_t length = sizeof to;

  getsockname (stage->listener, (struct sockaddr *) &to, &length);
  stage->peers[i] = socket (AF_INET, SOCK_STREAM, 0);
  assert_int_equal (bind (stage->peers[i], (struct sockaddr *) &from, sizeof from), 0);
  assert_int_equal (connect (stage->peers[i], (struct sockaddr *) &to, sizeof to), 0);
  stage->fds[i] = accept (stage->listener, NULL, NULL);
  assert_true (stage->fds[i] >= 0);
  link_connection_began (&stage->link, LINK_DATA, stage->fds[i]);
}

static void
ends (struct stage *stage, int i)
{
  int fd = stage->fds[i];

  close (stage->fds[i]);
  close (stage->peers[i]);
  stage->fds[i] = stage->peers[i] = -1;
  link_connection_ended (&stage->link, LINK_DATA, fd);
}

static uint64_t
admit (struct stage *stage, int user, const char *address)
{
  return link_connection_admit (&stage->link, LINK_DATA, address, &stage->users[user]);
}

static void
says (struct stage *stage, int i, int user, uint64_t serial)
{
  link_connection_used (&stage->link, LINK_DATA, stage->fds[i], &stage->users[user], serial, now_ns);
}

static size_t
share (const struct stage *stage, int user)
{
  return stage->users[user].shares[LINK_DATA].count;
}

static struct link_user *
owner (const struct stage *stage, int i)
{
  return stage->link.connections.at[stage->fds[i]].connection->user;
}

/* The peer reads its end. */
static bool
is_ended (const struct stage *stage, int i)
{
  char byte;

  return recv (stage->peers[i], &byte, 1, MSG_DONTWAIT) == 0;
}

static void
test_share_of_a_key (void **state)
{
  struct stage *stage = *state;
  int i;

  for (i = 0; i < LINK_KEY_CONNECTIONS; i++) {
    begins (stage, i, 1);
    assert_int_not_equal (admit (stage, 0, "127.0.0.1"), 0);
    now_ns += S;
  }
  begins (stage, i, 1);
  assert_int_equal (admit (stage, 0, "127.0.0.1"), 0); /* one too many; */
  begins (stage, i + 1, 1);
  assert_int_not_equal (admit (stage, 1, "127.0.0.1"), 0); /* which is no other's matter, */
  assert_ptr_equal (owner (stage, i + 1), &stage->users[1]);
  ends (stage, 3); /* and no longer when one has ended */
  begins (stage, i + 2, 1);
  assert_int_not_equal (admit (stage, 0, "127.0.0.1"), 0);
  assert_int_equal (share (stage, 0), LINK_KEY_CONNECTIONS);
  for (int k = 0; k < i; k++)
    assert_true (k == 3 || !is_ended (stage, k));
}

/* What a cut cable leaves behind makes room for the node that is back; one that was heard lately does not. */
static void
test_silent_ones_make_room (void **state)
{
  struct stage *stage = *state;
  uint64_t serials[LINK_KEY_CONNECTIONS];
  int i;

  for (i = 0; i < LINK_KEY_CONNECTIONS; i++) {
    begins (stage, i, 1);
    serials[i] = admit (stage, 0, "127.0.0.1");
    says (stage, i, 0, serials[i]);
  }
  now_ns += 50 * S;
  says (stage, 0, 0, serials[0]);
  says (stage, 1, 0, serials[1]);
  now_ns += 9 * S;
  begins (stage, i, 1);
  assert_int_equal (admit (stage, 0, "127.0.0.1"), 0);
  ends (stage, i);
  now_ns += 2 * S;
  begins (stage, i, 1);
  assert_int_not_equal (admit (stage, 0, "127.0.0.1"), 0);
  assert_int_equal (share (stage, 0), LINK_KEY_CONNECTIONS);
  assert_false (is_ended (stage, 0) || is_ended (stage, 1));
  assert_true (is_ended (stage, 2));
}

/* Two nodes behind one address, whose handshakes overtake each other. */
static void
test_mistaken_owners_are_mended (void **state)
{
  struct stage *stage = *state;
  uint64_t one, other;

  begins (stage, 0, 1);
  begins (stage, 1, 1);
  one = admit (stage, 0, "127.0.0.1");
  other = admit (stage, 1, "127.0.0.1");
  assert_ptr_equal (owner (stage, 0), &stage->users[0]);
  says (stage, 1, 0, one);
  assert_ptr_equal (owner (stage, 0), &stage->users[1]);
  assert_ptr_equal (owner (stage, 1), &stage->users[0]);
  says (stage, 0, 1, other);
  assert_ptr_equal (owner (stage, 0), &stage->users[1]);
  assert_int_equal (share (stage, 0), 1);
  assert_int_equal (share (stage, 1), 1);
}

/* Where each has an address of its own nothing is guessed. */
static void
test_addresses_tell (void **state)
{
  struct stage *stage = *state;

  begins (stage, 0, 1);
  begins (stage, 1, 2);
  begins (stage, 2, 3);
  admit (stage, 2, "127.0.0.3");
  admit (stage, 1, "127.0.0.2");
  link_connection_refused (&stage->link, LINK_DATA, "127.0.0.1");
  assert_null (owner (stage, 0));
  assert_ptr_equal (owner (stage, 1), &stage->users[1]);
  assert_ptr_equal (owner (stage, 2), &stage->users[2]);
  assert_int_not_equal (admit (stage, 0, "fe80::1%eth0"), 0); /* nowhere: it has ended already */
  assert_int_equal (share (stage, 0), 0);
}

/* A message that waited while its descriptor became another's. */
static void
test_messages_of_before (void **state)
{
  struct stage *stage = *state;
  uint64_t before, after;

  begins (stage, 0, 1);
  before = admit (stage, 0, "127.0.0.1");
  ends (stage, 0);
  begins (stage, 0, 1);
  after = admit (stage, 1, "127.0.0.1");
  says (stage, 0, 0, before);
  assert_ptr_equal (owner (stage, 0), &stage->users[1]);
  says (stage, 0, 1, after);
  assert_int_equal (share (stage, 0), 0);
  assert_int_equal (share (stage, 1), 1);
}

/* Connections that say nothing stand before those that are admitted, which are laid to them. When such a one ends its
 * admission goes on to the right one. What has none when its time is over is ended. */
static void
test_nobodys_are_ended (void **state)
{
  struct stage *stage = *state;
  uint64_t talks;

  for (int i = 0; i < 4; i++)
    begins (stage, i, 1);
  admit (stage, 0, "127.0.0.1");         /* that is 2, which is laid to 0; */
  talks = admit (stage, 0, "127.0.0.1"); /* and 3 to 1 */
  now_ns += 5 * S;
  says (stage, 3, 0, talks);
  now_ns += 5 * S;
  ends (stage, 0);
  assert_int_equal (share (stage, 0), 2);
  assert_ptr_equal (owner (stage, 2), &stage->users[0]);
  now_ns += 6 * S;
  assert_true (link_connections_tidy (&stage->link, now_ns) > now_ns); /* 1 has been without an owner for 11 s */
  now_ns += S;
  assert_true (link_connections_tidy (&stage->link, now_ns) == INT64_MAX);
  assert_true (is_ended (stage, 1));
  assert_false (is_ended (stage, 2) || is_ended (stage, 3));
  assert_int_equal (stage->link.tally.connections_ended, 1);
}

/* Who hides connections behind ones that say nothing has no more of them for it. */
static void
test_hidden_ones_count (void **state)
{
  struct stage *stage = *state;
  int n = LINK_KEY_CONNECTIONS;

  for (int i = 0; i < n; i++)
    begins (stage, i, 1); /* these say nothing */
  for (int i = 0; i < n; i++) {
    begins (stage, n + i, 1);
    assert_int_not_equal (admit (stage, 0, "127.0.0.1"), 0);
  }
  for (int i = 0; i < n; i++)
    ends (stage, i);
  for (int i = 0; i < n; i++) {
    assert_ptr_equal (owner (stage, n + i), &stage->users[0]);
    begins (stage, 2 * n + i, 1);
    assert_int_equal (admit (stage, 0, "127.0.0.1"), 0);
  }
}

/* Of several handshakes at once some are refused, in whatever order they come: those that are left count. */
static void
test_refused_among_admitted (void **state)
{
  struct stage *stage = *state;
  int n = LINK_KEY_CONNECTIONS;

  for (int i = 0; i < 2 * n; i++)
    begins (stage, i, 1);
  for (int i = 0; i < 2 * n; i++)
    assert_int_equal (admit (stage, 0, "127.0.0.1") != 0, i < n); /* these are the odd ones, though */
  for (int i = 0; i < 2 * n; i += 2)
    ends (stage, i);
  assert_int_equal (share (stage, 0), n);
  for (int i = 1; i < 2 * n; i += 2)
    assert_ptr_equal (owner (stage, i), &stage->users[0]);
}

/* A connection of which nobody knew any more speaks, and is one too many. */
static void
test_adopted_ones_count (void **state)
{
  struct stage *stage = *state;
  uint64_t hidden;
  int n = LINK_KEY_CONNECTIONS;

  begins (stage, 0, 1);
  begins (stage, 1, 1);
  hidden = admit (stage, 0, "127.0.0.1"); /* that is 1 */
  admit (stage, 1, "127.0.0.1");          /* laid to it */
  link_connection_ended (&stage->link, LINK_DATA, stage->fds[0]);
  for (int i = 0; i < n; i++) {
    begins (stage, 2 + i, 1);
    admit (stage, 0, "127.0.0.1");
  }
  says (stage, 1, 0, hidden);
  assert_int_equal (share (stage, 0), n);
  assert_true (is_ended (stage, 1));
}

/* libzmq's threads, and its two monitors, tell things in another order than that in which they were. */
static void
test_ends_that_are_told_early (void **state)
{
  struct stage *stage = *state;
  int fd;

  begins (stage, 0, 1);
  fd = stage->fds[0];
  ends (stage, 0);
  link_connection_ended (&stage->link, LINK_DATA, fd);
  link_connection_began (&stage->link, LINK_DATA, fd);
  assert_int_equal (stage->link.connections.count, 0);
  begins (stage, 0, 1);
  assert_int_equal (stage->fds[0], fd);
  link_connection_began (&stage->link, LINK_CONTROL, fd); /* it has ended, and another one has its descriptor */
  link_connection_ended (&stage->link, LINK_DATA, fd);
  assert_int_equal (stage->link.connections.count, 1);
  assert_int_equal (stage->link.connections.at[fd].connection->channel, LINK_CONTROL);
  link_connection_ended (&stage->link, LINK_CONTROL, fd);
  assert_int_equal (stage->link.connections.count, 0);
  begins (stage, 1, 1);
  assert_int_equal (stage->link.connections.count, 1);
}

/* Beyond the bound of all the oldest that nobody has goes, and where there is none the new one. */
static void
test_bound_of_all (void **state)
{
  struct stage *stage = *state;

  stage->link.connections.max = 3;
  begins (stage, 0, 1);
  admit (stage, 0, "127.0.0.1");
  begins (stage, 1, 1);
  begins (stage, 2, 1);
  begins (stage, 3, 1);
  assert_true (is_ended (stage, 1));
  assert_false (is_ended (stage, 0) || is_ended (stage, 2) || is_ended (stage, 3));
  admit (stage, 1, "127.0.0.1");
  admit (stage, 2, "127.0.0.1");
  begins (stage, 4, 1);
  assert_true (is_ended (stage, 4));
  assert_false (is_ended (stage, 0) || is_ended (stage, 2) || is_ended (stage, 3));
  ends (stage, 1);
  ends (stage, 4);
  ends (stage, 0);
  begins (stage, 5, 1);
  assert_false (is_ended (stage, 5));
  assert_int_equal (stage->link.tally.connections_ended, 2);
  assert_int_equal (stage->link.connections.count, 3);
  assert_int_equal (stage->link.connections.ending, 0);
}

/* libzmq closed it, and it is another's now: that one is left alone. */
static void
test_descriptor_of_another (void **state)
{
  struct stage *stage = *state;

  begins (stage, 0, 1);
  now_ns += 12 * S;
  begins (stage, 1, 1);
  assert_int_equal (dup2 (stage->fds[1], stage->fds[0]), stage->fds[0]);
  assert_true (link_connections_tidy (&stage->link, now_ns) > now_ns);
  assert_int_equal (stage->link.tally.connections_ended, 1);
  assert_false (is_ended (stage, 1));
}

/* ---- turns ---- */

/* As libzmq's threads see it, when the peer has said something. */
static bool
goes_on (const struct stage *stage, int i)
{
  struct pollfd item = { stage->fds[i], POLLIN, 0 };

  return poll (&item, 1, 0) == 1;
}

/* A connection whose peer speaks at once; only so many handshakes go on. */
static void
speaks (struct stage *stage, int i, uint32_t host)
{
  begins (stage, i, host);
  assert_int_equal (send (stage->peers[i], "hello", 5, 0), 5);
}

static void
assert_go_on (const struct stage *stage, const char *expected)
{
  for (int i = 0; expected[i]; i++)
    if (goes_on (stage, i) != (expected[i] == '+'))
      fail_msg ("connection %d goes on: %d", i, goes_on (stage, i));
}

/* When one is over the next goes on, of each address in turn, and nothing of what was said is lost. */
static void
test_handshakes_wait (void **state)
{
  struct stage *stage = *state;
  char said[6] = "";

  stage->link.connections.shaking_max = 3;
  for (int i = 0; i < 7; i++)
    speaks (stage, i, 1);
  for (int i = 7; i < 9; i++)
    speaks (stage, i, 2);
  assert_go_on (stage, "+++------");
  admit (stage, 0, "127.0.0.1"); /* that is 0 */
  assert_go_on (stage, "++++-----");
  link_connection_refused (&stage->link, LINK_DATA, "127.0.0.1"); /* 1 */
  assert_go_on (stage, "++++---+-");
  ends (stage, 2);
  assert_go_on (stage, "++");
  assert_true (goes_on (stage, 3) && goes_on (stage, 4) && goes_on (stage, 7));
  assert_false (goes_on (stage, 5) || goes_on (stage, 8));
  link_connection_refused (&stage->link, LINK_DATA, "127.0.0.2"); /* 7 */
  assert_true (goes_on (stage, 8));
  assert_int_equal (recv (stage->fds[8], said, 5, MSG_DONTWAIT), 5);
  assert_string_equal (said, "hello");
  assert_int_equal (stage->link.connections.shaking_count, 3);
}

/* Those that take long wait too, while others do, and come to their turn again. */
static void
test_turns_end (void **state)
{
  struct stage *stage = *state;

  stage->link.connections.shaking_max = 2;
  for (int i = 0; i < 4; i++) {
    speaks (stage, i, 1);
    now_ns += S / 4;
  }
  speaks (stage, 4, 2);
  assert_go_on (stage, "++---");
  assert_true (link_connections_tidy (&stage->link, now_ns) == 1002 * S);
  now_ns = 1002 * S;
  assert_true (link_connections_tidy (&stage->link, now_ns) == 1002 * S + S / 4);
  assert_go_on (stage, "-++--");
  now_ns = 1003 * S;
  assert_true (link_connections_tidy (&stage->link, now_ns) == 1004 * S);
  assert_go_on (stage, "--+-+");
  now_ns = 1010 * S;
  for (int i = 0; i < 4; i++)
    ends (stage, i);
  assert_int_equal (stage->link.connections.shaking_count, 1);
  assert_true (link_connections_tidy (&stage->link, now_ns) > now_ns + S); /* nobody waits: it is as it was */
  assert_true (goes_on (stage, 4));
}

/* One that is paused is taken for the one that was admitted, or is the one that speaks: it is read. */
static void
test_paused_ones_are_read (void **state)
{
  struct stage *stage = *state;
  uint64_t serial;

  stage->link.connections.shaking_max = 1;
  speaks (stage, 0, 1);
  speaks (stage, 1, 2);
  speaks (stage, 2, 1);
  assert_go_on (stage, "+--");
  assert_int_not_equal (admit (stage, 1, "127.0.0.2"), 0); /* its turn ended while it was asked about */
  assert_go_on (stage, "++-");
  serial = admit (stage, 0, "127.0.0.1"); /* that is 2, laid to 0 */
  assert_go_on (stage, "+++");
  speaks (stage, 3, 1);
  assert_false (goes_on (stage, 3));
  says (stage, 3, 0, serial + 1);
  assert_true (goes_on (stage, 3));
}

/* 200,000 connections without descriptors, of which those that were refused are not closed: each costs the same. */
static void
test_no_walks (void **state)
{
  enum { FIRST = 1000, MANY = 200000 };
  struct stage *stage = *state;
  clock_t begun = clock ();

  for (int fd = FIRST; fd < FIRST + MANY; fd++) {
    link_connection_began (&stage->link, LINK_DATA, fd);
    link_connection_refused (&stage->link, LINK_DATA, "::");
  }
  for (int i = 0; i < LINK_KEY_CONNECTIONS; i++) {
    link_connection_began (&stage->link, LINK_DATA, FIRST + MANY + i);
    assert_int_not_equal (admit (stage, 0, "::"), 0);
  }
  for (int fd = FIRST; fd < FIRST + MANY; fd++) {
    link_connection_began (&stage->link, LINK_CONTROL, fd);
    link_connection_ended (&stage->link, LINK_CONTROL, fd);
  }
  assert_in_range ((clock () - begun) / CLOCKS_PER_SEC, 0, 9);
  assert_int_equal (stage->link.connections.count, LINK_KEY_CONNECTIONS);
}

/* ---- the count of handshakes that failed ---- */

enum told { A, F, S_, D, TOLD }; /* accepted, failed, succeeded, disconnected */

static void
tell (void *to, enum told what, uint32_t fd)
{
  static const uint16_t numbers[TOLD] = { [A] = ZMQ_EVENT_ACCEPTED,
                                          [F] = ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL,
                                          [S_] = ZMQ_EVENT_HANDSHAKE_SUCCEEDED,
                                          [D] = ZMQ_EVENT_DISCONNECTED };
  uint8_t head[6];

  memcpy (head, &numbers[what], 2);
  memcpy (head + 2, &fd, 4);
  assert_int_equal (zmq_send (to, head, sizeof head, ZMQ_SNDMORE), sizeof head);
  assert_int_equal (zmq_send (to, "tcp://", 6, 0), 6);
}

/* libzmq has two threads: that a connection was accepted may be told after all else of it. */
static void
test_failures_in_any_order (void **state)
{
  static const struct {
    const char *orders; /* events and the descriptor's last digit */
    unsigned failed, open;
  } cases[] = {
    { "A1F1D1", 1, 0 },       { "F1A1D1", 1, 0 },       { "F1D1A1", 1, 0 },
    { "A1D1", 1, 0 },         { "D1A1", 1, 0 },         { "A1S1D1", 0, 0 },
    { "A1S1F2D2A2D1", 1, 0 }, { "A1S1A2F2D2", 1, 1 },   { "A1S1A2F3D3A3F2D2", 2, 1 },
    { "F1F2D1D2A1A2", 2, 0 }, { "A1S1D2A2A3S3", 1, 2 }, { "A1S1A2D1F2D2A3S3", 1, 1 },
  };
  struct stage *stage = *state;
  void *context = zmq_ctx_new (), *to = zmq_socket (context, ZMQ_PAIR), *from = zmq_socket (context, ZMQ_PAIR);

  assert_int_equal (zmq_bind (to, "inproc://told"), 0);
  assert_int_equal (zmq_connect (from, "inproc://told"), 0);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct link_watcher watcher = { .monitor = from, .channel = LINK_DATA };
    struct link_tally *tally = &stage->link.tally;

    memset (tally, 0, sizeof *tally);
    for (const char *at = cases[i].orders; *at; at += 2) {
      tell (to,
            *at == 'A'   ? A
            : *at == 'F' ? F
            : *at == 'S' ? S_
                         : D,
            (uint32_t) (100 + 10 * i) + (uint32_t) at[1] - '0');
      link_watcher_read (&watcher, &stage->link);
    }
    if (tally->handshake_failed != cases[i].failed || tally->connections != cases[i].open)
      fail_msg ("%s: %u failed, %u open", cases[i].orders, (unsigned) tally->handshake_failed,
                (unsigned) tally->connections);
  }
  zmq_close (to);
  zmq_close (from);
  zmq_ctx_term (context);
}

int
main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, setup, teardown)
  const struct CMUnitTest tests[] = {
    TEST (test_share_of_a_key),
    TEST (test_silent_ones_make_room),
    TEST (test_mistaken_owners_are_mended),
    TEST (test_addresses_tell),
    TEST (test_messages_of_before),
    TEST (test_nobodys_are_ended),
    TEST (test_hidden_ones_count),
    TEST (test_refused_among_admitted),
    TEST (test_adopted_ones_count),
    TEST (test_ends_that_are_told_early),
    TEST (test_bound_of_all),
    TEST (test_descriptor_of_another),
    TEST (test_handshakes_wait),
    TEST (test_turns_end),
    TEST (test_paused_ones_are_read),
    TEST (test_no_walks),
    TEST (test_failures_in_any_order),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
