/* What this machine can do at most, as a roofline needs it: measured once by "synop-agent bench-node", kept in a file. */
#ifndef SYNOP_AGENT_PEAKS_H
#define SYNOP_AGENT_PEAKS_H

#include <stdint.h>

#include "synop/error.h"

#define PEAKS_FILE "/var/lib/synop/peaks.json"
#define PEAKS_VECTORS_SIZE 16

struct peaks {
  double memory_bandwidth; /* bytes a second, read and written, of all CPUs together; 0: not known, as those below */
  double flops_double;     /* operations a second; a fused multiply-add is two */
  double flops_single;
  char vectors[PEAKS_VECTORS_SIZE]; /* the instructions that were fastest: "avx512" */
  uint32_t threads;                 /* that ran, one a CPU */
  int64_t time_ns;                  /* of the wall clock, when it was measured */
};

/* Takes `ns` in all, with a thread on each CPU that this process may use. -1 and error: no threads, no memory. */
int peaks_measure (struct peaks *peaks, int64_t ns, struct error *error);

/* The file is JSON: {"version": 1, "time": "...", "threads": 64, "vectors": "avx512", "memory_bandwidth": 3.1e11,
 * "flops_double": 2.9e12, "flops_single": 5.8e12}. All: -1 and error, which names the file. */
int peaks_check (const char *path, struct error *error); /* whether it could be written */
int peaks_write (const struct peaks *peaks, const char *path, struct error *error);
/* 1: read; 0: there is no such file. What is no positive number counts as not known; a file without any is an error. */
int peaks_read (struct peaks *peaks, const char *path, struct error *error);

#endif
