/* What the parts of `traces` share: traces.c (the sampling thread's side, the thread's life), traces_socket.c (datagrams),
 * trace_setup.c (from a request to its tasks) and trace_task.c (tasks until their end). */
#ifndef SYNOP_AGENT_TRACES_PRIVATE_H
#define SYNOP_AGENT_TRACES_PRIVATE_H

#include <pthread.h>

#include "agent/job/job_worker.h"
#include "agent/traces/registry.h"
#include "agent/traces/trace_watch.h"
#include "agent/traces/traces.h"
#include "synop/child.h"
#include "synop/loop.h"

#define TASKS_MAX 512 /* of all requests together */
#define REQUESTS_MAX 64
#define PROGRESS_MAX (8 * TASKS_MAX)
#define KNOWN_MAX 256
#define JOB_PIDS_MAX 4096
#define SETTING_USERS 64
#define LEFT_MAX 64

struct trace_batch { /* of the sampling thread's making; then the thread's alone */
  struct trace_batch *next;
  struct traces_request asked; /* its texts are owned */
  struct traces_process *registered;
  size_t registered_count;
  pid_t *pids; /* all of the job */
  size_t pid_count;
  size_t tasks, open; /* of all; that have not ended */
};

enum task_phase { TASK_CHECKING, TASK_WAITING, TASK_RUNNING, TASK_WRITING };

struct trace_task {
  struct trace_task *next;
  struct trace_batch *request;
  enum task_phase phase;
  struct peer peer; /* whose rights and user; with pid 0 in `process` of the node */
  struct traces_process process;
  pid_t *pids; /* of a tool for the node */
  size_t pid_count;
  char path[TRACES_PATH_MAX + 1], other[TRACES_PATH_MAX + 1];
  size_t behind;
  bool fetched, full;
  int64_t told_ns; /* the start by the wall clock, as the process was told */
  int64_t deadline_ns, begun_ns;
  struct trace_watch watch;
  struct child child;
  char said[200]; /* the end of what its tool wrote to standard error */
};

struct traces {
  struct traces_options options; /* its texts are owned */
  struct traces_settings settings;
  uid_t users[SETTING_USERS];
  size_t user_count;
  gid_t group;
  bool has_group;
  pthread_t thread;
  int wake, out; /* eventfds: to the thread, and to the sampling thread */
  int socket;    /* -1: it cannot be had now, and `no_socket` says why */
  bool is_path;
  struct error no_socket;

  pthread_mutex_t lock; /* for what follows */
  bool stop;
  struct trace_batch *asked, **asked_end;
  uint64_t cancelled[REQUESTS_MAX];
  size_t cancelled_count;
  uint64_t known[KNOWN_MAX];
  size_t known_count;
  size_t request_count;
  struct traces_progress *progress; /* a ring */
  size_t progress_first, progress_count;
  struct registry registry;

  /* The thread's own. */
  struct loop *loop;
  struct loop_watch *socket_watch;
  struct loop_timer *tick, *resume;
  struct process_files files;
  struct job_worker *ranks;
  size_t ranks_open;
  struct trace_task *tasks;
  size_t task_count;
  int64_t slice_ns; /* when it began, and how many datagrams were taken in it */
  unsigned slice_taken;
  int64_t pruned_ns;
  struct trace_watch left[LEFT_MAX]; /* children that could not be ended at once */
  size_t left_count;
};

/* ---- traces.c ---- */

void traces_put (struct traces *traces, const struct traces_progress *progress);
void traces_tick_soon (struct traces *traces);
bool traces_permit (const struct traces *traces, const struct peer *peer);

/* ---- traces_socket.c ---- */

/* -1 and error: the settings name none. That another program has its name is no error: it is tried again and again. */
int traces_socket_open (struct traces *traces, struct error *error);
void traces_socket_start (struct traces *traces); /* in the thread, as the next two */
bool traces_socket_there (struct traces *traces); /* tries again where it is not */
void traces_socket_stop (struct traces *traces);
void traces_socket_close (struct traces *traces);

/* ---- trace_setup.c ---- */

/* Takes the request. */
void trace_setup (struct traces *traces, struct trace_batch *request);
void trace_batch_free (struct trace_batch *request);

/* ---- trace_task.c ---- */

void trace_task_add (struct traces *traces, struct trace_task *task);
/* Ends it; `size`, `which` of one that has ended. Frees it. */
void trace_task_end (struct traces *traces, struct trace_task *task, enum traces_state state, uint64_t size,
                     const char *format, ...) __attribute__ ((format (printf, 5, 6)));
void trace_tasks_run (struct traces *traces, int64_t now_ns);
void trace_tasks_cancel (struct traces *traces, uint64_t id, bool all);
int64_t trace_tasks_due (const struct traces *traces, int64_t now_ns);
/* The configuration for that process, whose task is `fetched` once it has it; its length, 0: none waits for it. */
size_t trace_task_fetch (struct traces *traces, const struct peer *peer, char text[], struct trace_task **for_task);

#endif
