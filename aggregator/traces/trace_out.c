/* A merged trace as a file; see trace_out.h. */
#include "aggregator/traces/trace_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "synop/file.h"
#include "synop/memory.h"

#define PIECE 262144

struct trace_out {
  char *path, *part; /* part: its name until it is whole */
  gzFile file;
  bool behind; /* an event was written */
  int failure; /* errno of a write */
};

struct trace_out *
trace_out_open (const char *path, struct error *error)
{
  struct trace_out *out;
  bool packed = strlen (path) > 3 && strcmp (path + strlen (path) - 3, ".gz") == 0;
  int fd;

  if (access (path, F_OK) == 0) {
    error_set (error, "%s: it exists already", path);
    return NULL;
  }
  out = memory_new (1, sizeof *out);
  out->path = memory_string (path);
  out->part = memory_format ("%s.part-%ld", path, (long) getpid ());
  fd = open (out->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd >= 0 && !(out->file = gzdopen (fd, packed ? "wb6" : "wbT"))) {
    close (fd);
    unlink (out->part);
    fd = -1;
  }
  if (fd < 0) {
    error_set (error, "%s: %s", path, strerror (errno));
    free (out->part);
    free (out->path);
    free (out);
    return NULL;
  }
  gzbuffer (out->file, PIECE);
  return out;
}

static int
put (struct trace_out *out, const char *text, size_t length)
{
  if (length == 0 || gzwrite (out->file, text, (unsigned) length) == (int) length)
    return 0;
  out->failure = errno ? errno : EIO;
  return -1;
}

int
trace_out_begin (struct trace_out *out, const char *text, size_t length)
{
  return put (out, "{", 1) < 0 || put (out, text, length) < 0 ? -1 : put (out, "\n\"traceEvents\":[\n", 17);
}

int
trace_out_event (struct trace_out *out, const char *text, size_t length)
{
  if (out->behind && put (out, ",\n", 2) < 0)
    return -1;
  out->behind = true;
  return put (out, text, length);
}

int
trace_out_error (struct trace_out *out, struct error *error)
{
  return error_set (error, "%s: %s", out->path, strerror (out->failure));
}

int
trace_out_end (struct trace_out *out, struct error *error)
{
  char *folder;

  if (put (out, "\n]}\n", 4) == 0) {
    gzFile file = out->file;

    out->file = NULL;
    errno = 0;
    if (gzclose (file) != Z_OK || link (out->part, out->path) < 0)
      out->failure = errno ? errno : EIO;
  }
  if (out->failure)
    return trace_out_error (out, error);
  folder = file_folder (out->path);
  file_folder_sync (folder);
  free (folder);
  return 0;
}

void
trace_out_close (struct trace_out *out)
{
  if (!out)
    return;
  if (out->file)
    gzclose (out->file);
  unlink (out->part);
  free (out->part);
  free (out->path);
  free (out);
}
