/* See job_markup.h. */
#include "aggregator/report/job_markup.h"

#include "aggregator/report/job_words.h"

void
markup_text (struct buffer *out, const char *text, size_t limit)
{
  struct buffer clean = { 0 };

  words_add (&clean, text, limit);
  for (size_t i = 0; i < clean.length; i++)
    switch (clean.data[i]) {
    case '&':
      buffer_add_string (out, "&amp;");
      break;
    case '<':
      buffer_add_string (out, "&lt;");
      break;
    case '>':
      buffer_add_string (out, "&gt;");
      break;
    case '"':
      buffer_add_string (out, "&quot;");
      break;
    case '\'':
      buffer_add_string (out, "&#39;");
      break;
    default:
      buffer_add (out, clean.data + i, 1);
    }
  buffer_free (&clean);
}
