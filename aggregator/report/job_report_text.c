/* A job's report for people at a terminal: what it was, meters of what it used of what it had, figures, a line for equal
 * nodes and for equal GPUs, and at the end, where the eye is, the notes. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/report/fact_rows.h"
#include "aggregator/report/job_advice.h"
#include "aggregator/report/job_energy.h"
#include "aggregator/report/job_report_write.h"
#include "aggregator/report/job_roofline.h"
#include "aggregator/report/job_tables.h"
#include "aggregator/report/job_words.h"
#include "aggregator/report/text_table.h"
#include "synop/clock.h"

#define NAME_LENGTH 38
#define NODES_LENGTH 60
#define COMMAND_LENGTH 160
#define LABEL_WIDTH 18
#define NOTE_LENGTH 1000
#define UNLIKE_PERCENT 10.0 /* from which an imbalance is worth a line */

struct page {
  const struct job_report *report;
  const struct job_look *look;
  struct buffer out;
};

/* ---- lines ---- */

/* Words, broken at the width; further lines begin with `indent` spaces. `at` is where the first one begins. */
static void
add_wrapped (struct page *page, const char *text, size_t indent, size_t at)
{
  while (*text) {
    size_t length = strcspn (text, " "), wide = text_width (text, length);
    if (at > indent && at + 1 + wide > page->look->width) {
      buffer_printf (&page->out, "\n%*s", (int) indent, "");
      at = indent;
    } else if (at > indent) {
      buffer_add_string (&page->out, " ");
      at++;
    }
    buffer_add (&page->out, text, length);
    at += wide;
    text += length + strspn (text + length, " ");
  }
  buffer_add_string (&page->out, "\n");
}

static void add_line (struct page *page, const char *label, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

static void
add_line (struct page *page, const char *label, const char *format, ...)
{
  char text[512];
  va_list arguments;

  va_start (arguments, format);
  vsnprintf (text, sizeof text, format, arguments);
  va_end (arguments);
  buffer_printf (&page->out, "  %-*s", LABEL_WIDTH, label);
  add_wrapped (page, text, LABEL_WIDTH + 2, LABEL_WIDTH + 2);
}

/* ---- what it was ---- */

static void
add_head (struct page *page)
{
  const struct job_report *report = page->report;
  struct buffer *out = &page->out;
  struct words from = words_time (report->started_ns);
  struct words to = words_time (report->until_ns);
  struct words lasted = words_duration ((double) (report->until_ns - report->started_ns) / NS_PER_S);
  struct buffer nodes = { 0 }, command = { 0 };
  char cpus[32] = "";

  buffer_add_string (out, page->look->colour ? "\033[1mJob " : "Job ");
  words_add (out, report->shown, 128);
  if (page->look->colour)
    buffer_add_string (out, "\033[0m");
  if (*report->user)
    buffer_printf (out, " of %s", words_short (report->user, NAME_LENGTH).text);
  if (*report->scheduler)
    buffer_printf (out, " (%s)", words_short (report->scheduler, NAME_LENGTH).text);
  if (*report->name)
    buffer_printf (out, ", %s", words_short (report->name, NAME_LENGTH).text);
  buffer_add_string (out, "\n");
  if (*report->cluster)
    add_line (page, "Cluster", "%s", words_short (report->cluster, NAME_LENGTH).text);
  if (*report->command) {
    words_add (&command, report->command, COMMAND_LENGTH);
    add_line (page, "Command", "%s", buffer_text (&command));
  }
  if (*report->array)
    add_line (page, "Array task", "%s", words_short (report->array, NAME_LENGTH).text);
  add_line (page, "Started", "%s", from.text);
  if (report->ended_ns)
    add_line (page, "Ended", "%s, after %s%s", to.text, lasted.text,
              strcmp (report->reason, "restart") == 0 ? ", while no aggregator ran" : "");
  else
    add_line (page, "Runs", "%s until %s", lasted.text, to.text);
  words_nodes (&nodes, report, NULL, NODES_LENGTH);
  if (!isnan (report->cpus))
    snprintf (cpus, sizeof cpus, "; %.6g %s", report->cpus, report->cpus == 1 ? "CPU" : "CPUs");
  if (report->node_count == 1)
    add_line (page, "Node", "%s%s", buffer_text (&nodes), cpus);
  else
    add_line (page, "Nodes", "%zu%s%s%s", report->node_count, report->node_count ? ": " : "", buffer_text (&nodes),
              cpus);
  if (report->minute_samples)
    add_line (page, "Read from", "%s", words_resolution (report).text);
  buffer_free (&nodes);
  buffer_free (&command);
}

static void
add_facts (struct page *page)
{
  struct fact_rows rows;

  fact_rows_init (&rows, &page->report->facts);
  for (size_t i = 0; i < rows.count; i++)
    add_line (page, rows.rows[i].label, "%s", buffer_text (&rows.rows[i].value));
  fact_rows_free (&rows);
}

/* ---- meters ---- */

static void
add_meter (struct page *page, const struct job_meter *meter)
{
  size_t width = page->look->width, bar = width < 80 ? 8 : width < 90 ? width - 60 : 30;
  char percent[16];

  snprintf (percent, sizeof percent, "%.0f %%", meter->percent);
  buffer_printf (&page->out, "  %-*s%s[", LABEL_WIDTH, meter->title, page->look->colour ? "\033[32m" : "");
  job_bar (&page->out, meter->percent, bar, "|", " ");
  buffer_printf (&page->out, "%6s]%s  ", percent, page->look->colour ? "\033[0m" : "");
  job_meter_words (&page->out, meter, page->report->node_count > 1);
  buffer_add_string (&page->out, "\n");
}

static void
add_meters (struct page *page)
{
  if (page->report->meter_count)
    buffer_add_string (&page->out, "\n");
  for (size_t i = 0; i < page->report->meter_count; i++)
    add_meter (page, &page->report->meters[i]);
}

/* ---- what it used ---- */

static void
add_traffic (struct page *page, const char *label, size_t in, size_t out, const char *took, const char *gave)
{
  const struct job_series *all = page->report->all;

  if (all[in].known || all[out].known)
    add_line (page, label, "%s %s, %s %s", words_value (all[in].total, "B").text, took,
              words_value (all[out].total, "B").text, gave);
}

static void
add_words (struct page *page, const char *label, void (*words) (struct buffer *, const struct job_report *))
{
  struct buffer line = { 0 };

  words (&line, page->report);
  if (line.length)
    add_line (page, label, "%s", buffer_text (&line));
  buffer_free (&line);
}

static void
add_gpu_energy (struct page *page)
{
  const struct job_series *all = &page->report->all[JOB_GPU_ENERGY];

  if (all->known && !isnan (all->total))
    add_line (page, "GPU energy", "%s, %s in the mean", words_value (all->total / 3600, "Wh").text,
              words_value (all->mean, "W").text);
  else if (all->known)
    add_line (page, "GPU energy", "%s in the mean, %s at most", words_value (all->mean, "W").text,
              words_value (all->maximum, "W").text);
}

/* Adds a clause, unless its number is not known. */
static void
add_clause (struct buffer *line, double number, const char *format, const char *text)
{
  if (isnan (number))
    return;
  if (line->length)
    buffer_add_string (line, ", ");
  buffer_printf (line, format, text);
}

static void
add_gpu_totals (struct page *page)
{
  const struct job_series *use = &page->report->all[JOB_GPU_USAGE], *memory = &page->report->all[JOB_GPU_MEMORY];
  struct buffer line = { 0 };

  if (use->known)
    add_clause (&line, use->mean, "used %s %% in the mean", words_number (use->mean).text);
  if (memory->known)
    add_clause (&line, memory->maximum, "memory at most %s", words_value (memory->maximum, "B").text);
  if (line.length)
    add_line (page, "GPUs", "%s%s", buffer_text (&line), page->report->whole_gpus ? ", by whole nodes" : "");
  buffer_free (&line);
}

static void
add_processes (struct page *page)
{
  const struct job_series *processes = &page->report->all[JOB_PROCESSES], *threads = &page->report->all[JOB_THREADS];

  if (processes->known && threads->known)
    add_line (page, "Processes", "at most %.0f at a time, %.0f %s", processes->maximum, threads->maximum,
              threads->maximum == 1 ? "thread" : "threads");
  else if (processes->known)
    add_line (page, "Processes", "at most %.0f at a time", processes->maximum);
}

static void
add_totals (struct page *page)
{
  const struct job_report *report = page->report;
  const struct job_series *all = report->all;

  buffer_add_string (&page->out, "\n");
  if (!isnan (report->cpu_time))
    add_line (page, "CPU time", "%s: %s in programs, %s in the kernel", words_duration (report->cpu_time).text,
              words_duration (all[JOB_CPU_USER].total).text, words_duration (all[JOB_CPU_SYSTEM].total).text);
  if (report->memory_peak_node < report->node_count)
    add_line (page, "Memory", "at most %s, on %s%s%s", words_value (report->memory_peak, "B").text,
              report->nodes[report->memory_peak_node].name, report->node_count > 1 ? "; on all nodes together " : "",
              report->node_count > 1 ? words_value (all[JOB_MEMORY].maximum, "B").text : "");
  add_traffic (page, "Storage", JOB_READ, JOB_WRITE, "read", "written");
  add_traffic (page, "Network", JOB_NETWORK_RECEIVED, JOB_NETWORK_SENT, "received", "sent, by whole nodes");
  add_traffic (page, "InfiniBand", JOB_INFINIBAND_RECEIVED, JOB_INFINIBAND_SENT, "received", "sent, by whole nodes");
  add_words (page, "Memory bandwidth", job_bandwidth_words);
  add_words (page, "Floating point", job_flops_words);
  add_words (page, "Instructions", job_instructions_words);
  add_words (page, "Energy", job_energy_words);
  add_words (page, "Cost", job_cost_words);
  add_gpu_totals (page);
  add_gpu_energy (page);
  add_processes (page);
}

/* ---- nodes ---- */

/* The least value of a unit from which differences between nodes are reported. */
static double
least_worth (const char *unit)
{
  if (strcmp (unit, "B") == 0)
    return 16 << 20;
  if (strcmp (unit, "B/s") == 0)
    return 1e5;
  if (strcmp (unit, "FLOP/s") == 0)
    return 1e8;
  return strcmp (unit, "%") == 0 ? 5 : 1;
}

/* Do several items share the panel ("Network"), so that its name does not identify the item? */
static bool
shares_panel (size_t item)
{
  for (size_t i = 0; i < JOB_ITEM_COUNT; i++)
    if (i != item && job_items[i].panel && strcmp (job_items[i].panel, job_items[item].panel) == 0)
      return true;
  return false;
}

static void
add_imbalances (struct page *page)
{
  bool head = false;

  for (size_t i = 0; i < JOB_ITEM_COUNT; i++) {
    const struct job_imbalance *unlike = &page->report->imbalances[i];
    const struct job_item *item = &job_items[i];
    if (!unlike->node || !item->panel || !(unlike->percent >= UNLIKE_PERCENT) ||
        fmax (unlike->value, unlike->mean) < least_worth (item->unit))
      continue;
    if (!head)
      buffer_add_string (&page->out, "\nNodes that are unlike the others, by their means\n");
    head = true;
    add_line (page, item->panel, "%s%s%s on %s, %s on the others (%s)", shares_panel (i) ? item->title : "",
              shares_panel (i) ? ": " : "", words_value (unlike->value, item->unit).text, unlike->node,
              words_value (unlike->mean, item->unit).text, words_times (unlike->value / unlike->mean).text);
  }
}

static void
add_sentences (struct page *page, const char *heading, const char *const *sentences, size_t count)
{
  if (count)
    buffer_printf (&page->out, "\n%s\n", heading);
  for (size_t i = 0; i < count; i++) {
    struct buffer clean = { 0 };
    words_add (&clean, sentences[i], 1000);
    buffer_add_string (&page->out, "  - ");
    add_wrapped (page, buffer_text (&clean), 4, 4);
    buffer_free (&clean);
  }
}

/* ---- notes ---- */

static void
add_notes (struct page *page)
{
  const struct job_report *report = page->report;

  if (report->note_count)
    buffer_printf (&page->out, "\n%sNotes%s\n", page->look->colour ? "\033[1m" : "",
                   page->look->colour ? "\033[0m" : "");
  for (size_t i = 0; i < report->note_count; i++) {
    const struct job_note *note = &report->notes[i];
    struct buffer text = { 0 };
    words_add (&text, note->text, NOTE_LENGTH);
    buffer_printf (&text, " %s%s", note->advice, job_note_end (note));
    buffer_printf (&page->out, "  %zu ", i + 1);
    add_wrapped (page, buffer_text (&text), 4, 4);
    if (note->write[0])
      buffer_printf (&page->out, "      %s%s%s\n", page->look->colour ? "\033[1m" : "", note->write,
                     page->look->colour ? "\033[0m" : "");
    buffer_free (&text);
  }
}

/* ---- */

/* For a terminal that shows nothing but ASCII; "~": the middle is left out. */
static void
add_plain (struct buffer *to, const struct buffer *from)
{
  for (size_t i = 0; i < from->length; i++) {
    unsigned char byte = (unsigned char) from->data[i];
    if ((byte & 0xc0) == 0x80)
      continue;
    buffer_add (to, byte < 0x80 ? from->data + i : byte == 0xe2 ? "~" : "?", 1);
  }
}

void
job_report_text (const struct job_report *report, const struct job_look *look, struct buffer *out)
{
  struct page page = { .report = report, .look = look };

  add_head (&page);
  add_facts (&page);
  add_meters (&page);
  add_totals (&page);
  if (report->node_count)
    job_table_nodes (report, look, &page.out);
  job_table_gpus (report, look, &page.out);
  add_imbalances (&page);
  add_sentences (&page, JOB_REMARKS_TITLE, report->remarks, report->remark_count);
  add_sentences (&page, JOB_TRACES_TITLE, report->traces, report->trace_count);
  add_sentences (&page, JOB_UNKNOWN_TITLE, report->unknown, report->unknown_count);
  add_notes (&page);
  if (look->utf8)
    buffer_add (out, page.out.data, page.out.length);
  else
    add_plain (out, &page.out);
  buffer_free (&page.out);
}
