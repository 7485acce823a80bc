/* Sections that users name: "[send central]". Each is an instance of its type's struct, with settings of its own.
 * The owner of a type is called for each section that exists, and later for each that a reload adds, changes or
 * removes. */
#include "common/config/config_private.h"

#include <assert.h>
#include <stddef.h>
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

/* ---- parts ---- */

/* Where in an instance the part lies that is `others[index]`; of the one behind the last: how large an instance is. */
static size_t
part_offset (const struct config_type *type, size_t index)
{
  const size_t align = _Alignof(max_align_t);
  size_t offset = type->first.size;

  for (size_t i = 0; i < index; i++)
    offset = (offset + align - 1) / align * align + type->others[i]->size;
  return (offset + align - 1) / align * align;
}

static size_t
part_count (const struct config_type *type)
{
  size_t count = 0;

  while (type->others != NULL && type->others[count] != NULL)
    count++;
  return count;
}

const void *
config_part_of (const struct config_type *type, const void *instance, const struct config_part *part)
{
  size_t index = 0;

  while (type->others[index] != part)
    index++;
  return (const char *) instance + part_offset (type, index);
}

const struct option *
config_type_option (const struct config_type *type, size_t index, size_t *offset)
{
  const struct config_part *part = &type->first;
  size_t count = part_count (type), from = 0;

  for (size_t i = 0; i < count && index >= part->option_count; i++) {
    index -= part->option_count;
    part = type->others[i];
    from = part_offset (type, i);
  }
  if (index >= part->option_count)
    return NULL;
  if (offset != NULL)
    *offset = from + part->options[index].offset;
  return &part->options[index];
}

/* ---- copies ---- */

/* Where its text lies in an instance; NULL: it has none. */
static char **
text_at (const struct option *option, void *instance, size_t offset)
{
  bool is_text = option->type == OPTION_TEXT || option->type == OPTION_PATH || option->type == OPTION_LIST;

  return is_text ? (char **) (void *) ((char *) instance + offset) : NULL;
}

void *
config_instance_copy (const struct config_type *type, const void *instance)
{
  size_t size = part_offset (type, part_count (type)), offset;
  void *copy = memcpy (memory_new (1, size), instance, size);
  const struct option *option;

  for (size_t i = 0; (option = config_type_option (type, i, &offset)) != NULL; i++) {
    char **text = text_at (option, copy, offset);
    if (text)
      *text = memory_string (*text);
  }
  return copy;
}

void
config_instance_free (const struct config_type *type, void *copy)
{
  const struct option *option;
  size_t offset;

  for (size_t i = 0; copy && (option = config_type_option (type, i, &offset)) != NULL; i++) {
    char **text = text_at (option, copy, offset);
    if (text)
      free (*text);
  }
  free (copy);
}

/* ---- sections ---- */

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
    section->instance = memory_new (1, part_offset (type, part_count (type)));
    const struct option *option;
    size_t offset;
    for (size_t i = 0; (option = config_type_option (type, i, &offset)) != NULL; i++)
      section_add_setting (section, option, (char *) section->instance + offset);
  }
  free (full);
  return section;
}

static bool
is_default (const struct setting *setting)
{
  return strcmp (setting->text, setting->option->fallback != NULL ? setting->option->fallback : "") == 0;
}

static int
check_section (const struct section *section, struct error *error)
{
  const struct config_type *type = section->type;

  for (size_t i = 0; type->check_given != NULL && i < section->count; i++)
    if (!is_default (&section->settings[i]) &&
        type->check_given (section->instance, section->settings[i].option->key, error) != 0)
      return -1;
  return type->check != NULL ? type->check (section->instance, error) : 0;
}

int
config_check_sections (const struct config *config, struct error *error)
{
  for (size_t i = 0; i < config->section_count; i++) {
    const struct section *section = config->sections[i];

    if (section->type != NULL && check_section (section, error) != 0)
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
