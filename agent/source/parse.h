/* Reading the text of /proc and /sys, by hand and without allocation: words, numbers, "KEY VALUE" lines, columns.
 *
 * Unexpected text gives missing values. The key-value and column readers follow declarations: metric.source names
 * the key or the column, so that a metric is one row in a table and no code. */
#ifndef SYNOP_AGENT_PARSE_H
#define SYNOP_AGENT_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "synop/buffer.h"
#include "synop/metric.h"
#include "synop/table.h"

/* A text that is being read: the part from `at` to `end` is left. */
struct scan {
  const char *at, *end;
};

/* `text` may be NULL when it is empty. */
static inline struct scan
scan_over (const char *text, size_t length)
{
  if (length == 0)
    text = "";
  return (struct scan){ text, text + length };
}

static inline struct scan
scan_buffer (const struct buffer *buffer)
{
  return scan_over (buffer->data, buffer->length);
}

static inline size_t
scan_length (const struct scan *scan)
{
  return (size_t) (scan->end - scan->at);
}

/* Takes the next line, without its newline. False at the end. */
static inline bool
scan_line (struct scan *rest, struct scan *line)
{
  const char *newline;

  if (rest->at == rest->end)
    return false;
  newline = memchr (rest->at, '\n', scan_length (rest));
  line->at = rest->at;
  line->end = newline ? newline : rest->end;
  rest->at = newline ? newline + 1 : rest->end;
  return true;
}

/* Takes the next word: a run of non-blanks. False when there is none. */
bool scan_word (struct scan *rest, struct scan *word);
/* Takes `prefix` when the text begins with it. */
bool scan_prefix (struct scan *rest, const char *prefix);
/* Takes blanks and a decimal number up to the first other character. False, and nothing taken, when there is none or
 * it exceeds 64 bits. */
bool scan_uint (struct scan *rest, uint64_t *value);
/* Takes hexadecimal digits up to the first other character. False, and nothing taken, when there are none or more than 16. */
bool scan_hex (struct scan *rest, uint64_t *value);
/* Takes the next part of a list as the kernel writes sets of CPUs: of "0-3,8" 0 to 3, then 8 to 8. False, and nothing taken,
 * at the end and where it is no such list. */
bool scan_list_next (struct scan *list, uint64_t *first, uint64_t *last);
/* How many there are in such a list. False when there is none, or it is no such list. */
bool scan_list_count (struct scan list, uint64_t *count);
bool scan_list_has (struct scan list, uint64_t number);
/* How many words there are, and how many of them are unsigned numbers. */
size_t scan_count (struct scan line, size_t *numbers);
/* Takes the next word as a number: a COUNTER is unsigned and whole; a GAUGE may have a sign and a fraction. Any
 * other word is taken and gives a missing value. False when there is no word. */
bool scan_value (struct scan *rest, enum metric_kind kind, struct value *value);

/* Finds a group's metrics by their source: one key, or several separated by blanks, whose values are added (a
 * counter that newer kernels split or rename). '?' before a key: not every kernel has it. Metrics without a source
 * are left out. */
struct key_index {
  const struct group *group;
  struct key_slot {
    const char *key; /* into the declaration, without the '?'; NULL: free */
    uint16_t length, metric;
    bool optional;
    enum key_state {
      KEY_UNREAD,
      KEY_READ,
      KEY_BAD,      /* the key has no number */
      KEY_REPORTED, /* in another unit, which the error reports already */
    } state;        /* since the last check */
  } * slots;
  size_t mask; /* number of slots, a power of two, minus 1 */
};

/* The metrics whose METRIC_OF_NODE flag is as in `of_node` (METRIC_OF_NODE or 0). */
void key_index_init (struct key_index *index, const struct group *group, uint32_t of_node);
void key_index_free (struct key_index *index);
size_t key_index_find (const struct key_index *index, const char *key, size_t length); /* SIZE_MAX: none */
/* Adds the next word, which must be a number, to the key's metric. False when there is no such key or number. A key
 * that occurs again before the next check is left out, with a complaint: sums are over different keys. */
bool key_index_take (const struct key_index *index, const char *key, size_t length, struct scan *word,
                     struct table *table, size_t row);
/* Checks which keys of a file with that prefix ("": all) had no number since the last check though they should. The
 * metric of such a key is missing then, whatever its other keys gave, and a complaint names `path`; NULL: there is a
 * complaint already, as the file could not be read. */
void key_index_check (const struct key_index *index, const char *prefix, const char *path, struct table *table,
                      size_t row);

/* Reads lines "KEY VALUE" and "KEY: VALUE kB" into `row` (TABLE_NODE: the node's values); `skip` words stand before
 * each key. Lines of other keys are passed over. Behind a colon the unit has to be the metric's: "kB" for bytes times
 * 1024, else none; in another the value is missing, and the table's error shows the line. Returns how many values it
 * found. */
size_t parse_key_values (struct scan text, size_t skip, const struct key_index *index, struct table *table, size_t row);
/* Adds a value to a metric, which has none or those of other keys. */
void parse_add (struct value *sum, const struct value *part);

/* Finds a group's row metrics by their source: the number of the column, the line's first word being column 1. */
#define COLUMNS_MAX 64
struct column_map {
  const struct group *group;
  uint16_t metric[COLUMNS_MAX + 1]; /* index into the group's metrics + 1; 0: no metric has this column */
  size_t last;                      /* the last column in use */
};

void column_map_init (struct column_map *map, const struct group *group);
/* Reads the rest of a line, which begins at column `first`, into `row`. Returns the number of values found. */
size_t parse_columns (struct scan line, size_t first, const struct column_map *map, struct table *table, size_t row);

#endif
