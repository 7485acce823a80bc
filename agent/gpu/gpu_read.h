/* Reads one GPU into its row of the group gpu, call by call.
 *
 * A call that a GPU lacks is not repeated. Numbers that stand for "not available" (all bits set, percents over 100) are
 * missing.
 *
 * Time for which clocks were held down is counted for each policy of the driver; the newer counters for each reason have
 * no numbers that all drivers agree on. The driver measures PCIe traffic for 20 ms on each call, and some drivers block
 * for that: then one GPU is measured in each sample. */
#ifndef SYNOP_AGENT_GPU_READ_H
#define SYNOP_AGENT_GPU_READ_H

#include "agent/gpu/gpu.h"

struct gpu_reader {
  bool slow;   /* measuring PCIe traffic takes time */
  size_t turn; /* the GPU whose turn it is: a place in gpus->list */
};

/* Between gpus_begin and gpus_end; sets gpu->result too. */
void gpu_read (struct gpu_reader *reader, struct gpus *gpus, struct gpu *gpu, struct table *table, size_t row);

#endif
