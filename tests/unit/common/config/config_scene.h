/* A configuration to test with: a table of options, a type of named sections, a target for values, a folder for files. */
#ifndef SYNOP_TEST_CONFIG_SCENE_H
#define SYNOP_TEST_CONFIG_SCENE_H

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
  { "agent", "keys", NULL, OPTION_PATH, AT (keys), "/etc/keys", .letter = 'k', .reload = 1,
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

struct demo {
  char *url, *groups;
  int64_t period;
  int kind;
  bool quiet;
};

static const char *const kinds[] = { "plain", "odd", NULL };
#define IN_DEMO(member) offsetof (struct demo, member)

static const struct option demo_options[] = {
  { "", "url", NULL, OPTION_TEXT, IN_DEMO (url), "", .help = "Where to." },
  { "", "kind", NULL, OPTION_CHOICE, IN_DEMO (kind), "plain", .choices = kinds, .help = "Of which kind." },
  { "", "period", NULL, OPTION_DURATION, IN_DEMO (period), "5s", "1s", "1h", .help = "How often." },
  { "", "groups", NULL, OPTION_LIST, IN_DEMO (groups), "", .help = "Which groups." },
  { "", "be_quiet", NULL, OPTION_BOOLEAN, IN_DEMO (quiet), "no", .help = "Whether." },
};

static int
check_demo (const void *instance, struct error *error)
{
  const struct demo *demo = instance;
  return *demo->url != '\0' ? 0 : error_set (error, "url: must be given");
}

static const struct config_type demo_type = {
  .name = "demo",
  .help = "A thing that tests play.",
  .first = { demo_options, sizeof demo_options / sizeof *demo_options, sizeof (struct demo) },
  .check = check_demo,
};
static const struct config_type *const types[] = { &demo_type, NULL };

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
  struct config *config = config_create (options, sizeof options / sizeof *options, target, &wildcard);
  config_add_types (config, types, true);
  return config;
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

static inline void
put (const struct fixture *it, const char *text, size_t length)
{
  FILE *file = fopen (it->path, "w");
  assert_non_null (file);
  fwrite (text, 1, length, file);
  fclose (file);
}

static inline void
assert_read (struct fixture *it, const char *text)
{
  if (config_read_text (it->config, "f.ini", text, &it->error) != 0)
    fail_msg ("%s", it->error.text);
}

static inline void
take_word (void *context, const char *name)
{
  struct fixture *it = context;
  strcat (it->words, name);
  strcat (it->words, " ");
}

/* Words parted by blanks, behind the program's name; `default_path` NULL: the program reads no file. */
static inline int
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
  config_set_program (it->config, "agent", default_path);
  return config_read_arguments (it->config, argc, argv, at, words, take_word, it, &it->error);
}

#define NO_FILE "/nonexistent/default.ini"

#define TEST(name) cmocka_unit_test_setup_teardown (name, fixture_make, fixture_free)

#endif
