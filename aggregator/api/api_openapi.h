/* The description of the API, OpenAPI 3.1, written from the table of addresses: docs/openapi.json. */
#ifndef SYNOP_AGGREGATOR_API_OPENAPI_H
#define SYNOP_AGGREGATOR_API_OPENAPI_H

#include "synop/buffer.h"

void api_openapi_write (struct buffer *out);

#endif
