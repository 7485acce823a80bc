/* See export.h. */
#include "aggregator/command/export.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/command/commands.h"
#include "aggregator/history/history_read.h"
#include "aggregator/report/job_columns.h"
#include "synop/globs.h"
#include "synop/hash_table.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/report.h"
#include "synop/schema.h"

static const struct export_format *const formats[] = { [FORMAT_CSV] = &export_csv,
                                                       [FORMAT_JSON] = &export_json,
                                                       [FORMAT_HDF5] = &export_hdf5,
                                                       [FORMAT_PARQUET] = &export_parquet,
                                                       [FORMAT_ARROW] = &export_arrow };

/* ---- columns ---- */

bool
export_has_label (const struct group *group)
{
  return *group->rows_name;
}

size_t
export_columns (const struct group *group)
{
  return EXPORT_FIXED - !export_has_label (group) + group->metric_count;
}

const char *
export_unit (const struct metric *metric)
{
  bool share = metric->kind == COUNTER && metric->flags & METRIC_SHARE;

  return metric_unit_name (share ? UNIT_PERCENT : metric->unit);
}

/* The label's column is named after the group's rows, "mount_point", unless a metric has that name. */
static void
name_label (struct export_column *column, const struct group *group)
{
  snprintf (column->name, sizeof column->name, "%s", *group->row ? group->row : "row");
  for (char *c = column->name; *c; c++)
    if (!isalnum ((unsigned char) *c))
      *c = '_';
  for (size_t i = 0; i < group->metric_count; i++)
    if (strcasecmp (group->metrics[i].name, column->name) == 0)
      strcpy (column->name, "row");
}

struct export_column
export_column (const struct group *group, size_t column)
{
  static const struct export_column fixed[EXPORT_FIXED] = {
    { "time", "" }, { "node", "" }, { "row", "" }, { "period", "seconds" }, { "error", "" }
  };
  struct export_column made = { .unit = "" };

  if (!export_has_label (group) && column >= 2)
    column++;
  if (column < EXPORT_FIXED) {
    made = fixed[column];
    if (column == 2)
      name_label (&made, group);
  } else {
    made.unit = export_unit (&group->metrics[column - EXPORT_FIXED]);
    snprintf (made.name, sizeof made.name, "%s", group->metrics[column - EXPORT_FIXED].name);
  }
  return made;
}

/* ---- tables ---- */

/* A node of a table, to count them. */
struct node_name {
  UT_hash_handle hh;
  char name[FRAME_NODE_MAX + 1];
};

static void
node_names_add (struct node_name **names, const char *name)
{
  struct node_name *known;

  HASH_FIND_STR (*names, name, known);
  if (known)
    return;
  known = memory_new (1, sizeof *known);
  snprintf (known->name, sizeof known->name, "%s", name);
  HASH_ADD_STR (*names, name, known);
}

static void
node_names_free (struct node_name *names)
{
  struct node_name *name, *next;

  HASH_ITER (hh, names, name, next)
  {
    HASH_DEL (names, name);
    free (name);
  }
}

struct export_table {
  struct export_table *next; /* newest first */
  const struct group *group; /* of a schema, which lives as long as the file is open */
  void *state;
  struct node_name *nodes; /* nodes that have it */
  struct {
    struct table table;            /* the last one that was exported, */
    char node[FRAME_NODE_MAX + 1]; /* of that node; "": none */
  } kept;                          /* of a job */
};

static bool
same_group (const struct group *one, const struct group *other)
{
  bool same = one->metric_count == other->metric_count && strcmp (one->name, other->name) == 0 &&
              strcmp (one->section, other->section) == 0 && strcmp (one->row, other->row) == 0 &&
              strcmp (one->rows_name, other->rows_name) == 0;

  for (size_t i = 0; same && i < one->metric_count; i++) {
    const struct metric *a = &one->metrics[i], *b = &other->metrics[i];
    same = strcmp (a->name, b->name) == 0 && a->kind == b->kind && a->unit == b->unit && a->flags == b->flags;
  }
  return same;
}

/* A group that has other columns on some nodes, or after an upgrade, gets a second table: "network-2". */
static struct export_table *
table_of (struct export *export, const struct group *group, struct error *error)
{
  struct export_table *table = export->tables;
  size_t others = 0;
  char *name;

  while (table && table->group != group && !same_group (table->group, group))
    table = table->next;
  if (table)
    return table;
  for (const struct export_table *other = export->tables; other; other = other->next)
    others += strcmp (other->group->name, group->name) == 0;
  name = others ? memory_format ("%s-%zu", group->name, others + 1) : memory_string (group->name);
  table = memory_new (1, sizeof *table);
  table->group = group;
  table->state = export->format->begin (export->output, name, group, error);
  free (name);
  if (!table->state) {
    free (table);
    return NULL;
  }
  table->next = export->tables;
  export->tables = table;
  return table;
}

/* ---- rows ---- */

static int
export_add_row (struct export *export, struct export_table *table, const struct export_row *row, struct error *error)
{
  export->rows++;
  return export->format->row (table->state, row, error);
}

/* The node as a whole; texts are of the node itself. */
static int
add_node (struct export *export, struct export_table *table, const struct report_group *pair, struct export_row row,
          struct error *error)
{
  struct value values[SCHEMA_METRICS_MAX];
  const struct group *group = pair->now->group;
  size_t searched = 0;

  report_node_values (pair, values, &searched);
  for (size_t i = 0; i < group->metric_count; i++)
    if (group->metrics[i].kind == TEXT && group->metrics[i].flags & METRIC_OF_NODE)
      values[i] = *table_get (pair->now, TABLE_NODE, i);
  row.values = values;
  return export_add_row (export, table, &row, error);
}

static int
add_devices (struct export *export, struct export_table *table, const struct report_group *pair, struct export_row row,
             struct error *error)
{
  const struct group *group = pair->now->group;
  const struct table *before = report_before (pair);
  int64_t elapsed = report_elapsed_ns (pair);
  struct value values[SCHEMA_METRICS_MAX];
  size_t searched = 0;
  struct report_search search = { .searched = &searched };

  row.values = values;
  for (size_t i = 0; i < pair->now->rows; i++) {
    size_t old = report_row_before (pair->now, before, i, &search);
    row.label = table_label (pair->now, i, &row.label_length);
    for (size_t k = 0; k < group->metric_count; k++)
      values[k] = group->metrics[k].flags & METRIC_OF_NODE
                      ? (struct value){ .type = VALUE_MISSING }
                      : report_value (&group->metrics[k], table_get (pair->now, i, k),
                                      old == SIZE_MAX ? NULL : table_get (before, old, k), elapsed);
    if (export_add_row (export, table, &row, error) < 0)
      return -1;
  }
  return 0;
}

/* The job's own row, which is there. Its counters count from 0 since the job began on the node, so their changes add up
 * to what the report has: the first one is all that it holds, and so is one that fell. */
static int
add_job (struct export *export, struct export_table *table, const struct report_group *pair, struct export_row row,
         struct error *error)
{
  const struct group *group = pair->now->group;
  const struct table *before = pair->before;
  const struct value zero = { .type = VALUE_UINT };
  size_t length = strlen (export->job), here = table_find_row (pair->now, export->job, length, 0);
  size_t old = before ? table_find_row (before, export->job, length, here) : SIZE_MAX;
  int64_t first = before ? 0 : job_first_span (export->job_started_ns, pair->now, row.time_ns);
  struct value values[SCHEMA_METRICS_MAX];

  if (!before && row.period_ns && row.time_ns > export->job_started_ns)
    row.period_ns = row.time_ns - export->job_started_ns;
  for (size_t k = 0; k < group->metric_count; k++) {
    const struct metric *metric = &group->metrics[k];
    const struct value *now = table_get (pair->now, here, k), *then = before ? table_get (before, old, k) : NULL;
    bool fell = metric->kind == COUNTER && now->type == VALUE_UINT &&
                (!then || then->type != VALUE_UINT || now->as.u < then->as.u);
    if (metric->flags & METRIC_SHARE ? first != 0 : fell)
      then = &zero;
    else if (metric->flags & METRIC_SHARE && !report_before (pair))
      then = NULL;
    values[k] = report_value (metric, now, then, row.period_ns ? row.period_ns : 1);
  }
  row.label = export->job;
  row.label_length = length;
  row.values = values;
  return export_add_row (export, table, &row, error);
}

/* Of a job each table is compared with the last one that was exported and has the job, as the report does, also when the
 * agent was started anew between the two. */
static const struct table *
kept_of (struct export_table *table, const char *node)
{
  return strcmp (table->kept.node, node) == 0 ? &table->kept.table : NULL;
}

static void
keep (struct export_table *table, const struct table *now, const char *node)
{
  if (!table->kept.node[0])
    table_init (&table->kept.table, table->group);
  table_copy (&table->kept.table, now);
  snprintf (table->kept.node, sizeof table->kept.node, "%s", node);
}

/* Exports a group; of a group of jobs, when one job was chosen, only its row. */
static int
take_group (struct export *export, const struct cluster_frame *frame, const struct report_group *here,
            struct error *error)
{
  const struct group *group = here->now->group;
  const char *node = frame->header->node;
  struct export_table *table = table_of (export, group, error);
  struct report_group pair = *here;
  struct export_row row = { .time_ns = frame->time_ns, .node = node, .table = here->now };
  int result;

  if (!table)
    return -1;
  node_names_add (&table->nodes, node);
  if (export->job)
    pair.before = kept_of (table, node);
  if ((group->flags & GROUP_ONCE) == 0)
    row.period_ns = report_elapsed_ns (&pair);
  if (!export->job || strcmp (group->section, REPORT_JOBS) != 0) {
    result = add_node (export, table, &pair, row, error);
    if (result == 0)
      result = add_devices (export, table, &pair, row, error);
  } else if (table_find_row (here->now, export->job, strlen (export->job), 0) != SIZE_MAX) {
    result = add_job (export, table, &pair, row, error);
  } else {
    return 0;
  }
  if (export->job && table_is_comparable (here->now))
    keep (table, here->now, node);
  return result;
}

/* The first failure counts. */
static void
note_failure (struct export *export, const struct error *error)
{
  if (!export->failed)
    export->error = *error;
  export->failed = true;
}

static void
export_frame (void *state, const struct cluster_frame *frame)
{
  struct export *export = state;
  struct error error;

  for (size_t i = 0; i < frame->schema->group_count && !export->failed; i++)
    if (frame->groups[i].now && globs_match (&export->groups, frame->schema->groups[i]->name) &&
        take_group (export, frame, &frame->groups[i], &error) < 0)
      note_failure (export, &error);
  if (!export->failed && export_interrupted ()) {
    error_set (&error, "interrupted; what was written is removed");
    note_failure (export, &error);
  }
}

const struct view export_view = { .name = "export", .frame = export_frame };

/* ---- */

int
export_begin (struct export *export, const struct export_format *format, const char *path, struct error *error)
{
  export->format = format;
  export->output = format->create (path, error);
  return export->output ? 0 : -1;
}

/* The table that most nodes have gets the plain name of its group; of equal ones the first. */
static int
name_tables (struct export *export, struct error *error)
{
  int result = 0;

  for (struct export_table *first = export->tables; first && result == 0; first = first->next) {
    struct export_table *most = first;
    bool plain = true; /* it was the first of its group */
    for (const struct export_table *other = first->next; other && plain; other = other->next)
      plain = strcmp (other->group->name, first->group->name) != 0;
    for (struct export_table *other = export->tables; plain && other != first; other = other->next)
      if (strcmp (other->group->name, first->group->name) == 0 &&
          HASH_COUNT (other->nodes) >= HASH_COUNT (most->nodes) + (most == first))
        most = other;
    if (plain && most != first)
      result = export->format->swap (first->state, most->state, error);
  }
  return result;
}

int
export_end (struct export *export, struct error *error)
{
  struct error later;

  if (!export->failed && name_tables (export, &later) < 0)
    note_failure (export, &later);
  while (export->tables) {
    struct export_table *table = export->tables;
    export->tables = table->next;
    if (export->format->end (table->state, !export->failed, &later) < 0)
      note_failure (export, &later);
    node_names_free (table->nodes);
    if (table->kept.node[0])
      table_free (&table->kept.table);
    free (table);
  }
  if (export->output && export->format->destroy (export->output, !export->failed, &later) < 0)
    note_failure (export, &later);
  export->output = NULL;
  if (export->failed)
    *error = export->error;
  return export->failed ? -1 : 0;
}

/* Ctrl-C or SIGTERM is deferred, so that partial output can be removed; it takes effect after export_end. */
bool
export_interrupted (void)
{
  sigset_t pending;

  return sigpending (&pending) == 0 && (sigismember (&pending, SIGINT) == 1 || sigismember (&pending, SIGTERM) == 1);
}

/* ---- the command ---- */

static int
export_tables (const struct options *options, struct history_query *query)
{
  struct export export = { 0 };
  struct replay_progress progress;
  struct history_into into = { &export_view, &export, &export.failed, &progress };
  struct globs nodes;
  struct history_file *file;
  struct error error, later;
  size_t broken = 0;
  int result = -1;

  globs_init (&nodes, options->node);
  query->nodes = &nodes;
  globs_init (&export.groups, options->group);
  replay_progress_init (&progress, "export");
  file = history_file_open (replay_path (options), &error);
  if (file)
    filters_check_history (options, file, query);
  if (file && export_begin (&export, formats[options->format], options->output_path, &error) == 0)
    result = history_read (file, query, &into, &broken, &error);
  if (export_end (&export, result < 0 ? &later : &error) < 0)
    result = -1;
  replay_progress_end (&progress);
  if (result < 0)
    log_error ("%s", error.text);
  else
    log_info ("%s: %llu rows", options->output_path, (unsigned long long) export.rows);
  history_file_close (file);
  globs_free (&nodes);
  globs_free (&export.groups);
  return result < 0 ? 1 : replay_broken (replay_path (options), "chunks", broken);
}

int
export_run (const struct options *options)
{
  struct history_query query = { 0 };
  struct error error;
  sigset_t ends, before;
  int code;

  if (replay_interval (options, "export", &query, &error) < 0) {
    log_error ("%s", error.text);
    return 2;
  }
  catch_up (options, query.to_ns);
  sigemptyset (&ends);
  sigaddset (&ends, SIGINT);
  sigaddset (&ends, SIGTERM);
  sigprocmask (SIG_BLOCK, &ends, &before);
  code = options->format == FORMAT_MSGPACK ? export_frames (options, &query) : export_tables (options, &query);
  sigprocmask (SIG_SETMASK, &before, NULL);
  return code;
}
