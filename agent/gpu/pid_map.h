/* Maps a process's id to its place in a list, at a cost that does not grow with the list. `{0}` is empty. */
#ifndef SYNOP_AGENT_PID_MAP_H
#define SYNOP_AGENT_PID_MAP_H

#include <stddef.h>
#include <stdint.h>

struct pid_map {
  struct pid_place {
    uint32_t pid, at; /* pid 0: free */
  } * places;
  size_t used, room; /* places: those in use for the current size, a power of two, or 0 */
};

void pid_map_begin (struct pid_map *map, size_t count); /* empties it; room for so many */
/* Adds that process with the place `at`, and returns its place, which is an older one if it had one already. No more may be
 * added than there is room for; no id is 0. */
size_t pid_map_add (struct pid_map *map, uint32_t pid, size_t at);
size_t pid_map_find (const struct pid_map *map, uint32_t pid); /* SIZE_MAX: not in the map */
void pid_map_free (struct pid_map *map);

#endif
