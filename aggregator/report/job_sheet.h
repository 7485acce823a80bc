/* The words of a job's documents: facts about the job, and tables of texts; the PDF and the HTML set the same ones. */
#ifndef SYNOP_AGGREGATOR_JOB_SHEET_H
#define SYNOP_AGGREGATOR_JOB_SHEET_H

#include "aggregator/report/job_report.h"
#include "synop/buffer.h"

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
  bool words;       /* aligned left; else numbers */
  double share;     /* of the width */
  bool whole;       /* numbers are whole ones */
  bool if_any;      /* left out where all are 0 */
  double divisor;   /* its numbers, divided by this, are in `unit` */
};

struct sheet_table {
  struct sheet_column columns[SHEET_COLUMNS_MAX];
  size_t column_count, row_count;
  char **cells;                /* row by row */
  bool *marked;                /* for each row: it stands out */
  struct buffer above, behind; /* a sentence each, or nothing */
};

/* A row for each known item whose nodes are combined so; of one node all are in the first. */
void sheet_items_init (struct sheet_table *table, const struct job_report *report, enum job_combination combination);
const char *sheet_items_title (const struct job_report *report, enum job_combination combination);
void sheet_nodes_init (struct sheet_table *table, const struct job_report *report); /* a row for each node */
void sheet_gpus_init (struct sheet_table *table, const struct job_report *report);  /* for each GPU, the worst first */
void sheet_roofline_init (struct sheet_table *table, const struct job_report *report); /* what their counters show */
#define SHEET_ROOFLINE_TITLE "Counters of the nodes"
void sheet_table_free (struct sheet_table *table);

/* ---- between the files job_sheet: first all columns, then the rows ---- */

/* A column of numbers, all in the scale of the greatest. False: none of `count` values is known, and it is left out. */
bool sheet_add_numbers (struct sheet_table *table, const struct sheet_column *column, const double *values,
                        size_t count);
void sheet_begin (struct sheet_table *table, size_t rows);
void sheet_set (struct sheet_table *table, size_t row, size_t column, const char *text);
void sheet_set_number (struct sheet_table *table, size_t row, size_t column, double value);

#endif
