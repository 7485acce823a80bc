/* Loading libdcgm; see dcgm_library.h. */
#include "agent/gpu/dcgm_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "agent/source/library.h"

_Static_assert(sizeof (struct dcgm_connect) == 16, "layout of how to connect");
_Static_assert(offsetof (struct dcgm_value, time_us) == 24 && sizeof (struct dcgm_value) == 4128, "layout of a value");
_Static_assert(sizeof (struct dcgm_mig) == 164, "layout of a MIG instance");
_Static_assert(sizeof (struct dcgm_migs) == 73480, "layout of the MIG instances");

static const char *const names[] = { "libdcgm.so.4", "libdcgm.so.3" };

#define IN(member) offsetof (struct dcgm_library, member)

static const struct {
  size_t offset;
  const char *name;
  bool optional;
} functions[] = {
  { IN (init), "dcgmInit", false },
  { IN (connect), "dcgmConnect_v2", false },
  { IN (disconnect), "dcgmDisconnect", false },
  { IN (start_embedded), "dcgmStartEmbedded", false },
  { IN (stop_embedded), "dcgmStopEmbedded", false },
  { IN (devices), "dcgmGetAllDevices", false },
  { IN (migs), "dcgmGetGpuInstanceHierarchy", true },
  { IN (group_create), "dcgmGroupCreate", false },
  { IN (group_add), "dcgmGroupAddEntity", false },
  { IN (fields_create), "dcgmFieldGroupCreate", false },
  { IN (fields_destroy), "dcgmFieldGroupDestroy", false },
  { IN (watch), "dcgmWatchFields", false },
  { IN (latest), "dcgmEntitiesGetLatestValues", false },
  { IN (text), "errorString", true },
};

int
dcgm_library_load (struct dcgm_library *library, struct error *error)
{
  if (library->library)
    return 0;
  for (size_t i = 0; !library->library && i < sizeof names / sizeof names[0]; i++) {
    if (library_try (names[i], error) < 0)
      return -1;
    library->library = dlopen (names[i], RTLD_NOW | RTLD_LOCAL);
  }
  if (!library->library)
    return error_set (error, "neither %s nor %s can be loaded", names[0], names[1]);
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    void *symbol = dlsym (library->library, functions[i].name);

    if (!symbol && !functions[i].optional) {
      library->library = NULL;
      return error_set (error, "libdcgm has no function %s", functions[i].name);
    }
    memcpy ((char *) library + functions[i].offset, &symbol, sizeof symbol);
  }
  return 0;
}
