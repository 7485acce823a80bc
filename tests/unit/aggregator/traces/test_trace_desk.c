/* Orders of traces: who is asked what, how often, and how each order ends; what is reported of it. */
#include "tests/unit/aggregator/core/cluster_bench.h"

#include <sys/mman.h>
#include <unistd.h>

#include "aggregator/traces/trace_desk.h"

#define ASKED_MAX 128

struct asked {
  char node[16], job[16], options[32];
  struct trace_request request;
};

struct desk {
  struct bench *bench;
  struct trace_desk *desk;
  struct outlet *outlet;
  int lines; /* a file in memory */
  uint64_t dropped;
  struct asked asked[ASKED_MAX];
  size_t asked_count, woken;
  const char *refused; /* the node that cannot be asked */
  struct seen_event events[8];
  size_t event_count;
};

static int
request (void *context, const char *node, const struct trace_request *request, struct error *error)
{
  struct desk *desk = context;
  struct asked *asked = &desk->asked[desk->asked_count];

  if (desk->refused && strcmp (desk->refused, node) == 0)
    return error_set (error, "its clock is not known");
  assert_true (desk->asked_count++ < ASKED_MAX);
  asked->request = *request;
  snprintf (asked->node, sizeof asked->node, "%s", node);
  snprintf (asked->job, sizeof asked->job, "%.*s", (int) request->job.length, request->job.text);
  snprintf (asked->options, sizeof asked->options, "%.*s", (int) request->options.length, request->options.text);
  return 0;
}

static void
event (void *context, const struct event *event)
{
  struct desk *desk = context;
  struct seen_event *seen = &desk->events[desk->event_count++ % 8];

  *seen = (struct seen_event){ .type = event->type, .count = event->count };
  snprintf (seen->reason, sizeof seen->reason, "%s", event->reason);
  snprintf (seen->text, sizeof seen->text, "%s", event->text);
}

static void
woken (void *context)
{
  struct desk *desk = context;

  desk->woken++;
}

static int
set_up (void **state)
{
  struct desk *desk = memory_new (1, sizeof *desk);

  bench_set_up ((void **) &desk->bench);
  bring_up (desk->bench, "n1", 7);
  bring_up (desk->bench, "n2", 8);
  desk->desk = trace_desk_create (&(struct trace_desk_options){ desk->bench->cluster, desk, request, event });
  desk->lines = memfd_create ("lines", MFD_CLOEXEC);
  desk->outlet = outlet_create (desk->lines, OUTLET_OPEN, 1 << 20, &desk->dropped);
  *state = desk;
  return 0;
}

static int
tear_down (void **state)
{
  struct desk *desk = *state;

  trace_desk_destroy (desk->desk);
  outlet_destroy (desk->outlet);
  close (desk->lines);
  bench_tear_down ((void **) &desk->bench);
  free (desk);
  return 0;
}

static const char *const nodes[] = { "n1", "n2" };

static struct trace_question
question (void)
{
  return (struct trace_question){ .job = "7",
                                  .user = "ana",
                                  .tool = "kineto",
                                  .options = "A=1 B=2",
                                  .output = "/x",
                                  .nodes = "",
                                  .delay_ns = 10 * NS_PER_S,
                                  .duration_ns = NS_PER_S };
}

static struct trace_reader *
ask (struct desk *desk, const struct trace_question *asked, size_t count)
{
  struct error error;
  struct trace_reader *reader = trace_desk_ask (desk->desk, asked, nodes, count, desk->outlet, woken, desk, &error);

  assert_non_null (reader);
  return reader;
}

static void
answer (struct desk *desk, const char *node, enum trace_progress progress, size_t count,
        const struct trace_record *records)
{
  struct trace_answer answer = { .id = desk->asked[desk->asked_count - 1].request.id, .progress = progress };

  if (progress == TRACE_REFUSED)
    answer.error = trace_text ("it does not like to");
  answer.count = count;
  if (count)
    memcpy (answer.records, records, count * sizeof *records);
  trace_desk_answer (desk->desk, cluster_find (desk->bench->cluster, node), &answer);
}

static struct trace_record
record (int64_t pid, int64_t rank, enum trace_state state)
{
  return (struct trace_record){ .pid = pid, .rank = rank, .uid = -1, .device = -1, .state = state, .size = 100 };
}

/* So long from now. */
static void
poll_in (struct desk *desk, int64_t ns)
{
  trace_desk_poll (desk->desk, (struct instant){ clock_monotonic () + ns, 0 });
}

/* The value of a member of the line. */
static const char *
member (const char *line, const char *name, char value[32])
{
  char key[32];
  const char *at;

  snprintf (key, sizeof key, "\"%s\":", name);
  at = strstr (line, key);
  if (at) {
    at += strlen (key);
    at += *at == '"';
    snprintf (value, 32, "%.*s", (int) strcspn (at, "\",}"), at);
  }
  return value;
}

/* What has been written since the last time, as "what:node:pid:state" or "what:ended/processes", with a blank behind each. */
static const char *
lines (struct desk *desk)
{
  static char text[4096], all[65536];
  size_t length = 0;
  ssize_t got;
  char *rest = all;

  assert_int_equal (outlet_flush (desk->outlet), 0);
  got = pread (desk->lines, all, sizeof all - 1, 0);
  assert_true (got >= 0);
  all[got] = 0;
  assert_int_equal (ftruncate (desk->lines, 0), 0);
  lseek (desk->lines, 0, SEEK_SET);
  text[0] = 0;
  for (char *line; (line = strsep (&rest, "\n")) && *line;) {
    const char *what = member (line, "what", (char[32]){ 0 }), *node = member (line, "node", (char[32]){ 0 });
    const char *state = member (line, "state", (char[32]){ 0 });

    if (strcmp (what, "process") == 0)
      length += (size_t) snprintf (text + length, sizeof text - length, "%s:%s:%s ", node,
                                   member (line, "pid", (char[32]){ 0 }), state);
    else if (strcmp (what, "node") == 0)
      length += (size_t) snprintf (text + length, sizeof text - length, "%s:%s ", node, state);
    else if (strcmp (what, "order") == 0)
      length += (size_t) snprintf (text + length, sizeof text - length, "order ");
    else
      length +=
          (size_t) snprintf (text + length, sizeof text - length, "%s:%s/%s ", what,
                             member (line, "ended", (char[32]){ 0 }), member (line, "processes", (char[32]){ 0 }));
  }
  return text;
}

/* ---- an order, from its beginning to its end ---- */

static void
test_whole (void **state)
{
  struct desk *desk = *state;
  struct trace_question asked = question ();
  struct trace_reader *reader;
  int64_t before_ns = cluster_time (desk->bench->cluster, clock_monotonic ());

  asked.ranks[0] = 3;
  asked.rank_count = 1;
  reader = ask (desk, &asked, 2);
  assert_string_equal (lines (desk), "order ");
  assert_int_equal (desk->asked_count, 2);
  for (size_t i = 0; i < 2; i++) {
    const struct trace_request *seen = &desk->asked[i].request;

    assert_string_equal (desk->asked[i].node, nodes[i]);
    assert_string_equal (desk->asked[i].job, "7");
    assert_string_equal (desk->asked[i].options, "A=1\nB=2");
    assert_int_equal (seen->kind, TRACE_BEGIN);
    assert_true (seen->id != 0 && seen->id == desk->asked[0].request.id);
    assert_true (seen->start_ns >= before_ns + 10 * NS_PER_S && seen->start_ns < before_ns + 600 * NS_PER_S);
    assert_true (seen->start_ns == desk->asked[0].request.start_ns);
    assert_true (seen->duration_ns == NS_PER_S && seen->rank_count == 1 && seen->ranks[0] == 3 && seen->limit == 0);
  }
  answer (desk, "n1", TRACE_MORE, 1, (struct trace_record[]){ record (11, 0, TRACE_FOUND) });
  answer (desk, "n1", TRACE_GOES_ON, 1, (struct trace_record[]){ record (12, 1, TRACE_FOUND) });
  assert_string_equal (lines (desk), "n1:11:found n1:12:found n1:listed ");
  assert_int_equal (desk->event_count, 0);
  answer (desk, "n2", TRACE_GOES_ON, 1, (struct trace_record[]){ record (21, 2, TRACE_FOUND) });
  assert_string_equal (lines (desk), "n2:21:found n2:listed listed:0/3 ");
  assert_int_equal (desk->event_count, 1);
  assert_int_equal (desk->events[0].type, EVENT_TRACE_BEGUN);
  assert_int_equal (desk->events[0].count, 3);
  assert_string_equal (desk->events[0].reason, "7");
  assert_non_null (strstr (desk->events[0].text, "kineto of 3 processes on 2 nodes"));
  assert_non_null (strstr (desk->events[0].text, "asked for by ana"));
  answer (desk, "n1", TRACE_DONE, 2,
          (struct trace_record[]){ record (11, 0, TRACE_ENDED), record (12, 1, TRACE_FAILED) });
  assert_string_equal (lines (desk), "n1:11:ended n1:12:failed n1:done ");
  assert_int_equal (trace_desk_open (desk->desk), 1);
  answer (desk, "n2", TRACE_DONE, 1, (struct trace_record[]){ record (21, 2, TRACE_ENDED) });
  assert_string_equal (lines (desk), "n2:21:ended n2:done end:2/3 ");
  assert_int_equal (trace_desk_open (desk->desk), 0);
  assert_int_equal (desk->event_count, 2);
  assert_int_equal (desk->events[1].type, EVENT_TRACE_ENDED);
  assert_int_equal (desk->events[1].count, 2);
  assert_non_null (strstr (desk->events[1].text, "2 of 3 traces are there; n1: "));
  assert_true (desk->woken > 0);
  trace_detach (reader);
}

/* What has ended has ended, nothing is reported twice, and what is of others is not taken. */
static void
test_answers_that_do_not_count (void **state)
{
  struct desk *desk = *state;
  struct trace_question asked = question ();
  struct trace_reader *reader = ask (desk, &asked, 2);
  struct trace_record found = record (11, 0, TRACE_FOUND), ended = record (11, 0, TRACE_ENDED);

  answer (desk, "n1", TRACE_GOES_ON, 1, &found);
  lines (desk);
  answer (desk, "n1", TRACE_GOES_ON, 1, &found);
  assert_string_equal (lines (desk), "");
  answer (desk, "n1", TRACE_GOES_ON, 1, &ended);
  assert_string_equal (lines (desk), "n1:11:ended ");
  answer (desk, "n1", TRACE_GOES_ON, 1, &found);
  answer (desk, "n1", TRACE_GOES_ON, 1, (struct trace_record[]){ record (11, 0, TRACE_FAILED) });
  assert_string_equal (lines (desk), "");
  desk->asked[desk->asked_count - 1].request.id++;
  answer (desk, "n1", TRACE_DONE, 0, NULL);
  desk->asked[desk->asked_count - 1].request.id--;
  assert_string_equal (lines (desk), "");
  answer (desk, "n1", TRACE_DONE, 0, NULL);
  assert_string_equal (lines (desk), "n1:done ");
  answer (desk, "n1", TRACE_DONE, 0, NULL);
  answer (desk, "n1", TRACE_REFUSED, 0, NULL);
  assert_string_equal (lines (desk), "");
  answer (desk, "n2", TRACE_REFUSED, 0, NULL);
  assert_string_equal (lines (desk), "n2:failed listed:1/1 end:1/1 ");
  assert_non_null (strstr (desk->events[1].text, "n2: it does not like to"));
  trace_detach (reader);
}

/* One that has listed what it found may fail before another has. */
static void
test_one_fails_before_another_answers (void **state)
{
  struct desk *desk = *state;
  struct trace_question asked = question ();
  struct trace_reader *reader = ask (desk, &asked, 2);

  answer (desk, "n1", TRACE_GOES_ON, 2,
          (struct trace_record[]){ record (11, 0, TRACE_FAILED), record (12, -1, TRACE_UNREGISTERED) });
  answer (desk, "n1", TRACE_GOES_ON, 1, (struct trace_record[]){ record (11, 0, TRACE_ENDED) });
  answer (desk, "n1", TRACE_REFUSED, 0, NULL);
  assert_string_equal (lines (desk), "order n1:11:failed n1:12:unregistered n1:listed n1:failed ");
  answer (desk, "n2", TRACE_DONE, 1, (struct trace_record[]){ record (21, 1, TRACE_ENDED) });
  assert_string_equal (lines (desk), "n2:21:ended n2:done listed:1/2 end:1/2 ");
  assert_int_equal (desk->events[0].count, 2); /* who has not registered takes no part */
  trace_detach (reader);
}

/* Where all have failed nothing has begun. */
static void
test_all_fail (void **state)
{
  struct desk *desk = *state;
  struct trace_question asked = question ();
  struct trace_reader *reader = ask (desk, &asked, 1);

  answer (desk, "n1", TRACE_DONE, 1, (struct trace_record[]){ record (11, 0, TRACE_FAILED) });
  assert_string_equal (lines (desk), "order n1:11:failed n1:done listed:0/1 end:0/1 ");
  assert_int_equal (desk->event_count, 0);
  trace_detach (reader);
}

static void
test_when_it_begins_is_cluster_time (void **state)
{
  struct desk *desk = *state;
  struct trace_question asked = question ();
  struct trace_reader *reader = ask (desk, &asked, 1);
  struct trace_record begun = record (11, 0, TRACE_BEGUN);
  char text[4096];
  ssize_t got;

  begun.begun_ns = 77 * NS_PER_S; /* of a clock that is not known: the order's start is shown, without a bound */
  answer (desk, "n1", TRACE_GOES_ON, 1, &begun);
  assert_int_equal (outlet_flush (desk->outlet), 0);
  got = pread (desk->lines, text, sizeof text - 1, 0);
  assert_true (got > 0);
  text[got] = 0;
  assert_non_null (strstr (text, "\"begun\":\"2"));
  assert_null (strstr (text, "\"bound\""));
  trace_detach (reader);
}

/* ---- nodes that do not answer ---- */

static void
test_silence (void **state)
{
  struct desk *desk = *state;
  struct trace_question asked = question ();
  struct trace_reader *reader = ask (desk, &asked, 1);

  lines (desk);
  poll_in (desk, NS_PER_S);
  assert_int_equal (desk->asked_count, 1);
  poll_in (desk, 3 * NS_PER_S);
  assert_int_equal (desk->asked_count, 2);
  assert_int_equal (desk->asked[1].request.kind, TRACE_BEGIN);
  assert_true (desk->asked[1].request.id == desk->asked[0].request.id &&
               desk->asked[1].request.start_ns == desk->asked[0].request.start_ns);
  poll_in (desk, 4 * NS_PER_S);
  assert_int_equal (desk->asked_count, 2); /* not so soon again */
  assert_string_equal (lines (desk), "");
  poll_in (desk, 9 * NS_PER_S);
  assert_string_equal (lines (desk), "n1:failed listed:0/0 end:0/0 ");
  assert_int_equal (trace_desk_open (desk->desk), 0);
  assert_int_equal (desk->event_count, 0); /* nothing began */
  trace_detach (reader);
}

static void
test_silence_afterwards (void **state)
{
  struct desk *desk = *state;
  struct trace_question asked = question ();
  struct trace_reader *reader = ask (desk, &asked, 1);

  answer (desk, "n1", TRACE_GOES_ON, 2,
          (struct trace_record[]){ record (11, 0, TRACE_ENDED), record (12, 1, TRACE_FOUND) });
  lines (desk);
  poll_in (desk, 4 * NS_PER_S);
  assert_int_equal (desk->asked_count, 1);
  poll_in (desk, 6 * NS_PER_S);
  assert_int_equal (desk->asked_count, 2);
  assert_int_equal (desk->asked[1].request.kind, TRACE_STATE);
  assert_int_equal (desk->asked[1].request.start_ns, 0);
  poll_in (desk, 30 * NS_PER_S);
  assert_string_equal (lines (desk), "");
  poll_in (desk, 41 * NS_PER_S);
  assert_string_equal (lines (desk), "n1:12:failed n1:failed end:1/2 ");
  trace_detach (reader);
}

static void
test_a_node_goes_down (void **state)
{
  struct desk *desk = *state;
  struct trace_question asked = question ();
  struct trace_reader *reader = ask (desk, &asked, 2);

  answer (desk, "n1", TRACE_GOES_ON, 1, (struct trace_record[]){ record (11, 0, TRACE_BEGUN) });
  answer (desk, "n2", TRACE_GOES_ON, 1, (struct trace_record[]){ record (21, 1, TRACE_BEGUN) });
  lines (desk);
  for (int i = 0; i < 15; i++) {
    pass (desk->bench, NS_PER_S);
    send_plain (desk->bench, "n2", 8, (uint64_t) i + 2);
  }
  assert_int_equal (state_of (desk->bench, "n1"), NODE_DOWN);
  poll_in (desk, 0);
  assert_string_equal (lines (desk), "n1:11:failed n1:failed ");
  answer (desk, "n1", TRACE_DONE, 1, (struct trace_record[]){ record (11, 0, TRACE_ENDED) });
  assert_string_equal (lines (desk), "");
  answer (desk, "n2", TRACE_DONE, 1, (struct trace_record[]){ record (21, 1, TRACE_ENDED) });
  assert_string_equal (lines (desk), "n2:21:ended n2:done end:1/2 ");
  trace_detach (reader);
}

static void
test_a_node_that_cannot_be_asked (void **state)
{
  struct desk *desk = *state;
  struct trace_question asked = question ();
  struct trace_reader *reader;

  desk->refused = "n1";
  reader = ask (desk, &asked, 1);
  assert_int_equal (trace_desk_open (desk->desk), 1); /* who asks has its reader first */
  poll_in (desk, 0);
  assert_string_equal (lines (desk), "order n1:failed end:0/0 ");
  assert_int_equal (trace_desk_open (desk->desk), 0);
  trace_detach (reader);
}

/* ---- who asks ---- */

static void
test_who_asked_leaves (void **state)
{
  struct desk *desk = *state;
  struct trace_question asked = question ();

  trace_detach (ask (desk, &asked, 1));
  assert_string_equal (lines (desk), "order ");
  answer (desk, "n1", TRACE_DONE, 1, (struct trace_record[]){ record (11, 0, TRACE_ENDED) });
  assert_string_equal (lines (desk), "");
  assert_int_equal (desk->event_count, 2);
  assert_int_equal (trace_desk_open (desk->desk), 0);
}

static void
test_so_many_orders (void **state)
{
  static const char *const users[] = { "ana", "bob", "eve", "leo" };
  struct desk *desk = *state;
  struct trace_question asked = question ();
  struct error error;

  for (size_t i = 0; i < TRACE_ORDERS_MAX; i++) {
    asked.user = users[i / TRACE_USER_ORDERS_MAX];
    trace_detach (ask (desk, &asked, 1));
    if (i == TRACE_USER_ORDERS_MAX - 1) {
      assert_null (trace_desk_ask (desk->desk, &asked, nodes, 1, desk->outlet, woken, desk, &error));
      assert_string_equal (error.text, "8 requests for traces are under way, 8 of them of ana: one has to end first");
    }
  }
  asked.user = "tom";
  assert_null (trace_desk_ask (desk->desk, &asked, nodes, 1, desk->outlet, woken, desk, &error));
  assert_non_null (strstr (error.text, "32 requests for traces are under way, 0 of them of tom"));
  answer (desk, "n1", TRACE_DONE, 0, NULL);
  trace_detach (ask (desk, &asked, 1));
}

static void
test_list (void **state)
{
  struct desk *desk = *state;
  struct trace_question asked = question ();
  struct trace_reader *reader;

  asked.list = true;
  asked.limit = 1; /* has no meaning here */
  reader = ask (desk, &asked, 1);
  assert_int_equal (desk->asked[0].request.kind, TRACE_LIST);
  assert_int_equal (desk->asked[0].request.start_ns, 0);
  answer (desk, "n1", TRACE_DONE, 2,
          (struct trace_record[]){ record (11, 0, TRACE_FOUND), record (12, 1, TRACE_FOUND) });
  assert_string_equal (lines (desk), "order n1:11:found n1:12:found n1:done listed:0/2 end:0/2 ");
  assert_int_equal (desk->event_count, 0);
  trace_detach (reader);
}

/* ---- so many processes of the whole job ---- */

static void
test_limit (void **state)
{
  struct desk *desk = *state;
  struct trace_question asked = question ();
  struct trace_reader *reader;
  uint64_t id;

  asked.limit = 3;
  reader = ask (desk, &asked, 2);
  id = desk->asked[0].request.id;
  assert_int_equal (desk->asked[0].request.kind, TRACE_LIST);
  assert_int_equal (desk->asked[0].request.start_ns, 0);
  assert_int_equal (desk->asked[0].request.limit, 0);
  answer (desk, "n1", TRACE_MORE, 2, /* rank 2 is busy */
          (struct trace_record[]){ record (11, 9, TRACE_FOUND), record (12, 2, TRACE_BEGUN) });
  answer (desk, "n1", TRACE_DONE, 1, (struct trace_record[]){ record (13, 4, TRACE_FOUND) });
  answer (desk, "n2", TRACE_DONE, 2,
          (struct trace_record[]){ record (21, -1, TRACE_FOUND), record (22, 0, TRACE_FOUND) });
  assert_string_equal (lines (desk), "order ");
  assert_int_equal (desk->asked_count, 4);
  for (size_t i = 2; i < 4; i++) {
    const struct trace_request *seen = &desk->asked[i].request;

    assert_int_equal (seen->kind, TRACE_BEGIN);
    assert_true (seen->id != id && seen->start_ns > 0);
  }
  assert_int_equal (desk->asked[2].request.rank_count, 2);
  assert_int_equal (desk->asked[2].request.ranks[0], 4);
  assert_int_equal (desk->asked[2].request.ranks[1], 9);
  assert_int_equal (desk->asked[2].request.limit, 2);
  assert_int_equal (desk->asked[3].request.rank_count, 1);
  assert_int_equal (desk->asked[3].request.ranks[0], 0);
  assert_int_equal (desk->asked[3].request.limit, 1);
  answer (desk, "n1", TRACE_DONE, 2,
          (struct trace_record[]){ record (13, 4, TRACE_ENDED), record (11, 9, TRACE_ENDED) });
  answer (desk, "n2", TRACE_DONE, 1, (struct trace_record[]){ record (22, 0, TRACE_ENDED) });
  assert_string_equal (lines (desk), "n1:13:ended n1:11:ended n1:done n2:22:ended n2:done listed:3/3 end:3/3 ");
  trace_detach (reader);
}

/* Of those asked for by rank; and a node that has none of them is not asked again. */
static void
test_limit_of_ranks (void **state)
{
  struct desk *desk = *state;
  struct trace_question asked = question ();
  struct trace_reader *reader;

  asked.limit = 2;
  asked.ranks[0] = 5;
  asked.ranks[1] = 6;
  asked.rank_count = 2;
  reader = ask (desk, &asked, 2);
  answer (desk, "n1", TRACE_DONE, 2,
          (struct trace_record[]){ record (11, 1, TRACE_FOUND), record (12, 6, TRACE_FOUND) });
  answer (desk, "n2", TRACE_DONE, 1, (struct trace_record[]){ record (21, 2, TRACE_FOUND) });
  assert_int_equal (desk->asked_count, 3);
  assert_int_equal (desk->asked[2].request.rank_count, 1);
  assert_int_equal (desk->asked[2].request.ranks[0], 6);
  answer (desk, "n1", TRACE_DONE, 1, (struct trace_record[]){ record (12, 6, TRACE_ENDED) });
  assert_string_equal (lines (desk), "order n1:12:ended n1:done listed:1/1 end:1/1 ");
  assert_non_null (strstr (desk->events[0].text, "kineto of 1 processes on 1 nodes"));
  trace_detach (reader);
}

/* Of processes without ranks only how many is asked for; among 70 there are too many to name. */
static void
test_limit_without_names (void **state)
{
  struct desk *desk = *state;
  struct trace_question asked = question ();
  struct trace_record many[24];
  struct trace_reader *reader;

  asked.limit = 70;
  reader = ask (desk, &asked, 2);
  for (int at = 0; at < 72; at += 24) {
    for (int i = 0; i < 24; i++)
      many[i] = record (100 + at + i, at + i, TRACE_FOUND);
    answer (desk, "n1", at < 48 ? TRACE_MORE : TRACE_DONE, 24, many);
  }
  answer (desk, "n2", TRACE_REFUSED, 0, NULL);
  assert_string_equal (lines (desk), "order n2:failed ");
  assert_int_equal (desk->asked_count, 3);
  assert_int_equal (desk->asked[2].request.rank_count, 0);
  assert_int_equal (desk->asked[2].request.limit, 70);
  trace_detach (reader);

  asked.limit = 2;
  reader = ask (desk, &asked, 2);
  answer (desk, "n2", TRACE_DONE, 1, (struct trace_record[]){ record (10, -1, TRACE_FOUND) });
  answer (desk, "n1", TRACE_DONE, 2,
          (struct trace_record[]){ record (12, -1, TRACE_FOUND), record (11, -1, TRACE_FOUND) });
  assert_int_equal (desk->asked_count, 6);
  assert_string_equal (desk->asked[5].node, "n1"); /* the first by name has as many */
  assert_int_equal (desk->asked[5].request.rank_count, 0);
  assert_int_equal (desk->asked[5].request.limit, 2);
  trace_detach (reader);
}

static void
test_limit_of_nothing (void **state)
{
  struct desk *desk = *state;
  struct trace_question asked = question ();
  struct trace_reader *reader;

  asked.limit = 2;
  desk->refused = "n1";
  reader = ask (desk, &asked, 2);
  answer (desk, "n2", TRACE_DONE, 0, NULL);
  assert_string_equal (lines (desk), "order n1:failed listed:0/0 end:0/0 ");
  assert_int_equal (trace_desk_open (desk->desk), 0);
  assert_int_equal (desk->event_count, 0);
  trace_detach (reader);
}

#define DESK_TEST(name) cmocka_unit_test_setup_teardown (name, set_up, tear_down)

int
main (void)
{
  const struct CMUnitTest tests[] = {
    DESK_TEST (test_whole),
    DESK_TEST (test_answers_that_do_not_count),
    DESK_TEST (test_one_fails_before_another_answers),
    DESK_TEST (test_all_fail),
    DESK_TEST (test_when_it_begins_is_cluster_time),
    DESK_TEST (test_silence),
    DESK_TEST (test_silence_afterwards),
    DESK_TEST (test_a_node_goes_down),
    DESK_TEST (test_a_node_that_cannot_be_asked),
    DESK_TEST (test_who_asked_leaves),
    DESK_TEST (test_so_many_orders),
    DESK_TEST (test_list),
    DESK_TEST (test_limit),
    DESK_TEST (test_limit_of_ranks),
    DESK_TEST (test_limit_without_names),
    DESK_TEST (test_limit_of_nothing),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
