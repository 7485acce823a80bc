/* Which CPUs share a core, and which a package, from /sys. */
#ifndef SYNOP_AGENT_TOPOLOGY_H
#define SYNOP_AGENT_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct topology { /* `{0}` is an empty one */
  struct topology_cpu {
    unsigned number;
    bool has_core, has_package;           /* does /sys say what it shares? Not for offline ones */
    bool first_of_core, first_of_package; /* set for one CPU of each, and for a CPU of which /sys says nothing */
    uint64_t core[4], core_list, package, package_list; /* private */
  } * cpus;                                             /* all that have a folder */
  size_t count;
};

void topology_read (struct topology *topology, const char *root);
void topology_free (struct topology *topology);

#endif
