/* Finds a process's place in a list by its number, at a cost that does not grow with the list. `{0}` is empty. */
#ifndef SYNOP_AGENT_PID_MAP_H
#define SYNOP_AGENT_PID_MAP_H

#include <stddef.h>
#include <stdint.h>

struct pid_map {
  struct pid_place {
    uint32_t pid, at; /* pid 0: free */
  } * places;
  size_t used, room; /* of places: as many as are looked at, a power of two, or 0 */
};

void pid_map_begin (struct pid_map *map, size_t count); /* empties it; room for so many */
/* The place of that process: `at`, unless it had one already. No more of them than there is room for; none is 0. */
size_t pid_map_add (struct pid_map *map, uint32_t pid, size_t at);
size_t pid_map_find (const struct pid_map *map, uint32_t pid); /* SIZE_MAX: it has none */
void pid_map_free (struct pid_map *map);

#endif
