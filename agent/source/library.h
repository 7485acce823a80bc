/* Before dlopen of a foreign library: would loading it end or block the agent? */
#ifndef SYNOP_AGENT_LIBRARY_H
#define SYNOP_AGENT_LIBRARY_H

#include "synop/error.h"

/* 0: dlopen of that path, or of that name as the loader finds it, returns, even with an error. -1: it crashes, or
 * takes more than 5 s. It forks: call it where waiting is allowed (a worker), and not in each sample. */
int library_try (const char *name, struct error *error);

#endif
