/* A trace in Chrome's JSON form, as PyTorch's profiler writes it, read as a stream: plain or by gzip, of any size, an event
 * at a time.
 *
 *    {"schemaVersion": 1, "distributedInfo": {"rank": 3}, "baseTimeNanoseconds": 17..., "traceEvents": [{...}, ...]}
 *    [{...}, ...]
 *
 * The form: "Trace Event Format" of the Catapult project. NaN and Infinity, which JSON lacks, become null,
 * and bytes that are no UTF-8 '?'. */
#ifndef SYNOP_AGGREGATOR_TRACE_FILE_H
#define SYNOP_AGGREGATOR_TRACE_FILE_H

#include <stddef.h>

#include "synop/error.h"

#define TRACE_EVENT_MAX (64 * 1024 * 1024) /* bytes */
#define TRACE_MEMBER_MAX (64 * 1024)       /* longer ones are left out */

/* Texts are valid JSON, and valid during the call. -1 ends the reading. */
struct trace_taker {
  void *context;
  int (*event) (void *context, const char *text, size_t length); /* one object */
  /* Another member of the root; NULL: they are left out. */
  int (*member) (void *context, const char *name, const char *text, size_t length);
};

/* 0; 1: the taker ended it; -1 and error, which has the place but not the path: it cannot be read, is damaged or cut off. */
int trace_file_read (const char *path, const struct trace_taker *taker, struct error *error);

#endif
