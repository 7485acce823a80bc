/* The facts that a job's scheduler knows: what was asked for, how long it waited, how it ended. Whoever asks the
 * scheduler makes them; the history keeps them as JSON, and reports, lists and lines show them. */
#ifndef SYNOP_AGGREGATOR_JOB_FACTS_H
#define SYNOP_AGGREGATOR_JOB_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;

#define JOB_FACTS_KEY "scheduler_facts"
#define JOB_FACT_TEXT_MAX 511 /* bytes */

/* How a job stands, one word for all schedulers. */
enum job_outcome {
  JOB_OUTCOME_UNKNOWN,
  JOB_OUTCOME_PENDING,
  JOB_OUTCOME_RUNNING,
  JOB_OUTCOME_COMPLETED,
  JOB_OUTCOME_FAILED,
  JOB_OUTCOME_CANCELLED,
  JOB_OUTCOME_TIMEOUT,
  JOB_OUTCOME_OUT_OF_MEMORY,
  JOB_OUTCOME_NODE_FAIL,
  JOB_OUTCOME_PREEMPTED,
  JOB_OUTCOME_REQUEUED,
  JOB_OUTCOMES
};

enum job_fact_text {
  JOB_FACT_STATE, /* in the scheduler's own words: "OUT_OF_MEMORY", "Finished" */
  JOB_FACT_PARTITION,
  JOB_FACT_ACCOUNT,
  JOB_FACT_QOS,
  JOB_FACT_ARRAY,   /* "2_1": the array's id and the task's */
  JOB_FACT_COMMAND, /* the job script's path, or the command line */
  JOB_FACT_GPU_TYPE,
  JOB_FACT_TEXTS
};

enum job_fact_number {
  JOB_FACT_EXIT_CODE,   /* 0..255 */
  JOB_FACT_EXIT_SIGNAL, /* that ended it; 0: none */
  JOB_FACT_NODES,       /* asked for, as those that follow */
  JOB_FACT_CPUS,
  JOB_FACT_MEMORY,          /* bytes, of all nodes together */
  JOB_FACT_MEMORY_PER_NODE, /* bytes; as it was asked for, or the share of one node */
  JOB_FACT_MEMORY_PER_CPU,  /* bytes; where it was asked for so */
  JOB_FACT_GPUS,
  JOB_FACT_TIME_LIMIT, /* seconds */
  JOB_FACT_RESTARTS,
  JOB_FACT_NUMBERS
};

enum job_fact_time { JOB_FACT_SUBMITTED, JOB_FACT_ELIGIBLE, JOB_FACT_STARTED, JOB_FACT_ENDED, JOB_FACT_TIMES };

/* Nothing is known: what job_facts_init makes. Then texts are NULL, numbers NaN, times 0. */
struct job_facts {
  char *texts[JOB_FACT_TEXTS];
  double numbers[JOB_FACT_NUMBERS];
  int64_t times_ns[JOB_FACT_TIMES]; /* of the master's clock, since 1970 */
  enum job_outcome outcome;
  char *error; /* a sentence: why the rest is not known; else NULL */
  bool known;  /* something but the error is known */
  bool final;  /* the job has ended, and these will not change */
};

extern const char *const job_outcome_names[JOB_OUTCOMES]; /* "out_of_memory"; "unknown" */
extern const char *const job_fact_text_names[JOB_FACT_TEXTS];
extern const char *const job_fact_number_names[JOB_FACT_NUMBERS];
extern const char *const job_fact_time_names[JOB_FACT_TIMES];

void job_facts_init (struct job_facts *facts);            /* nothing is known */
void job_facts_free (struct job_facts *facts);            /* and init */
bool job_facts_are_empty (const struct job_facts *facts); /* neither a fact nor an error */
/* Seconds from when it could have run until it did; NaN: not known. */
double job_facts_wait (const struct job_facts *facts);
bool job_outcome_is_final (enum job_outcome outcome);

/* Cuts it to JOB_FACT_TEXT_MAX bytes, and makes what is not printable a "_". Of `length` bytes; NULL is fine. */
void job_facts_set_text (struct job_facts *facts, enum job_fact_text which, const char *text, size_t length);
void job_facts_set_error (struct job_facts *facts, const char *why);
void job_facts_copy (struct job_facts *to, const struct job_facts *from); /* `to` holds nothing yet */
/* Takes over what `facts` does not know, and leaves `more` empty. */
void job_facts_add (struct job_facts *facts, struct job_facts *more);

void job_facts_write (struct json *json, const struct job_facts *facts); /* an object; null when they are empty */
/* What job_facts_write wrote, or anything: -1 when it is no such object; then nothing is known. */
int job_facts_read (struct job_facts *facts, const char *text);

#endif
