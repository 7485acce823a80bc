/* The jobs of a node; see node_screen_private.h. */
#include <math.h>

#include "common/top/node_screen_private.h"
#include "synop/clock.h"
#include "synop/quantity.h"

static const struct node_column columns[] = { { "JOB", 10, true },    { "USER", 9, true },     { "NAME", 0, true },
                                              { "CPUS", 4, false },   { "CPU", 6, false },     { "MEMORY", 7, false },
                                              { "READ/s", 7, false }, { "WRITE/s", 7, false }, { "GPU", 6, false },
                                              { NULL, 0, false } };

static void
draw_job (struct node_page *page, const char *id, json_t *job)
{
  json_t *info = json_object_get (job, "job_info"), *cpu = json_object_get (job, "job_cpu"),
         *memory = json_object_get (job, "job_memory"), *io = json_object_get (job, "job_io"),
         *gpu = json_object_get (job, "job_gpu");
  const char *name = node_text (info, "name");

  node_table_cell (page, columns, 0, id);
  node_table_cell (page, columns, 1, node_text (info, "user"));
  node_table_cell (page, columns, 2, *name ? name : node_text (info, "command"));
  node_table_cell (page, columns, 3, quantity_count (node_number (cpu, "cpus")).text);
  node_table_cell (page, columns, 4, quantity_short (node_number (cpu, "usage"), "%").text);
  node_table_cell (page, columns, 5, quantity_short (node_number (memory, "rss"), "bytes").text);
  node_table_cell (page, columns, 6, quantity_short (node_rate (io, io, "read_bytes"), "bytes").text);
  node_table_cell (page, columns, 7, quantity_short (node_rate (io, io, "write_bytes"), "bytes").text);
  node_table_cell (page, columns, 8, quantity_short (node_number (gpu, "utilization"), "%").text);
  page->y++;
}

static double
weigh_job (json_t *group, json_t *job)
{
  json_t *cpu = json_object_get (job, "job_cpu");
  double weight = node_number (cpu, "usage") * node_number (cpu, "cpus");

  (void) group;
  return isnan (weight) ? 0 : weight;
}

void
node_jobs_draw (struct node_page *page, size_t most)
{
  struct node_row rows[NODE_ROWS_MAX];
  size_t left_out, count = node_rows (page->jobs, weigh_job, NULL, rows, most ? most : NODE_ROWS_MAX, &left_out);

  node_table_head (page, columns);
  for (size_t i = 0; i < count; i++)
    draw_job (page, rows[i].name, rows[i].values);
  if (count == 0)
    canvas_text (page->canvas, 0, page->y++, page->canvas->width, STYLE_FAINT, "No job runs here.");
  if (left_out)
    canvas_printf (page->canvas, 0, page->y++, page->canvas->width, STYLE_FAINT, "and %zu more", left_out);
}
