/* Which CPUs share a core, and which a package.
 *
 *   /sys/devices/system/cpu/cpu0/topology/core_cpus_list         "0,32"   (before 5.3: thread_siblings_list)
 *   .../package_cpus_list                                        "0-31"   (before 5.3: core_siblings_list)
 *   .../physical_package_id, die_id, cluster_id, core_id         "0"; -1 where the machine does not give it
 *
 * The id of a core may repeat in another die, so the list of its CPUs is the better key; without lists a core is
 * identified by all four ids. The id of a package is unique. */
#include "agent/source/topology.h"

#include <stdlib.h>
#include <string.h>

#include "agent/source/facts.h"
#include "synop/memory.h"

#define UNKNOWN UINT64_MAX
#define FOLDER "/sys/devices/system/cpu/%s/topology/%s"

/* The first CPU of a list. */
static uint64_t
first_of_list (const char *root, const char *cpu, const char *file, const char *old_file)
{
  char list[64], *end;
  uint64_t first;

  if (!fact_text (list, sizeof list, root, FOLDER, cpu, file) &&
      !fact_text (list, sizeof list, root, FOLDER, cpu, old_file))
    return UNKNOWN;
  first = strtoull (list, &end, 10);
  return end > list ? first : UNKNOWN;
}

static uint64_t
id_read (const char *root, const char *cpu, const char *file)
{
  uint64_t id;

  return fact_uint (&id, root, FOLDER, cpu, file) ? id : UNKNOWN;
}

static void
cpu_read (struct topology_cpu *cpu, const char *root, const char *name)
{
  cpu->number = (unsigned) strtoul (name + strlen ("cpu"), NULL, 10);
  cpu->package = id_read (root, name, "physical_package_id");
  cpu->package_list = first_of_list (root, name, "package_cpus_list", "core_siblings_list");
  cpu->core[0] = id_read (root, name, "core_id");
  cpu->core[1] = cpu->package;
  cpu->core[2] = id_read (root, name, "die_id");
  cpu->core[3] = id_read (root, name, "cluster_id");
  cpu->core_list = first_of_list (root, name, "core_cpus_list", "thread_siblings_list");
}

/* Chooses lists or ids as keys, the same for all CPUs, since the two cannot be compared: those that more CPUs have, on a tie
 * lists for cores and ids for packages. A CPU without a key shares nothing. */
static void
keys_choose (struct topology *topology)
{
  size_t cores_by_list = 0, cores_by_id = 0, packages_by_list = 0, packages_by_id = 0;

  for (size_t i = 0; i < topology->count; i++) {
    const struct topology_cpu *cpu = &topology->cpus[i];
    cores_by_list += cpu->core_list != UNKNOWN;
    cores_by_id += cpu->core[0] != UNKNOWN;
    packages_by_list += cpu->package_list != UNKNOWN;
    packages_by_id += cpu->package != UNKNOWN;
  }
  for (size_t i = 0; i < topology->count; i++) {
    struct topology_cpu *cpu = &topology->cpus[i];
    if (cores_by_list >= cores_by_id)
      memcpy (cpu->core, (uint64_t[4]){ cpu->core_list }, sizeof cpu->core);
    if (packages_by_list > packages_by_id)
      cpu->package = cpu->package_list;
    cpu->has_core = cpu->core[0] != UNKNOWN;
    cpu->has_package = cpu->package != UNKNOWN;
    if (!cpu->has_core)
      cpu->core[0] = UNKNOWN - 1 - cpu->number;
    if (!cpu->has_package)
      cpu->package = UNKNOWN - 1 - cpu->number;
  }
}

static int
compare (const uint64_t *one, const uint64_t *other, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (one[i] != other[i])
      return one[i] < other[i] ? -1 : 1;
  return 0;
}

static int
compare_numbers (const struct topology_cpu *one, const struct topology_cpu *other)
{
  return (one->number > other->number) - (one->number < other->number);
}

static int
compare_packages (const void *one_, const void *other_)
{
  const struct topology_cpu *one = one_, *other = other_;
  int order = compare (&one->package, &other->package, 1);

  return order ? order : compare_numbers (one, other);
}

static int
compare_cores (const void *one_, const void *other_)
{
  const struct topology_cpu *one = one_, *other = other_;
  int order = compare (one->core, other->core, 4);

  return order ? order : compare_numbers (one, other);
}

void
topology_read (struct topology *topology, const char *root)
{
  struct names names = { 0 };
  struct topology_cpu *cpus;

  topology_free (topology);
  names_read (&names, "cpu", root, "/sys/devices/system/cpu");
  cpus = topology->cpus = memory_new (names.count, sizeof *cpus);
  for (size_t i = 0; i < names.count; i++)
    if (strspn (names.list[i] + strlen ("cpu"), "0123456789") > 0) /* not "cpufreq" */
      cpu_read (&cpus[topology->count++], root, names.list[i]);
  names_free (&names);
  keys_choose (topology);

  qsort (cpus, topology->count, sizeof *cpus, compare_packages);
  for (size_t i = 0; i < topology->count; i++)
    cpus[i].first_of_package = i == 0 || cpus[i].package != cpus[i - 1].package;
  qsort (cpus, topology->count, sizeof *cpus, compare_cores);
  for (size_t i = 0; i < topology->count; i++)
    cpus[i].first_of_core = i == 0 || compare (cpus[i].core, cpus[i - 1].core, 4) != 0;
}

void
topology_free (struct topology *topology)
{
  free (topology->cpus);
  *topology = (struct topology){ 0 };
}
