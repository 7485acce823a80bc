/* The set of admitted keys: what a folder gives, what it refuses, and asking while it loads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "synop/key_folder.h"
#include "synop/key_set.h"
#include "tests/unit/test_folder.h"

#define assert_contains(text, part)                                                                                    \
  do {                                                                                                                 \
    if (strstr (text, part) == NULL)                                                                                   \
      fail_msg ("\"%s\" does not contain \"%s\"", text, part);                                                         \
  } while (0)

struct fixture {
  char folder[TEST_FOLDER_SIZE];
  struct key_set *set;
  struct key_pair one, two, three;
  struct error error;
};

/* The error says what to run, with a path in the test's folder. */
static void
assert_hint (const struct fixture *it, const char *command)
{
  char hint[TEST_FOLDER_SIZE + 32];

  snprintf (hint, sizeof hint, "run: %s %s", command, it->folder);
  assert_contains (it->error.text, hint);
}

static int
fixture_make (void **state)
{
  struct fixture *it = calloc (1, sizeof *it);
  umask (022);
  test_folder_make (it->folder);
  it->set = key_set_create ();
  key_pair_make (&it->one);
  key_pair_make (&it->two);
  key_pair_make (&it->three);
  *state = it;
  return 0;
}

static int
fixture_free (void **state)
{
  struct fixture *it = *state;
  key_set_destroy (it->set);
  test_folder_remove (it->folder);
  free (it);
  return 0;
}

static const char *
path_of (const struct fixture *it, const char *file)
{
  static char path[160];
  snprintf (path, sizeof path, "%s/%s", it->folder, file);
  return path;
}

static void
put_key (const struct fixture *it, const char *file, const struct key_pair *pair)
{
  struct error error;
  if (key_public_write (path_of (it, file), pair->public_key, "", &error) != 0)
    fail_msg ("%s", error.text);
}

static void
put_text (const struct fixture *it, const char *name, const char *text)
{
  FILE *file = fopen (path_of (it, name), "w");
  assert_non_null (file);
  fputs (text, file);
  fclose (file);
}

static void
add_name (void *context, const char *node, const uint8_t key[KEY_SIZE])
{
  (void) key;
  strcat (context, node);
  strcat (context, " ");
}

static void
assert_names (const struct fixture *it, const char *expected)
{
  char names[256] = "";
  key_set_each (it->set, add_name, names);
  assert_string_equal (names, expected);
}

static void
folder_is_read (void **state)
{
  struct fixture *it = *state;
  put_key (it, "n2.pub", &it->two);
  put_key (it, "n1.pub", &it->one);
  put_text (it, "README", "not a key");
  put_text (it, ".n3.pub.swp", "not a key");
  put_text (it, ".hidden.pub", "not a key");
  put_text (it, "n4.pub~", "not a key");
  put_text (it, ".pub", "not a key");

  uint64_t before = key_set_generation (it->set);
  assert_null (key_set_node (it->set, it->one.public_key));
  assert_int_equal (key_set_load (it->set, it->folder, &it->error), 0);
  assert_true (key_set_generation (it->set) != before);
  assert_int_equal (key_set_count (it->set), 2);
  assert_string_equal (key_set_node (it->set, it->one.public_key), "n1");
  assert_string_equal (key_set_node (it->set, it->two.public_key), "n2");
  assert_null (key_set_node (it->set, it->three.public_key));
  assert_names (it, "n1 n2 ");
}

static void
revoked_key_is_gone (void **state)
{
  struct fixture *it = *state;
  put_key (it, "n1.pub", &it->one);
  put_key (it, "n2.pub", &it->two);
  assert_int_equal (key_set_load (it->set, it->folder, &it->error), 0);
  const char *name = key_set_node (it->set, it->one.public_key);

  unlink (path_of (it, "n1.pub"));
  put_key (it, "n0.pub", &it->three);
  assert_int_equal (key_set_load (it->set, it->folder, &it->error), 0);
  assert_null (key_set_node (it->set, it->one.public_key));
  assert_names (it, "n0 n2 ");
  assert_string_equal (name, "n1"); /* still there to be read */
}

static void
bad_files_leave_their_nodes_out (void **state)
{
  struct fixture *it = *state;
  put_key (it, "n1.pub", &it->one);
  put_key (it, "n2.pub", &it->two);
  assert_int_equal (key_set_load (it->set, it->folder, &it->error), 0);

  put_text (it, "n1.pub", "# changed\nrubbish\n");
  put_text (it, "-x.pub", "rubbish\n");
  mkdir (path_of (it, "n5.pub"), 0755);
  assert_int_equal (key_set_load (it->set, it->folder, &it->error), -1);
  assert_contains (it->error.text, "3 faults: ");
  assert_contains (it->error.text, path_of (it, "n1.pub:2: expected \"public = KEY\""));
  assert_contains (it->error.text, path_of (it, "-x.pub: "));
  assert_contains (it->error.text, path_of (it, "n5.pub: not a regular file"));
  assert_null (key_set_node (it->set, it->one.public_key)); /* not the old key */
  assert_names (it, "n2 ");
}

static void
one_key_under_two_names_is_neither (void **state)
{
  struct fixture *it = *state;
  put_key (it, "n1.pub", &it->one);
  put_key (it, "n2.pub", &it->two);
  put_key (it, "n3.pub", &it->one);
  assert_int_equal (key_set_load (it->set, it->folder, &it->error), -1);
  assert_contains (it->error.text, path_of (it, "n1.pub and "));
  assert_contains (it->error.text, path_of (it, "n3.pub hold the same key"));
  assert_null (key_set_node (it->set, it->one.public_key));
  assert_names (it, "n2 ");
}

static void
folder_that_cannot_be_used_keeps_the_set (void **state)
{
  struct fixture *it = *state;
  put_key (it, "n1.pub", &it->one);
  assert_int_equal (key_set_load (it->set, it->folder, &it->error), 0);

  assert_int_equal (key_set_load (it->set, "/nonexistent/nodes", &it->error), -1);
  assert_contains (it->error.text, "/nonexistent/nodes: No such file or directory");
  assert_int_equal (key_set_load (it->set, path_of (it, "n1.pub"), &it->error), -1);
  assert_contains (it->error.text, "n1.pub: is not a folder");
}

static void
folder_that_others_can_write_to_keeps_the_set (void **state)
{
  static const struct {
    mode_t mode;
    const char *who;
  } loose[] = {
    { 0777, "its group and everybody" }, { 0775, "its group" }, { 0757, "everybody" }, { 01777, "(owner " }
  };
  struct fixture *it = *state;

  put_key (it, "n1.pub", &it->one);
  assert_int_equal (key_set_load (it->set, it->folder, &it->error), 0);
  put_key (it, "n2.pub", &it->two);
  for (size_t i = 0; i < sizeof loose / sizeof *loose; i++) {
    assert_int_equal (chmod (it->folder, loose[i].mode), 0);
    assert_int_equal (key_set_load (it->set, it->folder, &it->error), -1);
    assert_contains (it->error.text, loose[i].who);
    assert_hint (it, "chmod go-w");
    assert_names (it, "n1 ");
  }
  assert_int_equal (chmod (it->folder, 0750), 0);
  assert_int_equal (key_set_load (it->set, it->folder, &it->error), 0);
  assert_names (it, "n1 n2 ");
}

/* Makes the folder `name` in the fixture's. */
static const char *
put_folder (const struct fixture *it, const char *name, mode_t mode, uid_t owner)
{
  const char *path = path_of (it, name);

  assert_int_equal (mkdir (path, 0755), 0);
  assert_int_equal (chmod (path, mode), 0);
  if (owner != geteuid ())
    assert_int_equal (chown (path, owner, owner), 0);
  return path;
}

static void
what_lies_above_counts (void **state)
{
  struct fixture *it = *state;

  put_folder (it, "open", 0777, geteuid ());
  put_folder (it, "open/keys", 0755, geteuid ());
  assert_int_equal (key_folder_check (path_of (it, "open/keys"), &it->error), -1);
  assert_hint (it, "chmod o-w");
  assert_int_equal (chmod (path_of (it, "open"), 01777), 0); /* as /tmp itself */
  assert_int_equal (key_folder_check (path_of (it, "open/keys"), &it->error), 0);
  assert_int_equal (chmod (path_of (it, "open"), 0775), 0);
  assert_int_equal (key_folder_check (path_of (it, "open/keys"), &it->error), 0);
  assert_int_equal (symlink ("open/keys", path_of (it, "link")), 0);
  assert_int_equal (key_folder_check (path_of (it, "link"), &it->error), 0);
  assert_int_equal (chmod (path_of (it, "open"), 0777), 0);
  assert_int_equal (key_folder_check (path_of (it, "link"), &it->error), -1);
}

static void
nodes_are_checked_with_the_keys (void **state)
{
  struct fixture *it = *state;

  put_folder (it, "keys", 0755, geteuid ());
  assert_int_equal (key_folder_check_nodes (path_of (it, "keys"), &it->error), -1);
  assert_contains (it->error.text, "keys/nodes: No such file or directory");
  put_folder (it, "keys/nodes", 0755, geteuid ());
  assert_int_equal (key_folder_check_nodes (path_of (it, "keys"), &it->error), 0);
  assert_int_equal (chmod (path_of (it, "keys/nodes"), 0775), 0);
  assert_int_equal (key_folder_check_nodes (path_of (it, "keys"), &it->error), -1);
  assert_contains (it->error.text, "keys/nodes: its group can write");
  assert_int_equal (chmod (path_of (it, "keys/nodes"), 0755), 0);
  assert_int_equal (chmod (path_of (it, "keys"), 01777), 0); /* sticky is no excuse here: nodes/ could be made first */
  assert_int_equal (key_folder_check_nodes (path_of (it, "keys"), &it->error), -1);
  assert_contains (it->error.text, "keys: its group and everybody can write");
}

#define SERVICE 12345
#define STRANGER 12346

/* Who runs the check: a child, since a thread of the tests stays who it is. */
static int
check_as (uid_t user, const char *path)
{
  int status = 0;
  pid_t child = fork ();

  if (child == 0)
    _exit (setuid (user) == 0 && key_folder_check (path, NULL) == 0 ? 0 : 1);
  assert_int_equal (waitpid (child, &status, 0), child);
  return status == 0 ? 0 : -1;
}

static void
folders_belong_to_their_user_or_root (void **state)
{
  struct fixture *it = *state;

  if (geteuid () != 0)
    skip ();
  assert_int_equal (chmod (it->folder, 0755), 0);
  put_folder (it, "of-root", 0755, 0);
  put_folder (it, "of-service", 0755, SERVICE);
  assert_int_equal (check_as (SERVICE, path_of (it, "of-root")), 0);
  assert_int_equal (check_as (SERVICE, path_of (it, "of-service")), 0);
  assert_int_equal (check_as (STRANGER, path_of (it, "of-service")), -1);
  /* It is under /tmp, where anybody can make a folder and one in it. */
  assert_int_equal (key_folder_check (path_of (it, "of-service"), &it->error), -1);
  assert_contains (it->error.text, "belongs to user 12345 (mode 0755); expected root; see");
  assert_hint (it, "chown 0");
}

/* As packages and the roll-out make it: /etc/synop is root's, keys/ in it the service's. */
static void
root_takes_what_root_gave (void **state)
{
  char above[] = "/var/synop-test-key-set-XXXXXX";
  char keys[64], nodes[64];
  struct error error;

  (void) state;
  if (geteuid () != 0 || mkdtemp (above) == NULL)
    skip ();
  snprintf (keys, sizeof keys, "%s/keys", above);
  snprintf (nodes, sizeof nodes, "%s/keys/nodes", above);
  assert_int_equal (mkdir (keys, 0700), 0);
  assert_int_equal (mkdir (nodes, 0755), 0);
  int taken, of_stranger, in_open, in_strangers;
  bool made = chown (keys, SERVICE, SERVICE) == 0 && chown (nodes, SERVICE, SERVICE) == 0;
  taken = key_folder_check_nodes (keys, &error);
  made = made && chown (nodes, STRANGER, STRANGER) == 0;
  of_stranger = key_folder_check_nodes (keys, &error);
  made = made && chown (nodes, SERVICE, SERVICE) == 0 && chmod (above, 01777) == 0;
  in_open = key_folder_check_nodes (keys, &error);
  made = made && chmod (above, 0755) == 0 && chown (above, STRANGER, STRANGER) == 0;
  in_strangers = key_folder_check_nodes (keys, &error);
  rmdir (nodes);
  rmdir (keys);
  rmdir (above);
  assert_true (made);
  assert_int_equal (taken, 0);
  assert_int_equal (of_stranger, -1);
  assert_int_equal (in_open, -1);
  assert_int_equal (in_strangers, -1);
}

static void
keys_are_added (void **state)
{
  struct fixture *it = *state;
  assert_int_equal (key_set_add (it->set, "n1", it->one.public_key, &it->error), 0);
  assert_int_equal (key_set_add (it->set, "n2", it->one.public_key, &it->error), -1);
  assert_contains (it->error.text, "n2: its key is listed already, for n1");
  assert_int_equal (key_set_add (it->set, "n1", it->two.public_key, &it->error), -1);
  assert_contains (it->error.text, "n1: has a key already");
  assert_int_equal (key_set_add (it->set, "../n1", it->two.public_key, &it->error), -1);
  assert_names (it, "n1 ");
}

static void
many_keys_are_found (void **state)
{
  struct fixture *it = *state;
  uint8_t key[KEY_SIZE] = { 0 };
  char name[16];
  for (unsigned i = 0; i < 2000; i++) {
    memcpy (key, &i, sizeof i);
    snprintf (name, sizeof name, "n%u", i);
    assert_int_equal (key_set_add (it->set, name, key, &it->error), 0);
  }
  for (unsigned i = 0; i < 4000; i++) {
    memcpy (key, &i, sizeof i);
    snprintf (name, sizeof name, "n%u", i);
    const char *found = key_set_node (it->set, key);
    if (i < 2000)
      assert_string_equal (found, name);
    else
      assert_null (found);
  }
}

struct asker {
  const struct fixture *it;
  atomic_bool stop;
  atomic_uint asked, wrong;
};

static void *
ask (void *context)
{
  struct asker *asker = context;
  while (!atomic_load (&asker->stop)) {
    const char *node = key_set_node (asker->it->set, asker->it->one.public_key);
    const char *two = key_set_node (asker->it->set, asker->it->two.public_key);
    if (two == NULL || strcmp (two, "n2") != 0 || (node != NULL && strcmp (node, "n1") != 0))
      atomic_fetch_add (&asker->wrong, 1);
    atomic_fetch_add (&asker->asked, 1);
  }
  return NULL;
}

static void
threads_ask_while_one_loads (void **state)
{
  struct fixture *it = *state;
  struct asker asker = { .it = it };
  pthread_t threads[2];

  put_key (it, "n1.pub", &it->one);
  put_key (it, "n2.pub", &it->two);
  assert_int_equal (key_set_load (it->set, it->folder, &it->error), 0);
  for (int i = 0; i < 2; i++)
    assert_int_equal (pthread_create (&threads[i], NULL, ask, &asker), 0);
  for (int i = 0; i < 100 || atomic_load (&asker.asked) < 1000; i++) {
    if (i % 2 == 0)
      unlink (path_of (it, "n1.pub"));
    else
      put_key (it, "n1.pub", &it->one);
    assert_int_equal (key_set_load (it->set, it->folder, &it->error), 0);
  }
  atomic_store (&asker.stop, true);
  for (int i = 0; i < 2; i++)
    pthread_join (threads[i], NULL);
  assert_int_equal (atomic_load (&asker.wrong), 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown (folder_is_read, fixture_make, fixture_free),
    cmocka_unit_test_setup_teardown (revoked_key_is_gone, fixture_make, fixture_free),
    cmocka_unit_test_setup_teardown (bad_files_leave_their_nodes_out, fixture_make, fixture_free),
    cmocka_unit_test_setup_teardown (one_key_under_two_names_is_neither, fixture_make, fixture_free),
    cmocka_unit_test_setup_teardown (folder_that_cannot_be_used_keeps_the_set, fixture_make, fixture_free),
    cmocka_unit_test_setup_teardown (folder_that_others_can_write_to_keeps_the_set, fixture_make, fixture_free),
    cmocka_unit_test_setup_teardown (what_lies_above_counts, fixture_make, fixture_free),
    cmocka_unit_test_setup_teardown (nodes_are_checked_with_the_keys, fixture_make, fixture_free),
    cmocka_unit_test_setup_teardown (folders_belong_to_their_user_or_root, fixture_make, fixture_free),
    cmocka_unit_test (root_takes_what_root_gave),
    cmocka_unit_test_setup_teardown (keys_are_added, fixture_make, fixture_free),
    cmocka_unit_test_setup_teardown (many_keys_are_found, fixture_make, fixture_free),
    cmocka_unit_test_setup_teardown (threads_ask_while_one_loads, fixture_make, fixture_free),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
