/* [traces] of agent.ini. */
#ifndef SYNOP_AGENT_TRACES_SETTINGS_H
#define SYNOP_AGENT_TRACES_SETTINGS_H

#include <stdbool.h>

#include "synop/config.h"

struct traces_settings {
  bool enabled;
  char *socket, *group, *folders, *users;
};

#endif
