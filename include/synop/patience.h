/* Calls that may hang, each in a thread of its own: of a daemon, of a directory of users. Who asks waits for so long. After one
 * that took longer nobody waits while it lasts, nor for a while after it began. */
#ifndef SYNOP_PATIENCE_H
#define SYNOP_PATIENCE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct patience {
  pthread_mutex_t lock;
  pthread_cond_t ended;
  struct patience_call *call; /* the one under way; NULL: none */
  int64_t wait_ns, pause_ns;  /* 2 s, 10 s */
  int64_t later_ns;           /* nobody asks before then */
};

void patience_init (struct patience *patience);
/* False: a call hangs, and its thread still has `patience`, which has to stay. */
bool patience_free (struct patience *patience);
/* Has `answer` called with the question, which is the caller's again then: 0. -1: it takes too long, or one before did: the
 * question is dropped, when the thread is done with it. */
int patience_ask (struct patience *patience, void *question, void (*answer) (void *question),
                  void (*drop) (void *question));

#endif
