/* The page of a node: how it is as a whole, its CPUs, memory and pressure; then its devices and jobs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/top/node_screen_private.h"
#include "synop/quantity.h"

#define LABEL 5 /* columns of "CPU  " */
#define BAR_MAX 40

static int
bar_width (const struct node_page *page)
{
  int width = page->canvas->width / 2 - LABEL;

  return width > BAR_MAX ? BAR_MAX : width < 12 ? 12 : width;
}

/* A label, a bar, and words behind it. */
static void
draw_bar (struct node_page *page, const char *label, double share, const char *text, const char *words)
{
  int width = bar_width (page);

  canvas_text (page->canvas, 0, page->y, LABEL, STYLE_STRONG, label);
  canvas_bar (page->canvas, LABEL, page->y, width, share, text);
  canvas_text (page->canvas, LABEL + width + 2, page->y, page->canvas->width - LABEL - width - 2, STYLE_PLAIN, words);
  page->y++;
}

static void
draw_load (struct node_page *page)
{
  json_t *load = node_group (page->system, "load");

  if (!load)
    return;
  canvas_text (page->canvas, 0, page->y, LABEL, STYLE_STRONG, "Load");
  canvas_printf (page->canvas, LABEL, page->y, page->canvas->width - LABEL, STYLE_PLAIN,
                 "%.2f %.2f %.2f   %.0f of %.0f tasks run   up %s", node_number (load, "load_1"),
                 node_number (load, "load_5"), node_number (load, "load_15"), node_number (load, "runnable"),
                 node_number (load, "tasks"), quantity_age (node_number (load, "uptime")).text);
  page->y++;
}

/* ---- CPUs ---- */

/* The mean of the rows' values. */
static double
mean_of (json_t *rows, const char *key)
{
  double sum = 0;
  size_t count = 0;

  for (void *at = json_object_iter (rows); at; at = json_object_iter_next (rows, at)) {
    double value = node_number (json_object_iter_value (at), key);
    sum += isnan (value) ? 0 : value;
    count += !isnan (value);
  }
  return count ? sum / (double) count : (double) NAN;
}

static void
draw_strip (struct node_page *page, json_t *rows)
{
  int x = LABEL;

  for (void *at = json_object_iter (rows); at; at = json_object_iter_next (rows, at)) {
    if (x >= page->canvas->width) {
      x = LABEL;
      page->y++;
    }
    canvas_block (page->canvas, x++, page->y, node_number (json_object_iter_value (at), "busy") / 100);
  }
  page->y++;
}

void
node_page_cpus (struct node_page *page)
{
  json_t *group = node_group (page->system, "cpu_usage"), *rows = json_object_get (group, "usage_data");
  double busy = mean_of (rows, "busy"), steal = mean_of (rows, "steal");
  char words[120];

  if (!group)
    return;
  snprintf (words, sizeof words, "user %.1f%%  system %.1f%%  wait %.1f%%",
            mean_of (rows, "user") + mean_of (rows, "nice"),
            mean_of (rows, "system") + mean_of (rows, "irq") + mean_of (rows, "soft_irq"), mean_of (rows, "io_wait"));
  if (steal >= 0.05)
    snprintf (words + strlen (words), sizeof words - strlen (words), "  stolen %.1f%%", steal);
  draw_bar (page, "CPU", busy / 100, quantity_text (busy, "%").text, words);
  canvas_printf (page->canvas, 0, page->y, LABEL - 1, STYLE_FAINT, "%zu", json_object_size (rows));
  draw_strip (page, rows);
}

/* ---- memory, pressure, power ---- */

static void
draw_part (struct node_page *page, const char *label, double used, double total, const char *words)
{
  char text[2 * QUANTITY_SIZE];

  snprintf (text, sizeof text, "%s/%s", quantity_short (used, "bytes").text, quantity_short (total, "bytes").text);
  draw_bar (page, label, total > 0 ? used / total : 0, text, words);
}

static void
draw_memory (struct node_page *page)
{
  json_t *memory = node_group (page->system, "memory_info");
  char words[160];

  if (!memory)
    return;
  snprintf (words, sizeof words, "cached %s  shared %s  dirty %s",
            quantity_short (node_number (memory, "cached"), "bytes").text,
            quantity_short (node_number (memory, "shared"), "bytes").text,
            quantity_short (node_number (memory, "dirty"), "bytes").text);
  draw_part (page, "Mem", node_number (memory, "used"), node_number (memory, "total"), words);
  if (node_number (memory, "swap_total") > 0)
    draw_part (page, "Swap", node_number (memory, "swap_used"), node_number (memory, "swap_total"), "");
}

/* Time that some task lost for want of it, in percent of the last 10 s. */
static void
draw_pressure (struct node_page *page)
{
  static const struct {
    const char *label, *key;
  } parts[] = { { "CPU ", "cpu_some_avg10" }, { "  memory ", "memory_some_avg10" }, { "  I/O ", "io_some_avg10" } };
  json_t *pressure = node_group (page->system, "pressure");
  int x = LABEL;

  if (!pressure)
    return;
  canvas_text (page->canvas, 0, page->y, LABEL - 1, STYLE_STRONG, "Wait");
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    double value = node_number (pressure, parts[i].key);
    x += canvas_text (page->canvas, x, page->y, page->canvas->width - x, STYLE_PLAIN, parts[i].label);
    x += canvas_text (page->canvas, x, page->y, page->canvas->width - x,
                      value >= 20  ? STYLE_BAD
                      : value >= 5 ? STYLE_WARNING
                                   : STYLE_PLAIN,
                      quantity_text (value, "%").text);
  }
  canvas_text (page->canvas, x + 2, page->y, page->canvas->width - x - 2, STYLE_FAINT, "pressure of the last 10 s");
  page->y++;
}

static void
draw_power (struct node_page *page)
{
  json_t *power = node_group (page->system, "node_power"), *parts = json_object_get (power, "parts");
  int x = LABEL + 1;

  if (json_object_size (parts) == 0)
    return;
  canvas_text (page->canvas, 0, page->y, LABEL, STYLE_STRONG, "Power");
  x += canvas_text (page->canvas, x, page->y, page->canvas->width - x, STYLE_PLAIN,
                    quantity_text (node_number (json_object_get (power, "node"), "power"), "watts").text);
  for (void *at = json_object_iter (parts); at; at = json_object_iter_next (parts, at))
    x += canvas_printf (page->canvas, x, page->y, page->canvas->width - x, STYLE_FAINT, "  %s %s",
                        json_object_iter_key (at),
                        quantity_text (node_number (json_object_iter_value (at), "power"), "watts").text);
  page->y++;
}

void
node_page_draw (struct node_page *page)
{
  draw_load (page);
  node_page_cpus (page);
  draw_memory (page);
  draw_pressure (page);
  draw_power (page);
  node_devices_draw (page);
  node_jobs_draw (page, 20);
}
