/* See tier_grid.h. */
#include "aggregator/history/tier_grid.h"

#include <stdlib.h>
#include <string.h>

#include "synop/array.h"
#include "synop/hash_table.h"
#include "synop/memory.h"

#define ROOM_MORE 12      /* cells */
#define SEGMENT_CELLS 240 /* of sections that share their labels, and are read together: a metric of some nodes; */
#define SEGMENT_CELLS_FEW 16384 /* where metrics have less than that in the mean, many of them: these pack better */
#define ROWS_CELLS 4096         /* rows that are read together with their nodes, to which they may be equal */

struct tier_grid *
tier_grid_create (uint32_t times)
{
  struct tier_grid *grid = memory_new (1, sizeof *grid);

  grid->times = times;
  return grid;
}

void
tier_grid_clear (struct tier_grid *grid)
{
  for (size_t i = 0; i < grid->count; i++) {
    struct grid_section *section = &grid->sections[i];
    for (size_t k = 0; k < section->count; k++)
      free (section->series[k].cells);
    free (section->series);
    free (section->table);
  }
  for (size_t i = 0; i < grid->label_count; i++)
    free (grid->labels[i].text);
  if (grid->table)
    memset (grid->table, 0, grid->table_size * sizeof grid->table[0]);
  if (grid->label_table)
    memset (grid->label_table, 0, grid->label_table_size * sizeof grid->label_table[0]);
  grid->count = grid->label_count = grid->cells = 0;
}

void
tier_grid_destroy (struct tier_grid *grid)
{
  if (!grid)
    return;
  tier_grid_clear (grid);
  free (grid->sections);
  free (grid->table);
  free (grid->labels);
  free (grid->label_table);
  free (grid);
}

/* Tables of indexes + 1, at most half full: `hash_of` gives the hash of an index. */
static void
table_grow (uint32_t **table, size_t *size, size_t count, const void *context,
            uint64_t (*hash_of) (const void *context, size_t index))
{
  if (2 * (count + 1) <= *size)
    return;
  *size = *size ? *size * 2 : 16;
  free (*table);
  *table = memory_new (*size, sizeof **table);
  for (size_t i = 0; i < count; i++) {
    size_t at = hash_of (context, i) & (*size - 1);
    while ((*table)[at])
      at = (at + 1) & (*size - 1);
    (*table)[at] = (uint32_t) i + 1;
  }
}

/* ---- labels ---- */

static uint64_t
hash_of_label (const void *context, size_t index)
{
  const struct tier_grid *grid = context;

  return hash_keyed (grid->labels[index].text, grid->labels[index].length);
}

static bool
label_is (const struct tier_grid *grid, uint32_t label, const char *text, size_t length)
{
  const struct grid_label *one = label ? &grid->labels[label - 1] : NULL;

  return one ? text && one->length == length && memcmp (one->text, text, length) == 0 : !text;
}

static uint32_t
grid_label (struct tier_grid *grid, const char *text, size_t length)
{
  size_t at;

  if (!text)
    return 0;
  table_grow (&grid->label_table, &grid->label_table_size, grid->label_count, grid, hash_of_label);
  at = hash_keyed (text, length) & (grid->label_table_size - 1);
  for (; grid->label_table[at]; at = (at + 1) & (grid->label_table_size - 1))
    if (label_is (grid, grid->label_table[at], text, length))
      return grid->label_table[at];
  *array_add (grid->labels, grid->label_count, grid->label_capacity) =
      (struct grid_label){ .text = memory_copy (text, length), .length = length };
  return grid->label_table[at] = (uint32_t) grid->label_count;
}

/* ---- sections ---- */

static uint64_t
hash_section (int64_t metric, bool rows)
{
  return ((uint64_t) metric * 2 + rows) * UINT64_C (0x9e3779b97f4a7c15) >> 20;
}

static uint64_t
hash_of_section (const void *context, size_t index)
{
  const struct tier_grid *grid = context;

  return hash_section (grid->sections[index].metric, grid->sections[index].rows);
}

static struct grid_section *
grid_section (struct tier_grid *grid, int64_t metric, bool rows)
{
  size_t at;

  table_grow (&grid->table, &grid->table_size, grid->count, grid, hash_of_section);
  at = hash_section (metric, rows) & (grid->table_size - 1);
  for (; grid->table[at]; at = (at + 1) & (grid->table_size - 1)) {
    struct grid_section *section = &grid->sections[grid->table[at] - 1];
    if (section->metric == metric && section->rows == rows)
      return section;
  }
  grid->table[at] = (uint32_t) grid->count + 1;
  struct grid_section *section = array_add (grid->sections, grid->count, grid->capacity);
  *section = (struct grid_section){ .metric = metric, .rows = rows };
  return section;
}

/* ---- series ---- */

static uint64_t
hash_series (int64_t node, uint32_t label)
{
  return ((uint64_t) node << 32 ^ label) * UINT64_C (0x9e3779b97f4a7c15) >> 20;
}

static uint64_t
hash_of_series (const void *context, size_t index)
{
  const struct grid_section *section = context;

  return hash_series (section->series[index].node, section->series[index].label);
}

static bool
series_is (const struct tier_grid *grid, const struct grid_section *section, size_t index, int64_t node,
           const struct tier_series *series)
{
  return index < section->count && section->series[index].node == node &&
         label_is (grid, section->series[index].label, series->label, series->length);
}

static struct grid_series *
section_series (struct tier_grid *grid, struct grid_section *section, int64_t node, const struct tier_series *series)
{
  uint32_t label;
  size_t at;

  if (series_is (grid, section, section->hint, node, series))
    return &section->series[section->hint++];
  if (section->hint && series_is (grid, section, section->hint - 1, node, series))
    return &section->series[section->hint - 1];
  label = grid_label (grid, series->label, series->length);
  table_grow (&section->table, &section->table_size, section->count, section, hash_of_series);
  at = hash_series (node, label) & (section->table_size - 1);
  for (; section->table[at]; at = (at + 1) & (section->table_size - 1)) {
    size_t found = section->table[at] - 1;
    if (section->series[found].node == node && section->series[found].label == label) {
      section->hint = found + 1;
      return &section->series[found];
    }
  }
  section->table[at] = (uint32_t) section->count + 1;
  section->hint = section->count + 1;
  *array_add (section->series, section->count, section->capacity) =
      (struct grid_series){ .node = node, .label = label };
  return &section->series[section->count - 1];
}

/* The cell of a time, which is made if need be, with some behind it: mostly these come next. */
static struct tier_cell *
grid_cell (struct tier_grid *grid, struct grid_series *series, uint32_t time)
{
  uint32_t first = series->first, end = first + series->room;
  struct tier_cell *cells;

  if (time >= first && time < end)
    return &series->cells[time - first];
  if (series->room == 0)
    first = end = time;
  first = time < first ? time : first;
  if (time >= end)
    end = time + ROOM_MORE < grid->times ? time + ROOM_MORE : grid->times;
  cells = memory_new (end - first, sizeof *cells);
  if (series->room)
    memcpy (cells + (series->first - first), series->cells, series->room * sizeof *cells);
  free (series->cells);
  grid->cells += end - first - series->room;
  series->cells = cells;
  series->first = first;
  series->room = end - first;
  return &cells[time - first];
}

void
tier_grid_add (struct tier_grid *grid, int64_t metric, int64_t node, const struct tier_series *series)
{
  struct grid_section *section = grid_section (grid, metric, series->label);
  struct grid_series *to = section_series (grid, section, node, series);

  for (size_t i = 0; i < series->count; i++) {
    uint32_t time = grid->times == 1 ? 0 : series->times[i];
    if (time < grid->times)
      tier_cell_merge (grid_cell (grid, to, time), &series->cells[i]);
  }
}

void
tier_grid_add_all (struct tier_grid *grid, const struct tier_grid *from, uint32_t time)
{
  for (size_t i = 0; i < from->count; i++)
    for (size_t k = 0; k < from->sections[i].count; k++) {
      const struct grid_series *series = &from->sections[i].series[k];
      const struct grid_label *label = series->label ? &from->labels[series->label - 1] : NULL;
      struct tier_cell all = { 0 };
      for (uint32_t at = 0; at < series->room; at++)
        tier_cell_merge (&all, &series->cells[at]);
      tier_grid_add (grid, from->sections[i].metric, series->node,
                     &(struct tier_series){ .label = label ? label->text : NULL,
                                            .length = label ? label->length : 0,
                                            .count = all.count > 0,
                                            .times = &time,
                                            .cells = &all });
    }
}

void
tier_grid_put_fuller (struct tier_grid *grid, const struct tier_grid *from, const struct grid_section *section)
{
  for (size_t i = 0; i < section->count; i++) {
    const struct grid_series *series = &section->series[i];
    const struct grid_label *label = series->label ? &from->labels[series->label - 1] : NULL;
    const struct tier_series named = { .label = label ? label->text : NULL, .length = label ? label->length : 0 };
    struct grid_series *to =
        section_series (grid, grid_section (grid, section->metric, section->rows), series->node, &named);
    for (uint32_t at = 0; at < series->room; at++) {
      struct tier_cell *cell = grid_cell (grid, to, series->first + at);
      if (series->cells[at].count >= cell->count)
        *cell = series->cells[at];
    }
  }
}

static void
write_section (struct tier_grid *grid, const struct grid_section *section, uint32_t metric, uint32_t time,
               struct tier_writer *writer)
{
  for (size_t i = 0; i < section->count; i++) {
    const struct grid_series *series = &section->series[i];
    uint32_t number = 0;
    if (series->label) {
      struct grid_label *label = &grid->labels[series->label - 1];
      if (label->stamp != grid->stamp)
        *label = (struct grid_label){ label->text, label->length,
                                      tier_writer_label (writer, label->text, label->length), grid->stamp };
      number = label->written;
    }
    tier_writer_series (writer, metric, series->node, number, series->cells, 1, time + series->first, series->room);
  }
}

bool
tier_grid_write (struct tier_grid *grid, const struct grid_section *section, uint32_t time, struct tier_writer *writer,
                 struct buffer *out)
{
  grid->stamp++;
  write_section (grid, section, 0, time, writer);
  tier_writer_segment (writer);
  return tier_writer_end (writer, out);
}

static int
compare_sections (const void *one, const void *other)
{
  const struct grid_section *const *a = one, *const *b = other;

  return (*a)->metric != (*b)->metric ? ((*a)->metric < (*b)->metric ? -1 : 1) : (int) (*a)->rows - (int) (*b)->rows;
}

static size_t
cells_of (const struct grid_section *section)
{
  size_t cells = 0;

  for (size_t i = 0; i < section->count; i++)
    cells += section->series[i].room;
  return cells;
}

bool
tier_grid_write_all (struct tier_grid *grid, uint32_t time, struct tier_writer *writer, struct buffer *out)
{
  const struct grid_section **sections = memory_new (grid->count, sizeof *sections);
  size_t cells = 0, most = grid->cells < SEGMENT_CELLS * grid->count ? SEGMENT_CELLS_FEW : SEGMENT_CELLS;

  for (size_t i = 0; i < grid->count; i++)
    sections[i] = &grid->sections[i];
  qsort (sections, grid->count, sizeof *sections, compare_sections);
  grid->stamp++;
  for (size_t i = 0; i < grid->count; i++) {
    if (cells >= most && (sections[i]->metric != sections[i - 1]->metric || cells_of (sections[i]) > ROWS_CELLS)) {
      tier_writer_segment (writer);
      grid->stamp++;
      cells = 0;
    }
    write_section (grid, sections[i], (uint32_t) sections[i]->metric, time, writer);
    cells += cells_of (sections[i]);
  }
  tier_writer_segment (writer);
  free (sections);
  return tier_writer_end (writer, out);
}
