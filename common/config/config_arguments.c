/* The command line. It is read twice: first to check it and to find --config, then, when the file has been read, to
 * override its values. */
#include "common/config/config_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "synop/memory.h"

/* The options of every command; those of the file only where a command reads one. */
static const struct word {
  const char *name;
  char letter; /* 0: none */
  bool of_file;
} own_words[] = {
  { "help", 'h', false },  { "version", 'V', false },      { "verbose", 'v', false },
  { "config", 'c', true }, { "print-config", '\0', true },
};
#define OWN_WORDS (sizeof own_words / sizeof *own_words)

struct walk {
  struct config *config;
  int argc;
  char **argv;
  int at;              /* the next word */
  const char *letters; /* what is left of "-vv"; NULL: nothing */
  bool ended;          /* a "--" was read: operands follow */
  unsigned verbose;    /* how often --verbose was given */
  const char *const *words;
};

/* One option of the command line: exactly one of the first three is set. */
struct argument {
  const char *word; /* one without a value, as it stands in `words` */
  const char *file; /* of --config */
  struct setting *setting;
  const char *value; /* of `setting`; NULL: none */
};

static bool
is_own (const struct config *config, const struct word *word)
{
  return !word->of_file || config->default_path != NULL;
}

/* ---- finding the option ---- */

/* Finds "send.central.url"; its section is made if it does not exist. */
static struct setting *
find_named (struct config *config, const char *name, size_t length, struct error *error)
{
  const char *own = memchr (name, '.', length), *key = memrchr (name, '.', length);
  const struct config_type *type =
      own != key && config->types_have_flags ? config_find_type (config, name, (size_t) (own - name)) : NULL;

  const struct option *option;

  for (size_t i = 0; type != NULL && (option = config_type_option (type, i, NULL)) != NULL; i++) {
    char flag[FLAG_SIZE];
    option_flag (option, "", flag); /* ".url" */
    if (flag[0] == '\0' || strlen (flag) != (size_t) (name + length - key) || memcmp (flag, key, strlen (flag)) != 0)
      continue;
    struct section *section = config_open_section (config, type, own + 1, (size_t) (key - own - 1), error);
    if (section == NULL)
      return NULL;
    if (section->source == NULL)
      section->source = memory_string ("command line");
    return &section->settings[i];
  }
  return NULL;
}

static struct setting *
find_flag (struct config *config, const char *name, size_t length, struct error *error)
{
  for (size_t i = 0; i < config->section_count; i++)
    for (size_t j = 0; config->sections[i]->type == NULL && j < config->sections[i]->count; j++) {
      char flag[FLAG_SIZE];
      setting_flag (&config->sections[i]->settings[j], flag);
      if (*flag != '\0' && strlen (flag) == length && memcmp (flag, name, length) == 0)
        return &config->sections[i]->settings[j];
    }
  return find_named (config, name, length, error);
}

static struct setting *
find_letter (const struct config *config, char letter)
{
  for (size_t i = 0; i < config->section_count; i++)
    for (size_t j = 0; j < config->sections[i]->count; j++) {
      struct setting *setting = &config->sections[i]->settings[j];
      char flag[FLAG_SIZE];
      setting_flag (setting, flag);
      if (setting->option->letter == letter && *flag != '\0')
        return setting;
    }
  return NULL;
}

static const char *
find_word (const struct walk *walk, const char *name, size_t length)
{
  for (const char *const *word = walk->words; word != NULL && *word != NULL; word++)
    if (strlen (*word) == length && memcmp (*word, name, length) == 0)
      return *word;
  for (size_t i = 0; i < OWN_WORDS; i++)
    if (is_own (walk->config, &own_words[i]) && strlen (own_words[i].name) == length &&
        memcmp (own_words[i].name, name, length) == 0)
      return own_words[i].name;
  return NULL;
}

/* ---- suggesting an option ---- */

static void
consider_named (struct suggestion *suggestion, const struct config *config, const char *name)
{
  const char *own = strchr (name, '.'), *key = strrchr (name, '.');

  if (!config->types_have_flags || own == key)
    return;
  char *middle = memory_copy (own + 1, (size_t) (key - own - 1));
  for (const struct config_type *const *type = config->types; *type != NULL; type++) {
    char *place = memory_format ("%s.%s", (*type)->name, middle);
    const struct option *option;
    for (size_t i = 0; strlen (place) < FLAG_SIZE / 2 && (option = config_type_option (*type, i, NULL)) != NULL; i++) {
      char flag[FLAG_SIZE];
      option_flag (option, place, flag);
      suggestion_consider (suggestion, flag);
    }
    free (place);
  }
  free (middle);
}

/* `dashes`: as it was written. */
static int
unknown_flag (const struct walk *walk, const char *dashes, const char *name, size_t length, struct error *error)
{
  const struct config *config = walk->config;
  char *word = memory_copy (name, length);
  struct suggestion suggestion = { .word = word };

  for (size_t i = 0; i < config->section_count; i++)
    for (size_t j = 0; j < config->sections[i]->count; j++) {
      char flag[FLAG_SIZE];
      setting_flag (&config->sections[i]->settings[j], flag);
      suggestion_consider (&suggestion, flag);
    }
  consider_named (&suggestion, config, word);
  for (size_t i = 0; i < OWN_WORDS; i++)
    if (is_own (config, &own_words[i]))
      suggestion_consider (&suggestion, own_words[i].name);
  for (const char *const *own = walk->words; own != NULL && *own != NULL; own++)
    suggestion_consider (&suggestion, *own);

  if (*suggestion.best != '\0')
    error_set (error, "unknown option %s%.64s, did you mean --%s?", dashes, word, suggestion.best);
  else
    error_set (error, "unknown option %s%.64s; \"%s%s--help\" shows all options", dashes, word,
               config->program != NULL ? config->program : "", config->program != NULL ? " " : "");
  free (word);
  return -1;
}

/* ---- the walk ---- */

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

/* 1: `argument` is this word. */
static int
config_take_word (struct walk *walk, const char *word, const char *shown, const char *equals, struct argument *argument,
                  struct error *error)
{
  if (strcmp (word, "config") == 0) {
    argument->file = value_next (walk, shown, equals, error);
    return argument->file != NULL ? 1 : -1;
  }
  if (equals != NULL)
    return error_set (error, "%s takes no value", shown);
  argument->word = word;
  return 1;
}

static int
take_setting (struct walk *walk, struct setting *setting, const char *shown, const char *equals,
              struct argument *argument, struct error *error)
{
  argument->setting = setting;
  if (setting->option->type == OPTION_BOOLEAN) {
    argument->value = equals != NULL ? equals + 1 : NULL;
    return 1;
  }
  argument->value = value_next (walk, shown, equals, error);
  return argument->value != NULL ? 1 : -1;
}

/* "-o FILE", "-o=FILE", "-v", "-vv": a letter with a value is an argument of its own. */
static int
letter_next (struct walk *walk, const char *text, struct argument *argument, struct error *error)
{
  const char shown[] = { '-', *walk->letters, '\0' };
  const char *equals = walk->letters[1] == '=' ? walk->letters + 1 : NULL;
  bool alone = equals != NULL || (walk->letters == text + 1 && text[2] == '\0');
  struct setting *setting = alone ? find_letter (walk->config, *walk->letters) : NULL;
  const char *word = NULL;

  for (size_t i = 0; i < OWN_WORDS; i++)
    if (own_words[i].letter == *walk->letters && is_own (walk->config, &own_words[i]) &&
        (alone || own_words[i].letter != 'c'))
      word = own_words[i].name;
  if (setting == NULL && word == NULL)
    return unknown_flag (walk, "-", text + 1, strlen (text + 1), error);
  walk->letters = equals != NULL || walk->letters[1] == '\0' ? NULL : walk->letters + 1;
  return setting != NULL ? take_setting (walk, setting, shown, equals, argument, error)
                         : config_take_word (walk, word, shown, equals, argument, error);
}

static int
walk_one (struct walk *walk, struct argument *argument, struct error *error)
{
  *argument = (struct argument){ 0 };
  if (walk->letters != NULL)
    return letter_next (walk, walk->argv[walk->at - 1], argument, error);
  if (walk->at == walk->argc || walk->ended)
    return 0;
  const char *text = walk->argv[walk->at];
  if (text[0] != '-' || text[1] == '\0')
    return 0;
  walk->at++;
  if (text[1] != '-') {
    walk->letters = text + 1;
    return letter_next (walk, text, argument, error);
  }
  if (text[2] == '\0') {
    walk->ended = true;
    return 0;
  }

  const char *name = text + 2, *equals = strchr (text, '=');
  size_t length = equals != NULL ? (size_t) (equals - name) : strlen (name);
  const char *word = find_word (walk, name, length);
  char shown[FLAG_SIZE + 2] = "--";
  if (word != NULL) {
    strcpy (shown + 2, word);
    return config_take_word (walk, word, shown, equals, argument, error);
  }
  struct error unnamed = { "" };
  struct setting *setting = find_flag (walk->config, name, length, &unnamed);
  if (*unnamed.text != '\0')
    return error_set (error, "--%.*s: %s", (int) (length < 128 ? length : 128), name, unnamed.text);
  if (setting == NULL)
    return unknown_flag (walk, "--", name, length, error);
  setting_flag (setting, shown + 2);
  return take_setting (walk, setting, shown, equals, argument, error);
}

/* 1: `argument` is the next option, except --verbose, which is counted; 0: no more; -1: error. */
static int
walk_next (struct walk *walk, struct argument *argument, struct error *error)
{
  int more;

  while ((more = walk_one (walk, argument, error)) > 0 && argument->word != NULL &&
         strcmp (argument->word, "verbose") == 0)
    walk->verbose++;
  return more;
}

/* ---- taking the values ---- */

static int
flag_set (struct setting *setting, const char *value, struct error *error)
{
  char flag[FLAG_SIZE];
  setting_flag (setting, flag);
  if (setting_set (setting, value != NULL ? value : "yes", error) != 0)
    return error_prefix (error, "--%s: ", flag);
  free (setting->source);
  setting->source = memory_string ("command line");
  return 0;
}

/* Raises the level by one for each --verbose, up to the last. */
static void
raise_log_level (struct config *config, unsigned verbose)
{
  for (size_t i = 0; verbose > 0 && i < config->section_count; i++) {
    struct setting *setting = section_find (config->sections[i], "log_level");
    if (setting == NULL || config->sections[i]->type != NULL)
      continue;
    const char *const *level = setting->option->choices + *(int *) setting->field;
    for (; verbose > 0 && level[1] != NULL; verbose--)
      level++;
    flag_set (setting, *level, NULL);
    return;
  }
}

/* The default file may be absent; one that exists and cannot be read is an error. */
static int
read_file (struct config *config, const char *given, struct error *error)
{
  const char *path = config->default_path;

  if (given != NULL)
    return config_read_file (config, given, error);
  if (path == NULL || (access (path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)))
    return 0;
  return config_read_file (config, path, error);
}

int
config_read_arguments (struct config *config, int argc, char **argv, int *at, const char *const *words,
                       void (*word) (void *context, const char *name), void *context, struct error *error)
{
  struct walk walk = { .config = config, .argc = argc, .argv = argv, .at = *at, .words = words };
  struct walk again = walk;
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
  *at = walk.at;
  if (more < 0)
    return -1;
  if (only_words)
    return 0;
  if (read_file (config, file, error) != 0)
    return -1;

  while (walk_next (&again, &argument, error) > 0)
    if (argument.setting != NULL && flag_set (argument.setting, argument.value, error) != 0)
      return -1;
  raise_log_level (config, walk.verbose);
  return config_check_sections (config, error);
}

int
config_operands_last (struct config *config, int argc, char **argv, const char *const *words, struct error *error)
{
  struct walk walk = { .config = config, .argc = argc, .argv = argv, .words = words };
  struct argument argument;
  char **operands = memory_new ((size_t) argc + 1, sizeof *operands);
  int count = 0, options = 0, from = 0, more = 0;

  while (more >= 0 && (walk.at < argc || walk.letters != NULL)) {
    more = walk_next (&walk, &argument, error);
    if (more == 0 && walk.at < argc) { /* behind a "--" all are operands */
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
      break;
    if (more == 0 && count == max)
      return error_set (error, "\"%.64s\" is one word too many", walk.argv[walk.at]);
    if (more == 0)
      operands[count++] = walk.argv[walk.at++];
    else if (argument.word != NULL)
      word (context, argument.word);
    else if (flag_set (argument.setting, argument.value, error) != 0)
      return -1;
  }
  raise_log_level (config, walk.verbose);
  return count;
}
