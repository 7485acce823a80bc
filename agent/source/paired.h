/* Tables of keys in two lines, as in /proc/net/snmp and /proc/net/netstat:
 *
 *   Tcp: RtoAlgorithm RtoMin ... RetransSegs InErrs
 *   Tcp: 1 200 ... 18 0
 */
#ifndef SYNOP_AGENT_PAIRED_H
#define SYNOP_AGENT_PAIRED_H

#include "agent/source/parse.h"

/* Sets the node's values of metrics whose source is "Tcp:RetransSegs". Returns how many it found. */
size_t parse_paired (struct scan text, const struct key_index *index, struct table *table);

#endif
