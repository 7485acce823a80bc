/* Who is an admin: by name, by group, by being root of this host; and what a reload changes. */
#include <grp.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/access/access.h"

static char none[] = "";

static bool
is_admin (const char *admins, uint32_t uid, bool local)
{
  struct access_settings settings = {
    .admins = (char *) (uintptr_t) admins, .tokens = none, .munge_socket = none, .proxy_user_header = none
  };
  struct access *access = access_create (&settings);
  struct viewer viewer;

  access_viewer (access, uid, local, &viewer);
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
  struct access_settings settings = { .admins = none, .tokens = none, .munge_socket = none, .proxy_user_header = none };
  char ana[] = "no-such-user-here";
  struct access *access = access_create (&settings);
  struct viewer viewer;

  (void) state;
  access_viewer (access, 4000000001, true, &viewer);
  assert_string_equal (viewer.name, "4000000001");
  assert_true (viewer.uid == 4000000001);
  access_viewer_named (access, ana, &viewer);
  assert_string_equal (viewer.name, ana);
  assert_true (viewer.uid == VIEWER_UID_UNKNOWN && !viewer.all);
  access_viewer_named (access, "a b", &viewer);
  assert_string_equal (viewer.name, "");
  settings.admins = ana;
  access_viewer_named (access, ana, &viewer);
  assert_false (viewer.all);
  access_reload (access);
  access_viewer_named (access, ana, &viewer);
  assert_true (viewer.all);
  settings.everybody_sees = ACCESS_SEES_ALL;
  access_viewer (access, 4000000001, true, &viewer);
  assert_false (viewer.all);
  access_reload (access);
  access_viewer (access, 4000000001, true, &viewer);
  assert_true (viewer.all);
  access_destroy (access);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_lists),
    cmocka_unit_test (test_viewers),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
