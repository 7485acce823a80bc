/* Lists of globs from options, "loop*,ram*,sr?": which devices, mounts and interfaces to leave out. */
#ifndef SYNOP_AGENT_GLOB_LIST_H
#define SYNOP_AGENT_GLOB_LIST_H

#include <stdbool.h>

/* True when `name` matches one of the comma-separated globs. NULL is an empty list. */
bool glob_list_matches (const char *list, const char *name);

#endif
