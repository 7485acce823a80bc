/* Who looks, and whose jobs he may see: the one decision about all that is of users, made by viewer_sees. */
#ifndef SYNOP_VIEWER_H
#define SYNOP_VIEWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/error.h"

#define VIEWER_NAME_MAX 64
#define VIEWER_TEXT_SIZE (VIEWER_NAME_MAX + 16)
#define VIEWER_UID_UNKNOWN (-1)

struct viewer {
  bool all;                       /* he sees everything of everybody */
  bool traces;                    /* he may have jobs of everybody traced */
  int64_t uid;                    /* or VIEWER_UID_UNKNOWN */
  char name[VIEWER_NAME_MAX + 1]; /* "": nobody: he sees nothing of anybody */
  /* Of the past: is the job of that id, which ran there (NULL: anywhere) then, his? NULL: what is looked at says itself
   * whose it is. */
  bool (*past) (const struct viewer *viewer, const char *node, const char *label, size_t length, int64_t time_ns);
  const void *history; /* of that */
};

extern const struct viewer viewer_all, viewer_nobody;

/* May he see what belongs to that user? `user` is a name, or the number of one that has none; "": of whom is not known. */
bool viewer_sees (const struct viewer *viewer, const char *user, size_t length);
bool viewer_is_user (const char *name); /* can it be a user's name? */

/* As a word: "*" (all), "-" (nobody), "1001:ana", ":ana". */
void viewer_write (const struct viewer *viewer, char text[VIEWER_TEXT_SIZE]);
int viewer_read (struct viewer *viewer, const char *text); /* -1: it is none */

#endif
