/* neuron-monitor's configuration; see neuron_config.h. */
#include "agent/compat/neuron_config.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "synop/buffer.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/log.h"
#include "synop/memory.h"

#define CONFIG_MAX 65536
#define FILTERS_MAX 64
#define PERIOD_DEFAULT_NS (5 * NS_PER_S)
#define PERIOD_MIN_NS (NS_PER_S / 100)
#define PERIOD_MAX_NS (3600 * NS_PER_S)

static const struct {
  const char *newer, *older;
  bool of_runtimes, of_older_runtimes;
  const char *groups[4];
} types[NEURON_TYPES] = {
  [TYPE_CORES] = { "neuroncore_counters", "nc_counters", true, true, { "neuroncore_counters" } },
  [TYPE_EXECUTIONS] = { "execution_stats", "inference_stats", true, true, { "execution_stats" } },
  [TYPE_MEMORY] = { "memory_used",
                    "memory",
                    true,
                    true,
                    { "memory_used", "neuroncore_memory_usage", "loaded_models" } },
  [TYPE_RUNTIME_VCPU] = { "neuron_runtime_vcpu_usage",
                          "runtime_cpu_usage",
                          true,
                          true,
                          { "neuron_runtime_vcpu_usage" } },
  [TYPE_HARDWARE] = { "neuron_hw_counters", "hw_counters", false, true, { "neuron_hw_counters" } },
  [TYPE_VCPU] = { "vcpu_usage", "cpu_usage", false, false, { "cpu_usage" } },
  [TYPE_SYSTEM_MEMORY] = { "memory_info", NULL, false, false, { "memory_info" } },
};

const char *
neuron_type_name (enum neuron_type type, bool older)
{
  return older ? types[type].older : types[type].newer;
}

bool
neuron_type_is_of_runtimes (enum neuron_type type, bool older)
{
  return older ? types[type].of_older_runtimes : types[type].of_runtimes;
}

const char *const *
neuron_type_groups (enum neuron_type type)
{
  return types[type].groups;
}

/* ---- reading ---- */

struct reading {
  struct neuron_config *config;
  struct error *error;
  bool newer, older; /* names of the generation were found */
};

/* "1s", "500ms", "1m30s": numbers and units, as neuron-monitor takes them. -1: it is none. */
static int64_t
duration_parse (const char *text)
{
  static const struct {
    const char *name;
    double ns;
  } units[] = { { "ns", 1 },  { "us", 1e3 }, { "\u00b5s", 1e3 }, { "ms", 1e6 },
                { "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 } };
  double sum = 0;

  if (!*text)
    return -1;
  while (*text) {
    size_t digits = strspn (text, "0123456789."), length, unit = 0;
    char *end;
    double number = strtod (text, &end);

    if (digits == 0 || end != text + digits)
      return -1;
    text = end;
    length = strcspn (text, "0123456789.");
    while (unit < sizeof units / sizeof units[0] &&
           (strlen (units[unit].name) != length || strncmp (text, units[unit].name, length) != 0))
      unit++;
    if (unit == sizeof units / sizeof units[0])
      return -1;
    sum += number * units[unit].ns;
    text += length;
  }
  return sum <= 1e18 ? (int64_t) llround (sum) : -1;
}

static int
period_take (const json_t *object, const char *where, int64_t *period_ns, struct error *error)
{
  const json_t *period = json_object_get (object, "period");
  int64_t ns;

  if (!period)
    return 0;
  if (!json_is_string (period))
    return error_set (error, "%speriod: expected a text such as \"1s\" or \"500ms\"", where);
  ns = duration_parse (json_string_value (period));
  if (ns < PERIOD_MIN_NS || ns > PERIOD_MAX_NS)
    return error_set (error, "%speriod: \"%.32s\" is not understood; expected 10ms to 1h, such as \"1s\" or \"500ms\"",
                      where, json_string_value (period));
  *period_ns = ns;
  return 0;
}

static void
unknown_report (const json_t *object, const char *where, const char *const *known)
{
  const char *key;
  json_t *value;

  json_object_foreach ((json_t *) object, key, value)
  {
    size_t i = 0;

    while (known[i] && strcmp (known[i], key) != 0)
      i++;
    if (!known[i])
      log_warning ("neuron-monitor's configuration: %s%.64s is not known, and has no effect", where, key);
  }
}

static void
types_list (struct buffer *out, bool of_runtimes)
{
  for (int older = 0; older < 2; older++)
    for (enum neuron_type i = 0; i < NEURON_TYPES; i++)
      if (neuron_type_name (i, older) && neuron_type_is_of_runtimes (i, older) == of_runtimes)
        buffer_printf (out, "%s%s", out->length ? ", " : "", neuron_type_name (i, older));
}

static int
type_find (struct reading *reading, const char *name, bool of_runtimes, const char *where)
{
  struct buffer known = { 0 };

  for (enum neuron_type i = 0; name && i < NEURON_TYPES; i++)
    for (int older = 0; older < 2; older++) {
      const char *its = neuron_type_name (i, older);

      if (!its || strcmp (its, name) != 0 || neuron_type_is_of_runtimes (i, older) != of_runtimes)
        continue;
      *(older ? &reading->older : &reading->newer) = true;
      return (int) i;
    }
  types_list (&known, of_runtimes);
  if (name)
    error_set (reading->error, "%stype: \"%.64s\" is not a group of these; expected one of: %.*s", where, name,
               (int) known.length, known.data);
  else
    error_set (reading->error, "%stype is missing; expected one of: %.*s", where, (int) known.length, known.data);
  buffer_free (&known);
  return -1;
}

/* `taken` NULL: of the system. */
static int
metrics_read (struct reading *reading, const json_t *metrics, const char *list, int64_t period_ns, bool *taken)
{
  static const char *const known[] = { "type", "period", NULL };
  struct neuron_config *config = reading->config;
  size_t i;
  json_t *metric;

  if (!json_is_array (metrics))
    return error_set (reading->error, "%s: expected a list of objects such as {\"type\": \"memory_used\"}", list);
  json_array_foreach ((json_t *) metrics, i, metric)
  {
    int64_t own_ns = period_ns;
    char where[96];
    int type;

    snprintf (where, sizeof where, "%s[%zu].", list, i);
    if (!json_is_object (metric))
      return error_set (reading->error, "%s[%zu]: expected an object such as {\"type\": \"memory_used\"}", list, i);
    unknown_report (metric, where, known);
    type = type_find (reading, json_string_value (json_object_get (metric, "type")), taken != NULL, where);
    if (type < 0 || period_take (metric, where, &own_ns, reading->error) < 0)
      return -1;
    if (own_ns == 0 && reading->older)
      return error_set (reading->error, "%speriod is missing, also at what is around it; expected one such as \"1s\"",
                        where);
    if (own_ns == 0)
      own_ns = PERIOD_DEFAULT_NS;
    if (taken)
      taken[type] = true;
    if (config->periods_ns[type] && config->periods_ns[type] != own_ns)
      log_warning ("neuron-monitor's configuration: %s has several periods; the shortest is taken for all runtimes",
                   json_string_value (json_object_get (metric, "type")));
    if (!config->periods_ns[type] || own_ns < config->periods_ns[type])
      config->periods_ns[type] = own_ns;
  }
  return 0;
}

static int
runtime_read (struct reading *reading, const json_t *runtime, size_t number, int64_t period_ns)
{
  static const char *const known[] = { "tag_filter", "address", "period", "metrics", NULL };
  struct neuron_filter *filter = &reading->config->filters[number];
  const json_t *tag = json_object_get (runtime, "tag_filter"), *metrics = json_object_get (runtime, "metrics");
  char where[64], list[72];

  snprintf (where, sizeof where, "neuron_runtimes[%zu].", number);
  snprintf (list, sizeof list, "%smetrics", where);
  if (!json_is_object (runtime))
    return error_set (reading->error, "neuron_runtimes[%zu]: expected an object with \"metrics\"", number);
  unknown_report (runtime, where, known);
  if (tag && !json_is_string (tag))
    return error_set (reading->error, "%stag_filter: expected a text, a regular expression", where);
  if (tag) {
    int rc = regcomp (&filter->tag, json_string_value (tag), REG_EXTENDED | REG_NOSUB);
    char why[128];

    if (rc != 0) {
      regerror (rc, &filter->tag, why, sizeof why);
      return error_set (reading->error, "%stag_filter: \"%.64s\" is no regular expression: %s", where,
                        json_string_value (tag), why);
    }
    filter->has_tag = true;
  }
  if (period_take (runtime, where, &period_ns, reading->error) < 0)
    return -1;
  return metrics_read (reading, metrics, list, period_ns, filter->types);
}

static int
runtimes_read (struct reading *reading, const json_t *runtimes, int64_t period_ns)
{
  struct neuron_config *config = reading->config;
  size_t count = json_array_size (runtimes);

  if (!json_is_array (runtimes))
    return error_set (reading->error, "neuron_runtimes: expected a list of objects with \"metrics\"");
  if (count > FILTERS_MAX)
    return error_set (reading->error, "neuron_runtimes has %zu items; expected at most %d", count, FILTERS_MAX);
  config->filters = memory_new (count + 1, sizeof *config->filters);
  for (size_t i = 0; i < count; i++) {
    config->filter_count = i + 1;
    if (runtime_read (reading, json_array_get (runtimes, i), i, period_ns) < 0)
      return -1;
  }
  return 0;
}

static int
root_read (struct reading *reading, const json_t *root)
{
  static const char *const known[] = { "period", "neuron_runtimes", "system_metrics", NULL };
  const json_t *runtimes = json_object_get (root, "neuron_runtimes"),
               *system = json_object_get (root, "system_metrics");
  int64_t period_ns = 0, any_ns = 0;

  if (!json_is_object (root))
    return error_set (reading->error, "expected an object with \"neuron_runtimes\" or \"system_metrics\"");
  unknown_report (root, "", known);
  if (period_take (root, "", &period_ns, reading->error) < 0 ||
      (runtimes && runtimes_read (reading, runtimes, period_ns) < 0) ||
      (system && metrics_read (reading, system, "system_metrics", period_ns, NULL) < 0))
    return -1;
  for (size_t i = 0; i < NEURON_TYPES; i++)
    any_ns += reading->config->periods_ns[i];
  if (any_ns == 0)
    return error_set (reading->error,
                      "no group is asked for; expected some in \"neuron_runtimes\" or \"system_metrics\"");
  if (reading->newer && reading->older)
    return error_set (reading->error,
                      "it has groups of both generations of neuron-monitor, such as %s and %s; expected one",
                      neuron_type_name (TYPE_CORES, false), neuron_type_name (TYPE_CORES, true));
  reading->config->older = reading->older;
  return 0;
}

int
neuron_config_parse (struct neuron_config *config, const char *text, size_t length, struct error *error)
{
  struct reading reading = { .config = config, .error = error };
  json_error_t why;
  json_t *root = json_loadb (text, length, JSON_REJECT_DUPLICATES, &why);
  int rc;

  *config = (struct neuron_config){ 0 };
  if (!root)
    return error_set (error, "line %d, column %d: %s", why.line, why.column, why.text);
  rc = root_read (&reading, root);
  json_decref (root);
  if (rc < 0)
    neuron_config_free (config);
  return rc;
}

static void
config_all (struct neuron_config *config)
{
  *config = (struct neuron_config){ .filters = memory_new (1, sizeof *config->filters), .filter_count = 1 };
  for (size_t i = 0; i < NEURON_TYPES; i++) {
    config->periods_ns[i] = PERIOD_DEFAULT_NS;
    config->filters[0].types[i] = neuron_type_is_of_runtimes ((enum neuron_type) i, false);
  }
}

int
neuron_config_read (struct neuron_config *config, const char *path, struct error *error)
{
  char *text;
  int rc;

  if (!path) {
    config_all (config);
    return 0;
  }
  text = memory_new (CONFIG_MAX, 1);
  rc = file_read_text (path, text, CONFIG_MAX, error);
  if (rc >= 0 && (rc = neuron_config_parse (config, text, strlen (text), error)) < 0)
    error_prefix (error, "%.256s: ", path);
  free (text);
  return rc;
}

void
neuron_config_free (struct neuron_config *config)
{
  for (size_t i = 0; i < config->filter_count; i++)
    if (config->filters[i].has_tag)
      regfree (&config->filters[i].tag);
  free (config->filters);
  *config = (struct neuron_config){ 0 };
}
