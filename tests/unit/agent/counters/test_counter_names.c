/* Events by their names: the kernel's units of several generations, and libpfm4's tables. */
#include <dlfcn.h>

#include "agent/counters/core_events.h"
#include "agent/counters/counter_names.h"
#include "agent/counters/counter_pfm.h"
#include "agent/counters/counters.h"
#include "tests/unit/agent/counters/played_kernel.h"
#include "tests/unit/agent/sampler_test.h"

#define UNITS "/sys/bus/event_source/devices"

static struct played_kernel played;

static void
put (const struct scratch *scratch, const char *unit, const char *file, const char *text)
{
  char path[160];

  snprintf (path, sizeof path, UNITS "/%s/%s", unit, file);
  scratch_write (scratch, path, text);
}

static void
test_terms (void **state)
{
  struct perf_event_attr attr;
  struct scratch scratch;
  struct error error;
  uint32_t weight;
  char cpus[64];

  (void) state;
  scratch_init (&scratch);
  put (&scratch, "amd_df", "type", "13\n");
  put (&scratch, "amd_df", "cpumask", "0,32\n");
  put (&scratch, "amd_df", "format/event", "config:0-7,32-35,59-60\n");
  put (&scratch, "amd_df", "format/umask", "config:8-15\n");
  put (&scratch, "amd_df", "format/edge", "config1:18\n");
  put (&scratch, "amd_df", "events/a_read", "event=0x147,umask=0x38,edge\n");
  put (&scratch, "amd_df", "events/a_read.scale", "6.103515625e-5\n");
  put (&scratch, "amd_df", "events/a_read.unit", "MiB\n");
  assert_int_equal (counter_name_kernel (&attr, &weight, cpus, sizeof cpus, scratch.root, "amd_df", "a_read", &error),
                    0);
  assert_int_equal (attr.type, 13);
  assert_int_equal (attr.config, UINT64_C (0x100003847)); /* the 9th bit of the event is bit 32 */
  assert_int_equal (attr.config1, 1 << 18);
  assert_int_equal (weight, 64);
  assert_string_equal (cpus, "0,32");
  assert_int_equal (
      counter_name_kernel (&attr, &weight, cpus, sizeof cpus, scratch.root, "amd_df", "event=0x2007,umask=7", &error),
      0);
  assert_int_equal (attr.config, UINT64_C (0x1000000000000707));
  assert_int_equal (weight, 1);
  static const char *const bad[] = { "event=0x7,umask=0x138", "event=seven", "event=0x10000", "inv=1", "nothing" };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    error.text[0] = '\0';
    assert_int_equal (counter_name_kernel (&attr, &weight, cpus, sizeof cpus, scratch.root, "amd_df", bad[i], &error),
                      -1);
    assert_true (error.text[0] != '\0');
  }
  assert_int_equal (counter_name_kernel (&attr, &weight, cpus, sizeof cpus, scratch.root, "cpu", "slots", &error), -1);
  assert_string_equal (error.text, "the kernel has no unit cpu");
  scratch_free (&scratch);
}

static void
test_units (void **state)
{
  struct scratch scratch;
  struct names units = { 0 };

  (void) state;
  scratch_init (&scratch);
  put (&scratch, "uncore_imc_0", "type", "1\n");
  put (&scratch, "uncore_imc_11", "type", "1\n");
  put (&scratch, "uncore_imc_free_running_0", "type", "1\n");
  put (&scratch, "uncore_imc", "type", "1\n");
  counter_units (&units, scratch.root, "uncore_imc");
  assert_int_equal (units.count, 3);
  assert_string_equal (units.list[0], "uncore_imc");
  assert_string_equal (units.list[2], "uncore_imc_11");
  names_free (&units);
  scratch_free (&scratch);
}

/* ---- memory_bandwidth ---- */

static void
two_sockets (struct scratch *scratch)
{
  scratch_init (scratch);
  scratch_write (scratch, "/sys/devices/system/cpu/online", "0-3\n");
  for (int cpu = 0; cpu < 4; cpu++) {
    char path[96];

    snprintf (path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    scratch_write (scratch, path, cpu < 2 ? "0\n" : "1\n");
  }
}

static void
bandwidth_sample (struct sampled *sampled, const struct scratch *scratch)
{
  struct counters *counters;

  sampled->ini = "[counters]\nenabled = yes\n";
  played_init (&played, 8);
  sampled_open (sampled, &sampler_memory_bandwidth, scratch->root);
  counters = service_find (&sampled->options->context, &service_counters);
  counters->kernel = &played.kernel;
  for (int i = 0; i < 2; i++) {
    sampled_may_block (sampled);
    sampled_again (sampled);
    if (i == 0)
      played_pass (&played, 1000);
  }
}

static uint64_t
counted (uint32_t type, uint64_t config)
{
  return 1000 * played_rate (&(struct perf_event_attr){ .type = type, .config = config });
}

/* Two controllers, each counted by one CPU of each socket. */
static void
test_intel (void **state)
{
  struct sampled sampled = { 0 };
  struct scratch scratch;
  uint64_t read, written;

  (void) state;
  two_sockets (&scratch);
  for (int i = 0; i < 2; i++) {
    char unit[32], type[16];

    snprintf (unit, sizeof unit, "uncore_imc_%d", i);
    snprintf (type, sizeof type, "%d\n", 14 + i);
    put (&scratch, unit, "type", type);
    put (&scratch, unit, "cpumask", "0,2\n");
    put (&scratch, unit, "format/event", "config:0-7\n");
    put (&scratch, unit, "format/umask", "config:8-15\n");
    put (&scratch, unit, "events/clockticks", "event=0x00\n");
    put (&scratch, unit, "events/cas_count_read", "event=0x04,umask=0x03\n");
    put (&scratch, unit, "events/cas_count_read.scale", "6.103515625e-5\n");
    put (&scratch, unit, "events/cas_count_read.unit", "MiB\n");
    put (&scratch, unit, "events/cas_count_write", "event=0x04,umask=0x0c\n");
    put (&scratch, unit, "events/cas_count_write.scale", "6.103515625e-5\n");
    put (&scratch, unit, "events/cas_count_write.unit", "MiB\n");
  }
  bandwidth_sample (&sampled, &scratch);
  read = 64 * (counted (14, 0x304) + counted (15, 0x304));
  written = 64 * (counted (14, 0xc04) + counted (15, 0xc04));
  assert_int_equal (played.opened, 2 * 2 * 2);
  assert_uint (&sampled, "0", "read_bytes", read);
  assert_uint (&sampled, "1", "written_bytes", written);
  assert_uint (&sampled, "1", "bytes", read + written);
  assert_string_equal (sampled.table.error, "");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_granite_rapids (void **state)
{
  struct sampled sampled = { 0 };
  struct scratch scratch;

  (void) state;
  two_sockets (&scratch);
  put (&scratch, "uncore_imc_0", "type", "20\n");
  put (&scratch, "uncore_imc_0", "cpumask", "0\n");
  put (&scratch, "uncore_imc_0", "format/event", "config:0-7\n");
  put (&scratch, "uncore_imc_0", "format/umask", "config:8-15\n");
  for (int i = 0; i < 2; i++) {
    char file[64], event[64];

    snprintf (file, sizeof file, "events/cas_count_read_sch%d", i);
    snprintf (event, sizeof event, "event=0x0%d,umask=0xcf\n", 5 + i);
    put (&scratch, "uncore_imc_0", file, event);
    strcat (file, ".scale");
    put (&scratch, "uncore_imc_0", file, "6.103515625e-5\n");
    snprintf (file, sizeof file, "events/cas_count_read_sch%d.unit", i);
    put (&scratch, "uncore_imc_0", file, "MiB\n");
  }
  bandwidth_sample (&sampled, &scratch);
  assert_uint (&sampled, "0", "read_bytes", 64 * (counted (20, 0xcf05) + counted (20, 0xcf06)));
  assert_missing (&sampled, "0", "written_bytes");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_amd_memory_controllers (void **state)
{
  struct sampled sampled = { 0 };
  struct scratch scratch;

  (void) state;
  two_sockets (&scratch);
  for (int i = 0; i < 2; i++) {
    const char *unit = i ? "amd_umc_12" : "amd_umc_0";

    put (&scratch, unit, "type", i ? "31\n" : "30\n");
    put (&scratch, unit, "cpumask", i ? "2\n" : "0\n");
    put (&scratch, unit, "format/event", "config:0-7\n");
    put (&scratch, unit, "format/rdwrmask", "config:8-9\n");
  }
  /* Zen 4's data fabric: the event numbers of Zen 1 to 3 mean other things there. */
  put (&scratch, "amd_df", "type", "13\n");
  put (&scratch, "amd_df", "cpumask", "0,2\n");
  put (&scratch, "amd_df", "format/event", "config:0-7,32-37\n");
  put (&scratch, "amd_df", "format/umask", "config:8-15,24-27\n");
  bandwidth_sample (&sampled, &scratch);
  assert_uint (&sampled, "0", "read_bytes", 64 * counted (30, 0x10a));
  assert_uint (&sampled, "1", "written_bytes", 64 * counted (31, 0x20a));
  assert_uint (&sampled, "1", "bytes", 64 * (counted (31, 0x10a) + counted (31, 0x20a)));
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_amd_data_fabric (void **state)
{
  static const unsigned channels[] = { 0x07, 0x47, 0x87, 0xc7 };
  struct sampled sampled = { 0 };
  struct scratch scratch;
  uint64_t bytes = 0;

  (void) state;
  two_sockets (&scratch);
  put (&scratch, "amd_df", "type", "13\n");
  put (&scratch, "amd_df", "cpumask", "0,2\n");
  put (&scratch, "amd_df", "format/event", "config:0-7,32-35,59-60\n");
  put (&scratch, "amd_df", "format/umask", "config:8-15\n");
  bandwidth_sample (&sampled, &scratch);
  for (int i = 0; i < 4; i++)
    bytes += 64 * (counted (13, 0x3800 | channels[i]) + counted (13, UINT64_C (0x100003800) | channels[i]));
  assert_uint (&sampled, "0", "bytes", bytes);
  assert_missing (&sampled, "0", "read_bytes");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_grace (void **state)
{
  struct sampled sampled = { 0 };
  struct scratch scratch;

  (void) state;
  two_sockets (&scratch);
  put (&scratch, "nvidia_scf_pmu_0", "type", "40\n");
  put (&scratch, "nvidia_scf_pmu_0", "cpumask", "0\n");
  put (&scratch, "nvidia_scf_pmu_0", "format/event", "config:0-31\n");
  put (&scratch, "nvidia_scf_pmu_0", "events/cmem_rd_data", "event=0x1a5\n");
  put (&scratch, "nvidia_scf_pmu_0", "events/cmem_wr_total_bytes", "event=0x1db\n");
  bandwidth_sample (&sampled, &scratch);
  assert_uint (&sampled, "0", "read_bytes", 32 * counted (40, 0x1a5));
  assert_uint (&sampled, "0", "written_bytes", counted (40, 0x1db));
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* ---- libpfm4 ---- */

struct raw_encoding { /* pfm_pmu_encode_arg_t */
  uint64_t *codes;
  char **name;
  size_t size;
  int count, index;
};

/* "256B_PACKED_DOUBLE": 4 numbers. 0: it does not say. */
static unsigned
width_of (const char *event)
{
  const char *name = strchr (event, ':');
  unsigned bits = name ? (unsigned) strtoul (name + 1, NULL, 10) : 0;

  if (strncmp (event, "FP_ARITH", 8) != 0)
    return 0;
  return strstr (name, "SCALAR") ? 1 : bits / (strstr (name, "DOUBLE") ? 64 : 32);
}

struct unit_info { /* pfm_pmu_info_t */
  const char *name, *text;
  size_t size;
  int numbers[8];
};

struct pfm_tables {
  struct counter_pfm *pfm;
  int (*unit) (int number, struct unit_info *info);
  int (*raw) (const char *, int, int, void *);
  size_t checked;
};

/* False: this library does not know it. */
static bool
event_check (struct pfm_tables *tables, const char *unit, const struct core_event *event)
{
  struct raw_encoding encoding = { .size = sizeof encoding };
  struct perf_event_attr attr;
  struct error error;
  char name[192];

  snprintf (name, sizeof name, "%s::%s", unit, event->name);
  if (tables->raw (name, 9, 0, &encoding) != 0) {
    assert_int_equal (counter_pfm_name (tables->pfm, &attr, name, &error), -1);
    return false;
  }
  assert_int_equal (counter_pfm_name (tables->pfm, &attr, name, &error), 0);
  assert_int_equal (attr.type, PERF_TYPE_RAW);
  assert_int_equal (attr.config, encoding.codes[0] & ~UINT64_C (0x530000)); /* enabled, user, kernel, interrupt */
  assert_int_equal (attr.config1, encoding.count > 1 ? encoding.codes[1] : 0);
  free (encoding.codes);
  tables->checked++;
  return true;
}

static bool
knows_unit (const struct pfm_tables *tables, const char *unit)
{
  for (int number = 0; number < 2000; number++) {
    struct unit_info info = { .size = sizeof info };

    if (tables->unit (number, &info) == 0 && strcmp (info.name, unit) == 0)
      return true;
  }
  return false;
}

static void
table_check (struct pfm_tables *tables, const struct core_table *table)
{
  for (size_t i = 0; i < table->count; i++) {
    const struct core_generation *generation = &table->generations[i];

    assert_true (generation->source[0] != '\0');
    for (const char *const *unit = generation->units; *unit; unit++) {
      bool known = knows_unit (tables, *unit);

      if (!known)
        print_message ("# not in this libpfm4: %s\n", *unit);
      for (size_t k = 0; k < generation->count; k++)
        assert_int_equal (event_check (tables, *unit, &generation->events[k]), known);
    }
  }
}

/* Every generation's events against the library's own raw codes; those of an older library's future are named. */
static void
test_generations (void **state)
{
  struct pfm_tables tables = { 0 };
  struct error error;
  void *library;

  (void) state;
  setenv ("LIBPFM_ENCODE_INACTIVE", "1", 1);
  tables.pfm = counter_pfm_open (&error);
  if (!tables.pfm) {
    print_message ("# skipped: %s\n", error.text);
    skip ();
  }
  library = dlopen ("libpfm.so.4", RTLD_NOW);
  *(void **) &tables.raw = dlsym (library, "pfm_get_os_event_encoding");
  *(void **) &tables.unit = dlsym (library, "pfm_get_pmu_info");
  table_check (&tables, &flop_events);
  table_check (&tables, &traffic_events);
  dlclose (library);
  counter_pfm_close (tables.pfm);
  unsetenv ("LIBPFM_ENCODE_INACTIVE");
  print_message ("# %zu events are as libpfm4 has them\n", tables.checked);
  assert_true (tables.checked >= 50);
}

static void
test_weights (void **state)
{
  (void) state;
  for (size_t i = 0; i < flop_events.count; i++)
    for (size_t k = 0; k < flop_events.generations[i].count; k++) {
      const struct core_event *event = &flop_events.generations[i].events[k];

      if (width_of (event->name))
        assert_int_equal (event->weight, width_of (event->name));
    }
  for (size_t i = 0; i < traffic_events.count; i++)
    for (size_t k = 0; k < traffic_events.generations[i].count; k++)
      assert_int_equal (traffic_events.generations[i].events[k].weight, 64);
}

static void
test_flops (void **state)
{
  struct sampled sampled = { .ini = "[counters]\nenabled = yes\n" };
  struct scratch scratch;
  struct counters *counters;
  uint64_t scalar, half;

  (void) state;
  setenv ("LIBPFM_ENCODE_INACTIVE", "1", 1); /* so the first generation of the table is this machine's */
  two_sockets (&scratch);
  played_init (&played, 8);
  sampled_open (&sampled, &sampler_cpu_flops, scratch.root);
  counters = service_find (&sampled.options->context, &service_counters);
  counters->kernel = &played.kernel;
  assert_true (sampled_may_block (&sampled));
  sampled_again (&sampled);
  unsetenv ("LIBPFM_ENCODE_INACTIVE");
  if (played.opened == 0) {
    print_message ("# skipped: no libpfm4\n");
    sampled_close (&sampled);
    scratch_free (&scratch);
    skip ();
  }
  played_pass (&played, 1000);
  assert_false (sampled_may_block (&sampled));
  sampled_again (&sampled);
  assert_int_equal (played.opened, 4 * 6);
  scalar = 2 * (counted (PERF_TYPE_RAW, 0x1c7) + counted (PERF_TYPE_RAW, 0x2c7));
  half = 2 * (4 * counted (PERF_TYPE_RAW, 0x10c7) + 8 * counted (PERF_TYPE_RAW, 0x20c7));
  assert_uint (&sampled, "0", "flop_scalar", scalar);
  assert_uint (&sampled, "1", "flop_256", half);
  assert_uint (
      &sampled, "1", "flop_double",
      2 * (counted (PERF_TYPE_RAW, 0x1c7) + 2 * counted (PERF_TYPE_RAW, 0x4c7) + 4 * counted (PERF_TYPE_RAW, 0x10c7)));
  assert_missing (&sampled, "0", "flop_512");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_terms),
    cmocka_unit_test (test_units),
    cmocka_unit_test (test_intel),
    cmocka_unit_test (test_granite_rapids),
    cmocka_unit_test (test_amd_memory_controllers),
    cmocka_unit_test (test_amd_data_fabric),
    cmocka_unit_test (test_grace),
    cmocka_unit_test (test_generations),
    cmocka_unit_test (test_weights),
    cmocka_unit_test (test_flops),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
