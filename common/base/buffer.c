/* Bytes that grow at their end, by doubling. */
#include "synop/buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"

void
buffer_free (struct buffer *buffer)
{
  free (buffer->data);
  *buffer = (struct buffer){ 0 };
}

static void
buffer_grow (struct buffer *buffer, size_t more)
{
  size_t need = buffer->length + more;
  size_t capacity = buffer->capacity < 256 ? 256 : buffer->capacity;

  while (capacity < need && capacity <= SIZE_MAX / 2)
    capacity *= 2;
  if (need < more || capacity < need)
    capacity = SIZE_MAX; /* memory_resize aborts */
  buffer->data = memory_resize (buffer->data, capacity, 1);
  buffer->capacity = capacity;
}

char *
buffer_reserve (struct buffer *buffer, size_t more)
{
  if (more > buffer->capacity - buffer->length || buffer->data == NULL)
    buffer_grow (buffer, more);
  return buffer->data + buffer->length;
}

void
buffer_add (struct buffer *buffer, const void *bytes, size_t length)
{
  char *to = buffer_reserve (buffer, length);

  if (length != 0)
    memcpy (to, bytes, length);
  buffer->length += length;
}

void
buffer_add_string (struct buffer *buffer, const char *text)
{
  buffer_add (buffer, text, strlen (text));
}

const char *
buffer_text (struct buffer *buffer)
{
  *buffer_reserve (buffer, 1) = '\0';
  return buffer->data;
}

void
buffer_printf (struct buffer *buffer, const char *format, ...)
{
  va_list arguments, again;
  char *to = buffer_reserve (buffer, 128);
  size_t room = buffer->capacity - buffer->length;

  va_start (arguments, format);
  va_copy (again, arguments);

  int length = vsnprintf (to, room, format, arguments);

  if (length >= 0 && (size_t) length >= room) {
    to = buffer_reserve (buffer, (size_t) length + 1);
    length = vsnprintf (to, (size_t) length + 1, format, again);
  }
  if (length > 0)
    buffer->length += (size_t) length;
  va_end (again);
  va_end (arguments);
}
