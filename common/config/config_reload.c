/* Reading the configuration again while the program runs: a second configuration of the same table is read from the
 * same places, and differences are taken over, or logged. */
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

/* Compares values, not texts: "60s" equals "1m". */
static bool
differs (const struct setting *one, const struct setting *other)
{
  size_t size = field_size (one->option->type);

  return strcmp (one->text, other->text) != 0 && (size == 0 || memcmp (one->field, other->field, size) != 0);
}

/* The source of the new value: its line, or the file that no longer has it. */
static const char *
setting_place_of (const struct config *fresh, const struct setting *setting)
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

/* The setting of `fresh` for one of `config`: both were made of the same table. */
static const struct setting *
twin_of (const struct config *fresh, const struct setting *setting)
{
  return section_find (config_find_section (fresh, setting->section->name), setting->option->key);
}

size_t
config_changes (const struct config *config, const struct config *fresh, int reload)
{
  size_t count = 0;

  for (size_t i = 0; i < config->section_count; i++) {
    const struct section *section = config->sections[i];
    for (size_t j = 0; section->type == NULL && j < section->count; j++)
      count += section->settings[j].option->reload == reload &&
               differs (&section->settings[j], twin_of (fresh, &section->settings[j]));
  }
  return count;
}

static void
log_taken (const struct config *fresh, const struct setting *setting, const struct setting *now)
{
  log_info ("%s: [%s] %s: \"%s\" is \"%s\" now", setting_place_of (fresh, now), setting->section->name,
            setting->option->key, setting->text, now->text);
}

static void
setting_take (struct setting *setting, const struct config *fresh)
{
  const struct setting *now = twin_of (fresh, setting);
  struct error error;

  if (!differs (setting, now))
    return;
  log_taken (fresh, setting, now);
  if (setting_set (setting, now->text, &error) < 0) { /* `fresh` accepted it already */
    log_error ("[%s] %s: %s", setting->section->name, setting->option->key, error.text);
    return;
  }
  free (setting->source);
  setting->source = now->source ? memory_string (now->source) : NULL;
}

void
config_take (struct config *config, const struct config *fresh, int reload)
{
  for (size_t i = 0; i < config->section_count; i++) {
    struct section *section = config->sections[i];
    for (size_t j = 0; section->type == NULL && j < section->count; j++)
      if (section->settings[j].option->reload == reload)
        setting_take (&section->settings[j], fresh);
  }
}

/* ---- sections that users name ---- */

static void
remove_at (struct config *config, size_t index)
{
  config->section_count--;
  memmove (&config->sections[index], &config->sections[index + 1],
           (config->section_count - index) * sizeof *config->sections);
}

/* How many of its values differ; each is logged where `fresh` is given. */
static size_t
section_changes (const struct section *section, const struct section *now, const struct config *fresh)
{
  size_t count = 0;

  for (size_t i = 0; i < section->count; i++)
    if (differs (&section->settings[i], &now->settings[i])) {
      count++;
      if (fresh)
        log_taken (fresh, &section->settings[i], &now->settings[i]);
    }
  return count;
}

static void
take_what_is_gone (struct config *config, const struct config *fresh, const struct owner *owner)
{
  for (size_t i = config->section_count; i-- > 0;) {
    struct section *section = config->sections[i];

    if (section->type != owner->type || config_find_section (fresh, section->name))
      continue;
    log_info ("%s: [%s] is gone", fresh->path ? fresh->path : "default", section->name);
    remove_at (config, i);
    owner->change (owner->context, section_own_name (section), section->instance, NULL);
    section_destroy (section);
  }
}

/* Moves new and changed sections from `fresh` to `config`. */
static void
take_what_is_there (struct config *config, struct config *fresh, const struct owner *owner)
{
  for (size_t i = 0; i < fresh->section_count; i++) {
    struct section *now = fresh->sections[i], *before = config_find_section (config, now->name);

    if (now->type != owner->type || (before && section_changes (before, now, fresh) == 0))
      continue;
    if (!before) {
      log_info ("%s: [%s] is new", now->source, now->name);
      config->sections = memory_resize (config->sections, config->section_count + 1, sizeof *config->sections);
      config->sections[config->section_count++] = now;
      remove_at (fresh, i--);
    } else {
      for (size_t j = 0; j < config->section_count; j++)
        if (config->sections[j] == before)
          config->sections[j] = now;
      fresh->sections[i] = before;
    }
    owner->change (owner->context, section_own_name (now), before ? before->instance : NULL, now->instance);
  }
}

void
config_take_sections (struct config *config, struct config *fresh)
{
  for (size_t i = 0; i < config->owner_count; i++) {
    take_what_is_gone (config, fresh, &config->owners[i]);
    take_what_is_there (config, fresh, &config->owners[i]);
  }
}

/* ---- changes that need a restart ---- */

static void
log_section_changes (const struct section *section, const struct config *other, const char *place, bool gone)
{
  const struct section *twin = config_find_section (other, section->name);

  if (!twin)
    log_warning ("%s: [%s]: that it is %s takes effect after a restart", place, section->name, gone ? "gone" : "new");
  for (size_t i = 0; twin && gone && i < section->count; i++)
    if (differs (&section->settings[i], &twin->settings[i]))
      log_warning ("%s: [%s] %s: from \"%s\" to \"%s\" takes effect after a restart",
                   setting_place_of (other, &twin->settings[i]), section->name, section->settings[i].option->key,
                   section->settings[i].text, twin->settings[i].text);
}

/* Sections with an owner were taken over already. */
static bool
is_owned (const struct config *config, const struct section *section)
{
  for (size_t i = 0; i < config->owner_count; i++)
    if (config->owners[i].type == section->type)
      return true;
  return false;
}

void
config_log_changes (const struct config *config, const struct config *fresh)
{
  for (size_t i = 0; i < config->section_count; i++)
    if (!is_owned (config, config->sections[i]))
      log_section_changes (config->sections[i], fresh, fresh->path ? fresh->path : "default", true);
  for (size_t i = 0; i < fresh->section_count; i++)
    log_section_changes (fresh->sections[i], config, fresh->sections[i]->source, false);
}
