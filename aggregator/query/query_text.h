/* An answer as people read it: what the table, the notes and the plot share. */
#ifndef SYNOP_AGGREGATOR_QUERY_TEXT_H
#define SYNOP_AGGREGATOR_QUERY_TEXT_H

#include "aggregator/query/query_private.h"
#include "aggregator/report/job_words.h"

struct scale query_scale (const struct query_answer *answer); /* that its values are shown in */
int query_places (const struct query_answer *answer, const struct scale *scale);

const char *query_time_format (const struct query_answer *answer); /* for strftime: as short as its steps allow */
void query_time (struct buffer *out, int64_t time_ns, const char *format, bool parts); /* local; parts: with ms */
void query_duration (struct buffer *out, int64_t ns);

/* "cpu_usage.user in %, mean of 5 min", and the row, or the node, that all series are of */
void query_write_title (struct buffer *out, const struct query_answer *answer);
/* What tells a series from the others: the node, the row, or both. */
struct words query_label (const struct query_answer *answer, const struct query_series *series);

#endif
