/* A program as a child process: with pipes, in a process group of its own, so that its own children end with it. */
#ifndef SYNOP_CHILD_H
#define SYNOP_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Exit codes: this user may not be become; it could not be started; there is no such program. */
enum { CHILD_FORBIDDEN = 125, CHILD_CANNOT = 126, CHILD_ABSENT = 127 };

struct child {
  pid_t pid;        /* 0: none, or reaped */
  int in, out, err; /* our ends of its standard input, output and error; -1: closed. The first is a socket: use send */
};

struct child_user {
  uid_t uid;
  gid_t gid;
  const gid_t *groups;
  size_t group_count;
};

struct child_program {
  const char *path;         /* or a name in PATH; NULL: the first word */
  const char *const *words; /* NULL at the end */
  char *const *environment; /* NULL: ours */
  bool listens;             /* its standard input is a pipe; else /dev/null */
  bool shares_error;        /* its standard error is ours */
  int extra;                /* descriptor that it gets as 3; 0: none */
  /* As this user, with these groups alone and no way to other rights; NULL: ours. Without the right to that it cannot start. */
  const struct child_user *user;
  const char
      *output; /* a file that it makes, as that user, for its standard output; it must not exist. NULL: a pipe to us */
};

/* The child has no capabilities, no blocked signal and no other descriptor, and ends with the thread that starts it.
 * -1 and errno. */
int child_start (struct child *child, const struct child_program *program);
/* For a child without a program: the process becomes that user, with no capability and no way to other rights. Only calls
 * that are allowed after fork. -1 and errno. */
int child_become_user (const struct child_user *user);
void child_kill (struct child *child); /* and all of its group */
/* True when it has ended, with its status; its remaining processes are killed, and our ends are closed. Never waits.
 * Status -1: it is gone, and its status not known. */
bool child_reap (struct child *child, int *status);

#endif
