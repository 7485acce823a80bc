/* What the files of reach share: reach_http.c (questions), reach_credential.c (what shows who asks). */
#ifndef SYNOP_AGGREGATOR_REACH_PRIVATE_H
#define SYNOP_AGGREGATOR_REACH_PRIVATE_H

#include "aggregator/reach/reach.h"

/* In the order in which they are tried. */
enum reach_credential { REACH_MUNGE, REACH_TOKEN, REACH_NOTHING, REACH_CREDENTIALS };
extern const char *const reach_credential_names[REACH_CREDENTIALS]; /* " by MUNGE" */

/* The header; empty: none is needed. -1 and error: there is no such credential. */
int reach_credential_make (enum reach_credential kind, const struct reach *reach, const char *target,
                           struct buffer *header, struct error *error);
int reach_put_output (void *context, const void *bytes, size_t length, struct error *error); /* standard output */

#endif
