/* See curl_library.h. */
#include "common/send/curl_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define LIBCURL "libcurl.so.4"
#define LIBCURL_OTHER "libcurl-gnutls.so.4" /* Debian's other one */

struct function {
  const char *name;
  size_t offset;
};
#define CURL_ROW(function) { "curl_" #function, offsetof (struct curl_library, function) },
static const struct function functions[] = { CURL_LIBRARY (CURL_ROW) };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct curl_library library; /* under the mutex until it is loaded, which is for good */
static bool loaded;

static int
load (struct error *error)
{
  void *handle = dlopen (LIBCURL, RTLD_NOW | RTLD_LOCAL);

  if (!handle)
    handle = dlopen (LIBCURL_OTHER, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return error_set (error,
                      "there is no " LIBCURL " here: it is in the package libcurl4 (Debian) or libcurl (Fedora)");
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    void *found = dlsym (handle, functions[i].name);
    if (!found)
      return error_set (error, LIBCURL " has no %s: it is too old", functions[i].name);
    memcpy ((char *) &library + functions[i].offset, &found, sizeof found);
  }
  library.global_init (CURL_GLOBAL_DEFAULT);
  return 0;
}

const struct curl_library *
curl_library (struct error *error)
{
  bool good;

  pthread_mutex_lock (&mutex);
  loaded = loaded || load (error) == 0;
  good = loaded;
  pthread_mutex_unlock (&mutex);
  return good ? &library : NULL;
}
