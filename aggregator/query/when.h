/* An instant as people type it. */
#ifndef SYNOP_AGGREGATOR_WHEN_H
#define SYNOP_AGGREGATOR_WHEN_H

#include <stdint.h>

#include "synop/error.h"

/* RFC 3339 ("2026-11-21T10:00:00.5Z", "...+01:00"), "2026-11-21 10:00[:00]" or "2026-11-21" in local time, "10:00[:00]" of
 * the local day of `now_ns`, "-1h" before it, "now". */
int when_parse (const char *text, int64_t now_ns, int64_t *ns, struct error *error);

#endif
