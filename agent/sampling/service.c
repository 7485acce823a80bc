/* What samplers get from their context: the values of their options, and shared services; see service.h. */
#include "agent/sampling/service.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "synop/memory.h"

struct running {
  const struct service *service;
  atomic_uint users; /* with the context as one */
  _Alignas(max_align_t) char state[];
};

struct services {
  pthread_mutex_t lock; /* guards `running`: --list-groups uses several threads */
  const struct service *const *list;
  size_t count;
  struct running *running[]; /* of each in the list; NULL: it was not started */
};

const void *
context_options (const struct sampler_context *context, const struct own_options *options)
{
  size_t i = 0;

  while (context->own[i].options != options) {
    i++;
    assert (i < context->own_count);
  }
  return context->own[i].values;
}

struct services *
services_create (const struct service *const *list, size_t count)
{
  struct services *services = memory_new (1, sizeof *services + count * sizeof services->running[0]);

  services->list = list;
  services->count = count;
  pthread_mutex_init (&services->lock, NULL);
  return services;
}

static struct running **
service_place_of (struct services *services, const struct service *service)
{
  size_t i = 0;

  while (services->list[i] != service) {
    i++;
    assert (i < services->count);
  }
  return &services->running[i];
}

void *
service_take (const struct sampler_context *context, const struct service *service)
{
  struct services *services = context->services;
  struct running **place = service_place_of (services, service), *running;

  pthread_mutex_lock (&services->lock);
  if (!*place) {
    *place = memory_new (1, sizeof **place + service->size);
    (*place)->service = service;
    (*place)->users = 1;
    service->start ((*place)->state, context);
  }
  running = *place;
  running->users++;
  pthread_mutex_unlock (&services->lock);
  return running->state;
}

void *
service_find (const struct sampler_context *context, const struct service *service)
{
  struct running *running;

  pthread_mutex_lock (&context->services->lock);
  running = *service_place_of (context->services, service);
  pthread_mutex_unlock (&context->services->lock);
  return running ? running->state : NULL;
}

void
service_leave (void *state)
{
  struct running *running = (struct running *) ((char *) state - offsetof (struct running, state));

  if (--running->users != 0)
    return;
  running->service->stop (running->state);
  free (running);
}

static void
give_up (struct services *services, bool all)
{
  for (size_t i = 0; i < services->count; i++) {
    struct running *running = services->running[i];

    if (!running || (running->service->lasts && !all))
      continue;
    services->running[i] = NULL;
    if (running->service->give_up)
      running->service->give_up (running->state);
    service_leave (running->state);
  }
}

void
services_renew (struct services *services)
{
  give_up (services, false);
}

void
services_destroy (struct services *services)
{
  if (!services)
    return;
  give_up (services, true);
  pthread_mutex_destroy (&services->lock);
  free (services);
}
