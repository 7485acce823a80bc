/* The record that the history keeps with each frame, so that it can be shown as it was: its time, how well that is
 * known, and the bases of its tables. And the record of a tick: the combined report is computed again from its frames.
 *
 *   frame = [1, number, cluster ns - monotonic ns, bound ns or nil, drift ppb or nil, probe age ms or nil, late,
 *            period ns of the ticks or 0, distance...]
 *   tick  = [2, number, cluster ns, period ns, expected, reporting, waited for, stale, down, spread ns, bound ns or nil]
 *
 * number: lines are shown in its order. distance: for each table of the frame in order of groups, how many sequence
 * numbers before this frame its base is; 0: it has none. */
#ifndef SYNOP_AGGREGATOR_HISTORY_RECORD_H
#define SYNOP_AGGREGATOR_HISTORY_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "aggregator/core/cluster.h"

struct frame_record {
  int64_t number, time_ns, bound_ns, drift_ppb, probe_age_ms;
  bool late;
  int64_t tick_period_ns;
  size_t count;
  uint64_t distances[SCHEMA_GROUPS_MAX];
};

void frame_record_write (struct buffer *out, int64_t number, const struct cluster_frame *frame);
int frame_record_read (struct frame_record *record, const void *bytes, size_t length, int64_t monotonic_ns);

struct tick_record {
  int64_t number, time_ns, period_ns, spread_ns, bound_ns;
  size_t expected, reporting, waited_for, stale, down;
};

void tick_record_write (struct buffer *out, int64_t number, const struct cluster_tick_line *line);
int tick_record_read (struct tick_record *record, const void *bytes, size_t length);

#endif
