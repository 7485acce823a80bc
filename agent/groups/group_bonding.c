/* bonding: network interfaces that are made of several, and how many of those have a link.
 *
 *   /proc/net/bonding/bond0    "MII Status: up"                                   (of the bond; then for each below it:)
 *                              "Slave Interface: eth0" ... "MII Status: up" */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sampling/sampler.h"
#include "agent/source/facts.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define FOLDER "/proc/net/bonding"

enum { INTERFACES, LINKS };

static const struct metric metrics[] = {
  [INTERFACES] = { "interfaces", GAUGE, UNIT_COUNT, FOLD_SUM, .help = "Interfaces that the bond is made of." },
  [LINKS] = { "links", GAUGE, UNIT_COUNT, FOLD_SUM, .help = "Those of them that have a link." },
};

static const struct group group = {
  .name = "bonding",
  .section = "system_data",
  .row = "bond",
  .rows_name = "bonds",
  .fold_name = "total",
  .flags = GROUP_ROWS,
  .help = "Network interfaces that are made of several (bonds), and how many of those have a link. At most every 10 s.",
  GROUP_METRICS (metrics),
};

struct bonding {
  const struct sampler_context *context;
  struct folder_watch watch;
  struct names bonds;
  struct reader *readers; /* of each */
  struct buffer text;
};

static void *
bonding_open (const struct sampler_context *context)
{
  struct bonding *state = memory_new (1, sizeof *state);

  state->context = context;
  folder_watch_init (&state->watch, context->root, FOLDER);
  return state;
}

static void
bond_parse (struct scan rest, struct table *table, size_t row)
{
  uint64_t interfaces = 0, links = 0;
  struct scan line;

  while (scan_line (&rest, &line))
    if (scan_prefix (&line, "Slave Interface: "))
      interfaces++;
    else if (interfaces > 0 && scan_prefix (&line, "MII Status: up"))
      links++;
  table_set_uint (table, row, INTERFACES, interfaces);
  table_set_uint (table, row, LINKS, links);
}

static void
bond_sample (struct bonding *state, size_t bond, struct table *table)
{
  const char *name = state->bonds.list[bond];
  struct reader *reader = &state->readers[bond];
  size_t row;

  if (reader_read_lines (reader, &state->text, table) < 0)
    return;
  row = table_add_row (table, name, strlen (name));
  if (row == SIZE_MAX)
    return;
  if (memmem (state->text.data, state->text.length, "MII Status: ", strlen ("MII Status: ")))
    bond_parse (scan_buffer (&state->text), table, row);
  else
    reader_complain (reader, -EBADMSG, table);
}

static void
bonds_free (struct bonding *state)
{
  for (size_t i = 0; i < state->bonds.count; i++)
    reader_free (&state->readers[i]);
  free (state->readers);
  state->readers = NULL;
  names_free (&state->bonds);
}

static void
bonds_list (struct bonding *state)
{
  bonds_free (state);
  names_read (&state->bonds, "", state->context->root, FOLDER);
  state->readers = memory_new (state->bonds.count, sizeof *state->readers);
  for (size_t i = 0; i < state->bonds.count; i++)
    reader_init (&state->readers[i], state->context->root, FOLDER "/%s", state->bonds.list[i]);
}

static int
bonding_sample (void *context, struct table *table)
{
  struct bonding *state = context;

  if (folder_changed (&state->watch))
    bonds_list (state);
  for (size_t i = 0; i < state->bonds.count; i++)
    bond_sample (state, i, table);
  return 0;
}

static void
bonding_close (void *context)
{
  struct bonding *state = context;

  bonds_free (state);
  folder_watch_free (&state->watch);
  buffer_free (&state->text);
  free (state);
}

const struct sampler sampler_bonding = {
  &group, NULL, bonding_open, bonding_sample, bonding_close, .optional = true, .period_ns = 10 * NS_PER_S,
};
