/* What the commands of the agent share: exit codes, --help and --version. */
#ifndef SYNOP_AGENT_COMMAND_H
#define SYNOP_AGENT_COMMAND_H

#include <stdbool.h>

#include "synop/config.h"

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

int command_fail (int code, const struct error *error); /* logs the error; returns the code */

struct command_page {
  bool help, version; /* requested */
};

/* The callback `word` of config_read_operands; its context is the page. */
void command_page_ask (void *page, const char *word);
bool command_page_is_asked (const struct command_page *page);
/* Writes it, with the options between `head` and `tail`, to standard output; help before version. Returns the exit code. */
int command_page_write (const struct command_page *page, const struct config *config, const char *head,
                        const char *tail);

#endif
