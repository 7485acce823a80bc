/* Arrow's metadata: Schema.fbs and Message.fbs. */
#ifndef SYNOP_AGGREGATOR_ARROW_SCHEMA_H
#define SYNOP_AGGREGATOR_ARROW_SCHEMA_H

#include "aggregator/columnar/columnar_private.h"
#include "synop/buffer.h"

#define ARROW_V5 4 /* MetadataVersion */

enum arrow_header { ARROW_SCHEMA = 1, ARROW_DICTIONARY, ARROW_RECORDS }; /* MessageHeader */

/* A table Schema for the field at `place`. The unit and help of a column are metadata of its field, the name and help of the
 * table metadata of the schema. A label is of numbers of a dictionary, whose id is that of its column. */
void arrow_schema_add (struct buffer *out, size_t place, const struct columnar *table);

/* A table Message, which is the root. Returns the place of its header. */
size_t arrow_message_begin (struct buffer *out, enum arrow_header header, size_t body_length);
/* "Encapsulated message format": the mark of a message, how long its metadata is, filled up to 8 bytes; the body follows. */
void arrow_message_add (struct buffer *out, const struct buffer *message);
/* The schema's. */
void arrow_schema_message (struct buffer *out, const struct columnar *table);

#endif
