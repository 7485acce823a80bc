/* See access_rows.h. Whose a job on a node is, is what the node says of it in job_info, in the same frame or before it; of a
 * process or a runtime, it is whose its job is. What nobody is known to own is for admins alone. */
#include "aggregator/access/access_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/node.h"
#include "aggregator/core/schema_store.h"
#include "synop/memory.h"
#include "synop/users.h"

#define JOB_INFO "job_info"

/* ---- whose a row is ---- */

struct access_tables
access_tables_of (const struct cluster_frame *frame)
{
  return (struct access_tables){ frame->node, frame->schema, frame->groups, frame->time_ns };
}

static const struct table *
table_named (const struct access_tables *tables, const char *name)
{
  const struct node *node = tables->node;

  for (size_t i = 0; i < tables->schema->group_count; i++) {
    if (strcmp (tables->schema->groups[i]->name, name) != 0)
      continue;
    if (tables->groups && tables->groups[i].now)
      return tables->groups[i].now;
    return node->schema && node->schema->schema == tables->schema && node->groups ? node_groups_last (node->groups, i)
                                                                                  : NULL;
  }
  return NULL;
}

static const struct value *
cell_named (const struct table *table, size_t row, const char *name)
{
  const struct group *group = table->group;

  for (size_t i = 0; i < group->metric_count; i++)
    if (strcmp (group->metrics[i].name, name) == 0 && (group->metrics[i].flags & METRIC_OF_NODE) == 0)
      return table_get (table, row, i);
  return NULL;
}

/* "": it has none. */
static const char *
text_named (const struct table *table, size_t row, const char *name, size_t *length)
{
  const struct value *value = cell_named (table, row, name);

  *length = 0;
  return value && value->type == VALUE_TEXT ? table_text (table, value, length) : "";
}

/* The runtime of RUNTIME and RUNTIME/PART knows its job. */
static const char *
job_of_runtime (const struct access_tables *tables, const char *label, size_t length, size_t *job_length)
{
  const struct table *info = table_named (tables, REPORT_RUNTIME_INFO);
  const char *slash = memchr (label, '/', length);
  size_t row = info ? table_find_row (info, label, slash ? (size_t) (slash - label) : length, 0) : SIZE_MAX;

  *job_length = 0;
  return row == SIZE_MAX ? "" : text_named (info, row, "job", job_length);
}

/* The job that the row is about; "": none. */
static const char *
job_of_row (const struct access_tables *tables, const struct table *table, size_t row, size_t *length)
{
  const char *section = table->group->section ? table->group->section : "", *label = table_label (table, row, length);

  if (strcmp (section, REPORT_JOBS) == 0)
    return label;
  if (strcmp (section, REPORT_RUNTIMES) == 0)
    return job_of_runtime (tables, label, *length, length);
  return text_named (table, row, "job", length);
}

static bool
sees_by_info (const struct viewer *viewer, const struct table *info, size_t row)
{
  size_t length;
  const char *user = text_named (info, row, "user", &length);
  const struct value *uid = length == 0 ? cell_named (info, row, "uid") : NULL;
  char number[24];

  if (!uid || uid->type != VALUE_UINT)
    return viewer_sees (viewer, user, length);
  return viewer_sees (viewer, number, (size_t) snprintf (number, sizeof number, "%" PRIu64, uid->as.u));
}

bool
access_sees_row (const struct viewer *viewer, const struct access_tables *tables, const struct table *table, size_t row)
{
  size_t length, found;
  const char *job = viewer->all ? "" : job_of_row (tables, table, row, &length);
  const struct table *info;

  if (viewer->all || length == 0)
    return viewer->all;
  info = table_named (tables, JOB_INFO);
  found = info ? table_find_row (info, job, length, row) : SIZE_MAX;
  if (found != SIZE_MAX)
    return sees_by_info (viewer, info, found);
  return viewer->past && viewer->past (viewer, tables->node->name, job, length, tables->time_ns);
}

/* ---- a frame ---- */

static bool
is_of_users (const struct cluster_frame *frame, size_t i)
{
  return frame->groups[i].now && group_is_of_users (frame->schema->groups[i]);
}

enum access_share
access_share (const struct viewer *viewer, const struct cluster_frame *frame)
{
  struct access_tables tables = access_tables_of (frame);
  enum access_share share = ACCESS_WHOLE;

  for (size_t i = 0; i < frame->schema->group_count && !viewer->all; i++) {
    const struct table *now = frame->groups[i].now;
    if (!is_of_users (frame, i))
      continue;
    share = ACCESS_BARE;
    for (size_t row = 0; row < now->rows; row++)
      if (access_sees_row (viewer, &tables, now, row))
        return ACCESS_OWN;
  }
  return share;
}

static void
cut_table (struct access_cut *cut, const struct viewer *viewer, const struct access_tables *tables, size_t i)
{
  const struct table *now = cut->groups[i].now;
  struct table *copy = &cut->tables[cut->count++];
  bool *keep = memory_new (now->rows, sizeof *keep);

  for (size_t row = 0; row < now->rows; row++) {
    keep[row] = access_sees_row (viewer, tables, now, row);
    cut->others |= !keep[row];
  }
  table_init (copy, now->group);
  table_copy_rows (copy, now, keep);
  if (copy->error[0])
    snprintf (copy->error, sizeof copy->error, "%s", ACCESS_ERROR);
  cut->groups[i].now = copy;
  free (keep);
}

const struct report_group *
access_cut (const struct viewer *viewer, const struct cluster_frame *frame, struct access_cut *cut)
{
  struct access_tables tables = access_tables_of (frame);
  size_t count = frame->schema->group_count;

  *cut = (struct access_cut){ 0 };
  for (size_t i = 0; i < count && !viewer->all; i++) {
    if (!is_of_users (frame, i))
      continue;
    if (!cut->groups) {
      cut->groups = (void *) memory_copy (frame->groups, count * sizeof *cut->groups);
      cut->tables = memory_new (count, sizeof *cut->tables);
    }
    cut_table (cut, viewer, &tables, i);
  }
  return cut->groups ? cut->groups : frame->groups;
}

void
access_cut_free (struct access_cut *cut)
{
  for (size_t i = 0; i < cut->count; i++)
    table_free (&cut->tables[i]);
  free (cut->tables);
  free (cut->groups);
}
