/* The aggregator's requests for traces, and what becomes of them here: between the publisher, which has the messages, and
 * agent/traces, which traces. */
#ifndef SYNOP_AGENT_TRACE_SERVICE_H
#define SYNOP_AGENT_TRACE_SERVICE_H

#include "agent/options.h"
#include "synop/loop.h"
#include "synop/trace_message.h"

struct trace_service;

/* Where [traces] are off, each request is answered with that. `send` sends an answer, or drops it: then the aggregator asks again.
 * NULL and error: the socket cannot be made. */
struct trace_service *trace_service_create (const struct agent_options *options, struct loop *loop,
                                            void (*send) (void *context, const struct trace_answer *answer),
                                            void *context, struct error *error);
void trace_service_destroy (struct trace_service *service); /* before the sampling is; NULL is fine */
void trace_service_request (void *service, const struct trace_request *request);

#endif
