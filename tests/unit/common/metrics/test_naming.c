/* Names files: what they may say, what is wrong in them and where, and the rule for what stands in none. */
#include "tests/unit/common/metrics/things.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void
check_error (const char *text, const char *expected)
{
  struct naming *naming = naming_create ();
  struct error error = { "" };

  assert_int_equal (naming_read (naming, "x.names", text, strlen (text), &error), -1);
  if (strstr (error.text, expected) == NULL)
    fail_msg ("\"%s\": \"%s\"; expected \"%s\"", text, error.text, expected);
  naming_destroy (naming);
}

static void
test_errors_say_where_and_what (void **state)
{
  (void) state;
  check_error ("\n# a\nuser cpu\n", "x.names:3: expected [GROUP] or [GROUP ROWS] before the first metric");
  check_error ("[cpu]\nuser\n", "x.names:2: expected METRIC FAMILY {LABEL=\"TEXT\", ...} TYPE");
  check_error ("[cpu]\nuser 0cpu\n", "x.names:2: expected METRIC FAMILY");
  check_error ("[cpu]\nuser \"\"\n", "x.names:2: \"\": expected a name of 1 to 199 characters of ASCII");
  check_error ("[cpu]\nuser \"a\\nb\"\n", "expected a name of 1 to 199 characters of ASCII");
  check_error ("[cpu]\nuser \" a\"\n", "\" a\": expected a name");
  check_error ("[cpu]\nuser \"a\n", "a text in quotes does not end on its line");
  check_error ("[cpu]\nuser cpu conter\n", "\"conter\": expected a type (counter, gauge, info, untyped)");
  check_error ("[cpu]\nuser cpu conter\n", "did you mean counter?");
  check_error ("[cpu]\nuser cpu gauge counter\n", "\"counter\": the type stands there already");
  check_error ("[cpu]\nuser cpu *0\n", "scale 0: expected one *N and one /N at most, whole numbers");
  check_error ("[cpu]\nuser cpu *1.5\n", "scale 1.5: expected");
  check_error ("[cpu]\nuser cpu *4294967296\n", "scale 4294967296: expected");
  check_error ("[cpu]\nuser cpu *2 *3\n", "scale 3: expected one *N");
  check_error ("[cpu]\nuser cpu /a /b\n", "/b: expected /N, and one /METRIC at most");
  check_error ("[cpu]\nuser cpu a=b\n", "a=b: expected TEXT=N, the number of a text");
  check_error ("[cpu]\nuser cpu \"help\n", "a text in quotes does not end on its line");
  check_error ("[cpu]\nuser cpu \"help\" gauge\n", "\"gauge\": expected the end of the line behind \"HELP\"");
  check_error ("[cpu\nuser cpu\n", "x.names:1: expected [GROUP], or [GROUP ROWS]");
  check_error ("[cpu *****]\n", "*****: expected at most 4 of * and #");
  check_error ("[cpu *] {a=\"$row\"\n", "the line ends, expected ',' or '}' behind a label");
  check_error ("[cpu *] {a=\"$row\" b=\"\"}\n", "\"b=\"\"}\": expected ',' or '}' behind a label");
  check_error ("[cpu *] {a-b=\"$row\"}\n", "label \"a-b\": expected letters, digits and '_'");
  check_error ("[cpu *] {__a=\"$row\"}\n", "label \"__a\"");
  check_error ("[cpu *] {instance=\"$row\"}\n", "label instance is the node's own");
  check_error ("[cpu *] {a=\"$row\", a=\"\"}\n", "label a stands twice");
  check_error ("[cpu *] {a=\"$row\"}\nuser cpu {a=\"b\"}\n", "x.names:2: label a stands twice");
  check_error ("[cpu *] {a=\"$2\"}\n", "a label's text has \"$2\"; expected $row, $1 to $1, $node");
  check_error ("[cpu *] {a=\"${row\"}\n", "a label's text has \"${row\"");
  check_error ("[cpu *] {a=\"$facts[2].uuid\"}\n", "a label's text has \"$facts[2].uuid\"");
  check_error ("[cpu *:#] {a=\"$1\"}\nuser cpu\n",
               "x.names:2: the labels do not distinguish rows: expected \"$row\", or "
               "each of \"$1\" to \"$2\"");
  check_error ("[cpu *] {a=\"$model\"}\nuser cpu\n", "the labels do not distinguish rows");
  check_error ("[cpu]\nlevel warm_total\n[cpu *] {a=\"$row\"}\nuser warm_total gauge\n",
               "x.names:4: warm_total is a gauge here and a counter in x.names:2");
  check_error ("[cpu]\nlevel warm\nuser warm\n", "x.names:3: warm with these labels stands in x.names:2");
  check_error ("- \"why\"\n", "x.names:1: expected - FAMILY \"why it is not there\"");
  check_error ("- cpu\n", "x.names:1: expected - FAMILY");
}

static void
test_what_is_no_text_is_refused (void **state)
{
  struct naming *naming = naming_create ();
  struct error error;

  (void) state;
  assert_int_equal (naming_read (naming, "x.names", "# a\0b", 5, &error), -1);
  assert_string_equal (error.text, "x.names: it is no text of UTF-8");
  assert_int_equal (naming_read (naming, "x.names", "# \xe4", 3, &error), -1);
  assert_string_equal (error.text, "x.names: it is no text of UTF-8");
  assert_int_equal (naming_read (naming, "x.names", "# \xc3\xa4", 4, &error), 0);
  naming_destroy (naming);
}

static const struct metric_family *
family (const struct things *things, const char *name)
{
  for (size_t i = 0; i < naming_family_count (things->naming); i++)
    if (strcmp (naming_family (things->naming, i)->name, name) == 0)
      return naming_family (things->naming, i);
  fail_msg ("there is no family %s", name);
  return NULL;
}

static void
test_types_come_from_names (void **state)
{
  struct things things;

  (void) state;
  things_begin (&things,
                "[cpu]\r\n"
                "\tswitch_count  a_total\r\n"
                "version       b_info   \"A \\\"b\\\".\"\n"
                "level         c\n"
                "level         d_total untyped\n"
                "nothing       e\n"
                "- f* \"why\"",
                false);
  assert_int_equal (family (&things, "a_total")->type, FAMILY_COUNTER);
  assert_string_equal (family (&things, "a_total")->help, "Switches.");
  assert_int_equal (family (&things, "b_info")->type, FAMILY_INFO);
  assert_string_equal (family (&things, "b_info")->help, "A \"b\".");
  assert_int_equal (family (&things, "c")->type, FAMILY_GAUGE);
  assert_int_equal (family (&things, "d_total")->type, FAMILY_UNTYPED);
  assert_null (family (&things, "e")->help);
  assert_int_equal (naming_family_count (things.naming), 5);
  things_end (&things);
}

/* Names in quotes are for others than Prometheus; the unit is the metric's where the value is. */
static void
test_names_in_quotes (void **state)
{
  struct things things;
  struct error error;

  (void) state;
  things_begin (&things,
                "[cpu *] {cpu=\"$row\"}\n"
                "busy_total    \"A b/C (d)\" {x=\"y\"} \"Help.\"\n"
                "speed         e\n"
                "speed         f  /8\n"
                "user          g  rate\n",
                false);
  assert_true (family (&things, "A b/C (d)")->quoted);
  assert_string_equal (family (&things, "A b/C (d)")->help, "Help.");
  assert_int_equal (family (&things, "A b/C (d)")->unit, UNIT_PERCENT);
  assert_int_equal (family (&things, "e")->unit, UNIT_BITS_PER_SECOND);
  assert_int_equal (family (&things, "f")->unit, UNIT_NONE);
  assert_int_equal (family (&things, "g")->unit, UNIT_NONE);
  assert_false (family (&things, "e")->quoted);
  assert_int_equal (naming_check_plain (things.naming, &error), -1);
  assert_string_equal (error.text, "x.names:2: \"A b/C (d)\" is no name for Prometheus");
  things_end (&things);
  things_begin (&things, "[cpu]\nlevel e\n", true);
  assert_int_equal (naming_check_plain (things.naming, &error), 0);
  things_end (&things);
}

/* ---- the rule ---- */

static void
test_rule_names_what_stands_in_no_file (void **state)
{
  struct things things;

  (void) state;
  things_begin (
      &things, "[cpu]\nlevel warm\n[cpu #] {core=\"$1\"}\nspeed link\n[facts *] {core=\"$row\"}\nminor number\n", true);
  for (size_t row = 0; row < 2; row++) {
    table_set_uint (&things.tables[CPU], row, USER, 150);
    table_set_uint (&things.tables[CPU], row, SPEED, 800);
    table_set_uint (&things.tables[CPU], row, BUSY, 50);
    table_set_uint (&things.tables[CPU], row, COOL, 1);
    table_set_uint (&things.tables[FACTS], row, MINOR, row);
  }
  things_text (&things.tables[CPU], 0, MODEL, "m");
  things_text (&things.tables[FACTS], 1, UUID, "U");
  table_set_uint (&things.tables[CPU], TABLE_NODE, SWITCHES, 7);
  table_set_uint (&things.tables[CPU], TABLE_NODE, LEVEL, 21500);
  things_text (&things.tables[CPU], TABLE_NODE, VERSION, "5");
  table_complain (&things.tables[FACTS], "no");
  assert_lines (&things, "warm 21.5\n"
                         "link{core=\"0\"} 800\n"
                         "number{core=\"0\"} 0\n"
                         "number{core=\"0:1\"} 1\n"
                         "synop_group_up{group=\"cpu\"} 1\n"
                         "synop_group_up{group=\"facts\"} 0\n"
                         "synop_cpu_user_seconds_total{cpu_core=\"0\"} 1.5\n"
                         "synop_cpu_user_seconds_total{cpu_core=\"0:1\"} 1.5\n"
                         "synop_cpu_speed_bytes_per_second{cpu_core=\"0:1\"} 100\n"
                         "synop_cpu_busy_total_ratio{cpu_core=\"0\"} 0.5\n"
                         "synop_cpu_busy_total_ratio{cpu_core=\"0:1\"} 0.5\n"
                         "synop_cpu_cool_count_flag{cpu_core=\"0\"} 1\n"
                         "synop_cpu_cool_count_flag{cpu_core=\"0:1\"} 1\n"
                         "synop_cpu_switch_total 7\n"
                         "synop_cpu_node_info{version=\"5\"} 1\n"
                         "synop_cpu_info{cpu_core=\"0\",model=\"m\"} 1\n"
                         "synop_facts_info{cpu_core=\"0:1\",uuid=\"U\"} 1\n");
  things_end (&things);
}

static const struct metric link_metrics[] = {
  { "errors", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = "Errors of all." },
  { "job", TEXT, UNIT_NONE, .help = "Whose." },
};
static const struct metric link_of_metrics[] = {
  { "link_errors", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = "Errors of links." },
  { "state", TEXT, UNIT_NONE, .help = "State." },
};
static const struct group gpu_group = { "gpu", "", "Job", "jobs", "", 0, "GPUs.", GROUP_METRICS (link_of_metrics) };
static const struct group gpu_link_group = { "gpu_link", "", "job",    "jobs",
                                             "",         0,  "Links.", GROUP_METRICS (link_metrics) };
static const struct group gpu_info_group = { "gpu_info", "", "9 GPU",  "gpus",
                                             "",         0,  "Facts.", GROUP_METRICS (link_metrics) };

static void
check_family (struct naming *naming, size_t index, const char *name)
{
  assert_string_equal (naming_family (naming, index)->name, name);
}

/* gpu.link_errors and gpu_link.errors: what has a name keeps it, also where another schema lacks it. */
static void
test_rule_gives_a_name_once (void **state)
{
  static const struct group *const all[] = { &gpu_group, &gpu_link_group, &gpu_info_group };
  static const struct group *const some[] = { &gpu_link_group };
  struct schema *whole = schema_create (all, 3), *part = schema_create (some, 1);
  struct naming *naming = naming_create ();
  struct table table;
  struct series_table shown = { .table = &table };
  struct series_node node = { .name = "n1", .tables = &shown };
  struct series_walk walk;
  struct series series;

  (void) state;
  naming_add_rule (naming);
  assert_ptr_equal (naming_plan (naming, whole), naming_plan (naming, whole));
  check_family (naming, 1, "synop_gpu_link_errors_total");
  check_family (naming, 2, "synop_gpu_texts_info");
  check_family (naming, 3, "synop_gpu_link_job_id_errors_total");
  check_family (naming, 4, "synop_gpu_link_info");
  check_family (naming, 5, "synop_gpu_info_errors_total");
  check_family (naming, 6, "synop_gpu_info");
  assert_int_equal (naming_family_count (naming), 7);
  table_init (&table, &gpu_link_group);
  table_begin (&table);
  table_set_uint (&table, TABLE_NODE, 0, 1);
  node.plan = naming_plan (naming, part);
  assert_int_equal (naming_family_count (naming), 7);
  series_begin (&walk, naming, &node, 1);
  assert_true (series_next (&walk, &series));
  assert_string_equal (series.family->name, "synop_group_up");
  assert_true (series_next (&walk, &series));
  assert_string_equal (series.family->name, "synop_gpu_link_job_id_errors_total");
  table_free (&table);
  naming_destroy (naming);
  schema_destroy (whole);
  schema_destroy (part);
}

/* ---- what gives nothing ---- */

static void
test_check_says_what_gives_nothing (void **state)
{
  struct buffer out = { 0 };
  struct things things;

  (void) state;
  things_begin (
      &things,
      "[cpy]\nlevel a\n[cpu]\nlevl b\nuser c\nversion d\nlevel e rate\nlevel f /none\nerror g\n[node]\ntime t\n"
      "[cpu *] {a=\"$row\", b=\"$facts.uid\"}\nuser h rate\nspeed i /level\nmodel j_info\nmodel k x=1\n"
      "switch_count l\n",
      false);
  assert_int_equal (naming_check (things.naming, things.schema, &out), 12);
  buffer_add (&out, "", 1);
  assert_string_equal (out.data, "x.names:2: there is no group cpy; did you mean cpu?\n"
                                 "x.names:4: group cpu has no metric levl; did you mean level?\n"
                                 "x.names:5: cpu.user is a value of rows: expected it below [cpu *]\n"
                                 "x.names:6: cpu.version is a text: expected TEXT=N, or the type info\n"
                                 "x.names:7: cpu.level is no counter: it has no rate\n"
                                 "x.names:8: group cpu has no metric none\n"
                                 "x.names:9: group cpu has no metric error\n"
                                 "x.names:13: label b is empty: there is no facts.uid\n"
                                 "x.names:14: label b is empty: there is no facts.uid\n"
                                 "x.names:15: label b is empty: there is no facts.uid\n"
                                 "x.names:16: label b is empty: there is no facts.uid\n"
                                 "x.names:17: cpu.switch_count is a value of the node: expected it below [cpu]\n");
  buffer_free (&out);
  assert_lines (&things, "t 1795372187.16557\n");
  things_end (&things);
}

/* Families of the aggregator's own are not a node's to make. */
static void
test_rule_leaves_names_of_code_alone (void **state)
{
  static const struct metric metrics[] = { { "up", GAUGE, UNIT_BOOLEAN, .flags = METRIC_OF_NODE, .help = "Up." },
                                           { "x", TEXT, UNIT_NONE, .flags = METRIC_OF_NODE, .help = "X." } };
  static const char *const names[] = { "node", "node_clock", "cluster", "aggregator", "nodes", "clusters" };
  struct group made[6];
  const struct group *list[6];
  struct naming *naming = naming_create ();
  struct schema *schema;

  (void) state;
  for (size_t i = 0; i < 6; i++) {
    made[i] = (struct group){ names[i], "", "", "", "", 0, "A group.", GROUP_METRICS (metrics) };
    list[i] = &made[i];
  }
  schema = schema_create (list, 6);
  naming_add_rule (naming);
  naming_plan (naming, schema);
  for (size_t i = 0; i < naming_family_count (naming); i++) {
    const char *name = naming_family (naming, i)->name;
    if (strncmp (name, "synop_node_", 11) == 0 || strncmp (name, "synop_cluster_", 14) == 0 ||
        strncmp (name, "synop_aggregator_", 17) == 0)
      fail_msg ("%s", name);
  }
  assert_int_equal (naming_family_count (naming), 13);
  naming_destroy (naming);
  schema_destroy (schema);
}

/* ---- files ---- */

static void
write_file (const char *folder, const char *name, const char *text)
{
  char path[200];
  FILE *file;

  snprintf (path, sizeof path, "%s/%s", folder, name);
  file = fopen (path, "w");
  assert_non_null (file);
  fputs (text, file);
  assert_int_equal (fclose (file), 0);
}

static void
check_load (const char *list, const char *folder, size_t families, const char *expected)
{
  struct naming *naming = naming_create ();
  struct error error = { "" };

  assert_int_equal (naming_load (naming, list, folder, &error), expected[0] ? -1 : 0);
  if (strstr (error.text, expected) == NULL)
    fail_msg ("%s; expected %s", error.text, expected);
  assert_int_equal (naming_family_count (naming), families);
  naming_destroy (naming);
}

static void
test_sets_are_found (void **state)
{
  char folder[] = "/tmp/synop-names-XXXXXX", own[200], command[100];

  (void) state;
  assert_non_null (mkdtemp (folder));
  write_file (folder, "one-set.names", "[cpu]\nlevel a\n");
  write_file (folder, "mine.txt", "[cpu]\nlevel b\n");
  write_file (folder, "bad.names", "[cpu]\nlevel\n");
  snprintf (own, sizeof own, " one-set ,%s/mine.txt,, synop", folder);
  check_load (own, folder, 2, "");
  check_load ("", folder, 0, "");
  check_load ("one-sett", folder, 0, "/one-sett.names: No such file or directory; did you mean one-set?");
  check_load ("sinop", folder, 0, "did you mean synop?");
  check_load ("/none/x", folder, 0, "/none/x: No such file");
  check_load ("one-set,bad", folder, 1, "/bad.names:2: expected METRIC FAMILY");
  snprintf (command, sizeof command, "rm -r %s", folder);
  assert_int_equal (system (command), 0);
}

/* ---- schemas of nodes that come with ever other ones ---- */

#define MANY 100 /* metrics of a group */

struct large {
  struct metric metrics[MANY];
  char names[MANY][16], group_names[100][16];
  struct group groups[100];
  const struct group *list[100]; /* the schema has it */
};

/* 100 groups, whose names begin with `name`. */
static struct schema *
large_schema (struct large *large, const char *name)
{
  for (size_t i = 0; i < MANY; i++) {
    snprintf (large->names[i], sizeof large->names[i], "metric_%zu", i);
    large->metrics[i] = (struct metric){ large->names[i], GAUGE, .flags = METRIC_OF_NODE, .help = "One." };
  }
  for (size_t i = 0; i < 100; i++) {
    snprintf (large->group_names[i], sizeof large->group_names[i], "%s%zu", name, i);
    large->groups[i] = (struct group){ large->group_names[i], "system_data", "",   "",   "", 0, "Many.",
                                       large->metrics,        MANY,          NULL, false };
    large->list[i] = &large->groups[i];
  }
  return schema_create (large->list, 100);
}

static void
test_plans_can_be_forgotten (void **state)
{
  struct large *large = memory_new (1, sizeof *large);
  struct buffer first = { 0 }, again = { 0 };
  struct things things;
  size_t families;
  clock_t begun;

  (void) state;
  things_begin (&things, "[cpu]\nlevel warm\n", true);
  things_lines (&things, &first);
  families = naming_family_count (things.naming);
  begun = clock ();
  for (char name[] = "a"; name[0] < 'i'; name[0]++) {
    struct schema *schema = large_schema (large, name);
    naming_plan (things.naming, schema);
    schema_destroy (schema);
  }
  assert_in_range (clock () - begun, 0, 3 * CLOCKS_PER_SEC); /* no name is compared with all others */
  assert_int_equal (naming_plans_size (things.naming), naming_schema_size (things.schema) + 8 * (1 + 100 + 100 * MANY));
  assert_in_range (naming_family_count (things.naming), 8 * 100 * MANY, SIZE_MAX);

  naming_forget_plans (things.naming);
  assert_int_equal (naming_plans_size (things.naming), 0);
  assert_int_equal (naming_family_count (things.naming), 1);
  assert_null (family (&things, "warm")->help);
  naming_forget_plans (things.naming);
  things.node.plan = naming_plan (things.naming, things.schema);
  things_lines (&things, &again);
  assert_int_equal (naming_family_count (things.naming), families);
  assert_string_equal (family (&things, "warm")->help, "How warm.");
  assert_string_equal (buffer_text (&again), buffer_text (&first));
  things_end (&things);
  buffer_free (&first);
  buffer_free (&again);
  free (large);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_errors_say_where_and_what),     cmocka_unit_test (test_what_is_no_text_is_refused),
    cmocka_unit_test (test_types_come_from_names),         cmocka_unit_test (test_rule_names_what_stands_in_no_file),
    cmocka_unit_test (test_rule_gives_a_name_once),        cmocka_unit_test (test_rule_leaves_names_of_code_alone),
    cmocka_unit_test (test_check_says_what_gives_nothing), cmocka_unit_test (test_sets_are_found),
    cmocka_unit_test (test_plans_can_be_forgotten),        cmocka_unit_test (test_names_in_quotes),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
