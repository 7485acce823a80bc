/* See text_table.h. */
#include "aggregator/report/text_table.h"

#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"

#define INDENT 2
#define BETWEEN 2

size_t
text_width (const char *text, size_t length)
{
  size_t count = 0;

  for (size_t i = 0; i < length; i++)
    count += (text[i] & 0xc0) != 0x80;
  return count;
}

size_t
text_table_column (struct text_table *table, const char *title, bool words)
{
  table->column[table->columns].title = title;
  table->column[table->columns].words = words;
  table->column[table->columns].width = text_width (title, strlen (title));
  return table->columns++;
}

void
text_table_row (struct text_table *table, bool marked)
{
  if (table->rows == table->capacity) {
    table->capacity = table->capacity ? 2 * table->capacity : 16;
    table->cells = memory_resize (table->cells, table->capacity * table->columns, sizeof table->cells[0]);
    table->marked = memory_resize (table->marked, table->capacity, sizeof table->marked[0]);
  }
  table->marked[table->rows] = marked;
  for (size_t c = 0; c < table->columns; c++)
    table->cells[table->rows * table->columns + c] = NULL;
  table->rows++;
}

void
text_table_set (struct text_table *table, size_t column, const char *text)
{
  size_t width = text_width (text, strlen (text));

  table->cells[(table->rows - 1) * table->columns + column] = memory_string (text);
  if (width > table->column[column].width)
    table->column[column].width = width;
}

/* Which columns find room: words always. */
static void
choose_columns (const struct text_table *table, size_t width, bool shown[TEXT_TABLE_COLUMNS])
{
  size_t used = INDENT;
  bool full = false;

  for (size_t c = 0; c < table->columns; c++)
    used += table->column[c].words ? table->column[c].width + BETWEEN : 0;
  for (size_t c = 0; c < table->columns; c++) {
    shown[c] = table->column[c].words;
    if (shown[c])
      continue;
    full |= used + table->column[c].width > width;
    shown[c] = !full;
    used += full ? 0 : table->column[c].width + BETWEEN;
  }
}

static void
put_cell (const struct text_table *table, struct buffer *out, size_t column, const char *text)
{
  size_t room = table->column[column].width - text_width (text, strlen (text));

  if (table->column[column].words)
    buffer_printf (out, "%s%*s", text, (int) room, "");
  else
    buffer_printf (out, "%*s%s", (int) room, "", text);
}

static void
put_row (const struct text_table *table, struct buffer *out, const bool *shown, char *const *cells)
{
  const char *between = "";

  buffer_printf (out, "%*s", INDENT, "");
  for (size_t c = 0; c < table->columns; c++)
    if (shown[c]) {
      buffer_add_string (out, between);
      put_cell (table, out, c, !cells ? table->column[c].title : cells[c] ? cells[c] : "");
      between = "  ";
    }
  while (out->length && out->data[out->length - 1] == ' ')
    out->length--;
}

void
text_table_put (struct text_table *table, struct buffer *out, size_t width, bool colour)
{
  bool shown[TEXT_TABLE_COLUMNS];

  choose_columns (table, width, shown);
  put_row (table, out, shown, NULL);
  buffer_add_string (out, "\n");
  for (size_t r = 0; r < table->rows; r++) {
    buffer_add_string (out, colour && table->marked[r] ? "\033[1;31m" : "");
    put_row (table, out, shown, table->cells + r * table->columns);
    buffer_add_string (out, colour && table->marked[r] ? "\033[0m\n" : "\n");
  }
}

void
text_table_free (struct text_table *table)
{
  for (size_t i = 0; i < table->rows * table->columns; i++)
    free (table->cells[i]);
  free (table->cells);
  free (table->marked);
  *table = (struct text_table){ 0 };
}
