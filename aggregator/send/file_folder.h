/* The folder of the type `file`: NAME-20261123T074700.123Z.jsonl[.zst], by the time at which each file was begun. */
#ifndef SYNOP_AGGREGATOR_SEND_FILE_FOLDER_H
#define SYNOP_AGGREGATOR_SEND_FILE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILE_NAME_SIZE 128

void file_folder_name (const char *sender, int64_t time_ns, bool packed, char name[FILE_NAME_SIZE]);
/* The sender's newest file, and when it was begun (to the ms); 0: it has none, -1 and errno. */
int file_folder_newest (const char *folder, const char *sender, char name[FILE_NAME_SIZE], int64_t *time_ns);
/* Deletes the oldest ones until `keep` are left. -1 and errno. */
int file_folder_trim (const char *folder, const char *sender, size_t keep);
/* How much of the file is whole: up to its last newline, or its last frame of zstd; -1 and errno. What is behind was being
 * written when the aggregator was killed. */
int64_t file_folder_whole (int fd, bool packed);

#endif
