/* See tier_layout.h. A form is a table of a frame (synop/frame.h) with holes in place of numbers and nils. */
#include "aggregator/history/tier_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/array.h"
#include "synop/hash_table.h"
#include "synop/memory.h"
#include "synop/table.h"

void
slots_free (struct slots *slots)
{
  free (slots->list);
  free (slots->table);
}

void
layout_free (struct layout *layout)
{
  free (layout->runs);
  free (layout->literals);
  free (layout->gates);
}

/* ---- slots ---- */

static bool
slot_is (const struct slot *slot, const char *label, uint32_t length, uint32_t number)
{
  char text[16];

  if (label && slot->label)
    return slot->length == length && memcmp (slot->label, label, length) == 0;
  if (!label && !slot->label)
    return slot->number == number;
  if (!label)
    return slot->length == (uint32_t) snprintf (text, sizeof text, "%u", number) &&
           memcmp (slot->label, text, slot->length) == 0;
  return length == (uint32_t) snprintf (text, sizeof text, "%u", slot->number) && memcmp (label, text, length) == 0;
}

static uint64_t
hash_label (const char *label, uint32_t length, uint32_t number)
{
  char text[16];

  if (label)
    return hash_keyed (label, length);
  return hash_keyed (text, (size_t) snprintf (text, sizeof text, "%u", number));
}

static void
slots_grow (struct slots *slots)
{
  size_t size = slots->table_size ? slots->table_size * 2 : 64;
  uint32_t *table = memory_new (size, sizeof *table);

  for (size_t i = 1; i < slots->count; i++) {
    const struct slot *slot = &slots->list[i];
    size_t at = hash_label (slot->label, slot->length, slot->number) & (size - 1);
    while (table[at])
      at = (at + 1) & (size - 1);
    table[at] = (uint32_t) i + 1;
  }
  free (slots->table);
  slots->table = table;
  slots->table_size = size;
}

/* The slot of a row, first looked for at its usual place; a new one; or 0, over the limit. */
static uint32_t
slots_find (struct slots *slots, size_t expected, const char *label, uint32_t length, uint32_t number, size_t metrics)
{
  size_t at;

  if (expected < slots->count && slot_is (&slots->list[expected], label, length, number))
    return (uint32_t) expected;
  if (2 * slots->count >= slots->table_size)
    slots_grow (slots);
  at = hash_label (label, length, number) & (slots->table_size - 1);
  for (; slots->table[at]; at = (at + 1) & (slots->table_size - 1))
    if (slot_is (&slots->list[slots->table[at] - 1], label, length, number))
      return slots->table[at] - 1;
  if ((slots->count + 1) * metrics > LAYOUT_SERIES_MAX) {
    slots->left_out++;
    return 0;
  }
  slots->table[at] = (uint32_t) slots->count + 1;
  *array_add (slots->list, slots->count, slots->capacity) = (struct slot){ label, length, number };
  return (uint32_t) slots->count - 1;
}

/* ---- forms ---- */

struct parse {
  struct wire wire;
  int32_t holes;
  struct layout *layout;
};

/* The next item; a hole is counted. */
static struct wire_token
next_item (struct parse *parse, bool *hole)
{
  *hole = !parse->wire.bad && parse->wire.at < parse->wire.end && *parse->wire.at == FORM_HOLE;
  if (*hole) {
    parse->wire.at++;
    parse->holes++;
    return (struct wire_token){ .type = WIRE_NIL };
  }
  return wire_next (&parse->wire);
}

/* The next item as a number: its hole, or a literal of what it is. A text is nil. */
static int32_t
next_number (struct parse *parse)
{
  bool hole;
  struct wire_token token = next_item (parse, &hole);
  struct layout *layout = parse->layout;
  struct number number = { .class = NUMBER_NIL };

  if (hole)
    return parse->holes - 1;
  if (token.type == WIRE_UINT)
    number = (struct number){ NUMBER_UINT, token.as.u };
  else if (token.type == WIRE_INT)
    number = (struct number){ NUMBER_NEGATIVE, (uint64_t) token.as.i };
  else if (token.type == WIRE_REAL) {
    number.class = NUMBER_REAL;
    memcpy (&number.bits, &token.as.d, sizeof number.bits);
  }
  *array_add (layout->literals, layout->literal_count, layout->literal_capacity) = number;
  return -(int32_t) layout->literal_count;
}

static void
add_value (struct layout *layout, size_t metric, bool of_node, uint32_t slot, uint32_t row, int32_t hole)
{
  struct run *last = layout->count ? &layout->runs[layout->count - 1] : NULL;

  if (last && !of_node && last->metric == metric && !last->of_node && hole >= 0 && last->hole >= 0 &&
      hole == last->hole + (int32_t) last->count && row == last->row + last->count && slot == last->slot + last->count)
    last->count++;
  else
    *array_add (layout->runs, layout->count, layout->capacity) =
        (struct run){ (uint16_t) metric, of_node, slot, row, 1, hole };
}

int
layout_group (const struct form *form)
{
  struct wire wire = wire_over (form->bytes, form->length);
  struct wire_token head = wire_next (&wire), group = wire_next (&wire);

  return wire.bad || head.type != WIRE_ARRAY || group.type != WIRE_UINT || group.as.u > INT16_MAX ? -1
                                                                                                  : (int) group.as.u;
}

struct labels {
  struct wire at; /* behind the head; unless they are counted */
  bool counted;
  uint32_t count; /* unless counted */
};

static struct labels
parse_labels (struct parse *parse)
{
  bool hole;
  struct wire_token token = next_item (parse, &hole);
  struct labels labels = { .at = parse->wire, .counted = hole || token.type != WIRE_ARRAY, .count = token.length };

  for (uint32_t i = 0; !labels.counted && i < labels.count && !parse->wire.bad; i++)
    wire_next (&parse->wire);
  return labels;
}

/* The slots of the rows; the caller frees them. */
static uint32_t *
find_slots (struct labels labels, uint32_t rows, size_t metrics, struct slots *slots)
{
  uint32_t *found = memory_new (rows, sizeof *found);

  for (uint32_t row = 0; row < rows; row++) {
    struct wire_token token = { .type = WIRE_NIL };
    if (!labels.counted)
      token = wire_next (&labels.at);
    found[row] = slots_find (slots, row + 1, labels.counted ? NULL : (const char *) token.as.bytes,
                             labels.counted ? 0 : token.length, row, metrics);
  }
  return found;
}

/* Columns: nil, or an array with a value for each row. */
static void
parse_columns (struct parse *parse, const struct group *group, size_t gate, struct labels labels, struct slots *slots)
{
  struct layout *layout = parse->layout;
  struct wire_token head = wire_next (&parse->wire);
  uint32_t *found = NULL, left = head.length;

  for (size_t m = 0; m < group->metric_count && left && !parse->wire.bad; m++) {
    struct wire_token column;
    bool hole;
    if (group->metrics[m].flags & METRIC_OF_NODE)
      continue;
    left--;
    column = next_item (parse, &hole);
    if (hole)
      continue;
    if (column.type != WIRE_ARRAY || column.length > TABLE_ROWS_MAX ||
        column.length > (size_t) (parse->wire.end - parse->wire.at) || (found && column.length != layout->rows) ||
        (!labels.counted && column.length != labels.count)) {
      layout->bad = true;
      break;
    }
    if (!found) {
      layout->rows = column.length;
      found = find_slots (labels, layout->rows, group->metric_count, slots);
    }
    if (m == gate)
      layout->gates = memory_new (layout->rows, sizeof layout->gates[0]);
    for (uint32_t row = 0; row < layout->rows; row++) {
      int32_t number = next_number (parse);
      if (m == gate)
        layout->gates[row] = number;
      if (group->metrics[m].kind != TEXT && found[row])
        add_value (layout, m, false, found[row], row, number);
    }
  }
  free (found);
}

void
layout_make (struct layout *layout, const struct form *form, const struct group *group, size_t gate,
             struct slots *slots)
{
  struct parse parse = { .wire = wire_over (form->bytes, form->length), .layout = layout };
  struct wire_token head;
  struct labels labels;
  bool hole;

  layout->form = form;
  if (slots->count == 0)
    *array_add (slots->list, slots->count, slots->capacity) = (struct slot){ 0 };
  wire_next (&parse.wire); /* the array, and its group */
  wire_next (&parse.wire);
  layout->period = next_number (&parse);
  next_item (&parse, &hole); /* the error */
  labels = parse_labels (&parse);
  head = wire_next (&parse.wire);
  for (size_t m = 0; m < group->metric_count && !parse.wire.bad && head.length; m++)
    if (group->metrics[m].flags & METRIC_OF_NODE) {
      int32_t number = next_number (&parse);
      head.length--;
      if (group->metrics[m].kind != TEXT)
        add_value (layout, m, true, 0, 0, number);
    }
  parse_columns (&parse, group, gate, labels, slots);
  layout->bad = layout->bad || parse.wire.bad || parse.holes > (int32_t) form->holes;
}
