/* See http_library.h. */
#include "common/http/http_library.h"

#include <dlfcn.h>
#include <string.h>

#define MICROHTTPD "libmicrohttpd.so.12"
#define ZLIB "libz.so.1"

struct function {
  const char *name;
  size_t offset;
};
#define HTTP_ROW(function) { #function, offsetof (struct http_library, function) },
static const struct function microhttpd_functions[] = { HTTP_LIBRARY (HTTP_ROW) };
static const struct function zlib_functions[] = { HTTP_ZLIB (HTTP_ROW) };

#define COUNT_OF(array) (sizeof (array) / sizeof ((array)[0]))

static int
load (const char *name, const struct function *functions, size_t count, struct http_library *library,
      struct error *error)
{
  void *handle = dlopen (name, RTLD_NOW | RTLD_LOCAL);

  if (handle == NULL)
    return error_set (error, "HTTP needs %s: %s", name, dlerror ());
  for (size_t i = 0; i < count; i++) {
    void *found = dlsym (handle, functions[i].name);
    if (found == NULL)
      return error_set (error, "%s has no %s", name, functions[i].name);
    memcpy ((char *) library + functions[i].offset, &found, sizeof found);
  }
  return 0;
}

const struct http_library *
http_library (struct error *error)
{
  static struct http_library library;

  if (library.deflateEnd != NULL)
    return &library;
  if (load (MICROHTTPD, microhttpd_functions, COUNT_OF (microhttpd_functions), &library, error) < 0 ||
      load (ZLIB, zlib_functions, COUNT_OF (zlib_functions), &library, error) < 0)
    return NULL;
  return &library;
}
