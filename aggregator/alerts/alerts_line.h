/* The parts of an event's line that alerts are made of. */
#ifndef SYNOP_AGGREGATOR_ALERTS_LINE_H
#define SYNOP_AGGREGATOR_ALERTS_LINE_H

#include <stddef.h>
#include <stdint.h>

#define ALERTS_LINE_GROUPS 128

struct alerts_line {
  void *root;                               /* owned; all texts are in it */
  const char *event, *node, *text, *reason; /* NULL: it has none */
  double seconds;
  uint64_t count;
  const char *groups[ALERTS_LINE_GROUPS];
  size_t group_count;
};

void alerts_line_read (struct alerts_line *line, const char *text, size_t length);
void alerts_line_free (struct alerts_line *line);

#endif
