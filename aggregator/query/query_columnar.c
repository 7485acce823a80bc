/* An answer as Parquet or Arrow, with the columns of its CSV: time, node, row, the metric, min, max, count. */
#include <math.h>
#include <string.h>

#include "aggregator/query/query_private.h"

enum { TIME, NODE, ROW, VALUE, MIN, MAX, COUNT, COLUMNS };

static int
put (void *out, const void *bytes, size_t length, struct error *error)
{
  (void) error;
  buffer_add (out, bytes, length);
  return 0;
}

static struct columnar_cell
real_cell (double value)
{
  return (struct columnar_cell){ .known = isfinite (value), .as.real = value };
}

/* NULL, "": null. */
static struct columnar_cell
text_cell (const char *text)
{
  return (
      struct columnar_cell){ .known = text && *text, .length = text ? (uint32_t) strlen (text) : 0, .as.text = text };
}

static int
add_value (struct columnar *table, const struct query_answer *answer, const struct query_series *series, size_t step,
           struct error *error)
{
  const struct query_value *value = &series->values[step];
  double missing = (double) NAN;
  const struct columnar_cell cells[COLUMNS] = {
    [TIME] = { .known = true, .as.whole = answer->from_ns + (int64_t) step * answer->step_ns },
    [NODE] = text_cell (series->node),
    [ROW] = text_cell (series->row),
    [VALUE] = real_cell (value->count ? value->value : missing),
    [MIN] = real_cell (value->count ? value->min : missing),
    [MAX] = real_cell (value->count ? value->max : missing),
    [COUNT] = { .known = true, .as.whole = (int64_t) value->count }
  };

  return columnar_add (table, cells, error);
}

void
query_write_columnar (struct buffer *out, const struct query_answer *answer, const struct columnar_form *form)
{
  const struct columnar_column columns[COLUMNS] = {
    [TIME] = { "time", COLUMNAR_TIME, false, "", "The beginning of the step." },
    [NODE] = { "node", COLUMNAR_TEXT, true, "", "" },
    [ROW] = { "row", COLUMNAR_TEXT, true, "", "" },
    [VALUE] = { answer->metric, COLUMNAR_DOUBLE, false, answer->unit, answer->help },
    [MIN] = { "min", COLUMNAR_DOUBLE, false, answer->unit, "The least of the step's samples." },
    [MAX] = { "max", COLUMNAR_DOUBLE, false, answer->unit, "The most of the step's samples." },
    [COUNT] = { "count", COLUMNAR_INT64, false, "", "Samples." }
  };
  const struct columnar_plan plan = { answer->metric, answer->help, columns, COLUMNS };
  struct columnar_pool *pool = columnar_pool_create (form);
  struct columnar *table = columnar_create (pool, &plan, &(struct columnar_sink){ out, put });
  struct error error;

  for (size_t i = 0; i < answer->series_count; i++)
    for (size_t step = 0; step < answer->steps; step++)
      add_value (table, answer, &answer->series[i], step, &error);
  columnar_finish (table, &error);
  columnar_destroy (table);
  columnar_pool_destroy (pool);
}
