/* Allocation that cannot fail. */
#include "synop/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *
memory_or_abort (void *memory)
{
  static const char message[] = "out of memory\n";

  if (memory != NULL)
    return memory;
  if (write (STDERR_FILENO, message, sizeof message - 1) < 0)
    abort ();
  abort ();
}

void *
memory_new (size_t count, size_t size)
{
  if (count == 0 || size == 0)
    count = size = 1;
  return memory_or_abort (calloc (count, size));
}

void *
memory_resize (void *memory, size_t count, size_t size)
{
  if (count == 0 || size == 0)
    count = size = 1;
  return memory_or_abort (reallocarray (memory, count, size));
}

char *
memory_string (const char *text)
{
  return text == NULL ? NULL : memory_copy (text, strlen (text));
}

char *
memory_copy (const void *bytes, size_t length)
{
  if (length == SIZE_MAX)
    memory_or_abort (NULL);

  char *copy = memory_or_abort (malloc (length + 1));

  if (length != 0)
    memcpy (copy, bytes, length);
  copy[length] = 0;
  return copy;
}

char *
memory_format (const char *format, ...)
{
  char *text = NULL;
  va_list arguments;

  va_start (arguments, format);
  if (vasprintf (&text, format, arguments) < 0)
    text = NULL;
  va_end (arguments);
  return memory_or_abort (text);
}
