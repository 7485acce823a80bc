/* See file_folder.h. */
#include "aggregator/send/file_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "synop/clock.h"
#include "synop/memory.h"

#define STAMP "20261123T074700.123Z"

void
file_folder_name (const char *sender, int64_t time_ns, bool packed, char name[FILE_NAME_SIZE])
{
  time_t seconds = (time_t) (time_ns / NS_PER_S);
  char stamp[32];
  struct tm utc;

  gmtime_r (&seconds, &utc);
  strftime (stamp, sizeof stamp, "%Y%m%dT%H%M%S", &utc);
  snprintf (name, FILE_NAME_SIZE, "%s-%s.%03dZ.jsonl%s", sender, stamp, (int) (time_ns / NS_PER_MS % 1000),
            packed ? ".zst" : "");
}

/* When the file of that name was begun; 0: it is none of the sender's. */
static int64_t
time_of (const char *sender, const char *name)
{
  size_t length = strlen (sender);
  struct tm utc = { 0 };
  const char *end;
  char *rest;
  long ms;

  if (strncmp (name, sender, length) != 0 || name[length] != '-' || strlen (name) < length + 1 + strlen (STAMP))
    return 0;
  end = strptime (name + length + 1, "%Y%m%dT%H%M%S.", &utc);
  if (end != name + length + 1 + strlen ("20261123T074700."))
    return 0;
  ms = strtol (end, &rest, 10);
  if (rest != end + 3 || ms < 0 || (strcmp (rest, "Z.jsonl") != 0 && strcmp (rest, "Z.jsonl.zst") != 0))
    return 0;
  return timegm (&utc) * NS_PER_S + ms * NS_PER_MS;
}

/* The oldest, or the newest; returns how many there are. */
static ssize_t
find (const char *folder, const char *sender, bool oldest, char name[FILE_NAME_SIZE], int64_t *time_ns)
{
  DIR *open = opendir (folder);
  ssize_t count = 0;

  if (!open)
    return -1;
  for (struct dirent *entry; (entry = readdir (open));) {
    int64_t time = strlen (entry->d_name) < FILE_NAME_SIZE ? time_of (sender, entry->d_name) : 0;
    if (!time)
      continue;
    if (count++ && (oldest ? time >= *time_ns : time <= *time_ns))
      continue;
    *time_ns = time;
    strcpy (name, entry->d_name);
  }
  closedir (open);
  return count;
}

int
file_folder_newest (const char *folder, const char *sender, char name[FILE_NAME_SIZE], int64_t *time_ns)
{
  ssize_t count = find (folder, sender, false, name, time_ns);

  return count > 0 ? 1 : (int) count;
}

int
file_folder_trim (const char *folder, const char *sender, size_t keep)
{
  char name[FILE_NAME_SIZE];
  int64_t time_ns;

  for (;;) {
    ssize_t count = find (folder, sender, true, name, &time_ns);
    char *path;
    int result;
    if (count < 0 || (size_t) count <= keep)
      return count < 0 ? -1 : 0;
    path = memory_format ("%s/%s", folder, name);
    result = unlink (path);
    free (path);
    if (result < 0)
      return -1;
  }
}

/* ---- the end of a file ---- */

static size_t
whole_frames (const char *bytes, size_t length)
{
  size_t at = 0;

  while (at < length) {
    size_t frame = ZSTD_findFrameCompressedSize (bytes + at, length - at);
    if (ZSTD_isError (frame))
      break;
    at += frame;
  }
  return at;
}

int64_t
file_folder_whole (int fd, bool packed)
{
  struct stat status;
  size_t length, whole;
  char *bytes;

  if (fstat (fd, &status) < 0)
    return -1;
  if (status.st_size == 0)
    return 0;
  length = (size_t) status.st_size;
  bytes = mmap (NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);
  if (bytes == MAP_FAILED)
    return -1;
  if (packed) {
    whole = whole_frames (bytes, length);
  } else {
    const char *newline = memrchr (bytes, '\n', length);
    whole = newline ? (size_t) (newline - bytes) + 1 : 0;
  }
  munmap (bytes, length);
  return (int64_t) whole;
}
