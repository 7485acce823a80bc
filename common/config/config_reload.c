/* Reading the configuration again while the program runs: a second configuration of the same table is read from the same
 * places, and what differs is taken over, or told. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/config/config_private.h"
#include "synop/log.h"
#include "synop/memory.h"

static size_t
field_size (enum option_type type)
{
  switch (type) {
  case OPTION_DURATION:
    return sizeof (int64_t);
  case OPTION_SIZE:
    return sizeof (uint64_t);
  case OPTION_BOOLEAN:
    return sizeof (bool);
  case OPTION_CHOICE:
    return sizeof (int);
  case OPTION_TEXT:
  case OPTION_PATH:
  case OPTION_LIST:
    break;
  }
  return 0;
}

/* "60s" and "1m" are one value. */
static bool
differs (const struct setting *one, const struct setting *other)
{
  size_t size = field_size (one->option->type);

  return strcmp (one->text, other->text) != 0 && (size == 0 || memcmp (one->field, other->field, size) != 0);
}

static bool
is_listed (const struct setting *setting, const struct config_place *places)
{
  for (; places->section; places++)
    if (fnmatch (places->section, setting->section, 0) == 0 && fnmatch (places->key, setting->option->key, 0) == 0)
      return true;
  return false;
}

/* Where the new value stands: its line, or the file that holds it no more. */
static const char *
place_of (const struct config *fresh, const struct setting *setting)
{
  return setting->source ? setting->source : fresh->path ? fresh->path : "default";
}

int
config_check_file (const struct config *config, const struct config *fresh, struct error *error)
{
  if (config->path && !fresh->path)
    return error_set (error, "%s: is no longer there", config->path);
  return 0;
}

size_t
config_changes (const struct config *config, const struct config *fresh, const struct config_place *places)
{
  size_t count = 0;

  for (size_t i = 0; i < config->setting_count; i++)
    count += differs (&config->settings[i], &fresh->settings[i]) && is_listed (&config->settings[i], places);
  return count;
}

void
config_take (struct config *config, const struct config *fresh, const struct config_place *places)
{
  for (size_t i = 0; i < config->setting_count; i++) {
    struct setting *setting = &config->settings[i];
    const struct setting *now = &fresh->settings[i];
    struct error error;

    if (!differs (setting, now) || !is_listed (setting, places))
      continue;
    log_info ("%s: [%s] %s: \"%s\" is \"%s\" now", place_of (fresh, now), setting->section, setting->option->key,
              setting->text, now->text);
    if (setting_set (setting, now->text, &error) < 0) { /* it was taken there already */
      log_error ("[%s] %s: %s", setting->section, setting->option->key, error.text);
      continue;
    }
    free (setting->source);
    setting->source = now->source ? memory_string (now->source) : NULL;
  }
}

void
config_tell_changes (const struct config *config, const struct config *fresh)
{
  for (size_t i = 0; i < config->setting_count; i++) {
    const struct setting *setting = &config->settings[i], *now = &fresh->settings[i];

    if (differs (setting, now))
      log_warning ("%s: [%s] %s: from \"%s\" to \"%s\" takes effect after a restart", place_of (fresh, now),
                   setting->section, setting->option->key, setting->text, now->text);
  }
}
