/* An error is a sentence that says what went wrong.
 *
 * It may contain foreign texts (file names, keys of a frame), so control bytes are replaced here, once: a sentence
 * can neither break a log's line nor colour a terminal. errno is left alone. */
#include "synop/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Returns its length. */
static size_t
sentence_make (struct error *made, const char *format, va_list arguments)
{
  if (vsnprintf (made->text, sizeof made->text, format, arguments) < 0)
    made->text[0] = 0;
  for (unsigned char *at = (unsigned char *) made->text; *at != 0; at++)
    if (*at < 0x20 || *at == 0x7f)
      *at = '?';
  return strlen (made->text);
}

int
error_set (struct error *error, const char *format, ...)
{
  struct error made; /* the arguments may point into `error` */
  int saved = errno;
  va_list arguments;

  if (error == NULL)
    return -1;
  va_start (arguments, format);
  memcpy (error->text, made.text, sentence_make (&made, format, arguments) + 1);
  va_end (arguments);
  errno = saved;
  return -1;
}

int
error_prefix (struct error *error, const char *format, ...)
{
  struct error made;
  int saved = errno;
  va_list arguments;
  size_t used, rest;

  if (error == NULL)
    return -1;
  va_start (arguments, format);
  used = sentence_make (&made, format, arguments);
  va_end (arguments);
  rest = strnlen (error->text, sizeof error->text - 1);
  if (rest > sizeof made.text - 1 - used)
    rest = sizeof made.text - 1 - used;
  memcpy (made.text + used, error->text, rest);
  made.text[used + rest] = 0;
  memcpy (error->text, made.text, used + rest + 1);
  errno = saved;
  return -1;
}
