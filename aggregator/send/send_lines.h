/* Frames of the history as lines of the stream's JSON, for types that take these: of groups that are due, and asked for. */
#ifndef SYNOP_AGGREGATOR_SEND_LINES_H
#define SYNOP_AGGREGATOR_SEND_LINES_H

#include "aggregator/send/send_batch.h"
#include "aggregator/send/send_options.h"
#include "aggregator/send/send_window.h"

struct send_lines;

struct send_lines *send_lines_create (const struct send_options *options, struct history_file *file);
void send_lines_destroy (struct send_lines *lines); /* NULL is fine */
/* Adds the frame's line, if anything of it is wanted. -1: it is broken. */
int send_lines_take (struct send_lines *lines, const struct send_frame_parts *frame, struct send_batch *batch,
                     struct error *error);
/* Now and then, so that what was needed for frames of before is given back. */
void send_lines_rest (struct send_lines *lines);

#endif
