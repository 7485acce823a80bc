/* A client library that is loaded when a section first needs it: which it is, and its functions. */
#ifndef SYNOP_AGGREGATOR_SEND_LIBRARY_H
#define SYNOP_AGGREGATOR_SEND_LIBRARY_H

#include <stddef.h>

#include "synop/error.h"

struct send_symbol_of {
  const char *name;
  size_t offset; /* of a pointer to function */
};

/* Loads the first of the names that is there, for good, and sets the pointers of `functions`. -1 and error, which says which
 * `package` has it. */
int send_library_load (const char *const *names, const char *package, const struct send_symbol_of *symbols,
                       size_t count, void *functions, struct error *error);

#endif
