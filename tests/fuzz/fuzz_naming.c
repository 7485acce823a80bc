/* Names files: any text is read or refused with a reason; what was read is planned for the GPUs' groups, and their tables
 * come out as whole lines, in pieces as at once. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/groups.h"
#include "synop/exposition.h"

#define GROUPS 2

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static struct schema *schema;
static struct table tables[GROUPS], before[GROUPS];
static struct series_table shown[GROUPS];

static void
table_fill (struct table *table, const struct group *group, uint64_t base)
{
  static const char *const labels[] = { "0", "0:1", "amd0" };

  table_init (table, group);
  table_begin (table);
  table->monotonic_ns = (int64_t) base * 1000000000;
  for (size_t row = 0; row < 3; row++)
    table_add_row (table, labels[row], strlen (labels[row]));
  for (size_t column = 0; column < group->metric_count; column++)
    for (size_t row = 0; row < 3; row++) {
      size_t at = group->metrics[column].flags & METRIC_OF_NODE ? TABLE_NODE : row;
      if (group->metrics[column].kind == TEXT)
        table_set_text (table, at, column, "a \"\n\\", 5);
      else if (column % 3 == 0 && group->metrics[column].kind == GAUGE)
        table_set_real (table, at, column, 0.1 * (double) base);
      else
        table_set_uint (table, at, column, base * column + row);
    }
}

static void
begin (void)
{
  static const struct group *groups[GROUPS];

  groups[0] = sampler_gpu.group;
  groups[1] = sampler_gpu_info.group;
  schema = schema_create (groups, GROUPS);
  for (size_t i = 0; i < GROUPS; i++) {
    table_fill (&before[i], groups[i], 1);
    table_fill (&tables[i], groups[i], 3);
    shown[i] = (struct series_table){ &tables[i], &before[i], 1000000000 };
  }
}

static void
write_all (const struct naming *naming, const struct series_node *node, size_t piece, struct buffer *out)
{
  struct exposition exposition;
  size_t length = 0;

  exposition_begin (&exposition, EXPOSITION_OPENMETRICS, true, naming, node, 1);
  while (exposition_next (&exposition, out, out->length + piece))
    if (out->length < length + piece)
      abort ();
    else
      length = out->length;
  if (out->length != 0 && out->data[out->length - 1] != '\n')
    abort ();
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct buffer whole = { 0 }, parts = { 0 }, found = { 0 };
  struct series_node node = { .name = "n1", .tables = shown, .time_ns = 1 };
  struct naming *naming = naming_create ();
  struct error error = { "" };

  if (schema == NULL)
    begin ();
  if (size > 16 * 1024) {
    naming_destroy (naming);
    return 0;
  }
  if (naming_read (naming, "x", (const char *) data, size, &error) < 0) {
    if (strncmp (error.text, "x:", 2) != 0)
      abort ();
  } else {
    if (size % 2)
      naming_add_rule (naming);
    node.plan = naming_plan (naming, schema);
    write_all (naming, &node, 1000000, &whole);
    write_all (naming, &node, 1, &parts);
    if (whole.length != parts.length || (whole.length != 0 && memcmp (whole.data, parts.data, whole.length) != 0))
      abort ();
    naming_check (naming, schema, &found);
  }
  buffer_free (&whole);
  buffer_free (&parts);
  buffer_free (&found);
  naming_destroy (naming);
  return 0;
}
