/* NVIDIA's management library, loaded at run time: what synop calls of it, declared anew from its documented ABI.
 *
 * Names here are ours; the functions' own names stand in nvml.c. A call goes through NVML_CALL, since an older library
 * lacks some. All calls may hang in the driver, so they are made in workers (agent/gpu/gpu.h has the library that the groups
 * share). Integers that the library declares as enums are `int` here. */
#ifndef SYNOP_AGENT_NVML_H
#define SYNOP_AGENT_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "synop/error.h"

enum nvml_result {
  NVML_OK = 0,
  NVML_UNINITIALIZED = 1,
  NVML_INVALID_ARGUMENT = 2,
  NVML_NOT_SUPPORTED = 3,
  NVML_NO_PERMISSION = 4,
  NVML_NOT_FOUND = 6,
  NVML_INSUFFICIENT_SIZE = 7,
  NVML_INSUFFICIENT_POWER = 8,
  NVML_DRIVER_NOT_LOADED = 9,
  NVML_TIMEOUT = 10,
  NVML_IRQ_ISSUE = 11,
  NVML_FUNCTION_NOT_FOUND = 13,
  NVML_CORRUPTED_INFOROM = 14,
  NVML_GPU_IS_LOST = 15,
  NVML_RESET_REQUIRED = 16,
  NVML_OPERATING_SYSTEM = 17,
  NVML_VERSION_MISMATCH = 18, /* library and driver differ: the driver was exchanged */
  NVML_NO_DATA = 21,
  NVML_ARGUMENT_VERSION_MISMATCH = 25,
  NVML_UNKNOWN = 999
};

/* `version` of a struct that has one: its size, and the number of its layout above that. */
#define NVML_VERSION(type, number) ((uint32_t) sizeof (type) | (uint32_t) (number) << 24)

struct nvml_device;    /* a handle: of a GPU, or of a MIG device */
struct nvml_event_set; /* handles too */
struct nvml_gpm_sample;

struct nvml_utilization {
  uint32_t gpu, memory; /* percent of the last sample period of the driver */
};

struct nvml_memory {
  uint64_t total, free, used; /* `used` includes what the driver reserves */
};

struct nvml_memory_v2 {
  uint32_t version;
  uint64_t total, reserved, free, used;
};
#define NVML_MEMORY_V2 NVML_VERSION (struct nvml_memory_v2, 2)

struct nvml_bar1 {
  uint64_t total, free, used;
};

#define NVML_BUS_ID 32
struct nvml_pci {
  char bus_id_legacy[16];
  uint32_t domain, bus, device, device_id, subsystem_id;
  char bus_id[NVML_BUS_ID]; /* "00000000:3B:00.0" */
};

struct nvml_process_v1 {
  uint32_t pid;
  uint64_t memory; /* bytes; NVML_MEMORY_UNKNOWN */
};
struct nvml_process {
  uint32_t pid;
  uint64_t memory;
  uint32_t gpu_instance, compute_instance; /* UINT32_MAX without MIG */
};
#define NVML_MEMORY_UNKNOWN UINT64_MAX

struct nvml_process_utilization {
  uint32_t pid;
  uint64_t time_us; /* since 1970 */
  uint32_t sm, memory, encoder, decoder;
};

struct nvml_violation {
  uint64_t reference_us, time_ns;
};

struct nvml_attributes { /* of a MIG device */
  uint32_t multiprocessors, copy_engines, decoders, encoders, jpeg, ofa;
  uint32_t gpu_slices, compute_slices;
  uint64_t memory_mib;
};

enum nvml_value_type {
  NVML_VALUE_DOUBLE,
  NVML_VALUE_U32,
  NVML_VALUE_ULONG,
  NVML_VALUE_U64,
  NVML_VALUE_S64,
  NVML_VALUE_S32, /* from here on of newer libraries */
  NVML_VALUE_U16,
};
struct nvml_field {
  uint32_t id;
  uint32_t scope; /* a link, or UINT32_MAX for all; 0 where the field knows none */
  int64_t time_us, latency_us;
  int type, result;
  union {
    double d;
    uint32_t u32;
    uint64_t u64;
    int64_t s64;
    int32_t s32;
    uint16_t u16;
  } value;
};
enum nvml_field_id {
  NVML_FIELD_MEMORY_TEMPERATURE = 82,
  NVML_FIELD_NVLINK_CRC_FLIT_TOTAL = 38, /* errors of all links, of GPUs before Hopper */
  NVML_FIELD_NVLINK_CRC_DATA_TOTAL = 45,
  NVML_FIELD_NVLINK_REPLAY_TOTAL = 52,
  NVML_FIELD_NVLINK_RECOVERY_TOTAL = 59,
  NVML_FIELD_NVLINK_COUNT = 91,
  NVML_FIELD_NVLINK_TX_KIB = 138, /* payload of a link, or of all: `scope` */
  NVML_FIELD_NVLINK_RX_KIB = 139,
  NVML_FIELD_NVLINK_REPLAY = 161, /* errors of a link, Hopper and newer */
  NVML_FIELD_NVLINK_RECOVERY = 162,
  NVML_FIELD_NVLINK_CRC = 163,
};

enum nvml_clock { NVML_CLOCK_GRAPHICS, NVML_CLOCK_SM, NVML_CLOCK_MEMORY };
enum nvml_temperature { NVML_TEMPERATURE_GPU };
enum nvml_pcie_direction { NVML_PCIE_TX, NVML_PCIE_RX };
enum nvml_policy { /* what holds clocks down; the time per policy is counted */
                   NVML_POLICY_POWER,
                   NVML_POLICY_THERMAL,
                   NVML_POLICY_SYNC_BOOST,
                   NVML_POLICY_BOARD_LIMIT,
                   NVML_POLICY_LOW_UTILIZATION,
                   NVML_POLICY_RELIABILITY,
                   NVML_POLICY_APPLICATION_CLOCKS = 10,
                   NVML_POLICY_BASE_CLOCKS
};
enum nvml_ecc_kind { NVML_ECC_CORRECTED, NVML_ECC_UNCORRECTED };
enum nvml_ecc_counter { NVML_ECC_VOLATILE, NVML_ECC_AGGREGATE };
enum nvml_retired_cause { NVML_RETIRED_SINGLE_BIT, NVML_RETIRED_DOUBLE_BIT };
enum nvml_link_error { NVML_LINK_REPLAY, NVML_LINK_RECOVERY, NVML_LINK_CRC_FLIT, NVML_LINK_CRC_DATA };
#define NVML_LINKS 18 /* the maximum */

enum nvml_clock_reason { /* why clocks are as low as they are: bits */
                         NVML_REASON_IDLE = 0x1,
                         NVML_REASON_APPLICATION_CLOCKS = 0x2,
                         NVML_REASON_SW_POWER_CAP = 0x4,
                         NVML_REASON_HW_SLOWDOWN = 0x8,
                         NVML_REASON_SYNC_BOOST = 0x10,
                         NVML_REASON_SW_THERMAL = 0x20,
                         NVML_REASON_HW_THERMAL = 0x40,
                         NVML_REASON_HW_POWER_BRAKE = 0x80,
                         NVML_REASON_DISPLAY_CLOCKS = 0x100
};

#define NVML_EVENT_XID UINT64_C (8)
struct nvml_event {
  struct nvml_device *device;
  uint64_t type, data;                     /* XID: its number */
  uint32_t gpu_instance, compute_instance; /* UINT32_MAX: not known */
};

struct nvml_gpm_support {
  uint32_t version; /* 1 */
  uint32_t supported;
};

typedef int nvml_device_text_fn (struct nvml_device *, char *, unsigned);
typedef int nvml_device_u32_fn (struct nvml_device *, uint32_t *);
typedef int nvml_device_u64_fn (struct nvml_device *, uint64_t *);
typedef int nvml_device_2u32_fn (struct nvml_device *, uint32_t *, uint32_t *);
typedef int nvml_device_kind_fn (struct nvml_device *, int, uint32_t *);
typedef int nvml_processes_fn (struct nvml_device *, uint32_t *, void *);

/* Its functions; NULL: the library lacks it. */
struct nvml {
  void *library;
  bool process_v1; /* the three lists of processes are of struct nvml_process_v1 */

  int (*init) (void);
  int (*shutdown) (void);
  int (*driver_version) (char *, unsigned);
  int (*cuda_version) (int *);
  int (*count) (uint32_t *);
  int (*by_index) (uint32_t, struct nvml_device **);

  nvml_device_text_fn *name, *uuid, *serial, *vbios;
  int (*pci) (struct nvml_device *, struct nvml_pci *);
  nvml_device_u32_fn *minor;
  nvml_device_2u32_fn *ecc_mode; /* now, after a reset */

  int (*utilization) (struct nvml_device *, struct nvml_utilization *);
  nvml_device_2u32_fn *encoder, *decoder; /* percent, period in us */
  int (*memory) (struct nvml_device *, struct nvml_memory *);
  int (*memory_v2) (struct nvml_device *, struct nvml_memory_v2 *);
  int (*bar1) (struct nvml_device *, struct nvml_bar1 *);
  nvml_device_kind_fn *temperature;
  nvml_device_u32_fn *power, *power_limit; /* mW */
  nvml_device_u64_fn *energy;              /* mJ */
  nvml_device_kind_fn *clock, *clock_max;  /* MHz */
  nvml_device_u64_fn *clock_reasons;
  int (*violation) (struct nvml_device *, int policy, struct nvml_violation *);
  nvml_device_u32_fn *fan, *performance_state;
  nvml_device_u32_fn *pcie_generation, *pcie_width, *pcie_generation_max, *pcie_width_max, *pcie_replays;
  nvml_device_kind_fn *pcie_throughput; /* KB/s, over 20 ms, for which some drivers block */
  int (*ecc_total) (struct nvml_device *, int kind, int counter, uint64_t *);
  int (*retired_pages) (struct nvml_device *, int cause, uint32_t *count, uint64_t *addresses);
  nvml_device_u32_fn *retired_pending;
  int (*remapped_rows) (struct nvml_device *, uint32_t *correctable, uint32_t *uncorrectable, uint32_t *pending,
                        uint32_t *failed);
  int (*fields) (struct nvml_device *, int count, struct nvml_field *);
  nvml_device_kind_fn *link_state; /* by link: 1 is active */
  int (*link_errors) (struct nvml_device *, uint32_t link, int error, uint64_t *);

  nvml_processes_fn *compute_processes, *graphics_processes, *mps_processes;
  int (*process_utilization) (struct nvml_device *, struct nvml_process_utilization *, uint32_t *count,
                              uint64_t since_us);

  nvml_device_2u32_fn *mig_mode; /* now, after a reset: 1 is enabled */
  nvml_device_u32_fn *mig_count; /* the maximum */
  int (*mig_by_index) (struct nvml_device *, uint32_t, struct nvml_device **);
  nvml_device_u32_fn *gpu_instance, *compute_instance; /* of a MIG device */
  int (*attributes) (struct nvml_device *, struct nvml_attributes *);

  int (*event_set_create) (struct nvml_event_set **);
  int (*event_set_free) (struct nvml_event_set *);
  int (*event_register) (struct nvml_device *, uint64_t types, struct nvml_event_set *);
  nvml_device_u64_fn *event_types;
  int (*event_wait) (struct nvml_event_set *, struct nvml_event *, uint32_t timeout_ms);

  int (*gpm_support) (struct nvml_device *, struct nvml_gpm_support *);
  int (*gpm_alloc) (struct nvml_gpm_sample **);
  int (*gpm_free) (struct nvml_gpm_sample *);
  int (*gpm_get) (struct nvml_device *, struct nvml_gpm_sample *);
  int (*gpm_mig_get) (struct nvml_device *, uint32_t gpu_instance, struct nvml_gpm_sample *); /* of the parent */
  int (*gpm_metrics) (void *);
};

#define NVML_CALL(nvml, function, ...)                                                                                 \
  ((nvml)->function ? (nvml)->function (__VA_ARGS__) : (int) NVML_FUNCTION_NOT_FOUND)

/* `path` as for dlopen. Calls no function of the library. -1: it cannot be loaded, or is another library. */
int nvml_load (struct nvml *nvml, const char *path, struct error *error);
void nvml_unload (struct nvml *nvml); /* of one that is not loaded: nothing */

const char *nvml_result_text (int result); /* "the GPU is lost" */

/* Numbers of 64 bits from here on stand for "not available". */
#define NVML_NO_NUMBER (UINT64_C (1) << 53)

/* The field's number; false: its result is an error, or it is negative, "not available", or of an unknown type. */
bool nvml_field_uint (const struct nvml_field *field, uint64_t *value);

#endif
