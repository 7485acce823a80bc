/* The options of `--send`: [cloudwatch]. */
#ifndef SYNOP_AGENT_SEND_SETTINGS_H
#define SYNOP_AGENT_SEND_SETTINGS_H

#include "synop/cloudwatch.h"

enum send_to { SEND_NOWHERE, SEND_CLOUDWATCH };

struct send_settings {
  int to; /* enum send_to */
  char *url, *names, *labels, *groups, *ca;
  int64_t period_ns;
  struct cloudwatch_options cloudwatch;
};

#endif
