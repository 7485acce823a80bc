/* All samplers, and the services that they share; see groups.h. */
#include "agent/groups.h"

#include "agent/counters/counters.h"
#include "agent/energy/energy.h"
#include "agent/gpu/dcgm.h"
#include "agent/gpu/gpu.h"
#include "agent/job/job_group.h"
#include "agent/neuron/neuron.h"

#define SAMPLER(NAME) &sampler_##NAME,

const struct sampler *const samplers[] = { SAMPLERS (SAMPLER) };
const size_t sampler_count = sizeof samplers / sizeof samplers[0];

const struct service *const services[] = { &service_counters, &service_jobs, &service_neuron,
                                           &service_gpus,     &service_dcgm, &service_energy };
const size_t service_count = sizeof services / sizeof services[0];
