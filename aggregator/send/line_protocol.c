/* See line_protocol.h. */
#include "aggregator/send/line_protocol.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/clock.h"
#include "synop/memory.h"

/* A series' part of its lines: send_series.encoded. */
struct line_part {
  size_t length;
  char text[];
};

/* With a backslash before what ends a name. A backslash that would take one of these for itself is a slash, since there is no
 * other way to write it. */
static void
put_name (struct buffer *out, const char *text, size_t length, bool dashes)
{
  for (size_t i = 0; i < length; i++) {
    char byte = (unsigned char) text[i] < ' ' ? ' ' : text[i];
    if (strchr (", =", byte))
      buffer_add (out, "\\", 1);
    else if (byte == '\\' && (i + 1 == length || strchr (", =\\", text[i + 1])))
      byte = '/';
    else if (byte == '_' && dashes)
      byte = '-';
    buffer_add (out, &byte, 1);
  }
}

static void
put_tag (struct buffer *out, const char *key, const char *value, size_t length, bool dashes)
{
  buffer_add (out, ",", 1);
  put_name (out, key, strlen (key), dashes);
  buffer_add (out, "=", 1);
  put_name (out, value, length, false);
}

static bool
is_key (const struct send_label *label, const char *key, size_t length)
{
  return label->name->length == length && memcmp (label->name->text, key, length) == 0;
}

static const struct line_part *
encode (const struct line_style *style, const struct send_series *series)
{
  struct buffer text = { 0 };
  size_t usual = style->usual ? strcspn (style->usual, "=") : 0;
  struct line_part *part;
  bool has = false;

  put_name (&text, series->family->public->name, strlen (series->family->public->name), false);
  if (style->key)
    put_tag (&text, style->key, style->value, strlen (style->value), false);
  for (size_t i = 0; i < series->label_count; i++) {
    const struct send_label *label = &series->labels[i];
    if (i == series->instance || is_key (label, "__name__", 8) || (style->jobless && is_key (label, "job", 3)))
      continue;
    has |= style->usual && is_key (label, style->usual, usual);
    put_tag (&text, label->name->text, label->value->text, label->value->length, style->dashes);
  }
  if (style->usual && !has)
    buffer_printf (&text, ",%s", style->usual);
  buffer_printf (&text, ",%s=", style->node);
  part = memory_new (1, sizeof *part + text.length);
  part->length = text.length;
  memcpy (part->text, text.data, text.length);
  buffer_free (&text);
  return part;
}

void
line_put (struct buffer *out, const struct line_style *style, const struct send_sample *sample)
{
  const struct line_part *part = sample->series->encoded;

  int64_t ms = sample->time_ms;
  char number[32];

  if (sample->stale || !isfinite (sample->value))
    return;
  if (!part)
    part = sample->series->encoded = (void *) (uintptr_t) encode (style, sample->series);
  buffer_add (out, part->text, part->length);
  put_name (out, sample->node->text, sample->node->length, false);
  snprintf (number, sizeof number, "%.15g", sample->value);
  if (strtod (number, NULL) != sample->value)
    snprintf (number, sizeof number, "%.17g", sample->value);
  buffer_printf (out, " value=%s %" PRId64 "\n", number,
                 style->times == LINE_S    ? (ms + 500) / 1000
                 : style->times == LINE_NS ? ms * NS_PER_MS
                                           : ms);
}
