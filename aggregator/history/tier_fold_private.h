/* What the files of the fold share: tier_fold.c (values, minutes), tier_frames.c (frames, and what they are compared with). */
#ifndef SYNOP_AGGREGATOR_TIER_FOLD_PRIVATE_H
#define SYNOP_AGGREGATOR_TIER_FOLD_PRIVATE_H

#include "aggregator/history/tier_fold.h"
#include "aggregator/history/tier_layout.h"

/* A table in the chunk. */
struct use {
  uint32_t frame;
  const struct layout *layout;
  const struct number *row;
  uint64_t base; /* sequence number of the frame that it is compared with; 0: none */
};

struct frame_place {
  int64_t time_ns, monotonic_ns;
  uint64_t sequence;
};

struct fold_group {
  const struct group *group;
  struct slots slots;
  struct use *uses;
  size_t count, capacity;
  struct tier_cell *cells; /* minute by minute, all series */
  size_t series;
  size_t gate;
  bool counts;
};

/* One list of frames: those of the chunk, or those before it. */
struct fold_frames {
  const struct chunk *chunk;
  bool records; /* each has a record before it */
  struct frame_place *places;
  size_t count;
  struct layout *layouts;
  size_t layout_count;
  struct use *tables; /* of frames before it: frame by frame, one for each group; layout NULL: none */
};

struct fold {
  const struct schema *schema;
  const struct chunk_row *row;
  struct fold_group *groups;
  struct fold_frames frames, before;
  int64_t first_minute;
  size_t minutes;
  bool bad;
};

/* Lays out the forms of frames, and lists their tables. */
void fold_read_frames (struct fold *fold, struct fold_frames *frames, const struct chunk_parts *parts);
void fold_frames_free (struct fold_frames *frames);
/* What a table is compared with; NULL: nothing. `monotonic_ns`: when that was sampled. */
const struct use *fold_base_of (const struct fold *fold, const struct fold_group *group, size_t index,
                                int64_t *monotonic_ns);
/* Asks for the frames from before the chunk that tables of counters are compared with. */
void fold_want_before (struct fold *fold, const struct tier_bases *bases, struct chunk *before);

#endif
