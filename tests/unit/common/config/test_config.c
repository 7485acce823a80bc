/* The configuration: values, files, and every sentence that says what is wrong with them. */
#include "tests/unit/common/config/config_scene.h"

static void
defaults_are_set (void **state)
{
  struct fixture *it = *state;
  const struct target *target = &it->target;
  assert_string_equal (target->node, "");
  assert_string_equal (target->keys, "/etc/keys");
  assert_string_equal (target->exclude, "loop*,ram*");
  assert_int_equal (target->period, 1000 * MS);
  assert_int_equal (target->queue, 300);
  assert_int_equal (target->bytes, 65536);
  assert_int_equal (target->level, 2);
  assert_false (target->quiet);
  assert_true (target->groups[0].enabled && target->groups[1].enabled);
  assert_int_equal (target->groups[0].period, 0); /* inherited */
  assert_string_equal (config_source (it->config, "agent", "period"), "default");
}

static void
file_is_read (void **state)
{
  struct fixture *it = *state;
  const struct target *target = &it->target;
  assert_read (it, "\xef\xbb\xbf; comment\n# comment\n[agent] ; comment\r\n"
                   "node = n 1 ; comment\r\n"
                   "period=500ms\n"
                   "   queue : 1k\n"
                   "[group cpu_usage]\n"
                   "\tperiod = 1.5s\n"
                   "enabled = Off\n"
                   "[instance]\nmetadata = imds\n"
                   "[group disk_io]\n"
                   "period = 1m\n"
                   "exclude = , sd a*, ,nvme*,,\n"
                   "  loop* , md*\n"
                   "# comment\n"
                   "  zram*\n"
                   "[agent]\nkeys = /x;y#z");
  assert_string_equal (target->node, "n 1");
  assert_int_equal (target->period, 500 * MS);
  assert_int_equal (target->queue, 1024);
  assert_int_equal (target->groups[0].period, 1500 * MS);
  assert_false (target->groups[0].enabled);
  assert_int_equal (target->metadata, 1);
  assert_int_equal (target->groups[1].period, 60000 * MS);
  assert_true (target->groups[1].enabled);
  assert_string_equal (target->exclude, "sd a*,nvme*,loop*,md*,zram*");
  assert_string_equal (target->keys, "/x;y#z");
  assert_string_equal (config_source (it->config, "agent", "period"), "f.ini:5");
  assert_string_equal (config_source (it->config, "group disk_io", "exclude"), "f.ini:14");
  assert_string_equal (config_source (it->config, "group disk_io", "enabled"), "default");
}

static void
empty_values_mean_the_default_that_is_empty (void **state)
{
  struct fixture *it = *state;
  assert_read (it, "[group disk_io]\nperiod = 5s\nexclude =\n[agent]\nnode = x\n");
  assert_string_equal (it->target.exclude, "");
  assert_read (it, "[group disk_io]\nperiod =\n[agent]\nnode =\n");
  assert_int_equal (it->target.groups[1].period, 0);
  assert_string_equal (it->target.node, "");
}

static void
durations_are_understood (void **state)
{
  (void) state;
  static const struct {
    const char *text;
    int64_t ns;
  } good[] = {
    { "5", 5000 * MS },
    { "5s", 5000 * MS },
    { "500ms", 500 * MS },
    { "100us", 100000 },
    { "7ns", 7 },
    { "1m", 60000 * MS },
    { "2h", 7200000 * MS },
    { "1d", 86400000 * MS },
    { "0.25s", 250 * MS },
    { "1.5m", 90000 * MS },
    { "0", 0 },
    { "5 s", 5000 * MS },
    { "9223372036854775807ns", INT64_MAX },
  };
  static const char *const bad[] = { "",        "s",     "-1s",     "1w", "1 s x", "1,5s",
                                     "1.s",     ".5s",   "1e3",     "5S", "0x1s",  "9223372036854775808ns",
                                     "106752d", "0.5ns", "1s500ms", "inf" };
  struct error error;
  int64_t ns;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    if (duration_parse (good[i].text, &ns, &error) != 0)
      fail_msg ("%s: %s", good[i].text, error.text);
    assert_int_equal (ns, good[i].ns);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    if (duration_parse (bad[i], &ns, &error) == 0)
      fail_msg ("\"%s\" was taken", bad[i]);
    assert_contains (error.text, "expected a duration, such as 500ms, 5s, 1m or 2h, not \"");
  }
}

static void
file_errors_say_where_and_what (void **state)
{
  struct fixture *it = *state;
  static const struct {
    const char *text, *error;
  } bad[] = {
    { "[agent]\nperiod = 5x\n",
      "f.ini:2: [agent] period: expected a duration from 10ms to 1h, such as 500ms, 5s, 1m or "
      "2h, not \"5x\"" },
    { "[agent]\nperiod = 9ms\n", "f.ini:2: [agent] period: expected a duration from 10ms to 1h" },
    { "[agent]\nperiod = 61m\n", "f.ini:2: [agent] period: expected a duration from 10ms to 1h" },
    { "[agent]\nperiod =\n", "f.ini:2: [agent] period: expected a duration from 10ms to 1h" },
    { "[agent]\nqueue = 0\n", "f.ini:2: [agent] queue: expected a number from 1 to 100000" },
    { "[agent]\nqueue = 1.5\n", "f.ini:2: [agent] queue: expected a number from 1 to 100000" },
    { "[agent]\nqueue = 18446744073709551616\n", "f.ini:2: [agent] queue: expected a number" },
    { "[agent]\nmax_bytes = 99999999T\n", "f.ini:2: [agent] max_bytes: expected a number, k, M or G may follow it" },
    { "[agent]\nquiet = maybe\n", "f.ini:2: [agent] quiet: expected yes or no, not \"maybe\"" },
    { "[agent]\nlog_level = loud\n", "f.ini:2: [agent] log_level: expected one of error, warning, info, not \"loud\"" },
    { "[agent]\nkeys =\n", "f.ini:2: [agent] keys: expected a path" },
    { "[agent]\nnode = a/b\n", "f.ini:2: [agent] node: expected a node's name, not \"a/b\"" },
    { "[agent]\nnode = n1 # mine\n",
      "f.ini:2: [agent] node: \"n1 # mine\" holds '#' behind a blank; a comment behind a "
      "value begins with \" ;\"" },
    { "[agent]\nnode = \"n1\"\n", "f.ini:2: [agent] node: expected a value without quotes" },
    { "[agent]\nnode = a\tb\n", "f.ini:2: [agent] node: expected a text without control characters" },
    { "[agent]\n\nperoid = 5s\n",
      "f.ini:3: [agent] peroid: unknown key, did you mean \"period\"? Allowed keys are node, "
      "period, queue, max_bytes, quiet, log_level, keys" },
    { "[agent]\nxyzzy_plugh = 5s\n", "f.ini:2: [agent] xyzzy_plugh: unknown key; allowed keys are node, period" },
    { "[group disk_io]\nexclud = 5s\n",
      "f.ini:2: [group disk_io] exclud: unknown key, did you mean \"exclude\"? Allowed "
      "keys are enabled, period, exclude, types_exclude" },
    { "[group cpu_usage]\nexclude = x\n", "f.ini:2: [group cpu_usage] exclude: unknown key" },
    { "[agnet]\n", "f.ini:1: unknown section [agnet], did you mean [agent]? Allowed sections are [agent], [instance], "
                   "[demo NAME], [group NAME] with NAME one of cpu_usage, disk_io" },
    { "[group disk]\nperiod = 5s\n", "f.ini:1: unknown section [group disk], did you mean [group disk_io]?" },
    { "[group *]\n", "f.ini:1: unknown section [group *]" },
    { "[]\n", "f.ini:1: unknown section []" },
    { "[agent\n", "f.ini:1: expected \"[section]\", not \"[agent\"" },
    { "[agent] node = x\n", "f.ini:1: expected \"[section]\", not \"[agent] node = x\"" },
    { "node = x\n", "f.ini:1: \"node = x\" stands before the first [section]" },
    { "[agent]\nnode\n", "f.ini:2: expected \"key = value\"" },
    { "[agent]\nnode", "f.ini:2: expected \"key = value\"" },
    { "[agent]\n= x\n", "f.ini:2: expected \"key = value\"" },
    { "[agent]\nnode x\nperiod = 5x\n", "f.ini:2: expected \"key = value\"" },
    { "[agent]\nnode = x\n  y\n", "f.ini:3: expected \"key = value\", not \"y\"" },
    { "[group disk_io]\nexclude = x\n[agent]\n  y\n", "f.ini:4: expected \"key = value\", not \"y\"" },
    { "[agent]\nnode = x\nnode = x\n", "f.ini:3: [agent] node: stands in this file already, in line 2" },
    { "[agent]\nnode = x\n[instance]\n[agent]\nnode = y\n", "f.ini:5: [agent] node: stands in this file already" },
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    it->error.text[0] = '\0';
    if (config_read_text (it->config, "f.ini", bad[i].text, &it->error) == 0)
      fail_msg ("%s was taken", bad[i].text);
    assert_contains (it->error.text, bad[i].error);
    assert_ptr_equal (strstr (it->error.text, "f.ini"), it->error.text);
  }
}

static void
long_lines_are_refused_and_not_cut (void **state)
{
  struct fixture *it = *state;
  static char text[20000];
  for (int length = 2; length <= 4096; length = length * 3 / 2) {
    snprintf (text, sizeof text, "[agent]\nkeys = /%0*d ; and a comment\n", length - 1, 0);
    assert_read (it, text);
    assert_int_equal (strlen (it->target.keys), length);
  }
  snprintf (text, sizeof text, "[agent]\nkeys = /%0*d\n", 4096, 0);
  assert_int_equal (config_read_text (it->config, "f.ini", text, &it->error), -1);
  assert_contains (it->error.text, "f.ini:2: [agent] keys: 4097 characters are too many; no value has more than 4096");
  snprintf (text, sizeof text, "# %09000d\n[agent]\nkeys = /%09000d\n", 0, 0);
  assert_int_equal (config_read_text (it->config, "f.ini", text, &it->error), -1);
  assert_contains (it->error.text, "f.ini:3: this line is too long: at most ");
}

static void
files_that_cannot_be_used (void **state)
{
  struct fixture *it = *state;
  char expected[160];

  assert_int_equal (config_read_file (it->config, it->path, &it->error), -1);
  snprintf (expected, sizeof expected, "%s: No such file or directory", it->path);
  assert_string_equal (it->error.text, expected);
  assert_int_equal (config_read_file (it->config, it->folder, &it->error), -1);
  snprintf (expected, sizeof expected, "%s: is a directory", it->folder);
  assert_string_equal (it->error.text, expected);

  assert_int_equal (mkfifo (it->path, 0600), 0);
  assert_int_equal (config_read_file (it->config, it->path, &it->error), -1);
  assert_contains (it->error.text, "agent.ini: is not a file");
  unlink (it->path);

  put (it, "[agent]\nnode = \0x\n", 18);
  assert_int_equal (config_read_file (it->config, it->path, &it->error), -1);
  assert_contains (it->error.text, "agent.ini: holds NUL bytes");

  size_t size = (1 << 20) + 1;
  char *large = malloc (size);
  memset (large, '\n', size);
  put (it, large, size);
  assert_int_equal (config_read_file (it->config, it->path, &it->error), -1);
  assert_contains (it->error.text, "agent.ini: larger than 1 MB");
  put (it, large, size - 1);
  assert_int_equal (config_read_file (it->config, it->path, &it->error), 0);
  free (large);
  assert_int_equal (config_read_file (it->config, "/dev/null", &it->error), 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    TEST (defaults_are_set),
    TEST (file_is_read),
    TEST (empty_values_mean_the_default_that_is_empty),
    cmocka_unit_test (durations_are_understood),
    TEST (file_errors_say_where_and_what),
    TEST (long_lines_are_refused_and_not_cut),
    TEST (files_that_cannot_be_used),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
