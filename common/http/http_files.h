/* Files of a folder, as they are when they are asked for. */
#ifndef SYNOP_COMMON_HTTP_FILES_H
#define SYNOP_COMMON_HTTP_FILES_H

#include <stdbool.h>

#include "synop/http.h"

/* `path`: NAME or FOLDER/NAME, of letters, digits, '-', '_' and '.', with an ending that is known; the first of `folders`
 * that has it as a regular file gives it. Links are not followed below a folder. `tags`: If-None-Match, or NULL. False:
 * there is none. */
bool http_file_answer (const char *const folders[HTTP_FOLDERS_MAX], const char *path, const char *tags,
                       struct http_reply *reply);

#endif
