/* See access_munge.h. The declarations are those of munge.h, of whose library nothing else is used. */
#include "aggregator/access/access_munge.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "synop/memory.h"
#include "synop/patience.h"

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
static struct patience patience;
static pthread_once_t patience_once = PTHREAD_ONCE_INIT;

static void
patience_make (void)
{
  patience_init (&patience);
}

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

/* ---- questions, in a thread: libmunge waits for 10 s for a munged that takes a connection and is silent ---- */

struct question {
  char *socket, *text; /* what is encoded, or decoded */
  bool decode;
  struct buffer out;
  uint32_t uid;
  int result;
  bool silent;
  struct error why;
};

static void
question_drop (void *context)
{
  struct question *question = context;

  buffer_free (&question->out);
  free (question->socket);
  free (question->text);
  free (question);
}

static int
encode (struct question *question, struct munge_ctx *context)
{
  char *made = NULL;
  int code = library.encode (&made, context, question->text, (int) strlen (question->text));

  if (code == 0)
    buffer_add_string (&question->out, made);
  free (made);
  return code;
}

/* What is too old, or came before, is given back too: that is no less refused. */
static int
decode (struct question *question, struct munge_ctx *context)
{
  void *bytes = NULL;
  int length = 0, code;
  uid_t owner;
  gid_t group;

  code = library.decode (question->text, context, &bytes, &length, &owner, &group);
  if (code == 0) {
    buffer_add (&question->out, bytes ? bytes : "", (size_t) length);
    question->uid = owner;
  }
  free (bytes);
  return code;
}

static void
question_answer (void *context)
{
  struct question *question = context;
  struct munge_ctx *munge = context_make (question->socket, &question->why);
  int code;

  question->result = -1;
  if (!munge)
    return;
  code = question->decode ? decode (question, munge) : encode (question, munge);
  question->silent = code == ERROR_SOCKET || code == ERROR_TIMEOUT;
  question->result = code == 0 ? 0 : fail (munge, code, &question->why);
  library.ctx_destroy (munge);
}

/* NULL and error: munged is silent. */
static struct question *
ask (bool decode, const char *socket, const char *text, struct error *error)
{
  struct question *question = memory_new (1, sizeof *question);

  *question = (struct question){ .socket = memory_string (socket), .text = memory_string (text), .decode = decode };
  pthread_once (&patience_once, patience_make);
  if (patience_ask (&patience, question, question_answer, question_drop) == 0)
    return question;
  error_set (error, "MUNGE: munged does not answer");
  return NULL;
}

int
access_munge_encode (const char *socket, const char *payload, struct buffer *credential, struct error *error)
{
  struct question *question = ask (false, socket, payload, error);
  int result = question ? question->result : -1;

  if (!question)
    return -1;
  if (result == 0)
    buffer_add (credential, question->out.data, question->out.length);
  else
    *error = question->why;
  question_drop (question);
  return result;
}

int
access_munge_decode (const char *socket, const char *credential, struct buffer *payload, uint32_t *uid, bool *silent,
                     struct error *error)
{
  struct question *question = ask (true, socket, credential, error);
  int result = question ? question->result : -1;

  *silent = !question || question->silent;
  if (!question)
    return -1;
  if (result == 0) {
    buffer_add (payload, question->out.data, question->out.length);
    *uid = question->uid;
  } else {
    *error = question->why;
  }
  question_drop (question);
  return result;
}
