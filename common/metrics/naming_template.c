/* The text of a label, with what is put into it: "nvidia$1", "$gpu_info.uuid", "${row}p"; see naming.h. */
#include "common/metrics/naming_private.h"

#include <string.h>

#include "synop/memory.h"

struct template
{
  struct naming *naming;
  struct buffer parts; /* of struct name_part */
  struct buffer text;  /* what stands between them */
};

static void
part_add (struct template *template, struct name_part part)
{
  buffer_add (&template->parts, &part, sizeof part);
}

static void
text_end (struct template *template)
{
  if (template->text.length == 0)
    return;

  char *text = naming_keep (template->naming, memory_copy (template->text.data, template->text.length));

  part_add (template, (struct name_part){ .kind = PART_TEXT, .text = text, .length = template->text.length });
  buffer_clear (&template->text);
}

static size_t
word_length (const char *text)
{
  return strspn (text, "abcdefghijklmnopqrstuvwxyz0123456789_");
}

static char *
word_keep (struct naming *naming, const char *text, size_t length)
{
  return naming_keep (naming, memory_copy (text, length));
}

/* "uuid", "gpu_info.uuid" or "gpu_info[1].uuid"; returns its end, or NULL. */
static const char *
metric_parse (struct naming *naming, const char *at, size_t captures, struct name_part *part)
{
  size_t length = word_length (at);

  if (length == 0)
    return NULL;
  part->kind = PART_METRIC;
  part->text = word_keep (naming, at, length);
  at += length;
  if (at[0] == '[' && at[1] >= '1' && at[1] <= '9' && at[2] == ']' && at[3] == '.') {
    part->index = (unsigned) (at[1] - '0');
    if (part->index > captures)
      return NULL;
    at += 3;
  }
  if (at[0] != '.' || word_length (at + 1) == 0)
    return part->index == 0 ? at : NULL;
  part->group = part->text;
  part->text = word_keep (naming, at + 1, word_length (at + 1));
  return at + 1 + word_length (at + 1);
}

/* What stands behind a dollar; returns its end, or NULL. */
static const char *
reference_parse (struct naming *naming, const char *at, size_t captures, struct name_part *part)
{
  size_t length = word_length (at);

  if (length == 3 && strncmp (at, "row", 3) == 0) {
    part->kind = PART_ROW;
    return at + 3;
  }
  if (length == 4 && strncmp (at, "node", 4) == 0 && at[4] != '.') {
    part->kind = PART_NODE;
    return at + 4;
  }
  if (*at >= '1' && *at <= '9') {
    part->kind = PART_CAPTURE;
    part->index = (unsigned) (*at - '1');
    return part->index < captures ? at + 1 : NULL;
  }
  return metric_parse (naming, at, captures, part);
}

static int
dollar_parse (struct template *template, const char **at, size_t captures, struct error *error)
{
  bool braced = (*at)[1] == '{';
  struct name_part part = { 0 };
  const char *end = reference_parse (template->naming, *at + 1 + braced, captures, &part);

  if (end == NULL || (braced && *end != '}'))
    return error_set (error,
                      "a label's text has \"%.32s\"; expected $row, $1 to $%zu, $node, $METRIC, $GROUP.METRIC or $$",
                      *at, captures);
  text_end (template);
  part_add (template, part);
  *at = end + braced;
  return 0;
}

int
template_parse (struct naming *naming, const char *text, size_t captures, struct name_label *label, struct error *error)
{
  struct template template = { .naming = naming };
  int rc = 0;

  while (rc == 0 && *text) {
    if (text[0] == '$' && text[1] != '$') {
      rc = dollar_parse (&template, &text, captures, error);
    } else {
      text += *text == '$';
      buffer_add (&template.text, text++, 1);
    }
  }
  text_end (&template);
  buffer_free (&template.text);
  label->parts = naming_keep (naming, template.parts.data);
  label->part_count = template.parts.length / sizeof (struct name_part);
  return rc;
}
