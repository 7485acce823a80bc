/* The options of a section [send NAME]: those that types share, and behind them the type's own. */
#ifndef SYNOP_AGGREGATOR_SEND_OPTIONS_H
#define SYNOP_AGGREGATOR_SEND_OPTIONS_H

#include <stdint.h>

#include "aggregator/send/send_type.h"
#include "synop/config.h"

struct send_options {
  int type;
  char *url, *names, *groups, *nodes, *job, *labels;
  int64_t period_ns, timeout_ns, retry_ns, repeat_ns;
  char *folder;
  uint64_t size, keep;
  int64_t age_ns;
  char *bearer_file, *token_file, *user, *password_file, *ca, *certificate, *key;
};

extern const struct config_type send_config_type;

const struct send_type *send_type_of (const struct send_options *options);
const void *send_own (const struct send_options *options); /* the type's own options */
/* What was given, or the type's default. */
const char *send_names (const struct send_options *options);
int64_t send_period (const struct send_options *options); /* 0: each frame */
int64_t send_gather (const struct send_options *options); /* as send_type.gather_ns; 0: it is not done */
bool send_posts (const struct send_options *options);     /* over HTTP; else its type delivers */

bool send_is_stopped (const struct send_setting *setting);
/* -1 and error: one of the names is in quotes, which Prometheus and its kin do not take. */
int send_check_plain (const struct send_options *options, struct error *error);

#endif
