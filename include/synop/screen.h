/* A screen that lives: the terminal in an event loop. It is drawn when something changed, again when its size did, and ends
 * on Ctrl-C, SIGTERM and a hangup. */
#ifndef SYNOP_SCREEN_H
#define SYNOP_SCREEN_H

#include "synop/canvas.h"
#include "synop/error.h"
#include "synop/loop.h"
#include "synop/terminal.h"

struct screen_cursor {
  int x, y; /* x < 0: none is shown */
};

struct screen_options {
  struct loop *loop;
  bool unicode; /* as terminal_locale has it */
  void *context;
  struct screen_cursor (*draw) (void *context, struct canvas *canvas); /* an empty one, of the terminal's size */
  void (*key) (void *context, int key);                                /* as terminal_key; then it is drawn */
};

struct screen;

struct screen *screen_open (const struct screen_options *options, struct error *error); /* NULL: no terminal */
void screen_close (struct screen *screen);                                              /* NULL is fine */
void screen_changed (struct screen *screen); /* it is to be drawn once what is due is done */
void screen_repaint (struct screen *screen); /* the whole of it */

/* What keys do, at the foot: "F1", "Help". Those that do not fit are left out from the end. */
struct screen_label {
  const char *key, *text;
};
void screen_foot (struct canvas *canvas, const struct screen_label *labels, size_t count);

/* One line that is typed: a search, a filter. */
#define SCREEN_INPUT_MAX 120
struct screen_input {
  char text[SCREEN_INPUT_MAX + 1];
};
bool screen_input_key (struct screen_input *input, int key); /* true: the key changed it */

/* A list with a selected row, of which a window is shown. */
struct screen_list {
  size_t selected, first;
};
bool screen_list_key (struct screen_list *list, int key, size_t count, int rows); /* true: it was a key that moves */
void screen_list_fit (struct screen_list *list, size_t count, int rows);

#endif
