/* See trace_service.h. What became of the last requests is kept, so that it can be answered once more. */
#include "agent/trace_service.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "agent/job/job_group.h"
#include "agent/traces/registry.h"
#include "agent/traces/traces.h"
#include "synop/log.h"
#include "synop/memory.h"

#define REQUESTS_KEPT 32
#define RECORDS_MAX 512 /* of a request */

static const char off[] = "traces are off on this node: [traces] enabled = yes in agent.ini permits them";

/* A process, or the node as a whole. */
struct record {
  struct trace_record record; /* its texts are the owned ones: */
  char *job, *path, *error;
  bool changed; /* since it was sent */
};

struct request {
  uint64_t id; /* 0: free */
  char *job;
  struct record *records;
  size_t count;
  bool listed, done, changed; /* changed: since it was sent, as a whole */
};

struct trace_service {
  struct traces *traces;
  struct loop_watch *watch;
  void (*send) (void *context, const struct trace_answer *answer);
  void *context;
  struct request requests[REQUESTS_KEPT]; /* a ring */
  size_t next;
};

/* ---- requests ---- */

static struct request *
request_find (struct trace_service *service, uint64_t id)
{
  for (size_t i = 0; i < REQUESTS_KEPT; i++)
    if (service->requests[i].id == id)
      return &service->requests[i];
  return NULL;
}

static void
request_free (struct request *request)
{
  for (size_t i = 0; i < request->count; i++) {
    free (request->records[i].job);
    free (request->records[i].path);
    free (request->records[i].error);
  }
  free (request->records);
  free (request->job);
  *request = (struct request){ 0 };
}

static struct request *
request_add (struct trace_service *service, uint64_t id, const char *job)
{
  struct request *request = &service->requests[service->next++ % REQUESTS_KEPT];

  request_free (request);
  request->id = id;
  request->job = memory_string (job);
  return request;
}

/* ---- answers ---- */

static void
refuse (const struct trace_service *service, uint64_t id, const char *why)
{
  struct trace_answer answer = { .id = id, .progress = TRACE_REFUSED, .error = trace_text (why) };

  if (answer.error.length > TRACE_ERROR_MAX)
    answer.error.length = TRACE_ERROR_MAX;
  service->send (service->context, &answer);
}

/* Sends the records that have changed, or all of them. */
static void
send_records (const struct trace_service *service, struct request *request, bool all)
{
  enum trace_progress end = request->done ? TRACE_DONE : request->listed ? TRACE_GOES_ON : TRACE_MORE;
  struct trace_answer answer = { .id = request->id, .progress = TRACE_MORE };

  for (size_t i = 0; i < request->count; i++) {
    struct record *record = &request->records[i];
    if (!all && !record->changed)
      continue;
    record->changed = false;
    if (answer.count == TRACE_RECORDS_MAX) {
      service->send (service->context, &answer);
      answer.count = 0;
    }
    answer.records[answer.count++] = record->record;
  }
  request->changed = false;
  answer.progress = end;
  service->send (service->context, &answer);
}

/* ---- progress ---- */

static struct record *
record_of (struct request *request, int64_t pid)
{
  for (size_t i = 0; i < request->count; i++)
    if (request->records[i].record.pid == pid)
      return &request->records[i];
  if (request->count == RECORDS_MAX)
    return NULL;
  request->records = memory_resize (request->records, request->count + 1, sizeof *request->records);
  request->records[request->count] = (struct record){ .record.pid = pid };
  return &request->records[request->count++];
}

static struct trace_text
take_text (char **place, const char *text, size_t most)
{
  free (*place);
  *place = memory_copy (text, strnlen (text, most));
  return trace_text (*place);
}

static void
take_progress (struct request *request, const struct traces_progress *progress)
{
  static const enum trace_state states[] = { [TRACES_FOUND] = TRACE_FOUND,
                                             [TRACES_BEGUN] = TRACE_BEGUN,
                                             [TRACES_ENDED] = TRACE_ENDED,
                                             [TRACES_FAILED] = TRACE_FAILED,
                                             [TRACES_UNREGISTERED] = TRACE_UNREGISTERED };
  struct record *kept = progress->of ? record_of (request, progress->pid) : NULL;

  request->listed |= request->count >= progress->of || request->count == RECORDS_MAX;
  request->done |= progress->last;
  request->changed = true;
  if (!kept)
    return;
  kept->changed = true;
  kept->record = (struct trace_record){ .pid = progress->pid,
                                        .rank = progress->rank,
                                        .uid = progress->uid,
                                        .device = progress->device,
                                        .state = states[progress->state],
                                        .begun_ns = progress->begun_ns,
                                        .size = progress->size,
                                        .job = take_text (&kept->job, request->job, TRACE_JOB_MAX),
                                        .path = take_text (&kept->path, progress->path, TRACE_PATH_MAX),
                                        .error = take_text (&kept->error, progress->error, TRACE_ERROR_MAX) };
}

static void
take_all (void *context, uint32_t events)
{
  struct trace_service *service = context;
  struct traces_progress progress;

  (void) events;
  while (traces_take (service->traces, &progress)) {
    struct request *request = request_find (service, progress.id);
    if (request)
      take_progress (request, &progress);
  }
  for (size_t i = 0; i < REQUESTS_KEPT; i++)
    if (service->requests[i].changed)
      send_records (service, &service->requests[i], false);
}

/* ---- what is asked for ---- */

static int
tool_find (const char *name)
{
  for (int i = 0; traces_tool_names[i]; i++)
    if (strcmp (traces_tool_names[i], name) == 0)
      return i;
  return -1;
}

static int
begin (struct trace_service *service, const struct trace_request *asked, const char *job, const char *tool,
       const char *config, const char *path, struct error *error)
{
  int32_t ranks[TRACE_RANKS_MAX];
  int number = tool_find (tool);
  struct traces_request request = { .id = asked->id,
                                    .job = job,
                                    .tool = (enum traces_tool) number,
                                    .ranks = ranks,
                                    .rank_count = asked->rank_count,
                                    .limit = asked->limit,
                                    .start_ns = asked->start_ns,
                                    .duration_ns = asked->duration_ns,
                                    .iterations = asked->iterations,
                                    .config = config,
                                    .path = path };

  for (size_t i = 0; i < asked->rank_count; i++)
    ranks[i] = (int32_t) asked->ranks[i];
  if (number < 0)
    return error_set (error, "this agent does not know the tool %s", tool);
  return traces_begin (service->traces, &request, error);
}

static void
answer_begin (struct trace_service *service, const struct trace_request *asked)
{
  char *job = memory_copy (asked->job.text, asked->job.length),
       *tool = memory_copy (asked->tool.text, asked->tool.length);
  char *config = memory_copy (asked->options.text, asked->options.length);
  char *path = memory_copy (asked->output.text, asked->output.length);
  struct request *request = request_add (service, asked->id, job);
  struct error error;

  log_info ("traces by %s of job %s are asked for by %.*s", tool, job, (int) asked->user.length, asked->user.text);
  if (begin (service, asked, job, tool, config, path, &error) < 0) {
    log_warning ("traces of job %s: %s", job, error.text);
    refuse (service, asked->id, error.text);
    request_free (request);
  } else {
    take_all (service, 0);
  }
  free (job);
  free (tool);
  free (config);
  free (path);
}

static void
answer_list (const struct trace_service *service, const struct trace_request *asked)
{
  struct traces_process *list = memory_new (REGISTRY_MAX, sizeof *list);
  size_t count = traces_list (service->traces, list, REGISTRY_MAX);
  struct trace_answer answer = { .id = asked->id, .progress = TRACE_MORE };

  for (size_t i = 0; i < count; i++) {
    struct trace_text job = trace_text (list[i].job);
    if (asked->job.length && (job.length != asked->job.length || memcmp (job.text, asked->job.text, job.length) != 0))
      continue;
    if (answer.count == TRACE_RECORDS_MAX) {
      service->send (service->context, &answer);
      answer.count = 0;
    }
    answer.records[answer.count++] = (struct trace_record){ .pid = list[i].pid,
                                                            .rank = list[i].rank,
                                                            .uid = list[i].uid,
                                                            .device = list[i].device,
                                                            .state = list[i].busy ? TRACE_BEGUN : TRACE_FOUND,
                                                            .job = job };
  }
  answer.progress = TRACE_DONE;
  service->send (service->context, &answer);
  free (list);
}

void
trace_service_request (void *context, const struct trace_request *asked)
{
  struct trace_service *service = context;
  struct request *known = request_find (service, asked->id);

  if (!service->traces)
    refuse (service, asked->id, off);
  else if (known)
    send_records (service, known, true);
  else if (asked->kind == TRACE_STATE)
    refuse (service, asked->id, "the agent restarted meanwhile; what it had begun may still come");
  else if (asked->kind == TRACE_LIST)
    answer_list (service, asked);
  else
    answer_begin (service, asked);
}

/* ---- life ---- */

static const char *
job_of (void *context, pid_t pid)
{
  return job_group_label_of (context, pid);
}

static size_t
pids_of (void *context, const char *job, pid_t *pids, size_t most)
{
  return job_group_pids_of (context, job, pids, most);
}

struct trace_service *
trace_service_create (const struct agent_options *options, struct loop *loop,
                      void (*send) (void *context, const struct trace_answer *answer), void *context,
                      struct error *error)
{
  struct trace_service *service = memory_new (1, sizeof *service);
  const struct traces_options to = { .node = options->node_name,
                                     .settings = &options->traces,
                                     .groups = options->names,
                                     .jobs = { (void *) &options->context, job_of, pids_of } };

  service->send = send;
  service->context = context;
  if (!options->traces.enabled)
    return service;
  service->traces = traces_create (&to, error);
  if (!service->traces) {
    free (service);
    return NULL;
  }
  service->watch = loop_watch_add (loop, traces_fd (service->traces), EPOLLIN, take_all, service);
  return service;
}

void
trace_service_destroy (struct trace_service *service)
{
  if (!service)
    return;
  loop_watch_remove (service->watch);
  traces_close (service->traces);
  for (size_t i = 0; i < REQUESTS_KEPT; i++)
    request_free (&service->requests[i]);
  free (service);
}
