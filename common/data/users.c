/* See users.h. */
#include "synop/users.h"

#include <string.h>

#include "synop/report.h"

bool
group_name_is_of_users (const char *section, const char *group)
{
  static const char *const names[] = { "gpu_processes",       "runtime_info",
                                       "neuroncore_counters", "execution_stats",
                                       "memory_used",         "neuroncore_memory_usage",
                                       "loaded_models",       "neuron_runtime_vcpu_usage" };

  if (section && (strcmp (section, REPORT_JOBS) == 0 || strcmp (section, REPORT_RUNTIMES) == 0))
    return true;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp (names[i], group) == 0)
      return true;
  return strncmp (group, "job_", 4) == 0;
}

static bool
names_users (const struct metric *metric)
{
  static const char *const texts[] = { "job", "user", "command" };

  if (strcmp (metric->name, "pid") == 0 || strcmp (metric->name, "uid") == 0)
    return true;
  for (size_t i = 0; metric->kind == TEXT && i < sizeof texts / sizeof texts[0]; i++)
    if (strcmp (texts[i], metric->name) == 0)
      return true;
  return false;
}

bool
group_is_of_users (const struct group *group)
{
  bool found = group_name_is_of_users (group->section, group->name);

  for (size_t i = 0; group->rows_name && *group->rows_name && i < group->metric_count && !found; i++)
    found = names_users (&group->metrics[i]);
  return found;
}
