/* The terminal of standard input and output, by ncurses: only what changed on the canvas is sent. It is left as it was
 * found, also when the program crashes. One at a time. */
#ifndef SYNOP_TERMINAL_H
#define SYNOP_TERMINAL_H

#include <stdbool.h>

#include "synop/canvas.h"
#include "synop/error.h"

/* Keys that are no characters. */
enum terminal_key {
  TERMINAL_NONE = -1, /* no key is waiting */
  TERMINAL_ESCAPE = 27,
  TERMINAL_UP = 0x110000,
  TERMINAL_DOWN,
  TERMINAL_LEFT,
  TERMINAL_RIGHT,
  TERMINAL_PAGE_UP,
  TERMINAL_PAGE_DOWN,
  TERMINAL_HOME,
  TERMINAL_END,
  TERMINAL_ENTER,
  TERMINAL_BACKSPACE,
  TERMINAL_OTHER, /* one that means nothing here */
  TERMINAL_F,     /* TERMINAL_F + 1: F1 ... + 12 */
};

/* The locale of the user: UTF-8 where the environment asks for it, also if that language is not installed. True: what is
 * written may be UTF-8. */
bool terminal_locale (void);

struct terminal;

/* NULL and error: they are no terminal, or one that has no cursor to move. `unicode` as terminal_locale has it. */
struct terminal *terminal_open (bool unicode, struct error *error);
void terminal_close (struct terminal *terminal); /* NULL is fine */

/* Empties the canvas, of the terminal's size. To be called before each drawing; a change of size is seen here. */
void terminal_begin (struct terminal *terminal, struct canvas *canvas);
/* Shows the canvas; the cursor at x, y, or none if x < 0. */
void terminal_show (struct terminal *terminal, const struct canvas *canvas, int x, int y);
void terminal_repaint (struct terminal *terminal); /* the next one is sent whole: others wrote on the terminal */

int terminal_key (struct terminal *terminal); /* a character, or enum terminal_key; never waits */

#endif
