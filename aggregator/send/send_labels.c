/* See send_labels.h. */
#include "aggregator/send/send_labels.h"

#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"

#define EXTRAS_MAX 62

void
send_labels_init (struct send_labels *labels, const struct send_options *options)
{
  const char *at = options->labels;

  labels->job = options->job;
  labels->extras = memory_new (EXTRAS_MAX, sizeof labels->extras[0]);
  while (labels->extra_count < EXTRAS_MAX && send_extra_next (&at, &labels->extras[labels->extra_count], NULL) > 0)
    labels->extra_count++;
}

void
send_labels_free (struct send_labels *labels)
{
  free (labels->extras);
  buffer_free (&labels->texts);
}

/* To its place among those that are there. One of that name stays: the first one counts. */
static void
send_label_insert (struct send_labels *labels, const char *name, const char *value, size_t length)
{
  size_t at = labels->count;
  int order = 1;

  if (length == 0)
    return;
  while (at > 0 && (order = strcmp (labels->list[at - 1].name, name)) > 0)
    at--;
  if (at > 0 && order == 0)
    return;
  memmove (&labels->list[at + 1], &labels->list[at], (labels->count - at) * sizeof labels->list[0]);
  labels->list[at] = (struct send_label){ name, value, length };
  labels->count++;
}

void
send_labels_of (struct send_labels *labels, const struct series *series)
{
  size_t count = series_labels (series, labels->parts, &labels->texts);

  labels->count = 0;
  send_label_insert (labels, "instance", series->node->name, strlen (series->node->name));
  send_label_insert (labels, "job", labels->job, strlen (labels->job));
  for (size_t i = 0; i < count; i++)
    send_label_insert (labels, labels->parts[i].name, labels->texts.data + labels->parts[i].offset,
                       labels->parts[i].length);
  for (size_t i = 0; i < labels->extra_count; i++)
    send_label_insert (labels, labels->extras[i].name, labels->extras[i].value, strlen (labels->extras[i].value));
}

/* Eight bytes at a time: each sample passes here. */
static uint64_t
mix (uint64_t hash, const char *bytes, size_t length)
{
  uint64_t word;

  for (; length >= sizeof word; bytes += sizeof word, length -= sizeof word) {
    memcpy (&word, bytes, sizeof word);
    hash = (hash ^ word) * UINT64_C (0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
  }
  word = length;
  memcpy (&word, bytes, length);
  hash = (hash ^ word ^ (uint64_t) length << 56) * UINT64_C (0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

uint64_t
send_labels_hash (const struct send_labels *labels, const struct metric_family *family)
{
  uint64_t hash = mix (1, family->name, strlen (family->name));

  for (size_t i = 0; i < labels->count; i++) {
    hash = mix (hash, labels->list[i].name, strlen (labels->list[i].name));
    hash = mix (hash, labels->list[i].value, labels->list[i].length);
  }
  return hash;
}
