/* Events by the names that libpfm4 gave them: "icx::FP_ARITH_INST_RETIRED:SCALAR_DOUBLE". The library is there only as long
 * as names are asked for. */
#ifndef SYNOP_AGENT_COUNTER_PFM_H
#define SYNOP_AGENT_COUNTER_PFM_H

#include <linux/perf_event.h>

#include "synop/error.h"

struct counter_pfm;
/* NULL: the library is not there, and why. May block. */
struct counter_pfm *counter_pfm_open (struct error *error);
void counter_pfm_close (struct counter_pfm *pfm);
/* -1: the event is of another CPU than this one, or the library does not know it. */
int counter_pfm_name (const struct counter_pfm *pfm, struct perf_event_attr *attr, const char *event,
                      struct error *error);

#endif
