/* A frame: the tables that one node sampled at one instant, one message on the data socket.
 *
 *   frame = [version = 1, node, session, sequence, monotonic ns, wall ns, schema hash (bin 16), [table, ...]]
 *   table = [group index, actual period ns, error or nil, labels, values of the node, columns]
 *   labels: nil (no rows), an unsigned count n (the labels are "0" to "n-1"), or an array of strings, all UTF-8 and
 *   each once
 *   values of the node: an array with one value for each METRIC_OF_NODE metric, in order
 *   columns: an array with, for each other metric in order, an array of one value a row, or nil when all are missing;
 *     where there are rows, one of them at least is an array
 *   value: nil (missing), integer, float or string as the metric's kind allows
 *
 * A COUNTER is an unsigned integer, a GAUGE any integer or float, a TEXT a string. A NaN or infinite float is missing.
 * All tables of a frame were sampled at its monotonic time. Unknown trailing fields are ignored. */
#ifndef SYNOP_FRAME_H
#define SYNOP_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/error.h"
#include "synop/schema.h"
#include "synop/table.h"

#define FRAME_VERSION 1
#define FRAME_NODE_MAX 64 /* bytes of a node's name: [A-Za-z0-9._-], not beginning with '.' or '-' */
#define FRAME_BYTES_MAX (1024 * 1024)
#define FRAME_BYTES_LEAST 4096           /* least value of an aggregator's largest frame */
#define FRAME_BYTES_DEFAULT (256 * 1024) /* that value when the aggregator does not state it */
#define FRAME_CELLS_MAX 262144           /* rows times metrics, of all tables of a frame together */

struct frame_header {
  char node[FRAME_NODE_MAX + 1];
  uint64_t session;  /* random for each start of an agent, never 0 */
  uint64_t sequence; /* 1, 2, 3... within a session */
  int64_t monotonic_ns, wall_ns;
  uint8_t schema[SCHEMA_HASH_SIZE];
  size_t tables_offset; /* set by reading: where the tables begin in the bytes */
};

int node_name_check (const char *name, size_t length, struct error *error);

/* Adds a frame of at most `bytes_max` bytes (FRAME_BYTES_LEAST to FRAME_BYTES_MAX) to `out`. The groups of the tables are
 * those of the schema, each at most once. Of tables that do not fit the last rows are left out, and their error says how
 * many: first of groups that are `of_users`, then of the others. Where the values of the node alone are too large,
 * errors stand in place of all of them. */
void frame_write_within (struct buffer *out, const struct frame_header *header, const struct schema *schema,
                         const struct table *const *tables, size_t count, size_t bytes_max);
void frame_write (struct buffer *out, const struct frame_header *header, const struct schema *schema,
                  const struct table *const *tables, size_t count); /* within FRAME_BYTES_MAX */

/* Reads the header alone: the node, and the schema that the tables need. */
int frame_read_header (const void *bytes, size_t length, struct frame_header *header, struct error *error);

/* Reads the tables one after the other: `take` gives the table to fill for a group index (begun already, or NULL to
 * check it only), `done` is called when it is complete. Everything is checked before the first `take`, so that a
 * broken frame changes nothing. A group may occur once. `last` gives the table that was read before for a group
 * (NULL: none): unchanged labels are not checked again. `done` and `last` may be NULL. */
struct frame_sink {
  void *context;
  struct table *(*take) (void *context, size_t group);
  void (*done) (void *context, size_t group, struct table *table);
  const struct table *(*last) (void *context, size_t group);
};
int frame_read_tables (const void *bytes, size_t length, const struct frame_header *header, const struct schema *schema,
                       const struct frame_sink *sink, struct error *error);

#endif
