/* Cells of a table of comma separated values. */
#ifndef SYNOP_CSV_H
#define SYNOP_CSV_H

#include "synop/buffer.h"

/* As in tables of the history: quoted where it must be, and nothing that a spreadsheet takes for a formula. */
void csv_text (struct buffer *out, const char *text);
void csv_number (struct buffer *out, double value); /* empty for NaN */

#endif
