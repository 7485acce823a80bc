/* Rows of our tables from the JSON of one of neuron-monitor's groups; see neuron_report.c for the format. */
#ifndef SYNOP_AGENT_NEURON_ROWS_H
#define SYNOP_AGENT_NEURON_ROWS_H

#include <stdbool.h>

#include "agent/neuron/neuron_report.h"
#include "synop/table.h"

struct json_t;

/* Where a kind's rows are. */
struct neuron_form {
  enum neuron_kind kind;
  enum { ONE_ROW, ROWS_BY_KEY, ROWS_OF_MODELS } shape;
  const char *groups[2]; /* the group's key in a runtime's report: newer, older */
  const char *rows[2];   /* path of an object or array in it */
  const char *index[2];  /* in an array: the key of the row's number */
};
#define NEURON_FORMS 7
extern const struct neuron_form
    neuron_forms[NEURON_FORMS]; /* of the kinds that runtimes have; the last: NEURON_DEVICES */

/* The first of the two that is present and not null; NULL: neither. */
const struct json_t *neuron_either (const struct json_t *object, const char *const names[2]);
/* Whether the value is possible: great ones stand for "not available", as do negative counts. For sums too. */
bool neuron_can_be (enum metric_kind kind, double number);
/* False: it is no number, or an impossible one. */
bool neuron_number (const struct json_t *json, double *number);

/* Fills the table, which is begun, from the group's object. `before` is the table of the last report: its counts go on.
 * Labels begin with `runtime`, which may be "". `form` NULL: the object is one row. */
void neuron_rows_make (struct table *table, const struct table *before, const struct neuron_form *form,
                       const char *runtime, const struct json_t *group);

#endif
