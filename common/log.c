/* Diagnostics to standard error: one write for each line, so that lines of several threads never mix. */
#include "synop/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "synop/clock.h"

#define LOG_LINE_MAX 1024

static _Atomic int log_level = LOG_LEVEL_INFO;

static const struct {
  const char *name;
  const char *priority; /* syslog's, as systemd reads it */
} log_levels[] = {
  [LOG_LEVEL_ERROR] = { "error", "<3>" },
  [LOG_LEVEL_WARNING] = { "warning", "<4>" },
  [LOG_LEVEL_INFO] = { "info", "<6>" },
  [LOG_LEVEL_DEBUG] = { "debug", "<7>" },
};

void
log_set_level (enum log_level level)
{
  log_level = (int) level;
}

/* JOURNAL_STREAM holds "device:inode" of the journal's stream; it is inherited, so standard error may be another. */
static bool
stderr_is_journal (void)
{
  const char *stream = getenv ("JOURNAL_STREAM");
  unsigned long long device, inode;
  struct stat status;

  return stream != NULL && sscanf (stream, "%llu:%llu", &device, &inode) == 2 && fstat (STDERR_FILENO, &status) == 0 &&
         status.st_dev == (dev_t) device && status.st_ino == (ino_t) inode;
}

static void
log_line (enum log_level level, const char *format, va_list arguments)
{
  if ((int) level > log_level)
    return;

  int saved = errno;
  char line[LOG_LINE_MAX + 1];
  size_t start;

  if (stderr_is_journal ()) {
    start = (size_t) snprintf (line, sizeof line, "%s", log_levels[level].priority);
  } else {
    char time[CLOCK_TEXT_SIZE];

    clock_text (clock_wall (), time);
    start = (size_t) snprintf (line, sizeof line, "%.23sZ %s: ", time, log_levels[level].name);
  }

  int made = vsnprintf (line + start, LOG_LINE_MAX - start, format, arguments);
  size_t length = start + (made < 0 ? 0 : strlen (line + start));

  for (size_t i = start; i < length; i++)
    if ((unsigned char) line[i] < 0x20 || line[i] == 0x7f)
      line[i] = '?';
  line[length++] = '\n';
  while (write (STDERR_FILENO, line, length) < 0 && errno == EINTR)
    ;
  errno = saved;
}

void
log_error (const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  log_line (LOG_LEVEL_ERROR, format, arguments);
  va_end (arguments);
}

void
log_warning (const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  log_line (LOG_LEVEL_WARNING, format, arguments);
  va_end (arguments);
}

void
log_info (const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  log_line (LOG_LEVEL_INFO, format, arguments);
  va_end (arguments);
}

void
log_debug (const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  log_line (LOG_LEVEL_DEBUG, format, arguments);
  va_end (arguments);
}
