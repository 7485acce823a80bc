/* See faults.h. */
#include "aggregator/alerts/faults.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/core/node.h"
#include "synop/buffer.h"
#include "synop/memory.h"
#include "synop/report.h"

#define REPORT_EVERY (60 * NS_PER_S)
#define OVER_AFTER (600 * NS_PER_S) /* a state that comes and goes is one fault */
#define SCHEMAS_MAX 256             /* that are kept; then all are looked at again */
#define LABELS_MAX 8

static const struct {
  const char *metric, *text; /* text: before the rows that have it */
} kinds[] = {
  { "gpu.xid_errors", "XID errors" },
  { "gpu.ecc_uncorrected", "uncorrected memory errors" },
  { "edac.uncorrected", "uncorrected memory errors" },
  { "vm.oom_kills", "processes killed for want of memory" },
  { "gpu.remapped_rows_failed", "memory that could not be remapped, to be replaced," },
  { "gpu.remapped_rows_pending", "memory that is to be remapped at the next reset" },
  { "gpu.retired_pages_pending", "memory that is to be retired at the next reset" },
  { "gpu.throttled_hw_thermal", "clocks held down for heat" },
};
#define KINDS (sizeof kinds / sizeof kinds[0])
#define COUNTED 4 /* the first of them */

bool
fault_is_counted (const char *metric)
{
  for (size_t i = COUNTED; i < KINDS; i++)
    if (strcmp (kinds[i].metric, metric) == 0)
      return false;
  return true;
}

/* Where they lie in the tables of a schema; group -1: it has none of that name. */
struct fault_places {
  uint8_t hash[SCHEMA_HASH_SIZE];
  struct {
    int16_t group, column;
  } of[KINDS];
  UT_hash_handle hh;
};

struct faults {
  struct alerts *alerts;
  void *context;
  void (*report) (void *context, const struct event *event);
  struct fault_places *schemas, *last;
};

struct faults *
faults_create (struct alerts *alerts, void *context, void (*report) (void *context, const struct event *event))
{
  struct faults *faults = memory_new (1, sizeof *faults);

  *faults = (struct faults){ .alerts = alerts, .context = context, .report = report };
  return faults;
}

static void
forget_schemas (struct faults *faults)
{
  struct fault_places *places, *next;

  HASH_ITER (hh, faults->schemas, places, next)
  {
    HASH_DEL (faults->schemas, places);
    free (places);
  }
  faults->last = NULL;
}

void
faults_destroy (struct faults *faults)
{
  forget_schemas (faults);
  free (faults);
}

/* ---- places ---- */

static void
find_place (struct fault_places *places, size_t kind, const struct schema *schema)
{
  size_t length = strcspn (kinds[kind].metric, ".");
  const char *name = kinds[kind].metric + length + 1;

  places->of[kind].group = -1;
  for (size_t i = 0; i < schema->group_count; i++) {
    const struct group *group = schema->groups[i];
    if (strlen (group->name) != length || memcmp (group->name, kinds[kind].metric, length) != 0)
      continue;
    for (size_t k = 0; k < group->metric_count; k++)
      if (strcmp (group->metrics[k].name, name) == 0 && (group->metrics[k].kind == COUNTER) == (kind < COUNTED)) {
        places->of[kind].group = (int16_t) i;
        places->of[kind].column = (int16_t) k;
      }
  }
}

static const struct fault_places *
places_of (struct faults *faults, const struct schema *schema)
{
  struct fault_places *places = faults->last;

  if (places && memcmp (places->hash, schema->hash, SCHEMA_HASH_SIZE) == 0)
    return places;
  HASH_FIND (hh, faults->schemas, schema->hash, SCHEMA_HASH_SIZE, places);
  if (!places) {
    if (HASH_COUNT (faults->schemas) >= SCHEMAS_MAX)
      forget_schemas (faults);
    places = memory_new (1, sizeof *places);
    memcpy (places->hash, schema->hash, SCHEMA_HASH_SIZE);
    for (size_t i = 0; i < KINDS; i++)
      find_place (places, i, schema);
    HASH_ADD (hh, faults->schemas, hash, SCHEMA_HASH_SIZE, places);
  }
  return faults->last = places;
}

/* ---- events ---- */

static void
report (struct faults *faults, const struct event *event)
{
  alerts_take (faults->alerts, event);
  faults->report (faults->context, event);
}

static void
report_fault (struct faults *faults, const char *node, size_t kind, int64_t time_ns, uint64_t count, const char *text)
{
  report (faults, &(struct event){ .type = EVENT_FAULT,
                                   .wall_ns = time_ns,
                                   .node = node,
                                   .reason = kinds[kind].metric,
                                   .text = text,
                                   .count = count });
}

/* ---- frames ---- */

/* How many errors there are now, or how many parts are in that state; `rows`: which. */
struct found {
  uint64_t count;
  size_t parts;
  struct buffer rows;
};

static void
add_row (struct found *found, const struct table *table, size_t row)
{
  size_t length;
  const char *label = row == TABLE_NODE ? "" : table_label (table, row, &length);

  if (row == TABLE_NODE || found->parts++ > LABELS_MAX)
    return;
  if (found->parts > LABELS_MAX)
    buffer_add_string (&found->rows, " and others");
  else
    buffer_printf (&found->rows, "%s %.*s", found->parts == 1 ? "" : ",", (int) length, label);
}

static void
look_at (struct found *found, const struct report_group *pair, size_t row, size_t column, size_t *searched)
{
  const struct metric *metric = &pair->now->group->metrics[column];
  const struct table *before = metric->kind == COUNTER ? report_before (pair) : NULL;
  struct report_search search = { .expected = row, .searched = searched };
  const struct value *now = table_get (pair->now, row, column), *then = NULL;
  size_t at = row;
  struct value value;

  if (!(value_double (now) > 0))
    return;
  if (before && row != TABLE_NODE)
    at = report_row_before (pair->now, before, row, &search);
  if (before && (row == TABLE_NODE || at != SIZE_MAX))
    then = table_get (before, at, column);
  value = report_value (metric, now, then, report_elapsed_ns (pair));
  if (!(value_double (&value) > 0))
    return;
  found->count += metric->kind == COUNTER ? (uint64_t) value_double (&value) : 1;
  add_row (found, pair->now, row);
}

static void
look (struct found *found, const struct report_group *pair, size_t column)
{
  const struct group *group = pair->now->group;
  size_t searched = 0;

  if (!(group->flags & GROUP_ROWS) || group->metrics[column].flags & METRIC_OF_NODE)
    look_at (found, pair, TABLE_NODE, column, &searched);
  else
    for (size_t row = 0; row < pair->now->rows; row++)
      look_at (found, pair, row, column, &searched);
}

static void
take_found (struct faults *faults, const struct cluster_frame *frame, size_t kind, const struct group *group,
            struct found *found)
{
  const char *node = frame->node->name, *metric = kinds[kind].metric;
  struct alert *alert = alerts_find (faults->alerts, node, EVENT_FAULT, metric, frame->time_ns);
  char *text;

  if (found->count == 0) {
    if (alert && kind >= COUNTED && frame->time_ns - alert->seen_ns > OVER_AFTER)
      report (faults,
              &(struct event){ .type = EVENT_FAULT_OVER, .wall_ns = frame->time_ns, .node = node, .reason = metric });
    return;
  }
  if (alert) {
    alert->seen_ns = frame->time_ns;
    alert->pending += kind < COUNTED ? found->count : 0;
    if (kind >= COUNTED || frame->time_ns - alert->last_ns < REPORT_EVERY)
      return;
    found->count = alert->pending;
  }
  text = found->parts ? memory_format ("%s on %s%s", kinds[kind].text, group->row, buffer_text (&found->rows))
                      : memory_string (kinds[kind].text);
  report_fault (faults, node, kind, frame->time_ns, found->count, text);
  free (text);
}

void
faults_frame (struct faults *faults, const struct cluster_frame *frame)
{
  const struct fault_places *places = places_of (faults, frame->schema);

  for (size_t i = 0; i < KINDS; i++) {
    struct found found = { 0 };
    const struct report_group *pair = places->of[i].group < 0 ? NULL : &frame->groups[places->of[i].group];
    if (!pair || !pair->now)
      continue;
    look (&found, pair, (size_t) places->of[i].column);
    if (found.count || (i >= COUNTED && faults->alerts->nodes))
      take_found (faults, frame, i, pair->now->group, &found);
    buffer_free (&found.rows);
  }
}

void
faults_poll (struct faults *faults, int64_t now_ns)
{
  for (const struct alert_node *node = faults->alerts->nodes, *next; node; node = next) {
    next = node->hh.next;
    for (size_t i = 0; i < COUNTED; i++) {
      const struct alert *alert = alerts_find (faults->alerts, node->name, EVENT_FAULT, kinds[i].metric, now_ns);
      if (alert && alert->pending && now_ns - alert->last_ns >= REPORT_EVERY) {
        char *text = memory_string (alert->text);
        report_fault (faults, node->name, i, now_ns, alert->pending, text);
        free (text);
      }
    }
  }
}
