/* Files of /proc and /sys that stay open and are read again and again with pread. */
#ifndef SYNOP_AGENT_READER_H
#define SYNOP_AGENT_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "synop/buffer.h"
#include "synop/table.h"

struct reader {
  int fd;        /* -1: not open (yet) */
  char *path;    /* with the root; owned */
  bool optional; /* its absence is no complaint; false at first */
};

/* Opens nothing yet. `format` makes the path below `root`: reader_init (&r, root, "/sys/class/net/%s/speed", name). */
void reader_init (struct reader *reader, const char *root, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
void reader_free (struct reader *reader);
/* Closes the file until the next read, to save descriptors. */
void reader_close (struct reader *reader);

/* The whole file, NUL-terminated in `into` (length without the NUL). Opens it if need be, and again after ENODEV,
 * ESTALE or ENOENT. Returns 0, -errno or -FILE_IRREGULAR (synop/file.h); then `into` is empty. A file that grew is read
 * whole. */
int reader_read (struct reader *reader, struct buffer *into);

/* The same for a file of lines, with complaints in the table. The kernel ends each line with a newline: a file that ends
 * without one was cut, and its last line is left out, since a number in it may be another; -EBADMSG when it was the
 * only one. */
int reader_read_lines (struct reader *reader, struct buffer *into, struct table *table);
bool reader_is_absent (int result); /* the kernel lacks the file, or is configured to leave it empty */

/* A file of one short value, as most of /sys: one pread, so that it costs one system call. NUL-terminated and without
 * the newline at its end; what does not fit into `size` is cut. Returns its length, or as above; then `text` is "". */
int reader_read_value (struct reader *reader, char *text, size_t size);

/* The same of an unsigned number and nothing else. 0, -errno, or -EBADMSG: it is none. */
int reader_read_uint (struct reader *reader, uint64_t *value);

/* The same of a metric's value. A read that fails (a sensor sleeps, is broken, is gone) is a missing value; what is no number is a
 * complaint. */
void reader_read_number (struct reader *reader, enum metric_kind kind, struct value *value, struct table *table);

/* A complaint (table.h) about the file: "/proc/stat: No such file or directory". `result` is that of a read, or
 * -EBADMSG: nothing in it was understood. Returns -1. */
int reader_complain (const struct reader *reader, int result, struct table *table);

#endif
