/* Text in HTML and SVG. */
#ifndef SYNOP_AGGREGATOR_JOB_MARKUP_H
#define SYNOP_AGGREGATOR_JOB_MARKUP_H

#include "synop/buffer.h"

/* A text of anybody's, in an element or between double quotes: as words_add, and escaped. */
void markup_text (struct buffer *out, const char *text, size_t limit);

#endif
