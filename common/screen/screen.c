/* See screen.h. */
#include "synop/screen.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "synop/clock.h"
#include "synop/memory.h"

#define DRAWN_EVERY (20 * NS_PER_MS) /* at most */

struct screen {
  struct screen_options options;
  struct terminal *terminal;
  struct canvas canvas;
  struct loop_watch *watch;
  struct loop_timer *timer;
  int64_t drawn_ns;
};

static void
draw (void *context, int64_t due_ns)
{
  struct screen *screen = context;
  struct screen_cursor cursor;

  (void) due_ns;
  screen->drawn_ns = clock_monotonic ();
  terminal_begin (screen->terminal, &screen->canvas);
  cursor = screen->options.draw (screen->options.context, &screen->canvas);
  terminal_show (screen->terminal, &screen->canvas, cursor.x, cursor.y);
}

void
screen_changed (struct screen *screen)
{
  int64_t now = clock_monotonic (), next = screen->drawn_ns + DRAWN_EVERY;

  loop_timer_set (screen->timer, now > next ? now : next);
}

void
screen_repaint (struct screen *screen)
{
  terminal_repaint (screen->terminal);
  screen_changed (screen);
}

static void
take_keys (void *context, uint32_t events)
{
  struct screen *screen = context;
  int key;

  if (events & (EPOLLHUP | EPOLLERR)) {
    loop_stop (screen->options.loop);
    return;
  }
  while ((key = terminal_key (screen->terminal)) != TERMINAL_NONE)
    screen->options.key (screen->options.context, key);
  screen_changed (screen);
}

static void
end (void *context, int number)
{
  struct screen *screen = context;

  (void) number;
  loop_stop (screen->options.loop);
}

static void
resize (void *context, int number)
{
  (void) number;
  screen_changed (context);
}

struct screen *
screen_open (const struct screen_options *options, struct error *error)
{
  struct screen *screen = memory_new (1, sizeof *screen);

  screen->options = *options;
  loop_signal (options->loop, SIGINT, end, screen);
  loop_signal (options->loop, SIGTERM, end, screen);
  loop_signal (options->loop, SIGHUP, end, screen);
  loop_signal (options->loop, SIGWINCH, resize, screen);
  screen->terminal = terminal_open (options->unicode, error);
  if (!screen->terminal) {
    free (screen);
    return NULL;
  }
  screen->timer = loop_timer_add (options->loop, draw, screen);
  screen->watch = loop_watch_add (options->loop, STDIN_FILENO, EPOLLIN, take_keys, screen);
  screen_changed (screen);
  return screen;
}

void
screen_close (struct screen *screen)
{
  if (!screen)
    return;
  loop_watch_remove (screen->watch);
  loop_timer_remove (screen->timer);
  terminal_close (screen->terminal);
  canvas_free (&screen->canvas);
  free (screen);
}

/* ---- parts of screens ---- */

void
screen_foot (struct canvas *canvas, const struct screen_label *labels, size_t count)
{
  int x = 0, y = canvas->height - 1;

  for (size_t i = 0; i < count; i++) {
    int key = (int) strlen (labels[i].key), text = (int) strlen (labels[i].text);
    if (x + key + text > canvas->width)
      break;
    x += canvas_text (canvas, x, y, key, STYLE_STRONG, labels[i].key);
    x += canvas_text (canvas, x, y, text, STYLE_KEY, labels[i].text);
    x += i + 1 < count && x < canvas->width;
  }
}

bool
screen_input_key (struct screen_input *input, int key)
{
  size_t length = strlen (input->text);

  if (key == TERMINAL_BACKSPACE && length) {
    do
      length--;
    while (length && (input->text[length] & 0xc0) == 0x80);
    input->text[length] = 0;
    return true;
  }
  if (key == 21) { /* Ctrl-U */
    input->text[0] = 0;
    return true;
  }
  if (key < ' ' || key >= 0x110000 || length + 4 > SCREEN_INPUT_MAX)
    return false;
  if (key < 0x80) {
    input->text[length++] = (char) key;
  } else if (key < 0x800) {
    input->text[length++] = (char) (0xc0 | key >> 6);
    input->text[length++] = (char) (0x80 | (key & 0x3f));
  } else {
    if (key >= 0x10000)
      input->text[length++] = (char) (0xf0 | key >> 18);
    input->text[length++] = (char) (key >= 0x10000 ? 0x80 | (key >> 12 & 0x3f) : 0xe0 | key >> 12);
    input->text[length++] = (char) (0x80 | (key >> 6 & 0x3f));
    input->text[length++] = (char) (0x80 | (key & 0x3f));
  }
  input->text[length] = 0;
  return true;
}

bool
screen_list_key (struct screen_list *list, int key, size_t count, int rows)
{
  size_t page = rows > 1 ? (size_t) rows - 1 : 1, last = count ? count - 1 : 0, at = list->selected;

  switch (key) {
  case TERMINAL_UP:
    at = at ? at - 1 : 0;
    break;
  case TERMINAL_DOWN:
    at = at + 1;
    break;
  case TERMINAL_PAGE_UP:
    at = at > page ? at - page : 0;
    break;
  case TERMINAL_PAGE_DOWN:
    at = at + page;
    break;
  case TERMINAL_HOME:
    at = 0;
    break;
  case TERMINAL_END:
    at = last;
    break;
  default:
    return false;
  }
  list->selected = at < last ? at : last;
  return true;
}

void
screen_list_fit (struct screen_list *list, size_t count, int rows)
{
  size_t shown = rows > 0 ? (size_t) rows : 1;

  if (list->selected >= count)
    list->selected = count ? count - 1 : 0;
  if (list->first > list->selected)
    list->first = list->selected;
  if (list->selected >= list->first + shown)
    list->first = list->selected - shown + 1;
  if (list->first + shown > count)
    list->first = count > shown ? count - shown : 0;
}
