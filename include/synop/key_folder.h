/* The folders that hold keys: who may write to them, and how the "keys" commands of both programs make them. */
#ifndef SYNOP_KEY_FOLDER_H
#define SYNOP_KEY_FOLDER_H

#include "synop/error.h"

/* Checks that it is a folder of root or of the user who runs this, and that nobody else can write to it or replace
 * it. Root may use another user's folder where root alone controls the path to it; see key_folder.c. */
int key_folder_check (const char *path, struct error *error);
/* The same for an aggregator's folder and its folder nodes/. */
int key_folder_check_nodes (const char *path, struct error *error);
/* Makes the folder (0755) and missing ones above it, then checks it. */
int key_folder_make (const char *path, struct error *error);
/* Makes NAME.key and NAME.pub. Where only NAME.key exists, from an interrupted attempt, NAME.pub is made from it;
 * where both exist, that is an error. */
int key_folder_init (const char *path, const char *name, const char *comment, struct error *error);
/* What root makes in a folder of another user, as of a service, is that user's: a path, or with `fd` what is open there. */
void key_folder_give (const char *path, const int *fd);

#endif
