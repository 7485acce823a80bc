/* What a job used of what it asked for (meters), and what went wrong or was asked for in vain, each with what to write
 * instead (notes): made of a report that was read, by limits that the configuration sets. */
#ifndef SYNOP_AGGREGATOR_JOB_ADVICE_H
#define SYNOP_AGGREGATOR_JOB_ADVICE_H

#include "aggregator/report/job_report.h"
#include "synop/buffer.h"

struct advice_limits {
  int64_t shortest_ns;       /* of a shorter job no use is judged */
  uint64_t cpu, memory, gpu; /* percent: use below that is noted */
  uint64_t storage, network; /* percent of the time, of the link: from there on a job is bound by them */
  uint64_t time;             /* percent of the time limit: use below that is noted */
  uint64_t margin;           /* percent, added to the memory that was used */
};
extern const struct advice_limits advice_limits_default;

/* One word, for a child. False: it is none. */
void advice_limits_put (struct buffer *to, const struct advice_limits *limits);
bool advice_limits_parse (struct advice_limits *limits, const char *word);

/* Makes report->meters and report->notes; job_report_destroy frees them. */
void job_advice (struct job_report *report, const struct advice_limits *limits);
void job_advice_free (struct job_report *report);

/* What a note ends with: ":" before what to write, else "."; "": it has no advice. */
static inline const char *
job_note_end (const struct job_note *note)
{
  return note->advice[0] == '\0' ? "" : note->write[0] ? ":" : ".";
}

/* "2.40 of 20.0 GiB, on n3" */
void job_meter_words (struct buffer *to, const struct job_meter *meter, bool with_node);

/* ---- between the files job_advice and job_notes ---- */

void job_meters_make (struct job_report *report);
void job_notes_make (struct job_report *report, const struct advice_limits *limits);

/* CPUs in use, of those of the nodes that did something; `of` NaN: not known. */
struct job_share {
  double used, of;
};
struct job_share job_cpus_used (const struct job_report *report);
double job_share_percent (const struct job_share *share);
double job_memory_given (const struct job_report *report, size_t node); /* bytes; NaN: not known */
/* Of the node that used most of what it was given: bytes. */
struct job_share job_memory_used (const struct job_report *report, size_t *node);

#endif
