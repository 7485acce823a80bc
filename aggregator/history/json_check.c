/* See json_check.h: a parser that keeps nothing. Each function skips what it is named after at `*at`. */
#include "aggregator/history/json_check.h"

#include <string.h>

#define DEPTH_MAX 16

static bool value_take (const char **at, int depth);

static void
blanks_take (const char **at)
{
  *at += strspn (*at, " \t");
}

static bool
one_take (const char **at, char character)
{
  blanks_take (at);
  if (**at != character)
    return false;
  ++*at;
  return true;
}

static bool
string_take (const char **at)
{
  if (!one_take (at, '"'))
    return false;
  for (; **at != '"'; ++*at) {
    if ((unsigned char) **at < 0x20)
      return false;
    if (**at != '\\')
      continue;
    ++*at;
    if (**at == 'u' && strspn (*at + 1, "0123456789abcdefABCDEF") >= 4)
      *at += 4;
    else if (!**at || !strchr ("\"\\/bfnrt", **at))
      return false;
  }
  ++*at;
  return true;
}

static bool
digits_take (const char **at)
{
  size_t count = strspn (*at, "0123456789");

  *at += count;
  return count > 0;
}

static bool
number_take (const char **at)
{
  *at += **at == '-';
  if (!digits_take (at))
    return false;
  if (**at == '.') {
    ++*at;
    if (!digits_take (at))
      return false;
  }
  if (**at != 'e' && **at != 'E')
    return true;
  ++*at;
  *at += **at == '-' || **at == '+';
  return digits_take (at);
}

static bool
members_take (const char **at, int depth, bool named, char end)
{
  if (depth > DEPTH_MAX)
    return false;
  if (one_take (at, end))
    return true;
  do {
    blanks_take (at);
    if (named && !(string_take (at) && one_take (at, ':')))
      return false;
    if (!value_take (at, depth))
      return false;
  } while (one_take (at, ','));
  return one_take (at, end);
}

static bool
literal_take (const char **at, const char *literal)
{
  size_t length = strlen (literal);

  if (strncmp (*at, literal, length) != 0)
    return false;
  *at += length;
  return true;
}

static bool
value_take (const char **at, int depth)
{
  blanks_take (at);
  if (one_take (at, '{'))
    return members_take (at, depth + 1, true, '}');
  if (one_take (at, '['))
    return members_take (at, depth + 1, false, ']');
  if (**at == '"')
    return string_take (at);
  return literal_take (at, "null") || literal_take (at, "true") || literal_take (at, "false") || number_take (at);
}

bool
json_is_object (const char *text)
{
  blanks_take (&text);
  return *text == '{' && value_take (&text, 0) && !*text;
}
