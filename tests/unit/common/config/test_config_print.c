/* The configuration for people: --print-config, --help, the table of docs/configuration.md. */
#include "tests/unit/common/config/config_scene.h"

static void
assert_columns (const struct buffer *text, size_t most)
{
  size_t length = 0;
  for (size_t i = 0; i < text->length; i++) {
    length = text->data[i] == '\n' ? 0 : length + 1;
    if (length > most)
      fail_msg ("a line is longer than %zu: %.*s", most, (int) length, text->data + i + 1 - length);
  }
}

static void
printed_configuration_reads_back (void **state)
{
  struct fixture *it = *state;
  struct target again = { 0 };
  struct config *second = make (&again);
  struct buffer one = { 0 };
  char list[400] = "", text[600];

  for (int i = 0; i < 30; i++)
    snprintf (list + strlen (list), sizeof list - strlen (list), "device%d*,", i);
  snprintf (text, sizeof text, "[group disk_io]\nperiod = 2.5s\nexclude = %.100s\n  %.100s\n  %s\n[agent]\nnode = n1\n",
            list, list + 100, list + 200);
  assert_read (it, text);
  int at;
  assert_int_equal (arguments (it, "--max-bytes 3M", NO_FILE, &at), 0);
  config_print (it->config, &one);
  assert_columns (&one, 100);
  buffer_add (&one, "", 1);
  assert_contains (
      one.data, "[agent]\n# The node's name.\n# TEXT. Default: empty. Needs a restart. Set by: f.ini:7.\nnode = n1\n");
  assert_contains (
      one.data,
      "# How often.\n# DURATION. Default: 1s; from 10ms to 1h. Needs a restart. Set by: default.\nperiod = 1s\n");
  assert_contains (one.data, "Needs a restart. Set by: command line.\nmax_bytes = 3M\n");
  assert_contains (one.data,
                   "# error|warning|info. Default: info. Needs a restart. Set by: default.\nlog_level = info\n");
  assert_contains (
      one.data,
      "[group cpu_usage]\n# Whether.\n# yes|no. Default: yes. Needs a restart. Set by: default.\nenabled = yes\n\n"
      "# How often.\n# DURATION. Default: inherited; from 10ms to 1h. Needs a restart. Set by: default.\n"
      "# period =\n");

  assert_contains (one.data,
                   "# PATH. Default: /etc/keys. Set by: default.\nkeys = /etc/keys\n"); /* a reload takes it */

  if (config_read_text (second, "print.ini", one.data, &it->error) != 0)
    fail_msg ("%s\n%s", it->error.text, one.data);
  assert_string_equal (again.node, it->target.node);
  assert_string_equal (again.keys, it->target.keys);
  assert_string_equal (again.exclude, it->target.exclude);
  assert_int_equal (strlen (again.exclude), strlen (list) - 1);
  assert_int_equal (again.bytes, 3 << 20);
  assert_int_equal (again.groups[0].period, 0);
  assert_int_equal (again.groups[1].period, 2500 * MS);
  size_t offset = offsetof (struct target, period);
  assert_memory_equal ((char *) &again + offset, (char *) &it->target + offset, sizeof again - offset);

  buffer_free (&one);
  config_destroy (second);
}

static void
help_shows_every_option (void **state)
{
  struct fixture *it = *state;
  struct buffer help = { 0 };
  config_set_program (it->config, "agent", "/etc/x.ini");
  config_print_help (it->config, &help);
  assert_columns (&help, 100);
  buffer_add (&help, "", 1);
  assert_contains (help.data,
                   "  -c, --config FILE           The file to read, instead of /etc/x.ini if that exists.\n");
  assert_contains (help.data, "  -v, --verbose               More on standard error");
  assert_contains (help.data, "  -h, --help                  This page.\n  -V, --version ");
  assert_contains (help.data, "  -k, --keys PATH             Where.");
  assert_contains (help.data, "[agent]\n  --node TEXT                 The node's name. Default: empty.\n");
  assert_contains (help.data, "  --period DURATION           How often. Default: 1s; from 10ms to 1h.\n");
  assert_contains (help.data, "  --quiet[=yes|no]            Whether. Default: no.\n");
  assert_contains (help.data, "  --log-level error|warning|info\n                              What is told.");
  assert_contains (help.data,
                   "\nOnly in the configuration file:\n[group NAME]\n  NAME is one of cpu_usage, disk_io.\n  "
                   "enabled yes|no");
  assert_contains (help.data, "[group disk_io]\n  exclude LIST");
  buffer_free (&help);
}

static void
markdown_shows_every_option (void **state)
{
  struct fixture *it = *state;
  struct buffer text = { 0 };
  config_print_markdown (it->config, &text);
  buffer_add (&text, "", 1);
  assert_contains (text.data, "## [agent]\n\n| key | command line |");
  assert_contains (text.data, "| `period` | `--period` | DURATION | 1s; from 10ms to 1h | restart | How often. |\n");
  assert_contains (text.data,
                   "| `log_level` | `--log-level` | error\\|warning\\|info | info | restart | What is told. |\n");
  assert_contains (text.data, "| `keys` | `-k`, `--keys` | PATH | /etc/keys | reload | Where.");
  assert_contains (text.data, "## [group NAME]\n");
  assert_contains (text.data, "| `period` |  | DURATION | inherited; from 10ms to 1h | restart | How often. |\n");
  buffer_free (&text);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    TEST (printed_configuration_reads_back),
    TEST (help_shows_every_option),
    TEST (markdown_shows_every_option),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
