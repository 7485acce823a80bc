/* The ring's file on a disk that is slow, or fails: nothing waits for it, and what comes late is right. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "tests/unit/agent/uplink/ring_bench.h"

static bool cold;            /* the page cache holds nothing */
static atomic_bool held;     /* a thread that has read goes on when this is over */
static atomic_int failure;   /* an errno that reading gives; 0: none */
static atomic_int reading;   /* threads that are at it, */
static atomic_int reads;     /* and how often there was one */
static pthread_t of_samples; /* the thread that must not wait */

ssize_t
preadv2 (int fd, const struct iovec *into, int count, off_t at, int flags)
{
  (void) count;
  if (flags & RWF_NOWAIT && cold) {
    errno = EAGAIN;
    return -1;
  }
  return syscall (SYS_pread64, fd, into->iov_base, into->iov_len, at);
}

ssize_t
pread (int fd, void *into, size_t size, off_t at)
{
  ssize_t got = failure ? -1 : syscall (SYS_pread64, fd, into, size, at);
  int error = failure;

  if (pthread_equal (pthread_self (), of_samples))
    return got;
  reads++;
  reading++;
  while (held)
    usleep (1000);
  reading--;
  errno = error;
  return got;
}

static struct ring *
cold_ring (uint64_t frames)
{
  struct ring *ring = open_at (path, SIZE, 0);

  of_samples = pthread_self ();
  cold = false;
  held = false;
  failure = reads = 0;
  for (uint64_t i = 1; i <= frames; i++)
    add (ring, 7, i, (int64_t) i);
  cold = true;
  held = true;
  return ring;
}

static void
ask (struct ring *ring, uint64_t sequence)
{
  struct ring_frame frame;

  assert_true (ring_next (ring, 7, sequence, sequence, SIZE_MAX, &frame));
  assert_null (frame.bytes);
  assert_int_equal (frame.sequence, sequence);
  while (reading == 0)
    usleep (1000);
}

static uint64_t
first_of (struct ring *ring)
{
  struct control_held sessions[1];

  assert_int_equal (ring_sessions (ring, 0, sessions, 1), 1);
  return sessions[0].first;
}

static void
test_read_by_a_thread (void **state)
{
  struct ring *ring = cold_ring (9);

  (void) state;
  ask (ring, 3);
  add (ring, 7, 10, 10); /* samples go on */
  ask (ring, 3);
  assert_int_equal (reading, 1);
  held = false;
  assert_true (holds (ring, 7, 3, 3));
  assert_true (holds (ring, 7, 4, 4)); /* they lie behind it */
  assert_int_equal (reads, 1);
  assert_true (holds (ring, 7, 10, 10));
  ring_destroy (ring);
}

/* The ring goes round while a thread has what was there before. */
static void
test_written_over_meanwhile (void **state)
{
  struct ring *ring = cold_ring (3);
  uint64_t last = 3;

  (void) state;
  ask (ring, 1);
  do {
    last++;
    add (ring, 7, last, (int64_t) last);
  } while (first_of (ring) <= 3);
  held = false;
  for (uint64_t i = first_of (ring); i <= last; i++)
    assert_true (holds (ring, 7, i, (int64_t) i));
  ring_destroy (ring);
}

/* It is not there then, and not asked for again and again. */
static void
test_disk_that_fails (void **state)
{
  struct ring *ring = cold_ring (3);
  struct ring_frame frame;

  (void) state;
  failure = EIO;
  held = false;
  assert_false (next_read (ring, 7, 1, 3, &frame));
  failure = 0;
  assert_true (holds (ring, 7, 2, 2));
  ring_destroy (ring);
}

static void
test_end_while_a_thread_hangs (void **state)
{
  struct ring *ring = cold_ring (3);

  (void) state;
  ask (ring, 2);
  ring_destroy (ring);
  assert_int_equal (reading, 1);
  held = false;
  while (reading != 0)
    usleep (1000);
}

int
main (void)
{
  const struct CMUnitTest tests[] = { RING_TEST (test_read_by_a_thread), RING_TEST (test_written_over_meanwhile),
                                      RING_TEST (test_disk_that_fails), RING_TEST (test_end_while_a_thread_hangs) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
