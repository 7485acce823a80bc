/* The option table for people: --print-config, and the options' part of --help. */
#include "common/config/config_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"

#define COLUMNS 100

static const char *
type_name (enum option_type type)
{
  switch (type) {
  case OPTION_TEXT:
    return "TEXT";
  case OPTION_PATH:
    return "PATH";
  case OPTION_DURATION:
    return "DURATION";
  case OPTION_SIZE:
    return "NUMBER";
  case OPTION_LIST:
    return "LIST";
  case OPTION_BOOLEAN:
  case OPTION_CHOICE:
    break;
  }
  return "";
}

void
option_describe_type (const struct option *option, struct buffer *out)
{
  if (option->type == OPTION_BOOLEAN)
    buffer_add_string (out, "yes|no");
  else if (option->type == OPTION_CHOICE)
    for (size_t i = 0; option->choices[i] != NULL; i++)
      buffer_printf (out, "%s%s", i > 0 ? "|" : "", option->choices[i]);
  else
    buffer_add_string (out, type_name (option->type));
}

static const char *
default_text (const struct option *option)
{
  if (option->fallback != NULL && *option->fallback != '\0')
    return option->fallback;
  if (option->type == OPTION_TEXT || option->type == OPTION_PATH || option->type == OPTION_LIST)
    return "empty";
  return option_is_wildcard (option) ? "inherited" : "unset";
}

void
option_describe_limits (const struct option *option, struct buffer *out)
{
  buffer_add_string (out, default_text (option));
  if (option->minimum != NULL && option->maximum != NULL)
    buffer_printf (out, "; from %s to %s", option->minimum, option->maximum);
  else if (option->minimum != NULL)
    buffer_printf (out, "; at least %s", option->minimum);
  else if (option->maximum != NULL)
    buffer_printf (out, "; at most %s", option->maximum);
}

/* "--period DURATION"; a boolean, which means yes without a value, takes one behind '=' only: "--ring[=yes|no]". */
static void
describe_flag (const struct option *option, const char *name, struct buffer *out)
{
  bool alone = option->type == OPTION_BOOLEAN && *name == '-';

  buffer_printf (out, alone ? "%s[=" : "%s ", name);
  option_describe_type (option, out);
  buffer_add_string (out, alone ? "]" : "");
}

/* Adds `text` broken at blanks; `used` columns of the first line are taken, the others begin with `margin`. */
static void
wrap (struct buffer *out, const char *text, size_t used, const char *margin)
{
  size_t column = used, start = used;

  while (*text != '\0') {
    size_t length = strcspn (text, " ");
    if (column > start && column + 1 + length > COLUMNS) {
      buffer_printf (out, "\n%s", margin);
      column = start = strlen (margin);
    }
    if (column > start) {
      buffer_add (out, " ", 1);
      column++;
    }
    buffer_add (out, text, length);
    column += length;
    text += length + strspn (text + length, " ");
  }
  buffer_add (out, "\n", 1);
}

/* ---- --print-config ---- */

/* A long list continues in further lines, if that can be read back as the same list. */
static void
print_value (struct buffer *out, const struct setting *setting)
{
  const char *text = setting->text;
  size_t column = strlen (setting->option->key) + 3;

  if (setting->option->type != OPTION_LIST || strpbrk (text, "=:#;[") != NULL) {
    buffer_printf (out, "%s\n", text);
    return;
  }
  while (*text != '\0') {
    size_t length = strcspn (text, ",");
    length += text[length] == ',';
    if (column + length > COLUMNS) {
      buffer_add_string (out, "\n  ");
      column = 2;
    }
    buffer_add (out, text, length);
    column += length;
    text += length;
  }
  buffer_add (out, "\n", 1);
}

/* `source` NULL: its section does not exist. */
static void
print_note (struct buffer *out, const struct option *option, bool needs_restart, const char *source)
{
  struct buffer note = { 0 };

  buffer_add_string (out, "# ");
  wrap (out, option->help, 2, "# ");
  option_describe_type (option, &note);
  buffer_add_string (&note, ". Default: ");
  option_describe_limits (option, &note);
  buffer_add_string (&note, needs_restart ? ". Needs a restart." : ".");
  if (source != NULL)
    buffer_printf (&note, " Set by: %s.", source);
  buffer_add (&note, "", 1);
  buffer_add_string (out, "# ");
  wrap (out, note.data, 2, "# ");
  buffer_free (&note);
}

static void
print_setting (struct buffer *out, const struct setting *setting, bool needs_restart)
{
  const struct option *option = setting->option;

  print_note (out, option, needs_restart, setting->source != NULL ? setting->source : "default");
  if (setting_is_unset (setting)) {
    buffer_printf (out, "# %s =\n", option->key);
    return;
  }
  buffer_printf (out, "%s =%s", option->key, *setting->text != '\0' ? " " : "");
  print_value (out, setting);
}

static bool
has_section_of (const struct config *config, const struct config_type *type)
{
  for (size_t i = 0; i < config->section_count; i++)
    if (config->sections[i]->type == type)
      return true;
  return false;
}

/* Prints a blank section, as a comment, of a type without sections. */
static void
print_blank_section (struct buffer *out, const struct config_type *type)
{
  const struct option *option;

  buffer_printf (out, "# [%s NAME]\n# ", type->name);
  wrap (out, type->help, 2, "# ");
  for (size_t i = 0; (option = config_type_option (type, i, NULL)) != NULL; i++) {
    const char *value = option->fallback != NULL ? option->fallback : "";
    buffer_add_string (out, i == 0 ? "#\n" : "\n");
    print_note (out, option, false, NULL);
    buffer_printf (out, "# %s =%s%s\n", option->key, *value != '\0' ? " " : "", value);
  }
}

void
config_print (const struct config *config, struct buffer *out)
{
  bool reloads = config_has_reload (config);

  for (size_t i = 0; i < config->section_count; i++) {
    const struct section *section = config->sections[i];
    buffer_printf (out, "%s[%s]\n", i > 0 ? "\n" : "", section->name);
    for (size_t j = 0; j < section->count; j++) {
      const struct setting *setting = &section->settings[j];
      buffer_add_string (out, j > 0 ? "\n" : "");
      print_setting (out, setting, reloads && section->type == NULL && setting->option->reload == 0);
    }
  }
  for (const struct config_type *const *type = config->types; *type != NULL; type++)
    if (!has_section_of (config, *type)) {
      buffer_add_string (out, "\n");
      print_blank_section (out, *type);
    }
}

/* ---- --help ---- */

#define MARGIN 30
static const char margin[MARGIN + 1] = "                              ";

static void
print_entry (struct buffer *out, const char *name, const char *text)
{
  buffer_add_string (out, name);
  if (strlen (name) + 2 > MARGIN)
    buffer_printf (out, "\n%s", margin);
  else
    buffer_add (out, margin, MARGIN - strlen (name));
  wrap (out, text, MARGIN, margin);
}

static void
print_option (struct buffer *out, const struct option *option, const char *name)
{
  struct buffer entry = { 0 }, text = { 0 };

  buffer_add_string (&entry, "  ");
  if (option->letter != '\0' && *name == '-')
    buffer_printf (&entry, "-%c, ", option->letter);
  describe_flag (option, name, &entry);
  buffer_add (&entry, "", 1);
  buffer_printf (&text, "%s Default: ", option->help);
  option_describe_limits (option, &text);
  buffer_add (&text, ".", 2); /* and its NUL */
  print_entry (out, entry.data, text.data);
  buffer_free (&entry);
  buffer_free (&text);
}

static void
print_names (const struct config *config, struct buffer *out)
{
  struct buffer names = { 0 };
  for (const char *const *name = config->wildcard->names; *name != NULL; name++)
    buffer_printf (&names, "%s%s", name != config->wildcard->names ? ", " : "NAME is one of ", *name);
  buffer_add (&names, ".", 2);
  buffer_add_string (out, "  ");
  wrap (out, names.data, 2, "  ");
  buffer_free (&names);
}

/* The options that have a flag, or those that have none; under a line for each section of the table that has a name. */
static void
print_options (const struct config *config, struct buffer *out, bool with_flag)
{
  const char *before = NULL;

  for (size_t i = 0; i < config->option_count; i++) {
    const struct option *option = &config->options[i];
    char flag[FLAG_SIZE + 2] = "--";
    option_flag (option, NULL, flag + 2);
    if ((flag[2] != '\0') != with_flag)
      continue;
    if (before == NULL && !with_flag)
      buffer_add_string (out, "\nOnly in the configuration file:\n");
    if (*option->section != '\0' && (before == NULL || strcmp (before, option->section) != 0)) {
      size_t length = strlen (option->section) - option_is_wildcard (option);
      buffer_printf (out, "%s[%.*s%s]\n", before != NULL && with_flag ? "\n" : "", (int) length, option->section,
                     option_is_wildcard (option) ? "NAME" : "");
      before = option->section;
      if (option_is_wildcard (option) && config->wildcard != NULL)
        print_names (config, out);
    }
    print_option (out, option, with_flag ? flag : option->key);
  }
}

/* The options of every command. */
static void
print_common (const struct config *config, struct buffer *out)
{
  if (config->default_path != NULL) {
    char *text = memory_format ("The file to read, instead of %s if that exists.", config->default_path);
    print_entry (out, "  -c, --config FILE", text);
    free (text);
    print_entry (
        out, "  --print-config",
        "Every option with its value and where that came from, as a valid INI file; with --markdown as a table.");
  }
  print_entry (out, "  -v, --verbose", "More on standard error: one log_level more each time it is given, as in -vv.");
  print_entry (out, "  -h, --help", "This page.");
  print_entry (out, "  -V, --version", "The version.");
}

static void
print_type (const struct config *config, struct buffer *out, const struct config_type *type)
{
  char *text = memory_format ("%s Any number of these sections%s%s%s.", type->help,
                              config->types_have_flags ? "; on the command line --" : "",
                              config->types_have_flags ? type->name : "", config->types_have_flags ? ".NAME.KEY" : "");
  const struct option *option;

  buffer_printf (out, "\n[%s NAME]\n  ", type->name);
  wrap (out, text, 2, "  ");
  free (text);
  for (size_t i = 0; (option = config_type_option (type, i, NULL)) != NULL; i++) {
    char place[FLAG_SIZE / 2], flag[FLAG_SIZE + 2] = "--";
    snprintf (place, sizeof place, "%s.NAME", type->name);
    option_flag (option, place, flag + 2);
    print_option (out, option, config->types_have_flags && flag[2] != '\0' ? flag : option->key);
  }
}

void
config_print_help (const struct config *config, struct buffer *out)
{
  print_common (config, out);
  buffer_add_string (out, "\n");
  print_options (config, out, true);
  print_options (config, out, false);
  for (const struct config_type *const *type = config->types; *type != NULL; type++)
    print_type (config, out, *type);
}
