/* See job_paper.h. */
#include "aggregator/report/job_paper.h"

#include <stdlib.h>

#include "aggregator/report/job_document.h"
#include "aggregator/report/job_words.h"
#include "synop/memory.h"

#define TOP 56.0
#define BOTTOM (PAPER_HEIGHT - 44.0)
#define PAGE_COUNT "\1"

static const struct plot_text head_style = { "left", PLOT_GREY, 7, false };
static const struct plot_text foot_style = { "right", PLOT_GREY, 7, false };
static const struct plot_text heading_style = { "left", PLOT_BLACK, 10.5, true };

void
paper_init (struct paper *paper, const struct job_report *report)
{
  *paper = (struct paper){ .report = report, .left = PAPER_MARGIN, .right = PAPER_MARGIN + PAPER_INNER };
  paper->canvas = (struct canvas){ &paper->script, PAPER_WIDTH, PAPER_HEIGHT };
  paper->words_canvas = (struct canvas){ &paper->words, PAPER_WIDTH, PAPER_HEIGHT };
  buffer_printf (&paper->script,
                 "set encoding utf8\nset terminal pdfcairo size %.4fin,%.4fin noenhanced font '" PLOT_FONT
                 ",7' fontscale 0.75 linewidth 1 background 'white'\n",
                 PAPER_WIDTH / 72, PAPER_HEIGHT / 72);
}

void
paper_free (struct paper *paper)
{
  buffer_free (&paper->words);
  buffer_free (&paper->script);
}

void
paper_begin (struct paper *paper)
{
  struct buffer head = { 0 };

  paper->page++;
  buffer_add_string (&paper->script, "set multiplot\n");
  buffer_clear (&paper->words);
  buffer_printf (&head, "Job %s", paper->report->shown);
  buffer_printf (&head, "%s%s", paper->report->user[0] ? "   user " : "", words_short (paper->report->user, 30).text);
  buffer_printf (&head, "%s%s", paper->report->name[0] ? "   " : "", words_short (paper->report->name, 36).text);
  plot_text (&paper->words_canvas, PAPER_MARGIN, 30, &head_style, buffer_text (&head), 110);
  plot_text (&paper->words_canvas, PAPER_WIDTH - PAPER_MARGIN, 30, &foot_style,
             words_time (paper->report->started_ns).text, 60);
  buffer_printf (&paper->words, "set arrow from screen %.5f,%.5f to screen %.5f,%.5f nohead lw 0.6 lc rgb '#a0a0a0'\n",
                 PAPER_MARGIN / PAPER_WIDTH, 1 - 37 / PAPER_HEIGHT, 1 - PAPER_MARGIN / PAPER_WIDTH,
                 1 - 37 / PAPER_HEIGHT);
  buffer_printf (&paper->words,
                 "set label 'page %zu of " PAGE_COUNT "' at screen %.5f,%.5f right noenhanced font '" PLOT_FONT
                 ",7' tc rgb '" PLOT_GREY "'\n",
                 paper->page, 1 - PAPER_MARGIN / PAPER_WIDTH, 24 / PAPER_HEIGHT);
  buffer_clear (&head);
  document_made (&head);
  plot_text (&paper->words_canvas, PAPER_MARGIN, PAPER_HEIGHT - 24, &head_style, buffer_text (&head), 110);
  paper->y = TOP;
  buffer_free (&head);
}

void
paper_end (struct paper *paper)
{
  const struct area whole = { 0, 0, PAPER_WIDTH, PAPER_HEIGHT };

  plot_begin (&paper->canvas, &whole);
  buffer_add_string (&paper->script, "unset border\nunset tics\nset xrange [0:1]\nset yrange [0:1]\n");
  buffer_add (&paper->script, paper->words.data, paper->words.length);
  buffer_add_string (&paper->script, "plot 2 notitle\nunset multiplot\n");
}

bool
paper_need (struct paper *paper, double height)
{
  if (paper->y + height <= BOTTOM)
    return false;
  paper_end (paper);
  paper_begin (paper);
  return true;
}

void
paper_text (struct paper *paper, double x, const struct plot_text *style, const char *text, size_t limit)
{
  plot_text (&paper->words_canvas, x, paper->y, style, text, limit);
}

void
paper_heading (struct paper *paper, const char *text, double with)
{
  paper_need (paper, 18 + with);
  paper->y += 10;
  paper_text (paper, paper->left, &heading_style, text, 80);
  paper->y += 13;
}

/* No text has a control in it but this one. */
void
paper_script (const struct paper *paper, struct buffer *script)
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

void
paper_box (struct paper *paper, double left, double width, const char *color)
{
  buffer_printf (&paper->words,
                 "set object rect from screen %.5f,%.5f to screen %.5f,%.5f behind fs solid 1 noborder fc rgb '%s'\n",
                 left / PAPER_WIDTH, 1 - (paper->y - 4) / PAPER_HEIGHT, (left + width) / PAPER_WIDTH,
                 1 - (paper->y + 4) / PAPER_HEIGHT, color);
}

void
paper_stripe (struct paper *paper, double top, double height, const char *color)
{
  buffer_printf (&paper->words,
                 "set object rect from screen %.5f,%.5f to screen %.5f,%.5f behind fs solid 1 noborder fc rgb '%s'\n",
                 (paper->left - 2) / PAPER_WIDTH, 1 - top / PAPER_HEIGHT, (paper->right + 2) / PAPER_WIDTH,
                 1 - (top + height) / PAPER_HEIGHT, color);
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

void
paper_lines (struct paper *paper, double x, const struct plot_text *style, const char *text, size_t most)
{
  size_t width = (size_t) ((paper->right - x) / (style->size * (style->bold ? 0.64 : 0.56)));
  struct buffer clean = { 0 };

  words_add (&clean, text, width * most - (most > 1 ? most * 8 : 0));
  for (const char *at = buffer_text (&clean); *at; paper->y += style->size + 3) {
    size_t length = line_length (at, width);
    char *line = memory_copy (at, length);
    paper_need (paper, style->size + 3);
    paper_text (paper, x, style, line, width + 1);
    free (line);
    at += length;
  }
  buffer_free (&clean);
}

void
paper_sentence (struct paper *paper, const struct plot_text *style, struct buffer *sentence, size_t most)
{
  paper_lines (paper, paper->left, style, buffer_text (sentence), most);
}
