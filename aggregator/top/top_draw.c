/* The frame of all views: the first line, the foot, what is typed; see top_private.h. */
#include <stdio.h>
#include <string.h>

#include "aggregator/top/top_private.h"
#include "synop/clock.h"
#include "synop/quantity.h"

#define TIME_LENGTH 14
#define TIME_WIDTH 60          /* columns of a screen with room for the time */
#define LATE_NS (5 * NS_PER_S) /* without values: that is said */

static const char *const state_words[] = { "up", "stale", "down", "never seen" };
static const unsigned state_styles[] = { STYLE_GOOD, STYLE_WARNING, STYLE_BAD, STYLE_FAINT };

static int
draw_name (const struct top *top, struct canvas *canvas)
{
  static const char *const titles[] = { "Cluster", "Jobs", "Events", "Node ", "Help" };
  int x = canvas_text (canvas, 0, 0, canvas->width, STYLE_STRONG, titles[top->view]);

  if (top->view == VIEW_NODE)
    x += canvas_text (canvas, x, 0, canvas->width / 2, STYLE_STRONG, top->node);
  return x + 2;
}

static void
draw_states (const struct top *top, struct canvas *canvas, int x)
{
  char text[40];
  size_t alerts = 0;

  snprintf (text, sizeof text, canvas->width < TIME_WIDTH ? "%zu:" : "%zu node%s:", top->model.count,
            top->model.count == 1 ? "" : "s");
  x += canvas_text (canvas, x, 0, canvas->width - x, STYLE_PLAIN, text);
  for (size_t i = 0; i < MODEL_STATES; i++)
    if (top->model.in_state[i] || i == STATE_UP) {
      snprintf (text, sizeof text, " %zu %s", top->model.in_state[i], state_words[i]);
      x += canvas_text (canvas, x, 0, canvas->width - x, state_styles[i], text);
    }
  for (size_t i = 0; top->marks && i < top->model.count; i++)
    alerts += top->model.states[i] == STATE_UP && top->marks[i] != STYLE_PLAIN;
  if (alerts) {
    snprintf (text, sizeof text, " %zu with alerts", alerts);
    canvas_text (canvas, x, 0, canvas->width - x, STYLE_WARNING, text);
  }
}

static void
draw_node_state (const struct top *top, struct canvas *canvas, int x)
{
  size_t node = model_find (&top->model, top->node);

  if (node != SIZE_MAX) {
    enum model_state state = (enum model_state) top->model.states[node];
    x += canvas_text (canvas, x, 0, canvas->width - x, state_styles[state], state_words[state]);
    canvas_text (canvas, x + 2, 0, canvas->width - x - 2 - TIME_LENGTH, events_mark (&top->events, top->node),
                 state == STATE_UP ? events_alert_of (&top->events, top->node) : "");
  }
}

/* What stands in the way of values, or "". */
static void
late (const struct top *top, char *text, size_t size)
{
  int64_t ago = clock_monotonic () - top->came_ns;

  *text = 0;
  if (!top->came_ns)
    snprintf (text, size, "%s", *top->error ? top->error : "waiting for values");
  else if (*top->error || ago > LATE_NS)
    snprintf (text, size, "no values since %.8s (%s): %s", top->model.time + 11,
              quantity_age ((double) ago / NS_PER_S).text, *top->error ? top->error : "the aggregator sends none");
}

static void
draw_title (const struct top *top, struct canvas *canvas)
{
  char why[400], time[16] = "";
  int x = draw_name (top, canvas);

  late (top, why, sizeof why);
  if (*why && !top->paused) {
    canvas_text (canvas, x, 0, canvas->width - x, STYLE_BAD, why);
    return;
  }
  if (top->model.time[0] && canvas->width >= TIME_WIDTH)
    snprintf (time, sizeof time, " %.8s UTC", top->model.time + 11);
  if (top->view == VIEW_NODE)
    draw_node_state (top, canvas, x);
  else
    draw_states (top, canvas, x);
  canvas_text (canvas, canvas->width - (int) strlen (time), 0, canvas->width, STYLE_PLAIN, time);
  if (top->paused)
    canvas_text (canvas, canvas->width - 21, 0, 21, STYLE_WARNING, " held; Space goes on ");
}

static void
draw_foot (const struct top *top, struct canvas *canvas)
{
  static const struct screen_label
      cluster[] = { { "F1", "Help" }, { "F2", "Metric" }, { "F3", "Search" }, { "F4", "Filter" },  { "F5", "Cells" },
                    { "F6", "Sort" }, { "F7", "Jobs" },   { "F8", "Events" }, { "Enter", "Node" }, { "q", "Quit" } },
      narrow[] = { { "F1", "Help" }, { "F7", "Jobs" }, { "F8", "Events" }, { "q", "Quit" } },
      jobs[] = { { "F1", "Help  " },         { "F4", "Filter" },  { "F6", "Sort  " }, { "F8", "Events" },
                 { "Enter", "Nodes of it" }, { "Esc", "Back  " }, { "q", "Quit  " } },
      events[] = { { "F1", "Help  " },    { "F4", "Filter" },  { "F7", "Jobs  " },
                   { "Enter", "Node  " }, { "Esc", "Back  " }, { "q", "Quit  " } },
      node[] = { { "F1", "Help  " },
                 { "j", "Jobs alone" },
                 { "Arrows", "Scroll" },
                 { "Esc", "Back  " },
                 { "q", "Quit  " } },
      help[] = { { "Esc", "Back  " } };
  static const struct {
    const struct screen_label *labels;
    size_t count;
  } feet[] = { [VIEW_CLUSTER] = { cluster, sizeof cluster / sizeof *cluster },
               [VIEW_JOBS] = { jobs, sizeof jobs / sizeof *jobs },
               [VIEW_EVENTS] = { events, sizeof events / sizeof *events },
               [VIEW_NODE] = { node, sizeof node / sizeof *node },
               [VIEW_HELP] = { help, 1 } };

  if (top->view == VIEW_CLUSTER && canvas->width < 80)
    screen_foot (canvas, narrow, sizeof narrow / sizeof *narrow);
  else
    screen_foot (canvas, feet[top->view].labels, feet[top->view].count);
}

/* What is typed, in place of the foot. */
static struct screen_cursor
draw_prompt (const struct top *top, struct canvas *canvas)
{
  bool search = top->prompt == PROMPT_SEARCH;
  const char *text = search ? top->search.text : top->filter[top->view].text;
  int y = canvas->height - 1,
      x = canvas_text (canvas, 0, y, canvas->width, STYLE_KEY, search ? "Search:" : "Filter:") + 1;
  size_t found;

  x += canvas_text (canvas, x, y, canvas->width - x - 1, STYLE_PLAIN, text);
  if (search && *text && !order_search (top, 0, &found))
    canvas_text (canvas, x + 2, y, canvas->width - x - 2, STYLE_WARNING, "no node has that in its name");
  return (struct screen_cursor){ x, y };
}

/* What is left out of the list, above the foot's end. */
static void
draw_filters (const struct top *top, struct canvas *canvas)
{
  const char *filter = top->filter[top->view].text;
  char text[2 * SCREEN_INPUT_MAX];

  if (!*filter && !(top->only && top->view == VIEW_CLUSTER))
    return;
  snprintf (text, sizeof text, " %s%.64s%s%s ", top->only && top->view == VIEW_CLUSTER ? "job " : "",
            top->only && top->view == VIEW_CLUSTER ? top->only_job : "", *filter ? " filter: " : "", filter);
  canvas_right (canvas, canvas->width / 2, canvas->height - 1, canvas->width - canvas->width / 2, STYLE_WARNING, text);
}

static const char *
why_no_page (const struct top *top)
{
  size_t node = model_find (&top->model, top->node);

  if (node == SIZE_MAX && top->came_ns)
    return "No node of that name is listed.";
  return node == SIZE_MAX || top->model.states[node] == STATE_UP ? "Waiting for the node's next values ..."
                                                                 : "The node sends nothing now.";
}

static void
draw_view (struct top *top, struct canvas *canvas, int y, int rows)
{
  switch (top->view) {
  case VIEW_JOBS:
    jobs_draw (top, canvas, y, rows);
    break;
  case VIEW_EVENTS:
    events_draw (top, canvas, y, rows);
    break;
  case VIEW_NODE:
    if (node_screen_is_filled (top->node_screen))
      node_screen_draw (top->node_screen, canvas, y, rows, top->node_jobs);
    else
      canvas_text (canvas, 0, y, canvas->width, STYLE_FAINT, why_no_page (top));
    break;
  case VIEW_HELP:
    help_draw (top, canvas, y, rows);
    break;
  default:
    cluster_draw (top, canvas, y, rows);
  }
}

struct screen_cursor
top_draw (void *context, struct canvas *canvas)
{
  struct top *top = context;

  if (canvas->width < TOP_WIDTH_MIN || canvas->height < TOP_HEIGHT_MIN) {
    canvas_printf (canvas, 0, 0, canvas->width, STYLE_WARNING, "too small: %dx%d", canvas->width, canvas->height);
    canvas_printf (canvas, 0, 1, canvas->width, STYLE_PLAIN, "%dx%d is needed", TOP_WIDTH_MIN, TOP_HEIGHT_MIN);
    return (struct screen_cursor){ -1, 0 };
  }
  if (top->prompt == PROMPT_METRIC)
    return metrics_draw (top, canvas);
  draw_title (top, canvas);
  draw_view (top, canvas, 1, canvas->height - (top->screen ? 2 : 1));
  if (!top->screen)
    return (struct screen_cursor){ -1, 0 };
  if (top->prompt != PROMPT_NONE)
    return draw_prompt (top, canvas);
  if (top->notice[0]) {
    canvas_text (canvas, 0, canvas->height - 1, canvas->width, STYLE_WARNING, top->notice);
    return (struct screen_cursor){ -1, 0 };
  }
  draw_foot (top, canvas);
  draw_filters (top, canvas);
  return (struct screen_cursor){ -1, 0 };
}
