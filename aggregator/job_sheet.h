/* The words of a job's documents: facts about the job, and tables of texts; the PDF and the HTML set the same ones. */
#ifndef SYNOP_AGGREGATOR_JOB_SHEET_H
#define SYNOP_AGGREGATOR_JOB_SHEET_H

#include "aggregator/job_report.h"

/* Texts are as users and nodes gave them: whoever sets them cleans them. */
struct sheet_fact {
  const char *name;
  char *value;
};

struct sheet_facts {
  struct sheet_fact *list;
  size_t count;
};

void sheet_facts_init (struct sheet_facts *facts, const struct job_report *report);
void sheet_facts_free (struct sheet_facts *facts);

#define SHEET_COLUMNS_MAX 24

struct sheet_column {
  const char *head;
  const char *unit; /* under the head; "": none */
  bool words;       /* set from the left; else numbers */
  double share;     /* of the width */
};

struct sheet_table {
  struct sheet_column columns[SHEET_COLUMNS_MAX];
  size_t column_count, row_count;
  char **cells;  /* row by row */
  size_t marked; /* a row that stands out; SIZE_MAX: none */
};

void sheet_items_init (struct sheet_table *table, const struct job_report *report); /* a row for each known item */
void sheet_nodes_init (struct sheet_table *table, const struct job_report *report); /* a row for each node */
void sheet_table_free (struct sheet_table *table);

#endif
