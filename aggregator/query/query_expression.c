/* "GROUP.METRIC", or two of these with + - * / between them, of which one may be a number; see query_names.h. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/query/query_names.h"
#include "synop/memory.h"

#define TRIES_MAX 32 /* signs in a text without blanks at which it may be two metrics */

static const char *const ends[] = { "sum", "mean", "min", "max" };

/* A part of the text without the blanks around it. */
static char *
trimmed (const char *from, size_t length)
{
  while (length && isspace ((unsigned char) *from))
    from++, length--;
  while (length && isspace ((unsigned char) from[length - 1]))
    length--;
  return memory_copy (from, length);
}

/* A label of this one and of the other metric must be the same. */
static int
take_row (struct expression *expression, char *row, struct error *error)
{
  int result = 0;

  if (row && expression->row && strcmp (row, expression->row) != 0)
    result = error_set (error, "both metrics must be of the same row, not of %.64s and %.64s", expression->row, row);
  if (row && !expression->row)
    expression->row = row;
  else
    free (row);
  return result;
}

/* "load.load_1.mean", as lines of type cluster have it. */
static const struct catalog_entry *
find_combined (const struct catalog *catalog, const char *path, char **row)
{
  const char *dot = strrchr (path, '.');
  const struct catalog_entry *entry;
  char *head;
  size_t i = 0;

  while (dot && i < sizeof ends / sizeof ends[0] && strcmp (dot + 1, ends[i]) != 0)
    i++;
  if (!dot || i == sizeof ends / sizeof ends[0])
    return NULL;
  head = memory_copy (path, (size_t) (dot - path));
  entry = catalog_find (catalog, head, row, NULL);
  free (head);
  if (entry && !*row)
    *row = memory_string (ends[i]);
  return entry;
}

static int
read_operand (struct expression *expression, struct operand *operand, const struct catalog *catalog, const char *text,
              struct error *error)
{
  char *end, *row;

  operand->number = strtod (text, &end);
  if (*text && !*end && !isalpha ((unsigned char) *text))
    return isfinite (operand->number) ? 0 : error_set (error, "\"%.64s\" is too large", text);
  operand->entry = catalog_find (catalog, text, &row, error);
  if (!operand->entry && (operand->entry = find_combined (catalog, text, &row)))
    expression->combined = true;
  if (!operand->entry)
    return -1;
  if (operand->entry->kind == TEXT) {
    free (row);
    return error_set (error, "%s.%s is a text; only numbers can be asked for", operand->entry->group,
                      operand->entry->name);
  }
  return take_row (expression, row, error);
}

static int
read_both (struct expression *expression, const struct catalog *catalog, const char *text, const char *sign,
           struct error *error)
{
  char *left = trimmed (text, (size_t) (sign - text)), *right = trimmed (sign + 1, strlen (sign + 1));
  int result;

  expression->sign = *sign;
  result = *left && *right ? 0 : error_set (error, "expected METRIC %c METRIC", *sign);
  if (result == 0)
    result = read_operand (expression, &expression->left, catalog, left, error);
  if (result == 0)
    result = read_operand (expression, &expression->right, catalog, right, error);
  if (result == 0 && !expression->left.entry && !expression->right.entry)
    result = error_set (error, "one of \"%.64s\" and \"%.64s\" must be a metric", left, right);
  free (left);
  free (right);
  return result;
}

static bool
is_sign (char c)
{
  return c && strchr ("+-*/", c);
}

/* One with blanks around it. Labels of rows may have any of them within. */
static const char *
spaced_sign (const char *text)
{
  for (const char *at = text; *at; at++)
    if (is_sign (*at) && at > text && isspace ((unsigned char) at[-1]) && isspace ((unsigned char) at[1]))
      return at;
  return NULL;
}

static void
start_again (struct expression *expression)
{
  free (expression->row);
  *expression = (struct expression){ 0 };
}

int
expression_read (struct expression *expression, const struct catalog *catalog, const char *text, struct error *error)
{
  const char *sign = spaced_sign (text);
  char *whole = trimmed (text, strlen (text));
  size_t tries = 0;
  int result;

  *expression = (struct expression){ 0 };
  if (sign) {
    free (whole);
    if (spaced_sign (sign + 1))
      return error_set (error, "two metrics, or a metric and a number, are as much as there can be: METRIC %c METRIC",
                        *sign);
    return read_both (expression, catalog, text, sign, error);
  }
  result = read_operand (expression, &expression->left, catalog, whole, error);
  free (whole);
  if (result == 0 && !expression->left.entry)
    return error_set (error, "expected a metric, as load.load_1, not a number");
  for (const char *at = text; result < 0 && *at && tries < TRIES_MAX; at++) { /* "used/total" */
    if (!is_sign (*at) || at == text)
      continue;
    tries++;
    start_again (expression);
    result = read_both (expression, catalog, text, at, NULL);
  }
  return result;
}

void
expression_free (struct expression *expression)
{
  start_again (expression);
}

/* ---- what it is ---- */

bool
operand_is_counter (const struct operand *operand)
{
  const struct catalog_entry *entry = operand->entry;

  return entry && !entry->derived && entry->kind == COUNTER && !(entry->flags & METRIC_SHARE);
}

bool
expression_leads_right (const struct expression *expression, bool by_rows)
{
  return !expression->left.entry || (by_rows && !catalog_has_rows (expression->left.entry) && expression->right.entry);
}

double
expression_compute (char sign, double left, double right)
{
  double result = sign == '+' ? left + right : sign == '-' ? left - right : sign == '*' ? left * right : left / right;

  return isfinite (result) ? result : (double) NAN;
}

bool
expression_is_change (const struct expression *expression)
{
  return operand_is_counter (&expression->left) || operand_is_counter (&expression->right);
}

static char *
operand_name (const struct operand *operand)
{
  return operand->entry ? memory_format ("%s.%s", operand->entry->group, operand->entry->name)
                        : memory_format ("%.15g", operand->number);
}

static char *
operand_unit (const struct operand *operand, bool rate)
{
  const char *unit = operand->entry ? operand->entry->unit : "";

  return rate && operand_is_counter (operand) ? memory_format ("%s/s", *unit ? unit : "1") : memory_string (unit);
}

/* "bytes" for bytes + bytes and bytes * 8, "" for bytes / bytes, "bytes per seconds". */
static char *
computed_unit (char sign, const struct expression *expression, const char *left, const char *right)
{
  bool numbers = !expression->left.entry || !expression->right.entry;

  if (sign == '/' && strcmp (left, right) == 0)
    return memory_string ("");
  if (sign == '/' && *right)
    return memory_format ("%s per %s", *left ? left : "1", right);
  if (sign == '*' && *left && *right)
    return memory_format ("%s * %s", left, right);
  if (numbers || sign == '*' || sign == '/')
    return memory_string (*left ? left : right);
  return memory_string (strcmp (left, right) == 0 ? left : "");
}

void
expression_describe (const struct expression *expression, struct query_answer *answer, bool rate)
{
  char *left = operand_name (&expression->left), *unit = operand_unit (&expression->left, rate);
  const struct catalog_entry *entry = expression->left.entry;

  if (!expression->sign) {
    answer->metric = left;
    answer->unit = unit;
    answer->help = memory_string (entry->help);
    answer->shows = entry->derived                       ? QUERY_COMPUTED
                    : !expression_is_change (expression) ? QUERY_MEAN_OF
                    : rate                               ? QUERY_RATE
                                                         : QUERY_CHANGE;
    return;
  }
  char *right = operand_name (&expression->right), *other = operand_unit (&expression->right, rate);
  answer->metric = memory_format ("%s %c %s", left, expression->sign, right);
  answer->unit = computed_unit (expression->sign, expression, unit, other);
  answer->help = memory_string ("");
  answer->shows = QUERY_COMPUTED;
  free (left);
  free (unit);
  free (right);
  free (other);
}
