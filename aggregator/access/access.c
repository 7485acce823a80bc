/* See access.h. Names and groups are looked up by the host's own means (files, LDAP), which may hang, and kept for a
 * while. */
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
is_listed (const char *listed_users, const char *name, const struct passwd *account)
{
  gid_t *gids = memory_new (GROUPS_MAX, sizeof *gids);
  int count = account ? GROUPS_MAX : 0;
  bool listed = false;
  struct globs list;
  const char *item;

  if (account && getgrouplist (account->pw_name, account->pw_gid, gids, &count) < 0)
    count = GROUPS_MAX;
  globs_init (&list, listed_users);
  item = list.text;
  for (size_t i = 0; i < list.count && !listed; i++, item += strlen (item) + 1)
    listed = *item == '@' ? is_member (item + 1, gids, count) : strcmp (item, name) == 0;
  globs_free (&list);
  free (gids);
  return listed;
}

/* ---- users ---- */

/* Who is it? Asked of the host's directory, which may hang. */
struct lookup {
  struct access *access;
  int64_t uid;                    /* VIEWER_UID_UNKNOWN: it is named */
  char name[VIEWER_NAME_MAX + 1]; /* what was asked for: the number as text, or the name */
  struct viewer viewer;
};

static struct viewer
viewer_make (struct access *access, const struct lookup *lookup, const struct passwd *account)
{
  const char *name = account ? account->pw_name : lookup->name;
  struct viewer viewer = { .uid = account ? (int64_t) account->pw_uid : lookup->uid };
  char *admins, *tracers;

  pthread_mutex_lock (&access->lock);
  viewer.all = access->everybody;
  admins = memory_string (access->admins);
  tracers = memory_string (access->tracers);
  pthread_mutex_unlock (&access->lock);
  if (viewer_is_user (name))
    snprintf (viewer.name, sizeof viewer.name, "%s", name);
  viewer.all |= viewer.name[0] && is_listed (admins, viewer.name, account);
  viewer.traces = viewer.name[0] && is_listed (tracers, viewer.name, account);
  free (admins);
  free (tracers);
  return viewer;
}

/* What comes too late for who asked is there for who asks next. */
static void
look_up (void *context)
{
  struct lookup *lookup = context;
  struct access *access = lookup->access;
  struct passwd entry, *account = NULL;
  char bytes[PASSWD_BYTES];
  struct known *known;
  int failure;

  if (lookup->uid == VIEWER_UID_UNKNOWN)
    failure = getpwnam_r (lookup->name, &entry, bytes, sizeof bytes, &account);
  else
    failure = getpwuid_r ((uid_t) lookup->uid, &entry, bytes, sizeof bytes, &account);
  lookup->viewer = viewer_make (access, lookup, failure ? NULL : account);
  pthread_mutex_lock (&access->lock);
  known = &access->known[access->known_next++ % KNOWN_MAX];
  *known = (struct known){ .until_ns = clock_monotonic () + KNOWN_FOR, .uid = lookup->uid, .viewer = lookup->viewer };
  memcpy (known->name, lookup->name, sizeof known->name);
  pthread_mutex_unlock (&access->lock);
}

static bool
known_find (struct access *access, const struct lookup *lookup, struct viewer *viewer)
{
  int64_t now_ns = clock_monotonic ();
  bool found = false;

  pthread_mutex_lock (&access->lock);
  for (size_t i = 0; i < KNOWN_MAX && !found; i++) {
    const struct known *known = &access->known[i];
    found = now_ns < known->until_ns && known->uid == lookup->uid && strcmp (known->name, lookup->name) == 0;
    if (found)
      *viewer = known->viewer;
  }
  pthread_mutex_unlock (&access->lock);
  return found;
}

static int
lookup_ask (const struct lookup *asked, struct viewer *viewer, struct error *why)
{
  struct access *access = asked->access;
  struct lookup *lookup;

  *viewer = viewer_nobody;
  if (known_find (access, asked, viewer))
    return 0;
  lookup = (void *) memory_copy (asked, sizeof *asked);
  if (patience_ask (&access->directory, lookup, look_up, free) < 0)
    return error_set (why, "who %s is, is not known: the directory of users on the aggregator's host does not answer",
                      asked->name);
  *viewer = lookup->viewer;
  free (lookup);
  return 0;
}

int
access_viewer (struct access *access, uint32_t uid, bool local, struct viewer *viewer, struct error *why)
{
  struct lookup lookup = { .access = access, .uid = uid };

  if (local && (uid == 0 || uid == geteuid ())) {
    *viewer = viewer_all;
    viewer->uid = uid;
    return 0;
  }
  snprintf (lookup.name, sizeof lookup.name, "%" PRIu32, uid);
  return lookup_ask (&lookup, viewer, why);
}

int
access_viewer_named (struct access *access, const char *name, struct viewer *viewer, struct error *why)
{
  struct lookup lookup = { .access = access, .uid = VIEWER_UID_UNKNOWN };

  snprintf (lookup.name, sizeof lookup.name, "%s", name);
  return lookup_ask (&lookup, viewer, why);
}

/* ---- life ---- */

void
access_reload (struct access *access)
{
  const struct access_settings *settings = access->settings;

  pthread_mutex_lock (&access->lock);
  free (access->admins);
  free (access->tracers);
  free (access->munge_socket);
  free (access->proxy_user_header);
  access->admins = memory_string (settings->admins);
  access->tracers = memory_string (settings->tracers);
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
  patience_init (&access->directory);
  access->tokens = access_tokens_create ();
  access->settings = settings;
  access_reload (access);
  return access;
}

void
access_destroy (struct access *access)
{
  if (!access || !patience_free (&access->directory))
    return; /* a thread that hangs still has it */
  access_tokens_destroy (access->tokens);
  pthread_mutex_destroy (&access->lock);
  free (access->admins);
  free (access->tracers);
  free (access->munge_socket);
  free (access->proxy_user_header);
  free (access);
}
