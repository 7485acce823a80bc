/* Groups whose rows are folders of the kernel, and whose columns are files in them:
 *
 *   /sys/class/thermal/cooling_device0/{type,cur_state,max_state}    "Processor", "0", "10"
 *
 * metric.source names the file; metrics without one are the group's own affair. A file that is absent, empty or refuses to
 * be read is a missing value, since drivers have what they like; one that holds no number is a complaint. Each file is
 * opened anew, since there may be thousands, and that costs 10 us: so these groups are sampled seldom, and what hardly
 * changes is read in one sample of six, and when the first metric has changed. */
#ifndef SYNOP_AGENT_FOLDER_ROWS_H
#define SYNOP_AGENT_FOLDER_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/sampling/sampler.h"
#include "agent/source/facts.h"

struct folder_rows_type {
  const struct group *group;
  const char *folder; /* "/sys/class/thermal" */
  const char *prefix; /* of the names of those that are rows: "cooling_device" */
  size_t skip;        /* length of the prefix that labels leave out */
  size_t live;        /* how many of the first metrics each sample reads */
};

struct folder_rows {
  const struct folder_rows_type *type;
  char *root; /* a copy: see worker.h */
  struct folder_watch watch;
  struct names names;
  struct table last; /* the last sample that read all files */
  unsigned age;      /* samples since then */
};

struct folder_rows *folder_rows_create (const struct folder_rows_type *type, const char *root);
/* `exclude` (may be ""): globs of names to leave out. */
void folder_rows_sample (struct folder_rows *rows, const char *exclude, struct table *table);

/* For `struct sampler`: the state is a struct folder_rows. */
bool folder_rows_may_block (void *state);
int folder_rows_sample_all (void *state, struct table *table);
void folder_rows_destroy (void *state);

/* A sampler of `group` that has all rows: FOLDER_ROWS_SAMPLER (edac, 10 * NS_PER_S, "/sys/devices/system/edac/mc", "mc", 2,
 * 4); behind the period it has the members of struct folder_rows_type. */
#define FOLDER_ROWS_SAMPLER(NAME, PERIOD_NS, ...)                                                                      \
  static void *NAME##_open (const struct sampler_context *context)                                                     \
  {                                                                                                                    \
    static const struct folder_rows_type type = { &group, __VA_ARGS__ };                                               \
                                                                                                                       \
    return folder_rows_create (&type, context->root);                                                                  \
  }                                                                                                                    \
                                                                                                                       \
  const struct sampler sampler_##NAME = {                                                                              \
    &group,           folder_rows_may_block, NAME##_open, folder_rows_sample_all, folder_rows_destroy,                 \
    .optional = true, .period_ns = PERIOD_NS                                                                           \
  }

#endif
