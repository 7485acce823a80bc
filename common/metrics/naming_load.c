/* Names files by their sets' names. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/metrics/naming_private.h"
#include "synop/config_suggest.h"
#include "synop/file.h"

#define SUFFIX ".names"
#define FILE_BYTES_MAX (1024 * 1024)

static int
naming_read_file (const char *path, struct buffer *text)
{
  int fd = file_open (path), number;
  ssize_t got;

  if (fd < 0)
    return -fd;
  got = file_read (fd, buffer_reserve (text, FILE_BYTES_MAX + 1), FILE_BYTES_MAX + 1);
  number = got < 0 ? errno : got > FILE_BYTES_MAX ? EFBIG : 0;
  text->length = number == 0 ? (size_t) got : 0;
  close (fd);
  return number;
}

/* The set in the folder that may have been meant. */
static void
suggest_set (const char *folder, const char *name, struct error *error)
{
  struct suggestion suggestion = { .word = name };
  DIR *listing = opendir (folder);
  struct dirent *entry;

  if (listing == NULL)
    return;
  suggestion_consider (&suggestion, NAMING_RULE);
  while ((entry = readdir (listing)) != NULL)
    if (text_ends_with (entry->d_name, SUFFIX)) {
      entry->d_name[strlen (entry->d_name) - strlen (SUFFIX)] = '\0';
      suggestion_consider (&suggestion, entry->d_name);
    }
  closedir (listing);
  if (suggestion.best[0])
    error_set (error, "%s; did you mean %s?", error->text, suggestion.best);
}

static int
set_load (struct naming *naming, const char *name, const char *folder, struct error *error)
{
  bool is_path = strchr (name, '/') != NULL || text_ends_with (name, SUFFIX);
  struct buffer text = { 0 };
  char path[PATH_MAX];
  int number, rc;

  if (strcmp (name, NAMING_RULE) == 0) {
    naming_add_rule (naming);
    return 0;
  }
  if (is_path)
    snprintf (path, sizeof path, "%s", name);
  else
    snprintf (path, sizeof path, "%.*s/%.*s" SUFFIX, PATH_MAX / 2, folder, PATH_MAX / 4, name);
  number = naming_read_file (path, &text);
  if (number == 0) {
    rc = naming_read (naming, path, text.length ? text.data : "", text.length, error);
  } else {
    rc = error_set (error, "%s: %s", path, file_error_text (number));
    if (!is_path)
      suggest_set (folder, name, error);
  }
  buffer_free (&text);
  return rc;
}

int
naming_load (struct naming *naming, const char *list, const char *folder, struct error *error)
{
  static const char blanks[] = ", \t";
  char name[PATH_MAX];

  for (list += strspn (list, blanks); *list; list += strspn (list, blanks)) {
    size_t length = strcspn (list, ",");

    snprintf (name, sizeof name, "%.*s", (int) length, list);
    for (char *end = name + strlen (name); end > name && strchr (blanks, end[-1]) != NULL; end--)
      end[-1] = '\0';
    list += length;
    if (set_load (naming, name, folder, error) < 0)
      return -1;
  }
  return 0;
}
