/* Recorded machines, sampled by the agent, sent as a frame, read from it, and written as Prometheus has them: promtool finds
 * nothing in any set of names, and each value is that of the frame. */
#include "tests/unit/agent/sampler_test.h"

#include <libgen.h>
#include <math.h>

#include "synop/exposition.h"
#include "synop/frame.h"
#include "synop/memory.h"
#include "synop/naming.h"
#include "synop/series.h"

#define FOLDER "aggregator/names"
#define SETS "node-exporter, dcgm-exporter, moneo, synop"
#define FRAME_NS (INT64_C (1795372187) * 1000000000 + 165569123)

/* A machine's tables as they come out of a frame. */
struct machine {
  struct scratch scratch;
  struct schema *schema;
  struct table *tables;
  struct series_table *shown;
  const struct group **groups;
};

static struct machine machine;

static struct table *
take_table (void *context, size_t group)
{
  (void) context;
  table_begin (&machine.tables[group]);
  return &machine.tables[group];
}

static void
table_done (void *context, size_t group, struct table *table)
{
  (void) context;
  machine.shown[group].table = table;
  machine.shown[group].time_ns = FRAME_NS;
}

/* Through a frame, as it comes from a node. */
static void
tables_send (const struct table *const *tables)
{
  struct frame_header header = { .node = "n1", .session = 1, .sequence = 1, .monotonic_ns = 1, .wall_ns = FRAME_NS };
  struct frame_sink sink = { NULL, take_table, table_done };
  struct buffer frame = { 0 };
  struct error error;

  memcpy (header.schema, machine.schema->hash, sizeof header.schema);
  frame_write (&frame, &header, machine.schema, tables, sampler_count);
  assert_int_equal (frame_read_header (frame.data, frame.length, &header, &error), 0);
  assert_int_equal (frame_read_tables (frame.data, frame.length, &header, machine.schema, &sink, &error), 0);
  buffer_free (&frame);
}

static void
machine_sample (const char *root)
{
  struct sampled *sampled = memory_new (sampler_count, sizeof *sampled);
  const struct table **tables = memory_new (sampler_count, sizeof *tables);
  char self[400] = "";
  struct agent_options *options;

  assert_true (readlink ("/proc/self/exe", self, sizeof self - 1) > 0);
  options = options_for (root, "[gpu]\nlibrary = %s/../lib/libnvidia-ml.so.1\ndcgm = off\n[neuron]\ncommand = off\n",
                         dirname (self));
  for (size_t i = 0; i < sampler_count; i++) {
    sampled[i].options = options;
    sampled_open (&sampled[i], samplers[i], root);
    for (int times = 0; times < 2; times++) {
      if (samplers[i]->may_block)
        sampled_may_block (&sampled[i]);
      sampled_again (&sampled[i]);
    }
    tables[i] = &sampled[i].table;
  }
  tables_send (tables);
  for (size_t i = 0; i < sampler_count; i++)
    sampled_close (&sampled[i]);
  agent_options_destroy (options);
  free (sampled);
  free (tables);
}

/* Every value of every group: `rows` rows that have them all. */
static void
machine_invent (size_t rows)
{
  const struct table **tables = memory_new (sampler_count, sizeof *tables);

  for (size_t i = 0; i < sampler_count; i++) {
    const struct group *group = machine.groups[i];
    struct table *table = memory_new (1, sizeof *table);
    char label[32];

    table_init (table, group);
    for (size_t row = 0; group->rows_name[0] && row < rows; row++) {
      bool pair = strchr (group->row, ':') != NULL || strcmp (group->row, "GPU/process") == 0;
      table_add_row (table, label, (size_t) snprintf (label, sizeof label, pair ? "mlx5_%zu:%zu" : "%zu", row, row));
    }
    for (size_t column = 0; column < group->metric_count; column++)
      for (size_t row = 0; row <= table->rows; row++) {
        bool of_node = (group->metrics[column].flags & METRIC_OF_NODE) != 0;
        size_t at = of_node ? TABLE_NODE : row;
        if (of_node ? row != table->rows : row == table->rows)
          continue;
        if (group->metrics[column].kind == TEXT)
          table_set_text (table, at, column, "a \"text\"\\", strlen ("a \"text\"\\"));
        else if (group->metrics[column].kind == GAUGE && column % 2)
          table_set_real (table, at, column, 12.5 + (double) row);
        else
          table_set_uint (table, at, column, 1000 * column + row);
      }
    tables[i] = table;
  }
  tables_send (tables);
  for (size_t i = 0; i < sampler_count; i++) {
    table_free ((struct table *) tables[i]);
    free ((void *) tables[i]);
  }
  free (tables);
}

static void
machine_begin (void)
{
  char path[128];

  machine = (struct machine){ 0 };
  scratch_init (&machine.scratch);
  scratch_write (&machine.scratch, "/nvml", "gpus 3\nmig 2 2\nprocess 0 1 1000\n");
  snprintf (path, sizeof path, "%s/nvml", machine.scratch.root);
  setenv ("SYNOP_NVML_SCRIPT", path, 1);
  machine.groups = memory_new (sampler_count, sizeof *machine.groups);
  machine.tables = memory_new (sampler_count, sizeof *machine.tables);
  machine.shown = memory_new (sampler_count, sizeof *machine.shown);
  for (size_t i = 0; i < sampler_count; i++) {
    machine.groups[i] = samplers[i]->group;
    table_init (&machine.tables[i], samplers[i]->group);
  }
  machine.schema = schema_create (machine.groups, sampler_count);
}

static void
machine_end (void)
{
  for (size_t i = 0; i < sampler_count; i++)
    table_free (&machine.tables[i]);
  schema_destroy (machine.schema);
  free (machine.groups);
  free (machine.tables);
  free (machine.shown);
  scratch_free (&machine.scratch);
}

static struct naming *
naming_of (const char *sets)
{
  struct naming *naming = naming_create ();
  struct error error;

  if (naming_load (naming, sets, FOLDER, &error) < 0)
    fail_msg ("%s", error.text);
  return naming;
}

/* ---- what promtool says ---- */

/* Foreign names break rules of style that are Prometheus' own: those alone may be found in them. */
#define STYLE "camelCase|_total. suffix|base unit|abbreviated units|should not include type"

static void
check_promtool (const char *sets, enum exposition_format format, const char *ignore)
{
  struct naming *naming = naming_of (sets);
  struct series_node nodes[2] = { { .name = "n1", .tables = machine.shown, .time_ns = FRAME_NS },
                                  { .name = "n2", .tables = machine.shown, .time_ns = FRAME_NS } };
  struct exposition exposition;
  struct buffer text = { 0 };
  char command[700];

  if (system ("command -v promtool >/dev/null") != 0) {
    print_message ("# skipped: there is no promtool\n");
    skip ();
  }
  nodes[0].plan = nodes[1].plan = naming_plan (naming, machine.schema);
  exposition_begin (&exposition, format, true, naming, nodes, 2);
  while (exposition_next (&exposition, &text, text.length + 1000))
    continue;
  exposition_end (&text, format);
  assert_true (text.length > 0);
  scratch_write_bytes (&machine.scratch, "/text", text.data, text.length);
  snprintf (command, sizeof command,
            "cd '%s' && promtool check metrics <text >found 2>&1; grep -vE '%s' found; ! grep -qvE '%s' found",
            machine.scratch.root, ignore, ignore);
  if (system (command) != 0)
    fail_msg ("promtool found something in %s", sets);
  buffer_free (&text);
  naming_destroy (naming);
}

static void
test_promtool_finds_nothing (void **state)
{
  static const char *const roots[] = {
    ROOT_SMALL, ROOT_ODD, "tests/roots/infiniband", "tests/roots/thermal", "tests/roots/amdgpu", "tests/roots/jobs/v2"
  };

  (void) state;
  for (size_t i = 0; i <= sizeof roots / sizeof roots[0]; i++) {
    machine_begin ();
    if (i < sizeof roots / sizeof roots[0])
      machine_sample (roots[i]);
    else
      machine_invent (3);
    check_promtool ("synop", EXPOSITION_TEXT, "^$");
    check_promtool ("node-exporter", EXPOSITION_TEXT, STYLE);
    check_promtool ("dcgm-exporter, synop", EXPOSITION_TEXT, STYLE);
    check_promtool ("moneo, synop", EXPOSITION_TEXT, STYLE);
    check_promtool (SETS, EXPOSITION_TEXT, STYLE);
    machine_end ();
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_promtool_finds_nothing),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
