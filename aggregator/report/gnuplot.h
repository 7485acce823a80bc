/* gnuplot as a child: a script goes in, what it draws comes out. No shell, no files, nothing of the user's settings. */
#ifndef SYNOP_AGGREGATOR_GNUPLOT_H
#define SYNOP_AGGREGATOR_GNUPLOT_H

#include <stdint.h>

#include "synop/buffer.h"
#include "synop/clock.h"
#include "synop/error.h"

#define GNUPLOT_LIMIT (120 * NS_PER_S) /* by far more than a document needs */

/* Adds to `output` what the script draws. One that fails, dies, draws nothing or takes longer than `limit_ns` is an
 * error with gnuplot's own words; it never outlives the call. */
int gnuplot_run (const struct buffer *script, int64_t limit_ns, struct buffer *output, struct error *error);

/* Adds a text as gnuplot's string: cleaned and at most `limit` characters (job_words.h), and then literal to the last
 * byte. Terminals must be set to `noenhanced`. */
void gnuplot_quote (struct buffer *script, const char *text, size_t limit);

#endif
