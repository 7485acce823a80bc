/* Numbered objects of the kernel with a folder each, in which one file is read: "/sys/devices/system/cpu/cpu7/..."
 * They come and go: a CPU is taken offline, memory is plugged in. */
#ifndef SYNOP_AGENT_NUMBERED_H
#define SYNOP_AGENT_NUMBERED_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/source/reader.h"
#include "synop/buffer.h"

struct numbered {
  char *folder;           /* with the root; owned */
  const char *prefix;     /* "cpu" */
  const char *file;       /* "cpufreq/scaling_cur_freq" */
  struct reader online;   /* FOLDER/online: the kernel's list of existing ones */
  struct buffer now, old; /* what it reads */
  bool listed;
  struct numbered_item {
    unsigned number;
    int label_length;
    char label[12]; /* the number as text */
    struct reader reader;
  } * items; /* in order of numbers */
  size_t count;
};

/* `prefix` and `file` must outlive it; `root` and `folder` need not. */
void numbered_init (struct numbered *numbered, const char *root, const char *folder, const char *prefix,
                    const char *file);
void numbered_free (struct numbered *numbered);
/* Lists the folder the first time, and again when `online` has changed: true then. */
bool numbered_refresh (struct numbered *numbered);
/* Is that number in the kernel's list? Then its file should be readable. False also where there is no such list. */
bool numbered_is_online (const struct numbered *numbered, unsigned number);

#endif
