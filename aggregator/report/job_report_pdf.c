/* A job's report as A4 pages, see job_document.h: what stands on them, and where. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/gnuplot.h"
#include "aggregator/report/job_advice.h"
#include "aggregator/report/job_document.h"
#include "aggregator/report/job_paper.h"
#include "aggregator/report/job_plot.h"
#include "aggregator/report/job_sheet.h"
#include "aggregator/report/job_words.h"
#include "aggregator/report/pdf_info.h"
#include "synop/clock.h"
#include "synop/memory.h"
#include "synop/version.h"

static const struct plot_text title_style = { "left", PLOT_BLACK, 15, true };
static const struct plot_text key_style = { "left", PLOT_GREY, 8.5, false };
static const struct plot_text write_style = { "left", PLOT_BLACK, 8.5, true };
static const struct plot_text meter_style = { "left", PLOT_BLACK, 7.5, false };
static const struct plot_text value_style = { "left", PLOT_BLACK, 8.5, false };

#define KEY_WIDTH 94    /* of the names of facts */
#define METER_WORDS 132 /* wide, beside a meter */
#define BOLD_WIDTH 0.68 /* of a bold letter, of its size */

static void
put_notes (struct paper *paper)
{
  const struct job_report *report = paper->report;

  if (report->note_count)
    paper_heading (paper, "Notes", 24);
  for (size_t i = 0; i < report->note_count; i++) {
    const struct job_note *note = &report->notes[i];
    char *text = memory_format ("%s %s%s", note->text, note->advice, job_note_end (note));
    char *number = memory_format ("%zu", i + 1);
    paper_need (paper, 11);
    paper_text (paper, paper->left, &value_style, number, 2);
    paper_lines (paper, paper->left + 12, &value_style, text, 8);
    if (note->write[0])
      paper_lines (paper, paper->left + 20, &write_style, note->write, 2);
    free (number);
    free (text);
  }
}

static void
put_facts (struct paper *paper)
{
  struct sheet_facts facts;

  sheet_facts_init (&facts, paper->report);
  for (size_t i = 0; i < facts.count; i++) {
    paper_text (paper, PAPER_MARGIN, &key_style, facts.list[i].name, 40);
    paper_lines (paper, PAPER_MARGIN + KEY_WIDTH, &value_style, facts.list[i].value, 5);
  }
  sheet_facts_free (&facts);
}

static void
put_sentences (struct paper *paper, const char *heading, const char *const *sentences, size_t count)
{
  if (count == 0)
    return;
  paper_heading (paper, heading, 24);
  for (size_t i = 0; i < count; i++) {
    paper_need (paper, 11);
    paper_text (paper, PAPER_MARGIN, &value_style, "-", 2);
    paper_lines (paper, PAPER_MARGIN + 10, &value_style, sentences[i], 6);
  }
}

/* ---- tables ---- */

#define ROW_HEIGHT 10.5

static double
column_edge (const struct paper *paper, const struct sheet_table *table, size_t column, bool right)
{
  double shares = 0, before = 0;

  for (size_t i = 0; i < table->column_count; i++) {
    double share = table->columns[i].share;
    before += i < column + (right ? 1 : 0) ? share : 0;
    shares += share;
  }
  return paper->left + (paper->right - paper->left) * before / shares;
}

static void
put_cell (struct paper *paper, const struct sheet_table *table, size_t column, const struct plot_text *like,
          const char *text)
{
  bool words = table->columns[column].words;
  struct plot_text style = *like;
  double left = column_edge (paper, table, column, false), right = column_edge (paper, table, column, true);

  style.align = words ? "left" : "right";
  paper_text (paper, words ? left + (column ? 8 : 0) : right - 2, &style, text,
              (size_t) ((right - left - (words && column ? 10 : 2)) / (style.size * (style.bold ? 0.64 : 0.57))) + 1);
}

/* Whether some head of numbers is wider than its column. */
static bool
heads_are_wide (const struct paper *paper, const struct sheet_table *table, const struct plot_text *style)
{
  for (size_t c = 0; c < table->column_count; c++)
    if (!table->columns[c].words && (double) strlen (table->columns[c].head) * style->size * BOLD_WIDTH >
                                        column_edge (paper, table, c, true) - column_edge (paper, table, c, false) - 2)
      return true;
  return false;
}

/* Heads of numbers are narrow: a second word goes under the first. */
static void
put_head_words (struct paper *paper, const struct sheet_table *table, const struct plot_text *style)
{
  bool narrow = heads_are_wide (paper, table, style), second = false;

  for (size_t c = 0; c < table->column_count; c++)
    second |= narrow && !table->columns[c].words && strchr (table->columns[c].head, ' ');
  for (size_t c = 0; c < table->column_count; c++) {
    const char *head = table->columns[c].head, *blank = narrow && !table->columns[c].words ? strchr (head, ' ') : NULL;
    char *first = memory_copy (head, blank ? (size_t) (blank - head) : strlen (head));
    double y = paper->y;
    if (blank) {
      put_cell (paper, table, c, style, first);
      paper->y += ROW_HEIGHT - 2;
      put_cell (paper, table, c, style, blank + 1);
    } else {
      paper->y += second ? ROW_HEIGHT - 2 : 0;
      put_cell (paper, table, c, style, head);
    }
    paper->y = y;
    free (first);
  }
  paper->y += (second ? 2 : 1) * (ROW_HEIGHT - 2) + 1;
}

static void
put_table_head (struct paper *paper, const struct sheet_table *table, double size)
{
  const struct plot_text head = { "left", PLOT_BLACK, table->column_count > 14 ? size - 1.2 : size, true },
                         unit = { "left", PLOT_GREY, size, false };
  bool units = false;

  put_head_words (paper, table, &head);
  for (size_t c = 0; c < table->column_count; c++) {
    put_cell (paper, table, c, &unit, table->columns[c].unit);
    units |= table->columns[c].unit[0] != '\0';
  }
  paper->y += units ? ROW_HEIGHT : 2;
}

static void
put_table (struct paper *paper, struct sheet_table *table, const char *heading)
{
  double size = table->column_count > 14 ? 6.5 : 7.5;

  paper_heading (paper, heading, 6 * ROW_HEIGHT);
  paper_sentence (paper, &value_style, &table->above, 2);
  paper->y += table->above.length ? 4 : 0;
  put_table_head (paper, table, size);
  for (size_t r = 0; r < table->row_count; r++) {
    struct plot_text style = { "left", table->marked[r] ? PLOT_MARK : PLOT_BLACK, size, table->marked[r] };
    if (paper_need (paper, ROW_HEIGHT)) {
      paper->y += 6;
      put_table_head (paper, table, size);
    }
    if (r % 2 == 0)
      paper_stripe (paper, paper->y - ROW_HEIGHT / 2, ROW_HEIGHT, "#f1f1f1");
    for (size_t c = 0; c < table->column_count; c++)
      put_cell (paper, table, c, &style, table->cells[r * table->column_count + c]);
    paper->y += ROW_HEIGHT;
  }
  paper->y += table->behind.length ? 4 : 0;
  paper_sentence (paper, &value_style, &table->behind, 2);
  paper->y += 6;
}

/* ---- the document ---- */

/* A picture at the next free place; the height 0: there is nothing to draw. */
static void
put_picture (struct paper *paper, double height,
             void (*draw) (const struct canvas *, const struct area *, const struct job_report *))
{
  struct area area = { PAPER_MARGIN, 0, PAPER_INNER, height };

  if (height == 0)
    return;
  paper_need (paper, height);
  area.top = paper->y;
  draw (&paper->canvas, &area, paper->report);
  paper->y += height;
}

static void
put_overview (struct paper *paper)
{
  struct buffer title = { 0 };

  paper->y += 4;
  if (plot_overview_item (paper->report) == JOB_ITEM_COUNT) {
    plot_overview_title (&title, paper->report);
    paper_heading (paper, buffer_text (&title), 0);
  } else {
    put_picture (paper, plot_overview_height (paper->report), plot_overview);
  }
  buffer_free (&title);
}

static void
put_roofline (struct paper *paper)
{
  put_sentences (paper, JOB_REMARKS_TITLE, paper->report->remarks, paper->report->remark_count);
  paper->y += 6;
  put_picture (paper, plot_roofline_height (paper->report), plot_roofline);
}

static void
put_gpus (struct paper *paper)
{
  struct sheet_table table;

  sheet_gpus_init (&table, paper->report);
  if (table.row_count)
    put_table (paper, &table, "GPUs of the job");
  sheet_table_free (&table);
  put_picture (paper, plot_gpus_height (paper->report), plot_gpus);
}

/* Of one node there is one panel an item: two of them stand side by side. */
static void
put_items (struct paper *paper)
{
  bool alone = paper->report->node_count < 2, second = false;
  struct buffer zeros = { 0 };

  for (int i = 0; i < JOB_ITEM_COUNT; i++) {
    enum job_item_id item = (enum job_item_id) i;
    struct area area = { PAPER_MARGIN, 0, alone ? PAPER_INNER / 2 : PAPER_INNER, PLOT_ITEM_HEIGHT };
    if (!plot_has_item (paper->report, item) || plot_is_zero (paper->report, item))
      continue;
    if (!second)
      paper_need (paper, PLOT_ITEM_HEIGHT);
    area.left += second ? PAPER_INNER / 2 : 0;
    area.top = paper->y;
    plot_item (&paper->canvas, &area, paper->report, item);
    second = alone && !second;
    paper->y += second ? 0 : PLOT_ITEM_HEIGHT;
  }
  paper->y += second ? PLOT_ITEM_HEIGHT : 0;
  plot_zeros (&zeros, paper->report);
  paper_sentence (paper, &value_style, &zeros, 3);
  buffer_free (&zeros);
}

static void
put_figures (struct paper *paper)
{
  struct sheet_table table;

  for (int way = JOB_SUM; way <= JOB_MAXIMUM; way++) {
    sheet_items_init (&table, paper->report, (enum job_combination) way);
    if (table.row_count)
      put_table (paper, &table, sheet_items_title (paper->report, (enum job_combination) way));
    sheet_table_free (&table);
  }
}

static void
put_meters (struct paper *paper)
{
  for (size_t i = 0; i < paper->report->meter_count; i++) {
    const struct job_meter *meter = &paper->report->meters[i];
    double from = paper->left + 64, width = paper->right - from - METER_WORDS,
           full = fmin (meter->percent, 100) / 100 * width;
    struct buffer words = { 0 };
    job_meter_words (&words, meter, paper->report->node_count > 1);
    paper_text (paper, paper->left, &key_style, meter->title, 20);
    paper_box (paper, from, width, "#e6e6e6");
    paper_box (paper, from, full, "#2f7d4f");
    paper_text (paper, from + width + 6, &meter_style, buffer_text (&words), 34);
    paper->y += 13;
    buffer_free (&words);
  }
}

/* The facts on the left; on the right meters and notes, and, where there is one node, the figures. */
static void
put_top (struct paper *paper)
{
  double top = paper->y, foot;

  paper->right = PAPER_MARGIN + PAPER_INNER * 0.49;
  put_facts (paper);
  foot = paper->y;
  paper->y = top;
  paper->left = PAPER_MARGIN + PAPER_INNER * 0.52;
  paper->right = PAPER_MARGIN + PAPER_INNER;
  put_meters (paper);
  put_notes (paper);
  if (paper->report->node_count < 2)
    put_figures (paper);
  paper->y = fmax (paper->y, foot);
  paper->left = PAPER_MARGIN;
}

static void
put_document (struct paper *paper)
{
  struct buffer title = { 0 };
  struct sheet_table table;

  paper_begin (paper);
  buffer_printf (&title, "Job %s", words_short (paper->report->shown, 38).text);
  paper->y += 4;
  paper_text (paper, PAPER_MARGIN, &title_style, buffer_text (&title), 44);
  paper->y += 19;
  put_top (paper);
  if (paper->report->node_count != 1) {
    put_overview (paper);
    put_figures (paper);
  }
  put_roofline (paper);
  put_sentences (paper, JOB_TRACES_TITLE, paper->report->traces, paper->report->trace_count);
  put_sentences (paper, JOB_UNKNOWN_TITLE, paper->report->unknown, paper->report->unknown_count);
  put_gpus (paper);
  put_items (paper);
  if (paper->report->node_count != 1) {
    sheet_nodes_init (&table, paper->report);
    put_table (paper, &table, "Nodes");
    sheet_table_free (&table);
  }
  sheet_roofline_init (&table, paper->report);
  if (table.row_count)
    put_table (paper, &table, SHEET_ROOFLINE_TITLE);
  sheet_table_free (&table);
  paper_end (paper);
  buffer_free (&title);
}

int
job_report_pdf_make (const struct job_report *report, struct buffer *out, struct error *error)
{
  struct paper paper;
  struct buffer script = { 0 }, title = { 0 };
  int result;

  paper_init (&paper, report);
  put_document (&paper);
  paper_script (&paper, &script);
  result = gnuplot_run (&script, GNUPLOT_LIMIT, out, error);
  document_title (&title, report);
  if (result == 0)
    pdf_info_add (out, &(struct pdf_info){ .title = buffer_text (&title),
                                           .author = report->user,
                                           .creator = "synop " SYNOP_VERSION,
                                           .made_ns = clock_wall () });
  buffer_free (&title);
  buffer_free (&script);
  paper_free (&paper);
  return result;
}
