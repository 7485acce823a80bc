/* Which of NVIDIA's devices a cgroup permits, from its devices.list. Pure. */
#ifndef SYNOP_AGENT_JOB_DEVICES_H
#define SYNOP_AGENT_JOB_DEVICES_H

#include "agent/job/job_cgroup.h"
#include "agent/source/parse.h"

void job_devices_parse (uint64_t devices[JOB_DEVICE_WORDS], struct scan text);

#endif
