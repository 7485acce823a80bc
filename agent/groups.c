/* All samplers, and the services that they share; see groups.h. */
#include "agent/groups.h"

#define SAMPLER(NAME) &sampler_##NAME,
#define SERVICE(NAME) &service_##NAME,

const struct sampler *const samplers[] = { SAMPLERS (SAMPLER) };
const size_t sampler_count = sizeof samplers / sizeof samplers[0];

const struct service *const services[] = { SERVICES (SERVICE) };
const size_t service_count = sizeof services / sizeof services[0];
