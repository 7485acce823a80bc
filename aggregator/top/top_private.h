/* What the files of top share: top.c (life), top_feeds.c (requests), top_keys.c, top_draw.c, top_order.c (filter and order of nodes), top_cluster.c,
 * top_cells.c, top_jobs.c, top_events.c, top_metrics.c (choice of the metric), top_help.c. */
#ifndef SYNOP_AGGREGATOR_TOP_PRIVATE_H
#define SYNOP_AGGREGATOR_TOP_PRIVATE_H

#include <jansson.h>
#include <stdint.h>

#include "aggregator/top/top.h"
#include "aggregator/top/top_feed.h"
#include "aggregator/top/top_model.h"
#include "synop/canvas.h"
#include "synop/node_screen.h"
#include "synop/screen.h"

#define TOP_WIDTH_MIN 40
#define TOP_HEIGHT_MIN 10

/* What rows are ordered by: the slots of the model, then */
enum top_sort { SORT_NAME = MODEL_SLOTS, SORT_STATE, TOP_SORTS };

/* ---- top_metrics.c: all metrics that nodes have ---- */

struct top_metric {
  char *name, *unit, *help; /* "cpu_usage.user" */
  size_t nodes;
};

struct top_metrics {
  struct top_metric *list; /* in order of names */
  size_t count, room;
  bool complete;  /* the answer has ended; the next line begins another one */
  uint64_t hash;  /* of the names: another one when they are others */
  uint64_t asked; /* that of the questions that were asked */
  size_t *found;  /* those that the words are in */
  size_t found_count;
};

void metrics_take (struct top_metrics *metrics, const char *line, size_t length); /* of the request "groups json" */
void metrics_end (struct top_metrics *metrics);                                   /* of its answer */
bool metrics_has (const void *metrics, const char *name);
void metrics_find (struct top_metrics *metrics, const char *words); /* sets `found`: in name or help, names first */
void metrics_free (struct top_metrics *metrics);
struct top;
struct screen_cursor metrics_draw (struct top *top, struct canvas *canvas);

/* ---- top_jobs.c ---- */

enum job_number { JOB_BUSY, JOB_CPUS, JOB_MEMORY, JOB_TRAFFIC, JOB_GPU, JOB_POWER, JOB_NUMBERS };

struct top_job {
  char *id, *user, *name;
  char *partition;             /* or queue, as the scheduler says; "": not known */
  double started, limit;       /* seconds since 1970; that it may run; NaN: not known */
  double numbers[JOB_NUMBERS]; /* of all nodes together, of JOB_GPU the mean; NaN: missing */
  size_t rows[JOB_NUMBERS];
  char **nodes;
  size_t node_count, node_room;
};

enum jobs_sort { JOBS_BY_CPU, JOBS_BY_MEMORY, JOBS_BY_TRAFFIC, JOBS_BY_POWER, JOBS_BY_ID, JOBS_BY_USER, JOBS_SORTS };

struct top_jobs {
  struct top_job *list;
  size_t count, room;
  size_t *shown; /* in order */
  size_t shown_count;
  json_t *facts; /* of the request `jobs`, by id */
  json_t *fresh; /* of the answer that is being read */
  enum job_number asked[JOB_NUMBERS];
  size_t asked_count;
  enum jobs_sort sort;
  char error[200];             /* why there are no values; "": there are, or none was asked for yet */
  bool reverse, filled, named; /* named: an answer of the request `jobs` has come */
  struct screen_list rows;
};

/* False: nodes have no metrics of jobs. */
bool jobs_ask (struct top_jobs *jobs, const struct top_metrics *metrics, struct buffer *request);
int jobs_take (struct top_jobs *jobs, const char *line, size_t length);
void jobs_take_fact (struct top_jobs *jobs, const char *line, size_t length);
void jobs_facts_end (struct top_jobs *jobs);
void jobs_order (struct top_jobs *jobs, const char *filter);
void jobs_free (struct top_jobs *jobs);
void jobs_draw (struct top *top, struct canvas *canvas, int y, int rows);

/* ---- top_events.c: what is wrong now, and what happened ---- */

struct top_event {
  char time[12];
  uint8_t style;
  char *node, *text;
};

struct top_mark {
  const char *node; /* of `now` */
  uint8_t style;
};

struct top_events {
  struct top_event *log; /* the newest last */
  size_t count, room;
  struct top_event *now, *fresh; /* alerts; those of the answer that is being read */
  size_t now_count, fresh_count, fresh_room;
  struct top_mark *marks; /* of the nodes that have alerts, in order of strcmp */
  size_t mark_count;
  char today[11];       /* "2026-11-23" */
  char past_error[200]; /* why what happened before is not known; "": it is */
  size_t *shown;
  size_t shown_count;
  bool filled, complete; /* complete: the past was read too */
  struct screen_list rows;
};

void events_append (struct top_events *events, struct top_events *since);      /* takes over its log */
void events_take (struct top_events *events, const char *line, size_t length); /* of the request "tail type=event" */
void events_take_alert (struct top_events *events, const char *line, size_t length); /* of "alerts" */
void events_alerts_end (struct top_events *events);
uint8_t events_mark (const struct top_events *events, const char *node); /* STYLE_PLAIN, STYLE_WARNING, STYLE_BAD */
const char *events_alert_of (const struct top_events *events, const char *node); /* its gravest; "": none */
void events_order (struct top_events *events, const char *filter);
const struct top_event *events_shown (const struct top_events *events, size_t row);
void events_free (struct top_events *events);
void events_draw (struct top *top, struct canvas *canvas, int y, int rows);

/* ---- all of it ---- */

enum top_prompt { PROMPT_NONE, PROMPT_SEARCH, PROMPT_FILTER, PROMPT_METRIC };

struct top {
  const struct top_options *options;
  struct loop *loop;
  struct screen *screen; /* NULL: --once */
  struct loop_timer *clock;

  struct feed *groups, *watch, *jobs_watch, *jobs_list, *alerts, *tail, *node_tail;
  char notice[256]; /* until the next key */
  char error[256];  /* why there are no values now; "": there are */
  int64_t came_ns;  /* when the last values came; 0: never */
  struct top_metrics metrics;
  struct model model;
  struct top_jobs jobs;
  struct top_events events;
  struct node_screen *node_screen;
  char *node; /* of VIEW_NODE */
  bool node_jobs;

  enum top_view view, before; /* before: of a page that a key leaves */
  char *chosen;               /* a metric that is in no slot; NULL: none */
  enum model_slot cells;      /* the slot that the picture shows */
  int cells_size;             /* 0: no picture, 1: a third of the screen, 2: all of it */
  enum top_sort sort;
  bool reverse, paused;
  struct screen_input filter[TOP_VIEWS], search;
  uint8_t *marks; /* of the model's nodes, by their alerts: STYLE_PLAIN, STYLE_WARNING, STYLE_BAD */
  char **only;    /* nodes of a job that was chosen, in order of strcmp; NULL: all */
  size_t only_count;
  char *only_job;
  size_t *order; /* nodes that are shown */
  size_t order_count;
  struct screen_list rows;
  enum top_prompt prompt;
  struct screen_list found; /* in the choice of the metric */
  struct screen_list help;
  int list_rows; /* of the list that was drawn last */
};

/* top_feeds.c */
void feeds_open (struct top *top);
void feeds_ask (struct top *top);  /* what nodes have, or the chosen metric, is another one */
void feeds_show (struct top *top); /* the view is another one */
void feeds_close (struct top *top);

/* top.c */
bool top_is_filled (const struct top *top); /* the view has what it shows */
void top_set_view (struct top *top, enum top_view view);
void top_set_node (struct top *top, const char *node);
void top_choose (struct top *top, const char *expression); /* the metric of the picture */
void top_arrange (struct top *top);                        /* filter and order have changed, or values have */

/* top_keys.c */
void top_forget_only (struct top *top);
void top_key (void *top, int key);

/* top_draw.c */
struct screen_cursor top_draw (void *top, struct canvas *canvas);

/* top_order.c */
void order_nodes (struct top *top);
/* Words parted by commas: globs, and texts that stand somewhere in it, whatever their case. "" matches all. */
bool order_matches (const char *filter, const char *text);
bool order_search (const struct top *top, size_t from, size_t *found); /* the next node with the search's text */
/* "name", "cpu": of nodes and jobs; -1: there is none of that name */
int order_sort_of (const char *name);
int jobs_sort_of (const char *name);
extern const char *const order_sort_names[TOP_SORTS], *const jobs_sort_names[JOBS_SORTS];

/* top_cluster.c, top_cells.c, top_help.c */
void cluster_draw (struct top *top, struct canvas *canvas, int y, int rows);
/* The picture of the nodes that are shown, in their order. */
struct cells_plan {
  int tile;      /* columns of a cell: of few nodes several */
  size_t each;   /* nodes that share one */
  size_t in_row; /* cells */
  bool grouped;  /* with a blank after ten */
  size_t rows;
};
struct cells_plan cells_plan (const struct top *top, const struct canvas *canvas, int most); /* in that many rows */
void cells_draw (const struct top *top, struct canvas *canvas, int y, const struct cells_plan *plan);
void help_draw (struct top *top, struct canvas *canvas, int y, int rows);

#endif
