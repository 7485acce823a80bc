/* CPUs, NUMA nodes: numbered folders. Listing a folder of hundreds costs more than reading them, so it is listed
 * again only when the kernel's own one-line list changes. */
#include "agent/source/numbered.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/source/parse.h"
#include "synop/array.h"
#include "synop/memory.h"

#define ONLINE_SIZE 4096 /* no file of /sys is longer than a page */

void
numbered_init (struct numbered *numbered, const char *root, const char *folder, const char *prefix, const char *file)
{
  *numbered = (struct numbered){ .prefix = prefix, .file = file };
  numbered->folder = memory_format ("%s%s", root, folder);
  reader_init (&numbered->online, root, "%s/online", folder);
}

static void
forget_items (struct numbered *numbered)
{
  for (size_t i = 0; i < numbered->count; i++)
    reader_free (&numbered->items[i].reader);
  free (numbered->items);
  numbered->items = NULL;
  numbered->count = 0;
}

void
numbered_free (struct numbered *numbered)
{
  forget_items (numbered);
  reader_free (&numbered->online);
  buffer_free (&numbered->now);
  buffer_free (&numbered->old);
  free (numbered->folder);
}

/* "cpu12" gives 12; "cpufreq" and "cpu" are something else. */
static bool
folder_number (const char *name, const char *prefix, unsigned *number)
{
  struct scan rest = scan_over (name, strlen (name));
  uint64_t value;

  if (!scan_prefix (&rest, prefix) || !scan_uint (&rest, &value) || scan_length (&rest) > 0 || value > 1000000)
    return false;
  *number = (unsigned) value;
  return true;
}

static int
compare_items (const void *one, const void *other)
{
  unsigned a = ((const struct numbered_item *) one)->number, b = ((const struct numbered_item *) other)->number;

  return (a > b) - (a < b);
}

static void
list_items (struct numbered *numbered)
{
  DIR *folder = opendir (numbered->folder);
  const struct dirent *entry;
  size_t capacity = 0;
  unsigned number;

  forget_items (numbered);
  while (folder != NULL && (entry = readdir (folder)) != NULL) {
    struct numbered_item *item;
    if (!folder_number (entry->d_name, numbered->prefix, &number))
      continue;
    item = array_add (numbered->items, numbered->count, capacity);
    item->number = number;
    item->label_length = snprintf (item->label, sizeof item->label, "%u", number);
    reader_init (&item->reader, numbered->folder, "/%s/%s", entry->d_name, numbered->file);
  }
  if (folder != NULL)
    closedir (folder);
  if (numbered->count > 0)
    qsort (numbered->items, numbered->count, sizeof *numbered->items, compare_items);
}

bool
numbered_refresh (struct numbered *numbered)
{
  struct buffer *now = &numbered->now, *old = &numbered->old, swap;
  int length;

  buffer_clear (now);
  length = reader_read_value (&numbered->online, buffer_reserve (now, ONLINE_SIZE), ONLINE_SIZE);
  now->length = length > 0 ? (size_t) length : 0; /* an absent list is empty, and never changes */
  if (numbered->listed && now->length == old->length && memcmp (now->data, old->data, now->length) == 0)
    return false;
  list_items (numbered);
  numbered->listed = true;
  swap = *old;
  *old = *now;
  *now = swap;
  return true;
}

bool
numbered_is_online (const struct numbered *numbered, unsigned number)
{
  return scan_list_has (scan_buffer (&numbered->old), number);
}
