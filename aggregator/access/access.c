/* See access.h. Names and groups are looked up by the host's own means (files, LDAP), and kept for a while. */
#include "aggregator/access/access.h"

#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/access/access_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define KNOWN_FOR (60 * NS_PER_S)
#define GROUPS_MAX 1024
#define PASSWD_BYTES 16384

/* ---- admins ---- */

static bool
is_member (const char *group, const gid_t *gids, int count)
{
  char bytes[PASSWD_BYTES];
  struct group entry, *found = NULL;

  if (getgrnam_r (group, &entry, bytes, sizeof bytes, &found) != 0 || !found)
    return false;
  for (int i = 0; i < count; i++)
    if (gids[i] == entry.gr_gid)
      return true;
  return false;
}

/* Is the user, who may be of no account here, one of the list "root, ana, @ops"? */
static bool
is_listed (const char *admins, const char *name, const struct passwd *account)
{
  gid_t *gids = memory_new (GROUPS_MAX, sizeof *gids);
  int count = account ? GROUPS_MAX : 0;
  bool listed = false;
  struct globs list;
  const char *item;

  if (account && getgrouplist (account->pw_name, account->pw_gid, gids, &count) < 0)
    count = GROUPS_MAX;
  globs_init (&list, admins);
  item = list.text;
  for (size_t i = 0; i < list.count && !listed; i++, item += strlen (item) + 1)
    listed = *item == '@' ? is_member (item + 1, gids, count) : strcmp (item, name) == 0;
  globs_free (&list);
  free (gids);
  return listed;
}

static struct viewer
viewer_make (struct access *access, int64_t uid, const char *name, const struct passwd *account)
{
  struct viewer viewer = { .uid = uid };
  char *admins;

  pthread_mutex_lock (&access->lock);
  viewer.all = access->everybody;
  admins = memory_string (access->admins);
  pthread_mutex_unlock (&access->lock);
  if (viewer_is_user (name))
    snprintf (viewer.name, sizeof viewer.name, "%s", name);
  viewer.all |= viewer.name[0] && is_listed (admins, viewer.name, account);
  free (admins);
  return viewer;
}

/* ---- users ---- */

static bool
known_find (struct access *access, uint32_t uid, bool local, struct viewer *viewer)
{
  int64_t now_ns = clock_monotonic ();
  bool found = false;

  pthread_mutex_lock (&access->lock);
  for (size_t i = 0; i < KNOWN_MAX && !found; i++) {
    const struct known *known = &access->known[i];
    found = now_ns < known->until_ns && known->viewer.uid == uid && known->local == local;
    if (found)
      *viewer = known->viewer;
  }
  pthread_mutex_unlock (&access->lock);
  return found;
}

void
access_viewer (struct access *access, uint32_t uid, bool local, struct viewer *viewer)
{
  char bytes[PASSWD_BYTES], number[16];
  struct passwd entry, *account = NULL;

  if (local && (uid == 0 || uid == geteuid ())) {
    *viewer = viewer_all;
    viewer->uid = uid;
    return;
  }
  if (known_find (access, uid, local, viewer))
    return;
  snprintf (number, sizeof number, "%" PRIu32, uid);
  if (getpwuid_r (uid, &entry, bytes, sizeof bytes, &account) != 0)
    account = NULL;
  *viewer = viewer_make (access, uid, account ? account->pw_name : number, account);
  pthread_mutex_lock (&access->lock);
  access->known[access->known_next++ % KNOWN_MAX] = (struct known){ clock_monotonic () + KNOWN_FOR, local, *viewer };
  pthread_mutex_unlock (&access->lock);
}

bool
access_is_listed (const char *list, uint32_t uid, char name[VIEWER_NAME_MAX + 1])
{
  char bytes[PASSWD_BYTES];
  struct passwd entry, *account = NULL;

  if (getpwuid_r (uid, &entry, bytes, sizeof bytes, &account) != 0)
    account = NULL;
  snprintf (name, VIEWER_NAME_MAX + 1, "%" PRIu32, uid);
  if (account && viewer_is_user (account->pw_name))
    snprintf (name, VIEWER_NAME_MAX + 1, "%s", account->pw_name);
  return is_listed (list, name, account);
}

void
access_viewer_named (struct access *access, const char *name, struct viewer *viewer)
{
  char bytes[PASSWD_BYTES];
  struct passwd entry, *account = NULL;

  if (getpwnam_r (name, &entry, bytes, sizeof bytes, &account) != 0)
    account = NULL;
  *viewer = viewer_make (access, account ? (int64_t) account->pw_uid : VIEWER_UID_UNKNOWN, name, account);
}

/* ---- life ---- */

void
access_reload (struct access *access)
{
  const struct access_settings *settings = access->settings;

  pthread_mutex_lock (&access->lock);
  free (access->admins);
  free (access->munge_socket);
  free (access->proxy_user_header);
  access->admins = memory_string (settings->admins);
  access->munge_socket = memory_string (settings->munge_socket);
  access->proxy_user_header = memory_string (settings->proxy_user_header);
  access->everybody = settings->everybody_sees == ACCESS_SEES_ALL;
  access->munge_later_ns = 0;
  memset (access->known, 0, sizeof access->known);
  access_tokens_set (access->tokens, settings->tokens);
  pthread_mutex_unlock (&access->lock);
}

struct access *
access_create (const struct access_settings *settings)
{
  struct access *access = memory_new (1, sizeof *access);

  pthread_mutex_init (&access->lock, NULL);
  access->tokens = access_tokens_create ();
  access->settings = settings;
  access_reload (access);
  return access;
}

void
access_destroy (struct access *access)
{
  if (!access)
    return;
  access_tokens_destroy (access->tokens);
  pthread_mutex_destroy (&access->lock);
  free (access->admins);
  free (access->munge_socket);
  free (access->proxy_user_header);
  free (access);
}
