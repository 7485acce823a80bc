/* Who is an admin: by name, by group, by being root of this host; and what a reload changes. */
#include <grp.h>
#include <pwd.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/access/access_private.h"
#include "synop/clock.h"

static char none[] = "";

/* The host's directory of users hangs while there is such a semaphore. */
static sem_t *hanging;
static int asked;
int __real_getpwuid_r (uid_t uid, struct passwd *entry, char *bytes, size_t size, struct passwd **found);
int __wrap_getpwuid_r (uid_t uid, struct passwd *entry, char *bytes, size_t size, struct passwd **found);

int
__wrap_getpwuid_r (uid_t uid, struct passwd *entry, char *bytes, size_t size, struct passwd **found)
{
  asked++;
  if (hanging)
    sem_wait (hanging);
  return __real_getpwuid_r (uid, entry, bytes, size, found);
}

static bool
is_admin (const char *admins, uint32_t uid, bool local)
{
  struct access_settings settings = { .admins = (char *) (uintptr_t) admins,
                                      .tracers = none,
                                      .tokens = none,
                                      .munge_socket = none,
                                      .proxy_user_header = none };
  struct access *access = access_create (&settings);
  struct viewer viewer;
  struct error error;

  assert_int_equal (access_viewer (access, uid, local, &viewer, &error), 0);
  access_destroy (access);
  return viewer.all;
}

static void
test_lists (void **state)
{
  const struct passwd *games = getpwnam ("games");
  const struct group *group = getgrnam ("games");
  uint32_t uid;

  (void) state;
  if (!games || !group || games->pw_gid != group->gr_gid)
    skip ();
  uid = games->pw_uid;
  assert_false (is_admin ("", uid, true));
  assert_false (is_admin ("root, ana", uid, true));
  assert_true (is_admin ("ana,games", uid, false));
  assert_false (is_admin ("game,gamess,GAMES", uid, true));
  assert_true (is_admin ("@games", uid, true));
  assert_false (is_admin ("@no-such-group-here, @", uid, true));
  assert_false (is_admin ("@games", 4000000001, true));
  assert_true (is_admin ("4000000001", 4000000001, false)); /* of no name here */
  /* Root of another host, which a credential can be of, is whoever the list says. */
  assert_false (is_admin ("ana", 0, false));
  assert_true (is_admin ("root", 0, false));
  assert_true (is_admin ("", 0, true));
  assert_true (is_admin ("", geteuid (), true));
}

static void
test_viewers (void **state)
{
  struct access_settings settings = {
    .admins = none, .tracers = none, .tokens = none, .munge_socket = none, .proxy_user_header = none
  };
  char ana[] = "no-such-user-here";
  struct access *access = access_create (&settings);
  struct viewer viewer;
  struct error error;

  (void) state;
  assert_int_equal (access_viewer (access, 4000000001, true, &viewer, &error), 0);
  assert_string_equal (viewer.name, "4000000001");
  assert_true (viewer.uid == 4000000001);
  assert_int_equal (access_viewer_named (access, ana, &viewer, &error), 0);
  assert_string_equal (viewer.name, ana);
  assert_true (viewer.uid == VIEWER_UID_UNKNOWN && !viewer.all);
  assert_int_equal (access_viewer_named (access, "a b", &viewer, &error), 0);
  assert_string_equal (viewer.name, "");
  settings.admins = ana;
  assert_int_equal (access_viewer_named (access, ana, &viewer, &error), 0);
  assert_false (viewer.all);
  access_reload (access);
  assert_int_equal (access_viewer_named (access, ana, &viewer, &error), 0);
  assert_true (viewer.all);
  assert_false (viewer.traces); /* that is a list of its own */
  settings.tracers = ana;
  settings.admins = none;
  access_reload (access);
  assert_int_equal (access_viewer_named (access, ana, &viewer, &error), 0);
  assert_true (viewer.traces && !viewer.all);
  settings.everybody_sees = ACCESS_SEES_ALL;
  assert_int_equal (access_viewer (access, 4000000001, true, &viewer, &error), 0);
  assert_false (viewer.all);
  access_reload (access);
  assert_int_equal (access_viewer (access, 4000000001, true, &viewer, &error), 0);
  assert_true (viewer.all);
  access_destroy (access);
}

/* Who is of no account is said so; root is let in nevertheless; what comes too late is there for who asks next. */
static void
test_directory_hangs (void **state)
{
  struct access_settings settings = {
    .admins = none, .tracers = none, .tokens = none, .munge_socket = none, .proxy_user_header = none
  };
  struct access *access = access_create (&settings);
  struct viewer viewer;
  struct error error;
  sem_t end;

  (void) state;
  sem_init (&end, 0, 0);
  hanging = &end;
  asked = 0;
  access->directory.wait_ns = NS_PER_S / 1000;
  for (int i = 0; i < 3; i++) {
    assert_int_equal (access_viewer (access, 4000000001, true, &viewer, &error), -1);
    assert_string_equal (error.text, "who 4000000001 is, is not known: the directory of users on the aggregator's host "
                                     "does not answer");
    assert_true (!viewer.all && !*viewer.name);
  }
  assert_int_equal (access_viewer_named (access, "ana", &viewer, &error), -1);
  assert_int_equal (access_viewer (access, 0, true, &viewer, &error), 0);
  assert_true (viewer.all);
  access_destroy (access); /* its thread still has it */
  sem_post (&end);
  sem_post (&end); /* for the last one */
  while (access_viewer (access, 4000000001, true, &viewer, &error) < 0)
    usleep (1000);
  assert_string_equal (viewer.name, "4000000001");
  assert_int_equal (asked, 1);
  access->directory.wait_ns = 60 * NS_PER_S;
  do
    access->directory.later_ns = 0;
  while (access_viewer (access, 4000000002, true, &viewer, &error) < 0);
  access_destroy (access);
  hanging = NULL;
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_lists),
    cmocka_unit_test (test_viewers),
    cmocka_unit_test (test_directory_hangs),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
