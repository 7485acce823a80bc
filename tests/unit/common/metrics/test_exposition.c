/* The text formats: lines of families and samples, in pieces, with what has to be escaped. */
#include "tests/unit/common/metrics/things.h"

#include <math.h>

#include "synop/exposition.h"

#define NAMES                                                                                                          \
  "[cpu *] {c=\"$row\", m=\"a\\\"b$model\"}\nuser u_seconds_total \"A \\\"b\\\"\\n\\\\.\"\nspeed s counter\nmodel "    \
  "m_info\n"                                                                                                           \
  "[cpu]\nlevel l\nswitch_count x untyped\nversion v gauge \"5\"=-0.25\nversion w info\n"

static void
fill (struct things *things)
{
  table_set_uint (&things->tables[CPU], 0, USER, 150);
  table_set_uint (&things->tables[CPU], 1, USER, 12345);
  table_set_uint (&things->tables[CPU], 0, SPEED, 8);
  things_text (&things->tables[CPU], 0, MODEL, "m\n\\\"");
  table_set_int (&things->tables[CPU], TABLE_NODE, LEVEL, -21050);
  table_set_uint (&things->tables[CPU], TABLE_NODE, SWITCHES, UINT64_MAX);
  things_text (&things->tables[CPU], TABLE_NODE, VERSION, "5");
}

/* All of it, as pieces of at least so many bytes make it. */
static void
check (struct things *things, enum exposition_format format, bool instances, size_t piece, const char *expected)
{
  struct exposition exposition;
  struct buffer out = { 0 }, text = { 0 };
  bool more = true;

  exposition_begin (&exposition, format, instances, things->naming, &things->node, 1);
  while (more) {
    more = exposition_next (&exposition, &out, piece);
    assert_true (!more || out.length >= piece);
    assert_true (out.length < piece + 400);
    assert_true (out.length == 0 || out.data[out.length - 1] == '\n');
    buffer_add (&text, out.data, out.length);
    buffer_clear (&out);
  }
  exposition_end (&text, format);
  buffer_add (&text, "", 1);
  assert_string_equal (text.data, expected);
  buffer_free (&out);
  buffer_free (&text);
}

static void
test_text (void **state)
{
  static const char expected[] = "# HELP u_seconds_total A \"b\"\\n\\\\.\n"
                                 "# TYPE u_seconds_total counter\n"
                                 "u_seconds_total{c=\"0\",m=\"a\\\"bm\\n\\\\\\\"\"} 1.5 1795372187165\n"
                                 "u_seconds_total{c=\"0:1\",m=\"a\\\"b\"} 123.45 1795372187165\n"
                                 "# HELP s Speed of the link.\n"
                                 "# TYPE s counter\n"
                                 "s{c=\"0\",m=\"a\\\"bm\\n\\\\\\\"\"} 8 1795372187165\n"
                                 "# HELP m_info The model.\n"
                                 "# TYPE m_info gauge\n"
                                 "m_info{c=\"0\",m=\"a\\\"bm\\n\\\\\\\"\"} 1 1795372187165\n"
                                 "# HELP l How warm.\n"
                                 "# TYPE l gauge\n"
                                 "l -21.05 1795372187165\n"
                                 "# HELP x Switches.\n"
                                 "# TYPE x untyped\n"
                                 "x 18446744073709551615 1795372187165\n"
                                 "# HELP v Of the driver.\n"
                                 "# TYPE v gauge\n"
                                 "v -0.25 1795372187165\n"
                                 "# HELP w Of the driver.\n"
                                 "# TYPE w gauge\n"
                                 "w 1 1795372187165\n";
  struct things things;

  (void) state;
  things_begin (&things, NAMES, false);
  fill (&things);
  check (&things, EXPOSITION_TEXT, false, 1, expected);
  check (&things, EXPOSITION_TEXT, false, 100, expected);
  check (&things, EXPOSITION_TEXT, false, 100000, expected);
  things_end (&things);
}

static void
test_openmetrics (void **state)
{
  struct things things;

  (void) state;
  things_begin (&things, NAMES, false);
  fill (&things);
  things.node.name = "n\"1";
  things.shown[CPU].time_ns = 1795372187000000000;
  check (&things, EXPOSITION_OPENMETRICS, true, 1,
         "# HELP u_seconds A \\\"b\\\"\\n\\\\.\n"
         "# TYPE u_seconds counter\n"
         "# UNIT u_seconds seconds\n"
         "u_seconds_total{instance=\"n\\\"1\",c=\"0\",m=\"a\\\"bm\\n\\\\\\\"\"} 1.5 1795372187\n"
         "u_seconds_total{instance=\"n\\\"1\",c=\"0:1\",m=\"a\\\"b\"} 123.45 1795372187\n"
         "# HELP s Speed of the link.\n"
         "# TYPE s unknown\n"
         "s{instance=\"n\\\"1\",c=\"0\",m=\"a\\\"bm\\n\\\\\\\"\"} 8 1795372187\n"
         "# HELP m The model.\n"
         "# TYPE m info\n"
         "m_info{instance=\"n\\\"1\",c=\"0\",m=\"a\\\"bm\\n\\\\\\\"\"} 1 1795372187\n"
         "# HELP l How warm.\n"
         "# TYPE l gauge\n"
         "l{instance=\"n\\\"1\"} -21.05 1795372187\n"
         "# HELP x Switches.\n"
         "# TYPE x unknown\n"
         "x{instance=\"n\\\"1\"} 18446744073709551615 1795372187\n"
         "# HELP v Of the driver.\n"
         "# TYPE v gauge\n"
         "v{instance=\"n\\\"1\"} -0.25 1795372187\n"
         "# HELP w Of the driver.\n"
         "# TYPE w gauge\n"
         "w{instance=\"n\\\"1\"} 1 1795372187\n"
         "# EOF\n");
  things.shown[CPU].time_ns = 0;
  for (size_t i = 0; i < 2; i++)
    table_value (&things.tables[CPU], i, USER)->type = VALUE_MISSING;
  table_value (&things.tables[CPU], 0, SPEED)->type = VALUE_MISSING;
  table_value (&things.tables[CPU], 0, MODEL)->type = VALUE_MISSING;
  table_value (&things.tables[CPU], TABLE_NODE, VERSION)->type = VALUE_MISSING;
  check (
      &things, EXPOSITION_TEXT, false, 1,
      "# HELP l How warm.\n# TYPE l gauge\nl -21.05\n# HELP x Switches.\n# TYPE x untyped\nx 18446744073709551615\n");
  things_end (&things);
}

static void
test_families_made_by_code (void **state)
{
  static const struct metric_family frames = { "synop_aggregator_frames_total", "Frames.", FAMILY_COUNTER };
  static const struct metric_family job = { "synop_job_info", NULL, FAMILY_INFO };
  const struct exposition_label labels[] = { { "a", "x\"" }, { "b", "" } };
  struct buffer out = { 0 };

  (void) state;
  exposition_family (&out, EXPOSITION_TEXT, &frames);
  exposition_sample (&out, EXPOSITION_TEXT, &frames, NULL, 0, 3, 0);
  exposition_family (&out, EXPOSITION_OPENMETRICS, &job);
  exposition_sample (&out, EXPOSITION_OPENMETRICS, &job, labels, 2, 1, 1500000000);
  exposition_sample (&out, EXPOSITION_OPENMETRICS, &job, labels, 1, (double) INFINITY, 0);
  exposition_sample (&out, EXPOSITION_OPENMETRICS, &job, labels, 1, -(double) INFINITY, 0);
  exposition_sample (&out, EXPOSITION_OPENMETRICS, &job, labels, 1, (double) NAN, 0);
  exposition_end (&out, EXPOSITION_TEXT);
  buffer_add (&out, "", 1);
  assert_string_equal (out.data, "# HELP synop_aggregator_frames_total Frames.\n"
                                 "# TYPE synop_aggregator_frames_total counter\n"
                                 "synop_aggregator_frames_total 3\n"
                                 "# TYPE synop_job info\n"
                                 "synop_job_info{a=\"x\\\"\",b=\"\"} 1 1.5\n"
                                 "synop_job_info{a=\"x\\\"\"} +Inf\n"
                                 "synop_job_info{a=\"x\\\"\"} -Inf\n"
                                 "synop_job_info{a=\"x\\\"\"} NaN\n");
  buffer_free (&out);
}

/* A text of a table is as long as it likes. */
static void
test_long_texts (void **state)
{
  struct exposition exposition;
  struct buffer out = { 0 };
  struct things things;
  char text[4000];

  (void) state;
  memset (text, '"', sizeof text);
  things_begin (&things, "[cpu *] {c=\"$row\", m=\"$model\", n=\"$model\"}\nuser u\n", false);
  table_set_uint (&things.tables[CPU], 0, USER, 100);
  table_set_text (&things.tables[CPU], 0, MODEL, text, sizeof text);
  exposition_begin (&exposition, EXPOSITION_TEXT, true, things.naming, &things.node, 1);
  assert_true (exposition_next (&exposition, &out, 1));
  assert_int_equal (out.length,
                    strlen ("# HELP u Time in user space.\n# TYPE u gauge\nu{instance=\"n1\",c=\"0\",m=\"\",n=\"\"} 1 "
                            "1795372187165\n") +
                        4 * sizeof text);
  buffer_free (&out);
  things_end (&things);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_text),
    cmocka_unit_test (test_openmetrics),
    cmocka_unit_test (test_families_made_by_code),
    cmocka_unit_test (test_long_texts),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
