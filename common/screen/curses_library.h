/* libncursesw, loaded at run time: what is used of it. */
#ifndef SYNOP_COMMON_CURSES_LIBRARY_H
#define SYNOP_COMMON_CURSES_LIBRARY_H

#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <curses.h>
#include <term.h>
#undef columns
#undef lines

#include "synop/error.h"

#define CURSES_LIBRARY(FUNCTION)                                                                                       \
  FUNCTION (newterm)                                                                                                   \
  FUNCTION (setupterm)                                                                                                 \
  FUNCTION (delscreen)                                                                                                 \
  FUNCTION (endwin)                                                                                                    \
  FUNCTION (newwin)                                                                                                    \
  FUNCTION (wresize)                                                                                                   \
  FUNCTION (resizeterm)                                                                                                \
  FUNCTION (cbreak)                                                                                                    \
  FUNCTION (noecho)                                                                                                    \
  FUNCTION (nonl)                                                                                                      \
  FUNCTION (keypad)                                                                                                    \
  FUNCTION (nodelay)                                                                                                   \
  FUNCTION (set_escdelay)                                                                                              \
  FUNCTION (curs_set)                                                                                                  \
  FUNCTION (start_color)                                                                                               \
  FUNCTION (use_default_colors)                                                                                        \
  FUNCTION (init_pair)                                                                                                 \
  FUNCTION (tigetnum)                                                                                                  \
  FUNCTION (tigetstr)                                                                                                  \
  FUNCTION (clearok)                                                                                                   \
  FUNCTION (werase)                                                                                                    \
  FUNCTION (wmove)                                                                                                     \
  FUNCTION (wattr_set)                                                                                                 \
  FUNCTION (mvwaddnwstr)                                                                                               \
  FUNCTION (wget_wch)                                                                                                  \
  FUNCTION (wrefresh)

struct curses_library {
#define CURSES_DECLARE(name) __typeof__ (&name) name;
  CURSES_LIBRARY (CURSES_DECLARE)
#undef CURSES_DECLARE
};

/* It stays loaded. NULL and error: it is not there. */
const struct curses_library *curses_library (struct error *error);

#endif
