/* See send_series.h. */
#include "synop/send_series.h"

#include <string.h>

#include "synop/exposition.h"
#include "synop/memory.h"
#include "synop/send_labels.h"

#define SERIES_MAX 65536 /* some 30 MB */

struct send_cache {
  struct send_cache_options options;
  struct send_extra *extras;
  size_t extra_count;
  struct send_series *series, *first, **next; /* `next`: which one is wanted next, as it seems */
  struct send_symbol *symbols;
  struct send_family *families;
  struct buffer texts, key;
  struct series_label parts[SERIES_LABELS_MAX];
  struct send_label list[SERIES_LABELS_MAX + SEND_EXTRAS_MAX + 3]; /* and __name__, instance, job */
  size_t count;
};

struct send_cache *
send_cache_create (const struct send_cache_options *options)
{
  struct send_cache *cache = memory_new (1, sizeof *cache);
  const char *at = options->labels;

  cache->options = *options;
  cache->next = &cache->first;
  cache->extras = memory_new (SEND_EXTRAS_MAX, sizeof cache->extras[0]);
  while (cache->extra_count < SEND_EXTRAS_MAX && send_extra_next (&at, &cache->extras[cache->extra_count], NULL) > 0)
    cache->extra_count++;
  return cache;
}

static void
forget (struct send_cache *cache)
{
  struct send_series *series = NULL, *next_series;
  struct send_symbol *symbol = NULL, *next_symbol;
  struct send_family *family = NULL, *next_family;

  HASH_ITER (hh, cache->series, series, next_series)
  {
    HASH_DELETE (hh, cache->series, series);
    free (series->labels);
    free (series->encoded);
    free (series);
  }
  HASH_ITER (hh, cache->families, family, next_family)
  {
    HASH_DELETE (hh, cache->families, family);
    free (family);
  }
  HASH_ITER (hh, cache->symbols, symbol, next_symbol)
  {
    HASH_DELETE (hh, cache->symbols, symbol);
    free (symbol);
  }
  cache->first = NULL;
  cache->next = &cache->first;
}

void
send_cache_destroy (struct send_cache *cache)
{
  if (!cache)
    return;
  forget (cache);
  free (cache->extras);
  buffer_free (&cache->texts);
  buffer_free (&cache->key);
  free (cache);
}

void
send_cache_trim (struct send_cache *cache)
{
  if (HASH_COUNT (cache->series) > SERIES_MAX || HASH_COUNT (cache->symbols) > SERIES_MAX)
    forget (cache);
}

struct send_symbol *
send_symbol_find (struct send_cache *cache, const char *text, size_t length)
{
  struct send_symbol *symbol;

  HASH_FIND (hh, cache->symbols, text, length, symbol);
  if (symbol)
    return symbol;
  symbol = memory_new (1, sizeof *symbol + length + 1);
  symbol->length = (uint32_t) length;
  memcpy (symbol->text, text, length);
  HASH_ADD (hh, cache->symbols, text, length, symbol);
  return symbol;
}

static struct send_family *
find_family (struct send_cache *cache, const struct metric_family *public)
{
  struct send_family *family;
  const char *unit = exposition_unit (public), *help = public->help ? public->help : "";

  HASH_FIND_PTR (cache->families, &public, family);
  if (family)
    return family;
  family = memory_new (1, sizeof *family);
  family->public = public;
  family->help = send_symbol_find (cache, help, strlen (help));
  family->unit = send_symbol_find (cache, unit, strlen (unit));
  HASH_ADD_PTR (cache->families, public, family);
  return family;
}

/* ---- labels ---- */

static int
compare_names (const struct send_symbol *symbol, const char *name, size_t length)
{
  size_t both = symbol->length < length ? symbol->length : length;
  int order = memcmp (symbol->text, name, both);

  return order ? order : (symbol->length > length) - (symbol->length < length);
}

/* To its place among those that are there. One of that name stays: the first one counts. */
static void
insert (struct send_cache *cache, const char *name, struct send_symbol *value)
{
  size_t at = cache->count, length = strlen (name);
  int order = 1;

  if (value && value->length == 0)
    return;
  while (at > 0 && (order = compare_names (cache->list[at - 1].name, name, length)) > 0)
    at--;
  if (at > 0 && order == 0)
    return;
  memmove (&cache->list[at + 1], &cache->list[at], (cache->count - at) * sizeof cache->list[0]);
  cache->list[at] = (struct send_label){ send_symbol_find (cache, name, length), value };
  cache->count++;
}

static void
insert_text (struct send_cache *cache, const char *name, const char *value, size_t length)
{
  insert (cache, name, send_symbol_find (cache, value, length));
}

static void
list_labels (struct send_cache *cache, const struct series *series)
{
  size_t count = series_labels (series, cache->parts, &cache->texts);

  cache->count = 0;
  insert (cache, "instance", NULL);
  insert_text (cache, "__name__", series->family->name, strlen (series->family->name));
  insert_text (cache, "job", cache->options.job, strlen (cache->options.job));
  for (size_t i = 0; i < count; i++)
    insert_text (cache, cache->parts[i].name, cache->texts.data + cache->parts[i].offset, cache->parts[i].length);
  for (size_t i = 0; i < cache->extra_count; i++)
    insert_text (cache, cache->extras[i].name, cache->extras[i].value, strlen (cache->extras[i].value));
}

/* Symbols are told apart by where they are, as long as none is forgotten. */
static uint64_t
hash_labels (const struct send_label *labels, size_t count)
{
  uint64_t hash = 1;

  for (size_t i = 0; i < count; i++) {
    hash = (hash ^ (uintptr_t) labels[i].name) * UINT64_C (0x9e3779b97f4a7c15);
    hash = ((hash ^ hash >> 32) ^ (uintptr_t) labels[i].value) * UINT64_C (0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
  }
  return hash;
}

static void
set_labels (struct send_cache *cache, struct send_series *series)
{
  series->label_count = cache->count;
  series->labels = memory_new (cache->count, sizeof series->labels[0]);
  memcpy (series->labels, cache->list, cache->count * sizeof series->labels[0]);
  series->hash = hash_labels (series->labels, cache->count);
  for (size_t i = 0; i < cache->count; i++) {
    series->size += series->labels[i].name->length;
    if (series->labels[i].value)
      series->size += series->labels[i].value->length;
    else
      series->instance = i;
  }
}

/* ---- finding ---- */

static struct send_series *
find_by_key (struct send_cache *cache, const struct series *series, struct series_text text)
{
  struct send_series *found;
  const void *entry = series->entry;

  buffer_clear (&cache->key);
  buffer_add (&cache->key, &entry, sizeof entry);
  buffer_add (&cache->key, text.at, text.length);
  HASH_FIND (hh, cache->series, cache->key.data, cache->key.length, found);
  if (found)
    return found;
  found = memory_new (1, sizeof *found + cache->key.length);
  found->family = find_family (cache, series->family);
  found->key_length = cache->key.length;
  memcpy (found->key, cache->key.data, cache->key.length);
  list_labels (cache, series);
  set_labels (cache, found);
  found->wanted = !cache->options.wants || cache->options.wants (cache->options.context, found);
  HASH_ADD (hh, cache->series, key, found->key_length, found);
  return found;
}

static bool
is_the_one (const struct send_series *guess, const struct series *series, struct series_text text)
{
  const void *entry = series->entry;

  return guess && guess->key_length == sizeof entry + text.length && memcmp (guess->key, &entry, sizeof entry) == 0 &&
         memcmp (guess->key + sizeof entry, text.at, text.length) == 0;
}

/* Mostly it follows the one that it followed the last time: of the same node, or of one that is like it. */
struct send_series *
send_series_find (struct send_cache *cache, const struct series *series)
{
  struct series_text text = series_key (series, &cache->texts);
  struct send_series *found = *cache->next;

  if (!is_the_one (found, series, text)) {
    found = find_by_key (cache, series, text);
    *cache->next = found;
  }
  cache->next = &found->following;
  return found;
}
