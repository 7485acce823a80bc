/* What answers look like, as JSON Schema: one object, by name, with ' for ". */
#ifndef SYNOP_AGGREGATOR_API_SCHEMAS_H
#define SYNOP_AGGREGATOR_API_SCHEMAS_H

extern const char api_schemas[];

#endif
