/* An error is a sentence that says what went wrong.
 *
 * It may contain foreign texts (file names, keys of a frame), so control bytes are replaced here, once: a sentence
 * can neither break a log's line nor colour a terminal. errno is left alone. */
#include "synop/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void
text_clean (char *text)
{
  for (unsigned char *at = (unsigned char *) text; *at != 0; at++)
    if (*at < 0x20 || *at == 0x7f)
      *at = '?';
}

int
error_set (struct error *error, const char *format, ...)
{
  if (error == NULL)
    return -1;

  int saved = errno;
  struct error made; /* the arguments may point into `error` */
  va_list arguments;

  va_start (arguments, format);
  if (vsnprintf (made.text, sizeof made.text, format, arguments) < 0)
    made.text[0] = 0;
  va_end (arguments);
  text_clean (made.text);
  memcpy (error->text, made.text, strlen (made.text) + 1);
  errno = saved;
  return -1;
}

int
error_prefix (struct error *error, const char *format, ...)
{
  if (error == NULL)
    return -1;

  int saved = errno;
  struct error made;
  va_list arguments;

  va_start (arguments, format);
  if (vsnprintf (made.text, sizeof made.text, format, arguments) < 0)
    made.text[0] = 0;
  va_end (arguments);
  text_clean (made.text);

  size_t used = strlen (made.text);
  size_t rest = strnlen (error->text, sizeof error->text - 1);

  if (rest > sizeof made.text - 1 - used)
    rest = sizeof made.text - 1 - used;
  memcpy (made.text + used, error->text, rest);
  made.text[used + rest] = 0;
  memcpy (error->text, made.text, used + rest + 1);
  errno = saved;
  return -1;
}
