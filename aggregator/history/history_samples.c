/* See history_samples.h.
 *
 * A table's form (history_form.h) has the places of all its cells: it is read once, for the cells of one metric, and the
 * values of each use of it are numbers of the columns that belong to these. A chunk that is stored without forms is
 * unpacked, and its tables are read (history_samples_whole.c). */
#include "aggregator/history/history_samples.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "aggregator/history/history_form.h"
#include "aggregator/history/history_record.h"
#include "aggregator/history/history_samples_private.h"
#include "synop/array.h"
#include "synop/frame.h"
#include "synop/memory.h"

#define HEAD_NUMBERS 4   /* of a frame's head: session, sequence, monotonic ns, wall ns */
#define HEAD_SEQUENCE 1  /* and behind it monotonic ns */
#define RECORD_NUMBERS 8 /* of a record, before the distances */
#define RECORD_OFFSET 2  /* cluster ns - monotonic ns */

struct head {
  struct sample_cell numbers[HEAD_NUMBERS];
  const uint8_t *hash;
  size_t tables;
};

struct record {
  struct sample_cell *cells;
  size_t count;
};

/* ---- heads and records ---- */

/* How many items an array has of which none is in this part. */
static uint32_t
bare_array (struct wire *wire)
{
  size_t left = wire->bad ? 0 : (size_t) (wire->end - wire->at);

  if (left == 1 && (*wire->at & 0xf0) == 0x90)
    return *wire->at & 15;
  if (left == 3 && *wire->at == 0xdc)
    return (uint32_t) wire->at[1] << 8 | wire->at[2];
  wire->bad = true;
  return 0;
}

/* [version, node, session, sequence, monotonic ns, wall ns, hash, [tables... */
static bool
read_head (const struct form *form, struct head *head)
{
  struct wire wire = wire_over (form->bytes, form->length);
  uint32_t holes = 0;
  size_t length = 0;

  wire_array (&wire, UINT32_MAX);
  wire_uint (&wire, UINT64_MAX);
  wire_text (&wire, &length, FRAME_NODE_MAX);
  for (size_t i = 0; i < HEAD_NUMBERS; i++)
    head->numbers[i] = sample_cell_next (&wire, &holes);
  head->hash = wire_binary (&wire, &length, SCHEMA_HASH_SIZE);
  head->tables = bare_array (&wire);
  return !wire.bad && length == SCHEMA_HASH_SIZE;
}

/* [kind, number, cluster ns - monotonic ns, ...]: history_record.h */
static bool
read_record (const struct form *form, struct record *record)
{
  struct wire wire = wire_over (form->bytes, form->length);
  uint32_t holes = 0, count = wire_array (&wire, RECORD_NUMBERS + SCHEMA_GROUPS_MAX);

  record->count = count;
  record->cells = memory_new (count, sizeof record->cells[0]);
  for (uint32_t i = 0; i < count; i++)
    record->cells[i] = sample_cell_next (&wire, &holes);
  return !wire.bad && wire.at == wire.end && count >= RECORD_NUMBERS;
}

static size_t
table_group (const struct form *form)
{
  struct wire wire = wire_over (form->bytes, form->length);
  size_t group;

  wire_array (&wire, UINT32_MAX);
  group = (size_t) wire_uint (&wire, SCHEMA_GROUPS_MAX - 1);
  return wire.bad ? SIZE_MAX : group;
}

/* ---- the chunk ---- */

/* What is known of a form; which of these it is, its place in the messages says. */
struct known {
  bool record_read, head_read, table_read;
  struct record record;
  struct head head;
  size_t group;
  struct sample_layout layout;
};

struct reader {
  struct samples *samples;
  const struct samples_wanted *wanted;
  struct samples_columns columns;
  struct parts parts;
  struct known *known; /* of each form */
  bool **needed;       /* of each form the holes whose numbers are; NULL: none */
  size_t *uses;        /* of each form, so far */
};

static void
need (struct reader *reader, size_t form, const struct sample_cell *cells, size_t count)
{
  size_t holes = reader->parts.forms.list[form].holes;

  if (!reader->needed[form])
    reader->needed[form] = memory_new (holes, sizeof reader->needed[form][0]);
  for (size_t i = 0; i < count; i++)
    if (cells[i].hole < holes)
      reader->needed[form][cells[i].hole] = true;
}

/* Looks at a frame's parts. False: they are not as they should be. */
static bool
look_at_record (struct reader *reader, size_t form)
{
  struct known *known = &reader->known[form];

  if (!known->record_read && !read_record (&reader->parts.forms.list[form], &known->record))
    return false;
  known->record_read = true;
  need (reader, form, &known->record.cells[RECORD_OFFSET], 1);
  return true;
}

static bool
look_at_head (struct reader *reader, size_t form)
{
  struct known *known = &reader->known[form];

  if (!known->head_read && !read_head (&reader->parts.forms.list[form], &known->head))
    return false;
  known->head_read = true;
  need (reader, form, &known->head.numbers[HEAD_SEQUENCE], 2);
  if (!reader->samples->schema)
    samples_choose (reader->samples, reader->wanted, known->head.hash, &reader->columns);
  return reader->samples->schema && memcmp (reader->samples->schema->hash, known->head.hash, SCHEMA_HASH_SIZE) == 0;
}

static bool
look_at_table (struct reader *reader, size_t form)
{
  struct known *known = &reader->known[form];

  if (!known->table_read) {
    known->group = table_group (&reader->parts.forms.list[form]);
    if (known->group == SIZE_MAX ||
        (known->group == reader->columns.group &&
         !sample_layout_read (reader->samples, &reader->columns, &reader->parts.forms.list[form], &known->layout)))
      return false;
    known->table_read = true;
    if (known->group == reader->columns.group) {
      need (reader, form, &known->layout.period, 1);
      need (reader, form, known->layout.cells, known->layout.cells ? known->layout.rows : 0);
      need (reader, form, known->layout.gates, known->layout.gates ? known->layout.rows : 0);
    }
  }
  return true;
}

static bool
look_at_frames (struct reader *reader)
{
  bool fine = reader->parts.count % 2 == 0;

  for (size_t i = 0; i + 1 < reader->parts.count && fine; i += 2) {
    size_t count, tables, distance = RECORD_NUMBERS;
    const size_t *record = parts_of (&reader->parts, i, &count), *forms;
    fine = count == 1 && look_at_record (reader, record[0]);
    if (!fine)
      break;
    forms = parts_of (&reader->parts, i + 1, &count);
    fine = count > 0 && look_at_head (reader, forms[0]);
    if (!fine || !reader->samples->group)
      break;
    tables = reader->known[forms[0]].head.tables;
    fine = tables < count;
    for (size_t k = 1; k <= tables && fine; k++) {
      fine = look_at_table (reader, forms[k]);
      distance += fine && reader->known[forms[k]].group < reader->columns.group;
    }
    if (fine && distance < reader->known[record[0]].record.count)
      need (reader, record[0], &reader->known[record[0]].record.cells[distance], 1);
  }
  return fine;
}

/* ---- its samples ---- */

static void
take_rows (struct reader *reader, struct sample *sample, size_t index)
{
  struct samples *samples = reader->samples;
  const struct form *form = &reader->parts.forms.list[index];
  const struct sample_layout *layout = &reader->known[index].layout;
  size_t use = reader->uses[index]++;

  sample->there = true;
  sample->rows = layout->rows;
  sample->labels = layout->labels;
  sample->period_ns = (int64_t) sample_cell_number (&layout->period, form, use);
  sample->at = samples_add_values (samples, layout->rows);
  for (size_t row = 0; row < layout->rows; row++) {
    struct value gate = { .type = VALUE_MISSING };
    if (layout->cells)
      samples->values[sample->at + row] = sample_cell_value (&layout->cells[row], form, use);
    if (layout->gates)
      gate = sample_cell_value (&layout->gates[row], form, use);
    samples->counted[sample->at + row] = gate.type == VALUE_MISSING || value_number (&gate) > 0;
  }
}

/* The numbers of a record and of its frame. */
static void
take_frame (struct reader *reader, struct sample *sample, const size_t *record_form, const size_t *forms)
{
  const struct known *record = &reader->known[*record_form], *head = &reader->known[forms[0]];
  const struct form *list = reader->parts.forms.list;
  size_t record_use = reader->uses[*record_form]++, head_use = reader->uses[forms[0]]++, before = 0;

  *sample = (struct sample){ 0 };
  sample->sequence = sample_cell_number (&head->head.numbers[HEAD_SEQUENCE], &list[forms[0]], head_use);
  sample->monotonic_ns =
      (int64_t) sample_cell_number (&head->head.numbers[HEAD_SEQUENCE + 1], &list[forms[0]], head_use);
  sample->time_ns =
      (int64_t) (sample_cell_number (&record->record.cells[RECORD_OFFSET], &list[*record_form], record_use) +
                 (uint64_t) sample->monotonic_ns);
  for (size_t k = 1; k <= head->head.tables; k++) {
    before += reader->known[forms[k]].group < reader->columns.group;
    if (reader->known[forms[k]].group == reader->columns.group && !sample->there)
      take_rows (reader, sample, forms[k]);
  }
  if (sample->there && RECORD_NUMBERS + before < record->record.count)
    sample->distance =
        sample_cell_number (&record->record.cells[RECORD_NUMBERS + before], &list[*record_form], record_use);
}

static void
take_frames (struct reader *reader)
{
  for (size_t i = 0; i + 1 < reader->parts.count; i += 2) {
    size_t count;
    const size_t *record = parts_of (&reader->parts, i, &count), *forms = parts_of (&reader->parts, i + 1, &count);
    take_frame (reader, samples_add (reader->samples), record, forms);
  }
}

static void
reader_free (struct reader *reader)
{
  for (size_t i = 0; i < reader->parts.forms.count && reader->known; i++) {
    free (reader->known[i].record.cells);
    free (reader->known[i].layout.cells);
    free (reader->known[i].layout.gates);
    free (reader->needed[i]);
  }
  free (reader->known);
  free (reader->needed);
  free (reader->uses);
  parts_free (&reader->parts);
}

/* 0; 1: it has no forms, or others than these: who unpacks it will see. */
static int
read_parts (struct samples *samples, const struct samples_wanted *wanted, const struct buffer *raw)
{
  struct reader reader = { .samples = samples, .wanted = wanted };
  struct wire wire = wire_over (raw->data, raw->length);
  bool fine = chunk_read_parts (&reader.parts, &wire);
  size_t forms = reader.parts.forms.count;

  if (fine) {
    reader.known = memory_new (forms, sizeof reader.known[0]);
    reader.needed = memory_new (forms, sizeof reader.needed[0]);
    reader.uses = memory_new (forms, sizeof reader.uses[0]);
    fine = look_at_frames (&reader);
  }
  if (fine && samples->group) {
    fine = parts_read_columns (&reader.parts, &wire, reader.needed);
    if (fine)
      take_frames (&reader);
  }
  reader_free (&reader);
  return fine ? 0 : 1;
}

/* ---- ---- */

int
samples_read (struct samples *samples, struct history_file *file, const struct chunk_row *row, const void *bytes,
              size_t length, const char *group, const char *metric, struct error *error)
{
  const struct samples_wanted wanted = { file, group, metric };
  int result;

  samples_clear (samples);
  if (!samples->zstd && !(samples->zstd = ZSTD_createDCtx ()))
    abort ();
  result = chunk_inflate (&samples->raw, samples->zstd, bytes, length, error);
  if (result == 0 && read_parts (samples, &wanted, &samples->raw) != 0) {
    samples_clear (samples);
    samples->by_frames = true;
    result = samples_read_whole (samples, &wanted, &samples->raw, error);
  }
  samples->id = row->id;
  samples->session = row->session;
  samples->first = row->first;
  samples->last = row->last;
  if (result == 0 && samples->group && samples->count != row->last - row->first + 1)
    result = error_set (error, "it does not hold what it should");
  for (size_t i = 0; i < samples->count && result == 0; i++)
    if (samples->list[i].sequence != row->first + i)
      result = error_set (error, "a frame is broken");
  return result;
}
