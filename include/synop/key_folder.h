/* The folders that hold keys: who may write to them, and how the "keys" commands of both programs make them. */
#ifndef SYNOP_KEY_FOLDER_H
#define SYNOP_KEY_FOLDER_H

#include "synop/buffer.h"
#include "synop/error.h"

/* It is a folder of root or of the user who runs this, and nobody else can write to it or put another in its place. For
 * root also one that is another user's by root's will; see key_folder.c. */
int key_folder_check (const char *path, struct error *error);
/* The same for an aggregator's folder and for nodes/ in it. */
int key_folder_check_nodes (const char *path, struct error *error);
/* Makes it (0755) with those above it where they are missing, then checks it. */
int key_folder_make (const char *path, struct error *error);
/* Makes NAME.key and NAME.pub. Where only NAME.key is there, from an attempt that was cut short, NAME.pub is made from
 * it; where both are, that is an error. */
int key_folder_init (const char *path, const char *name, const char *comment, struct error *error);
/* What root makes in a folder of another user, as of a service, is that user's: a path, or with `fd` what is open there. */
void key_folder_give (const char *path, const int *fd);

/* The commands' answer to standard output. A reader that has gone is an error too: the answer was not read. */
int key_command_print (const struct buffer *text, struct error *error);

#endif
