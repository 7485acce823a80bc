/* See top.h. */
#include "aggregator/top/top.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/top/top_private.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/log.h"
#include "synop/memory.h"

#define ONCE_NS (15 * NS_PER_S) /* --once waits so long for values */
#define ONCE_HEIGHT_MIN 64
#define ONCE_CELLS_ROWS 20

void
top_arrange (struct top *top)
{
  order_nodes (top);
  jobs_order (&top->jobs, top->filter[VIEW_JOBS].text);
  events_order (&top->events, top->filter[VIEW_EVENTS].text);
}

void
top_set_view (struct top *top, enum top_view view)
{
  if (view == top->view)
    return;
  if (view == VIEW_NODE || view == VIEW_HELP)
    top->before = top->view;
  top->view = view;
  feeds_show (top);
  top_arrange (top);
}

void
top_set_node (struct top *top, const char *node)
{
  char *copy = memory_string (node);

  free (top->node);
  top->node = copy;
  top->node_jobs = false;
  node_screen_clear (top->node_screen);
  top_set_view (top, VIEW_NODE);
}

void
top_choose (struct top *top, const char *expression)
{
  enum model_slot slot = SLOT_CPU;

  while (slot < SLOT_CHOSEN && strcmp (model_expressions[slot], expression) != 0)
    slot++;
  free (top->chosen);
  top->chosen = slot == SLOT_CHOSEN ? memory_string (expression) : NULL;
  top->cells = slot;
  top->model.columns[SLOT_CHOSEN].present = false;
  if (top->cells_size == 0)
    top->cells_size = 1;
  if (top->groups)
    feeds_ask (top);
}

/* ---- as text ---- */

bool
top_is_filled (const struct top *top)
{
  switch (top->view) {
  case VIEW_JOBS:
    return top->jobs.filled && top->jobs.named;
  case VIEW_EVENTS:
    return top->events.filled;
  case VIEW_NODE:
    return node_screen_is_filled (top->node_screen);
  default:
    return top->came_ns && top->events.filled;
  }
}

static int
print_once (struct top *top)
{
  struct canvas canvas = { .unicode = terminal_locale () };
  struct buffer text = { 0 };
  size_t rows;
  int code = 1;

  if (!top_is_filled (top)) {
    log_error ("%s: %s", top->options->reach->chosen ? top->options->reach->url : top->options->reach->socket,
               *top->error        ? top->error
               : *top->jobs.error ? top->jobs.error
                                  : "no values came in 15 s");
    return 1;
  }
  top_arrange (top);
  rows = top->model.count + top->jobs.count + top->events.shown_count;
  canvas_begin (&canvas, top->options->width,
                (int) (rows < CANVAS_HEIGHT_MAX / 2 ? rows * 3 / 2 : rows) + ONCE_HEIGHT_MIN);
  top_draw (top, &canvas);
  canvas_print (&canvas, &text);
  code = file_print (&text);
  canvas_free (&canvas);
  buffer_free (&text);
  return code;
}

static void
stop (void *loop, int64_t due_ns)
{
  (void) due_ns;
  loop_stop (loop);
}

static int
run_once (struct top *top)
{
  struct loop_timer *timer = loop_timer_add (top->loop, stop, top->loop);

  loop_timer_set (timer, clock_monotonic () + ONCE_NS);
  feeds_open (top);
  feeds_show (top);
  loop_run (top->loop);
  loop_timer_remove (timer);
  return print_once (top);
}

/* ---- on the terminal ---- */

/* That nothing comes is to be seen too. */
static void
look_again (void *context, int64_t due_ns)
{
  struct top *top = context;

  if (clock_monotonic () - top->came_ns > NS_PER_S * 3 / 2)
    screen_changed (top->screen);
  loop_timer_set (top->clock, due_ns + NS_PER_S);
}

static int
run_screen (struct top *top)
{
  struct screen_options options = {
    .loop = top->loop, .unicode = terminal_locale (), .context = top, .draw = top_draw, .key = top_key
  };
  struct error error;

  top->screen = screen_open (&options, &error);
  if (!top->screen) {
    log_error ("%s", error.text);
    return 1;
  }
  top->clock = loop_timer_add (top->loop, look_again, top);
  loop_timer_set (top->clock, clock_monotonic () + NS_PER_S);
  feeds_open (top);
  feeds_show (top);
  loop_run (top->loop);
  loop_timer_remove (top->clock);
  screen_close (top->screen);
  return 0;
}

/* ---- options ---- */

static int
set_up (struct top *top)
{
  const struct top_options *options = top->options;
  bool jobs = options->view == VIEW_JOBS;
  int sort = !*options->sort ? -2 : jobs ? jobs_sort_of (options->sort) : order_sort_of (options->sort);

  if (sort == -1) {
    log_error ("--sort %s: expected one of %s", options->sort,
               jobs ? "cpu, memory, traffic, power, id, user"
                    : "name, state, cpu, memory, network, disk, gpu, power, metric");
    return -1;
  }
  if (options->view == VIEW_NODE && !*options->node) {
    log_error ("--view node needs --node NAME");
    return -1;
  }
  if (sort >= 0 && jobs)
    top->jobs.sort = (enum jobs_sort) sort;
  else if (sort >= 0)
    top->sort = (enum top_sort) sort;
  strncpy (top->filter[options->view].text, options->filter, SCREEN_INPUT_MAX);
  if (*options->metric)
    top_choose (top, options->metric);
  top->view = options->view;
  if (*options->node)
    top_set_node (top, options->node);
  return 0;
}

int
top_run (const struct top_options *options)
{
  struct top top = { .options = options, .cells_size = 1, .sort = SORT_NAME, .loop = loop_create () };
  int code = 2;

  top.node_screen = node_screen_create ();
  if (set_up (&top) == 0)
    code = options->once ? run_once (&top) : run_screen (&top);
  feeds_close (&top);
  top_forget_only (&top);
  metrics_free (&top.metrics);
  model_free (&top.model);
  jobs_free (&top.jobs);
  events_free (&top.events);
  node_screen_destroy (top.node_screen);
  loop_destroy (top.loop);
  free (top.order);
  free (top.marks);
  free (top.chosen);
  free (top.node);
  return code;
}
