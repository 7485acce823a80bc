/* "aggregator keys": makes, admits, lists and revokes keys. */
#ifndef SYNOP_AGGREGATOR_KEYS_COMMAND_H
#define SYNOP_AGGREGATOR_KEYS_COMMAND_H

/* argv[0] is "keys". Returns the exit code. */
int aggregator_keys_command (int argc, char **argv);

#endif
