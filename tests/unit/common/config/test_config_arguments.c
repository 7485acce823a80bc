/* The command line: what it sets, what wins, and every sentence that says what is wrong with it. */
#include "tests/unit/common/config/config_scene.h"

static void
arguments_are_taken (void **state)
{
  struct fixture *it = *state;
  const struct target *target = &it->target;
  int at;

  assert_int_equal (arguments (it,
                               "--period 5s --node=n1 --once --quiet --max-bytes 1M --instance-metadata imds tail -x",
                               NO_FILE, &at),
                    0);
  assert_int_equal (at, 10);
  assert_string_equal (it->words, "once ");
  assert_int_equal (target->period, 5000 * MS);
  assert_string_equal (target->node, "n1");
  assert_true (target->quiet);
  assert_int_equal (target->bytes, 1 << 20);
  assert_int_equal (target->metadata, 1);
  assert_string_equal (config_source (it->config, "agent", "period"), "command line");

  assert_int_equal (arguments (it, "--quiet=no --node n1 --node n2 -- --once", NO_FILE, &at), 0);
  assert_int_equal (at, 7);
  assert_string_equal (it->words, "");
  assert_false (target->quiet);
  assert_string_equal (target->node, "n2");

  assert_int_equal (arguments (it, "-h --version --print-config", NO_FILE, &at), 0);
  assert_string_equal (it->words, "help version print-config ");
  assert_int_equal (arguments (it, "-", NO_FILE, &at), 0);
  assert_int_equal (at, 1);
}

static void
letters_are_taken (void **state)
{
  struct fixture *it = *state;
  int at;

  assert_int_equal (arguments (it, "-k /k --once tail", NO_FILE, &at), 0);
  assert_int_equal (at, 4);
  assert_string_equal (it->target.keys, "/k");
  assert_int_equal (arguments (it, "-k=/l", NO_FILE, &at), 0);
  assert_string_equal (it->target.keys, "/l");
  assert_int_equal (arguments (it, "-k -", NO_FILE, &at), 0);
  assert_string_equal (it->target.keys, "-");
  assert_int_equal (arguments (it, "-hV", NO_FILE, &at), 0);
  assert_string_equal (it->words, "help version ");
  put (it, "[agent]\nperiod = 3s\n", 20);
  assert_int_equal (arguments (it, "-c /dev/null", it->path, &at), 0);
  assert_int_equal (it->target.period, 1000 * MS);
  char line[160];
  snprintf (line, sizeof line, "-c=%s", it->path);
  assert_int_equal (arguments (it, line, NO_FILE, &at), 0);
  assert_int_equal (it->target.period, 3000 * MS);
}

static void
verbose_raises_the_log_level (void **state)
{
  static const struct {
    const char *file, *line;
    int level; /* of error, warning, info */
  } cases[] = {
    { "error", "", 0 },
    { "error", "-v", 1 },
    { "error", "-v --verbose", 2 },
    { "error", "-vv", 2 },
    { "error", "-vvvvv", 2 },
    { "warning", "--once -v", 2 },
    { "info", "-v", 2 },
    { "info", "-v --log-level error", 1 },
    { "info", "--log-level error -v tail", 1 },
  };
  struct fixture *it = *state;
  int at;

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[64];
    put (it, text, (size_t) snprintf (text, sizeof text, "[agent]\nlog_level = %s\n", cases[i].file));
    assert_int_equal (arguments (it, cases[i].line, it->path, &at), 0);
    if (it->target.level != cases[i].level)
      fail_msg ("%s %s: %d", cases[i].file, cases[i].line, it->target.level);
    if (strchr (cases[i].line, 'v') != NULL)
      assert_string_equal (config_source (it->config, "agent", "log_level"), "command line");
  }
}

static void
command_without_a_file_has_no_options_of_one (void **state)
{
  static const char *const bad[] = { "-c x", "--config x", "--print-config" };
  struct fixture *it = *state;
  int at;

  for (size_t i = 0; i < 3; i++) {
    assert_int_equal (arguments (it, bad[i], NULL, &at), -1);
    assert_contains (it->error.text, "unknown option -");
  }
  assert_int_equal (arguments (it, "-v --once", NULL, &at), 0);
}

static void
command_line_wins_over_the_file (void **state)
{
  struct fixture *it = *state;
  char line[160], source[160];
  int at;

  static const char text[] = "[agent]\nperiod = 2s\nnode = of-file\n";
  put (it, text, sizeof text - 1);
  snprintf (line, sizeof line, "--node n1 --config %s", it->path);
  assert_int_equal (arguments (it, line, NO_FILE, &at), 0);
  assert_string_equal (it->target.node, "n1");
  assert_int_equal (it->target.period, 2000 * MS);
  snprintf (source, sizeof source, "%s:2", it->path);
  assert_string_equal (config_source (it->config, "agent", "period"), source);

  assert_int_equal (config_error (it->config, "agent", "node", &it->error, "too %s", "odd"), -1);
  assert_string_equal (it->error.text, "[agent] node (command line): too odd");
}

static void
default_file_may_be_missing_but_not_broken (void **state)
{
  struct fixture *it = *state;
  int at;

  assert_int_equal (arguments (it, "", it->path, &at), 0);
  put (it, "[agent]\nperiod = 3s\n", 20);
  assert_int_equal (arguments (it, "", it->path, &at), 0);
  assert_int_equal (it->target.period, 3000 * MS);
  put (it, "[agent]\nperiod = x\n", 19);
  assert_int_equal (arguments (it, "--once", it->path, &at), -1);
  assert_contains (it->error.text, "agent.ini:2: [agent] period: expected a duration");
  assert_int_equal (arguments (it, "--help --period x", it->path, &at), 0); /* help is had all the same */
  assert_string_equal (it->words, "help ");
  unlink (it->path);
  mkdir (it->path, 0700);
  assert_int_equal (arguments (it, "", it->path, &at), -1);
  assert_contains (it->error.text, "agent.ini: is a directory");
}

static void
argument_errors_say_what (void **state)
{
  struct fixture *it = *state;
  static const struct {
    const char *line, *error;
  } bad[] = {
    { "--peroid 5s", "unknown option --peroid, did you mean --period?" },
    { "--onse", "unknown option --onse, did you mean --once?" },
    { "--hepl", "unknown option --hepl, did you mean --help?" },
    { "--confg x", "unknown option --confg, did you mean --config?" },
    { "--xyzzy-plugh", "unknown option --xyzzy-plugh; \"agent --help\" shows all options" },
    { "--exclude x", "unknown option --exclude" },
    { "--", NULL },
    { "-x", "unknown option -x; \"agent --help\" shows all options" },
    { "-vx", "unknown option -vx;" },
    { "-peroid 5s", "unknown option -peroid, did you mean --period?" },
    { "-config x", "unknown option -config, did you mean --config?" },
    { "-kx", "unknown option -kx" },
    { "-vk x", "unknown option -vk" },
    { "-vc x", "unknown option -vc" },
    { "-k", "-k needs a value" },
    { "-k --once", "-k needs a value, and --once is an option; -k=--once would take it" },
    { "-k=", "--keys: expected a path" },
    { "-h=1", "-h takes no value" },
    { "-c", "-c needs a value" },
    { "-c /nonexistent/x.ini", "/nonexistent/x.ini: No such file or directory" },
    { "--verbos", "unknown option --verbos, did you mean --verbose?" },
    { "--verbose=3", "--verbose takes no value" },
    { "--period", "--period needs a value" },
    { "--period --once", "--period needs a value, and --once is an option" },
    { "--period 5x", "--period: expected a duration from 10ms to 1h, such as 500ms, 5s, 1m or 2h, not \"5x\"" },
    { "--period=", "--period: expected a duration from 10ms to 1h" },
    { "--max-bytes x", "--max-bytes: expected a number" },
    { "--quiet=maybe", "--quiet: expected yes or no, not \"maybe\"" },
    { "--log-level loud", "--log-level: expected one of error, warning, info, not \"loud\"" },
    { "--node a/b", "--node: expected a node's name, not \"a/b\"" },
    { "--node ;x", "--node: \";x\" holds ';' behind a blank" },
    { "--once=5", "--once takes no value" },
    { "--config", "--config needs a value" },
    { "--config a --config b", "--config: given twice, a and b" },
    { "-c a --config b", "--config: given twice, a and b" },
    { "--config /nonexistent/x.ini", "/nonexistent/x.ini: No such file or directory" },
  };
  int at;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    if ((arguments (it, bad[i].line, NO_FILE, &at) == 0) != (bad[i].error == NULL))
      fail_msg ("%s", bad[i].line);
    assert_contains (it->error.text, bad[i].error != NULL ? bad[i].error : "");
  }
}

static void
operands_come_last (void **state)
{
  struct fixture *it = *state;
  static const char *const given[] = { "start", "--node", "n7", "5", "-vv", "more", "--", "--node", "x" };
  static const char *const sorted[] = { "--node", "n7", "-vv", "--", "start", "5", "more", "--node", "x" };
  static const char *const words[] = { "once", NULL };
  char *argv[9], *missing[] = { (char *) "5", (char *) "--node" };

  for (size_t i = 0; i < 9; i++)
    argv[i] = (char *) given[i];
  assert_int_equal (config_operands_last (it->config, 9, argv, words, &it->error), 0);
  for (size_t i = 0; i < 9; i++)
    assert_string_equal (argv[i], sorted[i]);
  assert_int_equal (config_operands_last (it->config, 2, missing, words, &it->error), -1);
  assert_int_equal (config_operands_last (it->config, 0, argv, words, &it->error), 0);
}

static void
operands_and_options_mix (void **state)
{
  struct fixture *it = *state;
  char *argv[] = { (char *) "keys", (char *) "add",    (char *) "--node=n1", (char *) "n7",
                   (char *) "-vv",  (char *) "--once", (char *) "--",        (char *) "--file" };
  static const char *const words[] = { "once", NULL };
  const char *operands[3];

  assert_int_equal (config_read_operands (it->config, 8, argv, operands, 3, words, take_word, it, &it->error), 3);
  assert_string_equal (operands[0], "add");
  assert_string_equal (operands[1], "n7");
  assert_string_equal (operands[2], "--file");
  assert_string_equal (it->target.node, "n1");
  assert_string_equal (it->words, "once ");
  assert_int_equal (config_read_operands (it->config, 8, argv, operands, 2, words, take_word, it, &it->error), -1);
  assert_string_equal (it->error.text, "\"--file\" is one word too many");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    TEST (arguments_are_taken),
    TEST (command_line_wins_over_the_file),
    TEST (default_file_may_be_missing_but_not_broken),
    TEST (argument_errors_say_what),
    TEST (letters_are_taken),
    TEST (verbose_raises_the_log_level),
    TEST (command_without_a_file_has_no_options_of_one),
    TEST (operands_and_options_mix),
    TEST (operands_come_last),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
