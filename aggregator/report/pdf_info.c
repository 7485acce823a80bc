/* See pdf_info.h: an incremental update, as the format has it (ISO 32000, 7.5.6). Behind the document come an object with the
 * information, cross-references to this object that refer to those before, and a trailer:
 *
 *   14 0 obj << /Title <FEFF004A> ... >> endobj
 *   xref 14 1 0000005891 00000 n trailer << /Size 15 /Root 13 0 R /Info 14 0 R /Prev 5525 >> startxref 6012 %%EOF
 *
 * Where the document has its cross-references as a stream (cairo from 1.18 on), so has the update. */
#include "aggregator/report/pdf_info.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "synop/clock.h"
#include "synop/text.h"

struct document {
  size_t xref; /* where its cross-references are */
  bool streams;
  unsigned size; /* the number that the next object has */
  unsigned root, generation;
};

static const char *
find_in (const struct buffer *pdf, size_t from, const char *word)
{
  return from < pdf->length ? memmem (pdf->data + from, pdf->length - from, word, strlen (word)) : NULL;
}

/* The last "startxref" is near the end. */
static bool
find_xref (const struct buffer *pdf, size_t *xref)
{
  const char *found = NULL, *next;
  size_t from = pdf->length > 1024 ? pdf->length - 1024 : 0;

  while ((next = find_in (pdf, from, "startxref"))) {
    found = next;
    from = (size_t) (next - pdf->data) + 1;
  }
  return found && sscanf (found, "startxref %zu", xref) == 1 && *xref < pdf->length;
}

static bool
document_read (struct document *document, struct buffer *pdf)
{
  const char *size, *root;

  buffer_text (pdf); /* ends with a NUL */
  if (!find_xref (pdf, &document->xref))
    return false;
  document->streams = strncmp (pdf->data + document->xref, "xref", 4) != 0;
  size = find_in (pdf, document->xref, "/Size");
  root = find_in (pdf, document->xref, "/Root");
  return size && root && sscanf (size, "/Size %u", &document->size) == 1 &&
         sscanf (root, "/Root %u %u R", &document->root, &document->generation) == 2;
}

/* A text as UTF-16, of which no byte has a meaning for the format. */
static void
add_text (struct buffer *pdf, const char *key, const char *text)
{
  size_t left = strlen (text), length;

  buffer_printf (pdf, "/%s <FEFF", key);
  for (; left > 0; text += length, left -= length) {
    uint32_t c = text_character (text, left, &length);
    if (c > 0xffff && c <= 0x10ffff)
      buffer_printf (pdf, "%04X%04X", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + (c & 0x3ff));
    else
      buffer_printf (pdf, "%04X", c > 0xffff ? 0xfffd : c);
  }
  buffer_add_string (pdf, ">\n");
}

static void
add_info (struct buffer *pdf, const struct pdf_info *info)
{
  time_t seconds = (time_t) (info->made_ns / NS_PER_S);
  char date[32];
  struct tm tm;

  gmtime_r (&seconds, &tm);
  strftime (date, sizeof date, "D:%Y%m%d%H%M%SZ", &tm);
  add_text (pdf, "Title", info->title);
  if (*info->author)
    add_text (pdf, "Author", info->author);
  add_text (pdf, "Creator", info->creator);
  buffer_printf (pdf, "/Producer (gnuplot, cairo) /CreationDate (%s)", date);
}

static void
add_entry (struct buffer *pdf, size_t offset)
{
  const char bytes[] = { 1, (char) (offset >> 24), (char) (offset >> 16), (char) (offset >> 8), (char) offset, 0 };

  buffer_add (pdf, bytes, sizeof bytes);
}

void
pdf_info_add (struct buffer *pdf, const struct pdf_info *info)
{
  struct document document;
  size_t object, xref;
  unsigned number;

  if (!document_read (&document, pdf))
    return;
  number = document.size;
  buffer_add_string (pdf, "\n");
  object = pdf->length;
  buffer_printf (pdf, "%u 0 obj\n<< ", number);
  add_info (pdf, info);
  buffer_add_string (pdf, " >>\nendobj\n");
  xref = pdf->length;
  if (document.streams)
    buffer_printf (pdf, "%u 0 obj\n<< /Type /XRef /W [1 4 1] /Index [%u 2] /Length 12", number + 1, number);
  else
    buffer_printf (pdf, "xref\n%u 1\n%010zu 00000 n \ntrailer\n<<", number, object);
  buffer_printf (pdf, " /Size %u /Root %u %u R /Info %u 0 R /Prev %zu >>\n", number + (document.streams ? 2 : 1),
                 document.root, document.generation, number, document.xref);
  if (document.streams) {
    buffer_add_string (pdf, "stream\n");
    add_entry (pdf, object);
    add_entry (pdf, xref);
    buffer_add_string (pdf, "\nendstream\nendobj\n");
  }
  buffer_printf (pdf, "startxref\n%zu\n%%%%EOF\n", xref);
}
