/* What the services beside an instance or a container say of it: its role's keys, its region. Over HTTP, within 2 s each. */
#ifndef SYNOP_COMMON_AWS_METADATA_H
#define SYNOP_COMMON_AWS_METADATA_H

#include <stddef.h>

#include "synop/error.h"

/* The container's role, where the environment names one, else the instance's: JSON, 1; -1 and error. */
int aws_metadata_role (char *text, size_t size, struct error *error);
int aws_metadata_region (char *text, size_t size, struct error *error);

#endif
