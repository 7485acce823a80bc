/* Members of a stored line, which is JSON. */
#ifndef SYNOP_AGGREGATOR_ACCESS_LINE_H
#define SYNOP_AGGREGATOR_ACCESS_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* A text of it, to be freed; NULL: it has none of that name. */
char *access_line_text (const char *line, size_t length, const char *name);
/* Gives out the texts of a list of it. False: it has none of that name, or what is in it is no text. */
bool access_line_each (const char *line, size_t length, const char *name, void *context,
                       void (*take) (void *context, const char *text));

#endif
