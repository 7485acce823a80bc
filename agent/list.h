/* The groups and their metrics as people read them: --list-groups, and docs/metrics.md. */
#ifndef SYNOP_AGENT_LIST_H
#define SYNOP_AGENT_LIST_H

#include <stddef.h>

#include "synop/buffer.h"
#include "synop/metric.h"

enum list_format {
  LIST_TEXT,
  LIST_JSON,    /* {"groups": [{..., "metrics": [...]}]} */
  LIST_MARKDOWN /* docs/metrics.md */
};

void list_groups (struct buffer *out, enum list_format format, const struct group *const *groups, size_t count);

#endif
