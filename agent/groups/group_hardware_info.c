/* hardware_info: what this node is. Sampled once a session.
 *
 *   /proc/cpuinfo     processor : 0 / model name : Intel(R) ... / physical id : 0 / core id : 0 / cpu cores : 8 /
 *                     flags : fpu ...     (a block for each thread; Arm has neither model name nor ids)
 *   /sys/devices/system/cpu/cpu0/topology     see topology.h
 *   /proc/meminfo     MemTotal:       24684084 kB
 *   /proc/stat        btime 1418183276
 *   /sys/devices/system/cpu/cpu0/cache/index0/{level,type,size}    "1", "Data", "48K"
 *   /sys/class/dmi/id/{sys_vendor,product_name,bios_version,...}
 *   /proc/sys/kernel/{hostname,domainname,ostype,osrelease,version}    uname(2)
 *   /etc/os-release   NAME="Debian GNU/Linux"
 *
 * A text's source is its file, or its key in os-release. Serial numbers and the machine id stay where they are: a report may be shown to others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "agent/sampling/sampler.h"
#include "agent/source/facts.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "agent/source/topology.h"
#include "synop/memory.h"

#define FACT(NAME, KIND, UNIT, FOLD, HELP)                                                                             \
  {                                                                                                                    \
    NAME, KIND, UNIT, FOLD, METRIC_OF_NODE, .help = HELP                                                               \
  }

#define WORDS(NAME, SOURCE, HELP)                                                                                      \
  {                                                                                                                    \
    NAME, TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE, .source = SOURCE, .help = HELP                                   \
  }
#define KERNEL "/proc/sys/kernel/"
#define DMI "/sys/class/dmi/id/"

static const struct metric metrics[] = {
  WORDS ("host_name", KERNEL "hostname", "Host name."),
  WORDS ("domain_name", KERNEL "domainname", "Domain name, as NIS has it; mostly (none)."),
  WORDS ("kernel_name", KERNEL "ostype", "Name of the kernel: Linux."),
  WORDS ("kernel", KERNEL "osrelease", "Release of the kernel."),
  WORDS ("kernel_version", KERNEL "version", "Version of the kernel: its number, options and date."),
  FACT ("architecture", TEXT, UNIT_NONE, FOLD_NONE, "Machine architecture."),
  WORDS ("os", "PRETTY_NAME", "Name and version of the distribution."),
  WORDS ("os_name", "NAME", "Name of the distribution."),
  WORDS ("os_id", "ID", "Its name for programs: debian, rhel."),
  WORDS ("os_id_like", "ID_LIKE", "Which others it is like."),
  WORDS ("os_version", "VERSION", "Version of the distribution."),
  WORDS ("os_version_id", "VERSION_ID", "Its version for programs: 12, 9.4."),
  WORDS ("os_version_codename", "VERSION_CODENAME", "Its version's name."),
  WORDS ("os_variant", "VARIANT", "Variant of the distribution."),
  WORDS ("os_variant_id", "VARIANT_ID", "Its variant for programs."),
  WORDS ("os_build_id", "BUILD_ID", "Which image it was installed from."),
  WORDS ("os_image_id", "IMAGE_ID", "Which image it is."),
  WORDS ("os_image_version", "IMAGE_VERSION", "Version of that image."),
  FACT ("os_version_number", GAUGE, UNIT_COUNT, FOLD_NONE, "os_version_id where it is a number."),
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
  WORDS ("vendor", DMI "sys_vendor", "Vendor of the machine, from DMI."),
  WORDS ("product", DMI "product_name", "Product name of the machine, from DMI."),
  WORDS ("product_family", DMI "product_family", "Family of the product."),
  WORDS ("product_sku", DMI "product_sku", "Number of the product."),
  WORDS ("product_version", DMI "product_version", "Version of the product."),
  WORDS ("bios_vendor", DMI "bios_vendor", "Vendor of the BIOS."),
  WORDS ("bios_version", DMI "bios_version", "Version of the BIOS, from DMI."),
  WORDS ("bios_release", DMI "bios_release", "Release of the BIOS."),
  WORDS ("bios_date", DMI "bios_date", "Date of the BIOS."),
  WORDS ("board_vendor", DMI "board_vendor", "Vendor of the board."),
  WORDS ("board_name", DMI "board_name", "Name of the board."),
  WORDS ("board_version", DMI "board_version", "Version of the board."),
  WORDS ("chassis_vendor", DMI "chassis_vendor", "Vendor of the chassis."),
  WORDS ("chassis_version", DMI "chassis_version", "Version of the chassis."),
  FACT ("virtualization", TEXT, UNIT_NONE, FOLD_NONE, "Hypervisor below, as far as one shows; none on bare metal."),
};

static const struct group group = {
  .name = "hardware_info",
  .section = "",
  .row = "",
  .rows_name = "",
  .fold_name = "",
  .flags = GROUP_ONCE,
  .help = "What the node is.",
  GROUP_METRICS (metrics),
};

struct cpus {
  char model[128];
  bool hypervisor; /* among the flags */
  bool flags;
  uint64_t threads;
  struct thread { /* as cpuinfo has it; owned */
    uint64_t package, core;
    uint64_t cores; /* of its package, as the kernel counts them; 0: unknown */
  } * list;
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

/* Adds a thread of that core. The package's number of cores comes in a later line. */
static void
cpus_add_thread (struct cpus *cpus, uint64_t package, uint64_t core)
{
  if ((cpus->count & (cpus->count - 1)) == 0)
    cpus->list = memory_resize (cpus->list, cpus->count ? 2 * cpus->count : 1, sizeof *cpus->list);
  cpus->list[cpus->count++] = (struct thread){ package, core, 0 };
}

static void
cpuinfo_parse (struct cpus *cpus, struct scan text)
{
  uint64_t package = 0, number;
  bool has_package = false;
  struct scan line, value;

  while (scan_line (&text, &line)) {
    if (cpuinfo_value (line, "processor", &value) && scan_uint (&value, &number)) {
      cpus->threads++;
      has_package = false;
    } else if (cpuinfo_value (line, "physical id", &value)) {
      has_package = scan_uint (&value, &package);
    } else if (cpuinfo_value (line, "core id", &value) && has_package && scan_uint (&value, &number)) {
      cpus_add_thread (cpus, package, number);
    } else if (cpuinfo_value (line, "cpu cores", &value) && has_package && cpus->count > 0 &&
               scan_uint (&value, &number)) {
      cpus->list[cpus->count - 1].cores = number;
    } else if (!cpus->model[0] && (cpuinfo_value (line, "model name", &value) || cpuinfo_value (line, "cpu", &value))) {
      snprintf (cpus->model, sizeof cpus->model, "%.*s", (int) scan_length (&value), value.at);
    } else if (!cpus->flags && cpuinfo_value (line, "flags", &value)) {
      cpus->flags = true;
      cpus->hypervisor = memmem (value.at, scan_length (&value), " hypervisor", strlen (" hypervisor")) != NULL;
    }
  }
}

static int
thread_compare (const void *one_, const void *other_)
{
  const struct thread *one = one_, *other = other_;

  if (one->package != other->package)
    return one->package < other->package ? -1 : 1;
  return one->core < other->core ? -1 : one->core > other->core;
}

/* By cpuinfo alone. Where dies of a package repeat the ids of their cores, the kernel's count of its cores is more than
 * the ids; it is never more than its threads, but in a container that sees some of them. */
static void
cpuinfo_cores (struct cpus *cpus, uint64_t *sockets, uint64_t *cores)
{
  size_t end;

  if (cpus->count > 0)
    qsort (cpus->list, cpus->count, sizeof *cpus->list, thread_compare);
  for (size_t i = 0; i < cpus->count; i = end) {
    uint64_t ids = 0, known = 0;
    for (end = i; end < cpus->count && cpus->list[end].package == cpus->list[i].package; end++) {
      ids += end == i || cpus->list[end].core != cpus->list[end - 1].core;
      known = cpus->list[end].cores > known ? cpus->list[end].cores : known;
    }
    if (known > end - i)
      known = end - i;
    *cores += known > ids ? known : ids;
    ++*sockets;
  }
}

static void
cores_set (struct cpus *cpus, struct table *table, const char *root)
{
  struct topology topology = { 0 };
  uint64_t sockets = 0, cores = 0;

  topology_read (&topology, root);
  for (size_t i = 0; i < topology.count; i++) {
    cores += topology.cpus[i].has_core && topology.cpus[i].first_of_core;
    sockets += topology.cpus[i].has_package && topology.cpus[i].first_of_package;
  }
  topology_free (&topology);
  if (cores == 0 || sockets == 0) {
    cores = sockets = 0;
    cpuinfo_cores (cpus, &sockets, &cores);
  }
  if (sockets > 0)
    fact_set_uint (table, "sockets", sockets);
  if (cores > 0)
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

/* Reads a file that every machine has. */
static bool
hardware_read_file (struct buffer *text, const char *root, const char *path, struct table *table)
{
  struct reader reader;
  int result;

  reader_init (&reader, root, "%s", path);
  result = reader_read_lines (&reader, text, table);
  reader_free (&reader);
  return result == 0;
}

/* A line "MemTotal:  24684084 kB" or "btime 1418183276" of a file. In another unit, or none, it is missing. */
static void
key_set (struct table *table, const char *name, struct buffer *text, const char *root, const char *path,
         const char *key, const char *unit, uint64_t times)
{
  struct scan rest, line;
  uint64_t number;

  if (!hardware_read_file (text, root, path, table))
    return;
  rest = scan_buffer (text);
  while (scan_line (&rest, &line))
    if (scan_prefix (&line, key) && scan_uint (&line, &number)) {
      if (scan_prefix (&line, unit) && scan_length (&line) == 0)
        fact_set_uint (table, name, number * times);
      else
        table_complain (table, "%s%s: %s %llu%.*s: expected%s", root, path, key, (unsigned long long) number,
                        (int) scan_length (&line), line.at, unit[0] ? unit : " no unit");
      return;
    }
  table_complain (table, "%s%s: no number for %s", root, path, name);
}

/* "Debian GNU/Linux" of NAME="Debian GNU/Linux". */
static struct scan
unquoted (struct scan text)
{
  if (scan_length (&text) >= 2 && (*text.at == '"' || *text.at == '\'') && text.end[-1] == *text.at) {
    text.at++;
    text.end--;
  }
  return text;
}

/* A line of os-release. */
static void
os_line (struct table *table, struct scan line)
{
  for (size_t i = 0; i < group.metric_count; i++) {
    const char *key = metrics[i].source;
    struct scan value = line;
    if (!key || !scan_prefix (&value, key) || !scan_prefix (&value, "="))
      continue;
    value = unquoted (value);
    if (scan_length (&value) == 0)
      return;
    table_set_text (table, TABLE_NODE, i, value.at, scan_length (&value));
    if (strcmp (key, "VERSION_ID") == 0)
      scan_value (&value, GAUGE, table_value (table, TABLE_NODE, fact_column (&group, "os_version_number")));
    return;
  }
}

/* A distribution need not have the file. */
static void
os_set (struct table *table, struct buffer *text, const char *root)
{
  struct reader reader;
  struct scan rest, line;

  reader_init (&reader, root, "/etc/os-release");
  if (reader_read (&reader, text) < 0) {
    reader_free (&reader);
    reader_init (&reader, root, "/usr/lib/os-release");
    reader_read (&reader, text);
  }
  reader_free (&reader);
  rest = scan_buffer (text);
  while (scan_line (&rest, &line))
    os_line (table, line);
}

static void
virtualization_set (struct table *table, const struct cpus *cpus, const char *root)
{
  static const struct {
    const char *word, *name;
  } vendors[] = {
    { "Amazon EC2", "kvm" },     { "QEMU", "kvm" },      { "KVM", "kvm" },
    { "Google", "kvm" },         { "VMware", "vmware" }, { "Microsoft", "hyperv" },
    { "innotek", "virtualbox" }, { "Xen", "xen" },
  };
  char hypervisor[64], vendor[128], product[128];
  const char *name = cpus->hypervisor ? "unknown" : cpus->flags ? "none" : "";

  fact_text (vendor, sizeof vendor, root, DMI "sys_vendor");
  fact_text (product, sizeof product, root, DMI "product_name");
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

/* Texts that are a file's. The kernel has all of its own; the firmware has what it likes. */
static void
texts_set (struct table *table, const char *root)
{
  char text[256];

  for (size_t i = 0; i < group.metric_count; i++) {
    const char *path = metrics[i].source;
    if (!path || path[0] != '/')
      continue;
    if (fact_text (text, sizeof text, root, "%s", path))
      table_set_text (table, TABLE_NODE, i, text, strlen (text));
    else if (strncmp (path, KERNEL, strlen (KERNEL)) == 0)
      table_complain (table, "%s%s: absent or empty", root, path);
  }
}

static void
architecture_set (struct table *table, const char *root)
{
  char text[256];
  struct utsname system;

  if (fact_text (text, sizeof text, root, KERNEL "arch")) /* since 6.1 */
    fact_set_text (table, "architecture", text);
  else if (!root[0] && uname (&system) == 0)
    fact_set_text (table, "architecture", system.machine);
}

static void
cpus_set (struct table *table, struct cpus *cpus, struct buffer *text, const char *root)
{
  struct names nodes = { 0 };
  char online[4096];
  uint64_t threads;

  if (hardware_read_file (text, root, "/proc/cpuinfo", table)) {
    cpuinfo_parse (cpus, scan_buffer (text));
    if (cpus->threads == 0)
      table_complain (table, "%s/proc/cpuinfo: no processor", root);
  }
  fact_set_text (table, "cpu_model", cpus->model);
  cores_set (cpus, table, root);
  if (fact_text (online, sizeof online, root, "/sys/devices/system/cpu/online") &&
      scan_list_count (scan_over (online, strlen (online)), &threads))
    cpus->threads = threads;
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
  struct buffer text = { 0 };
  struct cpus cpus = { 0 };

  texts_set (table, root);
  architecture_set (table, root);
  os_set (table, &text, root);
  cpus_set (table, &cpus, &text, root);
  key_set (table, "memory_total", &text, root, "/proc/meminfo", "MemTotal:", " kB", 1024);
  key_set (table, "boot_time", &text, root, "/proc/stat", "btime", "", 1);
  virtualization_set (table, &cpus, root);

  buffer_free (&text);
  free (cpus.list);
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
