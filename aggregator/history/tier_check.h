/* Looks at all that a history has of its tiers, for `check`. */
#ifndef SYNOP_AGGREGATOR_TIER_CHECK_H
#define SYNOP_AGGREGATOR_TIER_CHECK_H

#include "aggregator/history/history_file.h"

struct tier_check {
  uint64_t minutes, hours, staged; /* blocks; and what waits to become some */
  uint64_t unfolded;               /* chunks that are in no tier yet */
};

/* `fault` gets a sentence for each that is broken. -1: the file cannot be read. */
int tier_check (struct history_file *file, struct tier_check *check, void *context,
                void (*fault) (void *context, const char *text), struct error *error);

#endif
