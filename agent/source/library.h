/* Before dlopen of a library that others install: would it end or stop the agent? */
#ifndef SYNOP_AGENT_LIBRARY_H
#define SYNOP_AGENT_LIBRARY_H

#include "synop/error.h"

/* 0: dlopen of that path, or of that name as the loader finds it, returns, be it with an error. -1: it crashes, or takes
 * more than 5 s. To be called where waiting is allowed (a worker), and not in each sample: it forks. */
int library_try (const char *name, struct error *error);

#endif
