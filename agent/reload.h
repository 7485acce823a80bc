/* SIGHUP: the configuration and the keys are read again while the agent runs. */
#ifndef SYNOP_AGENT_RELOAD_H
#define SYNOP_AGENT_RELOAD_H

#include "agent/options.h"
#include "agent/samples.h"
#include "agent/sampling/sampling.h"
#include "agent/trace_service.h"
#include "agent/uplink/publisher.h"
#include "synop/notify.h"

struct running {
  struct agent_options *options;
  struct notify *notify;       /* NULL: no service manager waits */
  struct sampling *sampling;   /* made anew when an option of the groups has changed */
  struct publisher *publisher; /* NULL: lines go to standard output, unless others take samples */
  struct samples samples;
  struct trace_service *traces; /* with a publisher alone */
  struct schema *schema;        /* of all groups that there may be */
};

void agent_reload (void *running, int number); /* a loop_signal_fn */

#endif
