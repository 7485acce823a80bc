/* Files that are read. */
#ifndef SYNOP_FILE_H
#define SYNOP_FILE_H

#define FILE_IRREGULAR 65536 /* beside the numbers of errno: it is no regular file */

/* Opens a regular file for reading, in `folder` when the path is relative (AT_FDCWD: the working directory). Anything
 * else of that name is refused and never waited for: a FIFO would hang the program, a device act on being read; a folder
 * is opened, and gives EISDIR when it is read. All files of /proc and /sys are regular ones. Returns the descriptor,
 * -errno, or -FILE_IRREGULAR. */
int file_open_at (int folder, const char *path);
int file_open (const char *path);

/* Words for an errno or FILE_IRREGULAR. */
const char *file_error_text (int number);

#endif
