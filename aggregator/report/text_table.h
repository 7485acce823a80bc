/* A table on a terminal: columns as wide as their widest cell. Where the terminal is too narrow for all, the last columns
 * of numbers are left out; columns of words stay. */
#ifndef SYNOP_AGGREGATOR_TEXT_TABLE_H
#define SYNOP_AGGREGATOR_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "synop/buffer.h"

#define TEXT_TABLE_COLUMNS 32

struct text_table {
  size_t columns, rows, capacity;
  struct {
    const char *title;
    bool words; /* aligned left, and never left out */
    size_t width;
  } column[TEXT_TABLE_COLUMNS];
  char **cells; /* row by row */
  bool *marked; /* of each row: it stands out */
};

size_t text_table_column (struct text_table *table, const char *title, bool words); /* its number; first all of them */
void text_table_row (struct text_table *table, bool marked);
void text_table_set (struct text_table *table, size_t column, const char *text); /* of the newest row, in UTF-8 */
void text_table_put (struct text_table *table, struct buffer *out, size_t width, bool colour);
void text_table_free (struct text_table *table);

size_t text_width (const char *text, size_t length); /* in characters */

#endif
