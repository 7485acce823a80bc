/* Where a form has the cells of one metric; see history_samples_private.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/history_samples_private.h"
#include "synop/array.h"
#include "synop/memory.h"

static struct value
value_of_token (const struct wire_token *token)
{
  if (token->type == WIRE_UINT)
    return (struct value){ .type = VALUE_UINT, .as.u = token->as.u };
  if (token->type == WIRE_INT)
    return (struct value){ .type = VALUE_INT, .as.i = token->as.i };
  if (token->type == WIRE_REAL && isfinite (token->as.d))
    return (struct value){ .type = VALUE_REAL, .as.d = token->as.d };
  return (struct value){ .type = VALUE_MISSING };
}

static struct value
value_of_number (const struct number *number)
{
  struct value value = { .type = VALUE_MISSING };

  if (number->class == NUMBER_UINT)
    value = (struct value){ .type = VALUE_UINT, .as.u = number->bits };
  else if (number->class == NUMBER_NEGATIVE)
    value = (struct value){ .type = VALUE_INT, .as.i = (int64_t) number->bits };
  else if (number->class == NUMBER_REAL) {
    value.type = VALUE_REAL;
    memcpy (&value.as.d, &number->bits, sizeof number->bits);
    if (!isfinite (value.as.d))
      value.type = VALUE_MISSING;
  }
  return value;
}

/* A cell: a hole, or a value that is the same in every use. */
struct sample_cell
sample_cell_next (struct wire *form, uint32_t *holes)
{
  struct wire_token token;

  if (!form->bad && form->at < form->end && *form->at == FORM_HOLE) {
    form->at++;
    return (struct sample_cell){ .hole = (*holes)++ };
  }
  token = wire_next (form);
  if (token.type == WIRE_ARRAY || token.type == WIRE_MAP)
    form->bad = true;
  return (struct sample_cell){ UINT32_MAX, value_of_token (&token) };
}

struct value
sample_cell_value (const struct sample_cell *cell, const struct form *form, size_t use)
{
  return cell->hole == UINT32_MAX ? cell->value : value_of_number (&form->numbers[use * form->holes + cell->hole]);
}

uint64_t
sample_cell_number (const struct sample_cell *cell, const struct form *form, size_t use)
{
  struct value value = sample_cell_value (cell, form, use);

  return value.type == VALUE_UINT || value.type == VALUE_INT ? value.as.u : 0;
}

/* An array of labels, or a hole: how many rows there are is said by the columns then. */
static void
read_labels (struct wire *form, uint32_t *holes, struct sample_layout *layout)
{
  uint32_t count;

  if (wire_peek (form) == FORM_HOLE) {
    sample_cell_next (form, holes);
    return;
  }
  count = wire_array (form, TABLE_ROWS_MAX);
  layout->rows = count;
  layout->rows_known = true;
  for (uint32_t i = 0; i < count && !form->bad; i++) {
    size_t length;
    const char *label = wire_text (form, &length, TABLE_LABEL_MAX);
    buffer_add (&layout->labels->text, label, form->bad ? 0 : length);
    *array_add (layout->labels->ends, layout->labels->count, layout->labels->capacity) = layout->labels->text.length;
  }
}

static void
number_labels (struct sample_labels *labels, size_t rows)
{
  while (labels->count < rows) {
    buffer_printf (&labels->text, "%zu", labels->count);
    *array_add (labels->ends, labels->count, labels->capacity) = labels->text.length;
  }
}

/* A column of the table: nil, or an array with a cell for each row. `to` NULL: it is skipped. */
static void
read_column (struct wire *form, uint32_t *holes, struct sample_layout *layout, struct sample_cell **to)
{
  uint32_t count;

  if (wire_peek (form) == FORM_HOLE) {
    sample_cell_next (form, holes);
    return;
  }
  count = wire_array (form, TABLE_ROWS_MAX);
  if (layout->rows_known && count != layout->rows)
    form->bad = true;
  layout->rows = count;
  layout->rows_known = true;
  if (to)
    *to = memory_new (count, sizeof **to);
  for (uint32_t i = 0; i < count && !form->bad; i++) {
    struct sample_cell cell = sample_cell_next (form, holes);
    if (to)
      (*to)[i] = cell;
  }
}

/* [group, period, error, labels, values of the node, columns] */
bool
sample_layout_read (struct samples *samples, const struct samples_columns *columns, const struct form *bytes,
                    struct sample_layout *layout)
{
  const struct group *group = samples->group;
  struct wire form = wire_over (bytes->bytes, bytes->length);
  bool of_node = group->metrics[columns->column].flags & METRIC_OF_NODE;
  uint32_t holes = 0, fields = wire_array (&form, UINT32_MAX);
  size_t count;

  wire_uint (&form, SCHEMA_GROUPS_MAX);
  layout->labels = samples_add_labels (samples);
  layout->period = sample_cell_next (&form, &holes);
  sample_cell_next (&form, &holes);
  read_labels (&form, &holes, layout);
  count = wire_array (&form, SCHEMA_METRICS_MAX);
  if (fields < 6 || count != group_node_metrics (group))
    return false;
  for (size_t i = 0; i < group->metric_count && !form.bad; i++)
    if (group->metrics[i].flags & METRIC_OF_NODE) {
      struct sample_cell cell = sample_cell_next (&form, &holes);
      if (of_node && i == columns->column) {
        layout->cells = memory_new (1, sizeof *layout->cells);
        layout->cells[0] = cell;
      }
    }
  if (of_node) {
    layout->rows = 1;
    layout->labels = NULL;
    return !form.bad;
  }
  wire_array (&form, SCHEMA_METRICS_MAX);
  for (size_t i = 0; i < group->metric_count && !form.bad; i++)
    if (!(group->metrics[i].flags & METRIC_OF_NODE))
      read_column (&form, &holes, layout,
                   i == columns->column ? &layout->cells
                   : i == columns->gate ? &layout->gates
                                        : NULL);
  if (columns->gate == columns->column && layout->cells) {
    layout->gates = memory_new (layout->rows, sizeof layout->gates[0]);
    memcpy (layout->gates, layout->cells, layout->rows * sizeof layout->gates[0]);
  }
  number_labels (layout->labels, layout->rows);
  return !form.bad && layout->labels->count == layout->rows;
}
