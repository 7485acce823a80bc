/* The settings of a program: every option at every place where it can stand, with its value and where that came from.
 * A few dozen, looked up by name while the program starts: a list is enough. */
#include "common/config/config_private.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"

bool
option_is_wildcard (const struct option *option)
{
  size_t length = strlen (option->section);
  return length > 0 && option->section[length - 1] == '*';
}

void
option_flag (const struct option *option, char flag[FLAG_SIZE])
{
  const char *name = option->flag != NULL ? option->flag : option->key;
  if (option_is_wildcard (option))
    name = "";
  snprintf (flag, FLAG_SIZE, "%s", name);
  if (option->flag == NULL)
    for (char *at = flag; *at != '\0'; at++)
      if (*at == '_')
        *at = '-';
}

static void
settings_add (struct config *config, const struct option *option, char *section, void *record)
{
  config->settings = memory_resize (config->settings, config->setting_count + 1, sizeof *config->settings);
  struct setting *setting = &config->settings[config->setting_count++];
  *setting = (struct setting){ .option = option, .section = section, .field = (char *) record + option->offset };

  struct error error = { "" };
  if (setting_set (setting, option->fallback != NULL ? option->fallback : "", &error) != 0) {
    fprintf (stderr, "[%s] %s: the default: %s\n", option->section, option->key, error.text);
    abort ();
  }
}

/* The NAME of "group NAME" when the wildcard knows it, else NULL. */
static const char *
wildcard_name (const struct config *config, const char *section)
{
  const struct config_wildcard *wildcard = config->wildcard;
  if (wildcard == NULL || strncmp (section, wildcard->prefix, strlen (wildcard->prefix)) != 0)
    return NULL;
  for (const char *const *name = wildcard->names; *name != NULL; name++)
    if (strcmp (section + strlen (wildcard->prefix), *name) == 0)
      return *name;
  return NULL;
}

static bool
has_exact_option (const struct config *config, const char *section, const char *key)
{
  for (size_t i = 0; i < config->option_count; i++)
    if (strcmp (config->options[i].section, section) == 0 && strcmp (config->options[i].key, key) == 0)
      return true;
  return false;
}

/* [group NAME]: what all groups have, unless the group has an option of its own by that name, then its own. */
static void
settings_of_name (struct config *config, const char *name)
{
  void *record = config->wildcard->record (config->target, name);
  char *section = memory_format ("%s%s", config->wildcard->prefix, name);

  for (size_t i = 0; i < config->option_count; i++) {
    const struct option *option = &config->options[i];
    if (option_is_wildcard (option) && record != NULL && !has_exact_option (config, section, option->key))
      settings_add (config, option, memory_string (section), record);
  }
  for (size_t i = 0; i < config->option_count; i++)
    if (strcmp (config->options[i].section, section) == 0)
      settings_add (config, &config->options[i], memory_string (section), config->target);
  free (section);
}

/* Neighbours in the table stay neighbours, but a section that comes twice in it is one section. */
static void
settings_of_section (struct config *config, size_t first)
{
  const char *section = config->options[first].section;
  if (option_is_wildcard (&config->options[first]) || wildcard_name (config, section) != NULL ||
      config_find_section (config, section) != NULL)
    return;
  for (size_t i = first; i < config->option_count; i++)
    if (strcmp (config->options[i].section, section) == 0)
      settings_add (config, &config->options[i], memory_string (section), config->target);
}

static void
flags_assert_unique (const struct config *config)
{
  for (size_t i = 0; i < config->option_count; i++)
    for (size_t j = 0; j < i; j++) {
      char one[FLAG_SIZE], other[FLAG_SIZE];
      option_flag (&config->options[i], one);
      option_flag (&config->options[j], other);
      assert (*one == '\0' || strcmp (one, other) != 0);
    }
}

struct config *
config_create (const struct option *options, size_t count, void *target, const struct config_wildcard *wildcard)
{
  struct config *config = memory_new (1, sizeof *config);
  *config = (struct config){ .options = options, .option_count = count, .target = target, .wildcard = wildcard };

  flags_assert_unique (config);
  for (size_t i = 0; i < count; i++)
    settings_of_section (config, i);
  for (size_t i = 0; wildcard != NULL && wildcard->names[i] != NULL; i++)
    settings_of_name (config, wildcard->names[i]);
  return config;
}

void
config_set_program (struct config *config, const char *program)
{
  config->program = program;
}

void
config_destroy (struct config *config)
{
  if (config == NULL)
    return;
  for (size_t i = 0; i < config->setting_count; i++) {
    struct setting *setting = &config->settings[i];
    enum option_type type = setting->option->type;
    if (type == OPTION_TEXT || type == OPTION_PATH || type == OPTION_LIST)
      *(char **) setting->field = NULL;
    free (setting->section);
    free (setting->text);
    free (setting->source);
  }
  free (config->settings);
  free (config->path);
  free (config);
}

struct setting *
config_find (const struct config *config, const char *section, const char *key)
{
  for (size_t i = 0; i < config->setting_count; i++)
    if (strcmp (config->settings[i].section, section) == 0 && strcmp (config->settings[i].option->key, key) == 0)
      return &config->settings[i];
  return NULL;
}

const struct setting *
config_find_section (const struct config *config, const char *section)
{
  for (size_t i = 0; i < config->setting_count; i++)
    if (strcmp (config->settings[i].section, section) == 0)
      return &config->settings[i];
  return NULL;
}

const char *
config_source (const struct config *config, const char *section, const char *key)
{
  const struct setting *setting = config_find (config, section, key);
  return setting != NULL && setting->source != NULL ? setting->source : "default";
}

int
config_error (const struct config *config, const char *section, const char *key, struct error *error,
              const char *format, ...)
{
  char text[sizeof error->text];
  va_list arguments;

  va_start (arguments, format);
  vsnprintf (text, sizeof text, format, arguments);
  va_end (arguments);
  return error_set (error, "[%s] %s (%s): %s", section, key, config_source (config, section, key), text);
}
