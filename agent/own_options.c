/* The options of samplers and services; see own_options.h. */
#include "agent/own_options.h"

#include <string.h>

#include "agent/groups.h"
#include "synop/memory.h"

#define OWNERS (sampler_count + service_count)

/* NULL: it has none. */
static const struct own_options *
own_at (size_t index)
{
  return index < sampler_count ? samplers[index]->options : services[index - sampler_count]->options;
}

static bool
is_reloaded (size_t index)
{
  return index < sampler_count || !services[index - sampler_count]->lasts;
}

static size_t
aligned (size_t size)
{
  return (size + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
}

size_t
own_options_size (size_t *rows)
{
  size_t size = 0;

  for (size_t i = 0; i < OWNERS; i++)
    if (own_at (i)) {
      *rows += own_at (i)->count;
      size += aligned (own_at (i)->size);
    }
  return size;
}

void
own_options_add (struct agent_options *options)
{
  size_t at = 0;

  options->own = memory_new (OWNERS, sizeof *options->own);
  for (size_t i = 0; i < OWNERS; i++) {
    const struct own_options *own = own_at (i);

    if (!own)
      continue;
    options->own[options->own_count++] = (struct own_values){ own, options->own_values + at };
    for (size_t k = 0; k < own->count; k++) {
      struct option *row = &options->table[options->row_count++];

      *row = own->rows[k];
      row->offset += offsetof (struct agent_options, own_values) + at;
      row->reload = is_reloaded (i) ? RELOAD_SAMPLING : 0;
    }
    at += aligned (own->size);
  }
}
