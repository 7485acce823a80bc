/* The settings of a program: every option in every section that can have it, with its value and the source of that.
 * A few dozen, looked up by name while the program starts: lists are enough. */
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
  size_t length = option->section != NULL ? strlen (option->section) : 0;
  return length > 0 && option->section[length - 1] == '*';
}

void
option_flag (const struct option *option, const char *section, char flag[FLAG_SIZE])
{
  const char *name = option->flag != NULL ? option->flag : option->key;
  size_t before = 0;

  if (section == NULL && option_is_wildcard (option))
    name = "";
  if (section != NULL && *name != '\0')
    before = (size_t) snprintf (flag, FLAG_SIZE, "%s.", section);
  snprintf (flag + before, FLAG_SIZE - before, "%s", name);
  if (option->flag == NULL)
    for (char *at = flag + before; *at != '\0'; at++)
      if (*at == '_')
        *at = '-';
}

void
setting_flag (const struct setting *setting, char flag[FLAG_SIZE])
{
  char place[FLAG_SIZE / 2]; /* "send.central" */

  snprintf (place, sizeof place, "%s", setting->section->name);
  if (setting->section->type != NULL)
    place[strlen (setting->section->type->name)] = '.';
  option_flag (setting->option, setting->section->type != NULL ? place : NULL, flag);
}

struct section *
config_add_section (struct config *config, const char *name)
{
  struct section *section = memory_new (1, sizeof *section);

  section->name = memory_string (name);
  config->sections = memory_resize (config->sections, config->section_count + 1, sizeof *config->sections);
  config->sections[config->section_count++] = section;
  return section;
}

void
section_add_setting (struct section *section, const struct option *option, void *field)
{
  section->settings = memory_resize (section->settings, section->count + 1, sizeof *section->settings);
  struct setting *setting = &section->settings[section->count++];
  *setting = (struct setting){ .option = option, .section = section, .field = field };

  struct error error = { "" };
  if (setting_set (setting, option->fallback != NULL ? option->fallback : "", &error) != 0) {
    fprintf (stderr, "[%s] %s: the default: %s\n", section->name, option->key, error.text);
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

/* Adds the table's options of exactly this section. */
static void
add_own_settings (const struct config *config, struct section *section)
{
  for (size_t i = 0; i < config->option_count; i++)
    if (strcmp (config->options[i].section, section->name) == 0)
      section_add_setting (section, &config->options[i], (char *) config->target + config->options[i].offset);
}

/* [group NAME]: the options of all groups, unless the group has an option of its own by that name, then its own. */
static void
add_wildcard_section (struct config *config, const char *name)
{
  void *record = config->wildcard->record (config->target, name);
  char *full = memory_format ("%s%s", config->wildcard->prefix, name);
  struct section *section = config_add_section (config, full);

  for (size_t i = 0; i < config->option_count; i++) {
    const struct option *option = &config->options[i];
    if (option_is_wildcard (option) && record != NULL && !has_exact_option (config, full, option->key))
      section_add_setting (section, option, (char *) record + option->offset);
  }
  add_own_settings (config, section);
  free (full);
}

bool
config_has_reload (const struct config *config)
{
  for (size_t i = 0; i < config->option_count; i++)
    if (config->options[i].reload != 0)
      return true;
  return false;
}

static void
flags_assert_unique (const struct config *config)
{
  for (size_t i = 0; i < config->option_count; i++)
    for (size_t j = 0; j < i; j++) {
      char one[FLAG_SIZE], other[FLAG_SIZE];
      option_flag (&config->options[i], NULL, one);
      option_flag (&config->options[j], NULL, other);
      assert (*one == '\0' || strcmp (one, other) != 0);
      assert (*one == '\0' || *other == '\0' || config->options[i].letter == '\0' ||
              config->options[i].letter != config->options[j].letter);
    }
}

struct config *
config_create (const struct option *options, size_t count, void *target, const struct config_wildcard *wildcard)
{
  static const struct config_type *const no_types[] = { NULL };
  struct config *config = memory_new (1, sizeof *config);
  *config = (struct config){
    .options = options, .option_count = count, .target = target, .wildcard = wildcard, .types = no_types
  };

  flags_assert_unique (config);
  for (size_t i = 0; i < count; i++)
    if (!option_is_wildcard (&options[i]) && wildcard_name (config, options[i].section) == NULL &&
        config_find_section (config, options[i].section) == NULL)
      add_own_settings (config, config_add_section (config, options[i].section));
  for (size_t i = 0; wildcard != NULL && wildcard->names[i] != NULL; i++)
    add_wildcard_section (config, wildcard->names[i]);
  return config;
}

void
config_set_program (struct config *config, const char *program, const char *default_path)
{
  config->program = program;
  config->default_path = default_path;
}

void
section_destroy (struct section *section)
{
  for (size_t i = 0; i < section->count; i++) {
    struct setting *setting = &section->settings[i];
    enum option_type type = setting->option->type;
    if (type == OPTION_TEXT || type == OPTION_PATH || type == OPTION_LIST)
      *(char **) setting->field = NULL;
    free (setting->text);
    free (setting->source);
  }
  free (section->settings);
  free (section->name);
  free (section->instance);
  free (section->source);
  free (section);
}

void
config_destroy (struct config *config)
{
  if (config == NULL)
    return;
  for (size_t i = 0; i < config->section_count; i++)
    section_destroy (config->sections[i]);
  free (config->sections);
  free (config->owners);
  free (config->path);
  free (config);
}

struct section *
config_find_section (const struct config *config, const char *name)
{
  for (size_t i = 0; i < config->section_count; i++)
    if (strcmp (config->sections[i]->name, name) == 0)
      return config->sections[i];
  return NULL;
}

struct setting *
section_find (const struct section *section, const char *key)
{
  for (size_t i = 0; i < section->count; i++)
    if (strcmp (section->settings[i].option->key, key) == 0)
      return &section->settings[i];
  return NULL;
}

const char *
config_source (const struct config *config, const char *section, const char *key)
{
  const struct section *place = config_find_section (config, section);
  const struct setting *setting = place != NULL ? section_find (place, key) : NULL;
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
