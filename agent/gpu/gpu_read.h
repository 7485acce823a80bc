/* One GPU into its row of the group gpu: what is asked of it, call by call.
 *
 * One that a GPU does not have is not asked for again. Numbers that stand for "not available" (all bits set, percents over
 * 100) are missing.
 *
 * Time for which clocks were held down is counted for each policy of the driver; the newer counters for each reason have
 * no numbers that all drivers agree on. PCIe traffic is measured by the driver for 20 ms each time that it is asked, and
 * some drivers wait for that: then one GPU is asked in each sample. */
#ifndef SYNOP_AGENT_GPU_READ_H
#define SYNOP_AGENT_GPU_READ_H

#include "agent/gpu/gpu.h"

struct gpu_reader {
  bool slow;   /* measuring PCIe traffic takes time */
  size_t turn; /* whose turn that is: a place in gpus->list */
};

/* Between gpus_begin and gpus_end; sets gpu->result too. */
void gpu_read (struct gpu_reader *reader, struct gpus *gpus, struct gpu *gpu, struct table *table, size_t row);

#endif
