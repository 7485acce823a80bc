/* The frames of a chunk as tables whose numbers lie in columns: see tier_fold.h. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/history_record.h"
#include "aggregator/history/tier_fold_private.h"
#include "synop/array.h"
#include "synop/frame.h"
#include "synop/memory.h"

static const struct layout *
layout_of (struct fold *fold, struct fold_frames *frames, const struct chunk_parts *parts, uint32_t index)
{
  struct layout *layout = &frames->layouts[index];
  int group;

  if (layout->form)
    return layout->bad ? NULL : layout;
  layout->form = &parts->forms[index];
  group = layout_group (layout->form);
  layout->bad = group < 0 || (size_t) group >= fold->schema->group_count;
  if (layout->bad)
    return NULL;
  layout->group = (uint16_t) group;
  if (fold->groups[group].group->flags & GROUP_ONCE)
    return layout;
  layout_make (layout, layout->form, fold->groups[group].group, fold->groups[group].gate, &fold->groups[group].slots);
  return layout->bad ? NULL : layout;
}

/* Takes the tables of a frame; `used` counts the uses of each form. */
static void
take_tables (struct fold *fold, struct fold_frames *frames, const struct chunk_parts *parts, size_t message,
             uint32_t frame, uint32_t *used, const struct frame_record *record)
{
  size_t first = message ? parts->ends[message - 1] : 0, length, rank = 0;
  const uint8_t *bytes = chunk_message (frames->chunk, message, &length);
  struct use *by_group[SCHEMA_GROUPS_MAX] = { NULL };
  struct frame_header header;
  struct wire wire;
  uint32_t tables;

  if (frame_read_header (bytes, length, &header, NULL) < 0) {
    fold->bad = true;
    return;
  }
  frames->places[frame] = (struct frame_place){ record ? record->time_ns : 0, header.monotonic_ns, header.sequence };
  wire = wire_over (bytes + header.tables_offset, length - header.tables_offset);
  tables = wire_array (&wire, SCHEMA_GROUPS_MAX);
  for (size_t i = first; i < parts->ends[message]; i++) {
    uint32_t form = parts->parts[i];
    const struct layout *layout = i > first && i - first <= tables ? layout_of (fold, frames, parts, form) : NULL;
    if (layout) {
      struct fold_group *group = &fold->groups[layout->group];
      struct use *use = record ? array_add (group->uses, group->count, group->capacity)
                               : &frames->tables[frame * fold->schema->group_count + layout->group];
      *use = (struct use){ .frame = frame,
                           .layout = layout,
                           .row = parts->forms[form].numbers + used[form] * parts->forms[form].holes };
      by_group[layout->group] = use;
    }
    used[form]++;
  }
  for (size_t g = 0; record && g < fold->schema->group_count; g++)
    if (by_group[g]) {
      uint64_t distance = rank < record->count ? record->distances[rank] : 0;
      by_group[g]->base = distance && distance < header.sequence ? header.sequence - distance : 0;
      rank++;
    }
}

void
fold_read_frames (struct fold *fold, struct fold_frames *frames, const struct chunk_parts *parts)
{
  uint32_t *used = memory_new (parts->form_count, sizeof *used);
  struct frame_record record;

  frames->layouts = memory_new (parts->form_count, sizeof frames->layouts[0]);
  frames->layout_count = parts->form_count;
  frames->count = frames->records ? parts->count / 2 : parts->count;
  frames->places = memory_new (frames->count, sizeof frames->places[0]);
  if (!frames->records)
    frames->tables = memory_new (frames->count * fold->schema->group_count, sizeof frames->tables[0]);
  for (size_t message = 0; message < parts->count && !fold->bad; message++) {
    size_t length;
    const void *bytes = chunk_message (frames->chunk, message, &length);
    if (frames->records && message % 2 == 0) {
      for (size_t i = message ? parts->ends[message - 1] : 0; i < parts->ends[message]; i++)
        used[parts->parts[i]]++;
      fold->bad = frame_record_read (&record, bytes, length, 0) < 0;
    } else if (frames->records) {
      take_tables (fold, frames, parts, message, (uint32_t) message / 2, used, &record);
    } else {
      take_tables (fold, frames, parts, message, (uint32_t) message, used, NULL);
    }
  }
  free (used);
}

void
fold_frames_free (struct fold_frames *frames)
{
  for (size_t i = 0; i < frames->layout_count; i++)
    layout_free (&frames->layouts[i]);
  free (frames->layouts);
  free (frames->places);
  free (frames->tables);
}

/* ---- what a table is compared with ---- */

/* The use of the group in that frame of the chunk; NULL: none. Mostly it is the one before. */
static const struct use *
find_use (const struct fold_group *group, size_t before, uint32_t frame)
{
  while (before-- > 0)
    if (group->uses[before].frame <= frame)
      return group->uses[before].frame == frame ? &group->uses[before] : NULL;
  return NULL;
}

const struct use *
fold_base_of (const struct fold *fold, const struct fold_group *group, size_t index, int64_t *monotonic_ns)
{
  uint64_t base = group->uses[index].base, first = fold->row->first;
  const struct use *use = NULL;

  if (base == 0)
    return NULL;
  if (base >= first) {
    use = base - first < fold->frames.count ? find_use (group, index, (uint32_t) (base - first)) : NULL;
    *monotonic_ns = use ? fold->frames.places[use->frame].monotonic_ns : 0;
    return use;
  }
  for (size_t i = 0; i < fold->before.count; i++)
    if (fold->before.places[i].sequence == base) {
      use = &fold->before.tables[i * fold->schema->group_count + (size_t) (group - fold->groups)];
      *monotonic_ns = fold->before.places[i].monotonic_ns;
      return use->layout ? use : NULL;
    }
  return NULL;
}

static bool
has_message (const uint64_t *sequences, size_t count, uint64_t sequence)
{
  for (size_t i = 0; i < count; i++)
    if (sequences[i] == sequence)
      return true;
  return false;
}

void
fold_want_before (struct fold *fold, const struct tier_bases *bases, struct chunk *before)
{
  uint64_t wanted[SCHEMA_GROUPS_MAX];
  size_t count = 0, length;
  const void *bytes;
  struct frame_header header;

  for (size_t g = 0; g < fold->schema->group_count; g++)
    for (size_t i = 0; fold->groups[g].counts && i < fold->groups[g].count; i++) {
      uint64_t base = fold->groups[g].uses[i].base;
      if (base == 0 || base >= fold->row->first || has_message (wanted, count, base))
        continue;
      if (count == SCHEMA_GROUPS_MAX || !bases->frame (bases->context, base, &bytes, &length))
        continue;
      wanted[count++] = base;
      if (frame_read_header (bytes, length, &header, NULL) == 0 && header.sequence == base &&
          memcmp (header.schema, fold->schema->hash, SCHEMA_HASH_SIZE) == 0)
        chunk_add (before, bytes, length);
    }
}
