/* INI files: any text is read or refused with its place; and what was read is printed as a file that reads the same. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/config.h"
#include "synop/memory.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

struct group_target {
  int64_t period;
};

struct target {
  char *name, *list, *path;
  int64_t period;
  uint64_t size;
  bool yes;
  int choice;
  struct group_target groups[2];
};

static const char *const choices[] = { "off", "on", NULL };
static const char *const names[] = { "cpu", "disk", NULL };
#define AT(member) offsetof (struct target, member)

static const struct option options[] = {
  { "a", "name", NULL, OPTION_TEXT, AT (name), "", .help = "A name." },
  { "a", "period", NULL, OPTION_DURATION, AT (period), "1s", "10ms", "1h", .help = "A time." },
  { "a", "size", NULL, OPTION_SIZE, AT (size), "1k", NULL, NULL, .help = "A size." },
  { "a", "yes", NULL, OPTION_BOOLEAN, AT (yes), "no", .help = "A question." },
  { "a", "choice", NULL, OPTION_CHOICE, AT (choice), "off", .choices = choices, .help = "A choice." },
  { "a", "path", NULL, OPTION_PATH, AT (path), "/x", .help = "A path." },
  { "g *", "period", "", OPTION_DURATION, offsetof (struct group_target, period), NULL, "10ms", "1h",
    .help = "A time." },
  { "g disk", "list", "", OPTION_LIST, AT (list), "a,b", .help = "A list." },
};

static void *
record (void *target, const char *name)
{
  return &((struct target *) target)->groups[strcmp (name, "cpu") == 0 ? 0 : 1];
}

static const struct config_wildcard wildcard = { "g ", record, names };

struct named {
  char *url;
  int64_t period;
};

static const struct option named_options[] = {
  { "", "url", NULL, OPTION_TEXT, offsetof (struct named, url), "", .help = "A text." },
  { "", "period", NULL, OPTION_DURATION, offsetof (struct named, period), "1s", "10ms", "1h", .help = "A time." },
};
static const struct config_type type = { "t", "A thing.", { named_options, 2, sizeof (struct named) } };
static const struct config_type *const types[] = { &type, NULL };

/* What the owner of the type was called for: a sum over all of it, the same for the same sections in the same order. */
static void
add_up (void *context, const char *name, const void *before, const void *now)
{
  const struct named *named = now;
  uint64_t *sum = context;

  if (before != NULL || strlen (name) > 64)
    abort ();
  for (const char *at = name; *at != '\0'; at++)
    *sum = *sum * 31 + (unsigned char) *at;
  for (const char *at = named->url; *at != '\0'; at++)
    *sum = *sum * 31 + (unsigned char) *at;
  *sum = *sum * 31 + (uint64_t) named->period;
}

static void
check_same (const struct target *one, const struct target *other)
{
  size_t numbers = offsetof (struct target, period);
  if (strcmp (one->name, other->name) != 0 || strcmp (one->list, other->list) != 0 ||
      strcmp (one->path, other->path) != 0 ||
      memcmp ((const char *) one + numbers, (const char *) other + numbers, sizeof *one - numbers) != 0)
    abort ();
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct target one = { 0 }, other = { 0 };
  struct error error;

  if (size > 64 * 1024)
    return 0;
  char *text = memory_copy (data, size);
  struct config *config = config_create (options, sizeof options / sizeof *options, &one, &wildcard);
  config_add_types (config, types, true);
  if (config_read_text (config, "fuzz.ini", text, &error) != 0) {
    if (strncmp (error.text, "fuzz.ini:", 9) != 0 || memchr (error.text, '\0', sizeof error.text) == NULL)
      abort ();
  } else {
    struct buffer out = { 0 };
    struct config *second = config_create (options, sizeof options / sizeof *options, &other, &wildcard);
    config_add_types (second, types, true);
    config_print (config, &out);
    buffer_add (&out, "", 1);
    if (config_read_text (second, "print.ini", out.data, &error) != 0) {
      fprintf (stderr, "%s\n%s", error.text, out.data);
      abort ();
    }
    check_same (&one, &other);
    uint64_t sums[2] = { 0 };
    config_own (config, &type, add_up, &sums[0]);
    config_own (second, &type, add_up, &sums[1]);
    if (sums[0] != sums[1])
      abort ();
    buffer_free (&out);
    config_destroy (second);
  }
  config_destroy (config);
  free (text);
  return 0;
}
