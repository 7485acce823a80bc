/* Lines in files of the option `folder`, begun anew by size and age. What was taken is on the disk; what could not be written as a
 * whole is taken back, so that every file ends with a whole line. */
#ifndef SYNOP_AGGREGATOR_FILE_OUT_H
#define SYNOP_AGGREGATOR_FILE_OUT_H

#include "aggregator/send/send_options.h"

struct file_out;

/* `name`: the section's. Both stay. `packed`: by zstd. */
struct file_out *file_out_create (const char *name, const struct send_options *options, bool packed);
void file_out_destroy (struct file_out *out); /* NULL is fine */
/* SEND_AGAIN: answer.text says why not. */
enum send_verdict file_out_write (struct file_out *out, const struct buffer *text, struct send_answer *answer);

#endif
