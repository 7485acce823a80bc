/* hardware_info: what this node is. Told once a session.
 *
 *   /proc/cpuinfo     processor : 0 / model name : Intel(R) ... / physical id : 0 / core id : 0 / flags : fpu ...
 *                     (a block for each thread; Arm has neither model name nor ids, so there /sys tells)
 *   /proc/meminfo     MemTotal:       24684084 kB
 *   /proc/stat        btime 1418183276
 *   /sys/devices/system/cpu/cpu0/cache/index0/{level,type,size}    "1", "Data", "48K"
 *   /sys/class/dmi/id/{sys_vendor,product_name,bios_version}
 *
 * Serial numbers and the machine id stay where they are: a report may be shown to others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "agent/facts.h"
#include "agent/groups.h"
#include "agent/parse.h"
#include "agent/reader.h"
#include "synop/memory.h"

#define FACT(NAME, KIND, UNIT, FOLD, HELP)                                                                             \
  {                                                                                                                    \
    NAME, KIND, UNIT, FOLD, METRIC_OF_NODE, .help = HELP                                                               \
  }

static const struct metric metrics[] = {
  FACT ("host_name", TEXT, UNIT_NONE, FOLD_NONE, "Host name."),
  FACT ("kernel", TEXT, UNIT_NONE, FOLD_NONE, "Release of the kernel."),
  FACT ("architecture", TEXT, UNIT_NONE, FOLD_NONE, "Machine architecture."),
  FACT ("os", TEXT, UNIT_NONE, FOLD_NONE, "Name and version of the distribution."),
  FACT ("cpu_model", TEXT, UNIT_NONE, FOLD_NONE, "Model of the CPUs."),
  FACT ("sockets", GAUGE, UNIT_COUNT, FOLD_SUM, "CPU packages."),
  FACT ("cores", GAUGE, UNIT_COUNT, FOLD_SUM, "CPU cores."),
  FACT ("threads", GAUGE, UNIT_COUNT, FOLD_SUM, "Hardware threads: CPUs as the kernel counts them."),
  FACT ("numa_nodes", GAUGE, UNIT_COUNT, FOLD_SUM, "NUMA nodes."),
  FACT ("l1d_cache", GAUGE, UNIT_BYTES, FOLD_NONE, "Level 1 data cache of a core."),
  FACT ("l1i_cache", GAUGE, UNIT_BYTES, FOLD_NONE, "Level 1 instruction cache of a core."),
  FACT ("l2_cache", GAUGE, UNIT_BYTES, FOLD_NONE, "Level 2 cache that a core uses."),
  FACT ("l3_cache", GAUGE, UNIT_BYTES, FOLD_NONE, "Level 3 cache that a core uses."),
  FACT ("memory_total", GAUGE, UNIT_BYTES, FOLD_SUM, "Memory that the kernel manages."),
  FACT ("boot_time", GAUGE, UNIT_SECONDS, FOLD_NONE, "When the node was started, in seconds since 1970."),
  FACT ("vendor", TEXT, UNIT_NONE, FOLD_NONE, "Vendor of the machine, from DMI."),
  FACT ("product", TEXT, UNIT_NONE, FOLD_NONE, "Product name of the machine, from DMI."),
  FACT ("bios_version", TEXT, UNIT_NONE, FOLD_NONE, "Version of the BIOS, from DMI."),
  FACT ("virtualization", TEXT, UNIT_NONE, FOLD_NONE, "Hypervisor below, as far as one shows; none on bare metal."),
};

static const struct group group = {
  .name = "hardware_info",
  .section = "",
  .row = "",
  .rows_name = "",
  .fold_name = "",
  .flags = GROUP_ONCE,
  .help = "What the node is: told once a session.",
  GROUP_METRICS (metrics),
};

#define CORES_MAX 65536 /* pairs of package and core, to count those that differ */

struct cpus {
  char model[128];
  bool hypervisor; /* among the flags */
  bool flags;
  uint64_t threads;
  uint64_t (*cores)[2]; /* package and core of each thread; owned */
  size_t count;
};

/* The value of "model name\t: Intel(R) ..." when the line is of that key. */
static bool
cpuinfo_value (struct scan line, const char *key, struct scan *value)
{
  if (!scan_prefix (&line, key))
    return false;
  while (line.at < line.end && (*line.at == '\t' || *line.at == ' '))
    line.at++;
  if (!scan_prefix (&line, ":"))
    return false;
  scan_prefix (&line, " ");
  *value = line;
  return true;
}

static void
cpus_add_core (struct cpus *cpus, uint64_t package, uint64_t core)
{
  if (cpus->count == CORES_MAX)
    return;
  if ((cpus->count & (cpus->count - 1)) == 0)
    cpus->cores = memory_resize (cpus->cores, cpus->count ? 2 * cpus->count : 1, sizeof *cpus->cores);
  cpus->cores[cpus->count][0] = package;
  cpus->cores[cpus->count++][1] = core;
}

static void
cpuinfo_parse (struct cpus *cpus, struct scan text)
{
  uint64_t package = 0, core = 0, number;
  bool has_package = false;
  struct scan line, value;

  while (scan_line (&text, &line)) {
    if (cpuinfo_value (line, "processor", &value) && scan_uint (&value, &number)) {
      cpus->threads++;
      has_package = false;
    } else if (cpuinfo_value (line, "physical id", &value)) {
      has_package = scan_uint (&value, &package);
    } else if (cpuinfo_value (line, "core id", &value) && has_package && scan_uint (&value, &core)) {
      cpus_add_core (cpus, package, core);
    } else if (!cpus->model[0] && (cpuinfo_value (line, "model name", &value) || cpuinfo_value (line, "cpu", &value))) {
      snprintf (cpus->model, sizeof cpus->model, "%.*s", (int) scan_length (&value), value.at);
    } else if (!cpus->flags && cpuinfo_value (line, "flags", &value)) {
      cpus->flags = true;
      cpus->hypervisor = memmem (value.at, scan_length (&value), " hypervisor", strlen (" hypervisor")) != NULL;
    }
  }
}

/* Where cpuinfo does not say which core a thread belongs to. */
static void
topology_read (struct cpus *cpus, const char *root)
{
  struct names names = { 0 };
  uint64_t package, core;

  names_read (&names, "cpu", root, "/sys/devices/system/cpu");
  for (size_t i = 0; i < names.count; i++)
    if (fact_uint (&package, root, "/sys/devices/system/cpu/%s/topology/physical_package_id", names.list[i]) &&
        fact_uint (&core, root, "/sys/devices/system/cpu/%s/topology/core_id", names.list[i]))
      cpus_add_core (cpus, package, core);
  names_free (&names);
}

static int
core_compare (const void *one_, const void *other_)
{
  const uint64_t *one = one_, *other = other_;

  if (one[0] != other[0])
    return one[0] < other[0] ? -1 : 1;
  return one[1] < other[1] ? -1 : one[1] > other[1];
}

static void
cores_set (struct cpus *cpus, struct table *table)
{
  uint64_t sockets = 0, cores = 0;

  if (cpus->count == 0)
    return;
  qsort (cpus->cores, cpus->count, sizeof *cpus->cores, core_compare);
  for (size_t i = 0; i < cpus->count; i++) {
    sockets += i == 0 || cpus->cores[i][0] != cpus->cores[i - 1][0];
    cores += i == 0 || core_compare (cpus->cores[i], cpus->cores[i - 1]) != 0;
  }
  fact_set_uint (table, "sockets", sockets);
  fact_set_uint (table, "cores", cores);
}

static void
caches_set (struct table *table, const char *root)
{
  char type[32], size[32], *unit;
  uint64_t level, bytes;

  for (int i = 0; i < 16; i++) {
    const char *folder = "/sys/devices/system/cpu/cpu0/cache";
    if (!fact_uint (&level, root, "%s/index%d/level", folder, i) ||
        !fact_text (type, sizeof type, root, "%s/index%d/type", folder, i) ||
        !fact_text (size, sizeof size, root, "%s/index%d/size", folder, i))
      continue;
    bytes = strtoull (size, &unit, 10);
    bytes *= *unit == 'K' ? 1024 : *unit == 'M' ? 1024 * 1024 : 1;
    if (bytes == 0)
      continue;
    if (level == 1)
      fact_set_uint (table, strcmp (type, "Instruction") == 0 ? "l1i_cache" : "l1d_cache", bytes);
    else if (level == 2)
      fact_set_uint (table, "l2_cache", bytes);
    else if (level == 3)
      fact_set_uint (table, "l3_cache", bytes);
  }
}

/* A line "MemTotal:  24684084 kB" or "btime 1418183276" of a file. In another unit, or none, it is missing. */
static void
key_set (struct table *table, const char *name, struct buffer *text, const char *key, const char *unit, uint64_t times)
{
  struct scan rest = scan_buffer (text), line;
  uint64_t number;

  while (scan_line (&rest, &line))
    if (scan_prefix (&line, key) && scan_uint (&line, &number)) {
      if (scan_prefix (&line, unit) && scan_length (&line) == 0)
        fact_set_uint (table, name, number * times);
      else if (!table->error[0])
        snprintf (table->error, sizeof table->error, "%s %llu%.*s: expected%s", key, (unsigned long long) number,
                  (int) scan_length (&line), line.at, unit[0] ? unit : " no unit");
      return;
    }
}

/* PRETTY_NAME="Debian GNU/Linux 12 (bookworm)" */
static void
os_set (struct table *table, struct buffer *text)
{
  struct scan rest = scan_buffer (text), line;

  while (scan_line (&rest, &line)) {
    if (!scan_prefix (&line, "PRETTY_NAME="))
      continue;
    if (line.end - line.at >= 2 && (*line.at == '"' || *line.at == '\'') && line.end[-1] == *line.at) {
      line.at++;
      line.end--;
    }
    if (line.at < line.end)
      table_set_text (table, TABLE_NODE, fact_column (&group, "os"), line.at, scan_length (&line));
    return;
  }
}

static void
virtualization_set (struct table *table, const struct cpus *cpus, const char *vendor, const char *product,
                    const char *root)
{
  static const struct {
    const char *word, *name;
  } vendors[] = {
    { "Amazon EC2", "kvm" },     { "QEMU", "kvm" },      { "KVM", "kvm" },
    { "Google", "kvm" },         { "VMware", "vmware" }, { "Microsoft", "hyperv" },
    { "innotek", "virtualbox" }, { "Xen", "xen" },
  };
  char hypervisor[64];
  const char *name = cpus->hypervisor ? "unknown" : cpus->flags ? "none" : "";

  if (fact_text (hypervisor, sizeof hypervisor, root, "/sys/hypervisor/type"))
    name = hypervisor;
  else if (cpus->hypervisor) /* the same vendors sell real machines too */
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++)
      if (strstr (vendor, vendors[i].word) || strstr (product, vendors[i].word)) {
        name = vendors[i].name;
        break;
      }
  fact_set_text (table, "virtualization", name);
}

static bool
file_read (struct buffer *text, const char *root, const char *path)
{
  struct reader reader;
  int rc;

  reader_init (&reader, root, "%s", path);
  rc = reader_read (&reader, text);
  reader_free (&reader);
  return rc == 0;
}

static void
kernel_set (struct table *table, const char *root)
{
  char text[256];
  struct utsname system;

  if (fact_text (text, sizeof text, root, "/proc/sys/kernel/hostname"))
    fact_set_text (table, "host_name", text);
  if (fact_text (text, sizeof text, root, "/proc/sys/kernel/osrelease"))
    fact_set_text (table, "kernel", text);
  if (fact_text (text, sizeof text, root, "/proc/sys/kernel/arch"))
    fact_set_text (table, "architecture", text);
  else if (!root[0] && uname (&system) == 0)
    fact_set_text (table, "architecture", system.machine);
}

static void
cpus_set (struct table *table, struct cpus *cpus, struct buffer *text, const char *root)
{
  struct names nodes = { 0 };

  if (file_read (text, root, "/proc/cpuinfo"))
    cpuinfo_parse (cpus, scan_buffer (text));
  if (cpus->count == 0)
    topology_read (cpus, root);
  fact_set_text (table, "cpu_model", cpus->model);
  cores_set (cpus, table);
  if (cpus->threads > 0)
    fact_set_uint (table, "threads", cpus->threads);
  caches_set (table, root);
  names_read (&nodes, "node", root, "/sys/devices/system/node");
  if (nodes.count > 0)
    fact_set_uint (table, "numa_nodes", nodes.count);
  names_free (&nodes);
}

static int
hardware_info_sample (void *state, struct table *table)
{
  const char *root = ((const struct sampler_context *) state)->root;
  char vendor[128], product[128], bios[128];
  struct buffer text = { 0 };
  struct cpus cpus = { 0 };

  kernel_set (table, root);
  if (file_read (&text, root, "/etc/os-release") || file_read (&text, root, "/usr/lib/os-release"))
    os_set (table, &text);
  cpus_set (table, &cpus, &text, root);
  if (file_read (&text, root, "/proc/meminfo"))
    key_set (table, "memory_total", &text, "MemTotal:", " kB", 1024);
  if (file_read (&text, root, "/proc/stat"))
    key_set (table, "boot_time", &text, "btime", "", 1);

  fact_text (vendor, sizeof vendor, root, "/sys/class/dmi/id/sys_vendor");
  fact_text (product, sizeof product, root, "/sys/class/dmi/id/product_name");
  fact_text (bios, sizeof bios, root, "/sys/class/dmi/id/bios_version");
  fact_set_text (table, "vendor", vendor);
  fact_set_text (table, "product", product);
  fact_set_text (table, "bios_version", bios);
  virtualization_set (table, &cpus, vendor, product, root);

  buffer_free (&text);
  free (cpus.cores);
  return 0;
}

/* Nothing is kept: the facts are asked for a few times in an agent's life. */
static void *
hardware_info_open (const struct sampler_context *context)
{
  return (void *) (uintptr_t) context;
}

static void
hardware_info_close (void *state)
{
  (void) state;
}

const struct sampler sampler_hardware_info = { &group, NULL, hardware_info_open, hardware_info_sample,
                                               hardware_info_close };
