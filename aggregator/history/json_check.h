/* Is a stored JSON text still JSON? For text that is copied into other JSON. */
#ifndef SYNOP_AGGREGATOR_JSON_CHECK_H
#define SYNOP_AGGREGATOR_JSON_CHECK_H

#include <stdbool.h>

/* True: one object and nothing else, on one line, of at most 16 levels (RFC 8259). */
bool json_is_object (const char *text);

#endif
