/* See terminal.h. */
#include "synop/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "common/screen/curses_library.h"
#include "synop/memory.h"

#define KEY_WAIT_MS 25 /* for the rest of a key that begins with an escape */

struct terminal {
  const struct curses_library *curses;
  SCREEN *screen;
  WINDOW *window;
  int height, width;
  bool unicode, cursor;
  int colours; /* 0, 8 or 256 */
  struct {
    attr_t attributes;
    short pair;
  } styles[CANVAS_STYLES];
};

/* ---- after a crash ---- */

/* What a signal's handler may use: system calls alone. */
static struct {
  struct termios modes;
  char text[256];
  size_t length;
} before;

static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
#define CRASHES (sizeof crashes / sizeof crashes[0])

static void
crash (int number)
{
  ssize_t written = write (STDOUT_FILENO, before.text, before.length);

  (void) written;
  tcsetattr (STDIN_FILENO, TCSANOW, &before.modes);
  raise (number); /* it is blocked until this returns; then it has its default effect */
}

static void
add_capability (const struct terminal *terminal, const char *name)
{
  const char *text = terminal->curses->tigetstr (name);

  if (text && text != (const char *) -1 && before.length + strlen (text) < sizeof before.text) {
    memcpy (before.text + before.length, text, strlen (text));
    before.length += strlen (text);
  }
}

static void
guard (const struct terminal *terminal)
{
  static const char *const leaving[] = { "sgr0", "rmkx", "cnorm", "rmcup" };

  before.length = 0;
  for (size_t i = 0; i < sizeof leaving / sizeof leaving[0]; i++)
    add_capability (terminal, leaving[i]);
  for (size_t i = 0; i < CRASHES; i++)
    sigaction (crashes[i], &(struct sigaction){ .sa_handler = crash, .sa_flags = (int) SA_RESETHAND }, NULL);
}

static void
unguard (void)
{
  for (size_t i = 0; i < CRASHES; i++)
    signal (crashes[i], SIG_DFL);
}

/* ---- colours ---- */

/* From dark to light, so that who cannot tell red from green sees the order, as the scale "viridis" has it. */
static const short ramp_256[CANVAS_LEVELS] = { 61, 62, 26, 31, 37, 36, 35, 71, 77, 113, 149, 185, 184, 220, 221, 227 };
static const short ramp_8[CANVAS_LEVELS] = { COLOR_BLUE,   COLOR_BLUE,   COLOR_BLUE,   COLOR_BLUE,
                                             COLOR_CYAN,   COLOR_CYAN,   COLOR_CYAN,   COLOR_CYAN,
                                             COLOR_GREEN,  COLOR_GREEN,  COLOR_GREEN,  COLOR_GREEN,
                                             COLOR_YELLOW, COLOR_YELLOW, COLOR_YELLOW, COLOR_YELLOW };

static void
set_style (struct terminal *terminal, unsigned style, attr_t attributes, short front, short back)
{
  terminal->styles[style].attributes = attributes;
  if (terminal->colours && (front >= 0 || back >= 0)) {
    terminal->curses->init_pair ((short) (style + 1), front, back);
    terminal->styles[style].pair = (short) (style + 1);
  }
}

static void
set_styles (struct terminal *terminal)
{
  bool coloured = terminal->colours > 0;

  set_style (terminal, STYLE_FAINT, A_DIM, -1, -1);
  set_style (terminal, STYLE_STRONG, A_BOLD, -1, -1);
  set_style (terminal, STYLE_HEAD, coloured ? 0 : A_REVERSE, COLOR_BLACK, COLOR_GREEN);
  set_style (terminal, STYLE_SELECTED, coloured ? 0 : A_REVERSE | A_BOLD, COLOR_BLACK, COLOR_CYAN);
  set_style (terminal, STYLE_KEY, coloured ? 0 : A_REVERSE, COLOR_BLACK, COLOR_CYAN);
  set_style (terminal, STYLE_GOOD, 0, COLOR_GREEN, -1);
  set_style (terminal, STYLE_WARNING, A_BOLD, COLOR_YELLOW, -1);
  set_style (terminal, STYLE_BAD, coloured ? A_BOLD : A_REVERSE | A_BOLD, COLOR_RED, -1);
  for (unsigned i = 0; i < CANVAS_LEVELS; i++)
    set_style (terminal, STYLE_LEVEL + i, 0, terminal->colours == 256 ? ramp_256[i] : ramp_8[i], -1);
}

/* https://no-color.org */
static int
colours_of (const struct terminal *terminal)
{
  const char *forbidden = getenv ("NO_COLOR");
  int count = forbidden && *forbidden ? 0 : terminal->curses->tigetnum ("colors");

  return count >= 256 ? 256 : count >= 8 ? 8 : 0;
}

/* ---- life ---- */

static bool
asks_for_utf8 (void)
{
  static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
  const char *value = NULL;

  for (size_t i = 0; i < 3 && !(value && *value); i++)
    value = getenv (names[i]);
  return value && (strcasestr (value, "utf-8") || strcasestr (value, "utf8"));
}

bool
terminal_locale (void)
{
  if (!setlocale (LC_CTYPE, "") && asks_for_utf8 ())
    setlocale (LC_CTYPE, "C.UTF-8");
  return strcmp (nl_langinfo (CODESET), "UTF-8") == 0;
}

static int
check (const struct curses_library *curses, struct error *error)
{
  const char *name = getenv ("TERM"), *move;
  int result;

  if (!isatty (STDIN_FILENO) || !isatty (STDOUT_FILENO))
    return error_set (error, "standard input and output are to be a terminal; --once writes a screen as text");
  if (!name || !*name)
    return error_set (error, "TERM does not say which terminal this is; --once writes a screen as text");
  if (curses->setupterm (NULL, STDOUT_FILENO, &result) != OK)
    return error_set (error,
                      "TERM=%.64s: no such terminal is known here; TERM=xterm fits most, --once writes a "
                      "screen as text",
                      name);
  move = curses->tigetstr ("cup");
  if (!move || move == (const char *) -1)
    return error_set (error, "TERM=%.64s: this terminal has no cursor to move; --once writes a screen as text", name);
  return 0;
}

static void
set_modes (struct terminal *terminal)
{
  const struct curses_library *curses = terminal->curses;

  curses->cbreak ();
  curses->noecho ();
  curses->nonl ();
  curses->set_escdelay (KEY_WAIT_MS);
  curses->keypad (terminal->window, TRUE);
  curses->nodelay (terminal->window, TRUE);
  curses->curs_set (0);
  terminal->colours = colours_of (terminal);
  if (terminal->colours) {
    curses->start_color ();
    curses->use_default_colors ();
  }
  set_styles (terminal);
}

struct terminal *
terminal_open (bool unicode, struct error *error)
{
  const struct curses_library *curses = curses_library (error);
  struct terminal *terminal;

  if (!curses || check (curses, error) < 0 || tcgetattr (STDIN_FILENO, &before.modes) < 0)
    return NULL;
  terminal = memory_new (1, sizeof *terminal);
  terminal->curses = curses;
  terminal->unicode = unicode;
  terminal->screen = curses->newterm (NULL, stdout, stdin);
  if (!terminal->screen) {
    error_set (error, "TERM=%.64s: ncurses cannot use this terminal; --once writes a screen as text", getenv ("TERM"));
    free (terminal);
    return NULL;
  }
  guard (terminal);
  terminal->window = curses->newwin (0, 0, 0, 0);
  set_modes (terminal);
  return terminal;
}

void
terminal_close (struct terminal *terminal)
{
  if (!terminal)
    return;
  terminal->curses->curs_set (1);
  terminal->curses->endwin ();
  unguard ();
  terminal->curses->delscreen (terminal->screen);
  free (terminal);
}

/* ---- drawing ---- */

void
terminal_begin (struct terminal *terminal, struct canvas *canvas)
{
  struct winsize size = { 0 };
  int height = 24, width = 80;

  if (ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col) {
    height = size.ws_row;
    width = size.ws_col > CANVAS_WIDTH_MAX ? CANVAS_WIDTH_MAX : size.ws_col;
  }
  if (height != terminal->height || width != terminal->width) {
    terminal->curses->resizeterm (height, width);
    terminal->curses->wresize (terminal->window, height, width);
    terminal->curses->clearok (terminal->window, TRUE);
    terminal->height = height;
    terminal->width = width;
  }
  canvas->unicode = terminal->unicode;
  canvas_begin (canvas, width, height);
}

/* From x on, those of the same style; returns where the next one begins. */
static int
show_run (struct terminal *terminal, const struct canvas *canvas, int x, int y)
{
  const struct canvas_cell *row = &canvas->cells[y * canvas->width];
  unsigned style = row[x].style;
  wchar_t text[CANVAS_WIDTH_MAX];
  int count = 0, from = x;

  for (; x < canvas->width && row[x].style == style; x++)
    if (row[x].character)
      text[count++] = (wchar_t) row[x].character;
  terminal->curses->wattr_set (terminal->window, terminal->styles[style].attributes, terminal->styles[style].pair,
                               NULL);
  terminal->curses->mvwaddnwstr (terminal->window, y, from, text, count);
  return x;
}

void
terminal_show (struct terminal *terminal, const struct canvas *canvas, int x, int y)
{
  for (int row = 0; row < canvas->height; row++)
    for (int column = 0; column < canvas->width;)
      column = show_run (terminal, canvas, column, row);
  if (terminal->cursor != (x >= 0)) {
    terminal->cursor = x >= 0;
    terminal->curses->curs_set (terminal->cursor);
  }
  terminal->curses->wmove (terminal->window, x >= 0 ? y : 0, x >= 0 ? x : 0);
  terminal->curses->wrefresh (terminal->window);
}

void
terminal_repaint (struct terminal *terminal)
{
  terminal->curses->clearok (terminal->window, TRUE);
}

/* ---- keys ---- */

static int
special_key (wint_t code)
{
  static const struct {
    wint_t code;
    int key;
  } keys[] = { { KEY_UP, TERMINAL_UP },         { KEY_DOWN, TERMINAL_DOWN },
               { KEY_LEFT, TERMINAL_LEFT },     { KEY_RIGHT, TERMINAL_RIGHT },
               { KEY_PPAGE, TERMINAL_PAGE_UP }, { KEY_NPAGE, TERMINAL_PAGE_DOWN },
               { KEY_HOME, TERMINAL_HOME },     { KEY_END, TERMINAL_END },
               { KEY_ENTER, TERMINAL_ENTER },   { KEY_BACKSPACE, TERMINAL_BACKSPACE },
               { KEY_DC, TERMINAL_BACKSPACE } };

  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
    if (keys[i].code == code)
      return keys[i].key;
  return code > KEY_F0 && code <= KEY_F0 + 12 ? TERMINAL_F + (int) (code - KEY_F0) : TERMINAL_OTHER;
}

int
terminal_key (struct terminal *terminal)
{
  wint_t code = 0;
  int result = terminal->curses->wget_wch (terminal->window, &code);

  if (result == KEY_CODE_YES)
    return special_key (code);
  if (result != OK)
    return TERMINAL_NONE;
  if (code == '\r' || code == '\n')
    return TERMINAL_ENTER;
  return code == 127 || code == '\b' ? TERMINAL_BACKSPACE : (int) code;
}
