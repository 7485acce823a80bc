/* What the tests of names, series and text share: a schema with one of everything, tables of it, names for it. */
#ifndef SYNOP_TESTS_THINGS_H
#define SYNOP_TESTS_THINGS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "synop/memory.h"
#include "synop/naming.h"
#include "synop/series.h"

#define TIME_NS INT64_C (1795372187165569123)

enum { USER, SPEED, MODEL, BUSY, COOL, SWITCHES, LEVEL, VERSION };
static const struct metric cpu_metrics[] = {
  [USER] = { "user", COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_SHARE, .per = 100, .help = "Time in user space." },
  [SPEED] = { "speed", GAUGE, UNIT_BITS_PER_SECOND, .help = "Speed of the link." },
  [MODEL] = { "model", TEXT, UNIT_NONE, .help = "The model." },
  [BUSY] = { "busy_total", GAUGE, UNIT_PERCENT, .help = "How busy." },
  [COOL] = { "cool_count", GAUGE, UNIT_BOOLEAN, .help = "1 when cool." },
  [SWITCHES] = { "switch_count", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = "Switches." },
  [LEVEL] = { "level", GAUGE, UNIT_CELSIUS, FOLD_NONE, METRIC_OF_NODE, .per = 1000, .help = "How warm." },
  [VERSION] = { "version", TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE, .help = "Of the driver." },
};
static const struct group cpu_group = {
  "cpu", "system_data", "CPU core", "cores", "", 0, "CPUs.", GROUP_METRICS (cpu_metrics)
};

enum { UUID, MINOR };
static const struct metric facts_metrics[] = {
  [UUID] = { "uuid", TEXT, UNIT_NONE, .help = "The UUID." },
  [MINOR] = { "minor", GAUGE, UNIT_COUNT, .help = "The number of its device." },
};
static const struct group facts_group = {
  "facts", "system_data", "CPU core", "cores", "", 0, "Facts.", GROUP_METRICS (facts_metrics)
};

static const struct group *const things_groups[] = { &cpu_group, &facts_group };
enum { CPU, FACTS, THINGS };

/* One node's tables. */
struct things {
  struct naming *naming;
  struct schema *schema;
  struct table tables[THINGS], before;
  struct series_table shown[THINGS];
  struct series_node node;
};

static inline size_t
things_row (struct table *table, const char *label)
{
  return table_add_row (table, label, strlen (label));
}

static inline void
things_text (struct table *table, size_t row, size_t column, const char *text)
{
  table_set_text (table, row, column, text, strlen (text));
}

/* Rows "0" and "0:1" in each group; `rule`: what stands not in `names` has its names by the rule. */
static inline void
things_begin (struct things *things, const char *names, bool rule)
{
  static const char *const labels[] = { "0", "0:1" };
  struct error error;

  *things = (struct things){ .naming = naming_create (), .node = { .name = "n1", .time_ns = TIME_NS } };
  things->schema = schema_create (things_groups, THINGS);
  if (naming_read (things->naming, "x.names", names, strlen (names), &error) < 0)
    fail_msg ("%s", error.text);
  if (rule)
    naming_add_rule (things->naming);
  for (size_t i = 0; i < THINGS; i++) {
    table_init (&things->tables[i], things_groups[i]);
    table_begin (&things->tables[i]);
    for (size_t row = 0; row < 2; row++)
      things_row (&things->tables[i], labels[row]);
    things->shown[i] = (struct series_table){ .table = &things->tables[i], .time_ns = TIME_NS };
  }
  table_init (&things->before, &cpu_group);
  table_begin (&things->before);
  things->node.tables = things->shown;
  things->node.plan = naming_plan (things->naming, things->schema);
}

static inline void
things_end (struct things *things)
{
  for (size_t i = 0; i < THINGS; i++)
    table_free (&things->tables[i]);
  table_free (&things->before);
  naming_destroy (things->naming);
  schema_destroy (things->schema);
}

/* All series as lines "FAMILY{label="text",...} value". */
static inline void
things_lines (const struct things *things, struct buffer *out)
{
  struct series_label labels[SERIES_LABELS_MAX];
  struct buffer texts = { 0 };
  struct series_walk walk;
  struct series series;

  buffer_clear (out);
  series_begin (&walk, things->naming, &things->node, 1);
  while (series_next (&walk, &series)) {
    size_t count = series_labels (&series, labels, &texts);
    buffer_add_string (out, series.family->name);
    for (size_t i = 0; i < count; i++)
      buffer_printf (out, "%s%s=\"%.*s\"%s", i == 0 ? "{" : ",", labels[i].name, (int) labels[i].length,
                     texts.data + labels[i].offset, i + 1 == count ? "}" : "");
    buffer_printf (out, " %.15g\n", series_number (&series));
  }
  buffer_add (out, "", 1);
  out->length--;
  buffer_free (&texts);
}

static inline void
assert_lines (const struct things *things, const char *expected)
{
  struct buffer lines = { 0 };

  things_lines (things, &lines);
  assert_string_equal (lines.data, expected);
  buffer_free (&lines);
}

#endif
