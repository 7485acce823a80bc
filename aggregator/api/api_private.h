/* What the files of the API share. All of it is HTTP's thread's, but for `lock` and what it is over, and counters. */
#ifndef SYNOP_AGGREGATOR_API_PRIVATE_H
#define SYNOP_AGGREGATOR_API_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "aggregator/api/api_route.h"
#include "aggregator/views/view.h"
#include "synop/child.h"

#define API_STREAMS_MAX 32 /* at once, and a quarter of the connections at most; of a host half */
#define API_NOWS_MAX 64    /* answers of this instant that are on their way, of a host half */
#define API_RUNNING_MAX 4  /* children at once, of a host half */
#define API_WAITING_MAX 32 /* requests that wait for one, of a host half */

/* What the aggregator said last of something, shared by all that are asked for it. */
struct api_words {
  size_t users;
  struct buffer text;
};

enum api_live { API_STATUS, API_NODES, API_GROUPS, API_ALERTS, API_LIVES };
struct api_source {
  int fd; /* -1: nobody is being asked */
  struct buffer coming;
  struct api_words *words; /* NULL: none */
  int64_t since_ns;        /* when these were asked for */
  int64_t asked_ns;        /* and those that are coming */
};

struct api {
  const struct view_context *context;
  const char *history;                     /* path; NULL: it is off */
  struct api_source sources[2][API_LIVES]; /* for others, and for admins */
  uint64_t streams[API_STREAMS_MAX];       /* whose they are */
  size_t stream_count;
  uint64_t nows[API_NOWS_MAX]; /* whose they are */
  size_t now_count;
  struct api_work *works;               /* those that run or wait, the oldest first */
  double fresh;                         /* how often the history may be made complete now, */
  int64_t fresh_ns;                     /* and as of when */
  pthread_mutex_t lock;                 /* of: */
  struct child ending[API_RUNNING_MAX]; /* those that were killed, until they are reaped, by either thread */
  struct child spare;                   /* waits for a question; HTTP's thread's */
  char *settings[API_SETTINGS];         /* words from API_WORD_PRICE on; a reload changes them */
  _Atomic uint64_t streaming, running, refused;
};

void api_reply_error (struct http_reply *reply, const struct api_error *error);
void api_reply_busy (struct api *api, struct http_reply *reply, unsigned status, const char *why, unsigned retry_s);

void api_answer (void *api, const struct http_request *request, const char *rest, struct http_reply *reply);

typedef void api_answer_fn (struct api *api, const struct http_request *request, struct api_ask *ask,
                            struct http_reply *reply);
/* api_answer.c */
api_answer_fn api_answer_index, api_answer_openapi;
/* api_live.c */
api_answer_fn api_answer_status, api_answer_nodes, api_answer_groups, api_answer_alerts;
/* api_stream.c */
api_answer_fn api_answer_stream, api_answer_watch, api_answer_socket;
/* api_now.c */
api_answer_fn api_answer_now;
/* The request, on behalf of who asks; to be freed. */
char *api_now_words (const struct http_request *request, const struct api_ask *ask, const char *verb);
void api_viewer_words (const struct http_request *request, struct buffer *text); /* what a request begins with */
/* True: the line says why there is no answer, and that is the reply. */
bool api_reply_refusal (struct api *api, struct http_reply *reply, const struct api_route *route, struct buffer *line);
/* api_child.c */
int api_child_ask (struct api *api, struct child *child, char *const *words); /* NULL at the end. -1 and errno */
void api_child_prepare (struct api *api);                                     /* for the next question */
void api_child_dismiss (struct api *api); /* after all others have ended: it is to be reaped like them */
/* api_work.c */
api_answer_fn api_answer_history;

void api_lives_init (struct api *api);
void api_lives_free (struct api *api);
void api_works_reap (struct api *api); /* in any thread */
void api_works_free (struct api *api);

#endif
