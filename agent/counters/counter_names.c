/* Events by the names of the kernel; see counter_names.h.
 *
 *   /sys/bus/event_source/devices/uncore_imc_0/type                          "14"
 *   .../events/cas_count_read                                                "event=0x04,umask=0x03"
 *   .../events/cas_count_read.scale, cas_count_read.unit                     "6.103515625e-5", "MiB"
 *   .../format/event, format/umask                                           "config:0-7", "config:8-15"
 *   .../cpumask                                                              "0,32": one CPU of each socket
 *   /sys/bus/event_source/devices/cpu_core/cpus                              "0-15": where not all cores are alike
 *
 * A format may be in pieces, "config:0-7,32-35", the lowest bits first. A term without a value is 1. */
#include "agent/counters/counter_names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNITS "/sys/bus/event_source/devices"

void
counter_units (struct names *units, const char *root, const char *name)
{
  size_t length = strlen (name), kept = 0;

  names_read (units, name, root, UNITS);
  for (size_t i = 0; i < units->count; i++) {
    const char *rest = units->list[i] + length;

    rest += *rest == '_';
    if (rest[strspn (rest, "0123456789")] == '\0')
      units->list[kept++] = units->list[i];
    else
      free (units->list[i]);
  }
  units->count = kept;
}

void
counter_core_units (struct names *units, const char *root)
{
  size_t kept = 0;
  char cpus[COUNTER_CPUS_SIZE];

  names_read (units, "", root, UNITS);
  for (size_t i = 0; i < units->count; i++)
    if (fact_text (cpus, sizeof cpus, root, UNITS "/%s/cpus", units->list[i]))
      units->list[kept++] = units->list[i];
    else
      free (units->list[i]);
  units->count = kept;
  if (kept < 2)
    names_free (units);
}

static __u64 *
config_of (struct perf_event_attr *attr, const char *format, const char **bits)
{
  const struct {
    const char *name;
    __u64 *config;
  } configs[] = { { "config:", &attr->config }, { "config1:", &attr->config1 }, { "config2:", &attr->config2 } };

  for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
    *bits = format + strlen (configs[i].name);
    if (strncmp (format, configs[i].name, strlen (configs[i].name)) == 0)
      return configs[i].config;
  }
  return NULL;
}

/* Puts the value into the bits of the format. False: it is no format, or the value does not fit. */
static bool
term_put (struct perf_event_attr *attr, const char *format, uint64_t value)
{
  const char *bits;
  __u64 *config = config_of (attr, format, &bits);
  char *end;

  while (config) {
    unsigned long first = strtoul (bits, &end, 10), last = first;

    if (end != bits && *end == '-')
      last = strtoul (end + 1, &end, 10);
    if (end == bits || last > 63 || first > last)
      return false;
    for (; first <= last; first++, value >>= 1)
      *config |= (value & 1) << first;
    if (*end != ',')
      return *end == '\0' && value == 0;
    bits = end + 1;
  }
  return false;
}

/* "umask=0x03", into which the format of "umask" says where to put 3. */
static int
term_read (struct perf_event_attr *attr, const char *root, const char *unit, const char *term, struct error *error)
{
  size_t length = strcspn (term, "=");
  char format[64], *end = NULL;
  uint64_t value = term[length] ? strtoull (term + length + 1, &end, 0) : 1;

  if (end && (end == term + length + 1 || *end))
    return error_set (error, "%s: \"%s\" is no number", unit, term);
  if (length == strlen ("config") && strncmp (term, "config", length) == 0) {
    attr->config |= value;
    return 0;
  }
  if (!fact_text (format, sizeof format, root, UNITS "/%s/format/%.*s", unit, (int) length, term) ||
      !term_put (attr, format, value))
    return error_set (error, "%s: \"%s\" does not fit its format \"%s\"", unit, term, format);
  return 0;
}

/* The scale is of bytes when the unit is: "6.103515625e-5" of "MiB" are 64 bytes. */
static uint32_t
weight_read (const char *root, const char *unit, const char *event)
{
  static const struct {
    const char *name;
    double bytes;
  } sizes[] = { { "MiB", 1024 * 1024 }, { "MB", 1e6 }, { "Bytes", 1 }, { "GiB", 1024.0 * 1024 * 1024 } };
  char scale[64], name[32];
  double weight;

  if (!fact_text (scale, sizeof scale, root, UNITS "/%s/events/%s.scale", unit, event))
    return 1;
  weight = strtod (scale, NULL);
  if (fact_text (name, sizeof name, root, UNITS "/%s/events/%s.unit", unit, event))
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
      if (strcmp (name, sizes[i].name) == 0)
        weight *= sizes[i].bytes;
  weight = round (weight);
  return weight >= 1 && weight <= 1e6 ? (uint32_t) weight : 1;
}

int
counter_name_kernel (struct perf_event_attr *attr, uint32_t *weight, char *cpus, size_t cpus_size, const char *root,
                     const char *unit, const char *event, struct error *error)
{
  char terms[256], *rest = terms, *term;
  uint64_t type;

  memset (attr, 0, sizeof *attr);
  *weight = 1;
  if (!fact_uint (&type, root, UNITS "/%s/type", unit))
    return error_set (error, "the kernel has no unit %s", unit);
  attr->type = (uint32_t) type;
  if (!fact_text (cpus, cpus_size, root, UNITS "/%s/cpumask", unit))
    fact_text (cpus, cpus_size, root, UNITS "/%s/cpus", unit);
  if (strchr (event, '='))
    snprintf (terms, sizeof terms, "%s", event);
  else if (!fact_text (terms, sizeof terms, root, UNITS "/%s/events/%s", unit, event))
    return error_set (error, "%s has no event %s", unit, event);
  else
    *weight = weight_read (root, unit, event);
  while ((term = strsep (&rest, ",")))
    if (term_read (attr, root, unit, term, error) < 0)
      return -1;
  return 0;
}
