/* The server: asked by sockets, while its owner beats, reads files again, and ends it. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "synop/http.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "tests/unit/test_folder.h"

#define LINES 5000

struct scene {
  char folder[TEST_FOLDER_SIZE];
  struct http_settings settings;
  struct http *http;
  atomic_uint made, freed; /* bodies */
  int pipe[2];             /* of bodies that wait: a byte in it is a piece */
  atomic_uint waits;       /* of them: how often one did */
  bool broken;
};

/* A body of many lines. */
struct body {
  struct scene *scene;
  unsigned line;
};

static bool
body_next (void *context, struct buffer *out, size_t limit)
{
  struct body *body = context;

  while (out->length < limit && body->line < LINES)
    buffer_printf (out, "line %u\n", body->line++);
  return body->line < LINES;
}

static void
body_free (void *context)
{
  struct body *body = context;

  body->scene->freed++;
  free (body);
}

static void
answer_lines (void *context, const struct http_request *request, const char *rest, struct http_reply *reply)
{
  struct body *body = memory_new (1, sizeof *body);

  (void) request;
  assert_string_equal (rest, "");
  body->scene = context;
  body->scene->made++;
  buffer_free (&reply->text);
  *reply =
      (struct http_reply){ .status = 200, .type = "text/plain", .context = body, .next = body_next, .free = body_free };
}

static void
answer_echo (void *context, const struct http_request *request, const char *rest, struct http_reply *reply)
{
  char *argument = http_request_arguments (request, "a");

  (void) context;
  http_reply_text (reply, 200, "text/plain", rest);
  buffer_printf (&reply->text, "|%s|%s", argument ? argument : "-",
                 http_request_accepts (request, "a/b") ? "a/b" : "other");
  free (argument);
}

/* ---- bodies that wait ---- */

static bool
piece_wait (void *context, struct http_wait *wait)
{
  struct body *body = context;
  struct pollfd ready = { .fd = body->scene->pipe[0], .events = POLLIN };

  if (poll (&ready, 1, 0) == 1)
    return false;
  *wait = (struct http_wait){ body->scene->pipe[0], INT64_MAX };
  body->scene->waits++;
  return true;
}

/* Ends with a '.', or where nobody can write any more. */
static bool
piece_next (void *context, struct buffer *out, size_t limit)
{
  struct body *body = context;
  char piece;

  (void) limit;
  if (read (body->scene->pipe[0], &piece, 1) <= 0)
    return false;
  buffer_add (out, &piece, 1);
  return piece != '.';
}

static void
piece_begin (void *context, struct http_reply *reply)
{
  char piece;

  assert_int_equal (read (((struct body *) context)->scene->pipe[0], &piece, 1), 1);
  reply->status = piece == '!' ? 404 : 200;
  reply->type = "text/plain";
}

static bool
piece_broken (void *context)
{
  return ((struct body *) context)->scene->broken;
}

static void
answer_waiting (struct scene *scene, struct http_reply *reply)
{
  struct body *body = memory_new (1, sizeof *body);

  body->scene = scene;
  scene->made++;
  buffer_free (&reply->text);
  *reply = (struct http_reply){ .status = 200,
                                .type = "text/plain",
                                .context = body,
                                .next = piece_next,
                                .free = body_free,
                                .wait = piece_wait,
                                .broken = piece_broken };
}

static void
answer_later (void *context, const struct http_request *request, const char *rest, struct http_reply *reply)
{
  (void) request;
  (void) rest;
  answer_waiting (context, reply);
  reply->begin = piece_begin;
}

static void
answer_endless (void *context, const struct http_request *request, const char *rest, struct http_reply *reply)
{
  (void) request;
  (void) rest;
  answer_waiting (context, reply);
  reply->endless = true;
}

static const struct http_route routes[] = { { "/lines", "many lines", answer_lines },
                                            { "/echo/", NULL, answer_echo },
                                            { "/later", NULL, answer_later, .json = true },
                                            { "/endless", NULL, answer_endless } };

static int
set_up (void **state)
{
  struct scene *scene = memory_new (1, sizeof *scene);
  const struct http_site site = { routes, sizeof routes / sizeof routes[0], scene };
  struct http_options options = { .settings = &scene->settings, .title = "a title", .sites = &site, .site_count = 1 };
  struct error error;
  bool taken;

  log_set_level (LOG_LEVEL_ERROR);
  test_folder_make (scene->folder);
  scene->settings = (struct http_settings){ (char *) "127.0.0.1:0", (char *) "", (char *) "", (char *) "",
                                            HTTP_AUTH_PASSWORD,     false,       (char *) "", (char *) "" };
  assert_int_equal (pipe (scene->pipe), 0);
  scene->http = http_create (&options, &taken, &error);
  assert_non_null (scene->http);
  *state = scene;
  return 0;
}

static int
tear_down (void **state)
{
  struct scene *scene = *state;

  http_destroy (scene->http);
  assert_int_equal (scene->freed, scene->made);
  close (scene->pipe[0]);
  close (scene->pipe[1]);
  test_folder_remove (scene->folder);
  free (scene);
  return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, set_up, tear_down)

static int
connect_to (const struct scene *scene)
{
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
  int fd = socket (AF_INET, SOCK_STREAM, 0);

  address.sin_port = htons ((uint16_t) atoi (strrchr (http_url (scene->http), ':') + 1));
  assert_int_equal (connect (fd, (const struct sockaddr *) &address, sizeof address), 0);
  return fd;
}

/* The whole answer, with a NUL. */
static char *
ask (const struct scene *scene, const char *request)
{
  struct buffer answer = { 0 };
  int fd = connect_to (scene);
  ssize_t got;

  assert_int_equal (write (fd, request, strlen (request)), strlen (request));
  while ((got = read (fd, buffer_reserve (&answer, 65536), 65536)) > 0)
    answer.length += (size_t) got;
  close (fd);
  buffer_add (&answer, "", 1);
  return answer.data;
}

static void
check (const struct scene *scene, const char *request, const char *status, const char *holds)
{
  char *answer = ask (scene, request);

  assert_memory_equal (answer, "HTTP/1.", strlen ("HTTP/1."));
  assert_memory_equal (answer + strlen ("HTTP/1.x "), status, 3);
  if (strstr (answer, holds) == NULL)
    fail_msg ("no %s in %s", holds, answer);
  free (answer);
}

static void
test_routes (void **state)
{
  struct scene *scene = *state;

  check (scene, "GET / HTTP/1.0\r\n\r\n", "200", "<a href=\"lines\">");
  check (scene, "GET /none HTTP/1.0\r\n\r\n", "404", "no such page");
  check (scene, "GET /linesx HTTP/1.0\r\n\r\n", "404", "");
  check (scene, "GET /echo/x/y?a=%41&b HTTP/1.0\r\nAccept: c/d, a/b;q=0.1\r\n\r\n", "200", "\r\n\r\nx/y|A|a/b");
  check (scene, "GET /echo/?a=1&b=2&a=3&a HTTP/1.0\r\n\r\n", "200", "\r\n\r\n|1,3|other");
  check (scene, "GET /echo/ HTTP/1.0\r\n\r\n", "200", "\r\n\r\n|-|other");
  check (scene, "PUT / HTTP/1.0\r\n\r\n", "405", "Allow: GET, HEAD");
  check (scene, "GET /lines HTTP/1.0\r\n\r\n", "200", "\nline 4999\n");
  assert_int_equal (scene->made, 1);
}

static void
test_health (void **state)
{
  struct scene *scene = *state;

  check (scene, "GET /healthz HTTP/1.0\r\n\r\n", "200", "");
  check (scene, "GET /readyz HTTP/1.0\r\n\r\n", "503", "not ready");
  http_beat (scene->http, clock_monotonic (), true);
  check (scene, "GET /readyz HTTP/1.0\r\n\r\n", "200", "");
  http_beat (scene->http, clock_monotonic () - 6 * NS_PER_S, true);
  check (scene, "GET /readyz HTTP/1.0\r\n\r\n", "503", "stands still");
  check (scene, "GET /healthz HTTP/1.0\r\n\r\n", "503", "");
}

/* Who goes away in the middle of a body costs nothing that stays. */
static void
test_gone (void **state)
{
  static const char request[] = "GET /lines HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n";
  struct scene *scene = *state;
  struct http_counts counts;

  for (size_t i = 0; i < 20; i++) {
    int fd = connect_to (scene);
    assert_int_equal (write (fd, request, strlen (request)), strlen (request));
    if (i % 2)
      assert_true (read (fd, (char[10]){ 0 }, 10) > 0);
    close (fd);
  }
  check (scene, "GET / HTTP/1.0\r\n\r\n", "200", "");
  http_count (scene->http, &counts);
  assert_true (counts.requests > 1 && counts.refused == 0);
}

static int
send_to (const struct scene *scene, const char *request)
{
  int fd = connect_to (scene);

  assert_int_equal (write (fd, request, strlen (request)), strlen (request));
  return fd;
}

static void
wait_for (const atomic_uint *count, unsigned least)
{
  while (*count < least)
    sched_yield ();
}

static void
put (const struct scene *scene, const char *pieces)
{
  assert_int_equal (write (scene->pipe[1], pieces, strlen (pieces)), strlen (pieces));
}

/* Until the connection's end. */
static void
check_rest (int fd, const char *status, const char *end)
{
  char answer[4096];
  size_t length = 0;
  ssize_t got;

  while ((got = read (fd, answer + length, sizeof answer - 1 - length)) > 0)
    length += (size_t) got;
  answer[length] = '\0';
  close (fd);
  assert_memory_equal (answer, "HTTP/1.1 ", 9);
  assert_memory_equal (answer + 9, status, 3);
  if (length < strlen (end) || strcmp (answer + length - strlen (end), end) != 0)
    fail_msg ("no %s at the end of %s", end, answer);
}

#define ONCE(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

/* Its status is known when the first byte comes; others are answered meanwhile. */
static void
test_waits (void **state)
{
  struct scene *scene = *state;
  int fd = send_to (scene, ONCE ("/later"));

  wait_for (&scene->waits, 1);
  check (scene, "GET /lines HTTP/1.0\r\n\r\n", "200", "\nline 4999\n");
  put (scene, "!");
  wait_for (&scene->waits, 2);
  put (scene, "a");
  wait_for (&scene->waits, 3);
  put (scene, "b.");
  check_rest (fd, "404", "0\r\n\r\n");
  put (scene, "=c.");
  check (scene, "GET /later HTTP/1.0\r\n\r\n", "200", "\r\n\r\nc.");
  check (scene, "PUT /later HTTP/1.0\r\n\r\n", "405", "{\"error\":{\"message\":\"GET and HEAD only\"}}");
  scene->broken = true;
  put (scene, "=d.");
  check_rest (send_to (scene, ONCE ("/later")), "200", ".\r\n");
}

/* Who goes away while it waits, before its status is known and after, ends it. */
static void
test_gone_while_waiting (void **state)
{
  struct scene *scene = *state;
  int fd = send_to (scene, ONCE ("/later"));

  wait_for (&scene->waits, 1);
  close (fd);
  wait_for (&scene->freed, 1);
  fd = send_to (scene, ONCE ("/endless"));
  wait_for (&scene->waits, 2);
  put (scene, "x");
  wait_for (&scene->waits, 3);
  close (fd);
  wait_for (&scene->freed, 2);
}

/* With the server, and as answers end, if that comes soon. */
static void
test_endless (void **state)
{
  struct scene *scene = *state;
  int fd = send_to (scene, ONCE ("/endless")), other = send_to (scene, ONCE ("/endless"));

  wait_for (&scene->waits, 2);
  close (scene->pipe[1]);
  wait_for (&scene->freed, 2);
  check_rest (fd, "200", "0\r\n\r\n");
  check_rest (other, "200", "0\r\n\r\n");
  assert_int_equal (pipe (scene->pipe), 0);
  fd = send_to (scene, ONCE ("/endless"));
  wait_for (&scene->made, 3);
  http_destroy (scene->http); /* and who waits is ended */
  scene->http = NULL;
  assert_int_equal (scene->freed, 3);
  close (fd);
}

/* Compressed; each piece is there as soon as it is made: it ends where what was compressed is flushed. */
static void
test_endless_gzip (void **state)
{
  static const char flushed[] = { 0, 0, (char) 0xff, (char) 0xff };
  struct scene *scene = *state;
  int fd = send_to (scene, "GET /endless HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n");
  struct timeval patience = { 60, 0 };
  struct buffer got = { 0 };

  setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  for (size_t piece = 1; piece <= 3; piece++) {
    size_t ends = 0;
    put (scene, "x");
    while (ends < piece) {
      ssize_t more = read (fd, buffer_reserve (&got, 4096), 4096);
      assert_true (more > 0);
      got.length += (size_t) more;
      ends = 0;
      for (size_t i = 0; i + sizeof flushed <= got.length; i++)
        ends += memcmp (got.data + i, flushed, sizeof flushed) == 0;
    }
  }
  put (scene, ".");
  wait_for (&scene->freed, 1);
  assert_non_null (strstr (buffer_text (&got), "Content-Encoding: gzip"));
  buffer_free (&got);
  close (fd);
}

static void
test_reload (void **state)
{
  struct scene *scene = *state;
  char path[TEST_FOLDER_SIZE + 16];
  struct buffer line = { 0 };
  struct error error;
  FILE *file;
  char *answer;

  snprintf (path, sizeof path, "%s/passwords", scene->folder);
  scene->settings.password_file = path;
  assert_int_equal (http_reload (scene->http, &error), -1);
  assert_int_equal (http_password_line ("anna", "secret", &line, &error), 0);
  file = fopen (path, "w");
  fwrite (line.data, 1, line.length, file);
  fclose (file);
  buffer_free (&line);
  assert_int_equal (http_reload (scene->http, &error), 0);
  for (bool asked = false; !asked; free (answer)) { /* the thread takes it when it comes to it */
    answer = ask (scene, "GET / HTTP/1.0\r\n\r\n");
    asked = strstr (answer, " 401 ") != NULL;
  }
  check (scene, "GET / HTTP/1.0\r\nAuthorization: Basic YW5uYTpzZWNyZXQ=\r\n\r\n", "200", "");
  check (scene, "GET /healthz HTTP/1.0\r\n\r\n", "200", "");
  scene->settings.password_file = (char *) "";
  assert_int_equal (http_reload (scene->http, &error), 0);
}

static void
test_taken (void **state)
{
  struct scene *scene = *state;
  char listen_to[64];
  struct http_settings settings = scene->settings;
  struct http_options options = { .settings = &settings, .title = "" };
  struct error error;
  bool taken;

  snprintf (listen_to, sizeof listen_to, "127.0.0.1:%d", atoi (strrchr (http_url (scene->http), ':') + 1));
  settings.listen = listen_to;
  assert_null (http_create (&options, &taken, &error));
  assert_true (taken);
  settings.listen = (char *) "127.0.0.1:0";
  settings.password_file = (char *) "/no/such/file";
  assert_null (http_create (&options, &taken, &error));
  assert_false (taken);
}

int
main (void)
{
  const struct CMUnitTest tests[] = { TEST (test_routes),
                                      TEST (test_health),
                                      TEST (test_gone),
                                      TEST (test_reload),
                                      TEST (test_taken),
                                      TEST (test_waits),
                                      TEST (test_gone_while_waiting),
                                      TEST (test_endless),
                                      TEST (test_endless_gzip) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
