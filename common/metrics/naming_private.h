/* What the parts of naming share: naming.c (what was read), naming_parse.c (lines), naming_words.c (their words), naming_template.c (labels' texts),
 * naming_rule.c (names of what stands in no file), naming_plan.c (for a schema), naming_check.c, naming_load.c (files); and
 * the plan, which series.c walks. */
#ifndef SYNOP_NAMING_PRIVATE_H
#define SYNOP_NAMING_PRIVATE_H

#include <stdint.h>

#include "synop/hash_table.h"
#include "synop/naming.h"
#include "synop/table.h"

#define CAPTURES_MAX 4
#define FAMILY_NAME_MAX 400  /* bytes, by the rule of naming_rule.c; in files fewer */
#define METRIC_ERROR "error" /* of any group */
#define GROUP_OF_NODE "node" /* not a group: what is known of the frame */
#define METRIC_TIME "time"

/* ---- as it was read ---- */

enum part_kind { PART_TEXT, PART_ROW, PART_CAPTURE, PART_NODE, PART_METRIC };

/* A piece of a label's text. */
struct name_part {
  enum part_kind kind;
  const char *text;  /* PART_TEXT; PART_METRIC: its name */
  size_t length;     /* of the text */
  const char *group; /* PART_METRIC: another group; NULL: the same */
  unsigned index; /* PART_CAPTURE: which, from 0; PART_METRIC: the row is called as that one, from 1; 0: as this row */
};

struct name_label {
  const char *name;
  const struct name_part *parts;
  size_t part_count;
};

struct name_labels {
  struct name_label *list;
  size_t count;
};

/* The number of a text. */
struct name_number {
  const char *text; /* NULL: any */
  double number;
};

struct name_row {
  const char *group, *rows, *metric; /* `rows`: NULL: of the node */
  size_t family;
  struct name_labels labels;
  uint32_t times, per;
  bool rate;
  const char *over; /* metric; NULL: none */
  const struct name_number *numbers;
  size_t number_count;
  const char *file;
  unsigned line;
};

struct naming_family {
  struct metric_family public;
  UT_hash_handle hh; /* by its name */
  size_t index;
  const char *help; /* that it was made with */
  const char *file; /* where it stands first; NULL: by the rule */
  unsigned line;
  const char *group, *metric; /* by the rule: what it is of */
};

struct naming {
  struct naming_family **families, *by_name;
  size_t family_count, family_room;
  struct name_row *rows;
  size_t row_count;
  bool rule;
  struct naming_plan **plans;
  size_t plan_count, plans_size;
  void **memory; /* all else that was allocated, freed with it */
  size_t memory_count, memory_room;
  size_t read_families, read_memory; /* before the first plan */
};

/* Owned by the naming from now on. */
void *naming_keep (struct naming *naming, void *memory);
/* Its index, or SIZE_MAX. */
size_t naming_find_family (const struct naming *naming, const char *name);
size_t naming_add_family (struct naming *naming, const struct naming_family *family);
/* What a family's name says. */
enum metric_family_type family_type_of (const char *name);
bool text_ends_with (const char *text, const char *end);

/* Of a label's text as it stands in the file; `captures`: how many the row pattern has. */
int template_parse (struct naming *naming, const char *text, size_t captures, struct name_label *label,
                    struct error *error);

/* ---- patterns of rows ---- */

struct capture {
  const char *at;
  size_t length;
};
size_t pattern_captures (const char *pattern);
/* `captures` has room for CAPTURES_MAX. */
bool pattern_match (const char *pattern, const char *label, size_t length, struct capture *captures);

/* ---- for a schema ---- */

/* Of a line's metric. */
struct name_place {
  bool exists;
  size_t group, column;
};

#define COLUMN_ERROR (SIZE_MAX - 1)
#define COLUMN_TEXTS (SIZE_MAX - 2) /* 1 where a label has a text */
#define GROUP_FRAME SIZE_MAX        /* the frame's time */

/* A piece of a label's text: of PART_METRIC where it lies. */
struct plan_part {
  enum part_kind kind;
  const char *text;
  size_t length;
  unsigned index;
  size_t group, column;
  bool of_node, elsewhere; /* a value of the node; of another group than the entry's */
};

struct plan_label {
  const char *name;
  size_t name_length;
  const struct plan_part *parts;
  size_t part_count;
};

/* One metric, or its rows of one kind, in one family. */
struct plan_entry {
  size_t family, group, column;
  bool of_node, info;
  const char *pattern;       /* of rows; NULL: all */
  const char *const *except; /* patterns of rows that are not meant */
  size_t except_count;
  bool rate;
  size_t over;         /* column of the same row or of the node that it is divided by, */
  double over_factor;  /* and what brings that to its unit; 0: none */
  uint64_t times, per; /* what a raw value is multiplied with and divided by; */
  uint64_t digits;     /* the same as digits / 10^places, where that can be; 0: it cannot */
  int places;
  const struct name_number *numbers;
  size_t number_count;
  struct plan_label *labels;
  size_t label_count;
  const struct plan_part *pieces; /* the labels as they stand between braces; PART_TEXT is escaped */
  size_t piece_count;
  size_t room;  /* that they take at most, but for PART_METRIC and PART_NODE */
  bool of_rows; /* they follow from the row's label alone */
};

struct naming_plan {
  uint8_t schema[SCHEMA_HASH_SIZE];
  struct plan_entry *entries; /* by family */
  size_t entry_count, entry_room;
  size_t *first; /* of each family, and the end */
  size_t family_count;
};

/* Adds what the rule makes of a schema. */
void rule_add_entries (struct naming *naming, struct naming_plan *plan, const struct schema *schema,
                       const struct name_place *places);
/* An entry without labels, its scale worked out. */
struct plan_entry *plan_add_entry (struct naming_plan *plan, size_t family, size_t group, size_t column,
                                   const struct metric *metric, uint32_t times, uint32_t per);
void plan_labels (struct naming *naming, struct plan_entry *entry, const struct name_labels *labels,
                  const struct schema *schema);
size_t schema_find_group (const struct schema *schema, const char *name); /* SIZE_MAX: none */
size_t group_find_metric (const struct group *group, const char *name);   /* SIZE_MAX: none */
struct name_place name_row_place (const struct name_row *row, const struct schema *schema);

#endif
