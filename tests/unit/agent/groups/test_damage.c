/* Each file of a recorded machine is taken away, emptied, cut in half and filled with garbage, one at a time: whatever
 * is missing then has an error that says why, nothing that is shown is wrong, and garbage makes no rows. */
#include <fnmatch.h>
#include <ftw.h>

#include "synop/memory.h"
#include "tests/unit/agent/sampler_test.h"

#define ROOT_INFINIBAND "tests/roots/infiniband"
#define ROOT_DEVICES "tests/roots/devices"

enum damage { ABSENT = 1, EMPTY = 2, HALF = 4, WORDS = 8, COLONS = 16, BYTES = 32, LAST = BYTES };
#define GARBAGE (WORDS | COLONS | BYTES)
#define UNREADABLE (ABSENT | EMPTY | GARBAGE)

static const char *const garbage[] = {
  "What is this? 12 monkeys\nno\n",
  "a: b\n: 5\n::\nfoo: 12 monkeys\ncpu9\ncpu8: 1\n8 0 sdz what is 1 2 3 of that ? ? ? ?\nprocessor : x\ncpu MHz : y\n",
  "\1\2\377\376 7\n\xc3\x28\n9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9\n",
};

/* What may be missing without an error. */
static const struct {
  const char *path; /* a glob */
  int damages;
  const char *reason;
} excused[] = {
  { "/etc/os-release", UNREADABLE | HALF, "a distribution need not have it, nor a name in it" },
  { "/proc/sys/kernel/arch", UNREADABLE, "kernels have it since 6.1" },
  { "/proc/sys/kernel/*", GARBAGE, "any text is a name" },
  { "/proc/pressure/irq", ABSENT, "kernels have it when they account for the time of interrupts" },
  { "/proc/net/snmp6", ABSENT, "kernels without IPv6 have none" },
  { "/sys/class/net/*/carrier", ABSENT, "/sys may show another network namespace" },
  { "/sys/class/net/*/speed", UNREADABLE, "most interfaces know none" },
  { "/proc/net/arp", ABSENT | HALF, "kernels without IPv4 have none; a line more or less is a neighbour" },
  { "/proc/net/stat/nf_conntrack", ABSENT, "the module need not be loaded" },
  { "/proc/net/bonding/*", ABSENT | HALF, "bonds go; a part less is an interface" },
  { "/sys/class/dmi/id/*", UNREADABLE, "firmware has what it likes, and any text is one" },
  { "/sys/class/net/*", ABSENT | EMPTY, "which of these there are depends on the kernel and the driver" },
  { "/sys/class/net/*/operstate", GARBAGE, "any text is a state" },
  { "/sys/class/net/*/ifalias", GARBAGE, "any text is an alias" },
  { "/sys/devices/system/cpu/cpu*/cpufreq/*", ABSENT | EMPTY, "drivers have what they like" },
  { "*/scaling_governor", GARBAGE, "any text is a governor" },
  { "/sys/class/thermal/*", ABSENT | EMPTY, "drivers have what they like" },
  { "/sys/class/power_supply/*", ABSENT | EMPTY, "drivers have what they like" },
  { "/sys/class/nvme/*", UNREADABLE, "drivers have what they like, and any text is one" },
  { "/sys/devices/system/edac/*", ABSENT | EMPTY, "drivers have what they like" },
  { "/sys/block/md*", ABSENT | EMPTY, "it depends on the kind of array" },
  { "/sys/class/thermal/*/type", GARBAGE, "any text is a type" },
  { "/sys/class/power_supply/*/type", GARBAGE, "any text is a type" },
  { "*/status", GARBAGE, "any text is a status" },
  { "*/mc_name", GARBAGE, "any text is a name" },
  { "*/array_state", GARBAGE, "any text is a state" },
  { "*/sync_action", GARBAGE, "any text is an action" },
  { "/sys/class/infiniband/*/fw_ver", GARBAGE, "any text is a version" },
  { "/sys/class/infiniband/*/hca_type", GARBAGE, "any text is a type" },
  { "/sys/class/infiniband/*/board_id", GARBAGE, "any text is a board" },
  { "/sys/class/infiniband/*", ABSENT | EMPTY, "which of these there are depends on the adapter" },
  { "*/state", GARBAGE, "any text is a state" },
  { "*/phys_state", GARBAGE, "any text is a state" },
  { "*/link_layer", GARBAGE, "any text is a link layer" },
  { "*/rate", GARBAGE, "it is told in words, and there are unknown ones" },
};

/* What may even be wrong: the kernel tells it whole or not at all. */
static const char *const whole[] = { "/proc/sys/kernel/*", "/sys/*" };

struct bench {
  const char *root; /* the recorded machine */
  struct scratch scratch;
  struct agent_options *options; /* of all samplers: none of them has services */
  const struct sampler *const *samplers;
  size_t count;
  struct table *before; /* of each sampler, undamaged */
  int checks, failures;
};

static struct bench *bench; /* nftw hands on no context */

static void complain (const char *format, ...) __attribute__ ((format (printf, 1, 2)));

static void
complain (const char *format, ...)
{
  char text[512];
  va_list arguments;

  va_start (arguments, format);
  vsnprintf (text, sizeof text, format, arguments);
  va_end (arguments);
  print_message ("# %s\n", text);
  bench->failures++;
}

static int
copy_file (const char *path, const struct stat *status, int type, struct FTW *place)
{
  char text[16384];
  FILE *file = type == FTW_F ? fopen (path, "r") : NULL;

  (void) status;
  (void) place;
  if (file == NULL)
    return 0;
  scratch_write_bytes (&bench->scratch, path + strlen (bench->root), text, fread (text, 1, sizeof text, file));
  fclose (file);
  return 0;
}

static bool
is_whole (const char *path, enum damage damage)
{
  for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
    if (damage == HALF && fnmatch (whole[i], path, 0) == 0)
      return true;
  return false;
}

static bool
is_excused (const char *path, enum damage damage)
{
  for (size_t i = 0; i < sizeof excused / sizeof excused[0]; i++)
    if (excused[i].damages & (int) damage && fnmatch (excused[i].path, path, 0) == 0)
      return true;
  return is_whole (path, damage);
}

static bool
is_same (const struct table *one, const struct value *a, const struct table *other, const struct value *b)
{
  size_t length, other_length;
  const char *text, *other_text;

  if (a->type != b->type || a->type == VALUE_MISSING)
    return a->type == b->type;
  if (a->type != VALUE_TEXT)
    return a->as.u == b->as.u;
  text = table_text (one, a, &length);
  other_text = table_text (other, b, &other_length);
  return length == other_length && memcmp (text, other_text, length) == 0;
}

/* Compares a row of the sample with that before, and returns how many values are missing now. One that is another is
 * wrong, unless it is reckoned to be. */
static size_t
compare_row (const struct table *now, size_t row, const struct table *before, size_t at, const char *path,
             enum damage damage)
{
  size_t missing = 0;

  for (size_t i = 0; i < now->group->metric_count; i++) {
    const struct value *value = table_get (now, row, i), *old = table_get (before, at, i);
    if (is_same (now, value, before, old))
      continue;
    missing++;
    if (value->type != VALUE_MISSING && !is_excused (path, damage))
      complain ("%s, damage %d: %s of %s is wrong", path, damage, now->group->metrics[i].name, now->group->name);
  }
  return missing;
}

static void
check (const struct table *now, const struct table *before, const char *path, enum damage damage)
{
  size_t missing = compare_row (now, TABLE_NODE, before, TABLE_NODE, path, damage), length;

  for (size_t row = 0; row < now->rows; row++) {
    const char *label = table_label (now, row, &length);
    size_t at = table_find_row (before, label, length, row);
    if (at == SIZE_MAX) {
      complain ("%s, damage %d: a row %.*s of %s", path, damage, (int) length, label, now->group->name);
      continue;
    }
    missing += compare_row (now, row, before, at, path, damage);
  }
  if (now->rows < before->rows)
    missing += before->rows - now->rows;
  if (missing > 0 && !now->error[0] && !is_excused (path, damage))
    complain ("%s, damage %d: %zu values of %s are missing without an error", path, damage, missing, now->group->name);
  bench->checks++;
}

static void
damage_do (const char *path, enum damage damage, const char *text, size_t length)
{
  int number = 0;

  if (damage == ABSENT) {
    char full[512];
    snprintf (full, sizeof full, "%s%s", bench->scratch.root, path);
    assert_int_equal (unlink (full), 0);
    return;
  }
  for (enum damage at = WORDS; at < damage; at *= 2)
    number++;
  if (damage >= WORDS)
    scratch_write (&bench->scratch, path, garbage[number]);
  else
    scratch_write_bytes (&bench->scratch, path, text, damage == HALF ? length / 2 : 0);
}

/* By a sampler that begins then, and by one that is at work. */
static void
damage_check (const struct sampler *sampler, const struct table *before, const char *path, enum damage damage,
              const char *text, size_t length)
{
  struct sampled at_work = { .options = bench->options }, late = at_work;

  sampled_open (&at_work, sampler, bench->scratch.root);
  sampled_again (&at_work);
  damage_do (path, damage, text, length);
  sampled_again (&at_work);
  check (&at_work.table, before, path, damage);
  sampled_open (&late, sampler, bench->scratch.root);
  sampled_again (&late);
  check (&late.table, before, path, damage);
  scratch_write_bytes (&bench->scratch, path, text, length);
  sampled_again (&late);
  sampled_close (&at_work);
  sampled_close (&late);
}

static int
damage_file (const char *full, const struct stat *status, int type, struct FTW *place)
{
  char *path, *text;
  FILE *file;
  size_t length;

  (void) place;
  if (type != FTW_F)
    return 0;
  file = fopen (full, "r");
  assert_non_null (file);
  text = memory_new ((size_t) status->st_size + 1, 1);
  length = fread (text, 1, (size_t) status->st_size, file);
  fclose (file);
  path = memory_string (full + strlen (bench->root));
  for (size_t i = 0; i < bench->count; i++)
    for (enum damage damage = ABSENT; damage <= LAST; damage *= 2)
      damage_check (bench->samplers[i], &bench->before[i], path, damage, text, length);
  free (path);
  free (text);
  return 0;
}

static void
damage_machine (const char *root, const struct sampler *const *list, size_t count)
{
  struct bench here = { .root = root, .samplers = list, .count = count };

  bench = &here;
  scratch_init (&here.scratch);
  assert_int_equal (nftw (root, copy_file, 8, FTW_PHYS), 0);
  here.options = options_for (here.scratch.root, "[group disk_io]\nexclude = loop*\n");
  here.before = memory_new (count, sizeof *here.before);
  for (size_t i = 0; i < count; i++) {
    struct sampled sampled = { .options = here.options };
    sampled_open (&sampled, list[i], here.scratch.root);
    assert_int_equal (sampled_again (&sampled), 0);
    assert_string_equal (sampled.table.error, "");
    assert_true (table_has_values (&sampled.table));
    table_init (&here.before[i], list[i]->group);
    table_copy (&here.before[i], &sampled.table);
    sampled_close (&sampled);
  }
  assert_int_equal (nftw (root, damage_file, 8, FTW_PHYS), 0);
  print_message ("# %d samples\n", here.checks);
  assert_true (here.checks > 0);
  assert_int_equal (here.failures, 0);
  for (size_t i = 0; i < count; i++)
    table_free (&here.before[i]);
  free (here.before);
  agent_options_destroy (here.options);
  scratch_free (&here.scratch);
}

static void
a_machine (void **state)
{
  static const struct sampler *const list[] = {
    &sampler_cpu_usage,     &sampler_cpu_frequency, &sampler_memory_info, &sampler_vm,
    &sampler_load,          &sampler_pressure,      &sampler_disk_io,     &sampler_network,
    &sampler_hardware_info, &sampler_interfaces,    &sampler_cpu_scaling, &sampler_conntrack,
    &sampler_clock_source,
  };

  (void) state;
  damage_machine (ROOT_SMALL, list, sizeof list / sizeof list[0]);
}

static void
adapters (void **state)
{
  static const struct sampler *const list[] = { &sampler_infiniband };

  (void) state;
  damage_machine (ROOT_INFINIBAND, list, 1);
}

static void
devices (void **state)
{
  static const struct sampler *const list[] = {
    &sampler_cooling_device, &sampler_power_supply,    &sampler_edac,    &sampler_md,
    &sampler_nvme_info,      &sampler_infiniband_info, &sampler_bonding,
  };

  (void) state;
  damage_machine (ROOT_DEVICES, list, sizeof list / sizeof list[0]);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (a_machine),
    cmocka_unit_test (adapters),
    cmocka_unit_test (devices),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
