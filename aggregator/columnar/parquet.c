/* Parquet: README.md, "File format".
 *
 *   PAR1, row groups, the footer, its length, PAR1
 *
 * A row group is a chunk for each column, a chunk the page of its dictionary, if it has one, and pages of data. Each block
 * becomes a page of each column, which is kept, compressed, until the row group is full. */
#include <stdlib.h>

#include "aggregator/columnar/parquet_private.h"
#include "synop/memory.h"

#define GROUP_ROWS (1024 * 1024)
#define GROUP_BYTES ((size_t) 32 * 1024 * 1024) /* compressed */

static void *
parquet_create (struct columnar *table)
{
  struct parquet *parquet = memory_new (1, sizeof *parquet);

  parquet->chunks = memory_new (table->column_count, sizeof parquet->chunks[0]);
  return parquet;
}

static void
chunk_clear (struct parquet_chunk *chunk)
{
  buffer_free (&chunk->pages);
  buffer_free (&chunk->range.min_text);
  buffer_free (&chunk->range.max_text);
  dictionary_free (&chunk->dictionary);
  *chunk = (struct parquet_chunk){ 0 };
}

static void
parquet_destroy (struct columnar *table)
{
  struct parquet *parquet = table->state;

  for (size_t i = 0; i < table->column_count; i++)
    chunk_clear (&parquet->chunks[i]);
  free (parquet->chunks);
  buffer_free (&parquet->groups);
  free (parquet);
}

static int
begin (struct columnar *table, struct error *error)
{
  return table->written ? 0 : columnar_put (table, PARQUET_MAGIC, 4, error);
}

static int
chunk_put (struct columnar *table, struct parquet_chunk *chunk, struct parquet_place *place, struct error *error)
{
  struct buffer page = { 0 };
  int result;

  place->from = table->written;
  if (chunk->coded)
    parquet_dictionary_page (chunk, table->pool, &page);
  result = columnar_put (table, page.data, page.length, error);
  place->data = table->written;
  if (result == 0)
    result = columnar_put (table, chunk->pages.data, chunk->pages.length, error);
  place->to = table->written;
  buffer_free (&page);
  return result;
}

static int
parquet_flush (struct columnar *table, struct error *error)
{
  struct parquet *parquet = table->state;
  struct parquet_place *places;
  int result = begin (table, error);

  if (result < 0 || parquet->rows == 0)
    return result;
  places = memory_new (table->column_count, sizeof *places);
  for (size_t i = 0; i < table->column_count && result == 0; i++)
    result = chunk_put (table, &parquet->chunks[i], &places[i], error);
  if (result == 0)
    parquet_group_add (parquet, table, places);
  for (size_t i = 0; i < table->column_count; i++)
    chunk_clear (&parquet->chunks[i]);
  free (places);
  parquet->all_rows += parquet->rows;
  parquet->rows = table->form_bytes = 0;
  return result;
}

static int
parquet_block (struct columnar *table, struct error *error)
{
  struct parquet *parquet = table->state;

  for (size_t i = 0; i < table->column_count; i++)
    table->form_bytes += parquet_page_add (&parquet->chunks[i], table, i);
  parquet->rows += table->rows;
  return parquet->rows >= GROUP_ROWS || table->form_bytes >= GROUP_BYTES ? parquet_flush (table, error) : 0;
}

static int
parquet_finish (struct columnar *table, struct error *error)
{
  struct buffer footer = { 0 };
  int result;

  parquet_footer_add (&footer, table->state, table);
  result = columnar_put (table, footer.data, footer.length, error);
  buffer_free (&footer);
  return result;
}

const struct columnar_form columnar_parquet = { parquet_create, parquet_block, parquet_flush, parquet_finish,
                                                parquet_destroy };
