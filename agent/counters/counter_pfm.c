/* Events by the names of libpfm4; see counter_pfm.h. What is declared here is the library's interface, man 3
 * pfm_get_os_event_encoding. */
#include "agent/counters/counter_pfm.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "agent/source/library.h"
#include "synop/memory.h"

#define LIBRARY "libpfm.so.4"
#define PFM_PLM0 1 /* in the kernel */
#define PFM_PLM3 8 /* in user space */
#define PFM_OS_PERF_EVENT 1

struct pfm_encoding { /* pfm_perf_encode_arg_t */
  struct perf_event_attr *attr;
  char **name;
  size_t size;
  int index, cpu, flags, padding;
};

struct counter_pfm {
  void *library;
  int (*initialize) (void);
  void (*terminate) (void);
  const char *(*error_text) (int result);
  int (*encode) (const char *event, int levels, int os, void *encoding);
};

static struct counter_pfm *
pfm_fail (struct counter_pfm *pfm, struct error *error, const char *why)
{
  error_set (error, LIBRARY " %s: events of the CPU cannot be named", why);
  if (pfm->library)
    dlclose (pfm->library);
  free (pfm);
  return NULL;
}

struct counter_pfm *
counter_pfm_open (struct error *error)
{
  struct counter_pfm *pfm;

  if (library_try (LIBRARY, error) < 0)
    return NULL;
  pfm = memory_new (1, sizeof *pfm);
  pfm->library = dlopen (LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!pfm->library)
    return pfm_fail (pfm, error, "(package libpfm4 or libpfm) is not installed");
  *(void **) &pfm->initialize = dlsym (pfm->library, "pfm_initialize");
  *(void **) &pfm->terminate = dlsym (pfm->library, "pfm_terminate");
  *(void **) &pfm->error_text = dlsym (pfm->library, "pfm_strerror");
  *(void **) &pfm->encode = dlsym (pfm->library, "pfm_get_os_event_encoding");
  if (!pfm->initialize || !pfm->terminate || !pfm->error_text || !pfm->encode)
    return pfm_fail (pfm, error, "lacks functions");
  if (pfm->initialize () != 0)
    return pfm_fail (pfm, error, "does not know this machine");
  return pfm;
}

void
counter_pfm_close (struct counter_pfm *pfm)
{
  pfm->terminate ();
  dlclose (pfm->library);
  free (pfm);
}

int
counter_pfm_name (const struct counter_pfm *pfm, struct perf_event_attr *attr, const char *event, struct error *error)
{
  union {
    struct perf_event_attr attr;
    char room[512]; /* a newer library may know a larger one */
  } found = { 0 };
  struct pfm_encoding encoding = { .attr = &found.attr, .size = sizeof encoding, .cpu = -1 };
  int result = pfm->encode (event, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &encoding);

  if (result != 0)
    return error_set (error, "libpfm4: %s: %s", event, pfm->error_text (result));
  memset (attr, 0, sizeof *attr);
  attr->type = found.attr.type;
  attr->config = found.attr.config;
  attr->config1 = found.attr.config1;
  attr->config2 = found.attr.config2;
  return 0;
}
