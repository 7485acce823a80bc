/* Files and their folders. */
#ifndef SYNOP_FILE_H
#define SYNOP_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "synop/buffer.h"
#include "synop/error.h"

#define FILE_IRREGULAR 65536 /* beside the numbers of errno: it is no regular file */

/* Opens a regular file for reading, in `folder` when the path is relative (AT_FDCWD: the working directory). Other
 * kinds of files are refused, without a wait: a FIFO would hang the program, a device may react to being read; a
 * folder is opened, and gives EISDIR when it is read. All files of /proc and /sys are regular ones. Returns the
 * descriptor, -errno, or -FILE_IRREGULAR. */
int file_open_at (int folder, const char *path);
int file_open (const char *path);

/* The text of an errno or FILE_IRREGULAR. */
const char *file_error_text (int number);

/* Closes it unless it is -1, which it is then. */
void file_close (int *fd);

/* Reads until the end of the file, or so many bytes: how many there were, or -1 and errno. */
ssize_t file_read (int fd, void *bytes, size_t most);
/* The text of a small file, always NUL-terminated. -1 and error, which names it, also when it is empty or does not fit. */
int file_read_text (const char *path, char *text, size_t size, struct error *error);
/* Writes all bytes, however long that takes: also to a non-blocking descriptor. -1 and errno. */
int file_write (int fd, const void *bytes, size_t length);

/* Opens /dev/null for closed ones of descriptors 0 to 2, so that no other file gets them. The first call of a program. */
void file_claim_standard (void);
/* Writes all of it to standard output, however long that takes. 0, also when its reader has gone, or 1: the exit code, after
 * the reason was logged. */
int file_print (const struct buffer *text);

/* The path of the folder in which that file lies, to be freed. */
char *file_folder (const char *path);
/* Makes it, one level, where it is missing. -1 and errno. */
int file_folder_make (const char *path, mode_t mode);
/* Syncs the folder to disk: a name that others rely on must outlast a crash. */
void file_folder_sync (const char *path);

#endif
