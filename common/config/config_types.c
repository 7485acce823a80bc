/* Sections that users name: "[send central]". Each is an instance of its type's struct, with settings of its own.
 * The owner of a type is called for each section that exists, and later for each that a reload adds, changes or
 * removes. */
#include "common/config/config_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"

#define NAME_MAX_LENGTH 64

void
config_add_types (struct config *config, const struct config_type *const *types, bool on_command_line)
{
  config->types = types;
  config->types_have_flags = on_command_line;
}

const struct config_type *
config_find_type (const struct config *config, const char *name, size_t length)
{
  for (const struct config_type *const *type = config->types; *type != NULL; type++)
    if (strlen ((*type)->name) == length && memcmp ((*type)->name, name, length) == 0)
      return *type;
  return NULL;
}

const char *
section_own_name (const struct section *section)
{
  return section->name + strlen (section->type->name) + 1;
}

struct section *
config_open_section (struct config *config, const struct config_type *type, const char *name, size_t length,
                     struct error *error)
{
  if (length == 0 || length > NAME_MAX_LENGTH || strspn (name, "abcdefghijklmnopqrstuvwxyz0123456789_-") < length) {
    error_set (error, "expected [%s NAME], with a NAME of 1 to %d of a-z, 0-9, '_' and '-'", type->name,
               NAME_MAX_LENGTH);
    return NULL;
  }
  char *full = memory_format ("%s %.*s", type->name, (int) length, name);
  struct section *section = config_find_section (config, full);

  if (section == NULL) {
    section = config_add_section (config, full);
    section->type = type;
    section->instance = memory_new (1, type->size);
    for (size_t i = 0; i < type->option_count; i++)
      section_add_setting (section, &type->options[i], section->instance);
  }
  free (full);
  return section;
}

int
config_check_sections (const struct config *config, struct error *error)
{
  for (size_t i = 0; i < config->section_count; i++) {
    const struct section *section = config->sections[i];

    if (section->type != NULL && section->type->check != NULL && section->type->check (section->instance, error) != 0)
      return error_prefix (error, "%s: [%s] ", section->source, section->name);
  }
  return 0;
}

void
config_own (struct config *config, const struct config_type *type, config_change_fn change, void *context)
{
  assert (config_find_type (config, type->name, strlen (type->name)) == type);
  config->owners = memory_resize (config->owners, config->owner_count + 1, sizeof *config->owners);
  config->owners[config->owner_count++] = (struct owner){ type, change, context };
  for (size_t i = 0; i < config->section_count; i++) {
    const struct section *section = config->sections[i];

    if (section->type == type)
      change (context, section_own_name (section), NULL, section->instance);
  }
}
