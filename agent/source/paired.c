/* Tables of keys in two lines; see paired.h. The kernel adds keys in the middle, so a key is found by name, not by
 * position. */
#include "agent/source/paired.h"

#define KEY_MAX 128 /* the kernel's are shorter */

/* The line's first word, up to and with its colon. */
static bool
line_prefix (struct scan *line, struct scan *prefix)
{
  return scan_word (line, prefix) && prefix->end[-1] == ':' && scan_length (prefix) < KEY_MAX / 2;
}

static bool
is_wanted (const struct scan *prefix, const struct key_index *index)
{
  size_t length = scan_length (prefix);

  for (size_t slot = 0; slot <= index->mask; slot++)
    if (index->slots[slot].key && index->slots[slot].length > length &&
        memcmp (index->slots[slot].key, prefix->at, length) == 0)
      return true;
  return false;
}

static size_t
parse_pair (struct scan prefix, struct scan names, struct scan values, const struct key_index *index,
            struct table *table)
{
  size_t length = scan_length (&prefix), found = 0;
  struct scan name, word;
  char key[KEY_MAX];

  memcpy (key, prefix.at, length);
  while (scan_word (&names, &name) && scan_word (&values, &word)) {
    if (length + scan_length (&name) > sizeof key)
      continue;
    memcpy (key + length, name.at, scan_length (&name));
    found += key_index_take (index, key, length + scan_length (&name), &word, table, TABLE_NODE);
  }
  return found;
}

size_t
parse_paired (struct scan text, const struct key_index *index, struct table *table)
{
  struct scan names, values, prefix, again;
  size_t found = 0;

  while (scan_line (&text, &names)) {
    if (!line_prefix (&names, &prefix))
      continue;
    values = text;
    if (!scan_line (&text, &values))
      break;
    if (line_prefix (&values, &again) && scan_length (&again) == scan_length (&prefix) &&
        memcmp (again.at, prefix.at, scan_length (&prefix)) == 0) {
      if (is_wanted (&prefix, index))
        found += parse_pair (prefix, names, values, index, table);
    } else {
      text.at = names.end < text.end ? names.end + 1 : text.end; /* no pair: try the second line as a first one */
    }
  }
  return found;
}
