/* Reads names files; the format stands in naming.h.
 *
 * A line is taken apart from left to right: words, labels in braces, texts in quotes. Whatever is wrong is an error that
 * says where and what was expected. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/metrics/naming_words.h"
#include "synop/config_suggest.h"
#include "synop/memory.h"
#include "synop/text.h"

#define LABELS_MAX 32
#define NUMBERS_MAX 64
#define LINE_FORM "METRIC FAMILY {LABEL=\"TEXT\", ...} TYPE rate *N /N /METRIC TEXT=N \"HELP\""

static const char *const type_names[] = { "counter", "gauge", "info", "untyped", NULL };

/* ---- labels ---- */

static int
label_check (const struct name_labels *labels, const char *name, struct error *error)
{
  if (!is_name (name, false) || strncmp (name, "__", 2) == 0)
    return error_set (error, "label \"%.64s\": expected letters, digits and '_', no digit first, no \"__\" first",
                      name);
  if (strcmp (name, "instance") == 0)
    return error_set (error, "label instance is the node's own, which the writer adds");
  for (size_t i = 0; i < labels->count; i++)
    if (strcmp (labels->list[i].name, name) == 0)
      return error_set (error, "label %s stands twice", name);
  return labels->count < LABELS_MAX ? 0 : error_set (error, "more than %d labels", LABELS_MAX);
}

static int
label_parse (struct reading *reading, size_t captures, struct name_labels *labels, struct error *error)
{
  struct name_label label = { 0 };
  char name[WORD_MAX], *text;

  words_word (reading, "=,}\"", name);
  if (label_check (labels, name, error) < 0)
    return -1;
  if (!words_take (reading, '='))
    return words_expected (reading, "LABEL=\"TEXT\"", error);
  text = words_quoted (reading, error);
  if (text == NULL || template_parse (reading->naming, text, captures, &label, error) < 0)
    return -1;
  label.name = words_keep (reading, name, strlen (name));
  labels->list[labels->count++] = label;
  return 0;
}

/* {a="b", c="d"}, behind those that are there. */
static int
labels_parse (struct reading *reading, size_t captures, struct name_labels *labels, struct error *error)
{
  if (!words_take (reading, '{'))
    return 0;
  while (words_peek (reading) != '}') {
    if (label_parse (reading, captures, labels, error) < 0)
      return -1;
    if (!words_take (reading, ',') && words_peek (reading) != '}')
      return words_expected (reading, "',' or '}' behind a label", error);
  }
  reading->at++;
  return 0;
}

static size_t
row_captures (const char *rows)
{
  return rows != NULL ? pattern_captures (rows) : 0;
}

/* Do they distinguish rows? */
static bool
labels_identify (const struct name_labels *labels, const char *rows)
{
  unsigned found = 0;

  for (size_t i = 0; i < labels->count; i++)
    for (size_t j = 0; j < labels->list[i].part_count; j++) {
      const struct name_part *part = &labels->list[i].parts[j];
      if (part->kind == PART_ROW)
        return true;
      if (part->kind == PART_CAPTURE)
        found |= 1u << part->index;
    }
  return found == (1u << row_captures (rows)) - 1;
}

static struct name_labels
labels_copy (struct reading *reading, const struct name_labels *from)
{
  struct name_labels labels = { .count = from->count };

  labels.list = naming_keep (reading->naming, memory_new (LABELS_MAX, sizeof *labels.list));
  if (from->count != 0)
    memcpy (labels.list, from->list, from->count * sizeof *labels.list);
  return labels;
}

/* ---- [GROUP ROWS] {...} ---- */

static int
block_parse (struct reading *reading, struct error *error)
{
  char group[WORD_MAX], rows[WORD_MAX];

  reading->at++;
  words_word (reading, "]", group);
  words_word (reading, "]", rows);
  if (!is_name (group, false) || !words_take (reading, ']'))
    return error_set (error, "expected [GROUP], or [GROUP ROWS] where ROWS is a pattern such as * or #");
  if (pattern_captures (rows) > CAPTURES_MAX)
    return error_set (error, "%s: expected at most %d of * and #", rows, CAPTURES_MAX);
  reading->group = words_keep (reading, group, strlen (group));
  reading->rows = rows[0] ? words_keep (reading, rows, strlen (rows)) : NULL;
  reading->labels = labels_copy (reading, &(struct name_labels){ 0 });
  if (labels_parse (reading, row_captures (reading->rows), &reading->labels, error) < 0)
    return -1;
  return words_peek (reading) == '\0'
             ? 0
             : words_expected (reading, "the end of the line behind [GROUP ROWS] {...}", error);
}

/* ---- METRIC FAMILY ... ---- */

static int
scale_parse (struct reading *reading, uint32_t *scale, struct error *error)
{
  char word[WORD_MAX], *end;
  unsigned long number;

  reading->at++;
  words_word (reading, "", word);
  errno = 0;
  number = strtoul (word, &end, 10);
  if (word[0] < '1' || word[0] > '9' || *end != '\0' || errno != 0 || number > UINT32_MAX || *scale != 0)
    return error_set (error, "scale %s: expected one *N and one /N at most, whole numbers from 1 to 2^32-1", word);
  *scale = (uint32_t) number;
  return 0;
}

static int
type_parse (const char *word, enum metric_family_type *type, struct error *error)
{
  struct suggestion suggestion = { .word = word };

  for (size_t i = 0; i < FAMILY_TYPES; i++) {
    if (strcmp (word, type_names[i]) == 0) {
      *type = (enum metric_family_type) i;
      return 0;
    }
    suggestion_consider (&suggestion, type_names[i]);
  }
  error_set (error, "\"%.64s\": expected a type (counter, gauge, info, untyped), rate, *N, /N, TEXT=N or \"HELP\"",
             word);
  if (suggestion.best[0])
    error_set (error, "%s; did you mean %s?", error->text, suggestion.best);
  return -1;
}

struct numbers {
  struct name_number list[NUMBERS_MAX];
  size_t count;
};

/* Behind the '='. */
static int
number_parse (struct reading *reading, char *text, struct numbers *numbers, struct error *error)
{
  char word[WORD_MAX], *end;
  double number;

  reading->at++;
  words_word (reading, "", word);
  number = strtod (word, &end);
  if (word[0] == '\0' || *end != '\0')
    return error_set (error, "%.64s=%.64s: expected TEXT=N, the number of a text", text, word);
  if (numbers->count == NUMBERS_MAX)
    return error_set (error, "more than %d of TEXT=N", NUMBERS_MAX);
  numbers->list[numbers->count++] = (struct name_number){ strcmp (text, "*") == 0 ? NULL : text, number };
  return 0;
}

/* What a line says of its family, if it does. */
struct said {
  enum metric_family_type type;
  bool typed;
  const char *help;
};

/* A text in quotes: what "text"=N is of, or the help. */
static int
quoted_parse (struct reading *reading, struct said *said, struct numbers *numbers, struct error *error)
{
  char *text = words_quoted (reading, error);

  if (text == NULL)
    return -1;
  if (reading->at < reading->end && *reading->at == '=')
    return number_parse (reading, text, numbers, error);
  said->help = text;
  return words_peek (reading) == '\0' ? 0 : words_expected (reading, "the end of the line behind \"HELP\"", error);
}

static int
word_parse (struct reading *reading, struct name_row *row, struct said *said, struct numbers *numbers,
            struct error *error)
{
  char word[WORD_MAX];

  words_word (reading, "=", word);
  if (reading->at < reading->end && *reading->at == '=')
    return number_parse (reading, words_keep (reading, word, strlen (word)), numbers, error);
  if (strcmp (word, "rate") == 0 && !row->rate) {
    row->rate = true;
    return 0;
  }
  if (said->typed)
    return error_set (error, "\"%.64s\": the type stands there already; expected *N, /N, TEXT=N or \"HELP\"", word);
  said->typed = true;
  return type_parse (word, &said->type, error);
}

/* /1000 or /total */
static int
over_parse (struct reading *reading, struct name_row *row, struct error *error)
{
  char word[WORD_MAX];

  if (reading->end - reading->at < 2 || !is_name_letter (reading->at[1]))
    return scale_parse (reading, &row->per, error);
  reading->at++;
  words_word (reading, "", word);
  if (!is_name (word, false) || row->over != NULL)
    return error_set (error, "/%.64s: expected /N, and one /METRIC at most", word);
  row->over = words_keep (reading, word, strlen (word));
  return 0;
}

/* All behind the labels. */
static int
rest_parse (struct reading *reading, struct name_row *row, struct said *said, struct error *error)
{
  struct numbers numbers = { .count = 0 };
  int rc = 0;

  while (rc == 0 && words_peek (reading) != '\0') {
    if (*reading->at == '"')
      rc = quoted_parse (reading, said, &numbers, error);
    else if (*reading->at == '*' && reading->end - reading->at > 1 && reading->at[1] != '=')
      rc = scale_parse (reading, &row->times, error);
    else if (*reading->at == '/')
      rc = over_parse (reading, row, error);
    else
      rc = word_parse (reading, row, said, &numbers, error);
  }
  if (rc < 0 || numbers.count == 0)
    return rc;
  row->numbers = naming_keep (reading->naming, memory_new (numbers.count, sizeof *row->numbers));
  memcpy ((void *) row->numbers, numbers.list, numbers.count * sizeof *row->numbers);
  row->number_count = numbers.count;
  return 0;
}

/* Plain characters of ASCII, a blank at neither end: what all take who take more than Prometheus. */
static bool
is_quoted_name (const char *text)
{
  size_t length = strlen (text);

  for (const char *at = text; *at; at++)
    if (*at < ' ' || *at > '~')
      return false;
  return length > 0 && length < WORD_MAX && *text != ' ' && text[length - 1] != ' ';
}

struct family_name {
  char text[WORD_MAX];
  bool quoted;
};

static int
family_name_parse (struct reading *reading, struct family_name *name, struct error *error)
{
  const char *text;

  name->quoted = words_peek (reading) == '"';
  if (!name->quoted) {
    words_word (reading, "{\"", name->text);
    return is_name (name->text, true) ? 0 : error_set (error, "expected " LINE_FORM);
  }
  text = words_quoted (reading, error);
  if (text == NULL)
    return -1;
  if (!is_quoted_name (text))
    return error_set (error, "\"%.64s\": expected a name of 1 to %d characters of ASCII", text, WORD_MAX - 1);
  strcpy (name->text, text);
  return 0;
}

/* The family that a line is of, made when it stands there first. */
static int
row_family (struct reading *reading, const struct family_name *name, const struct said *said, size_t *index,
            struct error *error)
{
  enum metric_family_type type = said->typed ? said->type : family_type_of (name->text);
  const struct naming_family *family;

  *index = naming_find_family (reading->naming, name->text);
  if (*index == SIZE_MAX) {
    struct naming_family made = { .file = reading->file, .line = reading->line };
    made.public = (struct metric_family){ words_keep (reading, name->text, strlen (name->text)), said->help, type,
                                          name->quoted, UNIT_NONE };
    *index = naming_add_family (reading->naming, &made);
    return 0;
  }
  family = reading->naming->families[*index];
  if (said->typed && type != family->public.type)
    return error_set (error, "%s is a %s here and a %s in %s:%u", name->text, type_names[type],
                      type_names[family->public.type], family->file, family->line);
  return 0;
}

static bool
text_equal (const char *one, const char *other)
{
  return strcmp (one ? one : "", other ? other : "") == 0;
}

static bool
label_equal (const struct name_label *one, const struct name_label *other)
{
  if (strcmp (one->name, other->name) != 0 || one->part_count != other->part_count)
    return false;
  for (size_t i = 0; i < one->part_count; i++) {
    const struct name_part *a = &one->parts[i], *b = &other->parts[i];
    if (a->kind != b->kind || a->index != b->index || !text_equal (a->text, b->text) ||
        !text_equal (a->group, b->group))
      return false;
  }
  return true;
}

static bool
labels_equal (const struct name_labels *one, const struct name_labels *other)
{
  if (one->count != other->count)
    return false;
  for (size_t i = 0; i < one->count; i++)
    if (!label_equal (&one->list[i], &other->list[i]))
      return false;
  return true;
}

/* Two lines must not make the same series: a scraper refuses all of the text then. */
static int
row_check (const struct reading *reading, const struct name_row *row, struct error *error)
{
  const struct naming *naming = reading->naming;

  if (row->rows != NULL && !labels_identify (&row->labels, row->rows))
    return error_set (error,
                      "the labels do not distinguish rows: expected \"$row\", or each of \"$1\" to \"$%zu\", in them",
                      row_captures (row->rows));
  for (size_t i = 0; i < naming->row_count; i++)
    if (naming->rows[i].family == row->family && labels_equal (&naming->rows[i].labels, &row->labels))
      return error_set (error, "%s with these labels stands in %s:%u", naming->families[row->family]->public.name,
                        naming->rows[i].file, naming->rows[i].line);
  return 0;
}

static int
row_parse (struct reading *reading, struct error *error)
{
  struct name_row row = {
    .group = reading->group, .rows = reading->rows, .file = reading->file, .line = reading->line
  };
  struct family_name family;
  char metric[WORD_MAX];
  struct said said = { 0 };

  if (reading->group == NULL)
    return error_set (error, "expected [GROUP] or [GROUP ROWS] before the first metric");
  words_word (reading, "{\"", metric);
  if (!is_name (metric, false))
    return error_set (error, "expected " LINE_FORM);
  if (family_name_parse (reading, &family, error) < 0)
    return -1;
  row.labels = labels_copy (reading, &reading->labels);
  if (labels_parse (reading, row_captures (reading->rows), &row.labels, error) < 0 ||
      rest_parse (reading, &row, &said, error) < 0 || row_family (reading, &family, &said, &row.family, error) < 0 ||
      row_check (reading, &row, error) < 0)
    return -1;
  row.metric = words_keep (reading, metric, strlen (metric));
  reading->naming->rows = memory_resize (reading->naming->rows, reading->naming->row_count + 1, sizeof row);
  reading->naming->rows[reading->naming->row_count++] = row;
  return 0;
}

/* - FAMILY "why": for people alone. */
static int
absent_parse (struct reading *reading, struct error *error)
{
  char family[WORD_MAX];

  reading->at++;
  words_word (reading, "\"", family);
  if (family[0] == '\0' || words_quoted (reading, error) == NULL || words_peek (reading) != '\0')
    return error_set (error, "expected - FAMILY \"why it is not there\"");
  return 0;
}

static int
line_parse (struct reading *reading, struct error *error)
{
  switch (words_peek (reading)) {
  case '\0':
  case '#':
    return 0;
  case '[':
    return block_parse (reading, error);
  case '-':
    return absent_parse (reading, error);
  default:
    return row_parse (reading, error);
  }
}

/* One byte that is no UTF-8 would have Prometheus refuse the page that it stands in. */
static bool
is_text (const char *text, size_t left)
{
  size_t length;

  for (; left > 0; text += length, left -= length)
    if (*text == '\0' || text_character (text, left, &length) == TEXT_BROKEN)
      return false;
  return true;
}

int
naming_read (struct naming *naming, const char *file, const char *text, size_t length, struct error *error)
{
  struct reading reading = { .naming = naming };
  const char *end = text + length;

  reading.file = naming_keep (naming, memory_string (file));
  if (!is_text (text, length))
    return error_set (error, "%s: it is no text of UTF-8", file);
  while (text < end) {
    const char *newline = memchr (text, '\n', (size_t) (end - text));

    reading.line++;
    reading.at = text;
    reading.end = newline != NULL ? newline : end;
    if (line_parse (&reading, error) < 0)
      return error_prefix (error, "%s:%u: ", file, reading.line);
    text = reading.end + (newline != NULL);
  }
  return 0;
}
