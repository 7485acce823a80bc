/* The keys that may connect. The receiving thread looks a key up for every message, so a lookup is one hash and a
 * shared lock; a load reads all files first and holds the lock only to exchange the tables.
 *
 * The folder: NODE.pub for each node, as key_public_read takes it. Hidden files and files that do not end in ".pub"
 * are skipped, so that an editor's copies and notes may be there. */
#include "synop/key_set.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "synop/array.h"
#include "synop/buffer.h"
#include "synop/hash_table.h"
#include "synop/key_folder.h"
#include "synop/memory.h"

#define KEY_SET_MAX 100000
#define SUFFIX ".pub"

struct listed_key {
  uint8_t key[KEY_SIZE];
  const char *node; /* of `names` */
  UT_hash_handle hh;
};

struct key_set {
  pthread_mutex_t changing; /* held during a whole add or load; guards `names` */
  pthread_rwlock_t lock;    /* guards `table` */
  struct listed_key *table; /* by key */
  void *names;              /* tsearch's tree of every name ever returned */
  _Atomic uint64_t generation;
};

struct key_set *
key_set_create (void)
{
  struct key_set *set = memory_new (1, sizeof *set);
  if (pthread_mutex_init (&set->changing, NULL) != 0 || pthread_rwlock_init (&set->lock, NULL) != 0)
    abort ();
  return set;
}

static void
entries_free (struct listed_key *table)
{
  struct listed_key *entry, *next;

  HASH_ITER (hh, table, entry, next)
  {
    HASH_DEL (table, entry);
    free (entry);
  }
}

void
key_set_destroy (struct key_set *set)
{
  if (set == NULL)
    return;
  entries_free (set->table);
  tdestroy (set->names, free);
  pthread_rwlock_destroy (&set->lock);
  pthread_mutex_destroy (&set->changing);
  free (set);
}

static int
compare_names (const void *one, const void *other)
{
  return strcmp (one, other);
}

/* Returns the copy of a name that lives as long as the set. */
static const char *
name_intern (struct key_set *set, const char *name)
{
  char *const *found = tfind (name, &set->names, compare_names);
  if (found == NULL)
    found = tsearch (memory_string (name), &set->names, compare_names);
  if (found == NULL)
    abort ();
  return *found;
}

/* The key is not in the table yet. */
static void
entry_add (struct listed_key **table, const char *node, const uint8_t key[KEY_SIZE])
{
  struct listed_key *entry = memory_new (1, sizeof *entry);

  memcpy (entry->key, key, KEY_SIZE);
  entry->node = node;
  HASH_ADD (hh, *table, key, KEY_SIZE, entry);
}

/* ---- loading ---- */

/* The state of a load. */
struct reading {
  const char *folder;
  struct listed_key *entries; /* their names are owned here */
  size_t count, capacity;
  struct buffer faults; /* sentences, separated by "; ", as many as fit an error */
  size_t fault_count;
};

static void
reading_free (struct reading *reading)
{
  for (size_t i = 0; i < reading->count; i++)
    free ((char *) reading->entries[i].node);
  free (reading->entries);
  buffer_free (&reading->faults);
}

static void
reading_fault (struct reading *reading, const char *text)
{
  if (reading->faults.length < sizeof ((struct error *) NULL)->text)
    buffer_printf (&reading->faults, "%s%s", reading->fault_count > 0 ? "; " : "", text);
  reading->fault_count++;
}

static void
reading_file (struct reading *reading, const char *file)
{
  struct error error;
  size_t length = strlen (file) - strlen (SUFFIX);
  char *path = memory_format ("%s/%s", reading->folder, file);

  array_reserve (reading->entries, reading->capacity, reading->count + 1);
  struct listed_key *entry = &reading->entries[reading->count];
  if (node_name_check (file, length, &error) != 0) {
    error_prefix (&error, "%s: ", path);
    reading_fault (reading, error.text);
  } else if (key_public_read (path, entry->key, &error) != 0) {
    reading_fault (reading, error.text);
  } else {
    entry->node = memory_copy (file, length);
    reading->count++;
  }
  free (path);
}

static int
keep_key_files (const struct dirent *file)
{
  size_t length = strlen (file->d_name);
  return file->d_name[0] != '.' && length > strlen (SUFFIX) &&
         strcmp (file->d_name + length - strlen (SUFFIX), SUFFIX) == 0;
}

/* -1: nothing was read. */
static int
reading_folder (struct reading *reading, struct error *error)
{
  struct dirent **files = NULL;

  if (key_folder_check (reading->folder, error) != 0)
    return -1;
  int count = scandir (reading->folder, &files, keep_key_files, alphasort);
  if (count < 0)
    return error_set (error, "%s: %s", reading->folder, strerror (errno));
  for (int i = 0; i < count; i++) {
    if (count <= KEY_SET_MAX)
      reading_file (reading, files[i]->d_name);
    free (files[i]);
  }
  free (files);
  if (count > KEY_SET_MAX)
    return error_set (error, "%s: holds %d keys; at most %d can be used", reading->folder, count, KEY_SET_MAX);
  return 0;
}

static int
compare_keys (const void *one, const void *other)
{
  const struct listed_key *a = one, *b = other;
  int order = memcmp (a->key, b->key, KEY_SIZE);
  return order != 0 ? order : strcmp (a->node, b->node);
}

/* The table of what was read. A key under several names could be any of them: all of these are left out. */
static struct listed_key *
reading_table (struct key_set *set, struct reading *reading)
{
  struct listed_key *table = NULL;

  if (reading->count > 0)
    qsort (reading->entries, reading->count, sizeof *reading->entries, compare_keys);
  for (size_t i = 0, next; i < reading->count; i = next) {
    const struct listed_key *entry = &reading->entries[i];
    for (next = i + 1; next < reading->count && memcmp (entry->key, entry[next - i].key, KEY_SIZE) == 0; next++) {
      struct error error;
      error_set (&error, "%s/%s" SUFFIX " and %s/%s" SUFFIX " hold the same key; both are left out", reading->folder,
                 entry->node, reading->folder, entry[next - i].node);
      reading_fault (reading, error.text);
    }
    if (next == i + 1)
      entry_add (&table, name_intern (set, entry->node), entry->key);
  }
  return table;
}

int
key_set_load (struct key_set *set, const char *folder, struct error *error)
{
  struct reading reading = { .folder = folder };

  pthread_mutex_lock (&set->changing);
  int result = reading_folder (&reading, error);
  if (result == 0) {
    struct listed_key *table = reading_table (set, &reading), *old;
    pthread_rwlock_wrlock (&set->lock);
    old = set->table;
    set->table = table;
    atomic_fetch_add (&set->generation, 1);
    pthread_rwlock_unlock (&set->lock);
    entries_free (old);
  }
  pthread_mutex_unlock (&set->changing);

  if (reading.fault_count > 0) {
    result = error_set (error, "%s", buffer_text (&reading.faults));
    if (reading.fault_count > 1)
      error_prefix (error, "%zu faults: ", reading.fault_count);
  }
  reading_free (&reading);
  return result;
}

/* ---- the rest ---- */

static const struct listed_key *
key_set_find_key (const struct key_set *set, const uint8_t key[KEY_SIZE])
{
  const struct listed_key *entry;

  HASH_FIND (hh, set->table, key, KEY_SIZE, entry);
  return entry;
}

int
key_set_add (struct key_set *set, const char *node, const uint8_t key[KEY_SIZE], struct error *error)
{
  int result = node_name_check (node, strlen (node), error);
  if (result != 0)
    return result;

  pthread_mutex_lock (&set->changing);
  pthread_rwlock_wrlock (&set->lock);
  const struct listed_key *same = key_set_find_key (set, key);
  const char *name = name_intern (set, node);
  if (same != NULL)
    result = error_set (error, "%s: its key is listed already, for %s", node, same->node);
  for (const struct listed_key *entry = set->table; result == 0 && entry; entry = entry->hh.next)
    if (entry->node == name) /* interned: the same name is the same text */
      result = error_set (error, "%s: has a key already", node);
  if (result == 0) {
    entry_add (&set->table, name, key);
    atomic_fetch_add (&set->generation, 1);
  }
  pthread_rwlock_unlock (&set->lock);
  pthread_mutex_unlock (&set->changing);
  return result;
}

/* Locking changes the set, though lookups are const: hence the casts. */
static void
lock_shared (const struct key_set *set)
{
  pthread_rwlock_rdlock (&((struct key_set *) set)->lock);
}

static void
unlock (const struct key_set *set)
{
  pthread_rwlock_unlock (&((struct key_set *) set)->lock);
}

size_t
key_set_count (const struct key_set *set)
{
  lock_shared (set);
  size_t count = HASH_COUNT (set->table);
  unlock (set);
  return count;
}

const char *
key_set_node (const struct key_set *set, const uint8_t key[KEY_SIZE])
{
  lock_shared (set);
  const struct listed_key *entry = key_set_find_key (set, key);
  const char *node = entry != NULL ? entry->node : NULL;
  unlock (set);
  return node;
}

uint64_t
key_set_generation (const struct key_set *set)
{
  return atomic_load (&((struct key_set *) set)->generation);
}

static int
key_nodes_compare (const void *one, const void *other)
{
  const struct listed_key *a = one, *b = other;
  return strcmp (a->node, b->node);
}

void
key_set_each (const struct key_set *set, void (*each) (void *context, const char *node, const uint8_t key[KEY_SIZE]),
              void *context)
{
  /* A copy, so that `each` may be slow and may call the set. */
  lock_shared (set);
  size_t count = 0;
  struct listed_key *entries = memory_new (HASH_COUNT (set->table), sizeof *entries);
  for (const struct listed_key *entry = set->table; entry; entry = entry->hh.next)
    entries[count++] = *entry;
  unlock (set);

  if (count > 0)
    qsort (entries, count, sizeof *entries, key_nodes_compare);
  for (size_t i = 0; i < count; i++)
    each (context, entries[i].node, entries[i].key);
  free (entries);
}
