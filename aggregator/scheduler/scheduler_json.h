/* Answers in JSON. Paths are names with points between: "time.limit". What is missing, or of another kind, is NULL or
 * NaN. */
#ifndef SYNOP_AGGREGATOR_SCHEDULER_JSON_H
#define SYNOP_AGGREGATOR_SCHEDULER_JSON_H

#include <jansson.h>

#include "aggregator/scheduler/scheduler.h"

/* NULL and error: it is no JSON object. What stands before the first brace or behind the object does not count. */
json_t *answer_load (const char *text, size_t length, struct error *error);

const json_t *answer_at (const json_t *object, const char *path);
/* Of an array of texts the first. */
const char *answer_text (const json_t *object, const char *path);
/* Of a number, a text that is one, or SLURM's {"set","infinite","number"}. */
double answer_number (const json_t *object, const char *path);
/* Seconds since 1970. 0: not known. */
int64_t answer_time (const json_t *object, const char *path);

void answer_set_text (struct job_facts *facts, enum job_fact_text which, const json_t *object, const char *path);
void answer_set_number (struct job_facts *facts, enum job_fact_number which, double number);
void answer_give (const struct scheduler_taker *taker, const char *id, const char *user, struct job_facts *facts);

#endif
