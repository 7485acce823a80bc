/* Credentials of MUNGE: munged, which a cluster that runs SLURM has on every host, vouches for who made them and when, and
 * refuses what is too old or comes again. libmunge.so.2 is loaded when it is first needed. */
#ifndef SYNOP_AGGREGATOR_ACCESS_MUNGE_H
#define SYNOP_AGGREGATOR_ACCESS_MUNGE_H

#include <stdbool.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/error.h"

/* `socket`: munged's; "": where libmunge looks for it. -1 and error, with libmunge's words. */
int access_munge_encode (const char *socket, const char *payload, struct buffer *credential, struct error *error);
/* `silent`: munged did not answer, and others would wait for it too. */
int access_munge_decode (const char *socket, const char *credential, struct buffer *payload, uint32_t *uid,
                         bool *silent, struct error *error);

#endif
