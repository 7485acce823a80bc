/* What the files of the core of jobs share: jobs.c (frames), jobs_told.c (what it is told), jobs_life.c (begin and end), jobs_table.c
 * (who is there), jobs_column.c (where the values are), jobs_summary.c. */
#ifndef SYNOP_AGGREGATOR_JOBS_PRIVATE_H
#define SYNOP_AGGREGATOR_JOBS_PRIVATE_H

#include "aggregator/jobs.h"

enum job_total { TOTAL_CPU_USER, TOTAL_CPU_SYSTEM, TOTAL_READ, TOTAL_WRITE, TOTAL_OOM_KILLS, JOB_TOTALS };
enum job_peak { PEAK_MEMORY, PEAK_CGROUP, PEAK_PROCESSES, JOB_PEAKS };

/* ---- where a schema has the values of jobs ---- */

struct job_column {
  uint16_t group, metric;
};

#define JOB_SOURCES_MAX 16
struct job_columns {
  uint8_t schema[SCHEMA_HASH_SIZE];
  bool known;
  uint8_t groups[SCHEMA_GROUPS_MAX]; /* with rows that are jobs */
  size_t group_count;
  int info; /* the group that tells of users and names; -1: there is none */
  struct {
    struct job_column at;
    uint8_t into; /* enum job_total, or enum job_peak */
    bool peak;
  } sources[JOB_SOURCES_MAX];
  size_t source_count;
  int texts[JOB_TEXTS], started, cpus; /* metrics of `info`; -1: none */
};

void job_columns_learn (struct job_columns *columns, const struct schema *schema);
/* A number as people see it, a counter as its total; NaN: missing. */
double job_value (const struct metric *metric, const struct value *value);

/* ---- who is there ---- */

struct jobs_node {
  char *name;
  int64_t heard_ns, heard; /* its last frame; 0: none. And when it came, as job.touched */
  int64_t period_ns;       /* of its job tables, the shortest */
  uint64_t session;        /* that the period is of */
  size_t running;          /* of its uses */
  struct job_use *uses;    /* of jobs that run or are kept */
  struct job_use **hints;  /* what was in each row lately; NULL: not known */
  size_t hint_count;
  struct job_columns columns;
};

/* A job on a node. */
struct job_use {
  struct job *job;
  struct jobs_node *node;
  struct job_use *next, **place; /* of the node */
  int64_t first_ns, last_ns;
  double cpus; /* NaN: not known */
  bool started_known;
  bool lost; /* the node went down, and the job was not seen there since */
  struct {
    double before, last; /* what it was when it fell, summed; NaN: none yet */
  } totals[JOB_TOTALS];
  double peaks[JOB_PEAKS]; /* NaN: none */
};

enum job_state { JOB_RUNNING, JOB_GONE, JOB_TOLD };

struct job {
  struct job *next, **place;   /* of the same bucket */
  struct job *later, *earlier; /* of those that run, or that ended, in the order in which they came */
  enum job_state state;
  int64_t key;
  char *label;
  char *texts[JOB_TEXTS];
  bool weak[JOB_TEXTS]; /* as told, until a node tells */
  bool announced;       /* its line and rows are out */
  bool changed;         /* its row is not as it was written */
  bool restored;        /* from the history, and not seen since */
  bool seen;            /* by a node */
  int64_t started_ns, seen_ns, ended_ns;
  int64_t after_ns;              /* the end of an earlier run; what is not later belongs to that */
  int64_t born, touched, marked; /* on the clock that stands still while the aggregator does */
  int64_t grace_ns;
  struct job_use **uses; /* in natural order of the nodes' names */
  size_t use_count, use_capacity;
};

struct job_chain {
  struct job *first, *last;
};

struct jobs {
  struct jobs_options options;
  struct jobs_counts counts;
  int64_t now_ns, awake; /* awake: grows with time, by a second at most from one call to the next */
  int64_t swept;
  int64_t key; /* the last */
  struct job **buckets;
  size_t bucket_count, job_count;
  struct job_chain running, kept;
  size_t kept_count;
  struct jobs_node **nodes; /* in natural order of names */
  size_t node_count, node_capacity;
};

void jobs_clock (struct jobs *jobs, int64_t now_ns);

/* jobs_table.c. The newest run of a label; NULL: none is known. */
struct job *jobs_find (const struct jobs *jobs, const char *label, size_t length);
struct job *jobs_add (struct jobs *jobs, const char *label, size_t length);
void jobs_drop (struct jobs *jobs, struct job *job);
struct jobs_node *jobs_node (struct jobs *jobs, const char *name);
struct job_use *job_use_find (const struct job *job, const struct jobs_node *node);
struct job_use *job_use_add (struct job *job, struct jobs_node *node);
void jobs_chain_add (struct job_chain *chain, struct job *job);
void jobs_chain_remove (struct job_chain *chain, struct job *job);
int job_label_check (const char *label, size_t length, struct error *error);

/* jobs_life.c. NULL: there is no room. */
struct job *job_begin (struct jobs *jobs, const char *label, size_t length, int64_t started_ns);
void job_resume (struct jobs *jobs, struct job *job);
void job_keep (struct jobs *jobs, struct job *job); /* as one that ended */
void job_end (struct jobs *jobs, struct job *job, enum job_state state);
void job_text_set (struct job *job, enum job_text which, const char *text, size_t length, bool weak);
void job_joined (struct jobs *jobs, struct job_use *use); /* a node more */

/* jobs_summary.c */
double job_cpus (const struct job *job); /* NaN: not known */
void job_summary_write (const struct jobs *jobs, const struct job *job, struct json *json);
/* The state of a job as text, a line a node, and back. */
void job_state_write (const struct job *job, struct buffer *out);
void job_state_read (struct jobs *jobs, struct job *job, const char *text);

#endif
