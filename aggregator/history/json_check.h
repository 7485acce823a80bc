/* Is a text that was written as JSON still JSON? For what is put into other JSON as it is. */
#ifndef SYNOP_AGGREGATOR_JSON_CHECK_H
#define SYNOP_AGGREGATOR_JSON_CHECK_H

#include <stdbool.h>

/* One object and nothing else, on one line, of at most 16 levels (RFC 8259). */
bool json_is_object (const char *text);

#endif
