/* "aggregator keys password USER": a line for [http] password_file. */
#ifndef SYNOP_AGGREGATOR_PASSWORD_COMMAND_H
#define SYNOP_AGGREGATOR_PASSWORD_COMMAND_H

#include "synop/buffer.h"
#include "synop/error.h"

/* Reads the password, a line of standard input, unseen where somebody types it; adds the line. */
int password_command (const char *user, struct buffer *line, struct error *error);

#endif
