/* `aggregator tail` and `aggregator status`: clients of a running aggregator's UNIX socket. */
#ifndef SYNOP_AGGREGATOR_CLIENT_H
#define SYNOP_AGGREGATOR_CLIENT_H

#include "aggregator/config/options.h"

int client_tail (const struct options *options); /* each: the exit code */
int client_status (const struct options *options);

/* Of a request to `options->socket` that failed, with errno as it was left: what to do about it. */
void client_log_no_answer (const struct options *options, const struct error *error);

#endif
