/* What options.c (reading), options_tables.c (the tables) and options_help.c (--help) share. */
#ifndef SYNOP_AGGREGATOR_OPTIONS_PRIVATE_H
#define SYNOP_AGGREGATOR_OPTIONS_PRIVATE_H

#include "aggregator/config/options.h"

#define OPTIONS_FILE "/etc/synop/aggregator.ini"
#define CLIENT_FILE "/etc/synop/client.ini"
#define OPTIONS_SHARED_MAX 18

/* Commands read the aggregator's file too, to find its socket or history. The options that a command shares have a
 * flag in it, as log_level has; the aggregator's other options have none. */
extern const struct options_tables {
  const char *shared[OPTIONS_SHARED_MAX]; /* their flags */
  const struct option *table;             /* its own */
  size_t count;
} options_tables[]; /* as enum options_command */

bool options_is_shared (const struct option *option, enum options_command command);

#endif
