/* Answers from the history: each is made by a child, a few at a time, and others wait for their turn. A child that is
 * late, or that nobody waits for any more, is killed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregator/api/api_private.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/log.h"
#include "synop/memory.h"

#define RUN_MOST (30 * NS_PER_S)
#define QUEUE_MOST (20 * NS_PER_S)
#define LOOK_EVERY (200 * NS_PER_MS) /* while children that were killed are still there */
#define END_EVERY (2 * NS_PER_MS)    /* while one that has written all ends */
#define READ_AT_ONCE (32 * 1024)
#define TYPE_MAX 64
#define FILE_MAX 128
#define PIPE_BYTES (1 << 20) /* as much of an answer keeps no child waiting for a slow client */
#define BUSY_RETRY_S 2
#define FRESH_MOST 3 /* at once: as history.h has it, so that nobody waits for it */
#define FRESH_EVERY (10 * NS_PER_S)

struct api_work {
  struct api *api;
  struct api_work *next;
  uint64_t host;
  char **words; /* NULL at the end */
  size_t count;
  int turn; /* readable once it runs */
  struct child child;
  int out; /* what it writes: it may have ended before that is read */
  bool started, late, failed;
  int64_t until_ns;
  struct buffer got;   /* of its output, and not sent */
  unsigned status;     /* 0: not said yet */
  char type[TYPE_MAX]; /* of the body */
  char file[FILE_MAX]; /* its name, of a download; "": it is none */
};

/* ---- children ---- */

void
api_works_reap (struct api *api)
{
  int status;

  pthread_mutex_lock (&api->lock);
  for (size_t i = 0; i < API_RUNNING_MAX; i++)
    if (api->ending[i].pid > 0)
      child_reap (&api->ending[i], &status);
  pthread_mutex_unlock (&api->lock);
}

static size_t
count_ending (struct api *api)
{
  size_t count = 0;

  pthread_mutex_lock (&api->lock);
  for (size_t i = 0; i < API_RUNNING_MAX; i++)
    count += api->ending[i].pid > 0;
  pthread_mutex_unlock (&api->lock);
  return count;
}

static void
put_ending (struct api *api, const struct child *child)
{
  size_t i = 0;

  pthread_mutex_lock (&api->lock);
  while (api->ending[i].pid > 0) /* there are never more than may run */
    i++;
  api->ending[i] = *child;
  pthread_mutex_unlock (&api->lock);
}

static bool
is_running (const struct api_work *work)
{
  return work->started && work->child.pid > 0;
}

/* `host` 0: of any, and those that were killed and are still there. */
static size_t
count_running (struct api *api, uint64_t host)
{
  size_t count = host == 0 ? count_ending (api) : 0;

  for (const struct api_work *work = api->works; work; work = work->next)
    count += is_running (work) && (host == 0 || work->host == host);
  return count;
}

static size_t
count_waiting (const struct api *api, uint64_t host)
{
  size_t count = 0;

  for (const struct api_work *work = api->works; work; work = work->next)
    count += !work->started && (host == 0 || work->host == host);
  return count;
}

static void
child_give_up (struct api_work *work)
{
  file_close (&work->out);
  if (!is_running (work))
    return;
  child_kill (&work->child);
  put_ending (work->api, &work->child);
  work->child.pid = 0;
  work->api->running--;
}

static void
work_start (struct api_work *work)
{
  uint64_t one = 1;

  work->started = true;
  work->until_ns = clock_monotonic () + RUN_MOST;
  if (api_child_ask (work->api, &work->child, work->words) < 0) {
    log_error ("HTTP: no child can be started: %s", strerror (errno));
  } else {
    work->out = work->child.out;
    work->child.out = -1;
    fcntl (work->out, F_SETPIPE_SZ, PIPE_BYTES);
    work->api->running++;
    api_child_prepare (work->api);
  }
  if (write (work->turn, &one, sizeof one) < 0)
    log_debug ("HTTP: %s", strerror (errno));
}

static void
work_reap (struct api_work *work)
{
  int status;

  if (!is_running (work) || !child_reap (&work->child, &status))
    return;
  work->failed = status != 0;
  work->api->running--;
}

/* Starts those whose turn it is: the oldest first, of a host half of all. */
static void
works_go_on (struct api *api)
{
  api_works_reap (api);
  for (struct api_work *work = api->works; work; work = work->next)
    work_reap (work);
  for (struct api_work *work = api->works; work && count_running (api, 0) < API_RUNNING_MAX; work = work->next)
    if (!work->started && count_running (api, work->host) < API_RUNNING_MAX / 2)
      work_start (work);
}

void
api_works_free (struct api *api)
{
  int64_t until_ns = clock_monotonic () + NS_PER_S;

  for (api_works_reap (api); count_ending (api) > 0 && clock_monotonic () < until_ns; api_works_reap (api))
    usleep (1000);
  api_child_dismiss (api);
  for (api_works_reap (api); count_ending (api) > 0 && clock_monotonic () < until_ns; api_works_reap (api))
    usleep (1000);
}

/* ---- what a child writes ---- */

/* "200 application/json\n", "200 text/csv job-123.csv\n" */
static void
head_read (struct api_work *work)
{
  char *end = memchr (work->got.data, '\n', work->got.length);
  size_t length;

  if (work->status || !end)
    return;
  *end = '\0';
  if (sscanf (work->got.data, "%3u %63s %127s", &work->status, work->type, work->file) < 2)
    work->status = 0;
  length = (size_t) (end + 1 - work->got.data);
  work->got.length -= length;
  memmove (work->got.data, end + 1, work->got.length);
}

static void
work_read (struct api_work *work)
{
  ssize_t got = read (work->out, buffer_reserve (&work->got, READ_AT_ONCE), READ_AT_ONCE);

  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (got > 0) {
    work->got.length += (size_t) got;
    head_read (work);
    return;
  }
  file_close (&work->out);
  works_go_on (work->api);
}

static bool
work_is_done (const struct api_work *work)
{
  return work->out < 0 && !is_running (work);
}

static bool
work_wait (void *context, struct http_wait *wait)
{
  struct api_work *work = context;
  int64_t now_ns = clock_monotonic ();

  if (!work->started)
    works_go_on (work->api);
  if (!work->started && now_ns < work->until_ns) {
    int64_t look_ns = now_ns + LOOK_EVERY;
    *wait = (struct http_wait){ work->turn, look_ns < work->until_ns ? look_ns : work->until_ns };
    return true;
  }
  if (work->out >= 0 && work->got.length == 0)
    work_read (work);
  if (work->out < 0)
    work_reap (work);
  if (work_is_done (work) || work->got.length > 0)
    return false;
  if (now_ns >= work->until_ns) {
    work->late = true;
    child_give_up (work);
    works_go_on (work->api);
    return false;
  }
  *wait = (struct http_wait){ work->out, work->out >= 0 ? work->until_ns : now_ns + END_EVERY };
  return true;
}

static bool
work_next (void *context, struct buffer *out, size_t limit)
{
  struct api_work *work = context;

  (void) limit;
  buffer_add (out, work->got.data, work->got.length);
  buffer_clear (&work->got);
  return !work_is_done (work);
}

static bool
work_broken (void *context)
{
  const struct api_work *work = context;

  return work->late || work->failed;
}

static void
work_begin (void *context, struct http_reply *reply)
{
  struct api_work *work = context;

  reply->status = work->status;
  reply->type = work->type;
  reply->file = *work->file ? work->file : NULL;
  if (work->status)
    return;
  reply->next = NULL;
  if (!work->started)
    api_reply_busy (work->api, reply, 503, "too many questions to the history are waiting", BUSY_RETRY_S);
  else if (work->late)
    http_reply_error (reply, 504, "it took more than 30 s; ask for less: fewer nodes, a shorter time, a longer step");
  else
    http_reply_error (reply, 500,
                      "who reads the history has ended without an answer: it may have needed too much memory");
}

static void
work_free (void *context)
{
  struct api_work *work = context;
  struct api *api = work->api;
  struct api_work **at = &api->works;

  child_give_up (work);
  while (*at != work)
    at = &(*at)->next;
  *at = work->next;
  works_go_on (api);
  for (char **word = work->words; *word; word++)
    free (*word);
  free (work->words);
  buffer_free (&work->got);
  file_close (&work->turn);
  free (work);
}

/* ---- requests ---- */

static void
word_add (struct api_work *work, char *word)
{
  work->words = memory_resize (work->words, work->count + 2, sizeof work->words[0]);
  work->words[work->count++] = word;
  work->words[work->count] = NULL;
}

/* May the history be made complete for this one? */
static bool
take_fresh (struct api *api)
{
  int64_t now_ns = clock_monotonic ();

  api->fresh += (double) (now_ns - api->fresh_ns) / (double) FRESH_EVERY;
  api->fresh = api->fresh < FRESH_MOST ? api->fresh : FRESH_MOST;
  api->fresh_ns = now_ns;
  if (api->fresh < 1)
    return false;
  api->fresh--;
  return true;
}

/* As api_read.h has them. */
static void
words_make (struct api_work *work, const struct viewer *viewer, const struct api_ask *ask)
{
  char who[VIEWER_TEXT_SIZE];
  struct api *api = work->api;
  const char *part = api_value_of_path (ask), *path = ask->route->path;

  word_add (work, memory_string (api->history));
  word_add (work, memory_string (api->context->socket));
  pthread_mutex_lock (&api->lock);
  for (size_t i = 0; i < API_SETTINGS; i++)
    word_add (work, memory_string (api->settings[i]));
  pthread_mutex_unlock (&api->lock);
  viewer_write (viewer, who);
  word_add (work, memory_string (who));
  word_add (work, memory_string (take_fresh (api) ? "fresh" : ""));
  word_add (work,
            memory_format ("%.*s%s%s", (int) strcspn (path, "{"), path, part ? part : "", api_route_tail (ask->route)));
  for (size_t i = 0; i < ask->route->count; i++)
    if (ask->values[i])
      word_add (work, memory_format ("%s=%s", ask->route->parameters[i].name, ask->values[i]));
}

static void
works_add (struct api *api, struct api_work *work)
{
  struct api_work **end = &api->works;

  while (*end)
    end = &(*end)->next;
  *end = work;
}

void
api_answer_history (struct api *api, const struct http_request *request, struct api_ask *ask, struct http_reply *reply)
{
  uint64_t host = http_request_host (request);
  struct api_work *work;

  if (!api->history) {
    http_reply_error (reply, 503, "there is no history: [history] enabled = no");
    return;
  }
  if (count_waiting (api, 0) >= API_WAITING_MAX || count_waiting (api, host) >= API_WAITING_MAX / 2) {
    api_reply_busy (api, reply, 503, "too many questions to the history are waiting", BUSY_RETRY_S);
    return;
  }
  work = memory_new (1, sizeof *work);
  work->api = api;
  work->host = host;
  work->turn = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  work->child = (struct child){ .in = -1, .out = -1, .err = -1 };
  work->out = -1;
  work->until_ns = clock_monotonic () + QUEUE_MOST;
  words_make (work, http_request_viewer (request), ask);
  works_add (api, work);
  buffer_free (&reply->text);
  *reply = (struct http_reply){
    .context = work, .next = work_next, .free = work_free, .wait = work_wait, .begin = work_begin, .broken = work_broken
  };
}
