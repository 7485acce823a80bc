/* The message of {"error":{"message":...}}, else the body's first line; to be freed. */
#ifndef SYNOP_AGGREGATOR_REACH_MESSAGE_H
#define SYNOP_AGGREGATOR_REACH_MESSAGE_H

char *reach_message (const char *body);

#endif
