/* The UNIX socket: requests, rubbish, clients that do nothing, too many clients, a socket file that was left behind. */
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
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/server/serve.h"
#include "synop/clock.h"
#include "synop/local_socket.h"
#include "synop/memory.h"
#include "tests/unit/test_folder.h"

struct scene {
  char *folder, *path;
  struct loop *loop;
  struct loop_timer *timer;
  struct stream *stream;
  struct serve *serve;
  uint64_t dropped;
  int reloads;
  bool reload_fails;
  struct serve_flush asked;
  uint32_t uid;     /* who told of a job last */
  uint64_t tickets; /* given to flushes; while it is 0 they are answered at once */
};

static void
give_groups (void *context, const struct viewer *viewer, bool json, struct buffer *out)
{
  (void) viewer;
  (void) context;
  buffer_add_string (out, json ? "{}\n" : "load\nnetwork\n");
}

static void
give_nodes (void *context, const struct viewer *viewer, bool json, struct buffer *out)
{
  (void) viewer;
  (void) context;
  buffer_add_string (out, json ? "[]\n" : "n1\tup\nn9\tnever\n");
}

static void
give_alerts (void *context, const struct viewer *viewer, struct buffer *out)
{
  (void) viewer;
  (void) context;
  buffer_add_string (out, "{\"node\":\"n9\"}\n");
}

static void
give_jobs (void *context, const struct viewer *viewer, struct buffer *out)
{
  (void) viewer;
  (void) context;
  buffer_add_string (out, "{\"job_id\":\"7\"}\n");
}

static void
give_status (void *context, const struct viewer *viewer, bool table, struct buffer *out)
{
  (void) viewer;
  (void) context;
  buffer_add_string (out, table ? "TABLE\n" : "{\"type\":\"status\"}\n");
}

static int
do_reload (void *context, struct error *error)
{
  struct scene *scene = context;

  scene->reloads++;
  return scene->reload_fails ? error_set (error, "n1.pub is broken") : 0;
}

static uint64_t
begin_flush (void *context, const struct serve_flush *what, struct buffer *out)
{
  struct scene *scene = context;

  scene->asked = *what;
  if (scene->tickets)
    return ++scene->tickets;
  buffer_add_string (out, "other\n");
  return 0;
}

static void
take_job (void *context, const struct job_announcement *word, struct buffer *out)
{
  struct scene *scene = context;

  scene->uid = word->uid;
  buffer_printf (out, "ok %s %s %s\n", word->start ? "start" : "end", word->label, word->user);
}

static void
stop_loop (void *context, int64_t due_ns)
{
  (void) due_ns;
  loop_stop (context);
}

/* Lets the loop do what there is to do. */
static void
turn (struct scene *scene)
{
  loop_timer_set (scene->timer, clock_monotonic () + 20 * NS_PER_MS);
  loop_run (scene->loop);
}

static struct serve *
open_serve (struct scene *scene, struct error *error)
{
  struct serve_options options = { .loop = scene->loop,
                                   .stream = scene->stream,
                                   .path = scene->path,
                                   .queue_bytes = 65536,
                                   .dropped = &scene->dropped,
                                   .context = scene,
                                   .status = give_status,
                                   .groups = give_groups,
                                   .nodes = give_nodes,
                                   .alerts = give_alerts,
                                   .jobs = give_jobs,
                                   .reload = do_reload,
                                   .flush = begin_flush,
                                   .job = take_job };

  return serve_create (&options, error);
}

static int
set_up (void **state)
{
  struct scene *scene = memory_new (1, sizeof *scene);
  struct error error;
  char folder[TEST_FOLDER_SIZE];

  test_folder_make (folder);
  scene->folder = memory_string (folder);
  scene->path = memory_format ("%s/run/a.sock", folder); /* the folder is made */
  scene->loop = loop_create ();
  scene->timer = loop_timer_add (scene->loop, stop_loop, scene->loop);
  scene->stream = stream_create ();
  scene->serve = open_serve (scene, &error);
  assert_non_null (scene->serve);
  *state = scene;
  return 0;
}

static int
tear_down (void **state)
{
  struct scene *scene = *state;
  char *run = memory_format ("%s/run", scene->folder);

  serve_destroy (scene->serve);
  assert_int_equal (access (scene->path, F_OK), -1); /* removed at the end */
  stream_destroy (scene->stream);
  loop_timer_remove (scene->timer);
  loop_destroy (scene->loop);
  assert_int_equal (rmdir (run), 0);
  rmdir (scene->folder);
  free (run);
  free (scene->folder);
  free (scene->path);
  free (scene);
  return 0;
}

static int
attach (struct scene *scene)
{
  int fd = local_socket_connect (scene->path, NULL);

  assert_true (fd >= 0);
  fcntl (fd, F_SETFL, O_NONBLOCK);
  return fd;
}

/* What is answered to these bytes. */
static void
check_answer (struct scene *scene, const char *bytes, size_t length, const char *expected)
{
  int fd = attach (scene);
  char text[1024] = "";
  ssize_t got;

  assert_int_equal (send (fd, bytes, length, MSG_NOSIGNAL), length);
  turn (scene);
  got = recv (fd, text, sizeof text - 1, 0);
  assert_true (got >= 0);
  text[got] = '\0';
  assert_memory_equal (text, expected, strlen (expected));
  assert_int_equal (recv (fd, text, sizeof text, 0), 0); /* closed */
  close (fd);
}

static void
test_requests (void **state)
{
  struct scene *scene = *state;

#define CHECK(request, answer) check_answer (scene, request, sizeof request - 1, answer)
  CHECK ("status\n", "{\"type\":\"status\"}\n");
  CHECK ("status\ttable\n", "TABLE\n");
  CHECK ("reload\n", "ok\n");
  assert_int_equal (scene->reloads, 1);
  scene->reload_fails = true;
  CHECK ("reload\n", "error n1.pub is broken\n");
  CHECK ("status\tpdf\n", "error ");
  CHECK ("groups\n", "load\nnetwork\n");
  CHECK ("groups\tjson\n", "{}\n");
  CHECK ("nodes\tjson\n", "[]\n");
  CHECK ("groups\tall\n", "error ");
  CHECK ("nodes\n", "n1\tup\nn9\tnever\n");
  CHECK ("nodes\tall\n", "error ");
  CHECK ("alerts\n", "{\"node\":\"n9\"}\n");
  CHECK ("jobs\n", "{\"job_id\":\"7\"}\n");
  CHECK ("jobs\tall\n", "error ");
  CHECK ("reload\tall\n", "error ");
  CHECK ("\n", "error ");
  CHECK ("shutdown\n", "error ");
  CHECK ("tail\tcolour=red\n", "error tail takes");
  CHECK ("tail\0\n", "error ");
  CHECK ("\xff\xfe\x00\x01 GET / HTTP/1.1\r\n\r\n", "error ");
  assert_int_equal (serve_clients (scene->serve), 0);
}

/* Who asks is what the kernel says of it. */
static void
test_job (void **state)
{
  struct scene *scene = *state;

  scene->uid = getuid () + 1;
  CHECK ("job\tstart\t5\tuser=bob\tname=x\n", "ok start 5 bob\n");
  assert_int_equal (scene->uid, getuid ());
  CHECK ("job\tend\t5\tuser=bob\n", "ok end 5 bob\n");
  CHECK ("job\tend\t5\tuid=0\n", "error job takes");
}

static void
test_flush (void **state)
{
  struct scene *scene = *state;
  int first, second, third;
  char text[64] = "";

  CHECK ("flush\tto\n", "error flush takes");
  CHECK ("flush\tto=\n", "error flush takes");
  CHECK ("flush\tto=1x\n", "error flush takes");
  CHECK ("flush\tto=9999999999999999999\n", "error flush takes");
  CHECK ("flush\tfile=7\n", "error flush takes");
  CHECK ("flush\tfile=7:\n", "error flush takes");
  CHECK ("flush\tpath=x\n", "error flush takes");
  CHECK ("flush\n", "other\n");
  assert_true (scene->asked.to_ns == INT64_MAX && scene->asked.inode == 0);
  CHECK ("flush\tto=-5\tfile=7:18446744073709551615\n", "other\n");
  assert_true (scene->asked.to_ns == -5 && scene->asked.device == 7 && scene->asked.inode == UINT64_MAX);

  scene->tickets = 1;
  first = attach (scene);
  second = attach (scene);
  third = attach (scene);
  send (first, "flush\n", 6, MSG_NOSIGNAL);
  turn (scene);
  send (second, "flush\n", 6, MSG_NOSIGNAL);
  send (third, "flush\n", 6, MSG_NOSIGNAL);
  turn (scene);
  serve_tick (scene->serve, clock_monotonic () + 3600 * NS_PER_S); /* it takes as long as it takes */
  assert_int_equal (serve_clients (scene->serve), 3);
  close (third); /* waits no longer */
  turn (scene);
  assert_int_equal (serve_clients (scene->serve), 2);
  serve_flushed (scene->serve, 2, "ok\n", 3);
  turn (scene);
  assert_int_equal (recv (first, text, sizeof text, 0), 3);
  assert_memory_equal (text, "ok\n", 3);
  assert_int_equal (recv (first, text, sizeof text, 0), 0);
  assert_int_equal (recv (second, text, sizeof text, 0), -1);
  serve_flushed (scene->serve, 9, "error full\n", 11);
  turn (scene);
  assert_int_equal (recv (second, text, sizeof text, 0), 11);
  assert_int_equal (serve_clients (scene->serve), 0);
  close (first);
  close (second);
}

static void
test_request_too_long (void **state)
{
  char bytes[4096];

  memset (bytes, 'a', sizeof bytes);
  check_answer (*state, bytes, sizeof bytes, "error the request is longer");
}

static void
test_client_that_does_not_ask (void **state)
{
  struct scene *scene = *state;
  int silent = attach (scene), half = attach (scene);
  char text[16];

  send (half, "sta", 3, MSG_NOSIGNAL);
  turn (scene);
  assert_int_equal (serve_clients (scene->serve), 2);
  serve_tick (scene->serve, clock_monotonic () + 9 * NS_PER_S);
  assert_int_equal (serve_clients (scene->serve), 2);
  serve_tick (scene->serve, clock_monotonic () + 11 * NS_PER_S);
  assert_int_equal (serve_clients (scene->serve), 0);
  assert_int_equal (recv (silent, text, sizeof text, 0), 0);
  close (silent);
  close (half);
}

static void
write_line (const void *context, struct json *json, const struct globs *groups, const struct viewer *viewer)
{
  (void) viewer;
  (void) groups;
  json_object (json);
  json_key (json, "text");
  json_text (json, context);
  json_object_end (json);
  json_newline (json);
}

static void
test_tail (void **state)
{
  struct scene *scene = *state;
  struct stream_line line = { .type = "node", .node = "n1", .write = write_line, .context = "hello" };
  int all = attach (scene), other = attach (scene);
  char text[256] = "";

  send (all, "tail\n", 5, MSG_NOSIGNAL);
  send (other, "tail\tnode=n2\ttype=*\n", 20, MSG_NOSIGNAL);
  turn (scene);
  send (all, "rubbish that follows", 20, MSG_NOSIGNAL);
  shutdown (all, SHUT_WR); /* as `nc -N` does: it goes on reading */
  turn (scene);
  stream_put (scene->stream, &line);
  stream_flush (scene->stream);
  turn (scene);
  assert_true (recv (all, text, sizeof text - 1, 0) > 0);
  assert_string_equal (text, "{\"text\":\"hello\"}\n");
  assert_int_equal (recv (other, text, sizeof text, 0), -1);
  assert_int_equal (errno, EAGAIN);
  serve_tick (scene->serve, clock_monotonic () + 3600 * NS_PER_S);
  assert_int_equal (serve_clients (scene->serve), 2); /* no deadline for who listens */
  close (all);
  close (other);
  turn (scene);
  assert_int_equal (serve_clients (scene->serve), 0);
}

static void
test_stopped_tail (void **state)
{
  struct scene *scene = *state;
  struct stream_line line = { .type = "node", .node = "n1", .write = write_line };
  char *large = memory_new (8001, 1);
  int fd = attach (scene);

  memset (large, 'y', 8000);
  line.context = large;
  send (fd, "tail\n", 5, MSG_NOSIGNAL);
  turn (scene);
  for (int i = 0; i < 1000; i++) {
    stream_put (scene->stream, &line);
    stream_flush (scene->stream);
  }
  assert_true (scene->dropped > 500);
  close (fd);
  turn (scene);
  assert_int_equal (serve_clients (scene->serve), 0);
  free (large);
}

static void
test_too_many_clients (void **state)
{
  struct scene *scene = *state;
  int fds[SERVE_CLIENTS_MAX + 5];
  char text[64] = "";

  for (size_t i = 0; i < SERVE_CLIENTS_MAX + 5; i++) {
    fds[i] = attach (scene);
    if (i % 32 == 0)
      turn (scene);
  }
  turn (scene);
  assert_int_equal (serve_clients (scene->serve), SERVE_CLIENTS_MAX);
  assert_int_equal (serve_refused (scene->serve), 5);
  assert_true (recv (fds[SERVE_CLIENTS_MAX + 4], text, sizeof text - 1, 0) > 0);
  assert_string_equal (text, "error too many clients\n");
  for (size_t i = 0; i < SERVE_CLIENTS_MAX + 5; i++)
    close (fds[i]);
  turn (scene);
  assert_int_equal (serve_clients (scene->serve), 0);
}

static void
test_second_aggregator (void **state)
{
  struct scene *scene = *state;
  struct error error;

  assert_null (open_serve (scene, &error));
  assert_non_null (strstr (error.text, "another aggregator answers"));
  check_answer (scene, "status\n", 7, "{\"type\":\"status\"}\n"); /* and the first is untouched */
}

static void
test_what_was_left_behind (void **state)
{
  struct scene *scene = *state;
  struct local_socket first, second;
  struct error error;
  char *path = memory_format ("%s/left.sock", scene->folder);
  struct stat status;
  int fd;

  assert_int_equal (local_socket_listen (&first, path, 0660, &error), 0);
  close (first.fd); /* as when it is killed: the file stays */
  assert_int_equal (local_socket_listen (&second, path, 0660, &error), 0);
  assert_int_equal (stat (path, &status), 0);
  assert_int_equal (status.st_mode & 0777, 0660);
  first.fd = dup (second.fd); /* the first one's end does not remove the second one's file */
  local_socket_close (&first);
  assert_int_equal (access (path, F_OK), 0);
  local_socket_close (&second);
  assert_int_equal (access (path, F_OK), -1);

  fd = open (path, O_CREAT | O_WRONLY, 0600); /* somebody's file */
  assert_true (fd >= 0);
  close (fd);
  assert_int_equal (local_socket_listen (&second, path, 0660, &error), -1);
  assert_non_null (strstr (error.text, "not a socket"));
  assert_int_equal (unlink (path), 0);
  free (path);
}

int
main (void)
{
#define SCENE_TEST(name) cmocka_unit_test_setup_teardown (name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
    SCENE_TEST (test_requests),
    SCENE_TEST (test_job),
    SCENE_TEST (test_flush),
    SCENE_TEST (test_request_too_long),
    SCENE_TEST (test_client_that_does_not_ask),
    SCENE_TEST (test_tail),
    SCENE_TEST (test_stopped_tail),
    SCENE_TEST (test_too_many_clients),
    SCENE_TEST (test_second_aggregator),
    SCENE_TEST (test_what_was_left_behind),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
