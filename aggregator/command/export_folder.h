/* A folder of tables, a file for each. While it is written a file has a name of its own, that begins with a point; all get
 * theirs together, when the last is finished, and none does when something failed. No file is open between two writes: there
 * may be more of them than a process may have open. */
#ifndef SYNOP_AGGREGATOR_EXPORT_FOLDER_H
#define SYNOP_AGGREGATOR_EXPORT_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "synop/error.h"

struct export_folder;

struct export_file {
  struct export_file *next;
  struct export_folder *folder;
  char *name;  /* of the table: "network" */
  char *final; /* DIR/network.csv */
  char *path;  /* as it is called meanwhile */
};

/* Makes it, unless it is there. */
struct export_folder *export_folder_create (const char *path, struct error *error);
/* Gives the files their names, or removes them, and the folder if it was made. */
int export_folder_destroy (struct export_folder *folder, bool whole, struct error *error);
size_t export_folder_files (const struct export_folder *folder);

/* An empty file NAME.ENDING. NULL and error: there is one of that name. The folder's. */
struct export_file *export_file_create (struct export_folder *folder, const char *name, const char *ending,
                                        struct error *error);
int export_file_add (const struct export_file *file, const void *bytes, size_t length, struct error *error);
void export_file_swap (struct export_file *file, struct export_file *other); /* their names */

#endif
