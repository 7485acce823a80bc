/* top without a terminal: what lines of the socket become, what is shown in which order, what keys do to it. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/top/top_private.h"
#include "synop/clock.h"

#define GROUPS                                                                                                         \
  "{\"name\":\"cpu_usage\",\"once\":false,\"metrics\":[{\"name\":\"busy\",\"kind\":\"counter\",\"share\":true,"        \
  "\"unit\":\"seconds\","                                                                                              \
  "\"help\":\"Time with something to do.\",\"nodes\":3}]}"
#define GROUPS_2                                                                                                       \
  "{\"name\":\"load\",\"once\":false,\"metrics\":[{\"name\":\"load_1\",\"kind\":\"gauge\",\"unit\":\"\",\"help\":"     \
  "\"Tasks that ran.\"},"                                                                                              \
  "{\"name\":\"state\",\"kind\":\"text\",\"help\":\"\"}]}"
#define GROUPS_3 "{\"name\":\"hardware_info\",\"once\":true,\"metrics\":[{\"name\":\"cpus\",\"kind\":\"gauge\"}]}"

#define WATCH(nodes, states, values)                                                                                   \
  "{\"type\":\"now\",\"time\":\"2026-11-23T04:05:06Z\",\"list\":7," nodes "\"states\":\"" states                       \
  "\",\"metrics\":[{\"metric\":"                                                                                       \
  "\"cpu_usage.busy\",\"unit\":\"%\",\"count\":2,\"sum\":100,\"mean\":50,\"min\":10,\"max\":90,\"min_node\":\"n1\","   \
  "\"max_node\":"                                                                                                      \
  "\"n10\",\"values\":[" values "]}]}"
#define NODES "\"nodes\":[\"n1\",\"n2\",\"n10\",\"gpu1\"],"

static void
take (struct top *top, const char *line)
{
  assert_int_equal (model_take (&top->model, line, strlen (line)), 0);
  top->came_ns = clock_monotonic ();
  top_arrange (top);
}

static struct top *
make_top (void)
{
  static char none[] = "";
  static const struct reach reach = { .socket = "s", .url = none };
  static const struct top_options options = {
    .reach = &reach, .width = 80, .metric = "", .sort = "", .filter = "", .node = ""
  };
  struct top *top = calloc (1, sizeof *top);
  struct buffer request = { 0 };

  *top = (struct top){ .options = &options, .cells_size = 1, .sort = SORT_NAME, .node_screen = node_screen_create () };
  metrics_take (&top->metrics, GROUPS, strlen (GROUPS));
  metrics_take (&top->metrics, GROUPS_2, strlen (GROUPS_2));
  metrics_take (&top->metrics, GROUPS_3, strlen (GROUPS_3));
  metrics_end (&top->metrics);
  model_ask (&top->model, NULL, metrics_has, &top->metrics, &request);
  assert_string_equal (buffer_text (&request), "watch\tmetric=cpu_usage.busy\n");
  buffer_free (&request);
  return top;
}

static void
free_top (struct top *top)
{
  top_forget_only (top);
  metrics_free (&top->metrics);
  model_free (&top->model);
  jobs_free (&top->jobs);
  events_free (&top->events);
  node_screen_destroy (top->node_screen);
  free (top->order);
  free (top->chosen);
  free (top->node);
  free (top->marks);
  free (top);
}

static const char *
drawn (struct top *top, int width, int height)
{
  static struct buffer text;
  struct canvas canvas = { .unicode = true };

  canvas_begin (&canvas, width, height);
  top_draw (top, &canvas);
  buffer_clear (&text);
  canvas_print (&canvas, &text);
  canvas_free (&canvas);
  return buffer_text (&text);
}

static void
expect_words (const char *text, const char *const *words)
{
  for (; *words; words++)
    if (!strstr (text, *words))
      fail_msg ("\"%s\" is not in\n%s", *words, text);
}

/* ---- values ---- */

static void
test_lines_become_values (void **state)
{
  struct top *top = make_top ();

  (void) state;
  take (top, WATCH (NODES, "usdn", "10,null,90,null"));
  assert_int_equal (top->model.count, 4);
  assert_string_equal (top->model.names[2], "n10");
  assert_int_equal (top->model.in_state[STATE_UP], 1);
  assert_int_equal (top->model.states[2], STATE_DOWN);
  assert_true (top->model.columns[SLOT_CPU].values[2] == 90);
  assert_true (isnan (top->model.columns[SLOT_CPU].values[1]));
  take (top, WATCH ("", "uuuu", "1,2,3,4")); /* the same nodes */
  assert_int_equal (top->model.in_state[STATE_UP], 4);
  assert_true (top->model.columns[SLOT_CPU].values[3] == 4);
  free_top (top);
}

static void
test_lines_of_other_questions_are_refused (void **state)
{
  static const char *const lines[] = {
    "", "{}", "nonsense", "{\"type\":\"now\",\"time\":\"x\",\"metrics\":[]}",
    "{\"type\":\"now\",\"time\":\"x\",\"list\":8,\"states\":\"\",\"metrics\":[{}]}"
  };
  struct top *top = make_top ();

  (void) state;
  take (top, WATCH (NODES, "uuuu", "1,2,3,4"));
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
    assert_int_equal (model_take (&top->model, lines[i], strlen (lines[i])), -1);
  assert_int_equal (top->model.count, 4);
  free_top (top);
}

static void
test_shares_lie_on_the_scale (void **state)
{
  struct model_column column = { .low = -10, .high = 10 }, flat = { .low = 0, .high = 0 };

  (void) state;
  assert_true (model_share (&column, 0) == 0.5);
  assert_true (model_share (&flat, 0) == 0);
  assert_true (isnan (model_share (&column, (double) NAN)));
}

/* ---- order ---- */

static void
expect_order (struct top *top, const char *names)
{
  char text[200] = "";

  top_arrange (top);
  for (size_t i = 0; i < top->order_count; i++)
    strcat (strcat (text, i ? " " : ""), top->model.names[top->order[i]]);
  assert_string_equal (text, names);
}

static void
test_orders (void **state)
{
  struct top *top = make_top ();

  (void) state;
  take (top, WATCH (NODES, "uudu", "10,50,null,50"));
  expect_order (top, "n1 n2 n10 gpu1");
  top->reverse = true;
  expect_order (top, "gpu1 n10 n2 n1");
  top->reverse = false;
  top->sort = (enum top_sort) SLOT_CPU;
  expect_order (top, "n2 gpu1 n1 n10"); /* what is missing comes last, */
  top->reverse = true;
  expect_order (top, "n1 n2 gpu1 n10"); /* the other way round too */
  top->reverse = false;
  top->sort = SORT_STATE;
  expect_order (top, "n10 n1 n2 gpu1");
  free_top (top);
}

static void
test_filters (void **state)
{
  static const struct {
    const char *filter, *text;
    bool matches;
  } cases[] = { { "", "n1", true },       { "n1", "n10", true },     { "N1", "n10", true },   { "n1*", "n10", true },
                { "n?", "n10", false },   { "gpu, n2", "n2", true }, { ",", "x", true },      { "gpu", "n1", false },
                { "n[1-3]", "n2", true }, { "[", "n2", false },      { "GPU*", "gpu1", true } };
  struct top *top = make_top ();

  (void) state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    if (order_matches (cases[i].filter, cases[i].text) != cases[i].matches)
      fail_msg ("\"%s\" and \"%s\"", cases[i].filter, cases[i].text);
  take (top, WATCH (NODES, "uuuu", "1,2,3,4"));
  strcpy (top->filter[VIEW_CLUSTER].text, "gpu,n1*");
  expect_order (top, "n1 n10 gpu1");
  free_top (top);
}

static void
test_search_goes_round (void **state)
{
  struct top *top = make_top ();
  size_t found;

  (void) state;
  take (top, WATCH (NODES, "uuuu", "1,2,3,4"));
  strcpy (top->search.text, "N1");
  assert_true (order_search (top, 0, &found));
  assert_int_equal (found, 0);
  assert_true (order_search (top, 1, &found));
  assert_int_equal (found, 2);
  assert_true (order_search (top, 3, &found));
  assert_int_equal (found, 0);
  strcpy (top->search.text, "n2");
  assert_true (order_search (top, 3, &found));
  assert_int_equal (found, 1);
  strcpy (top->search.text, "none");
  assert_false (order_search (top, 0, &found));
  free_top (top);
}

/* ---- screens ---- */

static void
test_cluster_is_drawn (void **state)
{
  struct top *top = make_top ();
  const char *text;

  (void) state;
  take (top, WATCH (NODES, "uusd", "10,90,null,null"));
  text = drawn (top, 80, 24);
  expect_words (text, (const char *const[]){ "Cluster  4 nodes: 2 up 1 stale 1 down", "04:05:06 UTC", "CPU 50.0%",
                                             "cpu_usage.busy 0.0% ▁▂▃▄▅▆▇█ 100.0%  most: 90.0% on n10",
                                             "▁▁▁▁▁▁▁▁ ████████ ???????? XXXXXXXX", "n10      stale", "gpu1     down",
                                             "90.0%]", NULL });
  free_top (top);
}

static void
test_alerts_mark_nodes (void **state)
{
  static const char alarm[] = "{\"node\":\"n10\",\"level\":\"alarm\",\"text\":\"XID errors on GPU 5: 2\"}",
                    warning[] = "{\"node\":\"n2\",\"level\":\"warning\",\"text\":\"gpu: lost\"}";
  struct top *top = make_top ();

  (void) state;
  events_take_alert (&top->events, alarm, strlen (alarm));
  events_take_alert (&top->events, warning, strlen (warning));
  events_alerts_end (&top->events);
  take (top, WATCH (NODES, "uuuu", "10,90,20,30"));
  expect_words (drawn (top, 80, 24),
                (const char *const[]){ "4 up 2 with alerts", " !!!!!!!! ", "n2      ![", "n10     ![", NULL });
  top->sort = SORT_STATE;
  top_arrange (top);
  assert_string_equal (top->model.names[top->order[0]], "n10");
  assert_string_equal (top->model.names[top->order[1]], "n2");
  free (top->node);
  top->node = strdup ("n10");
  top->view = VIEW_NODE;
  expect_words (drawn (top, 80, 24), (const char *const[]){ "Node n10  up  XID errors on GPU 5: 2", NULL });
  free_top (top);
}

/* Of more nodes than there is room for, one that is down still shows. */
static void
test_many_nodes_share_cells (void **state)
{
  struct top *top = make_top ();
  struct canvas canvas = { .unicode = true };
  struct cells_plan plan;
  struct buffer line = { 0 }, text = { 0 };

  (void) state;
  buffer_add_string (&line, "{\"type\":\"now\",\"time\":\"2026-11-23T04:05:06Z\",\"list\":1,\"nodes\":[");
  for (int i = 0; i < 10000; i++)
    buffer_printf (&line, "%s\"n%d\"", i ? "," : "", i);
  buffer_add_string (&line, "],\"states\":\"");
  for (int i = 0; i < 10000; i++)
    buffer_add (&line, i == 5000 ? "d" : "u", 1);
  buffer_add_string (&line, "\",\"metrics\":[{\"metric\":\"cpu_usage.busy\",\"unit\":\"%\",\"count\":1,\"values\":[");
  for (int i = 0; i < 10000; i++)
    buffer_printf (&line, "%s%d", i ? "," : "", i == 9999 ? 100 : 1);
  buffer_add_string (&line, "]}]}");
  take (top, buffer_text (&line));
  canvas_begin (&canvas, 80, 5);
  plan = cells_plan (top, &canvas, 5);
  assert_int_equal (plan.each, 25);
  assert_int_equal (plan.rows, 5);
  cells_draw (top, &canvas, 0, &plan);
  canvas_print (&canvas, &text);
  assert_ptr_equal (strchr (buffer_text (&text), 'X') - 2 * (80 * 3 + 1) - 40 * 3, buffer_text (&text));
  assert_memory_equal (text.data + text.length - 4, "█\n", 4);
  plan = cells_plan (top, &canvas, 0);
  assert_int_equal (plan.rows, 0);
  buffer_free (&text);
  buffer_free (&line);
  canvas_free (&canvas);
  free_top (top);
}

static void
test_any_size_is_drawn (void **state)
{
  struct top *top = make_top ();

  (void) state;
  take (top, WATCH (NODES, "uusd", "10,90,null,null"));
  expect_words (drawn (top, 39, 24), (const char *const[]){ "too small: 39x24", "40x10 is needed", NULL });
  for (int width = 1; width < 130; width += 3)
    for (int height = 1; height < 40; height += 2)
      for (top->view = VIEW_CLUSTER; top->view < VIEW_NODE; top->view++)
        for (top->cells_size = 0; top->cells_size < 3; top->cells_size++)
          drawn (top, width, height);
  top->view = VIEW_HELP;
  expect_words (drawn (top, 40, 40), (const char *const[]){ "holds the screen still", "highest.", NULL });
  free_top (top);
}

static void
test_metrics_are_found (void **state)
{
  struct top *top = make_top ();
  struct top_metrics *metrics = &top->metrics;

  (void) state;
  assert_int_equal (metrics->count, 2); /* no text, no fact */
  assert_true (metrics_has (metrics, "cpu_usage.busy"));
  assert_false (metrics_has (metrics, "hardware_info.cpus"));
  metrics_find (metrics, "LOAD");
  assert_int_equal (metrics->found_count, 1);
  metrics_find (metrics, "usage something");
  assert_int_equal (metrics->found_count, 1);
  assert_string_equal (metrics->list[metrics->found[0]].name, "cpu_usage.busy");
  metrics_find (metrics, "");
  assert_int_equal (metrics->found_count, 2);
  metrics_take (metrics, GROUPS_2, strlen (GROUPS_2)); /* another answer begins */
  metrics_end (metrics);
  assert_int_equal (metrics->count, 1);
  free_top (top);
}

/* ---- jobs ---- */

#define ROW(node, id, value) "{\"node\":\"" node "\",\"row\":\"" id "\",\"value\":" value "}"

static void
test_jobs_add_up (void **state)
{
  static const char line[] = "{\"metrics\":[{\"rows\":[" ROW ("n1", "7", "1.5") "," ROW ("n1", "8", "0.1") "," ROW (
      "n2", "7", "0.5") "]},{\"rows\":[" ROW ("n1", "7", "2") "," ROW ("n1", "8", "1") "," ROW ("n2", "7", "2") "]}]}";
  static const char fact[] =
      "{\"job_id\":\"7\",\"user\":\"ana\",\"name\":\"\",\"command\":\"python3\",\"started\":\"2026-11-23T04:00:00Z\","
      "\"scheduler_facts\":{\"partition\":\"debug\",\"time_limit\":1e12}}";
  struct top *top = make_top ();
  struct top_jobs *jobs = &top->jobs;
  const struct top_job *job;

  (void) state;
  jobs->asked[0] = JOB_BUSY;
  jobs->asked[1] = JOB_CPUS;
  jobs->asked_count = 2;
  jobs_take_fact (jobs, fact, strlen (fact));
  jobs_facts_end (jobs);
  assert_int_equal (jobs_take (jobs, line, strlen (line)), 0);
  jobs_order (jobs, "");
  assert_int_equal (jobs->shown_count, 2);
  job = &jobs->list[jobs->shown[0]];
  assert_string_equal (job->id, "7");
  assert_string_equal (job->user, "ana");
  assert_string_equal (job->name, "python3");
  assert_true (job->numbers[JOB_BUSY] == 2 && job->numbers[JOB_CPUS] == 4);
  assert_int_equal (job->node_count, 2);
  assert_true (isnan (job->numbers[JOB_MEMORY]));
  top->view = VIEW_JOBS;
  expect_words (drawn (top, 80, 24),
                (const char *const[]){ "2 jobs run   2.10 of 5 CPUs busy", "50.0%", "python3", NULL });
  assert_null (strstr (drawn (top, 80, 24), "PARTITION"));
  expect_words (drawn (top, 120, 24), (const char *const[]){ "LEFT", "PARTITION", "debug", NULL });
  assert_true (job->limit == 1e12 && isnan (jobs->list[jobs->shown[1]].limit));
  jobs->sort = JOBS_BY_ID;
  jobs->reverse = true;
  jobs_order (jobs, "");
  assert_string_equal (jobs->list[jobs->shown[0]].id, "8");
  jobs_order (jobs, "ana");
  assert_int_equal (jobs->shown_count, 1);
  assert_int_equal (jobs_take (jobs, "{}", 2), -1);
  free_top (top);
}

/* ---- events ---- */

static void
test_findings_and_events (void **state)
{
  static const char event[] =
      "{\"type\":\"event\",\"time\":\"2026-11-23T04:05:06.5Z\",\"event\":\"group_failed\",\"node\":\"n1\","
      "\"groups\":[\"gpu\",\"nfs\"],\"error\":\"\\u001b[2J lost\"}";
  static const char failing[] =
      "{\"node\":\"n1\",\"level\":\"warning\",\"text\":\"gpu: lost\",\"since\":\"2026-11-23T04:05:06Z\"}";
  static const char down[] =
      "{\"node\":\"n9\",\"level\":\"alarm\",\"text\":\"down: no frames come\",\"since\":\"2026-11-20T01:02:03Z\"}";
  static const char xid[] =
      "{\"node\":\"n1\",\"level\":\"alarm\",\"text\":\"XID errors on GPU 5: 2\",\"since\":\"2026-11-23T04:05:00Z\"}";
  struct top *top = make_top ();
  struct top_events *events = &top->events;

  (void) state;
  events_take (events, event, strlen (event));
  strcpy (events->today, "2026-11-23");
  events_take_alert (events, down, strlen (down)); /* as the aggregator orders them */
  events_take_alert (events, xid, strlen (xid));
  events_take_alert (events, failing, strlen (failing));
  events_alerts_end (events);
  assert_int_equal (events_mark (events, "n1"), STYLE_BAD); /* by the gravest */
  assert_int_equal (events_mark (events, "n9"), STYLE_BAD);
  assert_int_equal (events_mark (events, "n2"), STYLE_PLAIN);
  assert_string_equal (events_alert_of (events, "n1"), "XID errors on GPU 5: 2");
  events_order (events, "");
  assert_int_equal (events->shown_count, 4);
  assert_string_equal (events_shown (events, 0)->node, "n9");
  top->view = VIEW_EVENTS;
  expect_words (drawn (top, 80, 24),
                (const char *const[]){ "3 wrong now; then the events of the last hour", "26-11-20 n9",
                                       "down: no frames come", "gpu: lost", "04:05:00 n1", "XID errors on GPU 5: 2",
                                       "04:05:06 n1", "group_failed  gpu,nfs  error: �[2J lost", NULL });
  strcpy (events->past_error, "no such file");
  expect_words (drawn (top, 80, 24), (const char *const[]){ "3 wrong now; then the events since top was started",
                                                            "Events of before are not known: no such file", NULL });
  events_order (events, "nfs");
  assert_int_equal (events->shown_count, 1);
  events_alerts_end (events); /* all is well */
  assert_int_equal (events_mark (events, "n1"), STYLE_PLAIN);
  events_order (events, "");
  assert_int_equal (events->shown_count, 1);
  for (int i = 0; i < 5000; i++)
    events_take (events, event, strlen (event));
  assert_true (events->count <= 2000);
  free_top (top);
}

/* ---- keys ---- */

static void
type (struct top *top, const char *keys)
{
  for (; *keys; keys++)
    top_key (top, *keys == '\n' ? TERMINAL_ENTER : *keys);
}

static void
test_keys (void **state)
{
  struct top *top = make_top ();

  (void) state;
  take (top, WATCH (NODES, "uuuu", "10,40,30,20"));
  drawn (top, 80, 24);
  type (top, "C");
  assert_int_equal (top->order[0], 1);
  type (top, "C"); /* the other way round */
  assert_int_equal (top->order[0], 0);
  type (top, "A/n10\n");
  assert_int_equal (top->rows.selected, 2);
  type (top, "fgpu\n");
  assert_int_equal (top->order_count, 1);
  top_key (top, TERMINAL_ESCAPE);
  assert_int_equal (top->order_count, 4);
  type (top, "c");
  assert_int_equal (top->cells_size, 2);
  type (top, "G"); /* there is no such column */
  assert_int_equal (top->sort, SORT_NAME);
  top_key (top, TERMINAL_F + 1);
  assert_int_equal (top->view, VIEW_HELP);
  type (top, "x");
  assert_int_equal (top->view, VIEW_CLUSTER);
  free_top (top);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_lines_become_values),
    cmocka_unit_test (test_lines_of_other_questions_are_refused),
    cmocka_unit_test (test_shares_lie_on_the_scale),
    cmocka_unit_test (test_orders),
    cmocka_unit_test (test_filters),
    cmocka_unit_test (test_search_goes_round),
    cmocka_unit_test (test_cluster_is_drawn),
    cmocka_unit_test (test_alerts_mark_nodes),
    cmocka_unit_test (test_many_nodes_share_cells),
    cmocka_unit_test (test_any_size_is_drawn),
    cmocka_unit_test (test_metrics_are_found),
    cmocka_unit_test (test_jobs_add_up),
    cmocka_unit_test (test_findings_and_events),
    cmocka_unit_test (test_keys),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  setlocale (LC_CTYPE, "C.UTF-8");
  return cmocka_run_group_tests (tests, NULL, NULL);
}
