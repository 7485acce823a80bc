/* The loops that peaks are measured with, for the instructions of several generations of CPUs. */
#ifndef SYNOP_AGENT_PEAKS_KERNELS_H
#define SYNOP_AGENT_PEAKS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does `rounds` rounds of independent multiply-adds in registers. What comes out has no meaning, but the compiler must
 * believe that it matters. */
typedef double (*peaks_flops_fn) (uint64_t rounds);

struct peaks_kernel {
  const char *name; /* "avx512" */
  bool (*is_supported) (void);
  peaks_flops_fn single_precision, double_precision;
  unsigned single_operations, double_operations; /* of a round */
};

extern const struct peaks_kernel peaks_kernels[]; /* the widest first */
extern const size_t peaks_kernel_count;

/* STREAM's triad: a[i] = b[i] + 3 c[i], past the caches where the instructions permit it, so that 24 bytes an element
 * move and none twice. `count` is a multiple of 8, the arrays begin at multiples of 64. */
void peaks_triad (double *a, const double *b, const double *c, size_t count);

#endif
