/* What went wrong, for programs: {"error":{"message":"...","parameter":"step","expected":"a duration, as 5m"}}. */
#ifndef SYNOP_AGGREGATOR_API_ERROR_H
#define SYNOP_AGGREGATOR_API_ERROR_H

#include "synop/buffer.h"
#include "synop/error.h"

struct api_error {
  unsigned status;       /* of HTTP; 0: nothing went wrong */
  const char *parameter; /* NULL: it is about none */
  char expected[256];    /* "": the message says all */
  struct error message;
};

/* Returns -1. */
int api_error_set (struct api_error *error, unsigned status, const char *parameter, const char *format, ...)
    __attribute__ ((format (printf, 4, 5)));
void api_error_write (const struct api_error *error, struct buffer *out);

#endif
