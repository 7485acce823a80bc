/* What job_notes.c and job_notes_use.c share. */
#ifndef SYNOP_AGGREGATOR_JOB_NOTES_PRIVATE_H
#define SYNOP_AGGREGATOR_JOB_NOTES_PRIVATE_H

#include "aggregator/report/job_advice.h"

#define NOTE_MORE_TIME 2 /* times what it took, or had */

struct noting {
  struct job_report *report;
  const struct advice_limits *limits;
  bool *chosen; /* nodes */
  struct buffer text, advice, write;
};

/* Adds what the buffers hold as a note, unless there are enough of them. */
void note_add (struct noting *noting, const char *name);

/* The nodes for which `is` holds: how many. */
size_t note_choose (struct noting *noting, bool (*is) (const struct job_node *node));
void note_put_chosen (struct buffer *to, const struct noting *noting);
/* " on each node", of a job that has several. */
const char *note_each (const struct noting *noting);

bool note_has_swapped (const struct job_node *node);

/* Of a job that ran long enough; `killed`: for want of memory. */
void note_use (struct noting *noting, bool killed);

#endif
