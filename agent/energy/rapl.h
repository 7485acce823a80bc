/* The energy counters of CPUs (RAPL), Intel's and AMD's: by the kernel's powercap files, or where these are closed by
 * perf's `power` events (rapl_perf.h). */
#ifndef SYNOP_AGENT_RAPL_H
#define SYNOP_AGENT_RAPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/energy/rapl_perf.h"
#include "agent/source/facts.h"
#include "agent/source/reader.h"

enum rapl_kind {
  RAPL_PACKAGE, /* a socket, or a die of one; it holds its cores and its uncore */
  RAPL_CORE,
  RAPL_UNCORE,
  RAPL_DRAM, /* beside the package */
  RAPL_PSYS, /* the machine; it holds packages and memory */
  RAPL_OTHER
};

struct rapl_domain {
  enum rapl_kind kind;
  char label[48];       /* "package-0", "dram-1", "core-0-die-1", "psys" */
  char path[128];       /* "/sys/class/powercap/intel-rapl:0:2" */
  struct reader reader; /* of powercap */
  uint64_t range_uj;    /* at which it wraps; 0: it does not */
  int fd;               /* of perf; -1: none */
  double scale_uj;      /* of what perf counts */
  bool known;           /* the last read gave a value; */
  int result;           /* else why not: -errno */
  bool begun;           /* some read did */
  uint64_t last_uj;     /* what it said */
  uint64_t total_uj;    /* the same without wraps */
  uint64_t grown_uj;    /* from the last read but one to the last */
  double watts;         /* in that time; NaN: not known */
  int64_t last_ns;      /* of the last read that gave a value */
};

struct rapl {
  char *root;
  const struct rapl_kernel *kernel; /* NULL: without perf, as on a recorded machine */
  struct folder_watch watch;        /* of the powercap folder */
  int64_t listed_ns;
  struct rapl_domain *domains;
  size_t count;
  bool closed;    /* there are counters, which may not be read */
  int perf_errno; /* why perf's could not be opened; 0: there are none, or they were */
};

void rapl_init (struct rapl *rapl, const char *root, const struct rapl_kernel *kernel);
void rapl_free (struct rapl *rapl);
void rapl_read (struct rapl *rapl, int64_t now_ns);
/* Why there are none: "" when there are some. For people, with what to do about it. */
void rapl_absent (struct rapl *rapl, char *text, size_t size);

#endif
