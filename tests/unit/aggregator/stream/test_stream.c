/* The stream's filters and sharing, and outlets to readers that are slow, gone, or a full disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aggregator/stream/outlet.h"
#include "aggregator/stream/stream.h"
#include "synop/buffer.h"
#include "synop/memory.h"

#define QUEUE 20000

static int renders; /* how often a line was written */

static void
write_made (const void *context, struct json *json, const struct globs *groups, const struct viewer *viewer)
{
  (void) viewer;
  renders++;
  json_object (json);
  json_key (json, groups ? "part" : "whole");
  json_text (json, context);
  json_object_end (json);
  json_newline (json);
}

static bool
has_network (const void *context, const struct globs *groups)
{
  (void) context;
  return globs_match (groups, "network");
}

static const struct stream_line node_line_made = {
  .type = "node", .node = "n1", .write = write_made, .has = has_network, .context = "n1"
};
static const struct stream_line event_made = { .type = "event", .node = "n2", .write = write_made, .context = "e" };
static const struct stream_line own_event = { .type = "event", .write = write_made, .context = "own" };

static void
ready (void *context)
{
  ++*(int *) context;
}

/* What a reader with that filter gets of the three lines above. */
static void
check_filter (const struct stream_filter *filter, const char *expected)
{
  struct stream *stream = stream_create ();
  uint64_t dropped = 0;
  int woken = 0, pair[2];
  char text[4096];
  struct outlet *outlet;
  struct stream_reader *reader;
  ssize_t got;

  assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM, 0, pair), 0);
  outlet = outlet_create (pair[0], OUTLET_SOCKET, QUEUE, &dropped);
  reader = stream_attach (stream, filter, &viewer_all, outlet, ready, &woken);
  stream_put (stream, &node_line_made);
  stream_put (stream, &event_made);
  stream_put (stream, &own_event);
  stream_flush (stream);
  stream_flush (stream);
  assert_int_equal (woken, *expected ? 1 : 0);
  assert_int_equal (outlet_flush (outlet), 0);
  got = recv (pair[1], text, sizeof text - 1, MSG_DONTWAIT);
  text[got < 0 ? 0 : got] = '\0';
  assert_string_equal (text, expected);
  stream_detach (reader);
  outlet_destroy (outlet);
  stream_destroy (stream);
  close (pair[0]);
  close (pair[1]);
}

static void
test_filters (void **state)
{
  (void) state;
#define NODE "{\"whole\":\"n1\"}\n"
#define PART "{\"part\":\"n1\"}\n"
#define EVENT "{\"whole\":\"e\"}\n"
#define OWN "{\"whole\":\"own\"}\n"
  check_filter (&(struct stream_filter){ "", "", "" }, NODE EVENT OWN);
  check_filter (&(struct stream_filter){ "n1", "", "" }, NODE);
  check_filter (&(struct stream_filter){ "x,n?", "", "" }, NODE EVENT);
  check_filter (&(struct stream_filter){ ",,n[2-9]*,", "", "" }, EVENT);
  check_filter (&(struct stream_filter){ "", "net*", "" }, PART); /* with a group, node lines alone */
  check_filter (&(struct stream_filter){ "", "net*", "*" }, PART EVENT OWN);
  check_filter (&(struct stream_filter){ "", "disk_io", "" }, "");
  check_filter (&(struct stream_filter){ "", "", "event" }, EVENT OWN);
  check_filter (&(struct stream_filter){ "n3", "", "" }, "");
}

static void
test_rendered_once_for_all (void **state)
{
  struct stream *stream = stream_create ();
  struct stream_filter all = { "", "", "" };
  struct outlet *outlets[10];
  struct stream_reader *readers[10];
  uint64_t dropped = 0;
  int woken = 0;

  (void) state;
  renders = 0;
  stream_put (stream, &node_line_made);
  assert_int_equal (renders, 0); /* nobody reads */
  for (int i = 0; i < 10; i++) {
    outlets[i] = outlet_create (-1, OUTLET_SOCKET, QUEUE, &dropped);
    readers[i] = stream_attach (stream, &all, &viewer_all, outlets[i], ready, &woken);
  }
  stream_put (stream, &node_line_made);
  assert_int_equal (renders, 1);
  for (int i = 0; i < 10; i++) {
    stream_detach (readers[i]);
    outlet_destroy (outlets[i]);
  }
  stream_destroy (stream);
}

/* ---- outlets ---- */

static void
put_text (struct outlet *outlet, int number)
{
  char text[128];
  int length = snprintf (text, sizeof text, "{\"number\":%d,\"padding\":\"%060d\"}\n", number, 0);
  struct line *line = line_create (text, (size_t) length);

  outlet_put (outlet, line);
  line_release (line);
}

/* Reads all there is, flushing as there is room; every line must be whole. Returns the sum of dropped lines that were
 * told, and in `last` the last number. */
static uint64_t
read_all (struct outlet *outlet, int fd, int *last, size_t *lines)
{
  struct buffer text = { 0 };
  uint64_t told = 0;
  char *line, *rest;

  for (;;) {
    int left = outlet_flush (outlet);
    ssize_t got = read (fd, buffer_reserve (&text, 4096), 4096);
    text.length += got > 0 ? (size_t) got : 0;
    if (left == 0 && got < 0)
      break;
  }
  buffer_add (&text, "", 1);
  rest = text.data;
  while ((line = strsep (&rest, "\n")) && *line) {
    const char *dropped = strstr (line, "\"event\":\"dropped\",\"lines\":");
    assert_int_equal (line[0], '{');
    assert_int_equal (line[strlen (line) - 1], '}');
    if (dropped)
      told += strtoull (strrchr (dropped, ':') + 1, NULL, 10);
    else
      *last = atoi (line + strlen ("{\"number\":"));
    *lines += !dropped;
  }
  buffer_free (&text);
  return told;
}

static void
check_slow_reader (int from, int to, enum outlet_kind kind)
{
  uint64_t dropped = 0, told;
  struct outlet *outlet = outlet_create (from, kind, QUEUE, &dropped);
  int last = -1;
  size_t lines = 0;

  fcntl (to, F_SETFL, O_NONBLOCK);
  for (int i = 0; i < 20000; i++) { /* 2 MB to nobody: no wait, no more memory than the queue has */
    put_text (outlet, i);
    if (i % 16 == 0)
      assert_true (outlet_flush (outlet) >= 0);
  }
  assert_true (dropped > 0);
  told = read_all (outlet, to, &last, &lines);
  assert_int_equal (told, dropped);
  assert_int_equal (lines + dropped, 20000);
  assert_true (outlet_empty (outlet));
  put_text (outlet, 77777); /* and it goes on */
  told = read_all (outlet, to, &last, &lines);
  assert_int_equal (told, 0);
  assert_int_equal (last, 77777);
  outlet_destroy (outlet);
  close (from);
  close (to);
}

static void
test_slow_reader_of_a_socket (void **state)
{
  int pair[2];

  (void) state;
  assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM, 0, pair), 0);
  check_slow_reader (pair[0], pair[1], OUTLET_SOCKET);
}

static void
test_slow_reader_of_a_shared_pipe (void **state)
{
  int ends[2];

  (void) state;
  assert_int_equal (pipe (ends), 0);
  check_slow_reader (ends[1], ends[0], OUTLET_SHARED);
  assert_int_equal (pipe (ends), 0);
  fcntl (ends[1], F_SETFL, O_NONBLOCK);
  check_slow_reader (ends[1], ends[0], OUTLET_OPEN);
}

static void
test_line_larger_than_the_queue (void **state)
{
  char *text = memory_new (QUEUE * 3, 1);
  struct line *line;
  uint64_t dropped = 0;
  struct outlet *outlet = outlet_create (-1, OUTLET_SOCKET, QUEUE, &dropped);

  (void) state;
  memset (text, 'x', QUEUE * 3);
  line = line_create (text, QUEUE * 3);
  put_text (outlet, 1);
  outlet_put (outlet, line);
  assert_int_equal (dropped, 0); /* a combined line of many nodes comes behind those of the nodes */
  outlet_put (outlet, line);
  assert_int_equal (dropped, 1);
  line_release (line);
  outlet_destroy (outlet);
  free (text);
}

static void
test_line_larger_than_any (void **state)
{
  size_t length = (size_t) 64 * 1024 * 1024 + 1;
  struct line *line = memory_new (1, sizeof *line + length);
  uint64_t dropped = 0;
  struct outlet *outlet = outlet_create (-1, OUTLET_SOCKET, QUEUE, &dropped);

  (void) state;
  line->users = 1;
  line->length = length;
  outlet_put (outlet, line);
  assert_int_equal (dropped, 1);
  assert_true (outlet_empty (outlet));
  outlet_destroy (outlet);
  line_release (line);
}

/* A blocking pipe that others hold too: poll says that there is room for a piece, not for a long line. */
static void
test_long_line_into_a_shared_pipe (void **state)
{
  size_t length = 1000000;
  char *text = memory_new (length, 1);
  struct line *line = line_create (text, length);
  uint64_t dropped = 0;
  int ends[2];
  struct outlet *outlet;

  (void) state;
  assert_int_equal (pipe (ends), 0);
  outlet = outlet_create (ends[1], OUTLET_SHARED, QUEUE, &dropped);
  outlet_put (outlet, line);
  alarm (120); /* it would hang for good */
  assert_int_equal (outlet_flush (outlet), 1);
  alarm (0);
  line_release (line);
  outlet_destroy (outlet);
  close (ends[0]);
  close (ends[1]);
  free (text);
}

static void
test_reader_gone_and_disk_full (void **state)
{
  uint64_t dropped = 0;
  int ends[2], full = open ("/dev/full", O_WRONLY);
  struct outlet *outlet;

  (void) state;
  assert_int_equal (pipe (ends), 0);
  close (ends[0]);
  outlet = outlet_create (ends[1], OUTLET_SHARED, QUEUE, &dropped);
  put_text (outlet, 1);
  assert_int_equal (outlet_flush (outlet), -EPIPE);
  outlet_destroy (outlet);
  close (ends[1]);
  outlet = outlet_create (full, OUTLET_OPEN, QUEUE, &dropped);
  put_text (outlet, 1);
  assert_int_equal (outlet_flush (outlet), -ENOSPC);
  outlet_destroy (outlet);
  close (full);
}

/* ---- viewers ---- */

/* The line is of "ana": she sees her own of it, others what is of nobody. */
static enum stream_share
share_made (const void *context, const struct viewer *viewer)
{
  if (strcmp (context, "hidden") == 0)
    return STREAM_HIDDEN;
  return viewer->name[0] == 'a' || viewer->name[0] == 'b' ? STREAM_OWN : STREAM_BARE;
}

static void
write_seen (const void *context, struct json *json, const struct globs *groups, const struct viewer *viewer)
{
  (void) context;
  (void) groups;
  renders++;
  json_text (json, viewer->all ? "whole" : *viewer->name ? viewer->name : "bare");
  json_newline (json);
}

/* Each sees what is his, and what several see alike is rendered once. */
static void
test_viewers (void **state)
{
  static const struct viewer viewers[] = { { .all = true },
                                           { .uid = 1, .name = "ana" },
                                           { .uid = 2, .name = "bob" },
                                           { .uid = 3, .name = "zoe" },
                                           { .uid = 1, .name = "ana" },
                                           { .all = true },
                                           { .uid = 4, .name = "yan" },
                                           { .uid = 0, .name = "" } };
  static const char *const expected[] = { "whole", "ana", "bob", "bare", "ana", "whole", "bare", "bare" };
  enum { COUNT = sizeof viewers / sizeof viewers[0] };
  const struct stream_filter all = { "", "", "" };
  struct stream_line line = {
    .type = "node", .node = "n1", .write = write_seen, .share = share_made, .context = "ana"
  };
  struct stream *stream = stream_create ();
  struct stream_reader *readers[COUNT];
  struct outlet *outlets[COUNT];
  uint64_t dropped = 0;
  int pairs[COUNT][2], woken = 0;
  char text[256], whole[256];

  (void) state;
  for (size_t i = 0; i < COUNT; i++) {
    assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
    outlets[i] = outlet_create (pairs[i][0], OUTLET_SOCKET, QUEUE, &dropped);
    readers[i] = stream_attach (stream, &all, &viewers[i], outlets[i], ready, &woken);
  }
  renders = 0;
  stream_put (stream, &line);
  assert_in_range (renders, 4, 5); /* whole, bare, bob, and ana, whom others stand between */
  line.context = "hidden";
  stream_put (stream, &line);
  for (size_t i = 0; i < COUNT; i++) {
    ssize_t got;
    outlet_flush (outlets[i]);
    got = recv (pairs[i][1], text, sizeof text - 1, MSG_DONTWAIT);
    assert_true (got > 0);
    text[got] = '\0';
    snprintf (whole, sizeof whole, "\"%s\"\n", expected[i]);
    if (viewers[i].all)
      strcat (whole, "\"whole\"\n");
    assert_string_equal (text, whole);
    stream_detach (readers[i]);
    outlet_destroy (outlets[i]);
    close (pairs[i][0]);
    close (pairs[i][1]);
  }
  stream_destroy (stream);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_viewers),
    cmocka_unit_test (test_filters),
    cmocka_unit_test (test_rendered_once_for_all),
    cmocka_unit_test (test_slow_reader_of_a_socket),
    cmocka_unit_test (test_slow_reader_of_a_shared_pipe),
    cmocka_unit_test (test_line_larger_than_the_queue),
    cmocka_unit_test (test_line_larger_than_any),
    cmocka_unit_test (test_long_line_into_a_shared_pipe),
    cmocka_unit_test (test_reader_gone_and_disk_full),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  signal (SIGPIPE, SIG_IGN);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
