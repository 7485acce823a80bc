/* What the reader and the writer of frames share. */
#ifndef SYNOP_COMMON_FRAME_FORMAT_H
#define SYNOP_COMMON_FRAME_FORMAT_H

#include <stddef.h>

#define FRAME_FIELDS 8
#define TABLE_FIELDS 6
#define FRAME_NUMBER_SIZE 24

/* The label of a row that is named by its number; returns its length, no NUL. */
size_t frame_number_label (size_t row, char text[FRAME_NUMBER_SIZE]);

#endif
