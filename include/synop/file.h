/* Files and their folders. */
#ifndef SYNOP_FILE_H
#define SYNOP_FILE_H

#include <stddef.h>
#include <sys/types.h>

#define FILE_IRREGULAR 65536 /* beside the numbers of errno: it is no regular file */

/* Opens a regular file for reading, in `folder` when the path is relative (AT_FDCWD: the working directory). Anything
 * else of that name is refused and never waited for: a FIFO would hang the program, a device act on being read; a folder
 * is opened, and gives EISDIR when it is read. All files of /proc and /sys are regular ones. Returns the descriptor,
 * -errno, or -FILE_IRREGULAR. */
int file_open_at (int folder, const char *path);
int file_open (const char *path);

/* Words for an errno or FILE_IRREGULAR. */
const char *file_error_text (int number);

/* Closes it unless it is -1, which it is then. */
void file_close (int *fd);

/* All of it, however long that takes: also to a descriptor that does not block. -1 and errno. */
int file_write (int fd, const void *bytes, size_t length);

/* The path of the folder in which that file lies, to be freed. */
char *file_folder (const char *path);
/* Makes it, one level, where it is missing. -1 and errno. */
int file_folder_make (const char *path, mode_t mode);
/* Brings it to the disk: a name that was told to others must not be gone after a crash. */
void file_folder_sync (const char *path);

#endif
