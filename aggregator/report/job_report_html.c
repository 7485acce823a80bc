/* A job's report as one HTML file, see job_document.h: pictures are SVG within it, there is no script, and nothing is
 * fetched from anywhere.
 *
 * What gnuplot writes is a document of its own: it loses its head and its tooltips, and its identifiers become those of
 * the picture, since all pictures share one page. Texts in it are escaped by gnuplot. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/gnuplot.h"
#include "aggregator/report/job_advice.h"
#include "aggregator/report/job_document.h"
#include "aggregator/report/job_plot.h"
#include "aggregator/report/job_sheet.h"
#include "aggregator/report/job_words.h"
#include "synop/memory.h"

#define PICTURE_WIDTH 540.0

static const char style_sheet[] =
    "html{background:#fff;color:#202020;font:15px/1.45 'DejaVu Sans',Verdana,'Segoe UI',Arial,sans-serif}\n"
    "body{max-width:1120px;margin:0 auto;padding:16px 20px}\n"
    "h1{font-size:26px;margin:0 0 10px}\n"
    "h2{font-size:19px;margin:28px 0 6px;border-bottom:1px solid #c8c8c8}\n"
    "h2 small{font-weight:normal;font-size:13px;color:#5a5a5a}\n"
    ".slow{font-size:18px;font-weight:bold;margin:14px 0 0}\n"
    ".alarm{color:#b34700;font-weight:bold;margin:0 0 10px;overflow-wrap:anywhere}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:1px 18px;margin:0}\n"
    "dt{color:#5a5a5a}dd{margin:0;overflow-wrap:anywhere}\n"
    "figure{margin:8px 0;break-inside:avoid}\n"
    "figure svg{display:block;width:100%;height:auto}\n"
    "svg text{font-family:'DejaVu Sans',Verdana,Arial,sans-serif}\n"
    "svg g[font-family$=':Bold'] text{font-weight:bold}\n"
    "svg image{image-rendering:pixelated}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;width:100%}\n"
    "th,td{padding:2px 7px;text-align:right;white-space:nowrap}\n"
    "th.words,td.words{text-align:left}td.words{white-space:normal;overflow-wrap:anywhere;min-width:8em}\n"
    "th{border-bottom:1px solid #808080;vertical-align:bottom}\n"
    "th span{display:block;font-weight:normal;color:#5a5a5a}\n"
    "tbody tr:nth-child(odd){background:#f1f1f1}\n"
    "tr.marked td{color:#b34700;font-weight:bold}\n"
    "@page{size:A4;margin:14mm}\n"
    "@media print{html{font-size:11px}body{padding:0;max-width:none}h2{break-after:avoid}table{font-size:8px}\n"
    "th,td{padding:1px 3px}thead{display:table-header-group}tr{break-inside:avoid}.scroll{overflow:visible}}\n";

struct html {
  const struct job_report *report;
  struct buffer out;
  size_t pictures;
};

static void
html_put (struct html *html, const char *text)
{
  buffer_add_string (&html->out, text);
}

/* A text of anybody's, in an element or between double quotes. */
static void
put_text (struct html *html, const char *text, size_t limit)
{
  struct buffer clean = { 0 };

  words_add (&clean, text, limit);
  for (size_t i = 0; i < clean.length; i++)
    switch (clean.data[i]) {
    case '&':
      html_put (html, "&amp;");
      break;
    case '<':
      html_put (html, "&lt;");
      break;
    case '>':
      html_put (html, "&gt;");
      break;
    case '"':
      html_put (html, "&quot;");
      break;
    case '\'':
      html_put (html, "&#39;");
      break;
    default:
      buffer_add (&html->out, clean.data + i, 1);
    }
  buffer_free (&clean);
}

/* ---- pictures ---- */

static bool
starts (const char *at, const char *end, const char *with)
{
  size_t length = strlen (with);

  return (size_t) (end - at) >= length && memcmp (at, with, length) == 0;
}

/* A tag of gnuplot's, from < to >, with its identifiers, and what points to them, made this picture's. */
static void
put_tag (struct html *html, const char *at, const char *end)
{
  static const char *const before[] = { " id=\"", " id='", "href='#", "href=\"#", "url(#" };

  while (at < end) {
    size_t i = 0;
    while (i < sizeof before / sizeof before[0] && !starts (at, end, before[i]))
      i++;
    if (i < sizeof before / sizeof before[0]) {
      html_put (html, before[i]);
      buffer_printf (&html->out, "p%zu-", html->pictures);
      at += strlen (before[i]);
    } else {
      buffer_add (&html->out, at++, 1);
    }
  }
}

/* The <svg> of what gnuplot wrote, without the titles and the description in it. -1: there is none. */
static int
put_svg (struct html *html, const struct buffer *drawn)
{
  const char *end = drawn->data + drawn->length, *at = memmem (drawn->data, drawn->length, "<svg", 4), *tag_end;

  if (!at)
    return -1;
  while (at < end) {
    const char *skip = starts (at, end, "<title>") ? "</title>" : starts (at, end, "<desc>") ? "</desc>" : NULL;
    if (skip) {
      tag_end = memmem (at, (size_t) (end - at), skip, strlen (skip));
      at = tag_end ? tag_end + strlen (skip) : end;
    } else if (*at == '<') {
      tag_end = memchr (at, '>', (size_t) (end - at));
      tag_end = tag_end ? tag_end + 1 : end;
      put_tag (html, at, tag_end);
      at = tag_end;
    } else {
      buffer_add (&html->out, at++, 1);
    }
  }
  return 0;
}

/* A picture: what is drawn on the canvas between the two. */
struct picture {
  struct buffer script;
  struct canvas canvas;
  struct area area;
};

static void
picture_begin (struct picture *picture, double height)
{
  *picture = (struct picture){ .canvas = { &picture->script, PICTURE_WIDTH, height },
                               .area = { 0, 0, PICTURE_WIDTH, height } };
  buffer_printf (&picture->script,
                 "set encoding utf8\nset terminal svg size %.0f,%.0f dynamic noenhanced font '" PLOT_FONT
                 ",7' background 'white'\nset multiplot\n",
                 PICTURE_WIDTH, height);
}

static int
picture_put (struct html *html, struct picture *picture, const char *label, struct error *error)
{
  struct buffer drawn = { 0 };
  int result;

  html->pictures++;
  buffer_add_string (&picture->script, "unset multiplot\n");
  result = gnuplot_run (&picture->script, GNUPLOT_LIMIT, &drawn, error);
  if (result == 0) {
    html_put (html, "<figure role=\"img\" aria-label=\"");
    put_text (html, label, 200);
    html_put (html, "\">\n");
    if (put_svg (html, &drawn) < 0)
      result = error_set (error, "gnuplot drew no SVG");
    html_put (html, "</figure>\n");
  }
  buffer_free (&picture->script);
  buffer_free (&drawn);
  return result;
}

static int
put_overview (struct html *html, struct error *error)
{
  struct buffer title = { 0 };
  struct picture picture;
  int result = 0;

  plot_overview_title (&title, html->report);
  if (plot_overview_item (html->report) == JOB_ITEM_COUNT) {
    html_put (html, "<p class=\"slow\">");
    put_text (html, buffer_text (&title), 200);
    html_put (html, "</p>\n");
  } else {
    picture_begin (&picture, plot_overview_height (html->report));
    plot_overview (&picture.canvas, &picture.area, html->report);
    result = picture_put (html, &picture, buffer_text (&title), error);
  }
  buffer_free (&title);
  return result;
}

static int
put_items (struct html *html, struct error *error)
{
  const char *panel = "";
  struct picture picture;

  for (int i = 0; i < JOB_ITEM_COUNT; i++) {
    const struct job_item *item = &job_items[i];
    if (!plot_has_item (html->report, (enum job_item_id) i))
      continue;
    if (strcmp (panel, item->panel) != 0)
      buffer_printf (&html->out, "<h2>%s%s</h2>\n", item->panel,
                     !job_is_of_nodes (html->report, (size_t) i)
                         ? ""
                         : " <small>of whole nodes, with all that runs there</small>");
    panel = item->panel;
    picture_begin (&picture, PLOT_ITEM_HEIGHT);
    plot_item (&picture.canvas, &picture.area, html->report, (enum job_item_id) i);
    if (picture_put (html, &picture, item->title, error) < 0)
      return -1;
  }
  return 0;
}

/* ---- words ---- */

/* A paragraph, where there is something to say. */
static void
put_sentence (struct html *html, const char *tag, struct buffer *sentence)
{
  if (sentence->length) {
    html_put (html, tag);
    put_text (html, buffer_text (sentence), 1000);
    html_put (html, "</p>\n");
  }
}

static void
put_facts (struct html *html)
{
  struct sheet_facts facts;

  sheet_facts_init (&facts, html->report);
  html_put (html, "<dl>\n");
  for (size_t i = 0; i < facts.count; i++) {
    buffer_printf (&html->out, "<dt>%s</dt><dd>", facts.list[i].name);
    put_text (html, facts.list[i].value, 1000);
    html_put (html, "</dd>\n");
  }
  html_put (html, "</dl>\n");
  sheet_facts_free (&facts);
}

static void
put_notes (struct html *html)
{
  const struct job_report *report = html->report;

  if (report->note_count)
    html_put (html, "<h2>Notes</h2>\n<ol class=\"notes\">\n");
  for (size_t i = 0; i < report->note_count; i++) {
    const struct job_note *note = &report->notes[i];
    html_put (html, "<li>");
    put_text (html, note->text, 1000);
    html_put (html, " ");
    put_text (html, note->advice, 1000);
    html_put (html, job_note_end (note));
    if (note->write[0]) {
      html_put (html, "<code>");
      put_text (html, note->write, 400);
      html_put (html, "</code>");
    }
    html_put (html, "</li>\n");
  }
  html_put (html, report->note_count ? "</ol>\n" : "");
}

static void
put_table (struct html *html, struct sheet_table *table, const char *heading)
{
  buffer_printf (&html->out, "<h2>%s</h2>\n", heading);
  put_sentence (html, "<p>", &table->above);
  html_put (html, "<div class=\"scroll\"><table><thead><tr>");
  for (size_t c = 0; c < table->column_count; c++)
    buffer_printf (&html->out, "<th%s>%s<span>%s</span></th>", table->columns[c].words ? " class=\"words\"" : "",
                   table->columns[c].head, table->columns[c].unit);
  html_put (html, "</tr></thead>\n<tbody>\n");
  for (size_t r = 0; r < table->row_count; r++) {
    html_put (html, table->marked[r] ? "<tr class=\"marked\">" : "<tr>");
    for (size_t c = 0; c < table->column_count; c++) {
      html_put (html, table->columns[c].words ? "<td class=\"words\">" : "<td>");
      put_text (html, table->cells[r * table->column_count + c], 128);
      html_put (html, "</td>");
    }
    html_put (html, "</tr>\n");
  }
  html_put (html, "</tbody></table></div>\n");
  put_sentence (html, "<p>", &table->behind);
}

static int
put_gpus (struct html *html, struct error *error)
{
  double height = plot_gpus_height (html->report);
  struct sheet_table table;
  struct picture picture;

  sheet_gpus_init (&table, html->report);
  if (table.row_count)
    put_table (html, &table, "GPUs of the job");
  sheet_table_free (&table);
  if (height == 0)
    return 0;
  picture_begin (&picture, height);
  plot_gpus (&picture.canvas, &picture.area, html->report);
  return picture_put (html, &picture, PLOT_GPUS_TITLE, error);
}

static void
put_sentences (struct html *html, const char *heading, const char *const *sentences, size_t count)
{
  if (count == 0)
    return;
  buffer_printf (&html->out, "<h2>%s</h2>\n<ul>\n", heading);
  for (size_t i = 0; i < count; i++) {
    html_put (html, "<li>");
    put_text (html, sentences[i], 1000);
    html_put (html, "</li>\n");
  }
  html_put (html, "</ul>\n");
}

static int
put_roofline (struct html *html, struct error *error)
{
  double height = plot_roofline_height (html->report);
  struct picture picture;

  put_sentences (html, JOB_REMARKS_TITLE, html->report->remarks, html->report->remark_count);
  if (height == 0)
    return 0;
  picture_begin (&picture, height);
  plot_roofline (&picture.canvas, &picture.area, html->report);
  return picture_put (html, &picture, PLOT_ROOFLINE_TITLE, error);
}

static void
put_node_tables (struct html *html)
{
  struct sheet_table table;

  sheet_nodes_init (&table, html->report);
  put_table (html, &table, "Nodes");
  sheet_table_free (&table);
  sheet_roofline_init (&table, html->report);
  if (table.row_count)
    put_table (html, &table, SHEET_ROOFLINE_TITLE);
  sheet_table_free (&table);
}

static int
put_document (struct html *html, struct error *error)
{
  struct sheet_table table;

  html_put (html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width\">\n<title>Job ");
  put_text (html, html->report->shown, 128);
  html_put (html, "</title>\n<style>\n");
  html_put (html, style_sheet);
  html_put (html, "</style>\n</head>\n<body>\n<h1>Job ");
  put_text (html, html->report->shown, 128);
  html_put (html, "</h1>\n");
  put_facts (html);
  put_notes (html);
  if (put_overview (html, error) < 0)
    return -1;
  sheet_items_init (&table, html->report);
  if (table.row_count)
    put_table (html, &table, "In figures");
  sheet_table_free (&table);
  if (put_roofline (html, error) < 0)
    return -1;
  put_sentences (html, JOB_UNKNOWN_TITLE, html->report->unknown, html->report->unknown_count);
  if (put_gpus (html, error) < 0)
    return -1;
  if (put_items (html, error) < 0)
    return -1;
  put_node_tables (html);
  html_put (html, "</body>\n</html>\n");
  return 0;
}

int
job_report_html_make (const struct job_report *report, struct buffer *out, struct error *error)
{
  struct html html = { .report = report };
  int result = put_document (&html, error);

  *out = html.out;
  return result;
}
