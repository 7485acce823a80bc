/* See send_labels.h. */
#include "synop/send_labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/data_folder.h"
#include "synop/naming.h"

static bool
is_label_name (const char *name)
{
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", all[] = "0123456789";

  if (!*name || !strchr (letters, *name) || strncmp (name, "__", 2) == 0)
    return false;
  for (; *name; name++)
    if (!strchr (letters, *name) && !strchr (all, *name))
      return false;
  return true;
}

int
send_extra_next (const char **at, struct send_extra *extra, struct error *error)
{
  size_t length = strcspn (*at += strspn (*at, ", "), ",");
  const char *equals = memchr (*at, '=', length);
  int shown = (int) (length < 64 ? length : 64);

  if (length == 0)
    return 0;
  if (!equals || (size_t) (equals - *at) >= sizeof extra->name ||
      length - (size_t) (equals - *at) - 1 >= sizeof extra->value)
    return error_set (error, "\"%.*s\": expected NAME=VALUE", shown, *at);
  snprintf (extra->name, sizeof extra->name, "%.*s", (int) (equals - *at), *at);
  snprintf (extra->value, sizeof extra->value, "%.*s", (int) (length - (size_t) (equals - *at) - 1), equals + 1);
  if (!is_label_name (extra->name))
    return error_set (
        error, "\"%s\" is no name of a label: it has letters, digits and _, and begins with no digit, nor with __",
        extra->name);
  if (strcmp (extra->name, "instance") == 0 || strcmp (extra->name, "job") == 0)
    return error_set (error, "\"%s\" is the node's name, or the option job", extra->name);
  *at += length;
  return 1;
}

int
send_labels_check (const char *value, struct error *error)
{
  struct send_extra extra, other;
  size_t count = 0;
  int result;

  while ((result = send_extra_next (&value, &extra, error)) > 0) {
    if (++count > SEND_EXTRAS_MAX)
      return error_set (error, "at most %d labels", SEND_EXTRAS_MAX);
    for (const char *at = value; send_extra_next (&at, &other, error) > 0;)
      if (strcmp (extra.name, other.name) == 0)
        return error_set (error, "\"%s\" stands twice", extra.name);
  }
  return result;
}

int
send_names_check (const char *value, struct error *error)
{
  struct naming *naming = naming_create ();
  char folder[4096];
  int result;

  data_folder ("aggregator", "names", folder, sizeof folder);
  result = naming_load (naming, value, folder, error);
  naming_destroy (naming);
  return result;
}

int
send_price_check (const char *value, struct error *error)
{
  char *end;
  double price = strtod (value, &end);

  return *value && !*end && price >= 0 && price < 1e9 ? 0 : error_set (error, "must be a number, as 0.30");
}
