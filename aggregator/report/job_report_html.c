/* A job's report as one HTML file, see job_document.h: pictures are SVG that we draw (job_svg.h), there is no script, and
 * nothing is fetched from anywhere. Light, dark and paper differ in the style sheet alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_advice.h"
#include "aggregator/report/job_document.h"
#include "aggregator/report/job_markup.h"
#include "aggregator/report/job_plot.h"
#include "aggregator/report/job_sheet.h"
#include "aggregator/report/job_svg.h"
#include "aggregator/report/job_words.h"
#include "synop/memory.h"

#define LIGHT                                                                                                          \
  "--paper:#fff;--ink:#202020;--quiet:#5a5a5a;--line:#d0d0d0;--odd:#f3f3f3;--alarm:#b34700;--mark:#d55e00;"            \
  "--band:#b9d6ea;--bar:#9ecae1;--gap:#e2e2e2;--hover:rgba(0,0,0,.12);--mean:#00496f;--meter:#2f7d4f;--code:#eef3f7;"  \
  "--c0:#0072b2;--c1:#c67c00;--c2:#009e73;--c3:#b5548c;--c4:#3b9fd6;--c5:#404040"
#define DARK                                                                                                           \
  "--paper:#16181b;--ink:#e6e6e6;--quiet:#a3a8ae;--line:#3a3f45;--odd:#1f2226;--alarm:#ff9a4d;--mark:#ff7f2a;"         \
  "--band:#1f4a66;--bar:#3d7397;--gap:#33373c;--hover:rgba(255,255,255,.16);--mean:#9fd3ff;--meter:#4fb477;"           \
  "--code:#262c33;--c0:#56b4e9;--c1:#e69f00;--c2:#2fc79a;--c3:#e39cc4;--c4:#9ad4f5;--c5:#c8c8c8"

static const char style_sheet[] =
    ":root{color-scheme:light dark;" LIGHT "}@media print{:root{color-scheme:light}}\n"
    "@media screen and (prefers-color-scheme:dark){:root{" DARK "}}\n"
    "html{background:var(--paper);color:var(--ink);font:15px/1.45 'DejaVu Sans',Verdana,'Segoe UI',Arial,sans-serif}\n"
    "body{max-width:1120px;margin:0 auto;padding:16px 20px}\n"
    "h1{font-size:26px;margin:0 0 10px;overflow-wrap:anywhere}\n"
    "h2{font-size:18px;margin:26px 0 6px;border-bottom:1px solid var(--line)}\n"
    "small{font-weight:normal;font-size:12px;color:var(--quiet)}\n"
    ".head,.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(380px,100%),1fr));gap:8px 32px}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:1px 18px;margin:0;align-content:start}\n"
    "dt,footer{color:var(--quiet)}dd{margin:0;overflow-wrap:anywhere}footer{margin:28px 0 0;font-size:12px}\n"
    ".meters{display:grid;grid-template-columns:max-content 1fr max-content;gap:6px 12px;align-content:start;"
    "align-items:center}\n"
    ".meters svg{width:100%;height:14px;background:var(--odd);border:1px solid var(--line)}.meters "
    "rect{fill:var(--meter)}\n"
    ".notes li{margin:0 0 8px;overflow-wrap:anywhere}\n"
    "code{display:block;width:fit-content;max-width:100%;background:var(--code);padding:2px 8px;margin:2px 0;"
    "font:14px 'DejaVu Sans Mono',monospace;user-select:all}\n"
    "figure{margin:8px 0;break-inside:avoid}figure svg{display:block;width:100%;height:auto}\n"
    "figcaption{font-size:14px}.wide{overflow-x:auto}.wide svg{min-width:800px}\n"
    ".legend{margin:0;font-size:12px;display:flex;flex-wrap:wrap;gap:0 12px}\n"
    ".legend i{display:inline-block;width:16px;margin-right:5px;vertical-align:middle;border-top:2px solid}\n"
    ".legend i.dash{border-top-style:dashed}.legend i.far{border-top-width:4px}\n"
    ".legend i.area{height:9px;border:0}i.band{background:var(--band)}i.gap{background:var(--gap)}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;width:100%}\n"
    "th,td{padding:2px 7px;text-align:right;white-space:nowrap}\n"
    "th.words,td.words{text-align:left}td.words{white-space:normal;overflow-wrap:anywhere;min-width:7em}\n"
    "th{border-bottom:1px solid var(--quiet);vertical-align:bottom}\n"
    "th span{display:block;font-weight:normal;color:var(--quiet)}\n"
    "tbody tr:nth-child(odd){background:var(--odd)}\n"
    "tr.marked td{color:var(--alarm);font-weight:bold}\n"
    ".v0{fill:#ffffd9}.v1{fill:#edf8b1}.v2{fill:#c7e9b4}.v3{fill:#9fdab8}.v4{fill:#6cc7bd}.v5{fill:#41b6c4}\n"
    ".v6{fill:#2c8fbe}.v7{fill:#225ea8}.v8{fill:#253494}.v9{fill:#081d58}\n"
    "@media screen and (prefers-color-scheme:dark){.v0{fill:#22262c}.v1{fill:#1f3445}.v2{fill:#1e4460}.v3{fill:#1f567a}"
    ".v4{fill:#246a94}.v5{fill:#2f80ab}.v6{fill:#4298bf}.v7{fill:#64b2cf}.v8{fill:#93cddd}.v9{fill:#cde9e8}}\n"
    "@page{size:A4;margin:12mm}\n"
    "@media print{html{font-size:10px}body{padding:0;max-width:none}h1{font-size:18px}h2{font-size:13px;margin:10px 0 "
    "4px;"
    "break-after:avoid}.head,.plots{grid-template-columns:1fr 1fr;gap:4px "
    "20px}figcaption{font-size:10px}table{font-size:8px}\n"
    "th,td{padding:1px 3px}thead{display:table-header-group}tr{break-inside:avoid}.scroll,.wide{overflow:visible}"
    ".wide svg{min-width:0}"
    ".legend,small,footer,code{font-size:9px}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n";

struct html {
  const struct job_report *report;
  struct buffer out;
};

static void
html_put (struct html *html, const char *text)
{
  buffer_add_string (&html->out, text);
}

static void
put_text (struct html *html, const char *text, size_t limit)
{
  markup_text (&html->out, text, limit);
}

/* ---- words ---- */

/* A paragraph, where there is something to say. */
static void
put_sentence (struct html *html, struct buffer *sentence)
{
  if (sentence->length) {
    html_put (html, "<p>");
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
put_meters (struct html *html)
{
  html_put (html, "<div class=\"meters\">\n");
  for (size_t i = 0; i < html->report->meter_count; i++) {
    const struct job_meter *meter = &html->report->meters[i];
    struct buffer words = { 0 };
    job_meter_words (&words, meter, html->report->node_count > 1);
    buffer_printf (&html->out,
                   "<span>%s</span><svg viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\" role=\"img\" "
                   "aria-label=\"%.0f percent\"><rect width=\"%.1f\" height=\"1\"/></svg><span>",
                   meter->title, meter->percent, fmin (meter->percent, 100));
    put_text (html, buffer_text (&words), 80);
    html_put (html, "</span>\n");
    buffer_free (&words);
  }
  html_put (html, "</div>\n");
}

static void
put_notes (struct html *html)
{
  const struct job_report *report = html->report;

  html_put (html, report->note_count ? "<h2>Notes</h2>\n<ol class=\"notes\">\n" : "");
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

/* ---- tables and pictures ---- */

static void
put_table (struct html *html, struct sheet_table *table, const char *heading)
{
  if (table->row_count) {
    buffer_printf (&html->out, "<h2>%s</h2>\n", heading);
    put_sentence (html, &table->above);
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
    put_sentence (html, &table->behind);
  }
  sheet_table_free (table);
}

static void
put_items (struct html *html)
{
  struct buffer zeros = { 0 };

  html_put (html, "<h2>Over time</h2>\n<div class=\"plots\">\n");
  for (int i = 0; i < JOB_ITEM_COUNT; i++) {
    enum job_item_id item = (enum job_item_id) i;
    if (plot_has_item (html->report, item) && !plot_is_zero (html->report, item))
      svg_item (&html->out, html->report, item);
  }
  html_put (html, "</div>\n");
  plot_zeros (&zeros, html->report);
  put_sentence (html, &zeros);
  buffer_free (&zeros);
}

static void
put_figures (struct html *html)
{
  struct sheet_table table;

  for (int way = JOB_SUM; way <= JOB_MAXIMUM; way++) {
    sheet_items_init (&table, html->report, (enum job_combination) way);
    put_table (html, &table, sheet_items_title (html->report, (enum job_combination) way));
  }
}

/* Of one node the figures find room beside the facts. */
static void
put_top (struct html *html)
{
  bool alone = html->report->node_count < 2;

  html_put (html, "<div class=\"head\">\n");
  put_facts (html);
  html_put (html, "<div>\n");
  put_meters (html);
  put_notes (html);
  if (alone)
    put_figures (html);
  html_put (html, "</div>\n</div>\n");
  svg_overview (&html->out, html->report);
  if (!alone)
    put_figures (html);
}

static void
put_gpus (struct html *html)
{
  struct sheet_table table;

  sheet_gpus_init (&table, html->report);
  put_table (html, &table, "GPUs of the job");
  svg_gpus (&html->out, html->report);
}

static void
put_node_tables (struct html *html)
{
  struct sheet_table table;

  if (html->report->node_count > 1) {
    sheet_nodes_init (&table, html->report);
    put_table (html, &table, "Nodes");
  }
  sheet_roofline_init (&table, html->report);
  put_table (html, &table, SHEET_ROOFLINE_TITLE);
}

static void
put_head (struct html *html, const char *title, const char *made)
{
  html_put (html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
  put_text (html, title, 300);
  html_put (html, "</title>\n<meta name=\"author\" content=\"");
  put_text (html, html->report->user, 100);
  html_put (html, "\">\n<meta name=\"generator\" content=\"");
  put_text (html, made, 200);
  html_put (html, "\">\n<style>\n");
  html_put (html, style_sheet);
  html_put (html, svg_style);
  html_put (html, "</style>\n</head>\n<body>\n<h1>");
  put_text (html, title, 300);
  html_put (html, "</h1>\n");
}

int
job_report_html_make (const struct job_report *report, struct buffer *out, struct error *error)
{
  struct html html = { .report = report };
  struct buffer title = { 0 }, made = { 0 };

  (void) error;
  document_title (&title, report);
  document_made (&made);
  put_head (&html, buffer_text (&title), buffer_text (&made));
  put_top (&html);
  put_gpus (&html);
  put_sentences (&html, JOB_REMARKS_TITLE, report->remarks, report->remark_count);
  svg_roofline (&html.out, report);
  put_items (&html);
  put_node_tables (&html);
  put_sentences (&html, JOB_TRACES_TITLE, report->traces, report->trace_count);
  put_sentences (&html, JOB_UNKNOWN_TITLE, report->unknown, report->unknown_count);
  html_put (&html, "<footer>");
  put_text (&html, buffer_text (&made), 200);
  html_put (&html, "</footer>\n</body>\n</html>\n");
  buffer_free (&title);
  buffer_free (&made);
  *out = html.out;
  return 0;
}
