/* What types that deliver lines share. */
#ifndef SYNOP_AGGREGATOR_SEND_TEXT_H
#define SYNOP_AGGREGATOR_SEND_TEXT_H

#include "aggregator/send/send_type.h"

/* The load's lines, one behind the other. */
static inline void
send_text (const struct send_load *load, struct buffer *text)
{
  buffer_clear (text);
  for (size_t i = 0; i < load->count; i++)
    buffer_add (text, load->text + load->lines[i].at, load->lines[i].length);
}

#endif
