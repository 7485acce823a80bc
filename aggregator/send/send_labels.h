/* The labels of a series as receivers want them: the node's name and the sender's own ones among them, in order of their names,
 * each once, none empty. */
#ifndef SYNOP_AGGREGATOR_SEND_LABELS_H
#define SYNOP_AGGREGATOR_SEND_LABELS_H

#include "aggregator/send/send_options.h"

struct send_labels {
  const char *job;
  struct send_extra *extras;
  size_t extra_count;
  struct buffer texts;
  struct series_label parts[SERIES_LABELS_MAX];
  struct send_label list[SERIES_LABELS_MAX + 64];
  size_t count;
};

void send_labels_init (struct send_labels *labels, const struct send_options *options);
void send_labels_free (struct send_labels *labels);
/* Of a series, into `list`: valid until the next call. */
void send_labels_of (struct send_labels *labels, const struct series *series);
/* A number for the series: its family and labels. */
uint64_t send_labels_hash (const struct send_labels *labels, const struct metric_family *family);

#endif
