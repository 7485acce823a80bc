/* The rows that the history keeps of jobs, as they are reported. */
#ifndef SYNOP_AGGREGATOR_JOB_ROW_H
#define SYNOP_AGGREGATOR_JOB_ROW_H

#include <stdint.h>

enum job_row_kind { JOB_ROW_JOB, JOB_ROW_NODE, JOB_ROW_END, JOB_ROW_MARK, JOB_ROW_FACTS };
#define JOB_ROW_TEXTS 6
struct job_row {
  enum job_row_kind kind;
  int64_t key;                      /* of the job */
  int64_t time_ns;                  /* started, first, ended, seen */
  double cpus;                      /* of JOB_ROW_JOB; NaN: unknown */
  const char *texts[JOB_ROW_TEXTS]; /* label and enum job_text; name; reason, summary; state; facts. NULL: no more */
};

#endif
