/* Which events of a CPU count floating-point operations; see core_events.h.
 *
 * Intel counts a fused multiply-add twice, AMD as 2 operations, so a weight is the width alone. AMD does not part its count
 * by width, and but for Zen 1 not by precision. Arm counts in elements of 128 bits; vectors of the V1 are 256 bits long.
 * CPUs before Broadwell, and Neoverse N1, have no such events. */
#include "agent/counters/core_events.h"

#define BIT(COLUMN) (1u << FLOP_##COLUMN)
#define COUNT(EVENTS) (sizeof (EVENTS) / sizeof (EVENTS)[0])
#define INTEL(NAME, WEIGHT, PRECISION, WIDTH)                                                                          \
  {                                                                                                                    \
    "FP_ARITH_INST_RETIRED:" NAME, WEIGHT, BIT (ALL) | BIT (PRECISION) | BIT (WIDTH)                                   \
  }

/* Four general counters: the events are in two batches, those of double precision first. */
static const struct core_event broadwell[] = {
  INTEL ("SCALAR_DOUBLE", 1, DOUBLE, SCALAR),   INTEL ("128B_PACKED_DOUBLE", 2, DOUBLE, 128),
  INTEL ("256B_PACKED_DOUBLE", 4, DOUBLE, 256), INTEL ("SCALAR_SINGLE", 1, SINGLE, SCALAR),
  INTEL ("128B_PACKED_SINGLE", 4, SINGLE, 128), INTEL ("256B_PACKED_SINGLE", 8, SINGLE, 256),
};

static const struct core_event skylake_server[] = {
  INTEL ("SCALAR_DOUBLE", 1, DOUBLE, SCALAR),   INTEL ("128B_PACKED_DOUBLE", 2, DOUBLE, 128),
  INTEL ("256B_PACKED_DOUBLE", 4, DOUBLE, 256), INTEL ("512B_PACKED_DOUBLE", 8, DOUBLE, 512),
  INTEL ("SCALAR_SINGLE", 1, SINGLE, SCALAR),   INTEL ("128B_PACKED_SINGLE", 4, SINGLE, 128),
  INTEL ("256B_PACKED_SINGLE", 8, SINGLE, 256), INTEL ("512B_PACKED_SINGLE", 16, SINGLE, 512),
};

#define ZEN1 "RETIRED_SSE_AVX_OPERATIONS:"
static const struct core_event zen1[] = {
  { ZEN1 "DP_MULT_ADD_FLOPS:DP_DIV_FLOPS:DP_MULT_FLOPS:DP_ADD_SUB_FLOPS", 1, BIT (ALL) | BIT (DOUBLE) },
  { ZEN1 "SP_MULT_ADD_FLOPS:SP_DIV_FLOPS:SP_MULT_FLOPS:SP_ADD_SUB_FLOPS", 1, BIT (ALL) | BIT (SINGLE) },
};

static const struct core_event zen2[] = { { "RETIRED_SSE_AVX_FLOPS:ANY", 1, BIT (ALL) } };

static const struct core_event neoverse_v1[] = { { "FP_SCALE_OPS_SPEC", 2, BIT (ALL) },
                                                 { "FP_FIXED_OPS_SPEC", 1, BIT (ALL) } };
static const struct core_event neoverse_v2[] = { { "FP_SCALE_OPS_SPEC", 1, BIT (ALL) },
                                                 { "FP_FIXED_OPS_SPEC", 1, BIT (ALL) } };

#define GENERATION(EVENTS, SOURCE, ...)                                                                                \
  {                                                                                                                    \
    .units = { __VA_ARGS__ }, .source = SOURCE, .events = EVENTS, .count = COUNT (EVENTS)                              \
  }
static const struct core_generation generations[] = {
  GENERATION (broadwell, "Intel SDM 3B, events of Broadwell and Skylake; likwid: FLOPS_DP, FLOPS_SP", "bdw", "bdw_ep",
              "skl"),
  GENERATION (skylake_server, "Intel SDM 3B, events of Skylake-SP, Cascade Lake; likwid: FLOPS_DP, FLOPS_SP", "skx",
              "clx"),
  GENERATION (skylake_server, "Intel SDM 3B, events of Ice Lake and Ice Lake-SP; likwid: FLOPS_DP, FLOPS_SP", "icl",
              "icx"),
  GENERATION (skylake_server, "Intel SDM 3B, events of Sapphire Rapids, Emerald Rapids, Granite Rapids", "spr", "emr",
              "gnr"),
  GENERATION (zen1, "AMD PPR of family 17h models 00h-0Fh, PMCx003; likwid: FLOPS_DP, FLOPS_SP", "amd64_fam17h_zen1"),
  GENERATION (zen2, "AMD PPR of families 17h (models 30h), 19h, 1Ah, PMCx003; likwid: FLOPS_DP (zen2 to zen4)",
              "amd64_fam17h_zen2", "amd64_fam19h_zen3", "amd64_fam19h_zen4", "amd64_fam1ah_zen5"),
  GENERATION (neoverse_v1, "Arm Neoverse V1 PMU Guide, FP_SCALE_OPS_SPEC", "arm_v1"),
  GENERATION (neoverse_v2, "Arm Neoverse V2, N2, V3 PMU Guides, FP_SCALE_OPS_SPEC", "arm_v2", "arm_n2", "arm_v3",
              "arm_n3"),
};

const struct core_table flop_events = { "floating-point operations", generations, COUNT (generations) };
