/* The option table for people: --print-config, the options' part of --help, docs/configuration.md. */
#include "common/config/config_private.h"

#include <string.h>

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

/* "1s; from 10ms to 1h" */
static void
describe_limits (const struct option *option, struct buffer *out)
{
  buffer_add_string (out, default_text (option));
  if (option->minimum != NULL && option->maximum != NULL)
    buffer_printf (out, "; from %s to %s", option->minimum, option->maximum);
  else if (option->minimum != NULL)
    buffer_printf (out, "; at least %s", option->minimum);
  else if (option->maximum != NULL)
    buffer_printf (out, "; at most %s", option->maximum);
}

/* "--period DURATION"; a flag that is yes without a value takes one behind its '=' only: "--ring[=yes|no]". */
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

static bool
begins_section (const struct config *config, size_t index)
{
  return index == 0 || strcmp (config->settings[index].section, config->settings[index - 1].section) != 0;
}

/* ---- --print-config ---- */

/* A long list goes on in further lines, where that can be read back as what it is. */
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

static void
print_setting (struct buffer *out, const struct setting *setting)
{
  const struct option *option = setting->option;
  struct buffer note = { 0 };

  buffer_add_string (out, "# ");
  wrap (out, option->help, 2, "# ");
  option_describe_type (option, &note);
  buffer_add_string (&note, ". Default: ");
  describe_limits (option, &note);
  buffer_printf (&note, ". Set by: %s.", setting->source != NULL ? setting->source : "default");
  buffer_add (&note, "", 1);
  buffer_add_string (out, "# ");
  wrap (out, note.data, 2, "# ");
  buffer_free (&note);

  if (setting_is_unset (setting)) {
    buffer_printf (out, "# %s =\n", option->key);
    return;
  }
  buffer_printf (out, "%s =%s", option->key, *setting->text != '\0' ? " " : "");
  print_value (out, setting);
}

void
config_print (const struct config *config, struct buffer *out)
{
  for (size_t i = 0; i < config->setting_count; i++) {
    const struct setting *setting = &config->settings[i];
    if (begins_section (config, i))
      buffer_printf (out, "%s[%s]\n", i > 0 ? "\n" : "", setting->section);
    else
      buffer_add (out, "\n", 1);
    print_setting (out, setting);
  }
}

/* ---- --help ---- */

#define MARGIN 30

static void
print_option (struct buffer *out, const struct option *option, const char *name)
{
  static const char margin[MARGIN + 1] = "                              ";
  struct buffer text = { 0 };
  size_t begin = out->length;

  buffer_add_string (out, "  ");
  describe_flag (option, name, out);
  size_t column = out->length - begin;
  if (column + 2 > MARGIN) {
    buffer_printf (out, "\n%s", margin);
  } else {
    buffer_add (out, margin, MARGIN - column);
  }
  buffer_printf (&text, "%s Default: ", option->help);
  describe_limits (option, &text);
  buffer_add (&text, ".", 2); /* and its NUL */
  wrap (out, text.data, MARGIN, margin);
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
    option_flag (option, flag + 2);
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

void
config_print_help (const struct config *config, struct buffer *out)
{
  print_options (config, out, true);
  print_options (config, out, false);
}

/* ---- docs/configuration.md ---- */

/* A '|' would end the cell. */
static void
add_cell (struct buffer *out, const char *text, size_t length)
{
  for (size_t i = 0; i < length; i++)
    buffer_printf (out, "%s%c", text[i] == '|' ? "\\" : "", text[i]);
}

void
config_print_markdown (const struct config *config, struct buffer *out)
{
  const char *before = "";

  for (size_t i = 0; i < config->option_count; i++) {
    const struct option *option = &config->options[i];
    struct buffer type = { 0 };
    char flag[FLAG_SIZE];

    if (strcmp (before, option->section) != 0) {
      bool wildcard = option_is_wildcard (option);
      buffer_printf (out, "%s## [%.*s%s]\n\n", *before != '\0' ? "\n" : "", (int) (strlen (option->section) - wildcard),
                     option->section, wildcard ? "NAME" : "");
      buffer_add_string (out, "| key | command line | value | default and limits | meaning |\n"
                              "| --- | --- | --- | --- | --- |\n");
      before = option->section;
    }
    option_flag (option, flag);
    buffer_printf (out, "| `%s` | ", option->key);
    if (*flag != '\0')
      buffer_printf (out, "`--%s%s`", flag, option->type == OPTION_BOOLEAN ? "[=yes\\|no]" : "");
    buffer_add_string (out, " | ");
    option_describe_type (option, &type);
    add_cell (out, type.data, type.length);
    buffer_add_string (out, " | ");
    buffer_clear (&type);
    describe_limits (option, &type);
    add_cell (out, type.data, type.length);
    buffer_add_string (out, " | ");
    add_cell (out, option->help, strlen (option->help));
    buffer_add_string (out, " |\n");
    buffer_free (&type);
  }
}
