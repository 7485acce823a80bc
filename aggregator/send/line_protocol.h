/* InfluxDB's line protocol, which others take too: a line a sample.
 *
 *   MEASUREMENT,TAG=TEXT,TAG=TEXT value=1.5 1700000000000
 *
 * The measurement is the family's name, tags are the labels. */
#ifndef SYNOP_AGGREGATOR_SEND_LINE_PROTOCOL_H
#define SYNOP_AGGREGATOR_SEND_LINE_PROTOCOL_H

#include "aggregator/send/send_type.h"

struct line_style {
  const char *node;        /* the tag with the node's name */
  const char *key, *value; /* a tag of all; NULL: none */
  const char *usual;       /* a tag with its text, of series that have no such tag: "type=node"; NULL: none */
  bool dashes;             /* '-' for '_' in tags */
  bool jobless;            /* without the label job */
  enum { LINE_MS, LINE_S, LINE_NS } times; /* whole seconds are the nearest ones: clocks are a little apart */
};

/* Adds the sample's line; none when its value is no number. A series keeps its part of the line. */
void line_put (struct buffer *out, const struct line_style *style, const struct send_sample *sample);

#endif
