/* energy_rapl: each energy counter of CPUs and memory, as the kernel names it; see rapl.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/energy/energy.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/memory.h"

enum column { ENERGY, POWER, INDEX, PATH };

static const struct metric metrics[] = {
  [ENERGY] = { "energy", COUNTER, UNIT_JOULES, FOLD_NONE, .per = 1000000, .help = "Energy that it has used." },
  [POWER] = { "power", GAUGE, UNIT_WATTS, FOLD_NONE, .help = "Its mean since the reading before." },
  [INDEX] = { "index", TEXT, UNIT_NONE, FOLD_NONE, .help = "The socket, or the die of one: 0, 0-die-1." },
  [PATH] = { "path", TEXT, UNIT_NONE, FOLD_NONE, .help = "Where the kernel shows it." },
};

static const struct group group = {
  .name = "energy_rapl",
  .section = "system_data",
  .row = "domain",
  .rows_name = "domains",
  .fold_name = "",
  .flags = GROUP_ROWS,
  .help =
      "Energy of each domain of Intel's and AMD's CPUs (RAPL): package-0 (a socket, which holds core-0 and uncore-0), "
      "dram-0 beside it, psys (the machine). Domains hold each other, so they are not added up: node_power does.",
  GROUP_METRICS (metrics),
  .left_out = "counters that the kernel shows twice (intel-rapl-mmio).",
};

struct energy_rapl {
  struct energy *energy;
  bool seen; /* there was a domain */
};

static void *
energy_rapl_open (const struct sampler_context *context)
{
  struct energy_rapl *mine = memory_new (1, sizeof *mine);

  mine->energy = energy_take (context);
  return mine;
}

/* One that is closed from the start is for --list-groups to explain. */
static bool
is_trouble (const struct rapl_domain *domain)
{
  return !domain->known && (domain->begun || domain->result == -EBADMSG);
}

static void
domain_row (const struct rapl_domain *domain, struct table *table)
{
  const char *index = strchr (domain->label, '-');
  size_t row;

  if (is_trouble (domain))
    table_complain (table, "%s: %s", domain->path, file_error_text (-domain->result));
  if (!domain->begun)
    return;
  row = table_add_row (table, domain->label, strlen (domain->label));
  if (row == SIZE_MAX)
    return;
  index = index ? index + 1 : "0";
  table_set_string (table, row, INDEX, index);
  table_set_string (table, row, PATH, domain->path);
  if (!domain->known)
    return;
  table_set_uint (table, row, ENERGY, domain->total_uj);
  table_set_real (table, row, POWER, domain->watts);
}

static int
energy_rapl_sample (void *state, struct table *table)
{
  struct energy_rapl *mine = state;
  const struct rapl *rapl = energy_rapl_begin (mine->energy, clock_monotonic ());

  for (size_t i = 0; i < rapl->count; i++)
    domain_row (&rapl->domains[i], table);
  if (table->rows == 0 && mine->seen)
    table_complain (table, "the kernel shows no energy counters of CPUs any more");
  mine->seen |= table->rows > 0;
  energy_rapl_end (mine->energy);
  return 0;
}

static void
energy_rapl_close (void *state)
{
  struct energy_rapl *mine = state;

  service_leave (mine->energy);
  free (mine);
}

const struct sampler sampler_energy_rapl = {
  &group, NULL, energy_rapl_open, energy_rapl_sample, energy_rapl_close, .optional = true, .absent = energy_rapl_absent
};
