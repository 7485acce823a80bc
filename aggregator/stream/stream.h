/* Lines to many readers. Each has a filter, a viewer and an outlet; a line is rendered only if a reader wants it, and only
 * once for all readers that want it whole and see the same of it. */
#ifndef SYNOP_AGGREGATOR_STREAM_H
#define SYNOP_AGGREGATOR_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "aggregator/stream/outlet.h"
#include "synop/globs.h"
#include "synop/json.h"
#include "synop/viewer.h"

struct stream;
struct stream_reader;

/* What a viewer sees of a line: all of it, what is of nobody in particular, that and what is his own, nothing. */
enum stream_share { STREAM_WHOLE, STREAM_BARE, STREAM_OWN, STREAM_HIDDEN };

/* A line before it is rendered: what filters need, and how to write it. */
struct stream_line {
  const char *type; /* "node", "event" */
  const char *node; /* NULL: not about a node; readers that filter by node do not get it */
  /* Writes the whole line with its newline, with those groups only (NULL: all), and what the viewer sees of it. */
  void (*write) (const void *context, struct json *json, const struct globs *groups, const struct viewer *viewer);
  /* NULL: everybody sees all of it. */
  enum stream_share (*share) (const void *context, const struct viewer *viewer);
  /* Has it any of these groups? NULL: a line without groups, to which that filter does not apply. */
  bool (*has) (const void *context, const struct globs *groups);
  const void *context;
};

/* A filter as text: lists of globs, "" for all. With groups and without a type, only node lines are meant. */
struct stream_filter {
  const char *node, *group, *type;
};

/* -1 and error: one of these globs matches no type of line, and would wait for ever. */
int stream_types_check (const char *types, struct error *error);

/* A parsed filter. */
struct stream_choice {
  struct globs nodes, groups, types;
};
void stream_choice_init (struct stream_choice *choice, const struct stream_filter *filter);
void stream_choice_free (struct stream_choice *choice);

struct stream *stream_create (void);
void stream_destroy (struct stream *stream); /* detach all readers first */

/* stream_flush calls `ready` when lines were put into the outlet; it may detach this reader, and no other. The viewer is
 * copied. */
struct stream_reader *stream_attach (struct stream *stream, const struct stream_filter *filter,
                                     const struct viewer *viewer, struct outlet *outlet, void (*ready) (void *context),
                                     void *context);
void stream_detach (struct stream_reader *reader); /* NULL is fine */

void stream_put (struct stream *stream, const struct stream_line *line);
/* To be called after a batch of lines. */
void stream_flush (struct stream *stream);

#endif
