/* Frames as JSON lines in files of a folder, begun anew by size and age. What was taken is on the disk; a load that could not be
 * written as a whole is taken back, so that every file ends with a whole line. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "aggregator/send/file_folder.h"
#include "aggregator/send/send_text.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/memory.h"

struct file_options {
  char *folder;
  uint64_t size, keep;
  int64_t age_ns;
  bool packed;
};

struct file_state {
  const struct send_setting *setting;
  const struct file_options *own;
  int fd; /* -1: none is open */
  char *path;
  int64_t began_ns; /* wall */
  off_t length;
  struct buffer text, packed;
  ZSTD_CCtx *zstd;
};

static void *
file_open_type (const struct send_setting *setting)
{
  struct file_state *state = memory_new (1, sizeof *state);

  state->setting = setting;
  state->own = setting->own;
  state->fd = -1;
  state->zstd = ZSTD_createCCtx ();
  if (!state->zstd)
    abort ();
  ZSTD_CCtx_setParameter (state->zstd, ZSTD_c_checksumFlag, 1);
  return state;
}

static void
leave (struct file_state *state)
{
  file_close (&state->fd);
  free (state->path);
  state->path = NULL;
}

static void
file_close_type (void *context)
{
  struct file_state *state = context;

  leave (state);
  ZSTD_freeCCtx (state->zstd);
  buffer_free (&state->text);
  buffer_free (&state->packed);
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
is_old (const struct file_state *state, int64_t began_ns, off_t length)
{
  int64_t age_ns = clock_wall () - began_ns;

  return (uint64_t) length >= state->own->size || age_ns >= state->own->age_ns || age_ns < 0;
}

static int
use (struct file_state *state, const char *name, int flags, int64_t began_ns)
{
  state->path = memory_format ("%s/%s", state->own->folder, name);
  state->fd = open (state->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0640);
  state->began_ns = began_ns;
  state->length = 0;
  return state->fd < 0 ? -1 : 0;
}

/* The one that was written last goes on, from the end of what is whole, unless it is of another kind, or full. */
static int
go_on (struct file_state *state, struct send_answer *answer)
{
  char name[FILE_NAME_SIZE], same[FILE_NAME_SIZE];
  int64_t began_ns, whole;
  int found = file_folder_newest (state->own->folder, state->setting->name, name, &began_ns);

  if (found <= 0)
    return found < 0 ? say (answer, state->own->folder) : 0;
  file_folder_name (state->setting->name, began_ns, state->own->packed, same);
  if (strcmp (name, same) != 0)
    return 0;
  if (use (state, name, 0, began_ns) < 0 || (whole = file_folder_whole (state->fd, state->own->packed)) < 0 ||
      ftruncate (state->fd, whole) < 0) {
    say (answer, state->path);
    leave (state);
    return -1;
  }
  state->length = whole;
  return 0;
}

static int
begin (struct file_state *state, struct send_answer *answer)
{
  char name[FILE_NAME_SIZE];
  int64_t now_ns = clock_wall ();

  if (state->own->keep && file_folder_trim (state->own->folder, state->setting->name, state->own->keep - 1) < 0)
    return say (answer, state->own->folder);
  file_folder_name (state->setting->name, now_ns, state->own->packed, name);
  if (use (state, name, O_CREAT | O_EXCL, now_ns) < 0) {
    say (answer, state->path);
    leave (state);
    return -1;
  }
  file_folder_sync (state->path);
  return 0;
}

/* Opens the file that the next load goes into. */
static int
choose (struct file_state *state, struct send_answer *answer)
{
  struct stat status;

  if (state->fd >= 0 && (fstat (state->fd, &status) < 0 || status.st_nlink == 0))
    leave (state);
  if (state->fd < 0 && go_on (state, answer) < 0)
    return -1;
  if (state->fd >= 0 && is_old (state, state->began_ns, state->length))
    leave (state);
  return state->fd >= 0 ? 0 : begin (state, answer);
}

/* ---- writing ---- */

static const struct buffer *
render (struct file_state *state, const struct send_load *load)
{
  size_t room, length;

  send_text (load, &state->text);
  if (!state->own->packed)
    return &state->text;
  room = ZSTD_compressBound (state->text.length);
  buffer_clear (&state->packed);
  length =
      ZSTD_compress2 (state->zstd, buffer_reserve (&state->packed, room), room, state->text.data, state->text.length);
  if (ZSTD_isError (length)) /* not for want of room: zstd has no memory */
    abort ();
  state->packed.length = length;
  return &state->packed;
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

static enum send_verdict
file_deliver (void *context, const struct send_load *load, size_t *count, struct send_answer *answer)
{
  struct file_state *state = context;
  const struct buffer *bytes;

  (void) count;
  if (choose (state, answer) < 0)
    return SEND_AGAIN;
  bytes = render (state, load);
  if (write_at (state->fd, bytes, state->length) == 0) {
    state->length += (off_t) bytes->length;
    return SEND_TAKEN;
  }
  say (answer, state->path);
  if (ftruncate (state->fd, state->length) < 0)
    leave (state); /* it is made whole when it is opened again */
  return SEND_AGAIN;
}

/* ---- options ---- */

static int
file_check (const struct send_options *options, const void *own, struct error *error)
{
  const struct file_options *file = own;

  (void) options;
  return *file->folder ? 0 : error_set (error, "folder: must be given");
}

static const char *
file_target (const struct send_setting *setting)
{
  const struct file_options *own = setting->own;

  return own->folder;
}

#define AT(member) .offset = offsetof (struct file_options, member)
static const struct option options[] = {
  { "", "folder", NULL, OPTION_PATH, AT (folder),
    .help = "Of file: the folder, which is there. Files in it are called NAME-20261123T074700.123Z.jsonl, by the "
            "section's name and when they were begun." },
  { "", "size", NULL, OPTION_SIZE, AT (size), "100M", "4k", "1T",
    .help = "Of file: one that has so many bytes is followed by another." },
  { "", "age", NULL, OPTION_DURATION, AT (age_ns), "24h", "1s", "8760h",
    .help = "Of file: one that was begun so long ago is followed by another." },
  { "", "keep", NULL, OPTION_SIZE, AT (keep), "0", "0", "1M",
    .help = "Of file: so many are kept, and the oldest deleted. 0: all." },
  { "", "zstd", NULL, OPTION_BOOLEAN, AT (packed), "yes", .help = "Of file: they are compressed, .jsonl.zst." },
};

const struct send_type send_file = {
  .name = "file",
  .shared = "",
  .own = { options, sizeof options / sizeof options[0], sizeof (struct file_options) },
  .lines = true,
  .load_most = 10000,
  .load_bytes = 4 * 1024 * 1024,
  .check = file_check,
  .target = file_target,
  .open = file_open_type,
  .close = file_close_type,
  .deliver = file_deliver,
};
