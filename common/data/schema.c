/* The descriptions of an agent's groups: written as msgpack, and read back without trust.
 *
 * What is read must obey the rules of the header, since names become keys of JSON, of Prometheus and of files: the
 * views need not check them again. An unknown unit or fold, of a newer agent, is dropped and its metric kept; an
 * unknown kind is refused, since its values could not be understood. */
#include <msgpack.h>

#include "synop/schema.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "synop/error.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/wire.h"

#define SCHEMA_VERSION 1
#define GROUP_FIELDS 8
#define METRIC_FIELDS 8

/* Memory of a schema that was read. Each text needs one byte more than its length, and took one more on the wire. */
struct schema_memory {
  struct group *groups;
  size_t group_count;
  char *texts;
  size_t texts_length;
};

static void
pack_string (struct msgpack_packer *packer, const char *text)
{
  wire_pack_text (packer, text == NULL ? "" : text, text == NULL ? 0 : strlen (text));
}

static void
metric_pack (struct msgpack_packer *packer, const struct metric *metric)
{
  msgpack_pack_array (packer, METRIC_FIELDS);
  pack_string (packer, metric->name);
  msgpack_pack_uint32 (packer, metric->kind);
  msgpack_pack_uint32 (packer, metric->unit);
  msgpack_pack_uint32 (packer, metric->fold);
  msgpack_pack_uint32 (packer, metric->flags);
  msgpack_pack_uint32 (packer, metric->times);
  msgpack_pack_uint32 (packer, metric->per);
  pack_string (packer, metric->help);
}

static void
group_pack (struct msgpack_packer *packer, const struct group *group)
{
  msgpack_pack_array (packer, GROUP_FIELDS);
  pack_string (packer, group->name);
  pack_string (packer, group->section);
  pack_string (packer, group->row);
  pack_string (packer, group->rows_name);
  pack_string (packer, group->fold_name);
  msgpack_pack_uint32 (packer, group->flags);
  pack_string (packer, group->help);
  msgpack_pack_array (packer, group->metric_count);
  for (size_t i = 0; i < group->metric_count; i++)
    metric_pack (packer, &group->metrics[i]);
}

/* A declaration that breaks a rule is a bug of ours, and ends the program at its start. */
static void
schema_check (const struct schema *schema)
{
  struct error error;
  struct schema *again = schema_read (schema->encoded.data, schema->encoded.length, &error);

  if (again == NULL) {
    log_error ("the declared groups break a rule: %s", error.text);
    abort ();
  }
  schema_destroy (again);
}

static void
schema_hash (struct schema *schema)
{
  crypto_generichash (schema->hash, sizeof schema->hash, (const unsigned char *) schema->encoded.data,
                      schema->encoded.length, NULL, 0);
}

struct schema *
schema_create (const struct group *const *groups, size_t count)
{
  struct schema *schema = memory_new (1, sizeof *schema);
  struct msgpack_packer packer;

  schema->groups = groups;
  schema->group_count = count;
  wire_packer (&packer, &schema->encoded);
  msgpack_pack_array (&packer, 2);
  msgpack_pack_uint32 (&packer, SCHEMA_VERSION);
  msgpack_pack_array (&packer, count);
  for (size_t i = 0; i < count; i++)
    group_pack (&packer, groups[i]);
  schema_hash (schema);
  schema_check (schema);
  return schema;
}

void
schema_destroy (struct schema *schema)
{
  if (schema == NULL)
    return;

  struct schema_memory *memory = schema->memory;

  if (memory != NULL) {
    for (size_t i = 0; i < memory->group_count; i++)
      free ((void *) memory->groups[i].metrics);
    free (memory->groups);
    free (memory->texts);
    free (memory);
    free ((void *) schema->groups);
  }
  buffer_free (&schema->encoded);
  free (schema);
}

/* ---- reading ---- */

static bool
text_has_controls (const char *text, size_t length)
{
  for (size_t i = 0; i < length; i++)
    if ((unsigned char) text[i] < 0x20 || text[i] == 0x7f)
      return true;
  return false;
}

static const char *
text_read (struct schema_memory *memory, struct wire *wire, size_t max)
{
  size_t length;
  const char *text = wire_text (wire, &length, max);
  char *kept = memory->texts + memory->texts_length;

  if (text_has_controls (text, length))
    wire->bad = true;
  if (wire->bad)
    return "";
  memcpy (kept, text, length);
  kept[length] = 0;
  memory->texts_length += length + 1;
  return kept;
}

static bool
name_is_fine (const char *name)
{
  return name[0] != 0 && strspn (name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen (name);
}

static int
metric_read (struct schema_memory *memory, struct wire *wire, struct metric *metric, struct error *error)
{
  uint32_t fields = wire_array (wire, UINT32_MAX);

  if (fields < METRIC_FIELDS)
    wire->bad = true;
  metric->name = text_read (memory, wire, SCHEMA_NAME_MAX);

  uint64_t kind = wire_uint (wire, UINT32_MAX);
  uint64_t unit = wire_uint (wire, UINT32_MAX);
  uint64_t fold = wire_uint (wire, UINT32_MAX);

  metric->flags = (uint32_t) wire_uint (wire, UINT32_MAX) & METRIC_FLAGS;
  metric->times = (uint32_t) wire_uint (wire, UINT32_MAX);
  metric->per = (uint32_t) wire_uint (wire, UINT32_MAX);
  metric->source = NULL;
  metric->help = text_read (memory, wire, SCHEMA_HELP_MAX);
  if (wire->bad)
    return error_set (error, "a metric is broken or over a limit");
  wire_skip_items (wire, fields - METRIC_FIELDS);

  if (!name_is_fine (metric->name))
    return error_set (error, "the metric name \"%s\" is not made of a-z, 0-9 and _", metric->name);
  if (kind >= METRIC_KINDS)
    return error_set (error, "metric %s is of unknown kind %llu", metric->name, (unsigned long long) kind);
  metric->kind = (enum metric_kind) kind;
  metric->unit = unit < METRIC_UNITS ? (enum metric_unit) unit : UNIT_NONE;
  metric->fold = fold < METRIC_FOLDS ? (enum metric_fold) fold : FOLD_NONE;
  return 0;
}

static int
string_compare (const void *one, const void *other)
{
  return strcmp (*(const char *const *) one, *(const char *const *) other);
}

/* Sorts the names; returns one that occurs twice, or NULL. */
static const char *
names_twice (const char **names, size_t count)
{
  qsort (names, count, sizeof *names, string_compare);
  for (size_t i = 1; i < count; i++)
    if (strcmp (names[i - 1], names[i]) == 0)
      return names[i];
  return NULL;
}

/* No two metrics share a name, and none at the group's own level has a name that the report uses there. */
static int
group_check_names (const struct group *group, struct error *error)
{
  const char *names[SCHEMA_METRICS_MAX + 4];
  size_t count = 0;
  const char *twice;

  for (size_t i = 0; i < group->metric_count; i++)
    names[count++] = group->metrics[i].name;
  twice = names_twice (names, count);
  if (twice != NULL)
    return error_set (error, "two metrics are named %s", twice);

  count = 0;
  names[count++] = "period";
  names[count++] = "error";
  if (group->rows_name[0] != 0)
    names[count++] = group->rows_name;
  if (group->fold_name[0] != 0)
    names[count++] = group->fold_name;
  for (size_t i = 0; i < group->metric_count; i++)
    if ((group->metrics[i].flags & METRIC_OF_NODE) != 0)
      names[count++] = group->metrics[i].name;
  twice = names_twice (names, count);
  if (twice != NULL)
    return error_set (error, "the report has another use for the name %s", twice);
  return 0;
}

static int
group_check (const struct group *group, struct error *error)
{
  if (group->section[0] != 0 && !name_is_fine (group->section))
    return error_set (error, "the section \"%s\" is not made of a-z, 0-9 and _", group->section);
  if (group->rows_name[0] != 0 && !name_is_fine (group->rows_name))
    return error_set (error, "the rows' name \"%s\" is not made of a-z, 0-9 and _", group->rows_name);
  if (group->fold_name[0] != 0 && !name_is_fine (group->fold_name))
    return error_set (error, "the fold's name \"%s\" is not made of a-z, 0-9 and _", group->fold_name);
  if (group->rows_name[0] == 0 && group->fold_name[0] != 0)
    return error_set (error, "it has a fold but no rows");
  for (size_t i = 0; i < group->metric_count; i++)
    if (group->rows_name[0] == 0 && (group->metrics[i].flags & METRIC_OF_NODE) == 0)
      return error_set (error, "metric %s is one of rows, but the group has none", group->metrics[i].name);
  return group_check_names (group, error);
}

static int
group_read (struct schema_memory *memory, struct wire *wire, struct group *group, struct error *error)
{
  uint32_t fields = wire_array (wire, UINT32_MAX);

  if (fields < GROUP_FIELDS)
    wire->bad = true;
  group->name = text_read (memory, wire, SCHEMA_NAME_MAX);
  group->section = text_read (memory, wire, SCHEMA_NAME_MAX);
  group->row = text_read (memory, wire, SCHEMA_NAME_MAX);
  group->rows_name = text_read (memory, wire, SCHEMA_NAME_MAX);
  group->fold_name = text_read (memory, wire, SCHEMA_NAME_MAX);
  group->flags = (uint32_t) wire_uint (wire, UINT32_MAX) & GROUP_FLAGS;
  group->help = text_read (memory, wire, SCHEMA_HELP_MAX);

  uint32_t count = wire_array (wire, SCHEMA_METRICS_MAX);

  if (wire->bad)
    return error_set (error, "a group is broken or over a limit");
  if (!name_is_fine (group->name))
    return error_set (error, "the group name \"%s\" is not made of a-z, 0-9 and _", group->name);

  struct metric *metrics = memory_new (count, sizeof *metrics);

  group->metrics = metrics;
  group->metric_count = count;
  for (uint32_t i = 0; i < count; i++)
    if (metric_read (memory, wire, &metrics[i], error) != 0)
      return error_prefix (error, "group %s: ", group->name);
  wire_skip_items (wire, fields - GROUP_FIELDS);
  if (group_check (group, error) != 0)
    return error_prefix (error, "group %s: ", group->name);
  return 0;
}

/* Group names are unique in the schema, and a group outside any section is not named as a section. */
static int
groups_check (const struct schema_memory *memory, struct error *error)
{
  for (size_t i = 0; i < memory->group_count; i++)
    for (size_t j = 0; j < memory->group_count; j++) {
      const struct group *one = &memory->groups[i], *other = &memory->groups[j];

      if (j > i && strcmp (one->name, other->name) == 0)
        return error_set (error, "two groups are named %s", one->name);
      if (one->section[0] == 0 && strcmp (one->name, other->section) == 0)
        return error_set (error, "%s is both a group and a section", one->name);
    }
  return 0;
}

static int
groups_read (struct schema *schema, struct wire *wire, struct error *error)
{
  struct schema_memory *memory = schema->memory;
  uint32_t fields = wire_array (wire, UINT32_MAX);
  uint64_t version = wire_uint (wire, UINT64_MAX);

  if (!wire->bad && version != SCHEMA_VERSION)
    return error_set (error, "version %llu of schemas is not known", (unsigned long long) version);
  if (fields < 2)
    wire->bad = true;

  uint32_t count = wire_array (wire, SCHEMA_GROUPS_MAX);

  if (wire->bad)
    return error_set (error, "it is no array of a version and at most %d groups", SCHEMA_GROUPS_MAX);

  const struct group **groups = memory_new (count, sizeof *groups);

  schema->groups = groups;
  schema->group_count = count;
  memory->groups = memory_new (count, sizeof *memory->groups);
  for (uint32_t i = 0; i < count; i++) {
    groups[i] = &memory->groups[i];
    memory->group_count = i + 1;
    if (group_read (memory, wire, &memory->groups[i], error) != 0)
      return -1;
  }
  wire_skip_items (wire, fields - 2);
  if (wire->bad || wire->at != wire->end)
    return error_set (error, "there is something broken behind the groups");
  return groups_check (memory, error);
}

struct schema *
schema_read (const void *bytes, size_t length, struct error *error)
{
  if (length > SCHEMA_BYTES_MAX) {
    error_set (error, "the schema has %zu bytes, over the limit of %d", length, SCHEMA_BYTES_MAX);
    return NULL;
  }

  struct schema *schema = memory_new (1, sizeof *schema);
  struct schema_memory *memory = memory_new (1, sizeof *memory);
  struct wire wire = wire_over (bytes, length);

  memory->texts = memory_new (length, 1);
  schema->memory = memory;
  if (groups_read (schema, &wire, error) != 0) {
    error_prefix (error, "schema: ");
    schema_destroy (schema);
    return NULL;
  }
  buffer_add (&schema->encoded, bytes, length);
  schema_hash (schema);
  return schema;
}
