/* See pid_map.h: an open hash table that is at most half full. */
#include "agent/gpu/pid_map.h"

#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"

#define USED_LEAST 128

void
pid_map_begin (struct pid_map *map, size_t count)
{
  map->used = USED_LEAST;
  while (map->used < 2 * count)
    map->used *= 2;
  if (map->used > map->room) {
    map->places = memory_resize (map->places, map->used, sizeof *map->places);
    map->room = map->used;
  }
  memset (map->places, 0, map->used * sizeof *map->places);
}

void
pid_map_free (struct pid_map *map)
{
  free (map->places);
  *map = (struct pid_map){ 0 };
}

/* The process's place, or the free one where it would be. */
static struct pid_place *
find_place (const struct pid_map *map, uint32_t pid)
{
  size_t at = pid * UINT32_C (2654435769) >> 8;

  for (;; at++) {
    struct pid_place *place = &map->places[at & (map->used - 1)];

    if (place->pid == pid || place->pid == 0)
      return place;
  }
}

size_t
pid_map_add (struct pid_map *map, uint32_t pid, size_t at)
{
  struct pid_place *place = find_place (map, pid);

  if (place->pid == 0)
    *place = (struct pid_place){ pid, (uint32_t) at };
  return place->at;
}

size_t
pid_map_find (const struct pid_map *map, uint32_t pid)
{
  const struct pid_place *place = map->used && pid ? find_place (map, pid) : NULL;

  return place && place->pid ? place->at : SIZE_MAX;
}
