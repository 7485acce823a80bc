/* See trace_desk.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "aggregator/core/node.h"
#include "aggregator/traces/trace_desk_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define ASK_AGAIN (2 * NS_PER_S)    /* a request of which nothing was heard is sent again, */
#define ASK_PATIENCE (8 * NS_PER_S) /* until then */
#define LOOK_EVERY (5 * NS_PER_S)   /* what goes on is asked for when nothing was heard for so long, */
#define LOOK_PATIENCE (40 * NS_PER_S)

struct trace_desk {
  struct trace_desk_options options;
  struct trace_order *orders;
  size_t count;
};

/* ---- life ---- */

struct trace_desk *
trace_desk_create (const struct trace_desk_options *options)
{
  struct trace_desk *desk = memory_new (1, sizeof *desk);

  desk->options = *options;
  return desk;
}

static void
free_processes (struct traced_node *node)
{
  for (size_t i = 0; i < node->count; i++) {
    free (node->processes[i].job);
    free (node->processes[i].path);
    free (node->processes[i].error);
  }
  free (node->processes);
  node->processes = NULL;
  node->count = 0;
}

static void
free_node (struct traced_node *node)
{
  free_processes (node);
  free (node->choice);
  free (node->name);
  free (node->error);
}

static void
free_order (struct trace_desk *desk, struct trace_order *order)
{
  struct trace_order **place = &desk->orders;

  while (*place != order)
    place = &(*place)->next;
  *place = order->next;
  desk->count--;
  if (order->reader)
    order->reader->order = NULL;
  for (size_t i = 0; i < order->node_count; i++)
    free_node (&order->nodes[i]);
  free (order->nodes);
  free (order->job);
  free (order->user);
  free (order->tool);
  free (order->options);
  free (order->output);
  free (order);
}

void
trace_desk_destroy (struct trace_desk *desk)
{
  if (!desk)
    return;
  while (desk->orders)
    free_order (desk, desk->orders);
  free (desk);
}

size_t
trace_desk_open (const struct trace_desk *desk)
{
  return desk->count;
}

void
trace_detach (struct trace_reader *reader)
{
  if (reader && reader->order)
    reader->order->reader = NULL;
  free (reader);
}

/* The reader may be gone afterwards. */
static void
wake (struct trace_reader *reader)
{
  if (!reader || !reader->fresh)
    return;
  reader->fresh = false;
  reader->ready (reader->context);
}

/* ---- nodes ---- */

static void
set_text (char **place, struct trace_text text)
{
  free (*place);
  *place = memory_copy (text.text ? text.text : "", text.length);
}

/* What was under way there is lost sight of. */
static void
fail_node (struct trace_order *order, struct traced_node *node, const char *why)
{
  order->waiting -= node->state == TRACED_ASKED;
  order->open--;
  node->state = TRACED_FAILED;
  set_text (&node->error, trace_text (why));
  for (size_t i = 0; i < node->count; i++) {
    struct traced_process *process = &node->processes[i];
    if (process->state != TRACE_FOUND && process->state != TRACE_BEGUN)
      continue;
    process->state = TRACE_FAILED;
    set_text (&process->error, trace_text (why));
    trace_line_process (order, node, process);
  }
  trace_line_node (order, node);
}

static void
ask_node (struct trace_desk *desk, struct trace_order *order, struct traced_node *node, int64_t now_ns)
{
  struct trace_request request = order->request;
  struct error error;

  node->asked_ns = now_ns;
  if (node->state == TRACED_GOES_ON)
    request.kind = TRACE_STATE;
  if (request.kind == TRACE_STATE)
    request.start_ns = 0;
  if (node->choice)
    trace_choice_apply (node->choice, &request);
  if (desk->options.request (desk->options.context, node->name, &request, &error) < 0 && node->state == TRACED_ASKED)
    fail_node (order, node, error.text);
}

/* Why nothing is heard of a node that was asked. */
static void
explain_silence (const struct node *node, char *text, size_t size)
{
  if (!node || node->state != NODE_UP)
    snprintf (text, size, "the node is %s", node ? node_state_name (node->state) : "not listed any more");
  else
    snprintf (text, size, "the agent, of version %s, does not answer: it is too old to be asked for traces",
              node->sessions[0].version);
}

static void
look_at_node (struct trace_desk *desk, struct trace_order *order, struct traced_node *traced, int64_t now_ns)
{
  const struct node *node = cluster_find (desk->options.cluster, traced->name);
  int64_t silent_ns = now_ns - traced->heard_ns;
  char why[160];

  if (traced->state == TRACED_ASKED && silent_ns > ASK_PATIENCE) {
    explain_silence (node, why, sizeof why);
    fail_node (order, traced, why);
  } else if (!node || node->state == NODE_DOWN) {
    fail_node (order, traced, "the node went down");
  } else if (silent_ns > LOOK_PATIENCE) {
    fail_node (order, traced, "the agent does not answer any more; what it has begun may still come");
  } else if (silent_ns > (traced->state == TRACED_ASKED ? ASK_AGAIN : LOOK_EVERY) &&
             now_ns - traced->asked_ns > ASK_AGAIN) {
    ask_node (desk, order, traced, now_ns);
  }
}

/* ---- orders ---- */

/* Every node has listed what it found, or was given up. */
static void
note_listed (struct trace_desk *desk, struct trace_order *order, int64_t wall_ns)
{
  struct trace_sum sum = trace_order_sum (order);

  trace_line_listed (order);
  order->begun = order->request.kind == TRACE_BEGIN && sum.processes > sum.failed;
  if (order->begun)
    trace_event (&desk->options, order, EVENT_TRACE_BEGUN, wall_ns);
}

static uint64_t
make_id (void)
{
  uint64_t id = 0;

  while (id == 0)
    if (getrandom (&id, sizeof id, 0) != sizeof id)
      id = 0;
  return id;
}

/* Every node has answered what it has: those of which something is chosen are asked for that. */
static void
begin_chosen (struct trace_desk *desk, struct trace_order *order)
{
  int64_t now_ns = clock_monotonic ();

  trace_choose (order);
  order->choosing = false;
  order->start_ns = cluster_time (desk->options.cluster, now_ns) + order->delay_ns;
  order->request.id = make_id ();
  order->request.kind = TRACE_BEGIN;
  order->request.start_ns = order->start_ns;
  trace_line_order (order);
  for (size_t i = 0; i < order->node_count; i++) {
    struct traced_node *node = &order->nodes[i];
    free_processes (node);
    if (node->state == TRACED_FAILED)
      trace_line_node (order, node);
    if (node->state == TRACED_FAILED || !node->choice)
      continue;
    node->state = TRACED_ASKED;
    node->heard_ns = now_ns;
    order->waiting++;
    order->open++;
  }
  for (size_t i = 0; i < order->node_count; i++)
    if (order->nodes[i].state == TRACED_ASKED)
      ask_node (desk, order, &order->nodes[i], now_ns);
}

/* After nodes have changed; the order may be gone afterwards. */
static void
settle (struct trace_desk *desk, struct trace_order *order, size_t waited)
{
  struct trace_reader *reader = order->reader;
  int64_t wall_ns = cluster_time (desk->options.cluster, clock_monotonic ());

  if (order->choosing && order->waiting == 0)
    begin_chosen (desk, order);
  if (waited > 0 && order->waiting == 0)
    note_listed (desk, order, wall_ns);
  if (order->open == 0) {
    trace_line_end (order);
    if (order->begun)
      trace_event (&desk->options, order, EVENT_TRACE_ENDED, wall_ns);
    free_order (desk, order);
  }
  wake (reader);
}

void
trace_desk_poll (struct trace_desk *desk, struct instant now)
{
  struct trace_order *next;

  for (struct trace_order *order = desk->orders; order; order = next) {
    size_t waited = order->waiting;
    next = order->next;
    for (size_t i = 0; i < order->node_count; i++)
      if (order->nodes[i].state == TRACED_ASKED || order->nodes[i].state == TRACED_GOES_ON)
        look_at_node (desk, order, &order->nodes[i], now.monotonic_ns);
    settle (desk, order, waited);
  }
}

/* ---- asking ---- */

static int
check_room (const struct trace_desk *desk, const char *user, struct error *error)
{
  size_t own = 0;

  for (const struct trace_order *order = desk->orders; order; order = order->next)
    own += strcmp (order->user, user) == 0;
  if (desk->count >= TRACE_ORDERS_MAX || own >= TRACE_USER_ORDERS_MAX)
    return error_set (error, "%zu requests for traces are under way, %zu of them of %s: one has to end first",
                      desk->count, own, user);
  return 0;
}

static struct trace_order *
make_order (const struct trace_question *question, int64_t start_ns)
{
  struct trace_order *order = memory_new (1, sizeof *order);
  struct trace_request *request = &order->request;

  order->job = memory_string (question->job);
  order->user = memory_string (question->user);
  order->tool = memory_string (question->tool);
  order->options = memory_string (question->options);
  order->output = memory_string (question->output);
  order->start_ns = start_ns;
  order->delay_ns = question->delay_ns;
  order->limit = question->limit;
  order->choosing = question->limit && !question->list;
  for (char *at = order->options; (at = strchr (at, ' '));)
    *at = '\n';
  *request = (struct trace_request){ .id = make_id (),
                                     .kind = question->list || order->choosing ? TRACE_LIST : TRACE_BEGIN,
                                     .job = trace_text (order->job),
                                     .user = trace_text (order->user),
                                     .tool = trace_text (order->tool),
                                     .options = trace_text (order->options),
                                     .output = trace_text (order->output),
                                     .rank_count = question->rank_count,
                                     .start_ns = question->list || order->choosing ? 0 : start_ns,
                                     .duration_ns = question->duration_ns,
                                     .iterations = question->iterations };
  memcpy (request->ranks, question->ranks, sizeof request->ranks);
  return order;
}

struct trace_reader *
trace_desk_ask (struct trace_desk *desk, const struct trace_question *question, const char *const *nodes, size_t count,
                struct outlet *outlet, void (*ready) (void *context), void *context, struct error *error)
{
  int64_t now_ns = clock_monotonic ();
  struct trace_reader *reader;
  struct trace_order *order;

  if (check_room (desk, question->user, error) < 0)
    return NULL;
  order = make_order (question, cluster_time (desk->options.cluster, now_ns) + question->delay_ns);
  reader = memory_new (1, sizeof *reader);
  *reader = (struct trace_reader){ order, outlet, ready, context, false };
  order->reader = reader;
  order->nodes = memory_new (count, sizeof *order->nodes);
  order->node_count = order->waiting = order->open = count;
  order->next = desk->orders;
  desk->orders = order;
  desk->count++;
  if (!order->choosing)
    trace_line_order (order);
  for (size_t i = 0; i < count; i++) {
    order->nodes[i].name = memory_string (nodes[i]);
    order->nodes[i].heard_ns = now_ns;
  }
  for (size_t i = 0; i < count; i++)
    ask_node (desk, order, &order->nodes[i], now_ns);
  reader->fresh = false; /* who asks flushes the outlet; what ends the order at once is found by the next poll */
  return reader;
}

/* ---- answers ---- */

static struct traced_process *
find_process (struct traced_node *node, int64_t pid)
{
  for (size_t i = 0; i < node->count; i++)
    if (node->processes[i].pid == pid)
      return &node->processes[i];
  if (node->count == TRACE_PROCESSES_MAX)
    return NULL;
  node->processes = memory_resize (node->processes, node->count + 1, sizeof *node->processes);
  node->processes[node->count] = (struct traced_process){ .pid = pid, .state = TRACE_STATES };
  return &node->processes[node->count++];
}

/* What has ended has ended, and nothing is reported twice. */
static void
take_record (struct trace_desk *desk, struct trace_order *order, struct traced_node *traced, const struct node *node,
             const struct trace_record *record)
{
  struct traced_process *process = find_process (traced, record->pid);

  if (!process || process->state == record->state || process->state == TRACE_ENDED || process->state == TRACE_FAILED)
    return;
  process->state = record->state;
  process->rank = record->rank;
  process->uid = record->uid;
  process->device = record->device;
  process->size = record->size;
  process->begun_ns = 0;
  if (record->begun_ns &&
      !cluster_time_of_node (desk->options.cluster, node, record->begun_ns, &process->begun_ns, &process->bound_ns)) {
    process->begun_ns = order->start_ns;
    process->bound_ns = -1;
  }
  set_text (&process->job, record->job);
  set_text (&process->path, record->path);
  set_text (&process->error, record->error);
  trace_line_process (order, traced, process);
}

static void
take_answer (struct trace_desk *desk, struct trace_order *order, struct traced_node *traced, const struct node *node,
             const struct trace_answer *answer)
{
  char *why;

  traced->heard_ns = clock_monotonic ();
  for (size_t i = 0; i < answer->count; i++)
    take_record (desk, order, traced, node, &answer->records[i]);
  if (answer->progress == TRACE_REFUSED) {
    why = memory_copy (answer->error.text ? answer->error.text : "", answer->error.length);
    fail_node (order, traced, why);
    free (why);
  } else if (answer->progress == TRACE_DONE) {
    order->waiting -= traced->state == TRACED_ASKED;
    order->open--;
    traced->state = TRACED_DONE;
    trace_line_node (order, traced);
  } else if (answer->progress == TRACE_GOES_ON && traced->state == TRACED_ASKED) {
    order->waiting--;
    traced->state = TRACED_GOES_ON;
    trace_line_node (order, traced);
  }
}

static int
compare_node (const void *name, const void *node)
{
  return strcmp (name, ((const struct traced_node *) node)->name);
}

void
trace_desk_answer (struct trace_desk *desk, const struct node *node, const struct trace_answer *answer)
{
  struct trace_order *order = desk->orders;
  struct traced_node *traced;
  size_t waited;

  while (order && order->request.id != answer->id)
    order = order->next;
  traced = order ? bsearch (node->name, order->nodes, order->node_count, sizeof *order->nodes, compare_node) : NULL;
  if (!traced || (traced->state != TRACED_ASKED && traced->state != TRACED_GOES_ON))
    return;
  waited = order->waiting;
  take_answer (desk, order, traced, node, answer);
  settle (desk, order, waited);
}
