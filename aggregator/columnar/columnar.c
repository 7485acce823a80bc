/* See columnar.h: rows become blocks, and what all tables hold stays bounded. */
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "aggregator/columnar/columnar_private.h"
#include "synop/memory.h"

#define BLOCK_ROWS 32768                        /* of a block: a page of a column in Parquet, a record batch in Arrow */
#define BLOCK_BYTES ((size_t) 4 * 1024 * 1024)  /* of a block of wide rows */
#define POOL_BLOCKS ((size_t) 32 * 1024 * 1024) /* bytes of all blocks, */
#define POOL_FORMS ((size_t) 64 * 1024 * 1024)  /* and of what the form keeps, encoded */
#define LEVEL 3                                 /* of zstd: its own default */

/* ---- the pool ---- */

struct columnar_pool *
columnar_pool_create (const struct columnar_form *form)
{
  struct columnar_pool *pool = memory_new (1, sizeof *pool);

  pool->form = form;
  pool->zstd = ZSTD_createCCtx ();
  if (!pool->zstd)
    abort ();
  return pool;
}

void
columnar_pool_destroy (struct columnar_pool *pool)
{
  if (!pool)
    return;
  ZSTD_freeCCtx (pool->zstd);
  free (pool);
}

size_t
columnar_pack (struct columnar_pool *pool, struct buffer *out, const void *bytes, size_t length)
{
  size_t most = ZSTD_compressBound (length);
  size_t packed = ZSTD_compressCCtx (pool->zstd, buffer_reserve (out, most), most, bytes, length, LEVEL);

  if (ZSTD_isError (packed)) /* without memory alone */
    abort ();
  out->length += packed;
  return packed;
}

/* ---- blocks ---- */

static size_t
cell_size (enum columnar_type type)
{
  return type == COLUMNAR_BOOL ? 1 : type == COLUMNAR_TEXT ? sizeof (uint32_t) : sizeof (int64_t);
}

/* Returns its bytes. */
static size_t
values_add (struct columnar_values *values, enum columnar_type type, const struct columnar_cell *cell)
{
  size_t size = cell_size (type), text = cell->known && type == COLUMNAR_TEXT ? cell->length : 0;
  char known = cell->known, truth = cell->known && cell->as.whole != 0;
  int64_t whole = cell->known ? cell->as.whole : 0; /* a double's bits too */
  uint32_t end;

  if (text)
    buffer_add (&values->text, cell->as.text, text);
  end = (uint32_t) values->text.length;
  buffer_add (&values->known, &known, 1);
  buffer_add (&values->fixed, type == COLUMNAR_BOOL ? &truth : type == COLUMNAR_TEXT ? (void *) &end : &whole, size);
  values->nulls += !known;
  return 1 + size + text;
}

/* Frees the memory too: of many tables few have a full block at a time. */
static void
values_clear (struct columnar_values *values)
{
  buffer_free (&values->known);
  buffer_free (&values->fixed);
  buffer_free (&values->text);
  values->nulls = 0;
}

static void
block_clear (struct columnar *table)
{
  for (size_t i = 0; i < table->column_count; i++)
    values_clear (&table->values[i]);
  table->pool->block_bytes -= table->block_bytes;
  table->block_bytes = table->rows = 0;
}

/* Runs an action of the form, and counts what that keeps. */
static int
form_run (struct columnar *table, int (*action) (struct columnar *table, struct error *error), struct error *error)
{
  int result;

  table->pool->form_bytes -= table->form_bytes;
  result = action (table, error);
  table->pool->form_bytes += table->form_bytes;
  return result;
}

static int
block_close (struct columnar *table, struct error *error)
{
  int result = table->rows ? form_run (table, table->pool->form->block, error) : 0;

  block_clear (table);
  return result;
}

/* The tables that hold most give way, so that those with few rows need not write them one by one. */
static int
pool_bound (struct columnar_pool *pool, struct error *error)
{
  struct columnar *most = pool->tables, *table;
  int result = 0;

  if (pool->block_bytes > POOL_BLOCKS) {
    DL_FOREACH (pool->tables, table)
    most = table->block_bytes > most->block_bytes ? table : most;
    result = block_close (most, error);
  }
  if (result == 0 && pool->form_bytes > POOL_FORMS) {
    DL_FOREACH (pool->tables, table)
    most = table->form_bytes > most->form_bytes ? table : most;
    result = form_run (most, pool->form->flush, error);
  }
  return result;
}

/* ---- tables ---- */

struct columnar *
columnar_create (struct columnar_pool *pool, const struct columnar_plan *plan, const struct columnar_sink *sink)
{
  struct columnar *table = memory_new (1, sizeof *table);

  table->pool = pool;
  table->name = memory_string (plan->name);
  table->help = memory_string (plan->help);
  table->sink = *sink;
  table->column_count = plan->column_count;
  table->columns = memory_new (plan->column_count, sizeof table->columns[0]);
  table->values = memory_new (plan->column_count, sizeof table->values[0]);
  for (size_t i = 0; i < plan->column_count; i++) {
    table->columns[i] = plan->columns[i];
    table->columns[i].name = memory_string (plan->columns[i].name);
    table->columns[i].unit = memory_string (plan->columns[i].unit);
    table->columns[i].help = memory_string (plan->columns[i].help);
  }
  DL_APPEND (pool->tables, table);
  table->state = pool->form->create (table);
  return table;
}

void
columnar_destroy (struct columnar *table)
{
  if (!table)
    return;
  block_clear (table);
  table->pool->form_bytes -= table->form_bytes;
  table->pool->form->destroy (table);
  DL_DELETE (table->pool->tables, table);
  for (size_t i = 0; i < table->column_count; i++) {
    free ((char *) table->columns[i].name);
    free ((char *) table->columns[i].unit);
    free ((char *) table->columns[i].help);
  }
  free (table->columns);
  free (table->values);
  free (table->name);
  free (table->help);
  free (table);
}

int
columnar_add (struct columnar *table, const struct columnar_cell *cells, struct error *error)
{
  size_t bytes = 0;

  for (size_t i = 0; i < table->column_count; i++)
    bytes += values_add (&table->values[i], table->columns[i].type, &cells[i]);
  table->block_bytes += bytes;
  table->pool->block_bytes += bytes;
  if ((++table->rows == BLOCK_ROWS || table->block_bytes >= BLOCK_BYTES) && block_close (table, error) < 0)
    return -1;
  return pool_bound (table->pool, error);
}

int
columnar_finish (struct columnar *table, struct error *error)
{
  if (block_close (table, error) < 0 || form_run (table, table->pool->form->flush, error) < 0)
    return -1;
  return table->pool->form->finish (table, error);
}

int
columnar_put (struct columnar *table, const void *bytes, size_t length, struct error *error)
{
  table->written += length;
  return length ? table->sink.put (table->sink.context, bytes, length, error) : 0;
}
