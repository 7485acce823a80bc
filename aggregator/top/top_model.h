/* The nodes and their values of this instant, as lines of the request `watch` bring them. */
#ifndef SYNOP_AGGREGATOR_TOP_MODEL_H
#define SYNOP_AGGREGATOR_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"

/* What each node's line shows, and the metric that was chosen. */
enum model_slot { SLOT_CPU, SLOT_MEMORY, SLOT_NETWORK, SLOT_DISK, SLOT_GPU, SLOT_POWER, SLOT_CHOSEN, MODEL_SLOTS };

enum model_state { STATE_UP, STATE_STALE, STATE_DOWN, STATE_NEVER, MODEL_STATES };

struct model_column {
  bool present;   /* it was in the last line */
  bool valued;    /* some node has had a value */
  double *values; /* one for each node; NaN: missing */
  size_t count;   /* nodes that have one */
  double sum, mean, min, max;
  double low, high; /* of the scale of its colours */
  char *min_node, *max_node;
  char unit[24];
};

struct model {
  char time[40];  /* RFC 3339; "": no line has come */
  long long list; /* stands for the names */
  size_t count;
  char **names;
  char *states; /* enum model_state */
  size_t in_state[MODEL_STATES];
  struct model_column columns[MODEL_SLOTS];
  enum model_slot asked[MODEL_SLOTS]; /* those of the question, in its order */
  size_t asked_count;
};

extern const char *const model_expressions[MODEL_SLOTS]; /* of SLOT_CHOSEN NULL */

/* Makes the request for those slots that `has` says there are, and for `chosen` (NULL: none, or one of these). Without any
 * it is for the CPUs, which nodes that are down had. */
void model_ask (struct model *model, const char *chosen, bool (*has) (const void *context, const char *metric),
                const void *context, struct buffer *request);
/* -1: it is no line of this question. */
int model_take (struct model *model, const char *line, size_t length);
void model_free (struct model *model);

size_t model_find (const struct model *model, const char *name); /* SIZE_MAX: there is none of that name */

/* Where a value lies on the scale of its column, 0 to 1; NaN: missing. */
double model_share (const struct model_column *column, double value);

#endif
