/* Which groups are of users: their rows are jobs, processes of jobs, their runtimes. Whoever is no admin sees no row of others. */
#ifndef SYNOP_USERS_H
#define SYNOP_USERS_H

#include <stdbool.h>

#include "synop/metric.h"

/* By its names, and where its metrics are known, by these. */
bool group_name_is_of_users (const char *section, const char *group); /* section NULL: not known */
bool group_is_of_users (const struct group *group);

#endif
