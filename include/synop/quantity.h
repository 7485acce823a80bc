/* Values as people read them, in few characters: "45.2%", "1.23 GB/s", "312 kW", "3 h 5 m". */
#ifndef SYNOP_QUANTITY_H
#define SYNOP_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>

#define QUANTITY_SIZE 24

struct quantity {
  char text[QUANTITY_SIZE];
};

/* `unit` as lists have it: "bytes", "bytes/s", "%", "percent", "watts" ...; NULL and "": none. NaN: "-". */
struct quantity quantity_text (double value, const char *unit);
/* Without the blank: "1.2G", for narrow columns; the unit stands in their head. */
struct quantity quantity_short (double value, const char *unit);
struct quantity quantity_count (double value); /* "1024", "128k" */
struct quantity quantity_age (double seconds);

bool quantity_is_percent (const char *unit);

#endif
