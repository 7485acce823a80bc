/* The command line. It is walked twice: first to see that it can be understood and to find --config, then, when the file
 * has been read, to set what it says over that. */
#include "common/config/config_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "synop/memory.h"

static const char *const own_words[] = { "help", "version", "print-config", NULL };

struct walk {
  const struct config *config;
  int argc;
  char **argv;
  int at;     /* the next word */
  bool ended; /* a "--" was met: what follows is no option */
  const char *const *words;
};

/* One option of the command line: exactly one of the first three is set. */
struct argument {
  const char *word; /* one without a value, as it stands in `words` */
  const char *file; /* of --config */
  struct setting *setting;
  const char *value; /* of `setting`; NULL: none */
};

static struct setting *
find_flag (const struct config *config, const char *name, size_t length)
{
  for (size_t i = 0; i < config->setting_count; i++) {
    char flag[FLAG_SIZE];
    option_flag (config->settings[i].option, flag);
    if (*flag != '\0' && strlen (flag) == length && memcmp (flag, name, length) == 0)
      return &config->settings[i];
  }
  return NULL;
}

static const char *
find_word (const char *const *words, const char *name, size_t length)
{
  for (; words != NULL && *words != NULL; words++)
    if (strlen (*words) == length && memcmp (*words, name, length) == 0)
      return *words;
  return NULL;
}

static int
unknown_flag (const struct config *config, const char *const *words, const char *name, size_t length,
              struct error *error)
{
  char *word = memory_copy (name, length);
  struct suggestion suggestion = { .word = word };

  for (size_t i = 0; i < config->setting_count; i++) {
    char flag[FLAG_SIZE];
    option_flag (config->settings[i].option, flag);
    suggestion_consider (&suggestion, flag);
  }
  suggestion_consider (&suggestion, "config");
  for (const char *const *own = own_words; *own != NULL; own++)
    suggestion_consider (&suggestion, *own);
  for (; words != NULL && *words != NULL; words++)
    suggestion_consider (&suggestion, *words);

  if (*suggestion.best != '\0')
    error_set (error, "unknown option --%.64s, did you mean --%s?", word, suggestion.best);
  else
    error_set (error, "unknown option --%.64s; \"%s%s--help\" shows all options", word,
               config->program != NULL ? config->program : "", config->program != NULL ? " " : "");
  free (word);
  return -1;
}

/* The value of the option at hand: behind its '=', or the next word. NULL and error when there is none. */
static const char *
value_next (struct walk *walk, const char *name, const char *equals, struct error *error)
{
  if (equals != NULL)
    return equals + 1;
  if (walk->at == walk->argc) {
    error_set (error, "%s needs a value", name);
    return NULL;
  }
  if (strncmp (walk->argv[walk->at], "--", 2) == 0) {
    error_set (error, "%s needs a value, and %.64s is an option; %s=%.64s would take it", name, walk->argv[walk->at],
               name, walk->argv[walk->at]);
    return NULL;
  }
  return walk->argv[walk->at++];
}

/* 1: `argument` is the next option; 0: no more; -1: error. */
static int
walk_next (struct walk *walk, struct argument *argument, struct error *error)
{
  if (walk->at == walk->argc || walk->ended)
    return 0;
  const char *text = walk->argv[walk->at];
  if (text[0] != '-' || text[1] == '\0')
    return 0;
  walk->at++;
  if (strcmp (text, "--") == 0) {
    walk->ended = true;
    return 0;
  }

  *argument = (struct argument){ 0 };
  if (strcmp (text, "-h") == 0) {
    argument->word = own_words[0];
    return 1;
  }
  if (text[1] != '-')
    return error_set (error, "unknown option %.64s; options begin with \"--\", and --help shows them", text);

  const char *name = text + 2, *equals = strchr (text, '=');
  size_t length = equals != NULL ? (size_t) (equals - name) : strlen (name);
  argument->word = find_word (walk->words, name, length);
  if (argument->word == NULL)
    argument->word = find_word (own_words, name, length);
  if (argument->word != NULL)
    return equals == NULL ? 1 : error_set (error, "--%s takes no value", argument->word);
  if (length == strlen ("config") && memcmp (name, "config", length) == 0) {
    argument->file = value_next (walk, "--config", equals, error);
    return argument->file != NULL ? 1 : -1;
  }

  argument->setting = find_flag (walk->config, name, length);
  if (argument->setting == NULL)
    return unknown_flag (walk->config, walk->words, name, length, error);
  if (argument->setting->option->type == OPTION_BOOLEAN) {
    argument->value = equals != NULL ? equals + 1 : NULL;
    return 1;
  }
  char flag[FLAG_SIZE + 2] = "--";
  option_flag (argument->setting->option, flag + 2);
  argument->value = value_next (walk, flag, equals, error);
  return argument->value != NULL ? 1 : -1;
}

static int
flag_set (struct setting *setting, const char *value, struct error *error)
{
  char flag[FLAG_SIZE];
  option_flag (setting->option, flag);
  if (value == NULL && setting->option->type != OPTION_BOOLEAN)
    return error_set (error, "--%s needs a value", flag);
  if (setting_set (setting, value != NULL ? value : "yes", error) != 0)
    return error_prefix (error, "--%s: ", flag);
  free (setting->source);
  setting->source = memory_string ("command line");
  return 0;
}

int
config_set_flag (struct config *config, const char *flag, const char *value, struct error *error)
{
  flag += strncmp (flag, "--", 2) == 0 ? 2 : 0;
  struct setting *setting = find_flag (config, flag, strlen (flag));
  if (setting == NULL)
    return unknown_flag (config, NULL, flag, strlen (flag), error);
  return flag_set (setting, value, error);
}

/* The default file may be missing; one that is there and cannot be read is an error. */
static int
read_file (struct config *config, const char *given, const char *default_path, struct error *error)
{
  if (given != NULL)
    return config_read_file (config, given, error);
  if (default_path == NULL || (access (default_path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)))
    return 0;
  return config_read_file (config, default_path, error);
}

int
config_read_arguments (struct config *config, int argc, char **argv, int *at, const char *default_path,
                       const char *const *words, void (*word) (void *context, const char *name), void *context,
                       struct error *error)
{
  struct walk walk = { .config = config, .argc = argc, .argv = argv, .at = *at, .words = words };
  struct argument argument;
  const char *file = NULL;
  bool only_words = false; /* help and version do not need the file, and work when it is broken */
  int more;

  while ((more = walk_next (&walk, &argument, error)) > 0) {
    if (argument.file != NULL && file != NULL)
      return error_set (error, "--config: given twice, %.64s and %.64s", file, argument.file);
    if (argument.file != NULL)
      file = argument.file;
    if (argument.word != NULL && word != NULL)
      word (context, argument.word);
    if (argument.word != NULL && (strcmp (argument.word, "help") == 0 || strcmp (argument.word, "version") == 0))
      only_words = true;
  }
  if (more < 0)
    return -1;
  if (!only_words && read_file (config, file, default_path, error) != 0)
    return -1;

  walk.at = *at;
  walk.ended = false;
  while (walk_next (&walk, &argument, error) > 0)
    if (!only_words && argument.setting != NULL && flag_set (argument.setting, argument.value, error) != 0)
      return -1;
  *at = walk.at;
  return 0;
}

int
config_operands_last (struct config *config, int argc, char **argv, const char *const *words, struct error *error)
{
  struct walk walk = { .config = config, .argc = argc, .argv = argv, .words = words };
  struct argument argument;
  char **operands = memory_new ((size_t) argc + 1, sizeof *operands);
  int count = 0, options = 0, from = 0, more = 0;

  while (more >= 0 && walk.at < argc) {
    more = walk_next (&walk, &argument, error);
    if (more == 0 && walk.at < argc) { /* behind a "--" all of them are */
      while (from < walk.at)
        argv[options++] = argv[from++];
      operands[count++] = argv[from++];
      walk.at = from;
    }
  }
  while (more >= 0 && from < argc)
    argv[options++] = argv[from++];
  for (int i = 0; more >= 0 && i < count; i++)
    argv[options + i] = operands[i];
  free (operands);
  return more < 0 ? -1 : 0;
}

int
config_read_operands (struct config *config, int argc, char **argv, const char **operands, int max,
                      const char *const *words, void (*word) (void *context, const char *name), void *context,
                      struct error *error)
{
  struct walk walk = { .config = config, .argc = argc, .argv = argv, .at = 1, .words = words };
  struct argument argument;
  int count = 0;

  for (;;) {
    int more = walk_next (&walk, &argument, error);
    if (more < 0)
      return -1;
    if (more == 0 && walk.at == walk.argc)
      return count;
    if (more == 0 && count == max)
      return error_set (error, "\"%.64s\" is one word too many", walk.argv[walk.at]);
    if (more == 0)
      operands[count++] = walk.argv[walk.at++];
    else if (argument.file != NULL)
      return error_set (error, "--config: this command reads no configuration file");
    else if (argument.word != NULL)
      word (context, argument.word);
    else if (flag_set (argument.setting, argument.value, error) != 0)
      return -1;
  }
}
