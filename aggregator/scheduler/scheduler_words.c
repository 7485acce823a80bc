/* Words of schedulers: ids, command lines, amounts, durations. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aggregator/scheduler/scheduler.h"
#include "synop/buffer.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define RANDOM_LENGTH 24 /* of a word that may be a key */
#define HIDDEN "***"

static const struct scheduler *const all[SCHEDULERS] = { &scheduler_slurm, &scheduler_pbs, &scheduler_oar,
                                                         &scheduler_lsf, &scheduler_flux };

const struct scheduler *
scheduler_find (const char *name)
{
  for (size_t i = 0; i < SCHEDULERS; i++)
    if (strcmp (all[i]->name, name) == 0)
      return all[i];
  return NULL;
}

const struct scheduler *
scheduler_at (size_t index)
{
  return all[index];
}

bool
scheduler_id (const char *label, char id[SCHEDULER_ID_SIZE])
{
  size_t length = strcspn (label, "/");

  if (length == 0 || length >= SCHEDULER_ID_SIZE || !isalnum ((unsigned char) label[0]))
    return false;
  memcpy (id, label, length);
  id[length] = '\0';
  return strspn (id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-[]") == length;
}

/* ---- command lines ---- */

static bool
names_secret (const char *name, size_t length)
{
  static const char *const parts[] = { "pass", "pwd",    "secret",  "token",  "key",   "cred",
                                       "auth", "cookie", "session", "export", "bearer" };
  char text[64];

  snprintf (text, sizeof text, "%.*s", (int) (length < 63 ? length : 63), name);
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (strcasestr (text, parts[i]))
      return true;
  return false;
}

/* A long word of letters and digits mixed, that is no path and no name of a file. */
static bool
looks_random (const char *word, size_t length)
{
  size_t digits = 0, letters = 0;

  for (size_t i = 0; i < length; i++) {
    digits += isdigit ((unsigned char) word[i]) != 0;
    letters += isalpha ((unsigned char) word[i]) != 0;
    if (!isalnum ((unsigned char) word[i]) && !strchr ("+=_-", word[i]))
      return false;
  }
  return length >= RANDOM_LENGTH && digits >= 3 && letters >= 3;
}

/* "user:password@" of an address is hidden. */
static void
add_plain (struct buffer *to, const char *word, size_t length)
{
  const char *scheme = memmem (word, length, "://", 3),
             *at = scheme ? memchr (scheme, '@', length - (size_t) (scheme - word)) : NULL;

  if (looks_random (word, length)) {
    buffer_add_string (to, HIDDEN);
  } else if (at && memchr (scheme + 3, ':', (size_t) (at - scheme - 3))) {
    buffer_add (to, word, (size_t) (scheme + 3 - word));
    buffer_add_string (to, HIDDEN);
    buffer_add (to, at, length - (size_t) (at - word));
  } else {
    buffer_add (to, word, length);
  }
}

/* "Authorization: Bearer XYZ": what follows it is the secret. */
static bool
is_scheme (const char *word, size_t length)
{
  return (length == 6 && strncasecmp (word, "bearer", 6) == 0) || (length == 5 && strncasecmp (word, "basic", 5) == 0);
}

/* True: what follows it is its value, and to be hidden. */
static bool
add_word (struct buffer *to, const char *word, size_t length)
{
  const char *equals = memchr (word, '=', length);
  size_t name = equals ? (size_t) (equals - word) : length;

  if (equals && names_secret (word, name)) {
    buffer_add (to, word, name + 1);
    buffer_add_string (to, HIDDEN);
    return false;
  }
  if (equals) {
    buffer_add (to, word, name + 1);
    add_plain (to, equals + 1, length - name - 1);
    return false;
  }
  add_plain (to, word, length);
  return is_scheme (word, length) || ((word[0] == '-' || word[length - 1] == ':') && names_secret (word, length));
}

char *
scheduler_command (const char *line)
{
  struct buffer made = { 0 };
  bool hidden = false;
  char *copy;

  while (*(line += strspn (line, " \t\n")) && made.length < JOB_FACT_TEXT_MAX) {
    size_t length = strcspn (line, " \t\n");
    if (made.length)
      buffer_add_string (&made, " ");
    if (hidden)
      buffer_add_string (&made, HIDDEN);
    hidden = hidden ? is_scheme (line, length) : add_word (&made, line, length);
    line += length;
  }
  copy = memory_string (buffer_text (&made));
  buffer_free (&made);
  return copy;
}

void
scheduler_set_command (struct job_facts *facts, const char *line)
{
  char *command = line && strcmp (line, "(null)") != 0 ? scheduler_command (line) : NULL;

  if (command)
    job_facts_set_text (facts, JOB_FACT_COMMAND, command, strlen (command));
  free (command);
}

/* ---- numbers ---- */

/* Behind the number: "", "k", "kb", "KiB", "Gn" (a node), "Gc" (a CPU), " T". How many bytes it stands for; NaN: it is none. */
static double
unit_of (const char *text, double unit)
{
  static const char prefixes[] = "kmgtpe";
  const char *prefix;
  double bytes = 1;

  text += strspn (text, " ");
  if (!*text)
    return unit;
  prefix = strchr (prefixes, tolower ((unsigned char) *text));
  if (prefix) {
    bytes = ldexp (1, 10 * (int) (prefix - prefixes + 1));
    text += text[1] == 'i' ? 2 : 1;
  }
  text += *text && strchr ("bBnc", *text);
  return *text ? nan ("") : bytes;
}

double
scheduler_bytes (const char *text, double unit)
{
  char *end = NULL;
  double number = text ? strtod (text, &end) : nan ("");

  return text && end != text && number >= 0 && isfinite (number) ? number * unit_of (end, unit) : nan ("");
}

int64_t
scheduler_time (double seconds)
{
  const double most = (double) (INT64_MAX / 2 / NS_PER_S);

  return seconds > 0 && seconds < most ? (int64_t) (seconds * 1e3 + 0.5) * NS_PER_MS : 0;
}

double
scheduler_seconds (const char *text)
{
  unsigned long days = 0, part[3] = { 0 };
  int count, used = 0;

  if (!text)
    return nan ("");
  if (strchr (text, '-') && sscanf (text, "%lu-%n", &days, &used) == 1 && used)
    text += used;
  count = sscanf (text, "%lu:%lu:%lu", &part[0], &part[1], &part[2]);
  if (count < 1 || !isdigit ((unsigned char) text[0]) || days > 1000000 || part[0] > 1000000000 || part[1] > 1000000 ||
      part[2] > 1000000)
    return nan ("");
  if (used)
    return (double) (86400 * days + 3600 * part[0] + 60 * part[1] + part[2]);
  if (count == 3)
    return (double) (3600 * part[0] + 60 * part[1] + part[2]);
  return (double) (count == 2 ? 60 * part[0] + part[1] : part[0]);
}

void
scheduler_share_memory (struct job_facts *facts)
{
  double *numbers = facts->numbers, nodes = numbers[JOB_FACT_NODES];

  if (isnan (numbers[JOB_FACT_MEMORY_PER_NODE]) && !isnan (numbers[JOB_FACT_MEMORY]) && nodes > 0)
    numbers[JOB_FACT_MEMORY_PER_NODE] = numbers[JOB_FACT_MEMORY] / nodes;
}
