/* See job_document.h: the file. A document's is opened when all of the document is there, so that a failure leaves none. */
#include "aggregator/report/job_document.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/report/job_words.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/version.h"

void
document_title (struct buffer *to, const struct job_report *report)
{
  buffer_printf (to, "Job %s", report->shown);
  if (*report->name)
    buffer_printf (to, ": %s", report->name);
  if (*report->cluster)
    buffer_printf (to, " (%s)", report->cluster);
}

void
document_made (struct buffer *to)
{
  char host[HOST_NAME_MAX + 1] = "";

  gethostname (host, sizeof host - 1);
  buffer_printf (to, "synop %s on %s, %s", SYNOP_VERSION, host, words_time (clock_wall ()).text);
}

/* A device or a pipe is there already, and loses nothing. */
static bool
is_stream (const char *path)
{
  struct stat status;
  int saved = errno;
  bool found = stat (path, &status) == 0 && !S_ISREG (status.st_mode);

  errno = saved;
  return found;
}

int
document_open (const char *path, bool *made, struct error *error)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

  *made = fd >= 0;
  if (fd < 0 && errno == EEXIST && is_stream (path))
    fd = open (path, O_WRONLY | O_CLOEXEC);
  return fd >= 0 ? fd : error_set (error, "%.300s: %s", path, strerror (errno));
}

int
document_write (const char *path, const struct buffer *document, struct error *error)
{
  bool made;
  int fd = document_open (path, &made, error), failed;

  if (fd < 0)
    return error_prefix (error, "cannot write ");
  failed = file_write (fd, document->data, document->length) < 0 ? errno : 0;
  if (close (fd) < 0 && !failed)
    failed = errno;
  if (failed && made)
    unlink (path);
  return failed ? error_set (error, "cannot write %.300s: %s", path, strerror (failed)) : 0;
}

static int
write_made (const struct job_report *report, job_document_fn *make, const char *path, struct error *error)
{
  struct buffer document = { 0 };
  int result = make (report, &document, error);

  if (result < 0)
    error_prefix (error, "%.200s: ", path);
  else
    result = document_write (path, &document, error);
  buffer_free (&document);
  return result;
}

int
job_report_pdf (const struct job_report *report, const char *path, struct error *error)
{
  return write_made (report, job_report_pdf_make, path, error);
}

int
job_report_html (const struct job_report *report, const char *path, struct error *error)
{
  return write_made (report, job_report_html_make, path, error);
}
