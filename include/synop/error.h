/* A sentence for people that says what went wrong.
 *
 * A function that can fail takes `struct error *`, sets it, and returns -1 (or NULL). The caller owns the struct,
 * usually on its stack; nothing is allocated. */
#ifndef SYNOP_ERROR_H
#define SYNOP_ERROR_H

struct error {
  char text[512]; /* one sentence without a newline, cut at the size */
};

/* Sets the text and returns -1, so that `return error_set (e, "...")` reads well. `error` may be NULL. */
int error_set (struct error *error, const char *format, ...) __attribute__ ((format (printf, 2, 3)));

/* Puts text before the sentence: "FILE:LINE: ". Returns -1. */
int error_prefix (struct error *error, const char *format, ...) __attribute__ ((format (printf, 2, 3)));

#endif
