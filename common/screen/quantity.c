/* See quantity.h. */
#include "synop/quantity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct scale {
  double step;
  const char *prefixes[7];
};

static const struct scale binary = { 1024, { "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" } };
static const struct scale binary_short = { 1024, { "", "K", "M", "G", "T", "P", "E" } }; /* as `ls -h` */
static const struct scale decimal = { 1000, { "", "k", "M", "G", "T", "P", "E" } };

/* What units are called, and by which steps they grow. */
static const struct unit {
  const char *name, *sign;
  const struct scale *scale; /* NULL: it has no larger ones */
} units[] = {
  { "bytes", "B", &binary },   { "bytes/s", "B/s", &binary }, { "bits_per_second", "bit/s", &decimal },
  { "hertz", "Hz", &decimal }, { "joules", "J", &decimal },   { "joules/s", "W", &decimal },
  { "watts", "W", &decimal },  { "celsius", "°C", NULL },     { "seconds", "s", NULL },
};

bool
quantity_is_percent (const char *unit)
{
  return unit && (strcmp (unit, "%") == 0 || strcmp (unit, "percent") == 0);
}

static const struct unit *
unit_of (const char *name)
{
  for (size_t i = 0; name && i < sizeof units / sizeof units[0]; i++)
    if (strcmp (units[i].name, name) == 0)
      return &units[i];
  return NULL;
}

/* Three digits at least, and no more behind the point than these need. */
static int
places (double value, bool whole)
{
  double size = fabs (value);

  return (whole && value == floor (value)) || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
}

static struct quantity
scaled (double value, const struct scale *scale, const char *space, const char *sign)
{
  struct quantity quantity;
  size_t prefix = 0;

  while (scale && prefix < 6 && fabs (value) >= scale->step - 0.5) {
    value /= scale->step;
    prefix++;
  }
  snprintf (quantity.text, sizeof quantity.text, "%.*f%s%s%s", places (value, prefix == 0), value,
            *sign || prefix ? space : "", scale ? scale->prefixes[prefix] : "", sign);
  return quantity;
}

static struct quantity
missing (void)
{
  return (struct quantity){ "-" };
}

static struct quantity
percent (double value)
{
  struct quantity quantity;

  snprintf (quantity.text, sizeof quantity.text, "%.*f%%", fabs (value) >= 999.5 ? 0 : 1, value);
  return quantity;
}

struct quantity
quantity_text (double value, const char *name)
{
  const struct unit *unit = unit_of (name);

  if (!isfinite (value))
    return missing ();
  if (quantity_is_percent (name))
    return percent (value);
  if (unit)
    return scaled (value, unit->scale, " ", unit->sign);
  return scaled (value, &decimal, "", name && strlen (name) < 8 ? name : "");
}

struct quantity
quantity_short (double value, const char *name)
{
  const struct unit *unit = unit_of (name);

  if (!isfinite (value))
    return missing ();
  if (quantity_is_percent (name))
    return percent (value);
  return scaled (value, !unit ? &decimal : unit->scale == &binary ? &binary_short : unit->scale, "", "");
}

struct quantity
quantity_count (double value)
{
  struct quantity quantity;

  if (!isfinite (value) || fabs (value) >= 100000 || value != floor (value))
    return quantity_short (value, "");
  snprintf (quantity.text, sizeof quantity.text, "%.0f", value);
  return quantity;
}

struct quantity
quantity_age (double seconds)
{
  struct quantity quantity;
  long long whole;

  if (!isfinite (seconds) || seconds > 1e12)
    return missing ();
  whole = seconds < 0 ? 0 : (long long) seconds;
  if (whole < 60)
    snprintf (quantity.text, sizeof quantity.text, "%lld s", whole);
  else if (whole < 3600)
    snprintf (quantity.text, sizeof quantity.text, "%lld min %02lld s", whole / 60, whole % 60);
  else if (whole < 86400)
    snprintf (quantity.text, sizeof quantity.text, "%lld h %02lld min", whole / 3600, whole / 60 % 60);
  else
    snprintf (quantity.text, sizeof quantity.text, "%lld d %02lld h", whole / 86400, whole / 3600 % 24);
  return quantity;
}
