/* Files of a folder, as they are when they are asked for.
 *
 * Who opens a page again should not have to ask for each of its files whether it has changed: "v/VERSION/NAME" is NAME, which
 * browsers keep without asking as long as VERSION is that of all files together. index.html says "v/0/" for it. */
#ifndef SYNOP_COMMON_HTTP_FILES_H
#define SYNOP_COMMON_HTTP_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "synop/http.h"

struct http_files {
  const char *const *folders; /* HTTP_FOLDERS_MAX, or NULL behind the last one */
  char version[33];           /* of what is in them, as it was then: */
  int64_t looked_ns;          /* 0: never */
};

/* `path`: NAME or FOLDER/NAME, of letters, digits, '-', '_' and '.', with an ending that is known; the first of the folders
 * that has it as a regular file gives it. Links are not followed below a folder. `tags`: If-None-Match, or NULL. False:
 * there is none. */
bool http_file_answer (struct http_files *files, const char *path, const char *tags, int64_t now_ns,
                       struct http_reply *reply);

#endif
