/* Tables of keys in two lines, as /proc/net/snmp has them: any text is read. */
#include <stddef.h>
#include <stdint.h>

#include "agent/groups.h"
#include "agent/source/paired.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const struct group *group = sampler_network.group;
  struct key_index index;
  struct table table;

  key_index_init (&index, group, METRIC_OF_NODE);
  table_init (&table, group);
  table_begin (&table);
  parse_paired (scan_over ((const char *) data, size), &index, &table);
  table_free (&table);
  key_index_free (&index);
  return 0;
}
