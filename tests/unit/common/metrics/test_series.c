/* Tables as series: which rows and values are shown, with which labels and numbers, in which order. */
#include "tests/unit/common/metrics/things.h"

#include <math.h>

#include "synop/clock.h"

static void
test_missing_values_have_no_series (void **state)
{
  struct things things;

  (void) state;
  things_begin (&things,
                "[cpu *] {c=\"$row\"}\nuser u_total\nmodel m_info\nmodel n a=2\n[cpu]\nlevel l\nerror e \"\"=1 *=0\n",
                false);
  assert_lines (&things, "e 1\n");
  table_set_uint (&things.tables[CPU], 1, USER, 0);
  things_text (&things.tables[CPU], 0, MODEL, "a");
  things_text (&things.tables[CPU], 1, MODEL, "b");
  table_complain (&things.tables[CPU], "gone");
  assert_lines (&things, "u_total{c=\"0:1\"} 0\nm_info{c=\"0\"} 1\nm_info{c=\"0:1\"} 1\nn{c=\"0\"} 2\ne 0\n");
  things.shown[CPU].table = NULL;
  assert_lines (&things, "");
  things_end (&things);
}

static void
test_patterns_choose_rows (void **state)
{
  struct things things;

  (void) state;
  things_begin (
      &things,
      "[cpu #] {a=\"$1\"}\nuser one\n[cpu *:#] {a=\"<$1>\", b=\"${2}x\"}\nuser two\n[cpu 0] {c=\"$$\"}\nuser three\n"
      "[cpu #:] {a=\"$1\"}\nuser four\n[cpu *] {a=\"$1\"}\nuser five\n",
      false);
  things_row (&things.tables[CPU], "a:b:2");
  things_row (&things.tables[CPU], "7:");
  for (size_t row = 0; row < 4; row++)
    table_set_uint (&things.tables[CPU], row, USER, 100 * row);
  assert_lines (&things, "one{a=\"0\"} 0\n"
                         "two{a=\"<0>\",b=\"1x\"} 1\ntwo{a=\"<a:b>\",b=\"2x\"} 2\n"
                         "three{c=\"$\"} 0\n"
                         "four{a=\"7\"} 3\n"
                         "five{a=\"0\"} 0\nfive{a=\"0:1\"} 1\nfive{a=\"a:b:2\"} 2\nfive{a=\"7:\"} 3\n");
  things_end (&things);
}

static void
test_labels_join_what_others_know (void **state)
{
  struct things things;

  (void) state;
  things_begin (
      &things,
      "[cpu *] {r=\"$row\", u=\"$facts.uuid\", n=\"$facts.minor\", m=\"$model\", v=\"$version\", h=\"$node\"}\nuser a\n"
      "[cpu #:#] {p=\"$1/$2\", u=\"$facts[1].uuid\", x=\"$none.uuid\", y=\"$facts.none\"}\nuser b\n"
      "[cpu] {v=\"$version\", r=\"$row\", u=\"$facts.uuid\"}\nlevel c\n",
      false);
  table_set_uint (&things.tables[CPU], 0, USER, 0);
  table_set_uint (&things.tables[CPU], 1, USER, 0);
  table_set_uint (&things.tables[CPU], TABLE_NODE, LEVEL, 0);
  things_text (&things.tables[CPU], 0, MODEL, "m");
  things_text (&things.tables[CPU], TABLE_NODE, VERSION, "5");
  things_text (&things.tables[FACTS], 0, UUID, "U0");
  things_text (&things.tables[FACTS], 1, UUID, "U1");
  table_set_int (&things.tables[FACTS], 0, MINOR, -3);
  assert_lines (&things, "a{r=\"0\",u=\"U0\",n=\"-3\",m=\"m\",v=\"5\",h=\"n1\"} 0\n"
                         "a{r=\"0:1\",u=\"U1\",n=\"\",m=\"\",v=\"5\",h=\"n1\"} 0\n"
                         "b{p=\"0/1\",u=\"U0\",x=\"\",y=\"\"} 0\n"
                         "c{v=\"5\",r=\"\",u=\"\"} 0\n");
  things.shown[FACTS].table = NULL;
  assert_lines (&things, "a{r=\"0\",u=\"\",n=\"\",m=\"m\",v=\"5\",h=\"n1\"} 0\n"
                         "a{r=\"0:1\",u=\"\",n=\"\",m=\"\",v=\"5\",h=\"n1\"} 0\n"
                         "b{p=\"0/1\",u=\"\",x=\"\",y=\"\"} 0\n"
                         "c{v=\"5\",r=\"\",u=\"\"} 0\n");
  things_end (&things);
}

static struct series
one_series (const struct things *things)
{
  struct series_walk walk;
  struct series series, no_more;

  series_begin (&walk, things->naming, &things->node, 1);
  assert_true (series_next (&walk, &series));
  assert_false (series_next (&walk, &no_more));
  return series;
}

static void
check_level (const char *scale, double raw, bool real, double expected)
{
  char names[100];
  struct things things;
  struct series series;

  snprintf (names, sizeof names, "[cpu]\nlevel a %s\n", scale);
  things_begin (&things, names, false);
  if (real)
    table_set_real (&things.tables[CPU], TABLE_NODE, LEVEL, raw);
  else if (raw < 0)
    table_set_int (&things.tables[CPU], TABLE_NODE, LEVEL, (int64_t) raw);
  else
    table_set_uint (&things.tables[CPU], TABLE_NODE, LEVEL, (uint64_t) raw);
  series = one_series (&things);
  if (fabs (series_number (&series) - expected) > fabs (expected) * 1e-15)
    fail_msg ("%s of %.17g: %.17g, expected %.17g", scale, raw, series_number (&series), expected);
  things_end (&things);
}

/* `level` is told in thousandths. */
static void
test_scales (void **state)
{
  (void) state;
  check_level ("", 21500, false, 21.5);
  check_level ("", -21500, false, -21.5);
  check_level ("", 21.5, true, 0.0215);
  check_level ("*1000", -3, false, -3);
  check_level ("/1048576", 3, false, 3.0 / 1000 / 1048576);
  check_level ("*4294967295 /3", 7, false, 7 * 4294967295.0 / 3000);
  check_level ("*4294967295", 18446744073709549568.0, false, 18446744073709549568.0 * 4294967295.0 / 1000);
}

static void
test_whole_numbers_stay_whole (void **state)
{
  struct things things;
  struct series series;

  (void) state;
  things_begin (&things, "[cpu]\nswitch_count a_total\n", false);
  table_set_uint (&things.tables[CPU], TABLE_NODE, SWITCHES, UINT64_MAX);
  series = one_series (&things);
  assert_false (series.value.real);
  assert_true (series.value.digits == UINT64_MAX);
  assert_int_equal (series.value.places, 0);
  assert_true (series.time_ns == TIME_NS);
  things_end (&things);
}

static void
test_rates_and_shares (void **state)
{
  struct things things;

  (void) state;
  things_begin (
      &things,
      "[cpu *] {c=\"$row\"}\nuser busy rate *100\n[cpu]\nswitch_count switches rate\nlevel half *100 /switch_count\n"
      "level no /none\n",
      false);
  things.shown[CPU].before = &things.before;
  things.before.monotonic_ns = NS_PER_S;
  things.tables[CPU].monotonic_ns = 3 * NS_PER_S;
  things_row (&things.before, "0:1");
  table_set_uint (&things.before, 0, USER, 100);
  table_set_uint (&things.before, TABLE_NODE, SWITCHES, 1);
  table_set_uint (&things.tables[CPU], 0, USER, 1);
  table_set_uint (&things.tables[CPU], 1, USER, 150);
  table_set_uint (&things.tables[CPU], TABLE_NODE, SWITCHES, 4);
  table_set_uint (&things.tables[CPU], TABLE_NODE, LEVEL, 2000);
  assert_lines (&things, "busy{c=\"0:1\"} 25\nswitches 1.5\nhalf 50\n");
  table_set_uint (&things.before, TABLE_NODE, SWITCHES, 5); /* it began anew */
  table_set_uint (&things.tables[CPU], TABLE_NODE, SWITCHES, 0);
  assert_lines (&things, "busy{c=\"0:1\"} 25\n");
  things.shown[CPU].before = NULL;
  assert_lines (&things, "");
  things_end (&things);
}

/* Families one after the other, and in each the nodes: one has not got the group, one another schema. */
static void
test_nodes_are_walked_family_by_family (void **state)
{
  static const struct group *const swapped[] = { &facts_group, &cpu_group };
  struct schema *other = schema_create (swapped, THINGS);
  struct series_table other_shown[THINGS] = { 0 };
  struct series_node nodes[4];
  struct buffer out = { 0 };
  struct series_walk walk;
  struct things things;
  struct series series;

  (void) state;
  things_begin (&things, "[cpu *] {c=\"$row\"}\nuser u\n[cpu]\nlevel l\n[node]\ntime t\n", false);
  for (size_t i = 0; i < 4; i++)
    nodes[i] = things.node;
  nodes[1].tables = (struct series_table[THINGS]){ { NULL }, { NULL } };
  nodes[1].time_ns = 0;
  other_shown[1] = things.shown[CPU];
  nodes[2].tables = other_shown;
  nodes[2].plan = naming_plan (things.naming, other);
  for (size_t i = 0; i < 4; i++)
    nodes[i].name = (const char *[]){ "a", "b", "c", "d" }[i];
  table_set_uint (&things.tables[CPU], 0, USER, 0);
  table_set_uint (&things.tables[CPU], 1, USER, 0);
  table_set_uint (&things.tables[CPU], TABLE_NODE, LEVEL, 0);
  series_begin (&walk, things.naming, nodes, 4);
  while (series_next (&walk, &series))
    buffer_printf (&out, "%s%s ", series.node->name, series.family->name);
  buffer_add (&out, "", 1);
  assert_string_equal (out.data, "au au cu cu du du al cl dl at ct dt ");
  buffer_free (&out);
  things_end (&things);
  schema_destroy (other);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_missing_values_have_no_series),     cmocka_unit_test (test_patterns_choose_rows),
    cmocka_unit_test (test_labels_join_what_others_know),      cmocka_unit_test (test_scales),
    cmocka_unit_test (test_whole_numbers_stay_whole),          cmocka_unit_test (test_rates_and_shares),
    cmocka_unit_test (test_nodes_are_walked_family_by_family),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
