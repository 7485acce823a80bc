/* `aggregator export`: tables of a history, one for each group, a column a metric, for other programs to read.
 *
 * A row is one sample of one node, or of one of its devices: time, node, the device's name, the actual period, the
 * group's error, then the metrics as the stream shows them. A group with devices has for each sample first a row without
 * a device's name, with the values of the node and the folds of the devices. Or, as msgpack, the frames themselves. */
#ifndef SYNOP_AGGREGATOR_EXPORT_H
#define SYNOP_AGGREGATOR_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/config/options.h"
#include "aggregator/views/view.h"
#include "synop/buffer.h"
#include "synop/globs.h"
#include "synop/json.h"
#include "synop/metric.h"
#include "synop/schema.h"
#include "synop/table.h"

struct history_query;

int export_run (const struct options *options); /* the exit code */
/* export_frames.c: --format msgpack, of `nodes` in the options and times in the query. */
int export_frames (const struct options *options, const struct history_query *query);
bool export_interrupted (void);

/* ---- between export.c and the formats ---- */

struct export_row {
  int64_t time_ns;
  const char *node;
  const char *label; /* NULL: the node as a whole */
  size_t label_length;
  int64_t period_ns;          /* 0: none */
  const struct table *table;  /* for texts and the error */
  const struct value *values; /* one for each metric */
};

struct export_column {
  char name[SCHEMA_NAME_MAX + 1];
  const char *unit; /* "": none */
};
#define EXPORT_FIXED 5 /* time, node, label, period, error come first; a group without rows has no label */
/* Names that all formats share. */
struct export_column export_column (const struct group *group, size_t column); /* of the fixed ones, then the metrics */
size_t export_columns (const struct group *group);
bool export_has_label (const struct group *group);
/* Of a metric: "percent" for shares. */
const char *export_unit (const struct metric *metric);

/* Each writes under `path`: the folder, or the file. Errors name the file. */
struct export_format {
  void *(*create) (const char *path, struct error *error); /* NULL: it failed */
  /* Adds a table; `name` is unique, and fit for a file's name. */
  void *(*begin) (void *output, const char *name, const struct group *group, struct error *error);
  int (*row) (void *table, const struct export_row *row, struct error *error);
  /* Swaps the names of two tables. */
  int (*swap) (void *table, void *other, struct error *error);
  /* Frees it; `whole`: writes what is left. */
  int (*end) (void *table, bool whole, struct error *error);
  /* After the end of all tables; an incomplete output is removed. */
  int (*destroy) (void *output, bool whole, struct error *error);
};

extern const struct export_format export_csv, export_json, export_hdf5, export_parquet, export_arrow;

/* ---- for those that choose the frames themselves ---- */

struct export_table;

struct export
{
  struct globs groups; /* only these */
  const char *job;     /* of groups of jobs only the rows of this one; NULL: all. Frames come node by node then */
  int64_t job_started_ns;
  uint64_t rows;      /* written */
  bool failed;        /* the output was not written, and is removed */
  struct error error; /* why; the rest is private; zeroed at first */
  const struct export_format *format;
  void *output;
  struct export_table *tables;
};
extern const struct view export_view; /* it exports the frames that it gets; its state is a struct export */
int export_begin (struct export *export, const struct export_format *format, const char *path, struct error *error);
int export_end (struct export *export, struct error *error); /* also after an error */

#endif
