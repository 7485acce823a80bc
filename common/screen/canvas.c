/* See canvas.h. */
#include "synop/canvas.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "synop/memory.h"
#include "synop/text.h"

#define REPLACEMENT 0xfffd
#define ELLIPSIS 0x2026
#define BLOCK_LOWEST 0x2581 /* of 8, in rising order */

void
canvas_begin (struct canvas *canvas, int width, int height)
{
  int cells;

  width = width < 1 ? 1 : width > CANVAS_WIDTH_MAX ? CANVAS_WIDTH_MAX : width;
  height = height < 1 ? 1 : height > CANVAS_HEIGHT_MAX ? CANVAS_HEIGHT_MAX : height;
  cells = width * height;
  if (cells != canvas->width * canvas->height)
    canvas->cells = memory_resize (canvas->cells, (size_t) cells, sizeof *canvas->cells);
  canvas->width = width;
  canvas->height = height;
  for (int i = 0; i < cells; i++)
    canvas->cells[i] = (struct canvas_cell){ ' ', STYLE_PLAIN };
}

void
canvas_free (struct canvas *canvas)
{
  free (canvas->cells);
  canvas->cells = NULL;
  canvas->width = canvas->height = 0;
}

static struct canvas_cell *
cell_at (const struct canvas *canvas, int x, int y)
{
  bool inside = x >= 0 && y >= 0 && x < canvas->width && y < canvas->height;

  return inside ? &canvas->cells[y * canvas->width + x] : NULL;
}

const struct canvas_cell *
canvas_at (const struct canvas *canvas, int x, int y)
{
  return cell_at (canvas, x, y);
}

void
canvas_put (struct canvas *canvas, int x, int y, unsigned style, uint32_t character)
{
  struct canvas_cell *cell = cell_at (canvas, x, y);

  if (cell)
    *cell = (struct canvas_cell){ character, (uint8_t) style };
}

void
canvas_restyle (struct canvas *canvas, int x, int y, int width, unsigned style)
{
  for (int i = 0; i < width; i++) {
    struct canvas_cell *cell = cell_at (canvas, x + i, y);
    if (cell)
      cell->style = (uint8_t) style;
  }
}

/* The next character as it is shown, and the columns that it takes: 0, 1 or 2. */
static int
next_shown (const struct canvas *canvas, const char **text, size_t *left, uint32_t *shown)
{
  size_t length;
  uint32_t character = text_character (*text, *left, &length);
  int columns = 1;

  *text += length;
  *left -= length;
  *shown = character;
  if (text_is_unsound (character))
    *shown = canvas->unicode ? REPLACEMENT : '?';
  else if (character >= 0x80 && !canvas->unicode)
    *shown = '?';
  else if (character >= 0x80)
    columns = wcwidth ((wchar_t) character);
  if (columns < 0 || columns > 2) {
    *shown = REPLACEMENT;
    columns = 1;
  }
  return columns;
}

int
canvas_text_width (const struct canvas *canvas, const char *text)
{
  size_t left = strlen (text);
  uint32_t shown;
  int columns = 0;

  while (left)
    columns += next_shown (canvas, &text, &left, &shown);
  return columns;
}

int
canvas_text (struct canvas *canvas, int x, int y, int width, unsigned style, const char *text)
{
  size_t left = strlen (text);
  bool cut = width < (int) left && canvas_text_width (canvas, text) > width;
  int most = cut ? width - 1 : width, used = 0;

  if (width <= 0)
    return 0;
  while (left) {
    uint32_t shown;
    int columns = next_shown (canvas, &text, &left, &shown);
    if (columns == 0)
      continue;
    if (used + columns > most || (columns == 2 && x + used + 1 >= canvas->width))
      break;
    canvas_put (canvas, x + used, y, style, shown);
    if (columns == 2)
      canvas_put (canvas, x + used + 1, y, style, 0);
    used += columns;
  }
  if (cut)
    canvas_put (canvas, x + used++, y, style, canvas->unicode ? ELLIPSIS : '~');
  return used;
}

int
canvas_right (struct canvas *canvas, int x, int y, int width, unsigned style, const char *text)
{
  int columns = canvas_text_width (canvas, text), blank = columns < width ? width - columns : 0;

  return blank + canvas_text (canvas, x + blank, y, width - blank, style, text);
}

int
canvas_printf (struct canvas *canvas, int x, int y, int width, unsigned style, const char *format, ...)
{
  char text[CANVAS_WIDTH_MAX];
  va_list arguments;

  va_start (arguments, format);
  vsnprintf (text, sizeof text, format, arguments);
  va_end (arguments);
  return canvas_text (canvas, x, y, width, style, text);
}

static double
within (double share)
{
  return share < 0 ? 0 : share > 1 ? 1 : share;
}

unsigned
canvas_level (double share)
{
  int level;

  if (isnan (share))
    return STYLE_FAINT;
  level = (int) (within (share) * CANVAS_LEVELS);
  return STYLE_LEVEL + (unsigned) (level < CANVAS_LEVELS ? level : CANVAS_LEVELS - 1);
}

void
canvas_bar (struct canvas *canvas, int x, int y, int width, double share, const char *text)
{
  int inner = width - 2, filled = isnan (share) ? 0 : (int) lround (within (share) * inner);
  unsigned style = canvas_level (share);
  int columns = canvas_text_width (canvas, text);

  if (width < 3)
    return;
  filled = filled == 0 && share > 0.005 ? 1 : filled;
  canvas_put (canvas, x, y, STYLE_STRONG, '[');
  canvas_put (canvas, x + width - 1, y, STYLE_STRONG, ']');
  for (int i = 0; i < filled; i++)
    canvas_put (canvas, x + 1 + i, y, style, '|');
  if (columns > inner)
    return;
  canvas_text (canvas, x + 1 + inner - columns, y, columns, STYLE_PLAIN, text);
  canvas_restyle (canvas, x + 1 + inner - columns, y, filled - (inner - columns), style);
}

void
canvas_block (struct canvas *canvas, int x, int y, double share)
{
  static const char ascii[] = ".:-=+*#@";
  int step = isnan (share) ? 0 : (int) (within (share) * 8);
  uint32_t character;

  step = step > 7 ? 7 : step;
  if (isnan (share))
    character = canvas->unicode ? 0xb7 : ' ';
  else
    character = canvas->unicode ? BLOCK_LOWEST + (uint32_t) step : (uint32_t) ascii[step];
  canvas_put (canvas, x, y, canvas_level (share), character);
}

void
canvas_copy (struct canvas *canvas, int y, const struct canvas *from, int first, int rows)
{
  for (int row = 0; row < rows; row++)
    for (int x = 0; x < from->width; x++) {
      const struct canvas_cell *cell = canvas_at (from, x, first + row);
      if (cell)
        canvas_put (canvas, x, y + row, cell->style, cell->character);
    }
}

/* ---- as text ---- */

static void
add_character (struct buffer *out, uint32_t c)
{
  char bytes[4];
  size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

  if (length == 1)
    bytes[0] = (char) c;
  else
    bytes[0] = (char) ((0xf00 >> length) | (c >> 6 * (length - 1)));
  for (size_t i = 1; i < length; i++)
    bytes[i] = (char) (0x80 | (c >> 6 * (length - 1 - i) & 0x3f));
  buffer_add (out, bytes, length);
}

void
canvas_print (const struct canvas *canvas, struct buffer *out)
{
  int height = canvas->height;
  size_t empty = 0;

  for (int y = 0; y < height; y++) {
    const struct canvas_cell *row = &canvas->cells[y * canvas->width];
    int width = canvas->width;
    while (width > 0 && row[width - 1].character == ' ')
      width--;
    empty++;
    if (width == 0)
      continue;
    for (; empty > 1; empty--)
      buffer_add (out, "\n", 1);
    empty = 0;
    for (int x = 0; x < width; x++)
      if (row[x].character)
        add_character (out, row[x].character);
    buffer_add (out, "\n", 1);
  }
}
