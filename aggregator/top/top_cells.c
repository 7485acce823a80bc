/* The picture of the cluster: a character for each node, whose height and colour say its value. Of more nodes than there is
 * room for, several share one, which shows the highest; a node that is not up shows anyhow. */
#include <math.h>

#include "aggregator/top/top_private.h"

#define TILE_MAX 8

struct cell {
  double share;
  enum model_state state; /* the worst of its nodes that were ever seen; STATE_NEVER: of none */
  bool alarm;             /* one of them has an alarm */
};

static struct cell
cell_of (const struct top *top, size_t from, size_t to)
{
  const struct model_column *column = &top->model.columns[top->cells];
  struct cell cell = { (double) NAN, STATE_NEVER, false };

  for (size_t i = from; i < to; i++) {
    size_t node = top->order[i];
    enum model_state state = (enum model_state) top->model.states[node];
    double share = column->present ? model_share (column, column->values[node]) : (double) NAN;
    cell.alarm |= state == STATE_UP && top->marks[node] == STYLE_BAD;
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
  else if (cell->alarm)
    canvas_put (canvas, x, y, STYLE_BAD, '!');
  else
    canvas_block (canvas, x, y, cell->share);
}

struct cells_plan
cells_plan (const struct top *top, const struct canvas *canvas, int most)
{
  size_t count = top->order_count, width = (size_t) canvas->width, rows = most > 0 ? (size_t) most : 0;
  size_t tens = width / 11 * 10 + (width % 11 < 10 ? width % 11 : 10);
  struct cells_plan plan = { .tile = count ? canvas->width / (int) count - 1 : 0, .in_row = width, .each = 1 };

  plan.tile = plan.tile > TILE_MAX ? TILE_MAX : plan.tile < 2 ? 1 : plan.tile;
  plan.grouped = plan.tile == 1 && count <= tens * rows;
  if (plan.grouped)
    plan.in_row = tens;
  else if (plan.tile == 1 && rows)
    plan.each = (count + width * rows - 1) / (width * rows);
  plan.rows = rows ? ((count + plan.each - 1) / plan.each + plan.in_row - 1) / plan.in_row : 0;
  return plan;
}

/* Ten nodes stand together, so that they can be counted, where there is room for that. */
static int
column_of (const struct cells_plan *plan, size_t index)
{
  size_t at = index % plan->in_row;

  return (int) (plan->tile > 1 ? at * (size_t) (plan->tile + 1) : plan->grouped ? at + at / 10 : at);
}

void
cells_draw (const struct top *top, struct canvas *canvas, int y, const struct cells_plan *plan)
{
  for (size_t from = 0, i = 0; plan->rows && from < top->order_count; from += plan->each, i++) {
    size_t to = from + plan->each < top->order_count ? from + plan->each : top->order_count;
    struct cell cell = cell_of (top, from, to);
    int x = column_of (plan, i), row = y + (int) (i / plan->in_row);
    for (int k = 0; k < plan->tile; k++)
      draw_cell (canvas, x + k, row, &cell);
    if (top->screen && top->rows.selected >= from && top->rows.selected < to)
      canvas_restyle (canvas, x, row, plan->tile, STYLE_SELECTED);
  }
}
