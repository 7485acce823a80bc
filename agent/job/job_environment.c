/* /proc/PID/environ is the environment that the process was started with: "NAME=VALUE\0" after one another; the last may
 * be cut. The process can overwrite it, so it may hold anything. As for getenv, a name's first value counts. */
#include "agent/job/job_environment.h"

#include <string.h>

#include "synop/json_string.h"

#define JOB_VARIABLE_NAME(name) #name
#define JOB_VARIABLE_LENGTH(name) (sizeof #name - 1)
static const char *const names[JOB_VARIABLE_COUNT] = { JOB_VARIABLES (JOB_VARIABLE_NAME) };
static const unsigned char lengths[JOB_VARIABLE_COUNT] = { JOB_VARIABLES (JOB_VARIABLE_LENGTH) };
#define NAME_SHORTEST 5 /* NCPUS */
#define NAME_LONGEST 23 /* SLURM_JOB_CPUS_PER_NODE */

/* Takes the next "NAME=VALUE". */
static bool
next_entry (const char **at, const char *end, struct text *name, struct text *value)
{
  while (*at < end) {
    const char *begin = *at, *nul = memchr (begin, '\0', (size_t) (end - begin));
    const char *stop = nul ? nul : end, *equals;
    *at = stop + (nul != NULL);
    equals = memchr (begin, '=', (size_t) (stop - begin));
    if (equals == NULL)
      continue;
    *name = (struct text){ begin, (size_t) (equals - begin) };
    *value = (struct text){ equals + 1, (size_t) (stop - equals - 1) };
    return true;
  }
  return false;
}

void
job_environment_read (struct job_environment *environment, const char *bytes, size_t length)
{
  const char *at = bytes, *end = bytes + length;
  bool seen[JOB_VARIABLE_COUNT] = { false };
  struct text name, value;

  *environment = (struct job_environment){ .bytes = bytes, .length = length };
  while (next_entry (&at, end, &name, &value)) {
    if (name.length < NAME_SHORTEST || name.length > NAME_LONGEST || memchr ("SPNOLFCRH", name.at[0], 9) == NULL)
      continue;
    for (size_t i = 0; i < JOB_VARIABLE_COUNT; i++)
      if (lengths[i] == name.length && memcmp (names[i], name.at, name.length) == 0) {
        if (!seen[i])
          environment->values[i] = value;
        seen[i] = true;
        break;
      }
  }
}

struct text
job_environment_find (const struct job_environment *environment, const char *wanted, size_t length)
{
  const char *at = environment->bytes, *end = at + environment->length;
  struct text name, value;

  while (next_entry (&at, end, &name, &value))
    if (name.length == length && memcmp (name.at, wanted, length) == 0)
      return value;
  return (struct text){ "", 0 };
}

void
text_put (struct text text, char *to, size_t size)
{
  size_t at = 0, length = 0;

  while (at < text.length) {
    const unsigned char *c = (const unsigned char *) text.at + at;
    size_t bytes = *c < 0x80 ? 1 : json_utf8_length (c, text.length - at);
    if (length + (bytes ? bytes : 1) >= size)
      break;
    if (bytes == 0 || *c < 0x20 || *c == 0x7f)
      to[length++] = '_';
    else {
      memcpy (to + length, c, bytes);
      length += bytes;
    }
    at += bytes ? bytes : 1;
  }
  to[length] = '\0';
}

/* '/' separates the run from the id. Flux begins its ids with U+0192 where the locale has it, and accepts an 'f' for it. */
void
text_put_id (struct text text, char *to, size_t size)
{
  size_t length = 0;

  for (size_t i = 0; i < text.length && length < size - 1; i++) {
    char c = text.at[i];
    if (text.length - i >= 2 && memcmp (text.at + i, "\xc6\x92", 2) == 0) {
      to[length++] = 'f';
      i++;
    } else
      to[length++] = c > ' ' && c < 127 && c != '/' ? c : '_';
  }
  to[length] = '\0';
}

bool
text_is_number (struct text text)
{
  for (size_t i = 0; i < text.length; i++)
    if (text.at[i] < '0' || text.at[i] > '9')
      return false;
  return text.length != 0;
}

uint32_t
text_number (struct text text, uint32_t otherwise)
{
  uint64_t number = 0;

  if (!text_is_number (text) || text.length > 10)
    return otherwise;
  for (size_t i = 0; i < text.length; i++)
    number = 10 * number + (uint64_t) (text.at[i] - '0');
  return number < UINT32_MAX ? (uint32_t) number : otherwise;
}

struct text
text_digits (struct text text)
{
  size_t length = 0;

  while (length < text.length && text.at[length] >= '0' && text.at[length] <= '9')
    length++;
  return (struct text){ text.at, length };
}
