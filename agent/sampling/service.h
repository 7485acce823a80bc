/* A resource of several samplers: a library, a scan, a child process. It is started for the first sampler that takes
 * it, once for all, and stopped when the context has given it up and the last sampler has left it, which may be long
 * after for one in a worker. */
#ifndef SYNOP_AGENT_SERVICE_H
#define SYNOP_AGENT_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/sampling/sampler.h"

struct service {
  const struct own_options *options;                                  /* NULL: it has none */
  size_t size;                                                        /* of its state, which begins as zeros */
  void (*start) (void *state, const struct sampler_context *context); /* must not block */
  void (*give_up) (
      void *state);           /* the context gives it up: end what runs, even if samplers still have it; may be NULL */
  void (*stop) (void *state); /* the last user has left it */
  bool lasts;                 /* a reload leaves it alone: its options take effect after a restart */
};

/* Of a context: those of the list that were started, none yet. */
struct services *services_create (const struct service *const *list, size_t count);
void services_destroy (struct services *services); /* gives up all; NULL is fine */
/* Gives up those that do not last, to be started anew for the next samplers. */
void services_renew (struct services *services);

/* Its state, started if need be. Each take has its service_leave, in any thread. */
void *service_take (const struct sampler_context *context, const struct service *service);
void service_leave (void *state);
/* Its state if it was started; else NULL. For the sampling thread, valid until it returns to the loop. */
void *service_find (const struct sampler_context *context, const struct service *service);

#endif
