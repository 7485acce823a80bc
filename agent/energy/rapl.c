/* RAPL by powercap; see rapl.h.
 *
 *   /sys/class/powercap/intel-rapl:0/name                     "package-0", "package-0-die-1", "psys"; AMD's too
 *   /sys/class/powercap/intel-rapl:0/energy_uj                "93187435632", a wrapping counter of microjoules
 *   /sys/class/powercap/intel-rapl:0/max_energy_range_uj      "262143328850", where it wraps
 *   /sys/class/powercap/intel-rapl:0:2/name                   "core", "uncore", "dram": of the package above
 *   /sys/class/powercap/intel-rapl-mmio:0/...                 the same counters by another way: left out
 *
 * energy_uj is for root alone (0400), since fine steps of energy give away what others compute (PLATYPUS). */
#include "agent/energy/rapl.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/clock.h"
#include "synop/memory.h"

#define FOLDER "/sys/class/powercap"
#define LIST_PERIOD (60 * NS_PER_S) /* when there is nothing to read yet */
/* No socket and no machine draws more: a counter that seems to have grown by more was set back. */
#define WATTS_MAX 20000

void
rapl_init (struct rapl *rapl, const char *root, const struct rapl_kernel *kernel)
{
  *rapl = (struct rapl){ .root = memory_string (root), .kernel = kernel };
  folder_watch_init (&rapl->watch, root, FOLDER);
}

static void
domains_free (const struct rapl *rapl, struct rapl_domain *domains, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    reader_free (&domains[i].reader);
    if (domains[i].fd >= 0)
      rapl->kernel->close (domains[i].fd);
  }
  free (domains);
}

void
rapl_free (struct rapl *rapl)
{
  domains_free (rapl, rapl->domains, rapl->count);
  folder_watch_free (&rapl->watch);
  free (rapl->root);
}

/* ---- the list ---- */

static enum rapl_kind
kind_of (const char *name)
{
  static const struct {
    const char *prefix;
    enum rapl_kind kind;
  } kinds[] = { { "package", RAPL_PACKAGE },
                { "core", RAPL_CORE },
                { "uncore", RAPL_UNCORE },
                { "dram", RAPL_DRAM },
                { "psys", RAPL_PSYS } };

  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (strncmp (name, kinds[i].prefix, strlen (kinds[i].prefix)) == 0)
      return kinds[i].kind;
  return RAPL_OTHER;
}

static struct rapl_domain *
domain_find (struct rapl_domain *domains, size_t count, const char *label)
{
  for (size_t i = 0; i < count; i++)
    if (strcmp (domains[i].label, label) == 0)
      return &domains[i];
  return NULL;
}

/* NULL: a domain of that name is there already. */
static struct rapl_domain *
domain_add (struct rapl *rapl, const char *label)
{
  struct rapl_domain *domain;

  if (domain_find (rapl->domains, rapl->count, label))
    return NULL;
  rapl->domains = memory_resize (rapl->domains, rapl->count + 1, sizeof *rapl->domains);
  domain = &rapl->domains[rapl->count++];
  *domain = (struct rapl_domain){ .kind = kind_of (label), .fd = -1, .watts = nan ("") };
  snprintf (domain->label, sizeof domain->label, "%s", label);
  return domain;
}

/* "intel-rapl:0:2" with the name "dram" below "intel-rapl:0" with the name "package-0" is "dram-0". */
static bool
zone_label (const struct rapl *rapl, const char *zone, char label[48])
{
  const char *first = strchr (zone, ':'), *last = strrchr (zone, ':');
  char name[32], above[32];

  if (!first || !fact_text (name, sizeof name, rapl->root, FOLDER "/%s/name", zone))
    return false;
  if (first == last || strncmp (name, "psys", 4) == 0 ||
      !fact_text (above, sizeof above, rapl->root, FOLDER "/%.*s/name", (int) (last - zone), zone) ||
      strncmp (above, "package", 7) != 0)
    snprintf (label, 48, "%.31s", name);
  else
    snprintf (label, 48, "%.20s%.24s", name, above + strlen ("package"));
  return true;
}

static void
zones_list (struct rapl *rapl, const char *prefix)
{
  struct names zones = { 0 };
  char label[48];

  names_read (&zones, prefix, rapl->root, FOLDER);
  for (size_t i = 0; i < zones.count; i++) {
    struct rapl_domain *domain = zone_label (rapl, zones.list[i], label) ? domain_add (rapl, label) : NULL;

    if (!domain)
      continue;
    snprintf (domain->path, sizeof domain->path, FOLDER "/%.90s", zones.list[i]);
    reader_init (&domain->reader, rapl->root, "%s/energy_uj", domain->path);
    fact_uint (&domain->range_uj, rapl->root, "%s/max_energy_range_uj", domain->path);
  }
  names_free (&zones);
}

/* May any be read? */
static bool
zones_are_open (struct rapl *rapl)
{
  char text[32];

  for (size_t i = 0; i < rapl->count; i++) {
    int length = reader_read_value (&rapl->domains[i].reader, text, sizeof text);

    if (length != -EACCES && length != -EPERM)
      return true;
  }
  return false;
}

static void
events_list (struct rapl *rapl)
{
  struct rapl_event event;

  rapl->perf_errno = 0;
  for (size_t at = 0; rapl->kernel && rapl_perf_next (rapl->root, &at, &event);) {
    int fd = rapl->kernel->open (event.type, event.config, event.cpu);
    struct rapl_domain *domain = fd >= 0 ? domain_add (rapl, event.label) : NULL;

    if (fd < 0)
      rapl->perf_errno = errno;
    else if (!domain)
      rapl->kernel->close (fd);
    else {
      domain->fd = fd;
      domain->scale_uj = event.scale * 1e6;
      snprintf (domain->path, sizeof domain->path, "%s", event.path);
    }
  }
}

/* What a domain has counted goes on with it. */
static void
domains_keep (struct rapl *rapl, struct rapl_domain *before, size_t count)
{
  for (size_t i = 0; i < rapl->count; i++) {
    struct rapl_domain *domain = &rapl->domains[i], *old = domain_find (before, count, domain->label);

    if (!old || strcmp (old->path, domain->path) != 0 || old->fd >= 0)
      continue;
    domain->begun = old->begun;
    domain->last_uj = old->last_uj;
    domain->total_uj = old->total_uj;
    domain->last_ns = old->last_ns;
  }
}

static void
domains_list (struct rapl *rapl)
{
  struct rapl_domain *before = rapl->domains;
  size_t count = rapl->count;

  rapl->domains = NULL;
  rapl->count = 0;
  zones_list (rapl, "intel-rapl:");
  zones_list (rapl, "intel-rapl-"); /* what is there by another way alone */
  rapl->closed = rapl->count > 0 && !zones_are_open (rapl);
  if (rapl->closed || rapl->count == 0) {
    domains_free (rapl, rapl->domains, rapl->count);
    rapl->domains = NULL;
    rapl->count = 0;
    events_list (rapl);
  }
  domains_keep (rapl, before, count);
  domains_free (rapl, before, count);
}

/* ---- reading ---- */

/* 0, or -errno. */
static int
value_read (const struct rapl *rapl, struct rapl_domain *domain, uint64_t *value_uj)
{
  uint64_t raw;

  if (domain->fd < 0)
    return reader_read_uint (&domain->reader, value_uj);
  if (rapl->kernel->read (domain->fd, &raw) < 0)
    return -EIO;
  *value_uj = (uint64_t) ((double) raw * domain->scale_uj);
  return 0;
}

/* Since the last read; a fall is a wrap, unless no machine could have used so much. */
static uint64_t
growth (const struct rapl_domain *domain, uint64_t value_uj, double seconds)
{
  uint64_t grown = value_uj - domain->last_uj;

  if (!domain->begun)
    return 0;
  if (value_uj < domain->last_uj)
    grown = domain->range_uj > domain->last_uj ? domain->range_uj - domain->last_uj + value_uj : 0;
  return (double) grown > WATTS_MAX * 1e6 * (seconds + 1) ? 0 : grown;
}

static void
domain_read (const struct rapl *rapl, struct rapl_domain *domain, int64_t now_ns)
{
  double seconds = (double) (now_ns - domain->last_ns) / (double) NS_PER_S;
  uint64_t value_uj;

  domain->grown_uj = 0;
  domain->watts = nan ("");
  domain->result = value_read (rapl, domain, &value_uj);
  domain->known = domain->result == 0;
  if (!domain->known)
    return;
  domain->grown_uj = growth (domain, value_uj, seconds);
  domain->total_uj = domain->begun ? domain->total_uj + domain->grown_uj : value_uj;
  if (domain->begun && seconds > 0)
    domain->watts = (double) domain->grown_uj / 1e6 / seconds;
  domain->begun = true;
  domain->last_uj = value_uj;
  domain->last_ns = now_ns;
}

void
rapl_read (struct rapl *rapl, int64_t now_ns)
{
  bool changed = folder_changed (&rapl->watch);

  if (changed || rapl->listed_ns == 0 || (rapl->count == 0 && now_ns - rapl->listed_ns >= LIST_PERIOD)) {
    domains_list (rapl);
    rapl->listed_ns = now_ns;
  }
  for (size_t i = 0; i < rapl->count; i++)
    domain_read (rapl, &rapl->domains[i], now_ns);
}

/* ---- for people ---- */

void
rapl_absent (struct rapl *rapl, char *text, size_t size)
{
  text[0] = '\0';
  rapl_read (rapl, clock_monotonic ());
  if (rapl->count > 0)
    return;
  if (rapl->closed)
    snprintf (text, size,
              FOLDER "/*/energy_uj is closed to this user: give the agent CAP_DAC_READ_SEARCH, as its unit has, or "
                     "CAP_PERFMON, for perf's power events");
  else if (rapl->perf_errno != 0)
    snprintf (text, size,
              "perf's power events cannot be opened: %s; give the agent CAP_PERFMON, or load intel_rapl_msr",
              strerror (rapl->perf_errno));
  else
    snprintf (text, size,
              "the kernel shows no energy counters of CPUs: " FOLDER " has no intel-rapl (load intel_rapl_msr; virtual "
              "machines have none, and containers hide it)");
}
