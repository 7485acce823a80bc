/* Samples of frames, and markers where series end: rows and values that go, sessions, nodes; what is late; what is known
 * again after a restart. */
#include "aggregator/send/send_nodes.h"
#include "tests/unit/aggregator/history/history_bench.h"

#define AT(sequence) (INT64_C (1795372185) * NS_PER_S + (int64_t) (sequence) *NS_PER_S)

struct stage {
  struct scratch *scratch;
  struct send_options options;
  struct history_file *file;
  struct send_nodes *nodes;
  struct buffer said; /* "made_bytes d0 5|" */
  int64_t boot_s;     /* as the next frames have it */
  int64_t start_ms;   /* as the last sample has it */
};

static void
say (void *context, const struct send_sample *sample)
{
  static const char begin[] = "synop_made_";
  struct stage *stage = context;
  const struct send_series *series = sample->series;
  const char *name = series->family->public->name;

  assert_string_equal (sample->node->text, "n1");
  stage->start_ms = sample->start_ms;
  if (strncmp (name, begin, strlen (begin)) != 0) /* synop_group_up */
    return;
  buffer_printf (&stage->said, "%s", name + strlen (begin));
  for (size_t i = 0; i < series->label_count; i++)
    if (series->labels[i].name->length == 6 && memcmp (series->labels[i].name->text, "device", 6) == 0)
      buffer_printf (&stage->said, " %.*s", (int) series->labels[i].value->length, series->labels[i].value->text);
  if (sample->stale)
    buffer_printf (&stage->said, " end|");
  else
    buffer_printf (&stage->said, " %g|", sample->value);
}

static void
stage_open (struct stage *stage, struct scratch *scratch, int64_t every_ns)
{
  struct error error;

  *stage = (struct stage){ .scratch = scratch };
  stage->options = (struct send_options){
    .names = (char *) "synop", .groups = (char *) "", .job = (char *) "", .labels = (char *) "", .period_ns = every_ns
  };
  stage->file = history_file_open (scratch->path, &error);
  assert_non_null (stage->file);
  stage->nodes = send_nodes_create (&stage->options, NULL, stage->file, &error);
  assert_non_null (stage->nodes);
}

static void
stage_close (struct stage *stage)
{
  send_nodes_destroy (stage->nodes);
  history_file_close (stage->file);
  buffer_free (&stage->said);
}

/* A frame of n1 with these rows, whose bytes are the sequence; `level` < 0: it is missing. */
static void
take (struct stage *stage, uint64_t session, uint64_t sequence, const char *rows, int level)
{
  struct send_frame_parts parts = {
    .header = { .session = session, .sequence = sequence, .monotonic_ns = AT (sequence) - stage->boot_s * NS_PER_S }
  };
  struct send_node *node = send_nodes_find (stage->nodes, "n1", 0);
  struct buffer bytes = { 0 };
  struct error error = { "" };
  struct table table;
  const struct table *tables[] = { &table };

  strcpy (parts.header.node, "n1");
  memcpy (parts.header.schema, stage->scratch->schema->hash, SCHEMA_HASH_SIZE);
  table_init (&table, &made_group);
  table.period_ns = NS_PER_S;
  for (const char *row = rows; *row; row += 2)
    table_set_uint (&table, table_add_row (&table, row, 2), 0, sequence);
  if (level >= 0)
    table_set_uint (&table, TABLE_NODE, 1, (uint64_t) level);
  frame_write (&bytes, &parts.header, stage->scratch->schema, tables, 1);
  assert_int_equal (frame_read_header (bytes.data, bytes.length, &parts.header, &error), 0);
  parts.record = (struct frame_record){ .time_ns = AT (sequence) };
  parts.bytes = bytes.data;
  parts.length = bytes.length;
  buffer_clear (&stage->said);
  if (send_nodes_take (stage->nodes, node, &parts, say, stage, &error) < 0)
    fail_msg ("%s", error.text);
  buffer_add (&stage->said, "", 1);
  table_free (&table);
  buffer_free (&bytes);
}

static void
store_schema (struct scratch *scratch)
{
  scratch_open (scratch);
  put_made (scratch, "other", 1, 1, 0, false);
  assert_true (history_flush (scratch->history));
}

static void
test_rows_and_values_end (void **state)
{
  struct scratch *scratch = *state;
  struct stage stage;

  store_schema (scratch);
  stage_open (&stage, scratch, NS_PER_S);
  take (&stage, 1, 1, "d0d1", 7);
  assert_string_equal (stage.said.data, "bytes_total d0 1|bytes_total d1 1|level 7|");
  take (&stage, 1, 2, "d0d1", 8);
  assert_null (strstr (stage.said.data, "end"));
  take (&stage, 1, 3, "d1", 8);
  assert_string_equal (stage.said.data, "bytes_total d1 3|level 8|bytes_total d0 end|");
  take (&stage, 1, 4, "d1", -1);
  assert_non_null (strstr (stage.said.data, "level end|"));
  take (&stage, 1, 5, "d1d0", -1); /* other order, one more: nothing ends */
  assert_null (strstr (stage.said.data, "end"));
  take (&stage, 1, 6, "", -1);
  assert_non_null (strstr (stage.said.data, "bytes_total d1 end|bytes_total d0 end|"));
  take (&stage, 1, 7, "d9", 1);
  take (&stage, 2, 8, "d8", 1); /* another session */
  assert_non_null (strstr (stage.said.data, "bytes_total d9 end|"));
  assert_null (strstr (stage.said.data, "level end|"));
  stage_close (&stage);
}

/* The node's boot is one for as long as it is up, however its clocks drift, and whoever is restarted. */
static void
test_boot_is_one (void **state)
{
  static const struct {
    uint64_t session;
    int64_t boot_s, start_s;
  } frames[] = { { 1, 100, 100 }, { 1, 400, 100 }, { 2, 110, 100 }, { 2, 90, 100 }, { 3, 131, 131 }, { 4, 100, 100 } };
  struct scratch *scratch = *state;
  struct stage stage;

  store_schema (scratch);
  stage_open (&stage, scratch, NS_PER_S);
  for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
    stage.boot_s = frames[i].boot_s;
    take (&stage, frames[i].session, i + 1, "d0", 1);
    assert_int_equal (stage.start_ms, frames[i].start_s * 1000);
  }
  stage_close (&stage);
}

static void
test_late_ones_change_nothing (void **state)
{
  struct scratch *scratch = *state;
  struct stage stage;

  store_schema (scratch);
  stage_open (&stage, scratch, NS_PER_S);
  take (&stage, 1, 10, "d0d1", 1);
  take (&stage, 1, 5, "d0", 1);
  assert_non_null (strstr (stage.said.data, "bytes_total d0 5|"));
  assert_null (strstr (stage.said.data, "end"));
  take (&stage, 1, 5, "d0", 1); /* of the same millisecond */
  assert_string_equal (stage.said.data, "");
  take (&stage, 1, 10, "d0", 1);
  assert_string_equal (stage.said.data, "");
  assert_int_equal (send_node_newest (send_nodes_find (stage.nodes, "n1", 0)), AT (10));
  take (&stage, 1, 11, "d0d1", 1);
  assert_null (strstr (stage.said.data, "end"));
  stage_close (&stage);
}

static void
test_a_node_ends (void **state)
{
  struct scratch *scratch = *state;
  struct send_node *node;
  struct stage stage;

  store_schema (scratch);
  stage_open (&stage, scratch, NS_PER_S);
  take (&stage, 1, 10, "d0", 1);
  node = send_nodes_find (stage.nodes, "n1", 0);
  buffer_clear (&stage.said);
  send_nodes_end (stage.nodes, node, AT (10), say, &stage); /* it has sent since */
  assert_int_equal (stage.said.length, 0);
  send_nodes_end (stage.nodes, node, AT (11), say, &stage);
  buffer_add (&stage.said, "", 1);
  assert_string_equal (stage.said.data, "bytes_total d0 end|level end|");
  buffer_clear (&stage.said);
  send_nodes_end (stage.nodes, node, AT (12), say, &stage); /* once */
  assert_int_equal (stage.said.length, 0);
  take (&stage, 1, 13, "d0", 1);
  assert_null (strstr (stage.said.data, "end"));
  stage_close (&stage);
}

static void
test_one_in_three (void **state)
{
  struct scratch *scratch = *state;
  struct stage stage;

  store_schema (scratch);
  stage_open (&stage, scratch, 3 * NS_PER_S);
  for (uint64_t i = 1; i < 30; i++) {
    take (&stage, 1, i, "d0", 1);
    assert_int_equal (stage.said.length > 1, AT (i) % (3 * NS_PER_S) == 0);
  }
  stage_close (&stage);
}

/* As after a restart: what was sent of a node is read from the history. */
static void
test_what_was_sent_is_known_again (void **state)
{
  struct scratch *scratch = *state;
  struct stage stage;

  scratch_open (scratch);
  put_range (scratch, "n1", 1, 1, 16);
  put_range (scratch, "n1", 1, 17, 32);
  assert_true (history_flush (scratch->history));
  stage_open (&stage, scratch, NS_PER_S);
  assert_true (send_node_newest (send_nodes_find (stage.nodes, "n2", 9)) == INT64_MIN);
  assert_true (send_node_newest (send_nodes_find (stage.nodes, "n1", 1)) == scratch->start_ns + 16 * NS_PER_S + 17);
  stage_close (&stage);
  stage_open (&stage, scratch, NS_PER_S);
  send_nodes_end (stage.nodes, send_nodes_find (stage.nodes, "n1", 9), INT64_MAX, say, &stage);
  buffer_add (&stage.said, "", 1);
  assert_non_null (strstr (stage.said.data, "bytes_total d0 end|bytes_total d1 end|"));
  stage_close (&stage);
}

int
main (void)
{
#define TEST(function) cmocka_unit_test_setup_teardown (function, scratch_create, scratch_destroy)
  const struct CMUnitTest tests[] = {
    TEST (test_rows_and_values_end), TEST (test_boot_is_one),  TEST (test_late_ones_change_nothing),
    TEST (test_a_node_ends),         TEST (test_one_in_three), TEST (test_what_was_sent_is_known_again),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
