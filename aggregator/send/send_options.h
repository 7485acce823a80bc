/* The options of a section [send NAME]. */
#ifndef SYNOP_AGGREGATOR_SEND_OPTIONS_H
#define SYNOP_AGGREGATOR_SEND_OPTIONS_H

#include <stdint.h>

#include "aggregator/send/send_type.h"
#include "synop/config.h"

enum { PROTOCOL_AUTO, PROTOCOL_1, PROTOCOL_2 };

struct send_options {
  int type, protocol;
  char *url, *names, *groups, *nodes, *job, *labels;
  int64_t period_ns, timeout_ns, retry_ns, repeat_ns;
  char *bearer_file, *user, *password_file, *ca, *certificate, *key;
};

extern const struct config_type send_config_type;

const struct send_type *send_type_of (const struct send_options *options);

#define SEND_EXTRAS_MAX 62
/* The next of "NAME=VALUE, NAME=VALUE": 1, 0 at the end, -1 and error when it is none. `at` moves on. */
struct send_extra {
  char name[64], value[256];
};
int send_extra_next (const char **at, struct send_extra *extra, struct error *error);

#endif
