/* Arrays that grow at their end: a pointer, the number of items, and the number that there is room for, all zero at
 * first. The arguments are evaluated more than once; the room is a size_t. */
#ifndef SYNOP_ARRAY_H
#define SYNOP_ARRAY_H

#include <stddef.h>

void *array_resize (void *items, size_t *room, size_t count, size_t size);

/* Room for `count` items at least. */
#define array_reserve(items, room, count)                                                                              \
  ((void) ((count) <= (room) || ((items) = array_resize ((items), &(room), (count), sizeof *(items)))))

/* Adds an item, not initialised, and returns its address. */
#define array_add(items, count, room) (array_reserve (items, room, (count) + 1), &(items)[(count)++])

#endif
