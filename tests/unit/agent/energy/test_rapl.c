/* RAPL on machines that are written on the spot, Intel's and AMD's, and perf's events with a kernel that is played. */
#include <errno.h>
#include <math.h>
#include <sys/wait.h>

#include "agent/energy/rapl.h"
#include "synop/clock.h"
#include "tests/unit/agent/energy/powercap.h"

#define SECOND NS_PER_S

static const struct rapl_domain *
domain_of (const struct rapl *rapl, const char *label)
{
  for (size_t i = 0; i < rapl->count; i++)
    if (strcmp (rapl->domains[i].label, label) == 0)
      return &rapl->domains[i];
  fail_msg ("there is no %s", label);
  return NULL;
}

static bool
has_domain (const struct rapl *rapl, const char *label)
{
  for (size_t i = 0; i < rapl->count; i++)
    if (strcmp (rapl->domains[i].label, label) == 0)
      return true;
  return false;
}

static void
two_sockets_with_psys (void **state)
{
  struct scratch scratch;
  struct rapl rapl;

  (void) state;
  scratch_init (&scratch);
  intel_make (&scratch);
  rapl_init (&rapl, scratch.root, NULL);
  rapl_read (&rapl, SECOND);
  assert_int_equal (rapl.count, 7); /* those of intel-rapl-mmio are the same counters */
  assert_int_equal (domain_of (&rapl, "package-0")->total_uj, 1000000);
  assert_int_equal (domain_of (&rapl, "package-0")->kind, RAPL_PACKAGE);
  assert_string_equal (domain_of (&rapl, "package-0")->path, "/sys/class/powercap/intel-rapl:0");
  assert_int_equal (domain_of (&rapl, "package-1")->total_uj, 2000000);
  assert_int_equal (domain_of (&rapl, "core-1")->total_uj, 500000);
  assert_int_equal (domain_of (&rapl, "core-1")->kind, RAPL_CORE);
  assert_int_equal (domain_of (&rapl, "dram-0")->total_uj, 200000);
  assert_int_equal (domain_of (&rapl, "dram-1")->kind, RAPL_DRAM);
  assert_int_equal (domain_of (&rapl, "psys")->total_uj, 9000000);
  assert_int_equal (domain_of (&rapl, "psys")->kind, RAPL_PSYS);
  assert_true (isnan (domain_of (&rapl, "psys")->watts));

  energy_set (&scratch, "intel-rapl:0", 151000000);
  rapl_read (&rapl, 2 * SECOND);
  assert_int_equal (domain_of (&rapl, "package-0")->grown_uj, 150000000);
  assert_true (fabs (domain_of (&rapl, "package-0")->watts - 150) < 1e-9);
  assert_int_equal (domain_of (&rapl, "package-1")->grown_uj, 0);
  rapl_free (&rapl);
  scratch_free (&scratch);
}

/* Where the kernel has one of them alone. */
static void
only_by_mmio (void **state)
{
  struct scratch scratch;
  struct rapl rapl;

  (void) state;
  scratch_init (&scratch);
  zone_make (&scratch, "intel-rapl-mmio:0", "package-0", 7);
  rapl_init (&rapl, scratch.root, NULL);
  rapl_read (&rapl, SECOND);
  assert_int_equal (rapl.count, 1);
  assert_int_equal (domain_of (&rapl, "package-0")->total_uj, 7);
  rapl_free (&rapl);
  scratch_free (&scratch);
}

static void
amd_and_dies (void **state)
{
  struct scratch scratch;
  struct rapl rapl;

  (void) state;
  scratch_init (&scratch);
  zone_make (&scratch, "intel-rapl:0", "package-0", 10);
  zone_make (&scratch, "intel-rapl:0:0", "core", 4);
  zone_make (&scratch, "intel-rapl:1", "package-1-die-1", 20);
  zone_make (&scratch, "intel-rapl:1:0", "dram", 5);
  rapl_init (&rapl, scratch.root, NULL);
  rapl_read (&rapl, SECOND);
  assert_int_equal (rapl.count, 4);
  assert_int_equal (domain_of (&rapl, "core-0")->kind, RAPL_CORE);
  assert_int_equal (domain_of (&rapl, "package-1-die-1")->kind, RAPL_PACKAGE);
  assert_int_equal (domain_of (&rapl, "dram-1-die-1")->total_uj, 5);
  rapl_free (&rapl);
  scratch_free (&scratch);
}

static void
wraps_and_resets (void **state)
{
  struct scratch scratch;
  struct rapl rapl;

  (void) state;
  scratch_init (&scratch);
  zone_make (&scratch, "intel-rapl:0", "package-0", RANGE_UJ - 30000000);
  rapl_init (&rapl, scratch.root, NULL);
  rapl_read (&rapl, SECOND);
  energy_set (&scratch, "intel-rapl:0", 70000000);
  rapl_read (&rapl, 2 * SECOND);
  assert_int_equal (rapl.domains[0].grown_uj, 100000000);
  assert_int_equal (rapl.domains[0].total_uj, RANGE_UJ + 70000000); /* goes on beyond the range */
  energy_set (&scratch, "intel-rapl:0", 60000000);                  /* a wrap would be 262 kJ in a second */
  rapl_read (&rapl, 3 * SECOND);
  assert_int_equal (rapl.domains[0].grown_uj, 0);
  energy_set (&scratch, "intel-rapl:0", 61000000);
  rapl_read (&rapl, 4 * SECOND);
  assert_int_equal (rapl.domains[0].grown_uj, 1000000);
  assert_int_equal (rapl.domains[0].total_uj, RANGE_UJ + 71000000);
  rapl_free (&rapl);
  scratch_free (&scratch);
}

/* A load of 50 and 350 W by turns, 2.3 s each, over many wraps: sampled each second, the energy is its integral. */
static void
square_wave (void **state)
{
  struct scratch scratch;
  struct rapl rapl;
  double joules = 0;
  uint64_t first;

  (void) state;
  scratch_init (&scratch);
  zone_make (&scratch, "intel-rapl:0", "package-0", 0);
  rapl_init (&rapl, scratch.root, NULL);
  rapl_read (&rapl, SECOND);
  first = rapl.domains[0].total_uj;
  for (int ms = 0; ms < 4000000; ms += 100) {
    joules += (ms / 2300 % 2 ? 350 : 50) * 0.1;
    if (ms % 1000 == 900) {
      energy_set (&scratch, "intel-rapl:0", (uint64_t) llround (joules * 1e6) % RANGE_UJ);
      rapl_read (&rapl, SECOND + (ms + 100) * NS_PER_MS);
    }
  }
  assert_true (joules * 1e6 > 3 * (double) RANGE_UJ);
  assert_true (fabs ((double) (rapl.domains[0].total_uj - first) / 1e6 - joules) < 1e-3);
  rapl_free (&rapl);
  scratch_free (&scratch);
}

static void
domains_that_go_and_come (void **state)
{
  struct scratch scratch;
  struct rapl rapl;

  (void) state;
  scratch_init (&scratch);
  intel_make (&scratch);
  rapl_init (&rapl, scratch.root, NULL);
  rapl_read (&rapl, SECOND);
  energy_set (&scratch, "intel-rapl:0", 5000000);
  scratch_remove (&scratch, "/sys/class/powercap/intel-rapl:1");
  scratch_remove (&scratch, "/sys/class/powercap/intel-rapl:1:0");
  scratch_remove (&scratch, "/sys/class/powercap/intel-rapl:1:1");
  rapl_read (&rapl, 2 * SECOND);
  assert_false (has_domain (&rapl, "package-1"));
  assert_int_equal (domain_of (&rapl, "package-0")->grown_uj, 4000000); /* the list was made anew, the count was not */
  scratch_remove (&scratch, "/sys/class/powercap/intel-rapl:0/energy_uj");
  scratch_remove (&scratch, "/sys/class/powercap/intel-rapl:2"); /* so that files are opened anew, as of a driver */
  rapl_read (&rapl, 3 * SECOND);
  assert_false (domain_of (&rapl, "package-0")->known);
  assert_int_equal (domain_of (&rapl, "package-0")->result, -ENOENT);
  energy_set (&scratch, "intel-rapl:0", 9000000);
  rapl_read (&rapl, 5 * SECOND);
  assert_int_equal (domain_of (&rapl, "package-0")->grown_uj, 4000000);
  assert_true (fabs (domain_of (&rapl, "package-0")->watts - 4.0 / 3) < 1e-9); /* since the last value */
  zone_make (&scratch, "intel-rapl:1", "package-1", 77);
  rapl_read (&rapl, 6 * SECOND);
  assert_int_equal (domain_of (&rapl, "package-1")->grown_uj, 0);
  scratch_remove (&scratch, "/sys/class/powercap");
  rapl_read (&rapl, 7 * SECOND);
  assert_int_equal (rapl.count, 0);
  rapl_free (&rapl);
  scratch_free (&scratch);
}

/* ---- closed files, and perf ---- */

static struct played {
  int error; /* errno of open; 0: none */
  int opened, closed;
  struct {
    uint32_t type;
    uint64_t config, value;
    int cpu;
  } events[16];
} played;

static int
played_open (uint32_t type, uint64_t config, int cpu)
{
  if (played.error) {
    errno = played.error;
    return -1;
  }
  played.events[played.opened].type = type;
  played.events[played.opened].config = config;
  played.events[played.opened].cpu = cpu;
  return 1000 + played.opened++;
}

static int
played_read (int fd, uint64_t *value)
{
  *value = played.events[fd - 1000].value;
  return played.events[fd - 1000].value == UINT64_MAX ? -1 : 0;
}

static int
played_close (int fd)
{
  (void) fd;
  played.closed++;
  return 0;
}

static const struct rapl_kernel kernel = { played_open, played_read, played_close };

static void
perf_of_two_sockets (void **state)
{
  struct scratch scratch;
  struct rapl rapl;
  char text[512];

  (void) state;
  played = (struct played){ 0 };
  scratch_init (&scratch);
  pmu_make (&scratch);
  rapl_init (&rapl, scratch.root, &kernel);
  rapl_read (&rapl, SECOND);
  assert_int_equal (rapl.count, 6); /* three events on each socket */
  assert_int_equal (played.events[0].type, 9);
  assert_int_equal (played.events[0].config, 2);
  assert_int_equal (played.events[0].cpu, 0);
  assert_int_equal (played.events[3].cpu, 24);
  assert_string_equal (rapl.domains[0].label, "package-0");
  assert_string_equal (rapl.domains[1].label, "dram-0");
  assert_string_equal (rapl.domains[2].label, "psys");
  assert_string_equal (rapl.domains[3].label, "package-1");
  played.events[3].value = UINT64_C (50) << 32; /* 2^-32 J each */
  rapl_read (&rapl, 2 * SECOND);
  assert_int_equal (rapl.domains[3].grown_uj, 50000000);
  assert_true (fabs (rapl.domains[3].watts - 50) < 1e-6);
  played.events[3].value = UINT64_MAX;
  rapl_read (&rapl, 3 * SECOND);
  assert_false (rapl.domains[3].known);
  rapl_absent (&rapl, text, sizeof text);
  assert_string_equal (text, "");
  rapl_free (&rapl);
  assert_int_equal (played.closed, 6);
  scratch_free (&scratch);
}

static void
perf_that_is_forbidden (void **state)
{
  struct scratch scratch;
  struct rapl rapl;
  char text[512];

  (void) state;
  played = (struct played){ .error = EACCES };
  scratch_init (&scratch);
  pmu_make (&scratch);
  rapl_init (&rapl, scratch.root, &kernel);
  rapl_absent (&rapl, text, sizeof text);
  assert_non_null (strstr (text, "Permission denied"));
  assert_non_null (strstr (text, "CAP_PERFMON"));
  rapl_free (&rapl);
  scratch_free (&scratch);
}

/* In a process of another user: root reads everything. */
static void
closed_to_others (const struct scratch *scratch, const struct rapl_kernel *with, size_t count, const char *words)
{
  pid_t child = fork ();
  int status;

  assert_true (child >= 0);
  if (child == 0) {
    struct rapl rapl;
    char text[512] = "";

    if (setresuid (65534, 65534, 65534) < 0)
      _exit (9);
    rapl_init (&rapl, scratch->root, with);
    rapl_absent (&rapl, text, sizeof text);
    _exit (rapl.count == count && rapl.closed && (words ? strstr (text, words) != NULL : text[0] == '\0') ? 0 : 1);
  }
  assert_int_equal (waitpid (child, &status, 0), child);
  assert_int_equal (WEXITSTATUS (status), 0);
}

static void
closed_files (void **state)
{
  struct scratch scratch;
  char command[200];

  (void) state;
  if (geteuid () != 0)
    skip ();
  played = (struct played){ 0 };
  scratch_init (&scratch);
  intel_make (&scratch);
  snprintf (command, sizeof command, "chmod 755 '%s' && chmod 400 '%s'/sys/class/powercap/*/energy_uj", scratch.root,
            scratch.root);
  assert_int_equal (system (command), 0);
  closed_to_others (&scratch, NULL, 0, "give the agent CAP_DAC_READ_SEARCH");
  pmu_make (&scratch);
  closed_to_others (&scratch, &kernel, 6, NULL); /* perf's instead */
  scratch_free (&scratch);
}

static void
machine_without_any (void **state)
{
  struct rapl rapl;
  char text[512];

  (void) state;
  rapl_init (&rapl, "/nonexistent", NULL);
  rapl_absent (&rapl, text, sizeof text);
  assert_non_null (strstr (text, "no energy counters"));
  assert_int_equal (rapl.watch.fd, -1);
  rapl_free (&rapl);
}

/* ---- the group ---- */

static void
the_group (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  intel_make (&scratch);
  sampled_open (&sampled, &sampler_energy_rapl, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "");
  assert_int_equal (sampled.table.rows, 7);
  assert_uint (&sampled, "package-1", "energy", 2000000);
  assert_missing (&sampled, "package-1", "power");
  assert_text (&sampled, "package-1", "index", "1");
  assert_text (&sampled, "psys", "index", "0");
  assert_text (&sampled, "dram-0", "path", "/sys/class/powercap/intel-rapl:0:1");
  sampled_close (&sampled);

  scratch_write (&scratch, "/sys/class/powercap/intel-rapl:0/energy_uj", "warm\n");
  sampled_open (&sampled, &sampler_energy_rapl, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "/sys/class/powercap/intel-rapl:0: Bad message");
  assert_false (sampled_has_row (&sampled, "package-0"));
  assert_uint (&sampled, "package-1", "energy", 2000000);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (two_sockets_with_psys),
    cmocka_unit_test (only_by_mmio),
    cmocka_unit_test (amd_and_dies),
    cmocka_unit_test (wraps_and_resets),
    cmocka_unit_test (square_wave),
    cmocka_unit_test (domains_that_go_and_come),
    cmocka_unit_test (perf_of_two_sockets),
    cmocka_unit_test (perf_that_is_forbidden),
    cmocka_unit_test (closed_files),
    cmocka_unit_test (machine_without_any),
    cmocka_unit_test (the_group),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
