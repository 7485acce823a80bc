/* The picture of the cluster: a character for each node, whose height and colour say its value. Of more nodes than there is
 * room for, several share one, which shows the highest; a node that is not up shows anyhow. */
#include <math.h>

#include "aggregator/top/top_private.h"

#define TILE_MAX 8

struct cell {
  double share;
  enum model_state state; /* the worst of its nodes that were ever seen; STATE_NEVER: of none */
};

static struct cell
cell_of (const struct top *top, size_t from, size_t to)
{
  const struct model_column *column = &top->model.columns[top->cells];
  struct cell cell = { (double) NAN, STATE_NEVER };

  for (size_t i = from; i < to; i++) {
    size_t node = top->order[i];
    enum model_state state = (enum model_state) top->model.states[node];
    double share = column->present ? model_share (column, column->values[node]) : (double) NAN;
    if (isnan (cell.share) || share > cell.share)
      cell.share = share;
    if (state != STATE_NEVER && (cell.state == STATE_NEVER || state > cell.state))
      cell.state = state;
  }
  return cell;
}

static void
draw_cell (struct canvas *canvas, int x, int y, const struct cell *cell)
{
  if (cell->state == STATE_DOWN)
    canvas_put (canvas, x, y, STYLE_BAD, 'X');
  else if (cell->state == STATE_STALE)
    canvas_put (canvas, x, y, STYLE_WARNING, '?');
  else if (cell->state == STATE_NEVER)
    canvas_put (canvas, x, y, STYLE_FAINT, '-');
  else
    canvas_block (canvas, x, y, cell->share);
}

/* Of few nodes each takes several columns. */
static int
tile_width (const struct canvas *canvas, size_t count)
{
  int width = count ? canvas->width / (int) count - 1 : 0;

  return width > TILE_MAX ? TILE_MAX : width < 2 ? 1 : width;
}

static int
draw_tiles (const struct top *top, struct canvas *canvas, int y, int tile)
{
  for (size_t i = 0; i < top->order_count; i++) {
    struct cell cell = cell_of (top, i, i + 1);
    int x = (int) i * (tile + 1);
    for (int k = 0; k < tile; k++)
      draw_cell (canvas, x + k, y, &cell);
    if (top->screen && top->rows.selected == i)
      canvas_restyle (canvas, x, y, tile, STYLE_SELECTED);
  }
  return 1;
}

/* Ten nodes stand together, so that they can be counted, where there is room for that. */
static int
column_of (size_t index, bool grouped)
{
  return (int) (grouped ? index + index / 10 : index);
}

int
cells_draw (const struct top *top, struct canvas *canvas, int y, int most)
{
  size_t width = (size_t) canvas->width, grouped_width = width / 11 * 10 + (width % 11 < 10 ? width % 11 : 10);
  size_t rows = most > 0 ? (size_t) most : 0;
  bool grouped = top->order_count <= grouped_width * rows;
  size_t in_row = grouped ? grouped_width : width, room = in_row * rows,
         each = room ? (top->order_count + room - 1) / room : 0;
  size_t count = each ? (top->order_count + each - 1) / each : 0;
  int tile = tile_width (canvas, top->order_count);

  if (most > 0 && tile > 1)
    return draw_tiles (top, canvas, y, tile);
  for (size_t i = 0; i < count; i++) {
    size_t from = i * each, to = from + each < top->order_count ? from + each : top->order_count;
    struct cell cell = cell_of (top, from, to);
    int x = column_of (i % in_row, grouped), row = y + (int) (i / in_row);
    draw_cell (canvas, x, row, &cell);
    if (top->screen && top->rows.selected >= from && top->rows.selected < to)
      canvas_restyle (canvas, x, row, 1, STYLE_SELECTED);
  }
  if (each > 1 && y > 0)
    canvas_printf (canvas, canvas->width - 24, y - 1, 24, STYLE_FAINT, " %zu nodes in a cell", each);
  return (int) ((count + in_row - 1) / in_row);
}
