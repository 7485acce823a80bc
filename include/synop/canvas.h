/* What a screen shows: a grid of characters, each with a style. Screens are drawn on it without any terminal, by functions
 * that tests call; terminal.h sends it to one, canvas_print writes it as text.
 *
 * Texts of others are harmless here: what is invisible, moves the cursor, changes the direction or is no UTF-8 becomes
 * U+FFFD, marks that combine with their neighbour are left out, a wide character takes two cells. Without `unicode`, for
 * terminals and files that take nothing else, every character is ASCII. */
#ifndef SYNOP_CANVAS_H
#define SYNOP_CANVAS_H

#include <stdbool.h>
#include <stdint.h>

#include "synop/buffer.h"

#define CANVAS_LEVELS 16 /* steps of a scale, from the least to the most */
#define CANVAS_WIDTH_MAX 1000
#define CANVAS_HEIGHT_MAX 100000

enum canvas_style {
  STYLE_PLAIN,
  STYLE_FAINT, /* words that explain */
  STYLE_STRONG,
  STYLE_HEAD,     /* of a table */
  STYLE_SELECTED, /* the row that keys are about */
  STYLE_KEY,      /* what a key does, at the foot */
  STYLE_GOOD,
  STYLE_WARNING,
  STYLE_BAD,
  STYLE_LEVEL, /* the first of CANVAS_LEVELS */
  CANVAS_STYLES = STYLE_LEVEL + CANVAS_LEVELS
};

struct canvas_cell {
  uint32_t character; /* 0: the right half of a wide one */
  uint8_t style;
};

struct canvas {
  int width, height;
  bool unicode;
  struct canvas_cell *cells; /* owned; height rows of width */
};

/* Empties it, of that size; `{ .unicode = ... }` is a new one. */
void canvas_begin (struct canvas *canvas, int width, int height);
void canvas_free (struct canvas *canvas);

/* All drawing is cut at the edges. */
const struct canvas_cell *canvas_at (const struct canvas *canvas, int x, int y);
void canvas_put (struct canvas *canvas, int x, int y, unsigned style, uint32_t character);
void canvas_restyle (struct canvas *canvas, int x, int y, int width, unsigned style);

/* Draws at most `width` columns of the text, the last of them a mark if it is longer; returns how many it took. */
int canvas_text (struct canvas *canvas, int x, int y, int width, unsigned style, const char *text);
int canvas_right (struct canvas *canvas, int x, int y, int width, unsigned style,
                  const char *text); /* at the right end */
int canvas_printf (struct canvas *canvas, int x, int y, int width, unsigned style, const char *format, ...)
    __attribute__ ((format (printf, 6, 7)));
int canvas_text_width (const struct canvas *canvas, const char *text);

unsigned canvas_level (double share); /* the style of 0 to 1; STYLE_FAINT for NaN */
/* A bar of a share, "[|||    31.4%]", with the text at its right end. */
void canvas_bar (struct canvas *canvas, int x, int y, int width, double share, const char *text);
/* A share in one character: a block of that height. */
void canvas_block (struct canvas *canvas, int x, int y, double share);

/* Rows of another canvas, from its row `first` on. */
void canvas_copy (struct canvas *canvas, int y, const struct canvas *from, int first, int rows);

/* The lines as text, without blanks at their ends; the last ones only if they hold something. */
void canvas_print (const struct canvas *canvas, struct buffer *out);

#endif
