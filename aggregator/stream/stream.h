/* Lines to many readers. Each has a filter and an outlet; a line is rendered only if somebody reads it, and once for
 * all readers that want it whole. */
#ifndef SYNOP_AGGREGATOR_STREAM_H
#define SYNOP_AGGREGATOR_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "aggregator/stream/outlet.h"
#include "synop/globs.h"
#include "synop/json.h"

struct stream;
struct stream_reader;

/* A line to come: what filters look at, and how to write it. */
struct stream_line {
  const char *type; /* "node", "event" */
  const char *node; /* NULL: of no node; a reader that asks for nodes does not get it */
  /* Writes the whole line with its newline, with those groups only. `groups` is NULL for all. */
  void (*write) (const void *context, struct json *json, const struct globs *groups);
  /* Is there anything in it of these groups? NULL: a line without groups, to which that filter does not apply. */
  bool (*has) (const void *context, const struct globs *groups);
  const void *context;
};

/* Words of a filter: lists of globs, "" for all. With groups and without a type, only node lines are meant. */
struct stream_filter {
  const char *node, *group, *type;
};

/* A filter that has been read. */
struct stream_choice {
  struct globs nodes, groups, types;
};
void stream_choice_init (struct stream_choice *choice, const struct stream_filter *filter);
void stream_choice_free (struct stream_choice *choice);
bool stream_choice_wants (const struct stream_choice *choice, const struct stream_line *line);
bool stream_choice_parts (const struct stream_choice *choice, const struct stream_line *line); /* some of its groups */

struct stream *stream_create (void);
void stream_destroy (struct stream *stream); /* all readers are detached before */

/* `ready` is called by stream_flush when lines were put into the outlet; it may detach this reader, and no other. */
struct stream_reader *stream_attach (struct stream *stream, const struct stream_filter *filter, struct outlet *outlet,
                                     void (*ready) (void *context), void *context);
void stream_detach (struct stream_reader *reader); /* NULL is fine */

void stream_put (struct stream *stream, const struct stream_line *line);
/* To be called after a batch of lines. */
void stream_flush (struct stream *stream);

#endif
