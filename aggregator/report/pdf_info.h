/* What a PDF says of itself: title, author, what made it. gnuplot's terminal cannot set it. */
#ifndef SYNOP_AGGREGATOR_PDF_INFO_H
#define SYNOP_AGGREGATOR_PDF_INFO_H

#include <stdint.h>

#include "synop/buffer.h"

struct pdf_info {
  const char *title, *author, *creator; /* UTF-8 */
  int64_t made_ns;
};

/* Adds it behind a document that ends with `pdf`; one of another form than cairo's stays as it is. */
void pdf_info_add (struct buffer *pdf, const struct pdf_info *info);

#endif
