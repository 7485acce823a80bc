/* See file_out.h. */
#include "aggregator/send/file_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "aggregator/send/file_folder.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/memory.h"

struct file_out {
  const char *name;
  const struct send_options *options;
  bool packed;
  int fd; /* -1: none is open */
  char *path;
  int64_t began_ns; /* wall */
  off_t length;
  struct buffer bytes; /* packed */
  ZSTD_CCtx *zstd;
};

struct file_out *
file_out_create (const char *name, const struct send_options *options, bool packed)
{
  struct file_out *state = memory_new (1, sizeof *state);

  state->name = name;
  state->options = options;
  state->packed = packed;
  state->fd = -1;
  state->zstd = packed ? ZSTD_createCCtx () : NULL;
  if (packed && !state->zstd)
    abort ();
  if (packed)
    ZSTD_CCtx_setParameter (state->zstd, ZSTD_c_checksumFlag, 1);
  return state;
}

static void
leave (struct file_out *state)
{
  file_close (&state->fd);
  free (state->path);
  state->path = NULL;
}

void
file_out_destroy (struct file_out *state)
{
  if (!state)
    return;
  leave (state);
  ZSTD_freeCCtx (state->zstd);
  buffer_free (&state->bytes);
  free (state);
}

/* ---- which file ---- */

static int
say (struct send_answer *answer, const char *path)
{
  snprintf (answer->text, sizeof answer->text, "%s: %s", path, strerror (errno));
  return -1;
}

static bool
is_old (const struct file_out *state, int64_t began_ns, off_t length)
{
  int64_t age_ns = clock_wall () - began_ns;

  return (uint64_t) length >= state->options->size || age_ns >= state->options->age_ns || age_ns < 0;
}

static int
use (struct file_out *state, const char *name, int flags, int64_t began_ns)
{
  state->path = memory_format ("%s/%s", state->options->folder, name);
  state->fd = open (state->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0640);
  state->began_ns = began_ns;
  state->length = 0;
  return state->fd < 0 ? -1 : 0;
}

/* The one that was written last goes on, from the end of what is whole, unless it is of another kind, or full. */
static int
go_on (struct file_out *state, struct send_answer *answer)
{
  char name[FILE_NAME_SIZE], same[FILE_NAME_SIZE];
  int64_t began_ns, whole;
  int found = file_folder_newest (state->options->folder, state->name, name, &began_ns);

  if (found <= 0)
    return found < 0 ? say (answer, state->options->folder) : 0;
  file_folder_name (state->name, began_ns, state->packed, same);
  if (strcmp (name, same) != 0)
    return 0;
  if (use (state, name, 0, began_ns) < 0 || (whole = file_folder_whole (state->fd, state->packed)) < 0 ||
      ftruncate (state->fd, whole) < 0) {
    say (answer, state->path);
    leave (state);
    return -1;
  }
  state->length = whole;
  return 0;
}

static int
begin (struct file_out *state, struct send_answer *answer)
{
  char name[FILE_NAME_SIZE];
  int64_t now_ns = clock_wall ();

  if (state->options->keep && file_folder_trim (state->options->folder, state->name, state->options->keep - 1) < 0)
    return say (answer, state->options->folder);
  file_folder_name (state->name, now_ns, state->packed, name);
  if (use (state, name, O_CREAT | O_EXCL, now_ns) < 0) {
    say (answer, state->path);
    leave (state);
    return -1;
  }
  file_folder_sync (state->path);
  return 0;
}

/* Not moved away, nor deleted. */
static bool
is_there (const struct file_out *state)
{
  struct stat open, there;

  return fstat (state->fd, &open) == 0 && lstat (state->path, &there) == 0 && open.st_dev == there.st_dev &&
         open.st_ino == there.st_ino;
}

/* Opens the file that the next load goes into. */
static int
choose (struct file_out *state, struct send_answer *answer)
{
  if (state->fd >= 0 && !is_there (state))
    leave (state);
  if (state->fd < 0 && go_on (state, answer) < 0)
    return -1;
  if (state->fd >= 0 && is_old (state, state->began_ns, state->length))
    leave (state);
  return state->fd >= 0 ? 0 : begin (state, answer);
}

/* ---- writing ---- */

static const struct buffer *
pack (struct file_out *state, const struct buffer *text)
{
  size_t room = ZSTD_compressBound (text->length), length;

  if (!state->packed)
    return text;
  buffer_clear (&state->bytes);
  length = ZSTD_compress2 (state->zstd, buffer_reserve (&state->bytes, room), room, text->data, text->length);
  if (ZSTD_isError (length)) /* not for want of room: zstd has no memory */
    abort ();
  state->bytes.length = length;
  return &state->bytes;
}

static int
write_at (int fd, const struct buffer *bytes, off_t at)
{
  for (size_t done = 0; done < bytes->length;) {
    ssize_t written = pwrite (fd, bytes->data + done, bytes->length - done, at + (off_t) done);
    if (written < 0 && errno != EINTR)
      return -1;
    done += written > 0 ? (size_t) written : 0;
  }
  return fdatasync (fd);
}

enum send_verdict
file_out_write (struct file_out *state, const struct buffer *text, struct send_answer *answer)
{
  const struct buffer *bytes;

  if (choose (state, answer) < 0)
    return SEND_AGAIN;
  bytes = pack (state, text);
  if (write_at (state->fd, bytes, state->length) == 0) {
    state->length += (off_t) bytes->length;
    return SEND_TAKEN;
  }
  say (answer, state->path);
  if (ftruncate (state->fd, state->length) < 0)
    leave (state); /* it is made whole when it is opened again */
  return SEND_AGAIN;
}
