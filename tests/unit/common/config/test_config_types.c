/* Sections that users name, "[demo one]": in files, on the command line, for their owner, for people, and at a reload. */
#include "tests/unit/common/config/config_scene.h"

/* What the owner was called for: "+one -two ~three ", and what it then knows of them. */
struct owner_seen {
  char calls[256];
  const struct demo *one, *two;
};

static void
see (void *context, const char *name, const void *before, const void *now)
{
  struct owner_seen *seen = context;
  size_t length = strlen (seen->calls);

  snprintf (seen->calls + length, sizeof seen->calls - length, "%s%s ", !before ? "+" : !now ? "-" : "~", name);
  if (strcmp (name, "one") == 0) {
    assert_ptr_equal (before, seen->one);
    seen->one = now;
  } else if (strcmp (name, "two") == 0) {
    assert_ptr_equal (before, seen->two);
    seen->two = now;
  }
}

static void
each_is_an_instance (void **state)
{
  struct fixture *it = *state;
  struct owner_seen seen = { "" };

  assert_read (it, "[agent]\nnode = n1\n[demo one]\nurl = http://a ; first\n"
                   "[demo x-_9]\nurl = b\n[demo two]\nurl = c\nkind = odd\nperiod = 1m\ngroups = a, b\n  c\n"
                   "be_quiet = yes\n[agent]\nqueue = 5\n");
  config_own (it->config, &demo_type, see, &seen);
  assert_string_equal (seen.calls, "+one +x-_9 +two ");
  assert_string_equal (seen.one->url, "http://a");
  assert_int_equal (seen.one->period, 5000 * MS);
  assert_int_equal (seen.one->kind, 0);
  assert_false (seen.one->quiet);
  assert_string_equal (seen.two->url, "c");
  assert_string_equal (seen.two->groups, "a,b,c");
  assert_int_equal (seen.two->period, 60000 * MS);
  assert_int_equal (seen.two->kind, 1);
  assert_true (seen.two->quiet);
  assert_int_equal (it->target.queue, 5);
  assert_string_equal (config_source (it->config, "demo two", "kind"), "f.ini:9");
  assert_string_equal (config_source (it->config, "demo two", "url"), "f.ini:8");
  assert_string_equal (config_source (it->config, "demo one", "kind"), "default");
  assert_string_equal (config_source (it->config, "demo three", "kind"), "default");
}

#define X64 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static void
errors_say_where_and_what (void **state)
{
  struct fixture *it = *state;
  static const struct {
    const char *text, *error;
  } bad[] = {
    { "[demo]\nurl = x\n", "f.ini:1: [demo]: expected [demo NAME], with a NAME of 1 to 64 of a-z, 0-9, '_' and '-'" },
    { "[demo ]\n", "f.ini:1: [demo ]: expected [demo NAME]" },
    { "[demo One]\n", "f.ini:1: [demo One]: expected [demo NAME]" },
    { "[demo a b]\n", "f.ini:1: [demo a b]: expected [demo NAME]" },
    { "[demo a.b]\n", "f.ini:1: [demo a.b]: expected [demo NAME]" },
    { "[demo \xc3\xa9]\n", "expected [demo NAME]" },
    { "[demo x" X64 "]\n", "expected [demo NAME]" },
    { "[demo one]\nurl = a\n[agent]\n[demo one]\nkind = odd\n",
      "f.ini:4: [demo one]: stands in this file already, in line 1" },
    { "[demo one]\n[demo one]\n", "f.ini:2: [demo one]: stands in this file already, in line 1" },
    { "[demo one]\nurl = a\nurl = b\n", "f.ini:3: [demo one] url: stands in this file already, in line 2" },
    { "[demo one]\nulr = a\n",
      "f.ini:2: [demo one] ulr: unknown key, did you mean \"url\"? Allowed keys are url, kind, "
      "period, groups, be_quiet" },
    { "[demo one]\nperiod = 1ms\n", "f.ini:2: [demo one] period: expected a duration from 1s to 1h, such as" },
    { "[demo one]\nkind = other\n", "f.ini:2: [demo one] kind: expected one of plain, odd, not \"other\"" },
    { "[dem one]\n", "f.ini:1: unknown section [dem one], did you mean [demo one]? Allowed sections are [agent], "
                     "[instance], [demo NAME], [group NAME] with NAME one of cpu_usage, disk_io" },
    { "[demmo one]\n", "did you mean [demo one]?" },
    { "[demos]\n", "did you mean [demo]?" },
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct target target = { 0 };
    struct config *config = make (&target);
    if (config_read_text (config, "f.ini", bad[i].text, &it->error) == 0)
      fail_msg ("%s was taken", bad[i].text);
    assert_contains (it->error.text, bad[i].error);
    config_destroy (config);
  }
  assert_read (it, "[demo " X64 "]\nurl = x\n");
}

static void
command_line_names_them_too (void **state)
{
  struct fixture *it = *state;
  struct owner_seen seen = { "" };
  static const char text[] = "[demo one]\nurl = a\nkind = odd\n";
  int at;

  put (it, text, sizeof text - 1);
  assert_int_equal (arguments (it, "--demo.two.url=c --once --demo.two.be-quiet --demo.one.url b --demo.one.period 2s",
                               it->path, &at),
                    0);
  config_own (it->config, &demo_type, see, &seen);
  assert_contains (seen.calls, "+one ");
  assert_string_equal (seen.one->url, "b");
  assert_int_equal (seen.one->kind, 1);
  assert_int_equal (seen.one->period, 2000 * MS);
  assert_string_equal (seen.two->url, "c");
  assert_true (seen.two->quiet);
  assert_string_equal (config_source (it->config, "demo two", "url"), "command line");
  assert_int_equal (arguments (it, "--demo.two.be-quiet=no", it->path, &at), 0);
  assert_false (seen.two->quiet);
}

static void
argument_errors_say_what (void **state)
{
  struct fixture *it = *state;
  static const struct {
    const char *line, *error;
  } bad[] = {
    { "--demo.One.url=x", "--demo.One.url: expected [demo NAME], with a NAME of 1 to 64 of a-z" },
    { "--demo..url=x", "--demo..url: expected [demo NAME]" },
    { "--demo.a.b.url=x", "--demo.a.b.url: expected [demo NAME]" },
    { "--demo.one.ulr=x", "unknown option --demo.one.ulr, did you mean --demo.one.url?" },
    { "--demmo.one.url x", "unknown option --demmo.one.url, did you mean --demo.one.url?" },
    { "--demo.one.be_quiet", "unknown option --demo.one.be_quiet, did you mean --demo.one.be-quiet?" },
    { "--demo.url x", "unknown option --demo.url" },
    { "--demo.one.url", "--demo.one.url needs a value" },
    { "--demo.one.period=1", NULL },
    { "--demo.one.url=x --demo.one.period=1ms", "--demo.one.period: expected a duration from 1s to 1h" },
    { "--agent.one.url=x", "unknown option --agent.one.url" },
  };
  int at;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal (arguments (it, bad[i].line, NO_FILE, &at), -1);
    assert_contains (it->error.text, bad[i].error != NULL ? bad[i].error : "");
  }
  config_add_types (it->config, types, false);
  assert_int_equal (arguments (it, "--demo.one.url=x", NO_FILE, &at), -1);
  assert_contains (it->error.text, "unknown option --demo.one.url");
}

static void
options_of_a_section_are_checked_together (void **state)
{
  struct fixture *it = *state;
  static const char text[] = "[demo one]\nurl = a\n[demo two]\nkind = odd\n";
  char expected[160];
  int at;

  put (it, text, sizeof text - 1);
  assert_int_equal (arguments (it, "", it->path, &at), -1);
  snprintf (expected, sizeof expected, "%s:3: [demo two] url: must be given", it->path);
  assert_string_equal (it->error.text, expected);
  assert_int_equal (arguments (it, "--help", it->path, &at), 0);
  assert_int_equal (arguments (it, "--demo.two.url=x", it->path, &at), 0);
  assert_int_equal (arguments (it, "--demo.three.kind=odd", NO_FILE, &at), -1);
  assert_string_equal (it->error.text, "command line: [demo three] url: must be given");
}

static struct config *
read_again (struct target *target, const char *text)
{
  struct config *config = make (target);
  struct error error;
  if (config_read_text (config, "f.ini", text, &error) != 0)
    fail_msg ("%s", error.text);
  return config;
}

/* Reads `text` as a reload does; what was read first is freed, as there. Returns how often the log says `word`. */
static int
reload (struct fixture *it, const char *text, const char *word)
{
  struct target other = { 0 };
  struct config *fresh = read_again (&other, text);
  int saved = dup (STDERR_FILENO), count = 0;
  FILE *log = fopen (it->path, "w+");
  char line[1024];

  assert_non_null (log);
  dup2 (fileno (log), STDERR_FILENO);
  config_take (it->config, fresh, 1);
  config_take_sections (it->config, fresh);
  config_log_changes (it->config, fresh);
  dup2 (saved, STDERR_FILENO);
  close (saved);
  rewind (log);
  while (fgets (line, sizeof line, log) != NULL)
    count += strstr (line, word) != NULL;
  fclose (log);
  config_destroy (fresh);
  return count;
}

static void
owner_is_called_for_what_a_reload_changes (void **state)
{
  struct fixture *it = *state;
  struct owner_seen seen = { "" };

  assert_read (it, "[demo one]\nurl = a\n[demo gone]\nurl = x\n");
  config_own (it->config, &demo_type, see, &seen);
  assert_string_equal (seen.calls, "+one +gone ");

  /* Elsewhere in the file, written otherwise: nothing to say. */
  *seen.calls = '\0';
  assert_int_equal (reload (it, "[demo gone]\nurl = x\n\n[demo one]\nperiod = 5000ms\nurl = a\n", ""), 0);
  assert_string_equal (seen.calls, "");

  assert_int_equal (reload (it, "[demo two]\nurl = c\n[demo one]\nurl = b\nkind = odd\n", "[demo "), 4);
  assert_string_equal (seen.calls, "-gone +two ~one ");
  assert_string_equal (seen.one->url, "b");
  assert_int_equal (seen.one->kind, 1);
  assert_string_equal (seen.two->url, "c");
  assert_string_equal (config_source (it->config, "demo one", "url"), "f.ini:4");

  *seen.calls = '\0';
  assert_int_equal (reload (it, "[demo one]\nurl = b\n", "restart"), 0);
  assert_string_equal (seen.calls, "-two ~one ");
  assert_int_equal (seen.one->kind, 0);

  *seen.calls = '\0';
  assert_int_equal (reload (it, "", "[demo one] is gone"), 1);
  assert_string_equal (seen.calls, "-one ");
  assert_null (seen.one);
  assert_int_equal (reload (it, "[demo one]\nurl = z\n", "f.ini:1: [demo one] is new"), 1);
  assert_string_equal (seen.calls, "-one +one ");
  assert_string_equal (seen.one->url, "z");
}

static void
without_an_owner_they_wait_for_a_restart (void **state)
{
  static const char now[] = "[agent]\nkeys = /k\nqueue = 7\n[demo one]\nurl = b\n[demo three]\nurl = c\n";
  struct fixture *it = *state;
  struct target other = { 0 };

  assert_read (it, "[demo one]\nurl = a\n[demo two]\nurl = a\n");
  struct config *fresh = read_again (&other, now);
  assert_int_equal (config_changes (it->config, fresh, 1), 1);
  assert_int_equal (config_changes (it->config, fresh, 0), 1);
  config_destroy (fresh);

  assert_int_equal (reload (it, now, " takes effect after a restart"), 4);
  assert_string_equal (it->target.keys, "/k"); /* its number is 1 */
  assert_int_equal (it->target.queue, 300);
  assert_int_equal (reload (it, now, "[demo one] url: from \"a\" to \"b\" takes"), 1);
  assert_int_equal (reload (it, now, "[demo two]: that it is gone takes"), 1);
  assert_int_equal (reload (it, now, "f.ini:6: [demo three]: that it is new takes"), 1);
}

static void
people_see_them (void **state)
{
  struct fixture *it = *state;
  struct target again = { 0 };
  struct buffer text = { 0 };

  config_print (it->config, &text);
  buffer_add (&text, "", 1);
  assert_contains (text.data,
                   "\n# [demo NAME]\n# A thing that tests play.\n#\n# Where to.\n# TEXT. Default: empty.\n# url =\n\n"
                   "# Of which kind.\n# plain|odd. Default: plain.\n# kind = plain\n");
  buffer_clear (&text);

  assert_read (it, "[demo one]\nurl = a\nperiod = 7s\n[demo two]\nurl = b\n");
  config_print (it->config, &text);
  buffer_add (&text, "", 1);
  assert_contains (text.data, "\n[demo one]\n# Where to.\n# TEXT. Default: empty. Set by: f.ini:2.\nurl = a\n");
  assert_contains (text.data, "\n[demo two]\n");
  assert_null (strstr (text.data, "[demo NAME]"));
  struct config *second = read_again (&again, text.data);
  struct owner_seen seen = { "" };
  config_own (second, &demo_type, see, &seen);
  assert_string_equal (seen.calls, "+one +two ");
  assert_int_equal (seen.one->period, 7000 * MS);
  config_destroy (second);

  buffer_clear (&text);
  config_print_help (it->config, &text);
  buffer_add (&text, "", 1);
  assert_contains (text.data, "\n[demo NAME]\n  A thing that tests play. Any number of these sections; on the command "
                              "line --demo.NAME.KEY.\n");
  assert_contains (text.data, "  --demo.NAME.url TEXT        Where to. Default: empty.\n");
  assert_contains (text.data, "  --demo.NAME.be-quiet[=yes|no]\n");
  buffer_clear (&text);
  config_print_markdown (it->config, &text);
  buffer_add (&text, "", 1);
  assert_contains (text.data, "\n## [demo NAME]\n\nA thing that tests play.\n\n| key |");
  assert_contains (text.data, "| `url` | `--demo.NAME.url` | TEXT | empty | reload | Where to. |\n");
  buffer_free (&text);
}

/* ---- options in parts ---- */

struct whole {
  char *url;
};
struct piece {
  char *text;
  int64_t period;
};
static const struct option whole_options[] = { { "", "url", NULL, OPTION_TEXT, offsetof (struct whole, url), "u",
                                                 .help = "" } };
static const struct option piece_options[] = {
  { "", "text", NULL, OPTION_TEXT, offsetof (struct piece, text), "t", .help = "" },
  { "", "period", NULL, OPTION_DURATION, offsetof (struct piece, period), "5s", .help = "" },
};
static const struct option last_options[] = { { "", "last", NULL, OPTION_TEXT, offsetof (struct whole, url), "l",
                                                .help = "" } };
static const struct config_part piece_part = { piece_options, 2, sizeof (struct piece) }, empty_part = { NULL, 0, 0 },
                                last_part = { last_options, 1, sizeof (struct whole) };

static int
refuse_text (const void *instance, const char *key, struct error *error)
{
  (void) instance;
  return strcmp (key, "text") == 0 ? error_set (error, "text: not here") : 0;
}

static void
take_instance (void *context, const char *name, const void *before, const void *now)
{
  (void) name;
  (void) before;
  *(const void **) context = now;
}

/* Each lies behind the one before, none over another; one that may not be given may stand there with its default. */
static void
parts_are_apart (void **state)
{
  static const struct config_part *const others[] = { &piece_part, &empty_part, &last_part, NULL };
  static const struct config_type parted = { .name = "parted",
                                             .help = "In parts.",
                                             .first = { whole_options, 1, sizeof (struct whole) },
                                             .others = others,
                                             .check_given = refuse_text };
  static const struct config_type *const parted_types[] = { &parted, NULL };
  struct fixture *it = *state;
  static const char *const none[] = { NULL };
  static const char usual[] = "[parted a]\ntext = t\n", other[] = "[parted a]\ntext = other\n";
  struct target target = { 0 };
  char *words[] = { (char *) "x", (char *) "--config", it->path, NULL };
  int at = 1;
  struct config *config = config_create (options, sizeof options / sizeof *options, &target, &wildcard);
  const struct whole *instance = NULL;
  void *copy;
  const struct piece *piece;
  struct buffer out = { 0 };

  config_add_types (config, parted_types, true);
  config_set_program (config, "x", it->path);
  assert_int_equal (config_read_text (config, "f.ini", "[parted a]\ntext = t\nlast = x\nperiod = 7s\n", &it->error), 0);
  config_own (config, &parted, take_instance, &instance);
  piece = config_part_of (&parted, instance, &piece_part);
  assert_string_equal (instance->url, "u");
  assert_string_equal (piece->text, "t");
  assert_int_equal (piece->period, 7000 * MS);
  assert_string_equal (((const struct whole *) config_part_of (&parted, instance, &last_part))->url, "x");
  config_print (config, &out);
  assert_non_null (strstr (buffer_text (&out), "last = x"));
  copy = config_instance_copy (&parted, instance);
  put (it, usual, sizeof usual - 1);
  assert_int_equal (config_read_arguments (config, 3, words, &at, none, NULL, NULL, &it->error), 0);
  at = 1;
  put (it, other, sizeof other - 1);
  assert_int_equal (config_read_arguments (config, 3, words, &at, none, NULL, NULL, &it->error), -1);
  assert_string_equal (strchr (it->error.text, '['), "[parted a] text: not here");
  buffer_free (&out);
  config_destroy (config);
  piece = config_part_of (&parted, copy, &piece_part);
  assert_string_equal (((const struct whole *) copy)->url, "u");
  assert_string_equal (piece->text, "t");
  assert_int_equal (piece->period, 7000 * MS);
  config_instance_free (&parted, copy);
  config_instance_free (&parted, NULL);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    TEST (each_is_an_instance),
    TEST (errors_say_where_and_what),
    TEST (command_line_names_them_too),
    TEST (argument_errors_say_what),
    TEST (options_of_a_section_are_checked_together),
    TEST (owner_is_called_for_what_a_reload_changes),
    TEST (without_an_owner_they_wait_for_a_restart),
    TEST (people_see_them),
    TEST (parts_are_apart),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
