/* Tables on the page of a node; see node_screen_private.h. */
#include <math.h>
#include <stdlib.h>

#include "common/top/node_screen_private.h"

/* Where a column begins, and how wide it is: 0 when it does not fit. */
static int
place (const struct node_page *page, const struct node_column *columns, size_t column, int *width)
{
  int x = 0, taken = 0, left;

  for (size_t i = 0; columns[i].title; i++)
    taken += columns[i].width ? columns[i].width + 1 : 0;
  left = page->canvas->width - taken;
  left = left < 12 ? 12 : left > 40 ? 40 : left;
  for (size_t i = 0; i < column; i++)
    x += (columns[i].width ? columns[i].width : left) + 1;
  *width = columns[column].width ? columns[column].width : left;
  if (x + *width > page->canvas->width)
    *width = 0;
  return x;
}

void
node_table_head (struct node_page *page, const struct node_column *columns)
{
  canvas_restyle (page->canvas, 0, page->y, page->canvas->width, STYLE_HEAD);
  for (size_t i = 0; columns[i].title; i++) {
    int width, x = place (page, columns, i, &width);
    (columns[i].left ? canvas_text : canvas_right) (page->canvas, x, page->y, width, STYLE_HEAD, columns[i].title);
  }
  page->y++;
}

void
node_table_cell (struct node_page *page, const struct node_column *columns, size_t column, const char *text)
{
  int width, x = place (page, columns, column, &width);

  (columns[column].left ? canvas_text : canvas_right) (page->canvas, x, page->y, width, STYLE_PLAIN, text);
}

void
node_table_bar (struct node_page *page, const struct node_column *columns, size_t column, double share,
                const char *text)
{
  int width, x = place (page, columns, column, &width);

  canvas_bar (page->canvas, x, page->y, width, share, text);
}

static int
heavier (const void *one, const void *other)
{
  const struct node_row *a = one, *b = other;

  return a->weight != b->weight ? (a->weight < b->weight) - (a->weight > b->weight) : (a > b) - (a < b);
}

size_t
node_rows (json_t *rows, double (*weigh) (json_t *group, json_t *row), json_t *group, struct node_row *out, size_t most,
           size_t *left_out)
{
  size_t count = 0, all = json_object_size (rows);

  for (void *at = json_object_iter (rows); at && count < NODE_ROWS_MAX; at = json_object_iter_next (rows, at)) {
    json_t *row = json_object_iter_value (at);
    double weight = weigh ? weigh (group, row) : 0;
    out[count++] = (struct node_row){ json_object_iter_key (at), row, isnan (weight) ? -1 : weight };
  }
  if (weigh)
    qsort (out, count, sizeof out[0], heavier);
  count = count < most ? count : most;
  *left_out = all - count;
  return count;
}
