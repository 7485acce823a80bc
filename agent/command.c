#include "agent/command.h"

#include <string.h>

#include "synop/file.h"
#include "synop/log.h"
#include "synop/version.h"

int
command_fail (int code, const struct error *error)
{
  log_error ("%s", error->text);
  return code;
}

void
command_page_ask (void *page, const char *word)
{
  struct command_page *asked = page;

  asked->help |= strcmp (word, "help") == 0;
  asked->version |= strcmp (word, "version") == 0;
}

bool
command_page_is_asked (const struct command_page *page)
{
  return page->help || page->version;
}

int
command_page_write (const struct command_page *page, const struct config *config, const char *head, const char *tail)
{
  struct buffer text = { 0 };
  int result;

  if (page->help) {
    buffer_add_string (&text, head);
    config_print_help (config, &text);
    buffer_add_string (&text, tail);
  } else {
    buffer_add_string (&text, "synop agent " SYNOP_VERSION "\n");
  }
  result = file_print (&text);
  buffer_free (&text);
  return result;
}
