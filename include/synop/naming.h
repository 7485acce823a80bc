/* What metrics are called elsewhere: names files, and the rule for what stands in none. Data for Prometheus and its kin.
 *
 * A names file is lines of text:
 *
 *   # node-exporter's names                      a comment
 *   [load]                                       from here on: values of the node in this group
 *   load_1   node_load1                          metric here, family there
 *   [cpu_usage *] {cpu="$row"}                   from here on: values of its rows, with these labels
 *   user     node_cpu_seconds_total {mode="user"}  counter  "Seconds that each CPU spent in each mode."
 *   system   node_cpu_seconds_total {mode="system"}
 *   [infiniband *:*] {device="$1", port="$2"}    rows whose label is so made
 *   state    node_infiniband_state_id  DOWN=1 INIT=2 ARMED=3 ACTIVE=4
 *   rate     node_infiniband_rate_bytes_per_second  /8
 *   [gpu #] {gpu="$1", UUID="$gpu_info.uuid"}
 *   memory_used  DCGM_FI_DEV_FB_USED  /1048576  "Memory that is used, in MiB."
 *   - node_zfs_*  "ZFS is not sampled."          families that are not there, and why: for people
 *
 * [GROUP]: values of the node. [GROUP ROWS]: those of rows that look like ROWS, where `*` stands for any text and `#` for
 * digits; what they stand for is $1, $2 ..., and all of it is $row. Their labels, with those of the line, have to distinguish
 * rows: $row, or all of $1, $2 ... are in them.
 *
 * A line: METRIC FAMILY {LABEL="TEXT", ...} TYPE rate *N /N /METRIC TEXT=N "HELP". All behind FAMILY may be left out.
 * - METRIC: one of the group, or `error`, its error in words, "" when all is well; [node] has `time`, when it was
 *   sampled.
 * - FAMILY: letters, digits, '_' and ':'; or in quotes more of ASCII, for receivers other than Prometheus.
 * - TYPE: counter, gauge, info (its value is 1, where the metric has one) or untyped. Without it the family's name says
 *   it: counter where it ends in _total, info in _info, else gauge. It and HELP count where the family stands first;
 *   without HELP the metric's own is taken.
 * - *N /N: the value, which is in base units (bytes, seconds, percent as 0 to 100), times or over a whole number.
 *   Counters
 *   are totals as the node counts them; rate: a counter's change in a second, for names that are so elsewhere. /METRIC:
 *   over that metric of the same row, or of the node.
 * - TEXT=N: the number of a text; *=N of any other. One that has none is left out.
 * - in a label's TEXT: $row, $1 ..., $node (the node's name), $METRIC (of the same row, or of the node), $GROUP.METRIC
 *   (the
 *   same row of another group, or of the node), $GROUP[1].METRIC (the row of another group that is called as $1).
 *   ${...} is
 *   the same where letters follow, $$ a dollar. What is missing is empty.
 *
 * Groups and metrics that an agent does not have give nothing, since there are newer and older agents.
 *
 * The rule, for metrics and rows that stand in no file: synop_GROUP_METRIC_UNIT, with _total for counters; the row is the
 * label that the group calls it; percent becomes a ratio. A group's texts are labels of synop_GROUP_info. Families that
 * begin with synop_aggregator_, synop_cluster_ and synop_node_ are made by code: groups of such names are synop_group_... */
#ifndef SYNOP_NAMING_H
#define SYNOP_NAMING_H

#include <stdbool.h>
#include <stddef.h>

#include "synop/buffer.h"
#include "synop/error.h"
#include "synop/schema.h"

#define NAMING_RULE "synop" /* in a list of sets: the rule */

enum metric_family_type { FAMILY_COUNTER, FAMILY_GAUGE, FAMILY_INFO, FAMILY_UNTYPED, FAMILY_TYPES };

struct metric_family {
  const char *name; /* with its _total or _info */
  const char *help; /* a sentence; NULL: no schema with the metric was seen yet */
  enum metric_family_type type;
  bool quoted;           /* it stands in quotes in its file, and Prometheus does not take it */
  enum metric_unit unit; /* of its values, where they are as the metric has them; else, and at first, UNIT_NONE */
};

/* Names that were read, and the families that they make. */
struct naming;
struct naming *naming_create (void);
void naming_destroy (struct naming *naming);
bool naming_has_rates (const struct naming *naming); /* a name is of a counter's rate per second */
/* Groups and metrics, and one. */
size_t naming_schema_size (const struct schema *schema);
/* Of all schemas that have a plan: what these take grows with it. */
size_t naming_plans_size (const struct naming *naming);
void naming_forget_plans (struct naming *naming);         /* and the families that only they have */
size_t naming_family_count (const struct naming *naming); /* grows with plans */
const struct metric_family *naming_family (const struct naming *naming, size_t index);

/* Adds a names file: its text, and its name for errors, which say file, line, what was expected, and what may have been
 * meant. On an error the naming is of no more use. */
int naming_read (struct naming *naming, const char *file, const char *text, size_t length, struct error *error);
void naming_add_rule (struct naming *naming);
/* Adds sets: a list of names, "node-exporter, synop", and of paths, which have a '/' or end in .names. A name is that of a file NAME.names in
 * `folder`, or NAMING_RULE. */
int naming_load (struct naming *naming, const char *list, const char *folder, struct error *error);

/* -1 and error: a family stands in quotes, which Prometheus does not take. */
int naming_check_plain (const struct naming *naming, struct error *error);

/* The rule's name for a metric: PREFIX_GROUP_METRIC_UNIT, which is in that unit when it is multiplied with `factor`. */
void naming_rule_name (struct buffer *out, const char *prefix, const char *group, const char *metric,
                       enum metric_kind kind, enum metric_unit unit, double *factor);

/* The families of a schema's tables: computed once a schema, owned by the naming, valid as long as it. Not to be
 * called while another thread uses the naming. */
struct naming_plan;
const struct naming_plan *naming_plan (struct naming *naming, const struct schema *schema);

/* Adds a line for each row that gives nothing with this schema, with the nearest name that would. Returns how many. */
size_t naming_check (const struct naming *naming, const struct schema *schema, struct buffer *out);

#endif
