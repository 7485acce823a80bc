/* See array.h. */
#include "synop/array.h"

#include "synop/memory.h"

#define LEAST 8

void *
array_resize (void *items, size_t *room, size_t count, size_t size)
{
  size_t doubled = *room < LEAST / 2 ? LEAST : *room * 2;

  *room = count > doubled ? count : doubled;
  return memory_resize (items, *room, size);
}
