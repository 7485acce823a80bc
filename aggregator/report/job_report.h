/* What a job used, on every node: made from the history in one pass, and what all forms of a report are written from.
 *
 * What is worth reporting is the table of job_items.h: a quantity of the job's own rows (CPU, memory, I/O), or of the
 * whole node beside it (network, InfiniBand, energy), or of the GPUs that the job has. The time axis is common to all nodes and has at most
 * JOB_REPORT_BINS bins; a node's bin holds the mean and the maximum of its samples in it. */
#ifndef SYNOP_AGGREGATOR_JOB_REPORT_H
#define SYNOP_AGGREGATOR_JOB_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/history/history_file.h"
#include "aggregator/history/history_walk.h"
#include "aggregator/history/job_store.h"
#include "aggregator/history/replay_progress.h"
#include "aggregator/jobs/job_items.h"
#include "synop/error.h"

#define JOB_REPORT_BINS 600

/* One quantity on one node, or of all nodes together. */
struct job_series {
  bool known;                    /* some sample had it */
  double total;                  /* of a counter: its change from the job's start to its end; else NaN */
  double mean, minimum, maximum; /* of what a plot shows: a rate per second, or a gauge; NaN when there is none */
  float *bins, *bin_maxima;      /* one a bin of the report; NaN: no sample */
};

struct job_gap {
  int64_t from_ns, to_ns; /* no samples between; cluster time */
};

struct job_gpu_mean {
  double sum, highest; /* of the samples that have it */
  uint64_t count;
};

#define JOB_GPU_FLAGS 6 /* reasons for which clocks are held down */

/* One that the job had on a node. */
struct report_gpu {
  char label[24];                                  /* "2"; of a MIG instance "2:1" */
  char type[48];                                   /* "NVIDIA H100"; "": not known */
  uint64_t samples, idle;                          /* in which the job had it; in which it left it idle, */
  uint64_t without;                                /* and in which it was seen to have no process there */
  double memory_total;                             /* bytes; NaN: not known */
  struct job_gpu_mean utilization, memory, energy; /* percent, bytes; energy.sum is in joules */
  struct job_gpu_mean throttled;                   /* percent of the samples with clocks held down, for any reason */
  struct job_gpu_mean held[JOB_GPU_FLAGS];         /* for each reason, in minutes */
  struct job_gpu_mean throttled_power, throttled_thermal; /* percent of the time */
  uint64_t xids, xid;                                     /* how many, and the last */
};

/* What a node can do at most, a second; NaN: not known. */
struct job_peaks {
  double bandwidth; /* bytes to and from memory */
  double flops_double, flops_single;
  double network, infiniband; /* bytes, of its fastest link */
};

struct job_node {
  const char *name;
  double cpus;               /* CPUs of the job there; NaN: not known */
  int64_t first_ns, last_ns; /* when the job was seen there */
  uint64_t samples;
  bool lost;   /* the node went silent while the job ran */
  bool shared; /* other jobs were there too */
  bool idle;   /* the job did next to nothing there */
  struct job_peaks peaks;
  struct job_gap *gaps;
  size_t gap_count;
  double gap_seconds;
  struct job_series *series; /* JOB_ITEM_COUNT, in order of job_items */
  struct report_gpu *gpus;   /* that the job had there */
  size_t gpu_count;
};

/* How unlike the nodes are in one quantity: (maximum - mean) / mean of the nodes' means, in percent. `mean` is that of
 * the other nodes. */
struct job_imbalance {
  double percent;   /* NaN: fewer than two nodes, or nothing to compare */
  const char *node; /* the one farthest from the mean of the others; NULL: none */
  double value, mean;
};

/* Of a kWh; NaN: not known. */
struct job_prices {
  double cost, co2;     /* in the currency; in kg */
  const char *currency; /* "EUR" */
};

/* How much of what it had the job used. */
enum job_meter_id { JOB_METER_CPU, JOB_METER_MEMORY, JOB_METER_GPU, JOB_METER_GPU_MEMORY, JOB_METERS };
struct job_meter {
  const char *name, *title, *unit; /* "gpu_memory", "GPU memory", "B" */
  double percent, used, of;        /* of memory: on `node`, which used most of its own */
  const char *node;                /* NULL: all together */
};

/* What went wrong, or was asked for and not used. */
struct job_note {
  const char *name; /* "memory_unused" */
  char *text;       /* what was seen: a sentence */
  char *advice;     /* what to do, without an end; "": nothing */
  char *write;      /* in the job's script instead: "#SBATCH --mem=3G"; "": nothing */
};
#define JOB_NOTES_MAX 5

struct job_report {
  const char *shown;                                          /* its id as people write it: "2_1", "demo/1" */
  const char *id, *scheduler, *user, *name, *command, *array; /* "" when not known */
  int64_t started_ns, ended_ns; /* cluster time; ended_ns 0: it runs still, and until_ns is now */
  int64_t after_ns;             /* what is not later is of the run before it; 0: of none */
  int64_t until_ns;             /* the end of the time axis */
  const char *reason;           /* gone, told, restart; "" while it runs */
  double cpus;                  /* on all nodes together; NaN: not known */
  int64_t period_ns;            /* at which jobs are sampled, the shortest of the nodes'; 0: not known */
  int64_t bins_ns, bin_ns;      /* where the first bin begins, up to a grain before the job; how long each is */
  int64_t grain_ns;             /* they begin at multiples of it: 1; of a long job whole minutes, or hours */
  size_t bins;
  /* Of all nodes' samples those that were not read as frames but as minutes; of these those of whole hours; and those whose
   * frames are deleted. */
  uint64_t minute_samples, hour_samples, bare_samples;
  bool bare; /* frames of the job are deleted */
  size_t node_count;
  struct job_node *nodes;           /* in natural order of names: n2 before n10 */
  struct job_series *all;           /* JOB_ITEM_COUNT: nodes together, by each item's combination */
  struct job_imbalance *imbalances; /* JOB_ITEM_COUNT */
  size_t slowest;                   /* node whose CPU use is farthest below the others'; SIZE_MAX: none stands out */
  double slowest_others;            /* the others' mean CPU use, in percent; NaN: none stands out */
  double cpu_time, cpu_efficiency;  /* seconds; percent of the allocated CPU time; NaN: not known */
  double memory_peak;               /* bytes, of the node that had most */
  size_t memory_peak_node;          /* SIZE_MAX: not known */
  const char *const *unknown;       /* sentences: what this report could not know, and why */
  size_t unknown_count;
  const char *const *remarks; /* sentences: what its counters show */
  size_t remark_count;
  const char *const *traces; /* sentences: which traces were made of it */
  size_t trace_count;
  struct job_meter meters[JOB_METERS]; /* by job_advice, as the notes */
  size_t meter_count;
  struct job_note *notes; /* the worst first, JOB_NOTES_MAX at most */
  size_t note_count;
  const char *cluster; /* what people call it; "": not known */
  struct job_prices prices;
  struct job_facts facts; /* what the scheduler says */
  bool whole_gpus;        /* on some node it is not known which GPUs are the job's: GPU quantities are those of all */
  bool whole_flops;       /* some node counts floating-point operations as a whole alone */
  size_t broken;          /* chunks of the history that could not be read */
  void *memory;           /* private */
};

/* A quantity that is of whole nodes, with all that runs there. */
static inline bool
job_is_of_nodes (const struct job_report *report, size_t item)
{
  return job_item_is_of_gpus (item)    ? report->whole_gpus
         : job_item_is_of_flops (item) ? report->whole_flops
                                       : !job_items[item].of_job;
}

double job_report_share (const struct job_report *report, uint64_t samples); /* percent of the samples of all nodes */
/* Percent of the samples; NaN: there are none. */
double job_gpu_idle (const struct report_gpu *gpu);
double job_gpu_mean (const struct job_gpu_mean *mean); /* NaN: there is none */
#define JOB_GPU_IDLE 95.0                              /* from which a GPU was left idle, */
#define JOB_GPU_BUSY 10.0 /* unless its utilization is so much: processes are not always seen */

/* NULL and error: no such job (the error names some that there are), several, or the file cannot be read. `now_ns` ends the axis of a job that runs, unless the history ends before. `progress` may be NULL. */
struct job_report *job_report_read (struct history_file *file, const struct job_choice *choice, int64_t now_ns,
                                    struct replay_progress *progress, struct error *error);
void job_report_destroy (struct job_report *report); /* NULL is fine */

/* The walk over the history of the job's nodes and time. `order` has for each of its nodes the index in the report. */
struct job_walk {
  struct history_walk history; /* but for its view */
  size_t *order;
  const char **names;
};
struct job_walk job_walk (const struct job_report *report);
void job_walk_free (struct job_walk *walk);

#endif
