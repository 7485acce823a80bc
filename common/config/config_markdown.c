/* Writes the option table of docs/configuration.md. */
#include "common/config/config_private.h"

#include <stdio.h>
#include <string.h>

/* A '|' would end the cell. */
static void
add_cell (struct buffer *out, const char *text, size_t length)
{
  for (size_t i = 0; i < length; i++)
    buffer_printf (out, "%s%c", text[i] == '|' ? "\\" : "", text[i]);
}

static void
markdown_add_row (struct buffer *out, const struct option *option, const char *flag, bool reloads)
{
  struct buffer text = { 0 };

  buffer_printf (out, "| `%s` | ", option->key);
  if (*flag != '\0' && option->letter != '\0')
    buffer_printf (out, "`-%c`, ", option->letter);
  if (*flag != '\0')
    buffer_printf (out, "`--%s%s`", flag, option->type == OPTION_BOOLEAN ? "[=yes\\|no]" : "");
  buffer_add_string (out, " | ");
  option_describe_type (option, &text);
  add_cell (out, text.data, text.length);
  buffer_add_string (out, " | ");
  buffer_clear (&text);
  option_describe_limits (option, &text);
  add_cell (out, text.data, text.length);
  buffer_printf (out, " | %s | ", reloads ? "reload" : "restart");
  add_cell (out, option->help, strlen (option->help));
  buffer_add_string (out, " |\n");
  buffer_free (&text);
}

static void
add_head (struct buffer *out, const char *section, const char *help)
{
  buffer_printf (out, "%s## [%s]\n\n%s%s", out->length > 0 ? "\n" : "", section, help, *help != '\0' ? "\n\n" : "");
  buffer_add_string (out, "| key | command line | value | default and limits | a change needs | meaning |\n"
                          "| --- | --- | --- | --- | --- | --- |\n");
}

void
config_print_markdown (const struct config *config, struct buffer *out)
{
  const char *before = "";
  char flag[FLAG_SIZE], name[FLAG_SIZE / 2];
  const struct option *option;

  for (size_t i = 0; i < config->option_count; i++) {
    option = &config->options[i];
    if (strcmp (before, option->section) != 0) {
      bool wildcard = option_is_wildcard (option);
      snprintf (name, sizeof name, "%.*s%s", (int) (strlen (option->section) - wildcard), option->section,
                wildcard ? "NAME" : "");
      add_head (out, name, "");
      before = option->section;
    }
    option_flag (option, NULL, flag);
    markdown_add_row (out, option, flag, option->reload != 0);
  }
  for (const struct config_type *const *type = config->types; *type != NULL; type++) {
    snprintf (name, sizeof name, "%s NAME", (*type)->name);
    add_head (out, name, (*type)->help);
    snprintf (name, sizeof name, "%s.NAME", (*type)->name);
    for (size_t i = 0; (option = config_type_option (*type, i, NULL)) != NULL; i++) {
      option_flag (option, name, flag);
      markdown_add_row (out, option, config->types_have_flags ? flag : "", true);
    }
  }
}
