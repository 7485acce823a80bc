/* NVIDIA's libdcgm, loaded at run time: what synop calls of it, declared anew from its documented ABI, which is the same
 * in versions 3 and 4. Names are ours; dcgm_library.c has the real ones. All functions return a result; 0 is success. */
#ifndef SYNOP_AGENT_DCGM_LIBRARY_H
#define SYNOP_AGENT_DCGM_LIBRARY_H

#include <stdint.h>

#include "synop/error.h"

enum dcgm_result { DCGM_OK = 0, DCGM_CONNECTION_LOST = -21 };

/* `version` of a struct: its size, and the number of its layout above that. */
#define DCGM_VERSION(type, number) ((uint32_t) sizeof (type) | (uint32_t) (number) << 24)

enum dcgm_entity_kind { DCGM_GPU = 1, DCGM_GPU_INSTANCE = 4 };
struct dcgm_entity {
  uint32_t kind, id;
};

struct dcgm_connect {
  uint32_t version;
  uint32_t persist; /* 0: what we watch ends with the connection */
  uint32_t timeout_ms;
  uint32_t is_path; /* the address is that of a UNIX socket */
};
#define DCGM_CONNECT_V2 DCGM_VERSION (struct dcgm_connect, 2)

struct dcgm_value {
  uint32_t version;
  struct dcgm_entity entity;
  uint16_t field, type;
  int32_t status;
  uint32_t unused;
  int64_t time_us; /* since 1970 */
  union {
    int64_t i64;
    double real;
    char text[256];
    char bytes[4096];
  } value;
};
#define DCGM_VALUE_V2 DCGM_VERSION (struct dcgm_value, 2)
enum dcgm_type { DCGM_TYPE_REAL = 'd', DCGM_TYPE_INT64 = 'i', DCGM_TYPE_TEXT = 's' };
#define DCGM_LIVE 1 /* flag: query the driver, not the watched values */

/* Numbers from these on are no values, but say why there is none. */
#define DCGM_BLANK_INT64 INT64_C (0x7ffffffffffffff0)
#define DCGM_BLANK_REAL 140737488355328.0

#define DCGM_FIELD_UUID 54

#define DCGM_GPUS 32
struct dcgm_mig {
  struct dcgm_entity entity, parent;
  char uuid[128]; /* of the GPU */
  uint32_t gpu_index, gpu_instance, compute_instance, profile, slices;
};
struct dcgm_migs {
  uint32_t version, count;
  struct dcgm_mig list[DCGM_GPUS * 14];
};
#define DCGM_MIGS_V2 DCGM_VERSION (struct dcgm_migs, 2)

struct dcgm_library {
  void *library;
  int (*init) (void);
  int (*connect) (const char *address, struct dcgm_connect *how, uintptr_t *handle);
  int (*disconnect) (uintptr_t handle);
  int (*start_embedded) (int mode, uintptr_t *handle);
  int (*stop_embedded) (uintptr_t handle);
  int (*devices) (uintptr_t handle, uint32_t ids[DCGM_GPUS], int *count);
  int (*migs) (uintptr_t handle, struct dcgm_migs *migs); /* may be NULL */
  int (*group_create) (uintptr_t handle, int type, const char *name, uintptr_t *group);
  int (*group_add) (uintptr_t handle, uintptr_t group, uint32_t kind, uint32_t id);
  int (*fields_create) (uintptr_t handle, int count, const uint16_t *fields, const char *name, uintptr_t *group);
  int (*fields_destroy) (uintptr_t handle, uintptr_t group);
  int (*watch) (uintptr_t handle, uintptr_t group, uintptr_t fields, long long period_us, double keep_s, int keep);
  int (*latest) (uintptr_t handle, const struct dcgm_entity *entities, unsigned entity_count, const uint16_t *fields,
                 unsigned field_count, unsigned flags, struct dcgm_value *values);
  const char *(*text) (int result); /* may be NULL */
};
#define DCGM_EMBEDDED_AUTO 1 /* mode: it works in threads of its own */
#define DCGM_GROUP_EMPTY 1   /* type */

/* Never unloaded: it may have threads. Loading again what is loaded costs nothing. */
int dcgm_library_load (struct dcgm_library *library, struct error *error);

#endif
