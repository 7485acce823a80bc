/* Events by the names of libpfm4, which is loaded when it is needed; see counter_names.h. What is declared here is the
 * library's interface: https://perfmon2.sourceforge.net, man 3 pfm_get_os_event_encoding. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "agent/counters/counter_names.h"
#include "agent/source/library.h"

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

static struct {
  pthread_once_t once;
  int (*encode) (const char *event, int levels, int os, void *encoding);
  const char *(*error_text) (int result);
  struct error error;
} pfm = { .once = PTHREAD_ONCE_INIT };

static void
pfm_load (void)
{
  int (*initialize) (void);
  void *library;

  if (library_try (LIBRARY, &pfm.error) < 0)
    return;
  library = dlopen (LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    error_set (&pfm.error, LIBRARY " (package libpfm4 or libpfm) is not installed: events of the CPU cannot be named");
    return;
  }
  *(void **) &initialize = dlsym (library, "pfm_initialize");
  *(void **) &pfm.error_text = dlsym (library, "pfm_strerror");
  *(void **) &pfm.encode = dlsym (library, "pfm_get_os_event_encoding");
  if (!initialize || !pfm.error_text || initialize () != 0) {
    pfm.encode = NULL;
    error_set (&pfm.error, LIBRARY " cannot be used: it knows no unit of this machine");
  }
}

int
counter_name_pfm (struct perf_event_attr *attr, const char *event, struct error *error)
{
  union {
    struct perf_event_attr attr;
    char room[512]; /* a newer library may know a larger one */
  } found = { 0 };
  struct pfm_encoding encoding = { .attr = &found.attr, .size = sizeof encoding, .cpu = -1 };
  int result;

  pthread_once (&pfm.once, pfm_load);
  if (!pfm.encode)
    return error_set (error, "%s", pfm.error.text[0] ? pfm.error.text : LIBRARY " lacks what is needed of it");
  result = pfm.encode (event, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &encoding);
  if (result != 0)
    return error_set (error, "%s: %s", event, pfm.error_text (result));
  memset (attr, 0, sizeof *attr);
  attr->type = found.attr.type;
  attr->config = found.attr.config;
  attr->config1 = found.attr.config1;
  attr->config2 = found.attr.config2;
  return 0;
}
