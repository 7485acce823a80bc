/* The schedulers that can be asked about jobs: what runs, and how its answer is read. Each is a file scheduler_NAME.c.
 *
 * A scheduler has forms of the question, the best first: its tools differ between versions and sites. They are tried one
 * after the other until all jobs are known. Answers may hold anything: they are bounded, and read in a child. */
#ifndef SYNOP_AGGREGATOR_SCHEDULER_H
#define SYNOP_AGGREGATOR_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/views/job_facts.h"
#include "synop/error.h"

#define SCHEDULER_ID_SIZE 129
#define SCHEDULER_WORDS_MAX 16
#define SCHEDULER_JOBS_MAX 128 /* in one question */

/* What one answer says of a job. */
struct scheduler_job {
  const char *id, *user; /* `user` "": not said */
  struct job_facts facts;
};

struct scheduler_taker {
  void *context;
  const char *delimiter; /* that nobody can guess: of fields in the question that has SCHEDULER_DELIMITER */
  void (*take) (void *context, struct scheduler_job *job); /* takes the facts, or leaves them */
};

#define SCHEDULER_DELIMITER "--delimiter="

struct scheduler_form {
  const char *words[SCHEDULER_WORDS_MAX]; /* a program and its arguments; the jobs' ids follow, */
  bool commas;                            /* as one word with commas; else a word each; */
  const char *behind;                     /* then this word; NULL: none */
  size_t most;                            /* jobs in one question */
  bool completes;                         /* asked too of jobs of which only the command is not known */
  /* -1 and error: it is no such answer. `text` ends with a NUL. */
  int (*read) (char *text, size_t length, const struct scheduler_taker *taker, struct error *error);
};

struct scheduler {
  const char *name;               /* as agents report it: "slurm" */
  const char *const *environment; /* "NAME=VALUE" for its tools, NULL at the end; NULL: none */
  const struct scheduler_form *forms;
  size_t form_count;
};

extern const struct scheduler scheduler_slurm, scheduler_pbs, scheduler_oar, scheduler_lsf, scheduler_flux;
const struct scheduler *scheduler_find (const char *name); /* NULL: none of these */
#define SCHEDULERS 5
const struct scheduler *scheduler_at (size_t index);

/* The scheduler's own id of a job, of its label: "5" of "5/1". False: it has none that may be asked for, as the label of
 * who only claims an id, "5@1002". */
bool scheduler_id (const char *label, char id[SCHEDULER_ID_SIZE]);

/* Copies a command line, without what may be a secret: values of arguments that are called so, long random words. The
 * caller frees it. */
char *scheduler_command (const char *line);

void scheduler_set_command (struct job_facts *facts, const char *line);
/* Outcome and state of a word of SLURM's; words behind a blank are left out ("CANCELLED by 0"). */
void scheduler_set_slurm_state (struct job_facts *facts, const char *state);
/* The database may know that a job ended before it knows the rest: then there is more to come. `limited`: it knows the time
 * limit, or that there is none. */
void scheduler_end_slurm (struct job_facts *facts, bool limited);
/* "cpu=2,mem=600M,node=2,gres/gpu:a100=1": what was asked for. */
void scheduler_set_tres (struct job_facts *facts, const char *tres);
void scheduler_share_memory (struct job_facts *facts); /* of a node, from all and the number of nodes */
/* "4gb", "300M", "2097152kb", "12" in bytes, or in `unit` bytes where none is named; NaN: it is none. */
double scheduler_bytes (const char *text, double unit);
/* Seconds since 1970 in ns; 0: a time that no job can have. */
int64_t scheduler_time (double seconds);
/* "1-02:03:04", "02:03:04", "03:04", "90" in seconds; NaN: it is none. */
double scheduler_seconds (const char *text);

/* Readers of answers that two files have: scheduler_slurm_text.c. */
int scheduler_read_sacct (char *text, size_t length, const struct scheduler_taker *taker, struct error *error);
int scheduler_read_scontrol (char *text, size_t length, const struct scheduler_taker *taker, struct error *error);

#endif
