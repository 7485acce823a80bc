/* Files of a folder, the guard of requests, and proxies: what they refuse. */
#include "common/http/http_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/http/http_private.h"
#include "synop/clock.h"
#include "synop/memory.h"
#include "tests/unit/test_folder.h"

struct scene {
  char folder[TEST_FOLDER_SIZE], page[TEST_FOLDER_SIZE + 8], fetched[TEST_FOLDER_SIZE + 8];
  const char *folders[HTTP_FOLDERS_MAX];
  struct http_files files;
};

static void
put (const struct scene *scene, const char *name, const char *text)
{
  char path[TEST_FOLDER_SIZE + 64];
  FILE *file;

  snprintf (path, sizeof path, "%s/%s", scene->folder, name);
  file = fopen (path, "w");
  assert_non_null (file);
  fputs (text, file);
  fclose (file);
}

static void
make_folder (const struct scene *scene, const char *name)
{
  char path[TEST_FOLDER_SIZE + 64];

  snprintf (path, sizeof path, "%s/%s", scene->folder, name);
  assert_int_equal (mkdir (path, 0755), 0);
}

static void
make_link (const struct scene *scene, const char *to, const char *name)
{
  char path[TEST_FOLDER_SIZE + 64];

  snprintf (path, sizeof path, "%s/%s", scene->folder, name);
  assert_int_equal (symlink (to, path), 0);
}

static int
set_up (void **state)
{
  struct scene *scene = memory_new (1, sizeof *scene);

  test_folder_make (scene->folder);
  snprintf (scene->page, sizeof scene->page, "%s/page", scene->folder);
  snprintf (scene->fetched, sizeof scene->fetched, "%s/more", scene->folder);
  scene->folders[0] = scene->page;
  scene->folders[1] = scene->fetched;
  scene->files.folders = scene->folders;
  make_folder (scene, "page");
  make_folder (scene, "more");
  make_folder (scene, "more/plot");
  put (scene, "secret.js", "secret");
  put (scene, "page/main.js", "main");
  put (scene, "page/.hidden.js", "hidden");
  put (scene, "page/empty.css", "");
  put (scene, "page/program.sh", "sh");
  put (scene, "more/main.js", "other");
  put (scene, "more/plot/plot-1.esm.js", "plot");
  make_folder (scene, "page/folder.js");
  make_link (scene, "../secret.js", "page/link.js");
  make_link (scene, "..", "page/up");
  *state = scene;
  return 0;
}

static int
tear_down (void **state)
{
  struct scene *scene = *state;

  test_folder_remove (scene->folder);
  free (scene);
  return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, set_up, tear_down)

/* NULL: it is not there. */
static void
check (struct scene *scene, const char *path, const char *type, const char *text)
{
  struct http_reply reply = { 0 };
  bool found = http_file_answer (&scene->files, path, NULL, 1, &reply);

  assert_int_equal (found, text != NULL);
  if (text != NULL) {
    assert_int_equal (reply.status, 200);
    assert_string_equal (reply.type, type);
    assert_string_equal (buffer_text (&reply.text), text);
    assert_true (strlen (reply.tag) > 8);
  }
  buffer_free (&reply.text);
}

#define JAVASCRIPT "text/javascript; charset=utf-8"

static void
test_found (void **state)
{
  check (*state, "main.js", JAVASCRIPT, "main");
  check (*state, "plot/plot-1.esm.js", JAVASCRIPT, "plot");
  check (*state, "empty.css", "text/css; charset=utf-8", "");
}

#define TEN "0123456789"
#define LONG TEN TEN TEN TEN TEN TEN TEN

static void
test_refused (void **state)
{
  char path[TEST_FOLDER_SIZE + 64];
  static const char *const paths[] = {
    "",
    "none.js",
    "../secret.js",
    "page/../../secret.js",
    "./main.js",
    "/main.js",
    "main.js/",
    "//main.js",
    "plot//main.js",
    ".hidden.js",
    "program.sh",
    "main",
    "link.js",
    "up/secret.js",
    "up/page/main.js",
    "folder.js",
    "plot/../x.js",
    "main.js\n",
    "plot/",
    "ma in.js",
    "plot/./main.js",
    "..",
    "../page/main.js",
    "main.js\\..",
  };

  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
    check (*state, paths[i], NULL, NULL);
  put (*state, "page/" LONG ".js", "long");
  check (*state, LONG ".js", NULL, NULL);
  snprintf (path, sizeof path, "%s/fifo.js", ((struct scene *) *state)->page);
  assert_int_equal (mkfifo (path, 0600), 0);
  check (*state, "fifo.js", NULL, NULL);
}

static void
test_tags (void **state)
{
  struct scene *scene = *state;
  struct http_reply first = { 0 }, again = { 0 }, other = { 0 };
  char tags[128];

  assert_true (http_file_answer (&scene->files, "main.js", "W/\"0\"", 1, &first));
  assert_int_equal (first.status, 200);
  snprintf (tags, sizeof tags, "W/\"1\", %s", first.tag);
  assert_true (http_file_answer (&scene->files, "main.js", tags, 1, &again));
  assert_int_equal (again.status, 304);
  assert_int_equal (again.text.length, 0);
  put (scene, "page/main.js", "mine"); /* as long, perhaps at the same time */
  assert_true (http_file_answer (&scene->files, "main.js", tags, 1, &other));
  assert_int_equal (other.status, 200);
  assert_string_not_equal (other.tag, first.tag);
  buffer_free (&first.text);
  buffer_free (&again.text);
  buffer_free (&other.text);
}

/* What is asked by the version is kept for ever; it is another one as soon as any file is. */
static void
test_versions (void **state)
{
  struct scene *scene = *state;
  char first[33], path[128];
  struct http_reply reply = { 0 };
  int64_t now_ns = NS_PER_S;

  put (scene, "page/index.html", "<a href=\"v/0/main.js\"><b c='v/0/x'><i src=\"v/0/y\">");
  assert_true (http_file_answer (&scene->files, "index.html", NULL, now_ns, &reply));
  strcpy (first, scene->files.version);
  assert_int_equal (strlen (first), 32);
  snprintf (path, sizeof path, "<a href=\"v/%s/main.js\"><b c='v/0/x'><i src=\"v/%s/y\">", first, first);
  assert_string_equal (buffer_text (&reply.text), path);
  assert_false (reply.kept);
  buffer_free (&reply.text);

  for (size_t i = 0; i < 7; i++) {
    static const char *const names[] = { "main.js", "plot/plot-1.esm.js", "main.js", "main.js", "main.js", "main.js",
                                         "main.js" };
    snprintf (path, sizeof path, "v/%.*s%s/%s",
              i < 2 || i == 5 ? 32
              : i == 2        ? 31
                              : 0,
              first, i == 3 || i == 5 ? "0" : "", names[i]);
    if (i == 6)
      strcpy (path, "main.js");
    reply = (struct http_reply){ 0 };
    assert_true (http_file_answer (&scene->files, path, NULL, now_ns, &reply));
    assert_string_equal (buffer_text (&reply.text), i == 1 ? "plot" : "main");
    assert_int_equal (reply.kept, i < 2);
    buffer_free (&reply.text);
  }
  snprintf (path, sizeof path, "v/%s/secret.js", first);
  check (scene, path, NULL, NULL);
  check (scene, "v/main.js", NULL, NULL);
  check (scene, "v/0/plot/plot-1.esm.js/", NULL, NULL);

  put (scene, "more/plot/plot-1.esm.js", "tolp");
  snprintf (path, sizeof path, "v/%s/main.js", first);
  reply = (struct http_reply){ 0 };
  assert_true (http_file_answer (&scene->files, path, NULL, now_ns + NS_PER_S, &reply));
  assert_false (reply.kept); /* of an old page: the file as it is now */
  assert_string_not_equal (scene->files.version, first);
  buffer_free (&reply.text);
}

/* ---- the guard ---- */

static void
test_hosts (void **state)
{
  static const char *const known[] = { "localhost",  "LocalHost:80", "a.localhost", "127.0.0.1:5580", "10.1.2.3",
                                       "[::1]:5580", "[fd00::1]",    "one.example", "ONE.example:80", "two" };
  static const char *const unknown[] = { "",
                                         ":80",
                                         "example",
                                         "one.example.evil",
                                         "evil.one.example",
                                         "1.2.3.4.5",
                                         "one",
                                         "localhost.evil",
                                         "0x7f.1.evil",
                                         "[evil]:80",
                                         "127.0.0.1.evil" };
  char own[256];

  (void) state;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (!http_host_is_known (known[i], "one.example,two"))
      fail_msg ("%s is not known", known[i]);
  for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
    if (http_host_is_known (unknown[i], "one.example,two"))
      fail_msg ("%s is known", unknown[i]);
  assert_int_equal (gethostname (own, sizeof own), 0);
  assert_true (http_host_is_known (own, ""));
}

/* ---- proxies ---- */

static uint64_t
number_of (const char *text)
{
  return http_host_parse (text, strlen (text));
}

static void
test_numbers (void **state)
{
  (void) state;
  assert_true (number_of ("10.0.0.1") != 0 && number_of ("10.0.0.1") != number_of ("10.0.0.2"));
  assert_true (number_of ("10.0.0.1:80") == number_of ("10.0.0.1"));
  assert_true (number_of ("::ffff:10.0.0.1") == number_of ("10.0.0.1"));
  assert_true (number_of ("fd00::1") != 0 && number_of ("[fd00::1]:80") == number_of ("fd00::1"));
  assert_true (http_host_parse ("10.0.0.1, x", 8) == number_of ("10.0.0.1"));
  for (const char *const *bad =
           (const char *const[]){ "", "x", "10.0.0", "unknown", "_hidden", "[", "10.0.0.1.example",
                                  "11111111111111111111111111111111111111111111111111111111111", NULL };
       *bad != NULL; bad++)
    assert_true (number_of (*bad) == 0);
}

static void
test_proxies (void **state)
{
  struct http http = { 0 };
  struct error error;
  uint64_t peer;

  (void) state;
  assert_int_equal (http_proxies_read ("10.0.0.1,fd00::1, 10.0.0.2", http.proxies, &http.proxy_count, &error), 0);
  assert_int_equal (http.proxy_count, 3);
  peer = number_of ("10.0.0.1");
  assert_true (http_is_proxy (&http, peer) && !http_is_proxy (&http, number_of ("10.0.0.3")));
  assert_true (http_forwarded_host (&http, "192.0.2.1", peer) == number_of ("192.0.2.1"));
  assert_true (http_forwarded_host (&http, "192.0.2.9, 192.0.2.1 , fd00::1", peer) == number_of ("192.0.2.1"));
  assert_true (http_forwarded_host (&http, "192.0.2.9,x", peer) == peer);
  assert_true (http_forwarded_host (&http, "192.0.2.9,", peer) == peer);
  assert_true (http_forwarded_host (&http, "x, 10.0.0.2", peer) == number_of ("10.0.0.2"));
  assert_true (http_forwarded_host (&http, "", peer) == peer);
  assert_int_equal (http_proxies_read ("10.0.0.1,master", http.proxies, &http.proxy_count, &error), -1);
  assert_non_null (strstr (error.text, "\"master\""));
  assert_int_equal (http_proxies_read ("", http.proxies, &http.proxy_count, &error), 0);
  assert_int_equal (http.proxy_count, 0);
  assert_int_equal (
      http_proxies_read ("1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,"
                         "1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1",
                         http.proxies, &http.proxy_count, &error),
      -1);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    TEST (test_found),
    TEST (test_refused),
    TEST (test_tags),
    TEST (test_versions),
    cmocka_unit_test (test_hosts),
    cmocka_unit_test (test_numbers),
    cmocka_unit_test (test_proxies),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
