/* A job's report as a document with pictures, to be printed or opened in a browser.
 *
 * Both forms show the same: what the job was, which node was slow, every quantity of job_items over time for the nodes
 * and for all together, a table of the nodes, and what is not known. The pictures of the PDF are drawn by gnuplot. */
#ifndef SYNOP_AGGREGATOR_JOB_DOCUMENT_H
#define SYNOP_AGGREGATOR_JOB_DOCUMENT_H

#include <stdbool.h>

#include "aggregator/report/job_report.h"
#include "synop/buffer.h"
#include "synop/error.h"

/* Adds the document to `out`. -1 and error: gnuplot is missing, or failed. */
typedef int job_document_fn (const struct job_report *report, struct buffer *out, struct error *error);
job_document_fn job_report_pdf_make;  /* A4 pages */
job_document_fn job_report_html_make; /* one file in itself */

/* Write the file `path`. -1 and error: it cannot be made or written; nothing is written then. */
int job_report_pdf (const struct job_report *report, const char *path, struct error *error);
int job_report_html (const struct job_report *report, const char *path, struct error *error);

/* "Job 123: relax (alps)"; "synop 0.1.0 on master, 2026-11-21 10:20:11 CET". */
void document_title (struct buffer *to, const struct job_report *report);
void document_made (struct buffer *to);

/* Opens a new file, or an existing device or pipe; -1 for an existing file, which is left alone. `made`: it is ours, to be
 * removed when a later step fails. */
int document_open (const char *path, bool *made, struct error *error);
/* A finished document becomes the file. */
int document_write (const char *path, const struct buffer *document, struct error *error);

#endif
