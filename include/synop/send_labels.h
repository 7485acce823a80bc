/* Options of whoever sends series: labels that all of them get, what they are called, what one costs. */
#ifndef SYNOP_SEND_LABELS_H
#define SYNOP_SEND_LABELS_H

#include "synop/error.h"

#define SEND_EXTRAS_MAX 62
/* The next of "NAME=VALUE, NAME=VALUE": 1, 0 at the end, -1 and error when it is none. `at` moves on. */
struct send_extra {
  char name[64], value[256];
};
int send_extra_next (const char **at, struct send_extra *extra, struct error *error);

/* As an option's `check`: such a list; sets of names. Sets of a default that are not there are no fault of who wrote the options:
 * whoever sends says so. */
int send_labels_check (const char *value, struct error *error);
int send_names_check (const char *value, struct error *error);
int send_price_check (const char *value, struct error *error); /* a number, of a series a month */

#endif
