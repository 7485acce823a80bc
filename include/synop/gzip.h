/* Bytes packed by gzip. zlib is loaded at run time, so that a program without such bytes does without it. */
#ifndef SYNOP_GZIP_H
#define SYNOP_GZIP_H

#include "synop/buffer.h"
#include "synop/error.h"

enum gzip_effort { GZIP_FAST = 1, GZIP_BEST = 9 };

/* Adds them behind what is there. -1 and error: zlib cannot be had. */
int gzip_pack (const struct buffer *bytes, enum gzip_effort effort, struct buffer *packed, struct error *error);

#endif
