/* Names of the kinds, units and folds of metrics, and properties of groups. */
#include "synop/metric.h"

static const char *const kind_names[METRIC_KINDS] = { [COUNTER] = "counter", [GAUGE] = "gauge", [TEXT] = "text" };

static const char *const unit_names[METRIC_UNITS] = {
  [UNIT_COUNT] = "",          [UNIT_BYTES] = "bytes",
  [UNIT_SECONDS] = "seconds", [UNIT_HERTZ] = "hertz",
  [UNIT_CELSIUS] = "celsius", [UNIT_JOULES] = "joules",
  [UNIT_WATTS] = "watts",     [UNIT_PERCENT] = "percent",
  [UNIT_RATIO] = "ratio",     [UNIT_BITS_PER_SECOND] = "bits_per_second",
  [UNIT_BOOLEAN] = "boolean", [UNIT_NONE] = "",
};

static const char *const fold_names[METRIC_FOLDS] = {
  [FOLD_NONE] = "none", [FOLD_SUM] = "sum", [FOLD_MEAN] = "mean", [FOLD_MAX] = "max", [FOLD_MIN] = "min",
};

const char *
metric_kind_name (enum metric_kind kind)
{
  return (unsigned) kind < METRIC_KINDS ? kind_names[kind] : "unknown";
}

const char *
metric_unit_name (enum metric_unit unit)
{
  return (unsigned) unit < METRIC_UNITS ? unit_names[unit] : "";
}

const char *
metric_fold_name (enum metric_fold fold)
{
  return (unsigned) fold < METRIC_FOLDS ? fold_names[fold] : "none";
}

size_t
group_node_metrics (const struct group *group)
{
  size_t count = 0;

  for (size_t i = 0; i < group->metric_count; i++)
    count += (group->metrics[i].flags & METRIC_OF_NODE) != 0;
  return count;
}
