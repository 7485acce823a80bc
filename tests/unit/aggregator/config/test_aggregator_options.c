/* The aggregator's options, of the program and of its commands: what they become, and what does not go together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/config/options.h"
#include "aggregator/history/history_view.h"
#include "aggregator/view_list.h"
#include "synop/clock.h"
#include "synop/log.h"

#define assert_contains(text, part)                                                                                    \
  do {                                                                                                                 \
    if (strstr (text, part) == NULL)                                                                                   \
      fail_msg ("\"%s\" does not contain \"%s\"", text, part);                                                         \
  } while (0)

#define VIEW_ADDRESS(name) &name,
static const struct view *const views[] = { VIEW_LIST (VIEW_ADDRESS) NULL };

struct fixture {
  struct options options;
  struct error error;
  char words[512];
  char *argv[32];
  char path[64];
};

static int
fixture_make (void **state)
{
  struct fixture *it = calloc (1, sizeof *it);
  strcpy (it->path, "/tmp/synop-test-options-XXXXXX");
  int fd = mkstemp (it->path);
  *state = it;
  return fd < 0 ? -1 : close (fd);
}

static int
fixture_free (void **state)
{
  struct fixture *it = *state;
  aggregator_options_free (&it->options);
  log_set_level (LOG_LEVEL_INFO);
  int result = unlink (it->path);
  free (it);
  return result;
}

/* Words parted by blanks, behind the command's name; the file of the fixture unless they name one. */
static int
read_words (struct fixture *it, enum options_command command, const char *words)
{
  int argc = 0;

  aggregator_options_free (&it->options);
  it->options = (struct options){ .views = views };
  it->error.text[0] = '\0';
  snprintf (it->words, sizeof it->words, "%s%s %s", strstr (words, "-c ") ? "" : "-c ",
            strstr (words, "-c ") ? "" : it->path, words);
  for (char *word = strtok (it->words, " "); word != NULL; word = strtok (NULL, " "))
    it->argv[argc++] = word;
  return aggregator_options_read (&it->options, command, argc, it->argv, &it->error);
}

static void
assert_words (struct fixture *it, enum options_command command, const char *words)
{
  if (read_words (it, command, words) != 0)
    fail_msg ("%s: %s", words, it->error.text);
}

static void
put (const struct fixture *it, const char *text)
{
  FILE *file = fopen (it->path, "w");
  assert_non_null (file);
  fputs (text, file);
  fclose (file);
}

static const struct history_settings *
history_of (const struct options *options)
{
  return options_of_view (options, &history_view);
}

static void
defaults_of_the_program (void **state)
{
  struct fixture *it = *state;
  const struct options *options = &it->options;

  assert_words (it, COMMAND_SERVE, "");
  assert_int_equal (options->action, ACTION_RUN);
  assert_string_equal (options->listen, "tcp://*:5555");
  assert_string_equal (options->keys, "/etc/synop/keys");
  assert_int_equal (options->stale_periods, 3);
  assert_int_equal (options->tick_period_ns, NS_PER_S);
  assert_int_equal (options->tick_grace_ns, NS_PER_S / 2); /* unset: half the period */
  assert_int_equal (options->log_level, LOG_LEVEL_INFO);
  assert_int_equal (options->output, OUTPUT_JSON);
  assert_true (history_of (options)->enabled);
}

static void
file_and_command_line (void **state)
{
  struct fixture *it = *state;

  put (it, "[aggregator]\nsocket = /s\nstale_periods = 5\nlog_level = error\n[history]\npath = /h\n");
  assert_words (it, COMMAND_SERVE, "-o none --stale-periods=7 -v");
  assert_string_equal (it->options.socket, "/s");
  assert_int_equal (it->options.stale_periods, 7);
  assert_int_equal (it->options.output, OUTPUT_NONE);
  assert_int_equal (it->options.log_level, LOG_LEVEL_WARNING);

  /* Commands read the same file, and have flags of what they share with the program alone. */
  assert_words (it, COMMAND_TAIL, "-vv --node n1 --type event");
  assert_string_equal (it->options.socket, "/s");
  assert_string_equal (it->options.node, "n1");
  assert_int_equal (it->options.log_level, LOG_LEVEL_INFO);
  assert_words (it, COMMAND_TAIL, "--socket /t --log-level debug");
  assert_string_equal (it->options.socket, "/t");
  assert_int_equal (it->options.log_level, LOG_LEVEL_DEBUG);
  assert_words (it, COMMAND_REPORT, "7 --history /other -o out");
  assert_string_equal (history_of (&it->options)->path, "/other");
  assert_string_equal (it->options.output_path, "out");
  assert_int_equal (read_words (it, COMMAND_TAIL, "--stale-periods 7"), -1);
  assert_contains (it->error.text, "unknown option --stale-periods");
  assert_int_equal (read_words (it, COMMAND_STATUS, "--history /h"), -1);
  assert_int_equal (read_words (it, COMMAND_TAIL, "-o x"), -1);
  assert_contains (it->error.text, "unknown option -o; \"synop-aggregator tail --help\" shows all options");
}

static void
operands_of_commands (void **state)
{
  struct fixture *it = *state;

  assert_words (it, COMMAND_CHECK, "history.db");
  assert_string_equal (it->options.file, "history.db");
  assert_words (it, COMMAND_CHECK, "");
  assert_null (it->options.file);
  assert_words (it, COMMAND_JOB, "--user ana start --name x 7/1");
  assert_string_equal (it->options.verb, "start");
  assert_string_equal (it->options.job, "7/1");
  assert_string_equal (it->options.user, "ana");
  assert_words (it, COMMAND_REPORT, "7 --json");
  assert_string_equal (it->options.job, "7");
  assert_int_equal (it->options.report, REPORT_JSON);
  assert_words (it, COMMAND_EXPORT, "--format hdf5 -o run.h5");
  assert_int_equal (it->options.format, FORMAT_HDF5);
  assert_string_equal (it->options.output_path, "run.h5");
}

static void
what_is_asked_for (void **state)
{
  struct fixture *it = *state;
  static const struct {
    const char *words;
    enum options_action action;
  } cases[] = {
    { "-h", ACTION_HELP },
    { "-V", ACTION_VERSION },
    { "--print-config", ACTION_PRINT_CONFIG },
    { "--print-config --markdown", ACTION_PRINT_CONFIG },
    { "-V --help", ACTION_HELP },
    { "--help --print-config", ACTION_HELP },
  };

  put (it, "[aggregator]\nlog_level = info\n");
  for (int command = COMMAND_SERVE; command <= COMMAND_REPORT; command++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      assert_words (it, (enum options_command) command, cases[i].words);
      assert_int_equal (it->options.action, cases[i].action);
    }
}

static void
what_does_not_go_together (void **state)
{
  struct fixture *it = *state;
  static const struct {
    enum options_command command;
    const char *words, *error;
  } bad[] = {
    { COMMAND_SERVE, "statsu", "unexpected argument 'statsu'; a command comes first: synop-aggregator tail, status" },
    { COMMAND_SERVE, "statsu", "; did you mean status?" },
    { COMMAND_SERVE, "kyes", "; did you mean keys?" },
    { COMMAND_SERVE, "--markdown", "--markdown goes with --print-config" },
    { COMMAND_SERVE, "-V --print-config", "--version and --print-config: give one of them" },
    { COMMAND_SERVE, "--down-periods 3",
      "[aggregator] down_periods (command line): must be more than stale_periods (3)" },
    { COMMAND_SERVE, "--tick-grace 2s", "[ticks] grace (command line): must be no more than the ticks' period, 1s" },
    { COMMAND_SERVE, "--listen 5555", "--listen: " },
    { COMMAND_SERVE, "--keys=", "--keys: expected a path" },
    { COMMAND_TAIL, "--node n --type cluster",
      "[tail] node (command line): combined reports (--type cluster) are of no node" },
    { COMMAND_REPLAY, "--node n --type cluster", "[replay] node (command line): combined reports" },
    { COMMAND_TAIL, "--type evnt", "--type: \"evnt\" is no type of line; expected node, cluster, event or job" },
    { COMMAND_TAIL, "--node n[2-", "--node: \"n[2-\" has a '[' without its ']'" },
    { COMMAND_TAIL, "more", "unexpected argument 'more'; \"synop-aggregator tail --help\" shows what there is" },
    { COMMAND_EXPORT, "", "[export] output (default): -o says where to write the tables" },
    { COMMAND_REPORT, "", "expected \"synop-aggregator report JOBID\"" },
    { COMMAND_REPORT, "7 --json --format perfmon", "[report] json (command line): does not go with another --format" },
    { COMMAND_REPORT, "7 --price-per-kwh 0.3EUR", "must be a number from 0 to 1000000, as 0.31" },
    { COMMAND_SERVE, "--co2-per-kwh -1", "must be a number from 0 to 1000000, as 0.31" },
    { COMMAND_REPORT, "7 --currency EURO.EURO.EURO.EURO", "must have 16 bytes at most" },
    { COMMAND_JOBS, "--url ftp://m", "--url: must begin with http:// or https://" },
    { COMMAND_JOBS, "--url http://ana:secret@m/", "--url: must be no more than https://HOST:PORT/" },
    { COMMAND_TOKEN, "", "expected \"synop-aggregator token USER\"" },
    { COMMAND_JOB, "strat 7", "\"synop-aggregator job end ID\"; did you mean start?" },
    { COMMAND_JOB, "end", "expected \"synop-aggregator job start ID\"" },
  };

  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    if (read_words (it, bad[i].command, bad[i].words) == 0)
      fail_msg ("%s was taken", bad[i].words);
    assert_contains (it->error.text, bad[i].error);
  }
}

static void
reload_takes_over_what_says_so (void **state)
{
  static const char *const taken[] = { "log_level",
                                       "stale_periods",
                                       "down_periods",
                                       "reader_queue",
                                       "replay_rate",
                                       "limit",
                                       "max_age",
                                       "max_size",
                                       "names",
                                       "grace",
                                       "scheduler_users",
                                       "price_per_kwh",
                                       "currency",
                                       "co2_per_kwh",
                                       "minutes_max_age",
                                       "hours_max_age",
                                       "enabled",
                                       "command",
                                       "timeout",
                                       "user",
                                       "name",
                                       "shortest",
                                       "cpu",
                                       "memory",
                                       "gpu",
                                       "storage",
                                       "network",
                                       "time",
                                       "margin",
                                       "admins",
                                       "everybody_sees",
                                       "tokens",
                                       "munge_socket",
                                       "proxy_user_header",
                                       "users",
                                       "owners" };
  struct fixture *it = *state;
  size_t count = 0;
  struct buffer text = { 0 };

  assert_words (it, COMMAND_SERVE, "");
  config_print_markdown (it->options.config, &text);
  buffer_add (&text, "", 1);
  for (char *line = strtok (text.data, "\n"); line != NULL; line = strtok (NULL, "\n")) {
    char *mark = strstr (line, "NAME.") ? NULL : strstr (line, " | reload | "); /* sections that users name: all */
    bool expected = false;
    for (size_t i = 0; mark != NULL && i < sizeof taken / sizeof *taken; i++)
      expected |= strncmp (line + 3, taken[i], strlen (taken[i])) == 0 && line[3 + strlen (taken[i])] == '`';
    if (mark != NULL && !expected)
      fail_msg ("%s", line);
    count += mark != NULL;
  }
  assert_int_equal (count, sizeof taken / sizeof *taken);
  buffer_free (&text);
}

static void
help_of_each_command (void **state)
{
  struct fixture *it = *state;

  for (int command = COMMAND_SERVE; command <= COMMAND_REPORT; command++) {
    struct buffer text = { 0 };
    char title[64];

    assert_words (it, (enum options_command) command, "-h");
    aggregator_options_help (&it->options, &text);
    buffer_add (&text, "", 1);
    snprintf (title, sizeof title, "synop-aggregator%s%s", command == COMMAND_SERVE ? "" : " ",
              options_commands[command]);
    assert_memory_equal (text.data, title, strlen (title));
    assert_contains (text.data, "  -v, --verbose ");
    assert_contains (text.data, "  -c, --config FILE           The file to read, instead of /etc/synop/aggregator.ini");
    assert_contains (text.data, "  --log-level error|warning|info|debug\n");
    assert_int_equal (strstr (text.data, "--stale-periods") != NULL, command == COMMAND_SERVE);
    assert_int_equal (strstr (text.data, "  -o, --output ") != NULL,
                      command == COMMAND_SERVE || command == COMMAND_EXPORT || command == COMMAND_REPORT);
    buffer_free (&text);
  }
}

int
main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, fixture_make, fixture_free)
  const struct CMUnitTest tests[] = {
    TEST (defaults_of_the_program), TEST (file_and_command_line),     TEST (operands_of_commands),
    TEST (what_is_asked_for),       TEST (what_does_not_go_together), TEST (reload_takes_over_what_says_so),
    TEST (help_of_each_command),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
