/* Names, numbers and times as people read them in a job's documents.
 *
 * Names come from users and nodes: they may hold anything, and be of any length. */
#ifndef SYNOP_AGGREGATOR_JOB_WORDS_H
#define SYNOP_AGGREGATOR_JOB_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "aggregator/report/job_report.h"
#include "synop/buffer.h"

/* Adds the text as UTF-8, with U+FFFD for each control and for invalid UTF-8. Over `limit` characters its middle is
 * left out: names often differ in their tails. */
void words_add (struct buffer *to, const char *text, size_t limit);

/* A short text by value, so that nobody has to free it. */
struct words {
  char text[160];
};

struct words words_short (const char *text, size_t limit); /* as words_add; limit 38 at most */
struct words words_number (double value);                  /* three digits; "-": NaN */
struct words words_value (double value, const char *unit); /* "12.3 GiB"; "-": NaN */
struct words words_times (double times);                   /* "3.0x" */
struct words words_duration (double seconds);              /* "1 h 23 min", "12.5 s" */
struct words words_time (int64_t time_ns);                 /* local: "2026-11-21 10:20:11 CET" */
struct words
words_resolution (const struct job_report *report); /* "hours for 98.1 % of the samples"; "": frames alone */
struct words words_clock (int64_t time_ns);         /* local: "10:20:11" */

#define JOB_REMARKS_TITLE "What its counters show"
#define JOB_TRACES_TITLE "Traces"
#define JOB_UNKNOWN_TITLE "What this report does not know"

/* What values up to `maximum` of a unit of job_items are shown in. */
struct scale {
  double divisor;
  const char *unit;
};
struct scale scale_for (const char *unit, double maximum);

/* "n[1-12,14],login", clean: the names that differ in one number, together. `chosen` NULL: all; else those for which it is set.
 * At most about `limit` bytes, then how many more there are. */
void words_nodes (struct buffer *to, const struct job_report *report, const bool *chosen, size_t limit);
void words_lost_nodes (struct buffer *to, const struct job_report *report, size_t limit); /* those that were lost */

#endif
