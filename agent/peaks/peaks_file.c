/* See peaks.h. The file is written beside its place and moved there, so that no reader sees half of it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "agent/peaks/peaks.h"
#include "synop/clock.h"
#include "synop/file.h"

#define FILE_MOST 65536

static int
fail (struct error *error, const char *path)
{
  return error_set (error, "%s: %s", path, strerror (errno));
}

static char *
text_of (const struct peaks *peaks)
{
  char time[CLOCK_TEXT_SIZE], *text;
  json_t *file;

  clock_text (peaks->time_ns, time);
  file = json_pack ("{si ss si ss sf sf sf}", "version", 1, "time", time, "threads", (int) peaks->threads, "vectors",
                    peaks->vectors, "memory_bandwidth", peaks->memory_bandwidth, "flops_double", peaks->flops_double,
                    "flops_single", peaks->flops_single);
  text = json_dumps (file, JSON_INDENT (2) | JSON_REAL_PRECISION (6));
  json_decref (file);
  return text;
}

static int
open_beside (const char *path, char beside[PATH_MAX])
{
  snprintf (beside, PATH_MAX, "%s.new", path);
  if (file_folder_make (path, 0755) < 0)
    return -1;
  unlink (beside);
  return open (beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
}

static int
write_all (int fd, const struct peaks *peaks)
{
  char *text = text_of (peaks);
  int rc;

  rc = file_write (fd, text, strlen (text));
  if (rc == 0)
    rc = file_write (fd, "\n", 1);
  if (rc == 0)
    rc = fsync (fd);
  free (text);
  return rc;
}

int
peaks_check (const char *path, struct error *error)
{
  char beside[PATH_MAX];
  int fd = open_beside (path, beside);

  if (fd < 0)
    return fail (error, path);
  close (fd);
  unlink (beside);
  return 0;
}

int
peaks_write (const struct peaks *peaks, const char *path, struct error *error)
{
  char beside[PATH_MAX];
  int fd = open_beside (path, beside), rc;

  if (fd < 0)
    return fail (error, path);
  rc = write_all (fd, peaks);
  if (close (fd) < 0 || rc < 0 || rename (beside, path) < 0) {
    fail (error, path);
    unlink (beside);
    return -1;
  }
  file_folder_sync (path);
  return 0;
}

/* ---- reading ---- */

static double
positive (const json_t *file, const char *key)
{
  double value = json_number_value (json_object_get (file, key));

  return isfinite (value) && value > 0 ? value : 0;
}

static void
take (struct peaks *peaks, const json_t *file)
{
  const char *vectors = json_string_value (json_object_get (file, "vectors"));
  double threads = positive (file, "threads");

  *peaks = (struct peaks){ .memory_bandwidth = positive (file, "memory_bandwidth"),
                           .flops_double = positive (file, "flops_double"),
                           .flops_single = positive (file, "flops_single"),
                           .threads = threads < UINT32_MAX ? (uint32_t) threads : 0 };
  snprintf (peaks->vectors, sizeof peaks->vectors, "%.15s", vectors ? vectors : "");
}

int
peaks_read (struct peaks *peaks, const char *path, struct error *error)
{
  int fd = file_open (path);
  char text[FILE_MOST];
  ssize_t length;
  json_error_t why;
  json_t *file;

  *peaks = (struct peaks){ 0 };
  if (fd == -ENOENT)
    return 0;
  if (fd < 0)
    return error_set (error, "%s: %s", path, file_error_text (-fd));
  length = file_read (fd, text, sizeof text);
  if (length < 0)
    fail (error, path);
  file_close (&fd);
  if (length < 0)
    return -1;
  file = json_loadb (text, (size_t) length, 0, &why);
  if (!file)
    return error_set (error, "%s:%d: %s", path, why.line, why.text);
  take (peaks, file);
  json_decref (file);
  if (peaks->memory_bandwidth == 0 && peaks->flops_double == 0 && peaks->flops_single == 0)
    return error_set (error, "%s: it has no peak: not written by synop-agent bench-node, or damaged", path);
  return 1;
}
