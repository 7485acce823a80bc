/* See access_munge.h. The declarations are those of munge.h, of whose library nothing else is used. */
#include "aggregator/access/access_munge.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define LIBRARY "libmunge.so.2"
#define OPT_SOCKET 8   /* MUNGE_OPT_SOCKET */
#define ERROR_SOCKET 6 /* EMUNGE_SOCKET: munged cannot be reached */
#define ERROR_TIMEOUT 7

struct munge_ctx;

static struct library {
  int (*encode) (char **credential, struct munge_ctx *context, const void *payload, int length);
  int (*decode) (const char *credential, struct munge_ctx *context, void **payload, int *length, uid_t *uid,
                 gid_t *gid);
  const char *(*strerror) (int code);
  struct munge_ctx *(*ctx_create) (void);
  void (*ctx_destroy) (struct munge_ctx *context);
  const char *(*ctx_strerror) (struct munge_ctx *context);
  int (*ctx_set) (struct munge_ctx *context, int option, ...);
} library;
static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;
static bool library_loaded;

static int
load_all (struct error *error)
{
  static const struct {
    const char *name;
    size_t offset;
  } functions[] = { { "munge_encode", offsetof (struct library, encode) },
                    { "munge_decode", offsetof (struct library, decode) },
                    { "munge_strerror", offsetof (struct library, strerror) },
                    { "munge_ctx_create", offsetof (struct library, ctx_create) },
                    { "munge_ctx_destroy", offsetof (struct library, ctx_destroy) },
                    { "munge_ctx_strerror", offsetof (struct library, ctx_strerror) },
                    { "munge_ctx_set", offsetof (struct library, ctx_set) } };
  void *handle = dlopen (LIBRARY, RTLD_NOW | RTLD_LOCAL);

  if (!handle)
    return error_set (error, "MUNGE: %s", dlerror ());
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    void *found = dlsym (handle, functions[i].name);
    if (!found)
      return error_set (error, "MUNGE: " LIBRARY " has no %s", functions[i].name);
    memcpy ((char *) &library + functions[i].offset, &found, sizeof found);
  }
  return 0;
}

static int
load (struct error *error)
{
  int result = 0;

  pthread_mutex_lock (&library_lock);
  if (!library_loaded)
    result = load_all (error);
  library_loaded |= result == 0;
  pthread_mutex_unlock (&library_lock);
  return result;
}

static struct munge_ctx *
context_make (const char *socket, struct error *error)
{
  struct munge_ctx *context = load (error) == 0 ? library.ctx_create () : NULL;

  if (context && *socket && library.ctx_set (context, OPT_SOCKET, socket) != 0) {
    error_set (error, "MUNGE: %s: %s", socket, library.ctx_strerror (context));
    library.ctx_destroy (context);
    return NULL;
  }
  return context;
}

static int
fail (struct munge_ctx *context, int code, struct error *error)
{
  const char *more = library.ctx_strerror (context);

  return error_set (error, "MUNGE: %s", more && *more ? more : library.strerror (code));
}

int
access_munge_encode (const char *socket, const char *payload, struct buffer *credential, struct error *error)
{
  struct munge_ctx *context = context_make (socket, error);
  char *made = NULL;
  int code;

  if (!context)
    return -1;
  code = library.encode (&made, context, payload, (int) strlen (payload));
  if (code == 0)
    buffer_add_string (credential, made);
  else
    fail (context, code, error);
  free (made);
  library.ctx_destroy (context);
  return code == 0 ? 0 : -1;
}

/* What is too old, or came before, is given back too: that is no less refused. */
int
access_munge_decode (const char *socket, const char *credential, struct buffer *payload, uint32_t *uid, bool *silent,
                     struct error *error)
{
  struct munge_ctx *context = context_make (socket, error);
  void *bytes = NULL;
  int length = 0, code;
  uid_t owner;
  gid_t group;

  *silent = false;
  if (!context)
    return -1;
  code = library.decode (credential, context, &bytes, &length, &owner, &group);
  if (code == 0) {
    buffer_add (payload, bytes ? bytes : "", (size_t) length);
    *uid = owner;
  } else {
    fail (context, code, error);
    *silent = code == ERROR_SOCKET || code == ERROR_TIMEOUT;
  }
  free (bytes);
  library.ctx_destroy (context);
  return code == 0 ? 0 : -1;
}
