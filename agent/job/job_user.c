/* See job_user.h. */
#include "agent/job/job_user.h"

#include <stdlib.h>

#include "synop/array.h"

void
job_users_free (struct job_users *users)
{
  free (users->list);
  *users = (struct job_users){ 0 };
}

static struct job_user *
user_find (const struct job_users *users, uint32_t uid)
{
  for (size_t i = 0; i < users->count; i++)
    if (users->list[i].uid == uid)
      return &users->list[i];
  return NULL;
}

/* Entries without jobs or a due time are reused, so that there are hardly more than users with jobs. */
static struct job_user *
user_add (struct job_users *users, uint32_t uid, int64_t now_ns)
{
  struct job_user *user;

  for (size_t i = users->count; i-- > 0;)
    if (users->list[i].jobs == 0 && users->list[i].due_ns <= now_ns)
      users->list[i] = users->list[--users->count];
  user = array_add (users->list, users->count, users->capacity);
  *user = (struct job_user){ .uid = uid, .due_ns = now_ns };
  return user;
}

bool
job_users_may_begin (struct job_users *users, uint32_t uid, int64_t now_ns)
{
  const struct job_user *user = user_find (users, uid);

  return !user || user->due_ns - now_ns <= (JOB_USER_BURST - 1) * JOB_USER_PAUSE_NS;
}

void
job_users_add (struct job_users *users, uint32_t uid, int64_t now_ns)
{
  struct job_user *user = user_find (users, uid);

  if (!user)
    user = user_add (users, uid, now_ns);
  if (user->due_ns < now_ns)
    user->due_ns = now_ns;
  /* More jobs may have run when the agent was started than the user may begin at once. */
  if (user->due_ns - now_ns < JOB_USER_BURST * JOB_USER_PAUSE_NS)
    user->due_ns += JOB_USER_PAUSE_NS;
  user->jobs++;
}

void
job_users_remove (struct job_users *users, uint32_t uid)
{
  struct job_user *user = user_find (users, uid);

  if (user && user->jobs != 0)
    user->jobs--;
}

uint32_t
job_users_count (const struct job_users *users, uint32_t uid)
{
  const struct job_user *user = user_find (users, uid);

  return user ? user->jobs : 0;
}

const struct job_user *
job_users_most (const struct job_users *users)
{
  const struct job_user *most = NULL;

  for (size_t i = 0; i < users->count; i++)
    if (users->list[i].jobs != 0 && (!most || users->list[i].jobs > most->jobs))
      most = &users->list[i];
  return most;
}
