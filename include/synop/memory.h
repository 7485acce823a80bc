/* Allocation that cannot fail: without memory the program aborts, since nothing here could go on sensibly. */
#ifndef SYNOP_MEMORY_H
#define SYNOP_MEMORY_H

#include <stddef.h>

void *memory_new (size_t count, size_t size); /* zeroed; count 0 gives a pointer that may be freed */
void *memory_resize (void *memory, size_t count, size_t size);
char *memory_string (const char *text);               /* a copy; NULL stays NULL */
char *memory_copy (const void *bytes, size_t length); /* a copy with a NUL behind it */
char *memory_format (const char *format, ...) __attribute__ ((format (printf, 1, 2)));

#endif
