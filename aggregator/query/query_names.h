/* What metrics are called by people: all that there are, found by a path, and two of them together. Of a history for queries,
 * of schemas for what is asked of this instant (aggregator/now). */
#ifndef SYNOP_AGGREGATOR_QUERY_NAMES_H
#define SYNOP_AGGREGATOR_QUERY_NAMES_H

#include "aggregator/query/query.h"
#include "synop/derived.h"

extern const char *const query_shows_names[]; /* as enum query_shows */

/* ---- query_catalog.c: all metrics there are ---- */

/* Of a group in any schema or tier; each name once. */
struct catalog_entry {
  char *group, *section, *rows_name, *fold_name, *name; /* "" where there is none */
  char *unit, *help;
  enum metric_kind kind;
  uint32_t flags; /* of the metric */
  enum metric_fold fold;
  const struct derived *derived; /* NULL: it is a metric of its own */
  bool of_users;                 /* its rows are users' */
  size_t nodes;
};

struct catalog {
  struct catalog_entry **list; /* in order of group and name; entries stay where they are */
  size_t count, room;
};

/* A metric, which so many nodes more have, and what is derived of it. */
void catalog_add (void *catalog, const struct group *group, const struct metric *metric, size_t nodes);
void catalog_free (struct catalog *catalog);

/* A path as people copy it: "load.load_1", "system_data.cpu_usage.average_usage.user",
 * "network.devices.eth0.rx_bytes", "load_1". `row`: the label in it, to be freed, or NULL. NULL and error (which may be
 * NULL): none has it, or several have. */
const struct catalog_entry *catalog_find (const struct catalog *catalog, const char *path, char **row,
                                          struct error *error);
bool catalog_has_rows (const struct catalog_entry *entry); /* values of rows */
bool catalog_has_node (const struct catalog_entry *entry); /* a value of the node, or a fold of the rows */

/* ---- query_expression.c ---- */

struct operand {
  const struct catalog_entry *entry; /* NULL: a number */
  double number;
};

struct expression {
  struct operand left, right; /* right: with `sign` only */
  char sign;                  /* + - * /; 0: left alone */
  char *row;                  /* a label that stood in a path; NULL: none */
  bool combined;              /* the path of a combined report: "load.load_1.mean" */
};

int expression_read (struct expression *expression, const struct catalog *catalog, const char *text,
                     struct error *error);
void expression_free (struct expression *expression);
bool operand_is_counter (const struct operand *operand); /* which a line shows as its change */
/* Series are those of the metric that has rows; of two, of the left one. */
bool expression_leads_right (const struct expression *expression, bool by_rows);
double expression_compute (char sign, double left, double right); /* NaN: not to be had, as a division by 0 */
bool expression_is_change (const struct expression *expression); /* a counter alone, which a line shows as its change */
/* Its metric, unit, help and what it shows; `rate`: counters are shown as their change in a second. */
void expression_describe (const struct expression *expression, struct query_answer *answer, bool rate);

#endif
