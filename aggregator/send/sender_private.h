/* A sender's state, and the parts of it that lie in files of their own. For its own room. */
#ifndef SYNOP_AGGREGATOR_SENDER_PRIVATE_H
#define SYNOP_AGGREGATOR_SENDER_PRIVATE_H

#include <pthread.h>

#include "aggregator/send/send_batch.h"
#include "aggregator/send/send_lines.h"
#include "aggregator/send/send_nodes.h"
#include "aggregator/send/send_window.h"
#include "aggregator/send/sender.h"
#include "synop/send_http.h"
#include "synop/send_retry.h"

struct sender {
  char *name, *path;
  struct send_options *options; /* its own */
  const struct send_type *type;
  struct send_setting setting;
  void *type_state; /* the thread's */
  struct globs node_globs;
  struct send_http *http; /* NULL: the type delivers */

  /* Both: under the mutex. */
  pthread_mutex_t mutex;
  pthread_cond_t wake, over;
  bool end, ended, left; /* it is to end; has; or is to free all when it has, and to touch nothing */
  int64_t end_ns;
  int64_t settled_ns;
  struct sender_counts counts;

  /* The thread's. */
  pthread_t thread;
  uint64_t device, inode; /* of the file that is open */
  struct history_file *file;
  struct history_cursor *cursor;
  struct history_place place;
  struct send_nodes *nodes; /* of types that take samples; of the others: */
  struct send_lines *lines;
  struct send_window window;
  struct send_batch batch;
  struct send_request request;
  struct send_retry retry;
  int64_t gathered;   /* the last time that was sent of, in multiples of send_gather */
  int64_t failing_ns; /* since when; 0: it is not */
  bool kept;          /* the last answer left the connection open */
  bool gone;          /* there was no answer, or a new connection, since the last window: it may have been killed */
  struct {
    int64_t at_ns; /* 0: none */
    struct history_place place;
  } back[2]; /* where it was: the younger one not longer ago than options->repeat_ns, the older one longer */
  int64_t refused_logged_ns, lost_logged_ns;
  uint64_t refused_unlogged;
};

void *sender_run (void *sender); /* the thread */
void sender_close_file (struct sender *sender);
void sender_free (struct sender *sender); /* once the thread has ended, or at its end when it was left */
/* False: it is to end. */
bool sender_rest (struct sender *sender, int64_t ns);
void sender_begin_failing (struct sender *sender, const char *text);
void sender_end_failing (struct sender *sender);
void sender_note_error (struct sender *sender, const char *text);
void sender_count_waiting (struct sender *sender);

/* Fills the batch with frames from `at` on that go together. Returns where the next batch begins. */
size_t sender_make_batch (struct sender *sender, size_t at);
/* Sends the first of the load, `count` of them, until they are taken or refused. -1: it is to end before. */
int sender_post (struct sender *sender, const struct send_load *load, size_t *count, struct send_answer *answer,
                 enum send_verdict *verdict);

#endif
