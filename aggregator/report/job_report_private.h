/* What the files of the report share. job_report.c makes it and looks after its memory, job_report_samples.c adds up what
 * the nodes sampled, job_report_nodes.c makes of nodes the job, job_report_unknown.c says what is missing. */
#ifndef SYNOP_AGGREGATOR_JOB_REPORT_PRIVATE_H
#define SYNOP_AGGREGATOR_JOB_REPORT_PRIVATE_H

#include <stdarg.h>

#include "aggregator/history/history_walk.h"
#include "aggregator/history/job_store.h"
#include "aggregator/report/job_columns.h"
#include "aggregator/report/job_report.h"
#include "synop/buffer.h"

#define JOB_AFTER_NS (30 * INT64_C (1000000000)) /* read past the end, to see which nodes were still there */
#define JOB_SLACK_NS 5e9 /* no note when the history ends by less before the job: frames are on their way */
#define JOB_TROUBLES_MAX 16
#define JOB_NAMES_LENGTH 120 /* bytes of names in a sentence */

/* A group's error, as a node reported it. */
struct job_trouble {
  char group[65], text[160];
  size_t first, last, nodes; /* the first node and the last, and how many */
};

/* Observations of a node that are not in the report itself. */
struct job_watch {
  int64_t first_ns, last_ns; /* of its frames within the job's time; INT64_MIN: none */
  int64_t after_ns;          /* of its first frame behind the end; INT64_MIN: none */
  int64_t period_ns;
  bool processes;    /* CPU time is from processes, without a cgroup */
  bool described;    /* it sent a job_info */
  bool blind;        /* its agent has no groups of jobs */
  bool beyond;       /* it reported numbers that no machine has */
  bool in_part;      /* nothing measures the energy of the whole node */
  bool without_gpus; /* the job has no GPU there, as far as is known */
  bool bare;         /* its last samples have no frames any more */
};

struct job_scene {
  struct history_file *file;
  struct job_report *report;
  const struct viewer *viewer; /* NULL: an admin */
  struct job_watch *watches;   /* one a node */
  struct job_trouble troubles[JOB_TROUBLES_MAX];
  size_t trouble_count;
  int64_t newest_ns;                /* sample within the job's time; INT64_MIN: none */
  bool cut;                         /* the history ends before the job */
  struct replay_progress *progress; /* may be NULL */
};

/* As job_report_read, of a job that was found. */
struct job_report *job_report_make (struct history_file *file, const struct job_record *job,
                                    const struct viewer *viewer, int64_t now_ns, struct replay_progress *progress,
                                    struct error *error);

/* A sentence of what is not known; a gap. They live as long as the report. */
void job_report_say (struct job_report *report, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
/* A sentence of what the job did. */
void job_report_remark (struct job_report *report, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
/* A sentence of a trace of it. */
void job_report_trace (struct job_report *report, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
void job_report_add_gap (struct job_node *node, int64_t from_ns, int64_t to_ns);

/* What the nodes sampled is forgotten. */
void job_report_forget (struct job_report *report);
void job_report_trouble (struct job_scene *scene, const struct table *table, size_t node); /* its error */
void job_report_find_end (struct job_scene *scene);
int job_report_samples (struct job_scene *scene, struct error *error);
void job_report_gaps (struct job_scene *scene); /* at the ends of the nodes' time, and who is lost */
void job_report_nodes (struct job_report *report);
void job_report_unknown (struct job_scene *scene);
/* The traces that were made of the job, from events. */
int job_report_traces (struct job_scene *scene, struct error *error);
/* What the node can do at most, where the tables have it. */
void job_peaks_take (struct job_peaks *peaks, const struct job_columns *columns, const struct report_group *groups);
void job_report_remarks (struct job_report *report);        /* from its counters; none without */
void job_report_unknown_counters (struct job_scene *scene); /* the part of job_report_unknown on counters */
/* A sentence about some nodes, with their names where it has %s; none when no node is chosen. */
void job_report_say_of (struct job_report *report, const bool *chosen, const char *format, const char *what);

#endif
