/* Prometheus' text format 0.0.4, and OpenMetrics 1.0.
 *
 * OpenMetrics requires _total at the end of a counter's name and _info at the end of an info family's. Foreign names
 * without them keep their 0.0.4 name: such a counter has the type unknown, such an info family the type gauge. */
#ifndef SYNOP_EXPOSITION_H
#define SYNOP_EXPOSITION_H

#include "synop/buffer.h"
#include "synop/naming.h"
#include "synop/series.h"

enum exposition_format { EXPOSITION_TEXT, EXPOSITION_OPENMETRICS };
const char *exposition_content_type (enum exposition_format format);

/* ---- values of nodes ---- */

struct exposition {
  enum exposition_format format;
  bool instances; /* each series has the label instance, the node's name */
  /* The rest is private. */
  const struct metric_family *family; /* whose lines are being written */
  const struct series_node *node;
  char begin[640]; /* what its samples of that node begin with: node_load1{instance="n1" */
  size_t begin_length;
  int64_t time_ns; /* what they end with */
  char end[32];
  size_t end_length;
  struct series_walk walk;
};

/* The nodes must not move while they are written; their tables may change between two pieces. */
void exposition_begin (struct exposition *exposition, enum exposition_format format, bool instances,
                       const struct naming *naming, const struct series_node *nodes, size_t count);
/* Adds whole lines, until `out` holds `limit` bytes or more. False: all are written; families that are made by code
 * may follow, then the end. */
bool exposition_next (struct exposition *exposition, struct buffer *out, size_t limit);

/* ---- families that are made by code ---- */

struct exposition_label {
  const char *name, *value;
};

/* As OpenMetrics has it: what its name ends in, or "". */
const char *exposition_unit (const struct metric_family *family);
/* Its HELP and TYPE; all its samples follow, before another family's. */
void exposition_family (struct buffer *out, enum exposition_format format, const struct metric_family *family);
/* time_ns: 0: none. A counter's or info's name has its _total or _info, as the family's. */
void exposition_sample (struct buffer *out, enum exposition_format format, const struct metric_family *family,
                        const struct exposition_label *labels, size_t count, double value, int64_t time_ns);
/* synop_others_left_out 1: who asks is no admin. */
void exposition_others_left_out (struct buffer *out, enum exposition_format format);

/* ---- both ---- */

void exposition_end (struct buffer *out, enum exposition_format format); /* OpenMetrics: # EOF */
/* A label's value, without quotes around it. */
void exposition_escape (struct buffer *out, const char *text, size_t length);

#endif
