/* See job_document.h: the file. It is opened when all of the document is there, so that a failure leaves what was there. */
#include "aggregator/job_document.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int
document_write (const char *path, const struct buffer *document, struct error *error)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), failed = 0;

  if (fd < 0)
    return error_set (error, "cannot write %.300s: %s", path, strerror (errno));
  for (size_t at = 0; !failed && at < document->length;) {
    ssize_t n = write (fd, document->data + at, document->length - at);
    if (n > 0)
      at += (size_t) n;
    else if (n == 0 || errno != EINTR)
      failed = n == 0 ? EIO : errno;
  }
  if (close (fd) < 0 && !failed)
    failed = errno;
  return failed ? error_set (error, "cannot write %.300s: %s", path, strerror (failed)) : 0;
}
