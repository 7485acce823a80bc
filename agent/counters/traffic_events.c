/* Which events of a CPU count the lines of 64 bytes that its cores had from memory, a row for each generation.
 *
 * What a core sees of memory: lines that it read, and lines that it had for writing, each of which goes back once. So that
 * is an estimate, beside what memory controllers count: what was written back later, by others, or not at all, and what
 * only caches' prefetchers fetched, is not in it as it was. Intel names an event of its own for lines that are likely to be
 * written to memory, from Ice Lake-SP on. AMD counts fills of the L1 cache alone, without what the L2's prefetcher had
 * fetched, and nothing written. */
#include "agent/counters/core_events.h"

#define LINE 64
#define READ (1u << TRAFFIC_READ)
#define WRITTEN (1u << TRAFFIC_WRITTEN)
#define COUNT(EVENTS) (sizeof (EVENTS) / sizeof (EVENTS)[0])

static const struct core_event broadwell[] = {
  { "OFFCORE_RESPONSE_0:ANY_DATA:ANY_RFO:L3_MISS:SNP_ANY", LINE, READ },
  { "OFFCORE_RESPONSE_1:ANY_RFO:L3_MISS:SNP_ANY", LINE, WRITTEN },
};

/* ANY_DATA has reads for ownership in it. */
static const struct core_event skylake_server[] = {
  { "OFFCORE_RESPONSE_0:ANY_DATA:L3_MISS:SNP_ANY", LINE, READ },
  { "OFFCORE_RESPONSE_1:ANY_RFO:L3_MISS:SNP_ANY", LINE, WRITTEN },
};

/* The kernel gives the second one the second of the two registers. */
static const struct core_event ice_lake_server[] = {
  { "OCR:READS_TO_CORE_DRAM", LINE, READ },
  { "OCR:WRITE_ESTIMATE_MEMORY", LINE, WRITTEN },
};

static const struct core_event zen2[] = {
  { "DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_LCL_DRAM:LS_MABRESP_RMT_DRAM", LINE, READ },
  { "HARDWARE_PREFETCH_DATA_CACHE_FILLS:LS_MABRESP_LCL_DRAM:LS_MABRESP_RMT_DRAM", LINE, READ },
};
static const struct core_event zen3[] = { { "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:MEM_IO_LCL:MEM_IO_RMT", LINE, READ } };
static const struct core_event zen4[] = { { "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_NEAR:DRAM_IO_FAR", LINE, READ } };

static const struct core_event neoverse[] = { { "LL_CACHE_MISS_RD", LINE, READ } };

#define GENERATION(EVENTS, SOURCE, ...)                                                                                \
  {                                                                                                                    \
    .units = { __VA_ARGS__ }, .source = SOURCE, .events = EVENTS, .count = COUNT (EVENTS)                              \
  }
static const struct core_generation generations[] = {
  GENERATION (broadwell, "Intel SDM 3B, off-core response of Broadwell", "bdw_ep", "bdw"),
  GENERATION (skylake_server, "Intel SDM 3B, off-core response of Skylake-SP, Cascade Lake", "skx", "clx"),
  GENERATION (ice_lake_server, "Intel SDM 3B, OCR of Ice Lake-SP, Sapphire, Emerald, Granite Rapids", "icx", "spr",
              "emr", "gnr"),
  GENERATION (zen2, "AMD PPR of family 17h models 30h, PMCx043, PMCx05A", "amd64_fam17h_zen2"),
  GENERATION (zen3, "AMD PPR of family 19h, PMCx044", "amd64_fam19h_zen3"),
  GENERATION (zen4, "AMD PPR of families 19h (models 10h), 1Ah, PMCx044", "amd64_fam19h_zen4", "amd64_fam1ah_zen5"),
  GENERATION (neoverse, "Arm Neoverse PMU Guides, LL_CACHE_MISS_RD", "arm_n1", "arm_v1", "arm_n2", "arm_v2"),
};
const struct core_table traffic_events = { "lines from memory", generations, COUNT (generations) };
