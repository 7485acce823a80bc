/* Writes series as text; see exposition.h.
 *
 *   # HELP node_load1 Tasks that ran or waited.
 *   # TYPE node_load1 gauge
 *   node_load1{instance="n1"} 0.21 1795372187165          milliseconds; OpenMetrics: seconds
 *
 * A sample is copied together from the pieces of its plan; what varies is the row, the number and the time. */
#include "synop/exposition.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/metrics/series_private.h"
#include "synop/frame.h"

#define NS_PER_MS 1000000

const char *
exposition_content_type (enum exposition_format format)
{
  return format == EXPOSITION_TEXT ? "text/plain; version=0.0.4; charset=utf-8"
                                   : "application/openmetrics-text; version=1.0.0; charset=utf-8";
}

void
exposition_begin (struct exposition *exposition, enum exposition_format format, bool instances,
                  const struct naming *naming, const struct series_node *nodes, size_t count)
{
  *exposition = (struct exposition){ .format = format, .instances = instances, .end = "\n", .end_length = 1 };
  series_begin (&exposition->walk, naming, nodes, count);
}

/* ---- texts ---- */

/* What has to be escaped, by its first byte. */
static const bool special[256] = { ['\n'] = true, ['"'] = true, ['\\'] = true };

static const char *
escape_of (char character)
{
  return character == '\n' ? "\\n" : character == '"' ? "\\\"" : character == '\\' ? "\\\\" : NULL;
}

/* Into room for twice its length; returns the end. */
static inline char *
escaped_put (char *to, const char *text, size_t length)
{
  for (const char *end = text + length; text < end; text++) {
    if (special[(unsigned char) *text]) {
      memcpy (to, escape_of (*text), 2);
      to += 2;
    } else {
      *to++ = *text;
    }
  }
  return to;
}

void
exposition_escape (struct buffer *out, const char *text, size_t length)
{
  char *to = buffer_reserve (out, 2 * length);

  out->length += (size_t) (escaped_put (to, text, length) - to);
}

_Static_assert(FAMILY_NAME_MAX + 2 * FRAME_NODE_MAX + 16 < sizeof ((struct exposition){ 0 }).begin,
               "what samples begin with fits");

/* ---- a family's own lines ---- */

static const char *const units[] = { "_seconds", "_bytes", "_joules",  "_celsius", "_hertz",
                                     "_ratio",   "_volts", "_amperes", "_watts",   "_bytes_per_second" };

/* The name without its type's end, and the type; OpenMetrics' own. */
static size_t
family_base (const struct metric_family *family, const char **type)
{
  bool counter = family->type == FAMILY_COUNTER && text_ends_with (family->name, "_total");
  bool info = family->type == FAMILY_INFO && text_ends_with (family->name, "_info");

  *type = counter                                                       ? "counter"
          : info                                                        ? "info"
          : family->type == FAMILY_GAUGE || family->type == FAMILY_INFO ? "gauge"
                                                                        : "unknown";
  return strlen (family->name) - (counter ? strlen ("_total") : info ? strlen ("_info") : 0);
}

static void
add_help (struct buffer *out, enum exposition_format format, const struct metric_family *family, size_t length)
{
  buffer_printf (out, "# HELP %.*s ", (int) length, family->name);
  for (const char *at = family->help; *at; at++) {
    const char *escape = *at == '"' && format == EXPOSITION_TEXT ? NULL : escape_of (*at);
    buffer_add (out, escape ? escape : at, escape ? 2 : 1);
  }
  buffer_add (out, "\n", 1);
}

const char *
exposition_unit (const struct metric_family *family)
{
  const char *type;
  size_t length = family_base (family, &type);

  for (size_t i = 0; family->type != FAMILY_INFO && i < sizeof units / sizeof units[0]; i++)
    if (length > strlen (units[i]) &&
        strncmp (family->name + length - strlen (units[i]), units[i], strlen (units[i])) == 0)
      return units[i] + 1;
  return "";
}

void
exposition_family (struct buffer *out, enum exposition_format format, const struct metric_family *family)
{
  static const char *const types[] = { "counter", "gauge", "gauge", "untyped" };
  size_t length = strlen (family->name);
  const char *type = types[family->type], *unit = "";

  if (format == EXPOSITION_OPENMETRICS) {
    length = family_base (family, &type);
    unit = exposition_unit (family);
  }
  if (family->help != NULL && family->help[0] != '\0')
    add_help (out, format, family, length);
  buffer_printf (out, "# TYPE %.*s %s\n", (int) length, family->name, type);
  if (*unit)
    buffer_printf (out, "# UNIT %.*s %s\n", (int) length, family->name, unit);
}

/* ---- samples ---- */

static inline char *
exposition_put (char *to, const char *text, size_t length)
{
  memcpy (to, text, length);
  return to + length;
}

static inline char *
value_put (char *to, const struct series_value *value)
{
  if (value->real)
    return number_put_real (to, value->number);
  if (value->negative && value->digits != 0)
    *to++ = '-';
  return value->places == 0 ? number_put_uint (to, value->digits)
                            : number_put_decimal (to, value->digits, value->places);
}

static char *
time_put (char *to, enum exposition_format format, int64_t time_ns)
{
  if (time_ns <= 0)
    return to;
  *to++ = ' ';
  return format == EXPOSITION_TEXT ? number_put_uint (to, (uint64_t) time_ns / NS_PER_MS)
                                   : number_put_decimal (to, (uint64_t) time_ns / NS_PER_MS, 3);
}

#define ENDS_SIZE (3 * NUMBER_SIZE + 32) /* braces, a value, a time */

/* What the samples of a family and a node begin with is made once. */
static void
samples_begin (struct exposition *exposition, const struct series *series)
{
  char *to = exposition->begin;

  exposition->family = series->family;
  exposition->node = series->node;
  to = exposition_put (to, series->family->name, strnlen (series->family->name, FAMILY_NAME_MAX));
  if (exposition->instances) {
    to = exposition_put (to, "{instance=\"", strlen ("{instance=\""));
    to = escaped_put (to, series->node->name, strnlen (series->node->name, FRAME_NODE_MAX));
    *to++ = '"';
  }
  exposition->begin_length = (size_t) (to - exposition->begin);
}

/* And what those of an instant end with. */
static void
samples_end (struct exposition *exposition, int64_t time_ns)
{
  char *to = exposition->end;

  exposition->time_ns = time_ns;
  to = time_put (to, exposition->format, time_ns);
  *to++ = '\n';
  exposition->end_length = (size_t) (to - exposition->end);
}

/* Of what may be longer than a row's label. */
static char *
metric_put (struct buffer *out, char *to, size_t room, const struct series *series, const struct plan_part *piece)
{
  char number[NUMBER_SIZE];
  struct series_text text = series_part (series, piece, number);

  out->length = (size_t) (to - out->data);
  return escaped_put (buffer_reserve (out, room + 2 * text.length), text.at, text.length);
}

static void
sample_add (struct exposition *exposition, struct buffer *out, const struct series *series)
{
  const struct plan_entry *entry = series->entry;
  size_t room = entry->room + sizeof exposition->begin + ENDS_SIZE;
  char *to = exposition_put (buffer_reserve (out, room), exposition->begin, exposition->begin_length),
       number[NUMBER_SIZE];

  if (entry->piece_count != 0)
    *to++ = exposition->instances ? ',' : '{';
  for (size_t i = 0; i < entry->piece_count; i++) {
    const struct plan_part *piece = &entry->pieces[i];

    if (piece->kind == PART_TEXT) {
      to = exposition_put (to, piece->text, piece->length);
    } else if (piece->kind == PART_METRIC || piece->kind == PART_NODE) {
      to = metric_put (out, to, room, series, piece);
    } else {
      struct series_text text = series_part (series, piece, number);
      to = escaped_put (to, text.at, text.length);
    }
  }
  if (entry->piece_count != 0 || exposition->instances)
    *to++ = '}';
  *to++ = ' ';
  to = value_put (to, &series->value);
  to = exposition_put (to, exposition->end, exposition->end_length);
  out->length = (size_t) (to - out->data);
}

bool
exposition_next (struct exposition *exposition, struct buffer *out, size_t limit)
{
  struct series series;

  while (out->length < limit) {
    if (!series_next (&exposition->walk, &series))
      return false;
    if (series.family != exposition->family)
      exposition_family (out, exposition->format, series.family);
    if (series.family != exposition->family || series.node != exposition->node)
      samples_begin (exposition, &series);
    if (series.time_ns != exposition->time_ns)
      samples_end (exposition, series.time_ns);
    sample_add (exposition, out, &series);
  }
  return true;
}

/* ---- by code ---- */

static char *
double_put (char *to, double value)
{
  if (isnan (value))
    return exposition_put (to, "NaN", 3);
  if (isinf (value))
    return value < 0 ? exposition_put (to, "-Inf", 4) : exposition_put (to, "+Inf", 4);
  return number_put_real (to, value);
}

void
exposition_sample (struct buffer *out, enum exposition_format format, const struct metric_family *family,
                   const struct exposition_label *labels, size_t count, double value, int64_t time_ns)
{
  char *to;

  buffer_add_string (out, family->name);
  for (size_t i = 0; i < count; i++) {
    buffer_printf (out, "%s%s=\"", i == 0 ? "{" : ",", labels[i].name);
    exposition_escape (out, labels[i].value, strlen (labels[i].value));
    buffer_add (out, "\"", 1);
  }
  if (count != 0)
    buffer_add (out, "}", 1);
  to = buffer_reserve (out, ENDS_SIZE);
  *to++ = ' ';
  to = double_put (to, value);
  to = time_put (to, format, time_ns);
  *to++ = '\n';
  out->length = (size_t) (to - out->data);
}

void
exposition_others_left_out (struct buffer *out, enum exposition_format format)
{
  static const struct metric_family family = { "synop_others_left_out",
                                               "1: whoever asks is no admin, and gets no series of jobs.",
                                               FAMILY_GAUGE };

  exposition_family (out, format, &family);
  exposition_sample (out, format, &family, NULL, 0, 1, 0);
}

void
exposition_end (struct buffer *out, enum exposition_format format)
{
  if (format == EXPOSITION_OPENMETRICS)
    buffer_add_string (out, "# EOF\n");
}
