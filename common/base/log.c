/* Diagnostics to standard error: one write for each line, so that lines of several threads never mix, and none that
 * waits: a program does not stop because nobody reads its log. */
#include "synop/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "synop/clock.h"
#include "synop/text.h"

#define LOG_LINE_MAX 1024

static _Atomic int log_level = LOG_LEVEL_INFO;
static _Atomic unsigned long long log_dropped; /* dropped lines that no line of the log has counted yet */

const char *const log_level_names[] = { "error", "warning", "info", "debug", NULL };

/* syslog's priorities, as systemd reads them. */
static const char *const log_priorities[] = { "<3>", "<4>", "<6>", "<7>" };

void
log_set_level (enum log_level level)
{
  log_level = (int) level;
}

/* JOURNAL_STREAM holds "device:inode" of the journal's stream; children inherit it, so standard error may be another
 * file. */
static bool
stderr_is_journal (void)
{
  const char *stream = getenv ("JOURNAL_STREAM");
  unsigned long long device, inode;
  struct stat status;

  return stream != NULL && sscanf (stream, "%llu:%llu", &device, &inode) == 2 && fstat (STDERR_FILENO, &status) == 0 &&
         status.st_dev == (dev_t) device && status.st_ino == (ino_t) inode;
}

/* Replaces each character that could mislead a terminal or its reader with a question mark. Returns the length of
 * the result. */
static size_t
make_harmless (char *text, size_t length)
{
  size_t to = 0;

  for (size_t at = 0, bytes; at < length; at += bytes) {
    bool unsound = text_is_unsound (text_character (text + at, length - at, &bytes));
    memmove (text + to, unsound ? "?" : text + at, unsound ? 1 : bytes);
    to += unsound ? 1 : bytes;
  }
  return to;
}

/* The whole line with its newline; returns its length. */
static size_t
line_make (char line[LOG_LINE_MAX + 1], enum log_level level, const char *format, va_list arguments)
{
  size_t start;

  if (stderr_is_journal ()) {
    start = (size_t) snprintf (line, LOG_LINE_MAX, "%s", log_priorities[level]);
  } else {
    char time[CLOCK_TEXT_SIZE];

    clock_text (clock_wall (), time);
    start = (size_t) snprintf (line, LOG_LINE_MAX, "%.23sZ %s: ", time, log_level_names[level]);
  }

  int made = vsnprintf (line + start, LOG_LINE_MAX - start, format, arguments);
  size_t length = start + (made < 0 ? 0 : strlen (line + start));

  length = start + make_harmless (line + start, length - start);
  line[length++] = '\n';
  return length;
}

/* False when the line could not be written at once. A ready pipe has PIPE_BUF bytes free, room for the lines of some
 * threads; a socket has more; a file is always ready. A terminal is ready with one byte free, so it is opened again:
 * O_NONBLOCK on standard error itself would apply to every process that shares it. */
static bool
line_write (const char *line, size_t length)
{
  int terminal = -1, ready;
  ssize_t written = -1;

  if (isatty (STDERR_FILENO))
    terminal = open ("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

  struct pollfd to = { .fd = terminal >= 0 ? terminal : STDERR_FILENO, .events = POLLOUT };

  while ((ready = poll (&to, 1, 0)) < 0 && errno == EINTR)
    ;
  if (ready > 0)
    while ((written = write (to.fd, line, length)) < 0 && errno == EINTR)
      ;
  if (terminal >= 0)
    close (terminal);
  return written == (ssize_t) length;
}

/* Writes the note about dropped lines; false when that could not be written either. */
static __attribute__ ((format (printf, 1, 2))) bool
note_write (const char *format, ...)
{
  char line[LOG_LINE_MAX + 1];
  va_list arguments;

  va_start (arguments, format);
  size_t length = line_make (line, LOG_LEVEL_WARNING, format, arguments);
  va_end (arguments);
  return line_write (line, length);
}

static void
log_line (enum log_level level, const char *format, va_list arguments)
{
  if ((int) level > log_level)
    return;

  int saved = errno;
  char line[LOG_LINE_MAX + 1];
  size_t length = line_make (line, level, format, arguments);
  unsigned long long dropped = atomic_exchange (&log_dropped, 0);

  if (dropped != 0 && !note_write ("%llu lines of this log were dropped: nobody read them", dropped))
    atomic_fetch_add (&log_dropped, dropped + 1);
  else if (!line_write (line, length))
    atomic_fetch_add (&log_dropped, 1);
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
