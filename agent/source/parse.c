/* Reading the text of /proc and /sys. On machines with hundreds of CPUs that is tens of thousands of digits a
 * sample, so each byte is read once. */
#include "agent/source/parse.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "synop/memory.h"

#define LIST_MOST (1 << 20) /* numbers in a list of CPUs */

static bool
is_blank (char c)
{
  return c == ' ' || c == '\t';
}

static bool
is_digit (char c)
{
  return c >= '0' && c <= '9';
}

static void
skip_blanks (struct scan *rest)
{
  while (rest->at < rest->end && is_blank (*rest->at))
    rest->at++;
}

static void
skip_word (struct scan *rest)
{
  while (rest->at < rest->end && !is_blank (*rest->at) && *rest->at != '\n')
    rest->at++;
}

bool
scan_word (struct scan *rest, struct scan *word)
{
  skip_blanks (rest);
  word->at = rest->at;
  skip_word (rest);
  word->end = rest->at;
  return word->at < word->end;
}

bool
scan_prefix (struct scan *rest, const char *prefix)
{
  size_t length = strlen (prefix);

  if (scan_length (rest) < length || memcmp (rest->at, prefix, length) != 0)
    return false;
  rest->at += length;
  return true;
}

/* Reads digits at `at` as one number. Returns their end, or NULL when there is none or the number exceeds 64 bits. */
static inline const char *
read_digits (const char *at, const char *end, uint64_t *value)
{
  const char *begin = at, *sure = end - at > 19 ? at + 19 : end; /* 19 digits always fit */
  uint64_t number = 0;

  for (; at < sure && is_digit (*at); at++)
    number = number * 10 + (unsigned) (*at - '0');
  for (; at < end && is_digit (*at); at++) {
    unsigned digit = (unsigned) (*at - '0');
    if (number > UINT64_MAX / 10 || number * 10 > UINT64_MAX - digit)
      return NULL;
    number = number * 10 + digit;
  }
  *value = number;
  return at > begin ? at : NULL;
}

bool
scan_uint (struct scan *rest, uint64_t *value)
{
  struct scan ahead = *rest;
  const char *behind;

  skip_blanks (&ahead);
  behind = read_digits (ahead.at, ahead.end, value);
  if (behind == NULL)
    return false;
  rest->at = behind;
  return true;
}

bool
scan_hex (struct scan *rest, uint64_t *value)
{
  const char *at = rest->at;
  uint64_t number = 0;

  for (; at < rest->end && isxdigit ((unsigned char) *at); at++)
    number = number * 16 + (is_digit (*at) ? (unsigned) (*at - '0') : (unsigned) (*at | 0x20) - 'a' + 10);
  if (at == rest->at || at - rest->at > 16)
    return false;
  rest->at = at;
  *value = number;
  return true;
}

bool
scan_list_next (struct scan *list, uint64_t *first, uint64_t *last)
{
  struct scan rest = *list;

  if (!scan_uint (&rest, first))
    return false;
  *last = *first;
  if (scan_prefix (&rest, "-") && !scan_uint (&rest, last))
    return false;
  if (*last - *first > LIST_MOST) /* too long, or its end is the smaller */
    return false;
  scan_prefix (&rest, ",");
  *list = rest;
  return true;
}

bool
scan_list_count (struct scan list, uint64_t *count)
{
  uint64_t first, last;

  for (*count = 0; *count <= LIST_MOST && scan_list_next (&list, &first, &last);)
    *count += last - first + 1;
  return *count != 0 && !scan_uint (&list, &first);
}

bool
scan_list_has (struct scan list, uint64_t number)
{
  uint64_t first, last;

  while (scan_list_next (&list, &first, &last))
    if (first <= number && number <= last)
      return true;
  return false;
}

/* The fraction of a decimal number, from its point on, added to the whole part. Digits of both together beyond 10^15
 * are dropped: up to there the quotient below is the nearest double. */
static const char *
read_fraction (const char *at, const char *end, uint64_t whole, double *value)
{
  static const double powers[] = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15
  };
  uint64_t number = whole;
  size_t digits = 0;

  for (at++; at < end && is_digit (*at); at++) {
    if (number < UINT64_C (100000000000000) && digits < sizeof powers / sizeof powers[0] - 1) {
      number = number * 10 + (unsigned) (*at - '0');
      digits++;
    }
  }
  *value = (double) number / powers[digits];
  return at;
}

/* A word that is not plain digits: signed, with a fraction, or no number at all. */
static void
read_odd_number (struct scan word, struct value *value)
{
  const char *at = word.at;
  bool negative = *at == '-';
  uint64_t whole = 0;
  double real;

  at = read_digits (at + negative, word.end, &whole);
  if (at == NULL)
    return;
  if (at < word.end && *at == '.') {
    at = read_fraction (at, word.end, whole, &real);
    if (at == word.end)
      *value = (struct value){ .type = VALUE_REAL, .as.d = negative ? -real : real };
  } else if (at == word.end && negative && whole <= (uint64_t) INT64_MAX) {
    *value = (struct value){ .type = VALUE_INT, .as.i = -(int64_t) whole };
  } else if (at == word.end && !negative) {
    *value = (struct value){ .type = VALUE_UINT, .as.u = whole };
  }
}

/* Reads a word that is not plain digits, or has too many. */
static bool
scan_odd_value (struct scan *rest, enum metric_kind kind, struct value *value)
{
  struct scan word;

  value->type = VALUE_MISSING;
  if (!scan_word (rest, &word))
    return false;
  if (kind == GAUGE)
    read_odd_number (word, value);
  return true;
}

static inline bool
scan_value_inline (struct scan *rest, enum metric_kind kind, struct value *value)
{
  const char *behind;
  uint64_t number;

  skip_blanks (rest);
  behind = read_digits (rest->at, rest->end, &number);
  if (behind == NULL || (behind < rest->end && !is_blank (*behind) && *behind != '\n'))
    return scan_odd_value (rest, kind, value);
  rest->at = behind;
  value->type = VALUE_UINT;
  value->as.u = number;
  return true;
}

bool
scan_value (struct scan *rest, enum metric_kind kind, struct value *value)
{
  return scan_value_inline (rest, kind, value);
}

size_t
scan_count (struct scan line, size_t *numbers)
{
  struct value value;
  size_t words = 0;

  *numbers = 0;
  for (; scan_value_inline (&line, COUNTER, &value); words++)
    *numbers += value.type != VALUE_MISSING;
  return words;
}

/* Hashes both ends of the key: the kernel's keys of one file differ there. */
static inline size_t
key_hash (const char *key, size_t length)
{
  uint64_t first = 0, last = 0;

  if (length >= sizeof first) {
    memcpy (&first, key, sizeof first);
    memcpy (&last, key + length - sizeof last, sizeof last);
  } else {
    memcpy (&first, key, length);
  }
  return (size_t) (((first ^ last * 31) * UINT64_C (0x9e3779b97f4a7c15) + length) >> 32);
}

static void
key_index_add (struct key_index *index, struct scan key, size_t metric)
{
  bool optional = scan_prefix (&key, "?");
  size_t length = scan_length (&key), slot = key_hash (key.at, length) & index->mask;

  while (index->slots[slot].key != NULL)
    slot = (slot + 1) & index->mask;
  index->slots[slot] = (struct key_slot){ key.at, (uint16_t) length, (uint16_t) metric, optional, KEY_UNREAD };
}

void
key_index_init (struct key_index *index, const struct group *group, uint32_t of_node)
{
  struct scan source, key;
  size_t keys = 0, size = 8;

  for (int adding = 0; adding <= 1; adding++) { /* count, then add */
    if (adding) {
      while (size < keys * 4)
        size *= 2;
      index->slots = memory_new (size, sizeof *index->slots);
      index->mask = size - 1;
      index->group = group;
    }
    for (size_t metric = 0; metric < group->metric_count; metric++) {
      const struct metric *declared = &group->metrics[metric];
      if (declared->source == NULL || (declared->flags & METRIC_OF_NODE) != of_node)
        continue;
      source = scan_over (declared->source, strlen (declared->source));
      while (scan_word (&source, &key)) {
        keys++;
        if (adding)
          key_index_add (index, key, metric);
      }
    }
  }
}

void
key_index_free (struct key_index *index)
{
  free (index->slots);
  index->slots = NULL;
}

static struct key_slot *
find_slot (const struct key_index *index, const char *key, size_t length)
{
  struct key_slot *slot;
  size_t at;

  if (length == 0)
    return NULL;
  for (at = key_hash (key, length) & index->mask; (slot = &index->slots[at])->key != NULL; at = (at + 1) & index->mask)
    if (slot->length == length && memcmp (slot->key, key, length) == 0)
      return slot;
  return NULL;
}

size_t
key_index_find (const struct key_index *index, const char *key, size_t length)
{
  const struct key_slot *slot = find_slot (index, key, length);

  return slot ? slot->metric : SIZE_MAX;
}

static bool
slot_take (const struct key_index *index, struct key_slot *slot, struct scan *word, struct table *table, size_t row)
{
  struct value value = { 0 };

  if (slot->state == KEY_READ) {
    table_complain (table, "%.*s is there twice", slot->length, slot->key);
    return false;
  }
  scan_value (word, index->group->metrics[slot->metric].kind, &value);
  slot->state = value.type == VALUE_MISSING ? KEY_BAD : KEY_READ;
  parse_add (table_value (table, row, slot->metric), &value);
  return slot->state == KEY_READ;
}

bool
key_index_take (const struct key_index *index, const char *key, size_t length, struct scan *word, struct table *table,
                size_t row)
{
  struct key_slot *slot = find_slot (index, key, length);

  return slot != NULL && slot_take (index, slot, word, table, row);
}

void
key_index_check (const struct key_index *index, const char *prefix, const char *path, struct table *table, size_t row)
{
  size_t length = strlen (prefix);

  for (size_t i = 0; i <= index->mask; i++) {
    struct key_slot *slot = &index->slots[i];
    enum key_state state = slot->state;
    if (slot->key == NULL || slot->length < length || memcmp (slot->key, prefix, length) != 0)
      continue;
    slot->state = KEY_UNREAD;
    if (state == KEY_READ || (state == KEY_UNREAD && slot->optional))
      continue;
    table_value (table, row, slot->metric)->type = VALUE_MISSING;
    if (path && state != KEY_REPORTED)
      table_complain (table, "%s: no %s%.*s", path, state == KEY_BAD ? "number for " : "", slot->length, slot->key);
  }
}

void
parse_add (struct value *sum, const struct value *part)
{
  if (sum->type == VALUE_UINT && part->type == VALUE_UINT)
    sum->as.u += part->as.u;
  else if (part->type != VALUE_MISSING)
    *sum = *part;
}

/* A number in a line "KEY: VALUE UNIT" must be in the metric's unit, kB or none; another unit would make it wrong by
 * 1024. */
static bool
unit_check (struct scan line, struct scan value, const struct metric *metric, struct table *table)
{
  const char *expected = metric->unit == UNIT_BYTES && metric->times == 1024 ? "kB" : "";
  struct scan unit;
  uint64_t number;

  if (!scan_uint (&value, &number))
    return true;
  scan_word (&value, &unit);
  if (scan_length (&unit) == strlen (expected) && memcmp (unit.at, expected, scan_length (&unit)) == 0)
    return true;
  table_complain (table, "\"%.*s\": expected %s", (int) scan_length (&line), line.at, expected[0] ? "kB" : "no unit");
  return false;
}

/* /proc/meminfo        "MemTotal:       24684084 kB"
 * node0/meminfo        "Node 0 MemTotal:        5073100 kB"    (skip: 2)
 * /proc/vmstat         "pgfault 1698047"
 * /proc/stat           "intr 251554 0 0 ..."                   (the first number is the sum) */
size_t
parse_key_values (struct scan text, size_t skip, const struct key_index *index, struct table *table, size_t row)
{
  struct scan line, word;
  size_t found = 0;

  while (scan_line (&text, &line)) {
    struct scan whole = line;
    struct key_slot *slot;
    const char *key;
    for (size_t i = 0; i < skip; i++)
      scan_word (&line, &word);
    skip_blanks (&line);
    key = line.at;
    while (line.at < line.end && (unsigned char) *line.at > ' ' && *line.at != ':')
      line.at++;
    slot = find_slot (index, key, (size_t) (line.at - key));
    if (slot == NULL)
      continue;
    if (line.at < line.end && *line.at == ':') {
      line.at++;
      if (!unit_check (whole, line, &index->group->metrics[slot->metric], table)) {
        slot->state = KEY_REPORTED;
        continue;
      }
    }
    found += slot_take (index, slot, &line, table, row);
  }
  return found;
}

void
column_map_init (struct column_map *map, const struct group *group)
{
  *map = (struct column_map){ .group = group };
  for (size_t metric = 0; metric < group->metric_count; metric++) {
    const struct metric *declared = &group->metrics[metric];
    struct scan source;
    uint64_t column;
    if (declared->source == NULL || declared->flags & METRIC_OF_NODE)
      continue;
    source = scan_over (declared->source, strlen (declared->source));
    if (!scan_uint (&source, &column) || scan_length (&source) > 0 || column == 0 || column > COLUMNS_MAX)
      continue;
    map->metric[column] = (uint16_t) (metric + 1);
    if (column > map->last)
      map->last = column;
  }
}

size_t
parse_columns (struct scan line, size_t first, const struct column_map *map, struct table *table, size_t row)
{
  struct value *cells = table_value (table, row, 0); /* a row's cells are contiguous */
  struct value unused;
  size_t found = 0;

  for (size_t column = first; column <= map->last; column++) {
    size_t metric = map->metric[column];
    struct value *value = metric > 0 ? &cells[metric - 1] : &unused;
    enum metric_kind kind = metric > 0 ? map->group->metrics[metric - 1].kind : COUNTER;
    if (!scan_value_inline (&line, kind, value))
      break;
    found += metric > 0 && value->type != VALUE_MISSING;
  }
  return found;
}
