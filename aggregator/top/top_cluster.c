/* The view of the cluster: the picture, then a line for each node; see top_private.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/top/top_private.h"
#include "synop/quantity.h"

/* Which slots have a column, and how wide it is at least. Bars take what is left. */
static const struct column {
  const char *title;
  int width;
  bool bar;
  double times; /* from the value to percent of a bar, over the whole scale */
} columns[MODEL_SLOTS] = {
  [SLOT_CPU] = { "CPU", 12, true, 1 },        [SLOT_MEMORY] = { "MEMORY", 12, true, 100 },
  [SLOT_NETWORK] = { "NET/s", 7, false, 1 },  [SLOT_DISK] = { "DISK/s", 7, false, 1 },
  [SLOT_GPU] = { "GPU", 12, true, 1 },        [SLOT_POWER] = { "POWER", 7, false, 1 },
  [SLOT_CHOSEN] = { "METRIC", 11, false, 1 },
};

static const enum model_slot places[MODEL_SLOTS] = { SLOT_CPU,     SLOT_MEMORY, SLOT_GPU,  SLOT_CHOSEN,
                                                     SLOT_NETWORK, SLOT_DISK,   SLOT_POWER };

#define NAME_MIN 8
#define NAME_MAX 24
#define BAR_MAX 24

struct layout {
  int name;
  int x[MODEL_SLOTS], width[MODEL_SLOTS]; /* width 0: it has no column */
};

static int
name_width (const struct top *top, const struct canvas *canvas)
{
  int width = NAME_MIN;

  for (size_t i = 0; i < top->order_count && width < NAME_MAX; i++) {
    int own = canvas_text_width (canvas, top->model.names[top->order[i]]);
    width = own > width ? own : width;
  }
  return width < NAME_MAX ? width : NAME_MAX;
}

/* Not every cluster has GPUs, or measures power. */
static bool
has_column (const struct top *top, enum model_slot slot)
{
  const struct model_column *column = &top->model.columns[slot];

  return column->present && (column->valued || (slot != SLOT_GPU && slot != SLOT_POWER));
}

static struct layout
layout_of (const struct top *top, const struct canvas *canvas)
{
  struct layout layout = { .name = name_width (top, canvas) };
  int left = canvas->width - layout.name, bars = 0, more, x = layout.name + 1;

  for (size_t i = 0; i < MODEL_SLOTS; i++) {
    enum model_slot slot = places[i];
    bool shown = has_column (top, slot) && columns[slot].width + 1 <= left;
    layout.width[slot] = shown ? columns[slot].width : 0;
    left -= shown ? columns[slot].width + 1 : 0;
    bars += shown && columns[slot].bar;
  }
  more = bars ? left / bars : 0;
  more = more > BAR_MAX ? BAR_MAX : more;
  for (enum model_slot slot = 0; slot < MODEL_SLOTS; slot++) {
    if (layout.width[slot] == 0)
      continue;
    layout.width[slot] += columns[slot].bar ? more : 0;
    layout.x[slot] = x;
    x += layout.width[slot] + 1;
  }
  return layout;
}

/* ---- all nodes together ---- */

static int
draw_total (const struct top *top, struct canvas *canvas, int x, int y, enum model_slot slot, const char *label)
{
  const struct model_column *column = &top->model.columns[slot];
  double value = columns[slot].bar ? column->mean * columns[slot].times : column->sum;
  const char *unit = columns[slot].bar ? "%" : slot == SLOT_POWER ? "watts" : "bytes/s";
  int width;

  if (!column->present || column->count == 0)
    return 0;
  width = canvas_text (canvas, x, y, canvas->width - x, STYLE_STRONG, label);
  width += canvas_text (canvas, x + width, y, canvas->width - x - width,
                        columns[slot].bar ? canvas_level (value / 100) : STYLE_PLAIN, quantity_text (value, unit).text);
  return width + 2;
}

static void
draw_totals (const struct top *top, struct canvas *canvas, int y)
{
  static const char *const labels[] = { "CPU ", "memory ", "net ", "disk ", "GPU ", "power " };
  int x = 0;

  for (enum model_slot slot = 0; slot < SLOT_CHOSEN; slot++)
    x += draw_total (top, canvas, x, y, slot, labels[slot]);
}

/* ---- the picture ---- */

static struct quantity
shown_value (enum model_slot slot, double value, const char *unit)
{
  if (slot == SLOT_MEMORY)
    return quantity_text (100 * value, "%");
  return quantity_text (value, slot == SLOT_CPU || slot == SLOT_GPU        ? "%"
                               : slot == SLOT_NETWORK || slot == SLOT_DISK ? "bytes/s"
                               : slot == SLOT_POWER                        ? "watts"
                                                                           : unit);
}

static void
draw_legend (const struct top *top, struct canvas *canvas, int y, size_t each)
{
  const struct model_column *column = &top->model.columns[top->cells];
  const char *name = top->cells == SLOT_CHOSEN ? top->chosen : model_expressions[top->cells];
  int x = canvas_text (canvas, 0, y, canvas->width / 2, STYLE_STRONG, name ? name : ""), end = canvas->width;
  char text[120];

  if (!column->present || column->count == 0) {
    canvas_text (canvas, x + 1, y, canvas->width - x, STYLE_FAINT, "no node has a value");
    return;
  }
  x += 1 +
       canvas_text (canvas, x + 1, y, end - x, STYLE_PLAIN, shown_value (top->cells, column->low, column->unit).text);
  for (int i = 0; i < 8; i++)
    canvas_block (canvas, ++x, y, ((double) i + 0.5) / 8);
  x += 2;
  x += canvas_text (canvas, x, y, end - x, STYLE_PLAIN, shown_value (top->cells, column->high, column->unit).text);
  if (each > 1) {
    snprintf (text, sizeof text, "  %zu nodes a cell", each);
    end -= canvas_text_width (canvas, text);
    canvas_text (canvas, end, y, canvas->width, STYLE_FAINT, text);
  }
  if (column->max_node && *column->max_node)
    canvas_printf (canvas, x + 2, y, end - x - 2, STYLE_FAINT, "most: %s on %s",
                   shown_value (top->cells, column->max, column->unit).text, column->max_node);
}

/* Rows that the picture may have, of those that there are beside the table. */
static int
picture_rows (const struct top *top, int rows)
{
  return top->cells_size == 0 ? 0 : top->cells_size == 1 ? (rows - 2) / 3 : rows - 4;
}

/* ---- a line for each node ---- */

/* "temperature" of "gpu.temperature", and "metric" of what is computed. */
static const char *
chosen_title (const struct top *top)
{
  const char *name = top->chosen ? top->chosen : "", *dot = strrchr (name, '.');

  return strchr (name, ' ') || !dot ? "METRIC" : dot + 1;
}

static void
draw_head (const struct top *top, struct canvas *canvas, int y, const struct layout *layout)
{
  size_t hidden = 0;

  canvas_restyle (canvas, 0, y, canvas->width, STYLE_HEAD);
  canvas_text (canvas, 0, y, layout->name, top->sort == SORT_NAME ? STYLE_SELECTED : STYLE_HEAD, "NODE");
  for (enum model_slot slot = 0; slot < MODEL_SLOTS; slot++) {
    unsigned style = top->sort == (enum top_sort) slot ? STYLE_SELECTED : STYLE_HEAD;
    (columns[slot].bar ? canvas_text : canvas_right) (canvas, layout->x[slot], y, layout->width[slot], style,
                                                      slot == SLOT_CHOSEN ? chosen_title (top) : columns[slot].title);
    hidden += has_column (top, slot) && layout->width[slot] == 0;
  }
  if (hidden) /* within the first one's width, which is more than its title's */
    canvas_printf (canvas, layout->name - 2, y, 2, STYLE_WARNING, "+%zu", hidden);
}

static void
draw_value (const struct top *top, struct canvas *canvas, int y, const struct layout *layout, enum model_slot slot,
            size_t node)
{
  const struct model_column *column = &top->model.columns[slot];
  double value = column->values[node] * columns[slot].times;
  const char *unit = columns[slot].bar ? "%" : slot == SLOT_CHOSEN ? column->unit : "";

  if (columns[slot].bar && !isnan (value))
    canvas_bar (canvas, layout->x[slot], y, layout->width[slot], value / 100, quantity_short (value, unit).text);
  else if (slot == SLOT_NETWORK || slot == SLOT_DISK)
    canvas_right (canvas, layout->x[slot], y, layout->width[slot], STYLE_PLAIN, quantity_short (value, "bytes").text);
  else
    canvas_right (canvas, layout->x[slot], y, layout->width[slot], STYLE_PLAIN,
                  slot == SLOT_POWER ? quantity_text (value, "watts").text : quantity_short (value, unit).text);
}

static void
draw_node (const struct top *top, struct canvas *canvas, int y, const struct layout *layout, size_t row)
{
  static const char *const states[] = { "", "stale: it is silent", "down", "was never seen" };
  static const unsigned styles[] = { STYLE_PLAIN, STYLE_WARNING, STYLE_BAD, STYLE_FAINT };
  size_t node = top->order[row];
  enum model_state state = (enum model_state) top->model.states[node];

  canvas_text (canvas, 0, y, layout->name, styles[state], top->model.names[node]);
  if (state == STATE_UP && top->marks[node] != STYLE_PLAIN)
    canvas_put (canvas, layout->name, y, top->marks[node], '!');
  if (state != STATE_UP)
    canvas_text (canvas, layout->name + 1, y, canvas->width - layout->name - 1, styles[state], states[state]);
  else
    for (enum model_slot slot = 0; slot < MODEL_SLOTS; slot++)
      if (layout->width[slot])
        draw_value (top, canvas, y, layout, slot, node);
  if (top->screen && row == top->rows.selected)
    canvas_restyle (canvas, 0, y, canvas->width, STYLE_SELECTED);
}

void
cluster_draw (struct top *top, struct canvas *canvas, int y, int rows)
{
  struct layout layout = layout_of (top, canvas);
  struct cells_plan plan = cells_plan (top, canvas, picture_rows (top, rows));
  int end = y + rows;

  draw_totals (top, canvas, y++);
  if (plan.rows) {
    draw_legend (top, canvas, y++, plan.each);
    cells_draw (top, canvas, y, &plan);
    y += (int) plan.rows;
  }
  draw_head (top, canvas, y++, &layout);
  top->list_rows = end - y;
  screen_list_fit (&top->rows, top->order_count, top->list_rows);
  for (size_t row = top->rows.first; y < end && row < top->order_count; row++)
    draw_node (top, canvas, y++, &layout, row);
  if (top->order_count == 0 && top->came_ns)
    canvas_text (canvas, 0, y, canvas->width, STYLE_FAINT,
                 top->model.count ? "No node fits the filter; F4 changes it."
                                  : "No node is listed: \"synop-aggregator keys add\" admits one.");
}
