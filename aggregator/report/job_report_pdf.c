/* A job's report as A4 pages, see job_document.h: gnuplot sets the words too, so that nothing else is needed.
 *
 * A page is one multiplot: its pictures come first, its words and lines are gathered and drawn last, over an empty plot
 * of the whole page. The number of pages is known at the end alone, and is put where it belongs then. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/gnuplot.h"
#include "aggregator/report/job_advice.h"
#include "aggregator/report/job_document.h"
#include "aggregator/report/job_plot.h"
#include "aggregator/report/job_sheet.h"
#include "aggregator/report/job_words.h"
#include "synop/memory.h"

#define PAGE_WIDTH 595.28
#define PAGE_HEIGHT 841.89
#define MARGIN 38.0
#define INNER (PAGE_WIDTH - 2 * MARGIN)
#define TOP 56.0
#define BOTTOM (PAGE_HEIGHT - 44.0)

static const struct plot_text head_style = { "left", PLOT_GREY, 7, false };
static const struct plot_text foot_style = { "right", PLOT_GREY, 7, false };
static const struct plot_text title_style = { "left", PLOT_BLACK, 15, true };
static const struct plot_text heading_style = { "left", PLOT_BLACK, 10.5, true };
static const struct plot_text key_style = { "left", PLOT_GREY, 8.5, false };
static const struct plot_text write_style = { "left", PLOT_BLACK, 8.5, true };
static const struct plot_text meter_style = { "left", PLOT_BLACK, 7.5, false };
static const struct plot_text value_style = { "left", PLOT_BLACK, 8.5, false };

#define KEY_WIDTH 94    /* of the names of facts */
#define METER_WORDS 132 /* wide, beside a meter */
#define PAGE_COUNT "\1"
#define BOLD_WIDTH 0.68 /* of a bold letter, of its size */

struct paper {
  const struct job_report *report;
  struct buffer script;
  struct buffer words; /* of the page: drawn when it ends */
  struct canvas canvas, words_canvas;
  size_t page;
  double y;
  double left, right; /* of the column in which words and tables are set */
};

static void
page_begin (struct paper *paper)
{
  struct buffer head = { 0 };

  paper->page++;
  buffer_add_string (&paper->script, "set multiplot\n");
  buffer_clear (&paper->words);
  buffer_printf (&head, "Job %s", paper->report->shown);
  buffer_printf (&head, "%s%s", paper->report->user[0] ? "   user " : "", words_short (paper->report->user, 30).text);
  buffer_printf (&head, "%s%s", paper->report->name[0] ? "   " : "", words_short (paper->report->name, 36).text);
  plot_text (&paper->words_canvas, MARGIN, 30, &head_style, buffer_text (&head), 110);
  plot_text (&paper->words_canvas, PAGE_WIDTH - MARGIN, 30, &foot_style, words_time (paper->report->started_ns).text,
             60);
  buffer_printf (&paper->words, "set arrow from screen %.5f,%.5f to screen %.5f,%.5f nohead lw 0.6 lc rgb '#a0a0a0'\n",
                 MARGIN / PAGE_WIDTH, 1 - 37 / PAGE_HEIGHT, 1 - MARGIN / PAGE_WIDTH, 1 - 37 / PAGE_HEIGHT);
  buffer_printf (&paper->words,
                 "set label 'page %zu of " PAGE_COUNT "' at screen %.5f,%.5f right noenhanced font '" PLOT_FONT
                 ",7' tc rgb '" PLOT_GREY "'\n",
                 paper->page, 1 - MARGIN / PAGE_WIDTH, 24 / PAGE_HEIGHT);
  buffer_clear (&head);
  document_made (&head);
  plot_text (&paper->words_canvas, MARGIN, PAGE_HEIGHT - 24, &head_style, buffer_text (&head), 110);
  paper->y = TOP;
  buffer_free (&head);
}

static void
page_end (struct paper *paper)
{
  const struct area whole = { 0, 0, PAGE_WIDTH, PAGE_HEIGHT };

  plot_begin (&paper->canvas, &whole);
  buffer_add_string (&paper->script, "unset border\nunset tics\nset xrange [0:1]\nset yrange [0:1]\n");
  buffer_add (&paper->script, paper->words.data, paper->words.length);
  buffer_add_string (&paper->script, "plot 2 notitle\nunset multiplot\n");
}

/* Begins a page when less than `height` is left on this one. True: it did. */
static bool
page_need (struct paper *paper, double height)
{
  if (paper->y + height <= BOTTOM)
    return false;
  page_end (paper);
  page_begin (paper);
  return true;
}

static void
put_text (struct paper *paper, double x, const struct plot_text *style, const char *text, size_t limit)
{
  plot_text (&paper->words_canvas, x, paper->y, style, text, limit);
}

static void
put_heading (struct paper *paper, const char *text, double with)
{
  page_need (paper, 18 + with);
  paper->y += 10;
  put_text (paper, paper->left, &heading_style, text, 80);
  paper->y += 13;
}

/* ---- running text ---- */

/* The bytes of `text` for a line of at most `width` characters, broken at a blank or a comma where there is one. */
static size_t
line_length (const char *text, size_t width)
{
  size_t end = 0, best = 0, characters = 0;

  while (text[end]) {
    if (((unsigned char) text[end] & 0xc0) != 0x80 && ++characters > width)
      return best ? best : end;
    end++;
    if (text[end - 1] == ' ' || text[end - 1] == ',')
      best = end;
  }
  return end;
}

/* A text in lines, of which there are `most` at most. */
static void
put_lines (struct paper *paper, double x, const struct plot_text *style, const char *text, size_t most)
{
  size_t width = (size_t) ((paper->right - x) / (style->size * (style->bold ? 0.64 : 0.56)));
  struct buffer clean = { 0 };

  words_add (&clean, text, width * most - (most > 1 ? most * 8 : 0));
  for (const char *at = buffer_text (&clean); *at; paper->y += style->size + 3) {
    size_t length = line_length (at, width);
    char *line = memory_copy (at, length);
    page_need (paper, style->size + 3);
    put_text (paper, x, style, line, width + 1);
    free (line);
    at += length;
  }
  buffer_free (&clean);
}

static void
put_sentence (struct paper *paper, const struct plot_text *style, struct buffer *sentence, size_t most)
{
  put_lines (paper, paper->left, style, buffer_text (sentence), most);
}

static void
put_notes (struct paper *paper)
{
  const struct job_report *report = paper->report;

  if (report->note_count)
    put_heading (paper, "Notes", 24);
  for (size_t i = 0; i < report->note_count; i++) {
    const struct job_note *note = &report->notes[i];
    char *text = memory_format ("%s %s%s", note->text, note->advice, job_note_end (note));
    char *number = memory_format ("%zu", i + 1);
    page_need (paper, 11);
    put_text (paper, paper->left, &value_style, number, 2);
    put_lines (paper, paper->left + 12, &value_style, text, 8);
    if (note->write[0])
      put_lines (paper, paper->left + 20, &write_style, note->write, 2);
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
    put_text (paper, MARGIN, &key_style, facts.list[i].name, 40);
    put_lines (paper, MARGIN + KEY_WIDTH, &value_style, facts.list[i].value, 3);
  }
  sheet_facts_free (&facts);
}

static void
put_sentences (struct paper *paper, const char *heading, const char *const *sentences, size_t count)
{
  if (count == 0)
    return;
  put_heading (paper, heading, 24);
  for (size_t i = 0; i < count; i++) {
    page_need (paper, 11);
    put_text (paper, MARGIN, &value_style, "-", 2);
    put_lines (paper, MARGIN + 10, &value_style, sentences[i], 6);
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
  put_text (paper, words ? left + (column ? 8 : 0) : right - 2, &style, text,
            (size_t) ((right - left - (words && column ? 10 : 2)) / (style.size * (style.bold ? 0.64 : 0.57))) + 1);
}

/* A bar in the current line. */
static void
put_box (struct paper *paper, double left, double width, const char *color)
{
  buffer_printf (&paper->words,
                 "set object rect from screen %.5f,%.5f to screen %.5f,%.5f behind fs solid 1 noborder fc rgb '%s'\n",
                 left / PAGE_WIDTH, 1 - (paper->y - 4) / PAGE_HEIGHT, (left + width) / PAGE_WIDTH,
                 1 - (paper->y + 4) / PAGE_HEIGHT, color);
}

static void
put_rectangle (struct paper *paper, double top, double height, const char *color)
{
  buffer_printf (&paper->words,
                 "set object rect from screen %.5f,%.5f to screen %.5f,%.5f behind fs solid 1 noborder fc rgb '%s'\n",
                 (paper->left - 2) / PAGE_WIDTH, 1 - top / PAGE_HEIGHT, (paper->right + 2) / PAGE_WIDTH,
                 1 - (top + height) / PAGE_HEIGHT, color);
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

  put_heading (paper, heading, 6 * ROW_HEIGHT);
  put_sentence (paper, &value_style, &table->above, 2);
  paper->y += table->above.length ? 4 : 0;
  put_table_head (paper, table, size);
  for (size_t r = 0; r < table->row_count; r++) {
    struct plot_text style = { "left", table->marked[r] ? PLOT_MARK : PLOT_BLACK, size, table->marked[r] };
    if (page_need (paper, ROW_HEIGHT)) {
      paper->y += 6;
      put_table_head (paper, table, size);
    }
    if (r % 2 == 0)
      put_rectangle (paper, paper->y - ROW_HEIGHT / 2, ROW_HEIGHT, "#f1f1f1");
    for (size_t c = 0; c < table->column_count; c++)
      put_cell (paper, table, c, &style, table->cells[r * table->column_count + c]);
    paper->y += ROW_HEIGHT;
  }
  paper->y += table->behind.length ? 4 : 0;
  put_sentence (paper, &value_style, &table->behind, 2);
  paper->y += 6;
}

/* ---- the document ---- */

/* A picture at the next free place; the height 0: there is nothing to draw. */
static void
put_picture (struct paper *paper, double height,
             void (*draw) (const struct canvas *, const struct area *, const struct job_report *))
{
  struct area area = { MARGIN, 0, INNER, height };

  if (height == 0)
    return;
  page_need (paper, height);
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
    put_heading (paper, buffer_text (&title), 0);
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
    struct area area = { MARGIN, 0, alone ? INNER / 2 : INNER, PLOT_ITEM_HEIGHT };
    if (!plot_has_item (paper->report, item) || plot_is_zero (paper->report, item))
      continue;
    if (!second)
      page_need (paper, PLOT_ITEM_HEIGHT);
    area.left += second ? INNER / 2 : 0;
    area.top = paper->y;
    plot_item (&paper->canvas, &area, paper->report, item);
    second = alone && !second;
    paper->y += second ? 0 : PLOT_ITEM_HEIGHT;
  }
  paper->y += second ? PLOT_ITEM_HEIGHT : 0;
  plot_zeros (&zeros, paper->report);
  put_sentence (paper, &value_style, &zeros, 3);
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
    put_text (paper, paper->left, &key_style, meter->title, 20);
    put_box (paper, from, width, "#e6e6e6");
    put_box (paper, from, full, "#2f7d4f");
    put_text (paper, from + width + 6, &meter_style, buffer_text (&words), 34);
    paper->y += 13;
    buffer_free (&words);
  }
}

/* The facts on the left; on the right meters and notes, and, where there is one node, the figures. */
static void
put_top (struct paper *paper)
{
  double top = paper->y, foot;

  paper->right = MARGIN + INNER * 0.49;
  put_facts (paper);
  foot = paper->y;
  paper->y = top;
  paper->left = MARGIN + INNER * 0.52;
  paper->right = MARGIN + INNER;
  put_meters (paper);
  put_notes (paper);
  if (paper->report->node_count < 2)
    put_figures (paper);
  paper->y = fmax (paper->y, foot);
  paper->left = MARGIN;
}

static void
put_document (struct paper *paper)
{
  struct buffer title = { 0 };
  struct sheet_table table;

  page_begin (paper);
  buffer_printf (&title, "Job %s", words_short (paper->report->shown, 38).text);
  paper->y += 4;
  put_text (paper, MARGIN, &title_style, buffer_text (&title), 44);
  paper->y += 19;
  put_top (paper);
  if (paper->report->node_count != 1) {
    put_overview (paper);
    put_figures (paper);
  }
  put_roofline (paper);
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
  page_end (paper);
  buffer_free (&title);
}

/* Copies the script with the number of pages in its place. No text has a control in it but this one. */
static void
number_pages (const struct paper *paper, struct buffer *script)
{
  size_t from = 0;

  for (size_t i = 0; i < paper->script.length; i++)
    if (paper->script.data[i] == PAGE_COUNT[0]) {
      buffer_add (script, paper->script.data + from, i - from);
      buffer_printf (script, "%zu", paper->page);
      from = i + 1;
    }
  buffer_add (script, paper->script.data + from, paper->script.length - from);
}

int
job_report_pdf_make (const struct job_report *report, struct buffer *out, struct error *error)
{
  struct paper paper = { .report = report, .left = MARGIN, .right = MARGIN + INNER };
  struct buffer script = { 0 };
  int result;

  paper.canvas = (struct canvas){ &paper.script, PAGE_WIDTH, PAGE_HEIGHT };
  paper.words_canvas = (struct canvas){ &paper.words, PAGE_WIDTH, PAGE_HEIGHT };
  buffer_printf (&paper.script,
                 "set encoding utf8\nset terminal pdfcairo size %.4fin,%.4fin noenhanced font '" PLOT_FONT
                 ",7' fontscale 0.75 linewidth 1 background 'white'\n",
                 PAGE_WIDTH / 72, PAGE_HEIGHT / 72);
  put_document (&paper);
  number_pages (&paper, &script);
  result = gnuplot_run (&script, GNUPLOT_LIMIT, out, error);
  buffer_free (&script);
  buffer_free (&paper.words);
  buffer_free (&paper.script);
  return result;
}
