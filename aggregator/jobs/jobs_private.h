/* What the files of the core of jobs share: jobs.c (frames), jobs_find.c (which job a row is about),
 * jobs_announced.c (announcements, restored jobs), jobs_life.c (start and end), jobs_due.c (which job is due when),
 * jobs_share.c (owners, and their shares), jobs_table.c (tables of jobs and nodes), jobs_column.c (columns),
 * jobs_summary.c, jobs_running.c (the jobs that run, for who asks). */
#ifndef SYNOP_AGGREGATOR_JOBS_PRIVATE_H
#define SYNOP_AGGREGATOR_JOBS_PRIVATE_H

#include "aggregator/jobs/jobs.h"
#include "aggregator/jobs/keyed_table.h"

enum job_total {
  TOTAL_CPU_USER,
  TOTAL_CPU_SYSTEM,
  TOTAL_READ,
  TOTAL_WRITE,
  TOTAL_OOM_KILLS,
  TOTAL_ENERGY, /* from here on they stand last in the state: older aggregators pass over them */
  TOTAL_ENERGY_ESTIMATED,
  JOB_TOTALS
};
enum job_peak { PEAK_MEMORY, PEAK_CGROUP, PEAK_PROCESSES, JOB_PEAKS };

#define JOB_TEXT_MAX 255

/* ---- columns of a schema ---- */

struct job_column {
  uint16_t group, metric;
};

#define JOB_SOURCES_MAX 16
struct jobs_columns {
  uint8_t schema[SCHEMA_HASH_SIZE];
  bool known;
  uint8_t groups[SCHEMA_GROUPS_MAX]; /* with rows that are jobs */
  size_t group_count;
  int info; /* the group with users and names (job_info); -1: there is none */
  struct {
    struct job_column at;
    uint8_t into; /* enum job_total, or enum job_peak */
    bool peak;
  } sources[JOB_SOURCES_MAX];
  size_t source_count;
  int texts[JOB_TEXTS], started, cpus, uid, exit_code; /* metrics of `info`; -1: none */
};

void jobs_columns_learn (struct jobs_columns *columns, const struct schema *schema);
/* The value in its unit, a counter as its total; NaN: missing. */
double job_value (const struct metric *metric, const struct value *value);

/* A row of `info`, checked. */
struct job_info {
  char texts[JOB_TEXTS][JOB_TEXT_MAX + 1]; /* "": unknown */
  int64_t uid;                             /* or JOB_UID_UNKNOWN */
  double cpus;                             /* NaN: unknown */
  double exit_code;                        /* of a command that has ended; NaN: none */
  int64_t start_ns;                        /* cluster time; 0: unknown, or not valid */
  bool named;                              /* scheduler, user or uid is known */
};

/* `wall_ns`: how far the node's wall clock is ahead of cluster time; `time_ns`: of the frame. */
void job_info_read (struct job_info *info, const struct jobs_columns *columns, const struct table *table, size_t row,
                    int64_t wall_ns, int64_t time_ns);

/* ---- owners ---- */

enum job_owner_kind { OWNER_NODE, OWNER_SCHEDULER, OWNER_USER, OWNER_KINDS };

/* Events of one kind: one each 10 s of the clock `awake`; those between are counted. */
struct job_rate_limit {
  uint64_t pending;
  int64_t reported; /* 0: never */
};

/* The owner of a job: the node that showed it first; until one does, who announced it. */
struct job_owner {
  enum job_owner_kind kind;
  const char *name;       /* of a node */
  uint32_t uid;           /* of a user */
  struct job_owner *next; /* in the list of announcers */
  size_t running;         /* a node's: jobs that run there; an announcer's: jobs that no node has shown */
  size_t kept;
  struct jobs_job *first_kept, *last_kept;   /* in the order in which they ended */
  struct job_rate_limit held_back, disputed; /* of a node */
};

/* All owners of one kind together. */
struct job_pool {
  size_t running, kept;
};

/* ---- jobs and nodes ---- */

struct jobs_node {
  char *name;
  struct job_owner owner;
  uint64_t salt;                 /* of the hashes of its labels */
  int64_t frame_ns, frame_awake; /* time of its last frame, 0: none; and when it came, as use.touched */
  int64_t period_ns;             /* of its job tables, the shortest */
  uint64_t session;              /* that the period is of */
  struct job_use *uses;          /* of jobs that run or are kept */
  struct job_use **hints;        /* the job of each row in the last frame; NULL: unknown */
  size_t hint_count;
  struct jobs_columns columns;
};

/* A job on a node. */
struct job_use {
  struct keyed_link of_label; /* in jobs.uses, by node and label */
  struct jobs_job *job;
  struct jobs_node *node;
  struct job_use *next, **place; /* of the node */
  bool current;                  /* the node's rows of that label are about it */
  bool named;                    /* the node has identified it as this job */
  bool founder;                  /* the job was there when it was first reported: this node's start counts */
  bool started_known;
  bool lost;        /* the node went down, and has not shown the job since */
  bool exited;      /* its command there has ended */
  double exit_code; /* with that; NaN: not known */
  int64_t run_ns;   /* when it began there, as the node reports; 0: not known */
  int64_t first_ns, last_ns;
  int64_t touched; /* when it was last seen, as jobs.awake; -1: not yet */
  double cpus;     /* NaN: not known */
  char *name;      /* the node's name for the job, if it is another one; else NULL */
  struct {
    double before, last; /* sum of the values before each fall; NaN: none yet */
  } totals[JOB_TOTALS];
  double peaks[JOB_PEAKS]; /* NaN: none */
};

enum job_state {
  JOB_RUNNING,
  JOB_GONE,
  JOB_END_ANNOUNCED,
  JOB_EXITED /* on each of its nodes */
};

struct jobs_job {
  struct keyed_link of_label, of_run; /* in jobs.labels; in jobs.runs, by "123" of "123/1" */
  struct job_owner *owner;
  struct jobs_job *later, *earlier;             /* of those that ended, in order of `marked` */
  struct jobs_job *owner_later, *owner_earlier; /* the same of the owner's */
  size_t due_index;
  int64_t due; /* when it has to be handled at the latest; as jobs.awake */
  enum job_state state;
  int64_t key;
  char *label;
  char *texts[JOB_TEXTS];
  bool weak[JOB_TEXTS]; /* announced, or of a node that has not identified the job: a node's text replaces it */
  int64_t uid;          /* or JOB_UID_UNKNOWN */
  bool reported;        /* its start was reported */
  bool changed;         /* its row differs from the one that was written */
  bool restored;        /* from the history, and not seen since */
  bool seen;            /* by a node */
  bool by_announcement; /* it began with jobs_start */
  int64_t started_ns, seen_ns, ended_ns;
  int64_t after_ns; /* the end of an earlier run; what is not later belongs to that */
  /* On the clock that stands still while the aggregator does. marked: its last mark, or its end. */
  int64_t born, touched, marked, written;
  struct job_use **uses; /* in natural order of the nodes' names */
  size_t use_count, use_capacity;
};

struct jobs {
  struct jobs_options options;
  struct jobs_counts counts;
  int64_t now_ns, awake; /* awake: grows with time, by a second at most from one call to the next */
  int64_t key;           /* the last */
  struct keyed_table labels, runs, uses;
  struct jobs_job **due; /* jobs that run: a heap, the earliest first */
  size_t due_count, due_capacity;
  struct jobs_job *first_kept, *last_kept;
  struct job_pool pools[OWNER_KINDS];
  struct job_owner *announcers;
  size_t announcer_counts[OWNER_KINDS], nodes_expected;
  struct job_rate_limit users_held_back; /* one for all users: each gets the error as an answer too */
  struct jobs_node **nodes;              /* in natural order of names */
  size_t node_count, node_capacity;
};

void jobs_clock (struct jobs *jobs, int64_t now_ns);

/* jobs_table.c */
struct jobs_job *jobs_add (struct jobs *jobs, struct job_owner *owner, const char *label, size_t length);
void jobs_drop (struct jobs *jobs, struct jobs_job *job);
/* The newest job of a label, and the next older one; NULL: no more. */
struct jobs_job *jobs_first (const struct jobs *jobs, const char *label, size_t length);
struct jobs_job *jobs_next (const struct jobs_job *job);
/* The same of the runs "123/1", "123/2"... of a label. */
struct jobs_job *jobs_first_run (const struct jobs *jobs, const char *label, size_t length);
struct jobs_job *jobs_next_run (const struct jobs_job *job);
struct jobs_node *jobs_node (struct jobs *jobs, const char *name);
struct job_use *job_use_find (const struct jobs_job *job, const struct jobs_node *node);
struct job_use *job_use_add (struct jobs *jobs, struct jobs_job *job, struct jobs_node *node);
void job_use_drop (struct jobs *jobs, struct job_use *use); /* of a job that runs: the job never was on the node */
/* All jobs of a label on a node, as jobs_first. */
struct job_use *job_uses_first (const struct jobs *jobs, const struct jobs_node *node, const char *label,
                                size_t length);
struct job_use *job_uses_next (const struct job_use *use);

/* jobs_find.c. job_info_complete: to be called when texts and uid are set. */
void job_info_complete (struct job_info *info);
bool job_is_named (const struct jobs_job *job);
bool job_agrees (const struct jobs_job *job, const struct job_info *info);
void job_name (struct jobs_job *job, const struct job_info *info); /* sets the job's identity */
/* A frame, while its rows are assigned to jobs. */
struct job_intake {
  struct jobs_node *node;
  const struct cluster_frame *frame;
  int64_t time_ns;
  int64_t last_frame_ns; /* time of the node's frame before this one */
  bool has_info;         /* the frame has job_info, with every new job */
  bool exited;           /* and a job in it has exited on the node */
  uint64_t refused;      /* rows, and the reason of the first one */
  const char *why;
};
/* `info` NULL: only the label is known. Returns NULL: an ended job, or refused. */
struct job_use *jobs_find_use (struct jobs *jobs, struct job_intake *intake, const char *label, size_t length,
                               const struct job_info *info);

/* jobs_share.c */
struct job_owner *job_announcer (struct jobs *jobs, const struct job_announcement *announcement);
void job_owner_release (struct jobs *jobs, struct job_owner *owner); /* if it owns no job any more */
bool job_may_run (const struct jobs *jobs, const struct job_owner *owner);
bool job_may_join (const struct job_owner *owner);
void job_counts_running (struct jobs *jobs, const struct jobs_job *job, int by);  /* 1, -1 */
void job_shown (struct jobs *jobs, struct jobs_job *job, struct jobs_node *node); /* the node becomes its owner */
void job_keep (struct jobs *jobs, struct jobs_job *job); /* as an ended job; dropped if its owner's share is full */
void job_keep_no_more (struct jobs *jobs, struct jobs_job *job);
void job_keep_anew (struct jobs *jobs, struct jobs_job *job); /* as the newest of the ended jobs */
void job_hold_back (struct jobs *jobs, struct job_owner *owner, uint64_t count, const char *reason, const char *why);
void job_dispute (struct jobs *jobs, struct job_owner *owner, const struct jobs_job *job, const struct jobs_job *other);

/* jobs_due.c: the jobs that run, by when they are due. */
void job_due_add (struct jobs *jobs, struct jobs_job *job, int64_t due);
void job_due_remove (struct jobs *jobs, struct jobs_job *job);
void job_due_set (struct jobs *jobs, struct jobs_job *job, int64_t due);

/* jobs_life.c. job_begin: replaces `before`, an ended job (or NULL). */
struct jobs_job *job_begin (struct jobs *jobs, struct job_owner *owner, const char *label, size_t length,
                            int64_t started_ns, struct jobs_job *before);
void job_resume (struct jobs *jobs, struct jobs_job *job);
void job_end (struct jobs *jobs, struct jobs_job *job, enum job_state state); /* may free the job */
bool job_has_exited (const struct jobs_job *job);                             /* on each of its nodes */
void job_text_set (struct jobs_job *job, enum job_text which, const char *text, bool weak);
void job_joined (struct jobs *jobs, struct job_use *use);  /* a node more */
void job_hasten (struct jobs *jobs, struct jobs_job *job); /* its row has changed, or its end may be nearer */
int64_t job_patience (const struct jobs *jobs, const struct job_use *use);

/* jobs_summary.c */
double job_cpus (const struct jobs_job *job); /* NaN: not known */
void job_summary_write (const struct jobs *jobs, const struct jobs_job *job, struct json *json);
/* The state of a job as text, a line a node, and back. */
void job_state_write (const struct jobs_job *job, struct buffer *out);
void job_state_read (struct jobs *jobs, struct jobs_job *job, const char *text);

#endif
