/* The node's AMD GPUs, as the driver amdgpu shows them in /sys: the second source of the groups gpu and gpu_info.
 *
 * Their labels are amd0, amd1, ... in the order of PCI, apart from NVIDIA's numbers, so that neither changes with the
 * other's driver. As a rule N of amdN is the index in rocm-smi and ROCR_VISIBLE_DEVICES too. A GPU keeps its label as long
 * as the agent lives, also when it is gone; a new one gets the next number.
 *
 * A file of the driver may hang, so each group reads in its worker, between amdgpus_begin and amdgpus_end. Groups read at
 * the same time; the list is made anew only while none does. */
#ifndef SYNOP_AGENT_AMDGPU_H
#define SYNOP_AGENT_AMDGPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/table.h"

#define AMDGPU_TEXT 96

struct amdgpu_files;
struct amdgpu {
  char label[16];         /* "amd0" */
  char uuid[AMDGPU_TEXT]; /* "GPU-" and its unique_id, as ROCm has it; or "" */
  char name[AMDGPU_TEXT], serial[AMDGPU_TEXT], vbios[AMDGPU_TEXT], bus_id[32]; /* "" where not known */
  char folder[64];                                                             /* "/sys/class/drm/card0/device" */
  struct amdgpu_files *files;                                                  /* NULL: the GPU is gone */
};

struct amdgpus {
  struct amdgpu *list; /* in order of labels */
  size_t count;
  unsigned listing;           /* grows with each new list */
  char driver[80];            /* "amdgpu", and its version where it is not the kernel's own */
  struct amdgpu_state *state; /* private to amdgpu.c */
};

struct amdgpus *amdgpus_create (const char *root);
void amdgpus_destroy (struct amdgpus *amdgpus);

/* For `may_block`, in the sampling thread: whether there is a GPU. Checks once, and each minute while there is none. */
bool amdgpus_may_block (struct amdgpus *amdgpus);

bool amdgpus_exist (const char *root); /* reads /sys now, for --list-groups */

/* In the worker, if amdgpus_may_block found GPUs. Lists them anew each minute, and soon when one was lost. */
void amdgpus_begin (struct amdgpus *amdgpus);
void amdgpus_end (struct amdgpus *amdgpus);

/* For the group gpu: adds a row for each, and names GPUs that give no values in table->error; -1 if there are any. */
int amdgpus_sample (struct amdgpus *amdgpus, struct table *table);

/* ---- amdgpu_files.c: the files of one GPU; they are read by the group gpu alone ---- */

struct amdgpu_files *amdgpu_files_create (const char *root, const char *folder);
void amdgpu_files_destroy (struct amdgpu_files *files);
/* Sets all of its row but the state, which it returns: "ok", "suspended" (nothing is read, since that would wake it), or
 * why there are no values. `fine`: the state is no error. */
const char *amdgpu_files_read (struct amdgpu_files *files, struct table *table, size_t row, bool *fine);
/* Whether the GPU is present. Its folder vanishes with it. */
bool amdgpu_files_exist (const struct amdgpu_files *files);
/* The maximum of its PCIe link and slot, for the group gpu_info; UINT64_MAX: not known. */
void amdgpu_files_link_max (const struct amdgpu_files *files, uint64_t *generation, uint64_t *width);

#endif
