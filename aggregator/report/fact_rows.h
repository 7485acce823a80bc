/* What the scheduler says of a job, in words for people: a row for each thing that is known. */
#ifndef SYNOP_AGGREGATOR_FACT_ROWS_H
#define SYNOP_AGGREGATOR_FACT_ROWS_H

#include "aggregator/report/job_report.h"
#include "synop/buffer.h"

#define FACT_ROWS_MAX 6

struct fact_rows {
  struct {
    const char *label;
    struct buffer value;
  } rows[FACT_ROWS_MAX];
  size_t count;
};

/* None where no scheduler was asked; one, with the reason, where it did not answer. */
void fact_rows_init (struct fact_rows *rows, const struct job_facts *facts);
void fact_rows_free (struct fact_rows *rows);

#endif
