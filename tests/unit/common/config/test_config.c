/* The configuration: values, files, the command line, and every sentence that says what is wrong with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "synop/config.h"
#include "tests/unit/test_folder.h"

#define assert_contains(text, part)                                                                                    \
  do {                                                                                                                 \
    if (strstr (text, part) == NULL)                                                                                   \
      fail_msg ("\"%s\" does not contain \"%s\"", text, part);                                                         \
  } while (0)

#define MS INT64_C (1000000)

struct group_target {
  int64_t period;
  bool enabled;
};

struct target {
  char *node, *keys, *exclude, *types;
  int64_t period;
  uint64_t queue, bytes;
  bool partitions, quiet;
  int level, metadata;
  struct group_target groups[2];
};

static int
check_node (const char *value, struct error *error)
{
  return strchr (value, '/') == NULL ? 0 : error_set (error, "expected a node's name, not \"%s\"", value);
}

static const char *const levels[] = { "error", "warning", "info", NULL };
static const char *const metadata[] = { "off", "imds", NULL };
#define AT(member) offsetof (struct target, member)

static const struct option options[] = {
  { "agent", "node", NULL, OPTION_TEXT, AT (node), "", .check = check_node, .help = "The node's name." },
  { "agent", "period", NULL, OPTION_DURATION, AT (period), "1s", "10ms", "1h", .help = "How often." },
  { "agent", "queue", NULL, OPTION_SIZE, AT (queue), "300", "1", "100000", .help = "How many." },
  { "agent", "max_bytes", NULL, OPTION_SIZE, AT (bytes), "64k", NULL, NULL, .help = "How much." },
  { "agent", "quiet", NULL, OPTION_BOOLEAN, AT (quiet), "no", .help = "Whether." },
  { "agent", "log_level", NULL, OPTION_CHOICE, AT (level), "info", .choices = levels, .help = "What is told." },
  { "agent", "keys", NULL, OPTION_PATH, AT (keys), "/etc/keys",
    .help = "Where. Here is a sentence that is so long that "
            "it takes more than one line wherever it is shown." },
  { "group *", "enabled", "", OPTION_BOOLEAN, offsetof (struct group_target, enabled), "yes", .help = "Whether." },
  { "group *", "period", "", OPTION_DURATION, offsetof (struct group_target, period), NULL, "10ms", "1h",
    .help = "How often." },
  { "group disk_io", "exclude", "", OPTION_LIST, AT (exclude), "loop*,ram*", .help = "Which not." },
  { "group disk_io", "types_exclude", "", OPTION_LIST, AT (types), "", .help = "Which not." },
  { "instance", "metadata", "instance-metadata", OPTION_CHOICE, AT (metadata), "off", .choices = metadata,
    .help = "Whom to ask." },
};

static const char *const names[] = { "cpu_usage", "disk_io", NULL };

static void *
record (void *target, const char *name)
{
  struct target *it = target;
  return strcmp (name, "cpu_usage") == 0 ? &it->groups[0] : &it->groups[1];
}

static const struct config_wildcard wildcard = { "group ", record, names };

struct fixture {
  struct target target;
  struct config *config;
  struct error error;
  char words[128];
  char folder[TEST_FOLDER_SIZE], path[96];
};

static struct config *
make (struct target *target)
{
  return config_create (options, sizeof options / sizeof *options, target, &wildcard);
}

static int
fixture_make (void **state)
{
  struct fixture *it = calloc (1, sizeof *it);
  it->config = make (&it->target);
  test_folder_make (it->folder);
  snprintf (it->path, sizeof it->path, "%s/agent.ini", it->folder);
  *state = it;
  return 0;
}

static int
fixture_free (void **state)
{
  struct fixture *it = *state;
  config_destroy (it->config);
  unlink (it->path);
  rmdir (it->path);
  int result = rmdir (it->folder);
  free (it);
  return result;
}

static void
put (const struct fixture *it, const char *text, size_t length)
{
  FILE *file = fopen (it->path, "w");
  assert_non_null (file);
  fwrite (text, 1, length, file);
  fclose (file);
}

static void
assert_read (struct fixture *it, const char *text)
{
  if (config_read_text (it->config, "f.ini", text, &it->error) != 0)
    fail_msg ("%s", it->error.text);
}

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
                   "[group NAME] with NAME one of cpu_usage, disk_io" },
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

/* ---- the command line ---- */

static void
take_word (void *context, const char *name)
{
  struct fixture *it = context;
  strcat (it->words, name);
  strcat (it->words, " ");
}

/* Words parted by blanks, behind the program's name. */
static int
arguments (struct fixture *it, const char *line, const char *default_path, int *at)
{
  static const char *const words[] = { "once", "list-groups", NULL };
  static char copy[512];
  char *argv[32] = { (char *) "agent" };
  int argc = 1;

  snprintf (copy, sizeof copy, "%s", line);
  for (char *word = strtok (copy, " "); word != NULL; word = strtok (NULL, " "))
    argv[argc++] = word;
  *at = 1;
  it->words[0] = it->error.text[0] = '\0';
  return config_read_arguments (it->config, argc, argv, at, default_path, words, take_word, it, &it->error);
}

static void
arguments_are_taken (void **state)
{
  struct fixture *it = *state;
  const struct target *target = &it->target;
  int at;

  assert_int_equal (
      arguments (it, "--period 5s --node=n1 --once --quiet --max-bytes 1M --instance-metadata imds tail -x", NULL, &at),
      0);
  assert_int_equal (at, 10);
  assert_string_equal (it->words, "once ");
  assert_int_equal (target->period, 5000 * MS);
  assert_string_equal (target->node, "n1");
  assert_true (target->quiet);
  assert_int_equal (target->bytes, 1 << 20);
  assert_int_equal (target->metadata, 1);
  assert_string_equal (config_source (it->config, "agent", "period"), "command line");

  assert_int_equal (arguments (it, "--quiet=no --node n1 --node n2 -- --once", NULL, &at), 0);
  assert_int_equal (at, 7);
  assert_string_equal (it->words, "");
  assert_false (target->quiet);
  assert_string_equal (target->node, "n2");

  assert_int_equal (arguments (it, "-h --version --print-config", NULL, &at), 0);
  assert_string_equal (it->words, "help version print-config ");
  assert_int_equal (arguments (it, "-", NULL, &at), 0);
  assert_int_equal (at, 1);
  assert_int_equal (config_set_flag (it->config, "--queue", "7", &it->error), 0);
  assert_int_equal (target->queue, 7);
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
  assert_int_equal (arguments (it, line, "/nonexistent/default.ini", &at), 0);
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
    { "--xyzzy-plugh", "unknown option --xyzzy-plugh; \"--help\" shows all options" },
    { "--exclude x", "unknown option --exclude" },
    { "--", NULL },
    { "-x", "unknown option -x; options begin with \"--\"" },
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
    { "--config /nonexistent/x.ini", "/nonexistent/x.ini: No such file or directory" },
  };
  int at;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    if ((arguments (it, bad[i].line, NULL, &at) == 0) != (bad[i].error == NULL))
      fail_msg ("%s", bad[i].line);
    assert_contains (it->error.text, bad[i].error != NULL ? bad[i].error : "");
  }
  assert_int_equal (config_set_flag (it->config, "queue", NULL, &it->error), -1);
  assert_string_equal (it->error.text, "--queue needs a value");
}

static void
operands_come_last (void **state)
{
  struct fixture *it = *state;
  static const char *const given[] = { "start", "--node", "n7", "5", "--once", "more", "--", "--node", "x" };
  static const char *const sorted[] = { "--node", "n7", "--once", "--", "start", "5", "more", "--node", "x" };
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
  char *argv[] = { (char *) "keys",   (char *) "add", (char *) "--node=n1", (char *) "n7",
                   (char *) "--once", (char *) "--",  (char *) "--file" };
  static const char *const words[] = { "once", NULL };
  const char *operands[3];

  assert_int_equal (config_read_operands (it->config, 7, argv, operands, 3, words, take_word, it, &it->error), 3);
  assert_string_equal (operands[0], "add");
  assert_string_equal (operands[1], "n7");
  assert_string_equal (operands[2], "--file");
  assert_string_equal (it->target.node, "n1");
  assert_string_equal (it->words, "once ");
  assert_int_equal (config_read_operands (it->config, 7, argv, operands, 2, words, take_word, it, &it->error), -1);
  assert_string_equal (it->error.text, "\"--file\" is one word too many");
}

/* ---- for people ---- */

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
  assert_int_equal (config_set_flag (it->config, "max-bytes", "3M", &it->error), 0);
  config_print (it->config, &one);
  assert_columns (&one, 100);
  buffer_add (&one, "", 1);
  assert_contains (one.data, "[agent]\n# The node's name.\n# TEXT. Default: empty. Set by: f.ini:7.\nnode = n1\n");
  assert_contains (one.data, "# How often.\n# DURATION. Default: 1s; from 10ms to 1h. Set by: default.\nperiod = 1s\n");
  assert_contains (one.data, "Set by: command line.\nmax_bytes = 3M\n");
  assert_contains (one.data, "# error|warning|info. Default: info. Set by: default.\nlog_level = info\n");
  assert_contains (one.data,
                   "[group cpu_usage]\n# Whether.\n# yes|no. Default: yes. Set by: default.\nenabled = yes\n\n"
                   "# How often.\n# DURATION. Default: inherited; from 10ms to 1h. Set by: default.\n"
                   "# period =\n");

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
  config_print_help (it->config, &help);
  assert_columns (&help, 100);
  buffer_add (&help, "", 1);
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
  assert_contains (text.data, "| `period` | `--period` | DURATION | 1s; from 10ms to 1h | How often. |\n");
  assert_contains (text.data, "| `log_level` | `--log-level` | error\\|warning\\|info | info | What is told. |\n");
  assert_contains (text.data, "## [group NAME]\n");
  assert_contains (text.data, "| `period` |  | DURATION | inherited; from 10ms to 1h | How often. |\n");
  buffer_free (&text);
}

int
main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, fixture_make, fixture_free)
  const struct CMUnitTest tests[] = {
    TEST (defaults_are_set),
    TEST (file_is_read),
    TEST (empty_values_mean_the_default_that_is_empty),
    cmocka_unit_test (durations_are_understood),
    TEST (file_errors_say_where_and_what),
    TEST (long_lines_are_refused_and_not_cut),
    TEST (files_that_cannot_be_used),
    TEST (arguments_are_taken),
    TEST (command_line_wins_over_the_file),
    TEST (default_file_may_be_missing_but_not_broken),
    TEST (argument_errors_say_what),
    TEST (operands_and_options_mix),
    TEST (operands_come_last),
    TEST (printed_configuration_reads_back),
    TEST (help_shows_every_option),
    TEST (markdown_shows_every_option),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
