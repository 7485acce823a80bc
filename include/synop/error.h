/* A sentence for the human who reads what went wrong.
 *
 * A function that can fail takes `struct error *` and returns -1 (or NULL) after it has set it. The caller owns the
 * struct, usually on its stack; nothing is allocated. */
#ifndef SYNOP_ERROR_H
#define SYNOP_ERROR_H

struct error {
  char text[512]; /* one sentence without a newline, cut at the size */
};

/* Sets the text and returns -1, so that `return error_set (e, "...")` reads well. `error` may be NULL. */
int error_set (struct error *error, const char *format, ...) __attribute__ ((format (printf, 2, 3)));

/* Puts words before the text that is there: "FILE:LINE: ". Returns -1. */
int error_prefix (struct error *error, const char *format, ...) __attribute__ ((format (printf, 2, 3)));

#endif
