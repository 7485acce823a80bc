/* This node's newest tables as samples of series, as they are sent. */
#ifndef SYNOP_AGENT_SEND_TABLES_H
#define SYNOP_AGENT_SEND_TABLES_H

#include "agent/send/send_settings.h"
#include "synop/schema.h"
#include "synop/table.h"

struct send_tables;

/* Of samples that `cloudwatch` wants. All stay. NULL and error: a names file is broken. */
struct send_tables *send_tables_create (const struct send_settings *settings, const char *node,
                                        struct cloudwatch *cloudwatch, const struct schema *schema,
                                        struct error *error);
void send_tables_destroy (struct send_tables *tables); /* NULL is fine */

/* The group's next table, to be filled. */
struct table *send_tables_next (struct send_tables *tables, size_t group);
/* Gives the samples of those that were filled since the last time. They are valid until send_tables_trim. */
void send_tables_give (struct send_tables *tables, int64_t wall_ns,
                       void (*give) (void *context, const struct send_sample *sample), void *context);
void send_tables_trim (struct send_tables *tables); /* now and then */

#endif
