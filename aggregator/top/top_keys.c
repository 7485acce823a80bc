/* What keys do; see top_private.h. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/top/top_private.h"
#include "synop/memory.h"

#define KEY_CTRL_L 12

void
top_forget_only (struct top *top)
{
  for (size_t i = 0; i < top->only_count; i++)
    free (top->only[i]);
  free (top->only);
  free (top->only_job);
  top->only = NULL;
  top->only_job = NULL;
  top->only_count = 0;
}

/* ---- while something is typed ---- */

static void
search_on (struct top *top, size_t from)
{
  size_t found;

  if (top->search.text[0] && order_search (top, from, &found))
    top->rows.selected = found;
}

static void
choose (struct top *top)
{
  const struct top_metrics *metrics = &top->metrics;

  if (top->found.selected < metrics->found_count)
    top_choose (top, metrics->list[metrics->found[top->found.selected]].name);
  else if (top->search.text[0])
    top_choose (top, top->search.text);
}

static void
end_prompt (struct top *top, bool take)
{
  enum top_prompt prompt = top->prompt;

  top->prompt = PROMPT_NONE;
  if (prompt == PROMPT_METRIC) {
    if (take)
      choose (top);
    top->search.text[0] = 0;
  } else if (prompt == PROMPT_FILTER && !take) {
    top->filter[top->view].text[0] = 0;
    top_arrange (top);
  }
}

static void
key_in_prompt (struct top *top, int key)
{
  if (key == TERMINAL_ESCAPE || key == TERMINAL_F + 10) {
    end_prompt (top, false);
  } else if (key == TERMINAL_ENTER) {
    end_prompt (top, true);
  } else if (top->prompt == PROMPT_METRIC) {
    if (screen_input_key (&top->search, key))
      top->found = (struct screen_list){ 0 };
    else
      screen_list_key (&top->found, key, top->metrics.found_count, top->list_rows);
  } else if (top->prompt == PROMPT_SEARCH) {
    if (key == TERMINAL_F + 3 || key == TERMINAL_DOWN)
      search_on (top, top->rows.selected + 1);
    else if (screen_input_key (&top->search, key))
      search_on (top, top->rows.selected);
  } else if (screen_input_key (&top->filter[top->view], key)) {
    top_arrange (top);
  }
}

static void
begin_prompt (struct top *top, enum top_prompt prompt)
{
  if (prompt == PROMPT_METRIC || prompt == PROMPT_SEARCH) {
    top->search.text[0] = 0;
    top->found = (struct screen_list){ 0 };
    if (top->view != VIEW_CLUSTER)
      top_set_view (top, VIEW_CLUSTER);
  }
  if (prompt == PROMPT_FILTER && top->view == VIEW_NODE)
    return;
  top->prompt = prompt;
}

/* ---- order ---- */

static void
order_by (struct top *top, enum top_sort sort)
{
  top->reverse = top->sort == sort ? !top->reverse : false;
  top->sort = sort;
  top->rows = (struct screen_list){ 0 };
  top_arrange (top);
}

static bool
has_column (const struct top *top, enum top_sort sort)
{
  return sort >= SORT_NAME || top->model.columns[sort].present;
}

static void
order_by_next (struct top *top)
{
  enum top_sort sort = top->sort;

  if (top->view == VIEW_JOBS) {
    top->jobs.sort = (top->jobs.sort + 1) % JOBS_SORTS;
    top->jobs.reverse = false;
    top_arrange (top);
    return;
  }
  do
    sort = (sort + 1) % TOP_SORTS;
  while (!has_column (top, sort));
  top->sort = sort;
  top->reverse = false;
  top->rows = (struct screen_list){ 0 };
  top_arrange (top);
}

static void
turn_round (struct top *top)
{
  if (top->view == VIEW_JOBS)
    top->jobs.reverse = !top->jobs.reverse;
  else
    top->reverse = !top->reverse;
  top_arrange (top);
}

/* The letters of the help; of jobs those that it has. */
static bool
key_orders (struct top *top, int key)
{
  static const char letters[] = "CMNDGPVAX"; /* as enum top_sort */
  static const int jobs[] = { JOBS_BY_CPU, JOBS_BY_MEMORY, -1, JOBS_BY_TRAFFIC, -1, JOBS_BY_POWER, -1, JOBS_BY_ID, -1 };
  const char *at = key > 0 && key < 0x80 ? strchr (letters, key) : NULL;

  if (!at || !*at)
    return false;
  if (top->view == VIEW_CLUSTER && has_column (top, (enum top_sort) (at - letters)))
    order_by (top, (enum top_sort) (at - letters));
  if (top->view == VIEW_JOBS && jobs[at - letters] >= 0) {
    top->jobs.sort = (enum jobs_sort) jobs[at - letters];
    top_arrange (top);
  }
  return true;
}

/* ---- views ---- */

static int
compare_texts (const void *one, const void *other)
{
  return strcmp (*(char *const *) one, *(char *const *) other);
}

/* Shows the nodes of the job alone. */
static void
show_nodes_of (struct top *top, const struct top_job *job)
{
  top_forget_only (top);
  top->only = memory_new (job->node_count + 1, sizeof top->only[0]);
  for (size_t i = 0; i < job->node_count; i++)
    top->only[i] = memory_string (job->nodes[i]);
  top->only_count = job->node_count;
  top->only_job = memory_string (job->id);
  qsort (top->only, top->only_count, sizeof top->only[0], compare_texts);
  top->rows = (struct screen_list){ 0 };
  top_set_view (top, VIEW_CLUSTER);
  top_arrange (top);
}

static void
open_selected (struct top *top)
{
  const struct top_event *event;

  if (top->view == VIEW_CLUSTER && top->rows.selected < top->order_count) {
    top_set_node (top, top->model.names[top->order[top->rows.selected]]);
  } else if (top->view == VIEW_JOBS && top->jobs.rows.selected < top->jobs.shown_count) {
    show_nodes_of (top, &top->jobs.list[top->jobs.shown[top->jobs.rows.selected]]);
  } else if (top->view == VIEW_EVENTS) {
    event = events_shown (&top->events, top->events.rows.selected);
    if (event && *event->node)
      top_set_node (top, event->node);
  }
}

static void
go_back (struct top *top)
{
  if (top->view == VIEW_HELP || top->view == VIEW_NODE) {
    top_set_view (top, top->before);
  } else if (top->view != VIEW_CLUSTER) {
    top_set_view (top, VIEW_CLUSTER);
  } else {
    top_forget_only (top);
    top->filter[VIEW_CLUSTER].text[0] = 0;
    top_arrange (top);
  }
}

static bool
key_moves (struct top *top, int key)
{
  if (top->view == VIEW_NODE)
    return node_screen_key (top->node_screen, key);
  if (top->view == VIEW_HELP)
    return screen_list_key (&top->help, key, SIZE_MAX, 1);
  if (top->view == VIEW_JOBS)
    return screen_list_key (&top->jobs.rows, key, top->jobs.shown_count, top->list_rows);
  if (top->view == VIEW_EVENTS)
    return screen_list_key (&top->events.rows, key, top->events.shown_count, top->list_rows);
  return screen_list_key (&top->rows, key, top->order_count, top->list_rows);
}

static void
show_view (struct top *top, enum top_view view)
{
  top_set_view (top, top->view == view ? VIEW_CLUSTER : view);
}

static void
key_in_view (struct top *top, int key)
{
  switch (key) {
  case 'q':
  case TERMINAL_F + 10:
    loop_stop (top->loop);
    break;
  case '?':
  case 'h':
  case TERMINAL_F + 1:
    show_view (top, VIEW_HELP);
    break;
  case 'm':
  case TERMINAL_F + 2:
    begin_prompt (top, PROMPT_METRIC);
    break;
  case '/':
  case TERMINAL_F + 3:
    begin_prompt (top, PROMPT_SEARCH);
    break;
  case 'n':
    search_on (top, top->rows.selected + 1);
    break;
  case '\\':
  case 'f':
  case TERMINAL_F + 4:
    begin_prompt (top, PROMPT_FILTER);
    break;
  case 'c':
  case TERMINAL_F + 5:
    top->cells_size = (top->cells_size + 1) % 3;
    break;
  case 's':
  case TERMINAL_F + 6:
    order_by_next (top);
    break;
  case 'I':
    turn_round (top);
    break;
  case 'j':
    if (top->view == VIEW_NODE)
      top->node_jobs = !top->node_jobs;
    else
      show_view (top, VIEW_JOBS);
    break;
  case TERMINAL_F + 7:
    show_view (top, VIEW_JOBS);
    break;
  case 'e':
  case TERMINAL_F + 8:
    show_view (top, VIEW_EVENTS);
    break;
  case '\t':
    top_set_view (top, top->view >= VIEW_EVENTS ? VIEW_CLUSTER : top->view + 1);
    break;
  case ' ':
    top->paused = !top->paused;
    if (!top->paused)
      feeds_ask (top);
    break;
  case KEY_CTRL_L:
    screen_repaint (top->screen);
    break;
  case TERMINAL_ENTER:
    open_selected (top);
    break;
  case TERMINAL_ESCAPE:
    go_back (top);
    break;
  default:
    key_orders (top, key);
  }
}

void
top_key (void *context, int key)
{
  struct top *top = context;

  top->notice[0] = 0;
  if (top->prompt != PROMPT_NONE)
    key_in_prompt (top, key);
  else if (key_moves (top, key))
    return;
  else if (top->view == VIEW_HELP && key != 'q' && key != TERMINAL_F + 10)
    go_back (top);
  else
    key_in_view (top, key);
}
