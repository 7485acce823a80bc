/* Bytes that grow at their end. `{0}` is an empty one. */
#ifndef SYNOP_BUFFER_H
#define SYNOP_BUFFER_H

#include <stddef.h>

struct buffer {
  char *data; /* owned; not NUL-terminated by itself */
  size_t length;
  size_t capacity;
};

void buffer_free (struct buffer *buffer);
static inline void
buffer_clear (struct buffer *buffer)
{
  buffer->length = 0;
}
/* Makes room for `more` bytes behind the end; returns their address. The caller adds to `length` what it wrote. */
char *buffer_reserve (struct buffer *buffer, size_t more);
void buffer_add (struct buffer *buffer, const void *bytes, size_t length);
void buffer_add_string (struct buffer *buffer, const char *text);
/* The content, with a NUL behind; valid until more is added. */
const char *buffer_text (struct buffer *buffer);
void buffer_printf (struct buffer *buffer, const char *format, ...) __attribute__ ((format (printf, 2, 3)));

#endif
