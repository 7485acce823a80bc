/* Files that are read once or seldom: a file's first line as a text, the numbered folders of a class. Files of every
 * sample go through reader.h. */
#ifndef SYNOP_AGENT_FACTS_H
#define SYNOP_AGENT_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/table.h"

/* The first line of a small file below root, without blanks around it and with '?' for bytes that are no text. False,
 * and "", when there is no such file or it is empty. */
bool fact_text (char *text, size_t size, const char *root, const char *format, ...)
    __attribute__ ((format (printf, 4, 5)));
bool fact_uint (uint64_t *value, const char *root, const char *format, ...) __attribute__ ((format (printf, 3, 4)));

/* Sorted names in a folder, without those that begin with a dot; numbers in them count as numbers ("eth2" before
 * "eth10"). `prefix` (may be ""): only names that begin with it. */
struct names { /* `{0}` is an empty one */
  char **list;
  size_t count;
};
void names_read (struct names *names, const char *prefix, const char *root, const char *format, ...)
    __attribute__ ((format (printf, 4, 5)));
void names_free (struct names *names);

/* Detects changes of a folder's names, without allocation. */
struct folder_watch {
  int fd;
  char *path; /* owned */
  uint64_t sum;
};
void folder_watch_init (struct folder_watch *watch, const char *root, const char *path);
void folder_watch_free (struct folder_watch *watch);
bool folder_changed (struct folder_watch *watch); /* true the first time, if the folder is there */

/* Sets the value of the node in the column of that name; an empty text stays missing. */
size_t fact_column (const struct group *group, const char *name);
void fact_set_text (struct table *table, const char *name, const char *text);
void fact_set_uint (struct table *table, const char *name, uint64_t value);

#endif
