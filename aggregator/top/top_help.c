/* What the keys do, and what is seen; see top_private.h. */
#include "aggregator/top/top_private.h"

static const struct {
  const char *key, *text;
} lines[] = {
  { "F1 ?  ", "this page; any key leaves it" },
  { "F2 m  ", "metric of the picture: type words of its name or meaning" },
  { "F3 /  ", "search a name; again, or n: the next one" },
  { "F4 \\  ", "filter: texts and globs, parted by commas; empty: all" },
  { "F5 c  ", "size of the picture: a third, all, none" },
  { "F6 s  ", "order by the next column; I: the other way round" },
  { "C M N D G P V", " order by CPU, memory, network, disk, GPU, power, the metric" },
  { "A X   ", "order by name, by state" },
  { "F7 j  ", "jobs that run; Enter shows the nodes of one" },
  { "F8 e  ", "events, and what is wrong now" },
  { "Enter ", "the node; j there: its jobs alone" },
  { "Tab   ", "the next view; Esc: back" },
  { "Space ", "holds the screen still; once more: goes on" },
  { "Ctrl-L", "draws all anew" },
  { "F10 q ", "ends" },
  { "", "" },
  { "", "Picture: a character is a node, in the order of the list. Height and colour are its" },
  { "", "value on the scale above it. X: down, ?: stale, -: never seen. Where there are more" },
  { "", "nodes than room, several share one, which shows the highest of them." },
  { "", "NET/s and DISK/s are both directions together; bytes in steps of 1024." },
};

void
help_draw (struct canvas *canvas, int y, int rows)
{
  for (int i = 0; i < rows && (size_t) i < sizeof lines / sizeof lines[0]; i++) {
    int x = canvas_text (canvas, 0, y + i, canvas->width, STYLE_STRONG, lines[i].key);
    canvas_text (canvas, x + (x > 0), y + i, canvas->width - x - 1, STYLE_PLAIN, lines[i].text);
  }
}
