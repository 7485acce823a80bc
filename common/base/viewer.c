/* See viewer.h. */
#include "synop/viewer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct viewer viewer_all = { .all = true, .traces = true, .uid = VIEWER_UID_UNKNOWN };
const struct viewer viewer_nobody = { .uid = VIEWER_UID_UNKNOWN };

bool
viewer_sees (const struct viewer *viewer, const char *user, size_t length)
{
  char number[24] = "";

  if (viewer->all)
    return true;
  if (length == 0 || viewer->name[0] == '\0')
    return false;
  if (strlen (viewer->name) == length && memcmp (viewer->name, user, length) == 0)
    return true;
  if (viewer->uid != VIEWER_UID_UNKNOWN)
    snprintf (number, sizeof number, "%" PRId64, viewer->uid);
  return strlen (number) == length && memcmp (number, user, length) == 0;
}

bool
viewer_is_user (const char *name)
{
  size_t length = strlen (name);

  if (length == 0 || length > VIEWER_NAME_MAX || *name == '-' || *name == '*')
    return false;
  for (size_t i = 0; i < length; i++)
    if ((unsigned char) name[i] <= ' ' || name[i] == 0x7f || name[i] == ':')
      return false;
  return true;
}

void
viewer_write (const struct viewer *viewer, char text[VIEWER_TEXT_SIZE])
{
  if (viewer->all)
    snprintf (text, VIEWER_TEXT_SIZE, "*");
  else if (viewer->name[0] == '\0')
    snprintf (text, VIEWER_TEXT_SIZE, "-");
  else if (viewer->uid == VIEWER_UID_UNKNOWN)
    snprintf (text, VIEWER_TEXT_SIZE, ":%s", viewer->name);
  else
    snprintf (text, VIEWER_TEXT_SIZE, "%" PRIu32 ":%s", (uint32_t) viewer->uid, viewer->name);
}

int
viewer_read (struct viewer *viewer, const char *text)
{
  char *end;
  unsigned long long uid = strtoull (text, &end, 10);

  *viewer = strcmp (text, "*") == 0 ? viewer_all : viewer_nobody;
  if (viewer->all || strcmp (text, "-") == 0)
    return 0;
  if (*end != ':' || strspn (text, "0123456789") != (size_t) (end - text) || uid > UINT32_MAX ||
      !viewer_is_user (end + 1))
    return -1;
  viewer->uid = end == text ? VIEWER_UID_UNKNOWN : (int64_t) uid;
  snprintf (viewer->name, sizeof viewer->name, "%s", end + 1);
  return 0;
}
