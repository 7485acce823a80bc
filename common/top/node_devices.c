/* Tables of a node's GPUs, network interfaces, disks and file systems; see node_screen_private.h. */
#include <math.h>
#include <stdio.h>

#include "common/top/node_screen_private.h"
#include "synop/quantity.h"

#define ROWS 12 /* of a table; a machine may have hundreds */

static void
draw_left_out (struct node_page *page, size_t count)
{
  if (count)
    canvas_printf (page->canvas, 0, page->y++, page->canvas->width, STYLE_FAINT, "and %zu more", count);
}

static void
cell (struct node_page *page, const struct node_column *columns, size_t column, double value, const char *unit)
{
  node_table_cell (page, columns, column, quantity_short (value, unit).text);
}

/* ---- GPUs ---- */

static void
draw_gpus (struct node_page *page)
{
  static const struct node_column columns[] = { { "GPU", 6, true },   { "USE", 18, true },   { "MEMORY", 22, true },
                                                { "TEMP", 7, false }, { "POWER", 7, false }, { "STATE", 0, true },
                                                { NULL, 0, false } };
  json_t *group = node_group (page->system, "gpu");
  struct node_row rows[NODE_ROWS_MAX];
  size_t left_out, count = node_rows (json_object_get (group, "gpus"), NULL, group, rows, NODE_ROWS_MAX, &left_out);

  if (count == 0)
    return;
  node_table_head (page, columns);
  for (size_t i = 0; i < count; i++) {
    json_t *row = rows[i].values;
    double use = node_number (row, "utilization"), used = node_number (row, "memory_used"),
           total = node_number (row, "memory_total");
    char text[2 * QUANTITY_SIZE];
    snprintf (text, sizeof text, "%s/%s", quantity_short (used, "bytes").text, quantity_short (total, "bytes").text);
    node_table_cell (page, columns, 0, rows[i].name);
    node_table_bar (page, columns, 1, use / 100, quantity_text (use, "%").text);
    node_table_bar (page, columns, 2, total > 0 ? used / total : (double) NAN, text);
    node_table_cell (page, columns, 3, quantity_text (node_number (row, "temperature"), "celsius").text);
    node_table_cell (page, columns, 4, quantity_text (node_number (row, "power"), "watts").text);
    node_table_cell (page, columns, 5, node_text (row, "state"));
    page->y++;
  }
  draw_left_out (page, left_out);
}

/* ---- network ---- */

static double
weigh_interface (json_t *group, json_t *row)
{
  (void) group;
  return node_number (row, "rx_bytes") + node_number (row, "tx_bytes");
}

static void
draw_network (struct node_page *page)
{
  static const struct node_column columns[] = { { "NETWORK", 0, true },   { "RECEIVED/s", 10, false },
                                                { "SENT/s", 9, false },   { "PACKETS/s", 9, false },
                                                { "ERRORS/s", 8, false }, { NULL, 0, false } };
  json_t *group = node_group (page->system, "network");
  struct node_row rows[NODE_ROWS_MAX];
  size_t left_out,
      count = node_rows (json_object_get (group, "devices"), weigh_interface, group, rows, ROWS, &left_out);

  if (count == 0)
    return;
  node_table_head (page, columns);
  for (size_t i = 0; i < count; i++) {
    json_t *row = rows[i].values;
    node_table_cell (page, columns, 0, rows[i].name);
    cell (page, columns, 1, node_rate (group, row, "rx_bytes"), "bytes");
    cell (page, columns, 2, node_rate (group, row, "tx_bytes"), "bytes");
    cell (page, columns, 3, node_rate (group, row, "rx_packets") + node_rate (group, row, "tx_packets"), "");
    cell (page, columns, 4, node_rate (group, row, "rx_errors") + node_rate (group, row, "tx_errors"), "");
    page->y++;
  }
  draw_left_out (page, left_out);
}

/* ---- disks ---- */

static double
weigh_disk (json_t *group, json_t *row)
{
  (void) group;
  return node_number (row, "read_bytes") + node_number (row, "write_bytes") +
         (node_number (row, "in_total") > 0 ? 0.5 : 0); /* disks before what lies on them */
}

static void
draw_disks (struct node_page *page)
{
  static const struct node_column columns[] = { { "DISK", 0, true },       { "READ/s", 10, false },
                                                { "WRITTEN/s", 9, false }, { "CALLS/s", 9, false },
                                                { "BUSY", 8, false },      { NULL, 0, false } };
  json_t *group = node_group (page->system, "disk_io");
  struct node_row rows[NODE_ROWS_MAX];
  size_t left_out, count = node_rows (json_object_get (group, "devices"), weigh_disk, group, rows, ROWS, &left_out);

  if (count == 0)
    return;
  node_table_head (page, columns);
  for (size_t i = 0; i < count; i++) {
    json_t *row = rows[i].values;
    node_table_cell (page, columns, 0, rows[i].name);
    cell (page, columns, 1, node_rate (group, row, "read_bytes"), "bytes");
    cell (page, columns, 2, node_rate (group, row, "write_bytes"), "bytes");
    cell (page, columns, 3, node_rate (group, row, "reads") + node_rate (group, row, "writes"), "");
    cell (page, columns, 4, 100 * node_rate (group, row, "io_time"), "%");
    page->y++;
  }
  draw_left_out (page, left_out);
}

/* ---- file systems ---- */

static double
weigh_mount (json_t *group, json_t *row)
{
  (void) group;
  return node_number (row, "used") / node_number (row, "size");
}

static void
draw_mounts (struct node_page *page)
{
  static const struct node_column columns[] = { { "FILE SYSTEM", 0, true }, { "USED", 18, true }, { "SIZE", 7, false },
                                                { "FREE", 7, false },       { "TYPE", 8, true },  { NULL, 0, false } };
  json_t *group = node_group (page->system, "filesystem");
  struct node_row rows[NODE_ROWS_MAX];
  size_t left_out, count = node_rows (json_object_get (group, "mounts"), weigh_mount, group, rows, ROWS, &left_out);

  if (count == 0)
    return;
  node_table_head (page, columns);
  for (size_t i = 0; i < count; i++) {
    json_t *row = rows[i].values;
    double share = weigh_mount (group, row);
    node_table_cell (page, columns, 0, rows[i].name);
    node_table_bar (page, columns, 1, share, quantity_text (100 * share, "%").text);
    cell (page, columns, 2, node_number (row, "size"), "bytes");
    cell (page, columns, 3, node_number (row, "available"), "bytes");
    node_table_cell (page, columns, 4, node_text (row, "type"));
    page->y++;
  }
  draw_left_out (page, left_out);
}

void
node_devices_draw (struct node_page *page)
{
  draw_gpus (page);
  draw_network (page);
  draw_disks (page);
  draw_mounts (page);
}
