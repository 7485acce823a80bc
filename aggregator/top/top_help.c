/* What the keys do, and what is seen; see top_private.h. */
#include <string.h>

#include "aggregator/top/top_private.h"

#define KEYS_WIDTH 10

static const struct {
  const char *key, *text;
} lines[] = {
  { "F1 ? h", "this page; arrows scroll, any other key leaves it" },
  { "F2 m", "metric of the picture: type words of its name or meaning" },
  { "F3 /", "search a node's name; n: the next one" },
  { "F4 \\ f", "filter: texts and globs, parted by commas; Esc there: all" },
  { "F5 c", "size of the picture: a third of the screen, all, none" },
  { "F6 s", "order by the next column; I: the other way round" },
  { "C M N D", "order by CPU, memory, network, disk," },
  { "G P V A X", "by GPU, power, the metric, by name, by state" },
  { "F7 j", "jobs that run; Enter there: the nodes of one" },
  { "F8 e", "what is wrong now, and events" },
  { "Enter", "the node; j there: its jobs alone" },
  { "Tab", "the next view; Esc: back, and without the filter" },
  { "Space", "holds the screen still; once more: goes on" },
  { "Ctrl-L", "draws all anew" },
  { "q F10", "ends" },
  { "Picture",
    "A character is a node, in the order of the list; its height and colour are its value on the scale above. "
    "X: down, ?: stale, -: never seen, !: it has an alarm, as errors of a GPU. Of more nodes than room several share "
    "one: it shows the highest." },
  { "+2", "In the head: so many columns have no room on this screen." },
  { "NET DISK", "Both directions together, in bytes a second; K, M, G are powers of 1024." },
};

#define HELP_LINES (sizeof lines / sizeof lines[0])

/* Wraps at blanks; returns the rows that it took. */
static int
draw_words (struct canvas *canvas, int y, const char *text)
{
  int width = canvas->width - KEYS_WIDTH, rows = 0;

  while (*text) {
    char line[CANVAS_WIDTH_MAX];
    int length = (int) strlen (text) <= width ? (int) strlen (text) : width;
    while (text[length] && length > 1 && text[length] != ' ')
      length--;
    memcpy (line, text, (size_t) length);
    line[length] = 0;
    canvas_text (canvas, KEYS_WIDTH, y + rows++, width, STYLE_PLAIN, line);
    text += length;
    text += strspn (text, " ");
  }
  return rows;
}

/* From the line that was scrolled to, which is the selected one. */
void
help_draw (struct top *top, struct canvas *canvas, int y, int rows)
{
  int end = y + rows;

  top->list_rows = 1;
  screen_list_fit (&top->help, HELP_LINES, 1);
  for (size_t i = top->help.selected; i < HELP_LINES && y < end; i++) {
    canvas_text (canvas, 0, y, KEYS_WIDTH, STYLE_STRONG, lines[i].key);
    y += draw_words (canvas, y, lines[i].text);
  }
}
