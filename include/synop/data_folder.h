/* Where what comes with a program lies. */
#ifndef SYNOP_DATA_FOLDER_H
#define SYNOP_DATA_FOLDER_H

#include <stddef.h>

/* PREFIX/share/synop-agent/NAME beside PREFIX/bin/synop-agent. Of a program that was not installed: `sources`/NAME in the
 * sources around it. */
void data_folder (const char *sources, const char *name, char *folder, size_t size);

#endif
