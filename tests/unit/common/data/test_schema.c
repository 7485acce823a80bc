/* Schemas: a round trip, and every rule that a read one is held to. */
#include <msgpack.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "synop/memory.h"
#include "synop/schema.h"
#include "synop/wire.h"

static const struct metric disk_metrics[] = {
  { "reads", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_WRAPS32, 3, 4, "source", "Reads." },
  { "state", TEXT, UNIT_NONE, FOLD_NONE, 0, 0, 0, NULL, "State." },
  { "pressure", GAUGE, UNIT_RATIO, FOLD_MAX, METRIC_OF_NODE, 0, 0, NULL, "Pressure." },
};
static const struct metric fact_metrics[] = { { "cpu_model", TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE } };
static const struct group disk = {
  "disk_io", "system_data", "device", "devices", "total", 0, "Disks.", GROUP_METRICS (disk_metrics)
};
static const struct group facts = {
  "hardware_info", "", "", "", "", GROUP_ONCE, "Facts.", GROUP_METRICS (fact_metrics)
};
static const struct group *const groups[] = { &disk, &facts };

static void
test_round_trip (void **state)
{
  struct schema *made = schema_create (groups, 2);
  struct error error;
  struct schema *read = schema_read (made->encoded.data, made->encoded.length, &error);

  (void) state;
  assert_non_null (read);
  assert_memory_equal (read->hash, made->hash, SCHEMA_HASH_SIZE);
  assert_int_equal (read->encoded.length, made->encoded.length);
  assert_int_equal (read->group_count, 2);

  const struct group *group = read->groups[0];

  assert_string_equal (group->name, "disk_io");
  assert_string_equal (group->section, "system_data");
  assert_string_equal (group->row, "device");
  assert_string_equal (group->rows_name, "devices");
  assert_string_equal (group->fold_name, "total");
  assert_string_equal (group->help, "Disks.");
  assert_int_equal (group->metric_count, 3);
  assert_string_equal (group->metrics[0].name, "reads");
  assert_int_equal (group->metrics[0].kind, COUNTER);
  assert_int_equal (group->metrics[0].fold, FOLD_SUM);
  assert_int_equal (group->metrics[0].flags, METRIC_WRAPS32);
  assert_int_equal (group->metrics[0].times, 3);
  assert_int_equal (group->metrics[0].per, 4);
  assert_null (group->metrics[0].source);
  assert_string_equal (group->metrics[0].help, "Reads.");
  assert_int_equal (group->metrics[2].unit, UNIT_RATIO);
  assert_int_equal (read->groups[1]->flags, GROUP_ONCE);
  assert_int_equal (group_node_metrics (group), 1);
  schema_destroy (read);
  schema_destroy (made);
  schema_destroy (NULL);
}

static void
test_hash_tells_schemas_apart (void **state)
{
  struct schema *both = schema_create (groups, 2);
  struct schema *one = schema_create (groups, 1);

  (void) state;
  assert_memory_not_equal (both->hash, one->hash, SCHEMA_HASH_SIZE);
  schema_destroy (both);
  schema_destroy (one);
}

/* A schema as somebody else might send it; each test spoils one thing. */
struct spoiled {
  uint64_t version;
  const char *group, *section, *rows_name, *fold_name, *metric, *second;
  uint64_t kind, unit, fold, flags;
  size_t name_length; /* of the metric's name, when not 0 */
  size_t extra;       /* trailing fields everywhere */
  uint32_t metrics_claimed;
  bool twice; /* the group stands twice */
};

static const struct spoiled fine = { 1, "net", "system_data", "devices", "total", "bytes", "state", 0, 1, 1, 0 };

static void
text_pack (msgpack_packer *packer, const char *text)
{
  wire_pack_text (packer, text, strlen (text));
}

static void
extra_pack (msgpack_packer *packer, size_t extra)
{
  for (size_t i = 0; i < extra; i++) {
    msgpack_pack_array (packer, 1);
    text_pack (packer, "of a later version");
  }
}

static void
spoiled_pack (msgpack_packer *packer, const struct spoiled *s)
{
  static char long_name[2000];

  memset (long_name, 'a', sizeof long_name);
  msgpack_pack_array (packer, 8 + s->extra);
  text_pack (packer, s->group);
  text_pack (packer, s->section);
  text_pack (packer, "row");
  text_pack (packer, s->rows_name);
  text_pack (packer, s->fold_name);
  msgpack_pack_uint64 (packer, s->flags);
  text_pack (packer, "Help.");
  msgpack_pack_array (packer, s->metrics_claimed != 0 ? s->metrics_claimed : 2);
  for (int i = 0; i < 2; i++) {
    msgpack_pack_array (packer, 8 + s->extra);
    if (i == 0 && s->name_length != 0)
      wire_pack_text (packer, long_name, s->name_length);
    else
      text_pack (packer, i == 0 ? s->metric : s->second);
    msgpack_pack_uint64 (packer, s->kind);
    msgpack_pack_uint64 (packer, s->unit);
    msgpack_pack_uint64 (packer, s->fold);
    msgpack_pack_uint64 (packer, s->flags);
    msgpack_pack_uint64 (packer, 0);
    msgpack_pack_uint64 (packer, 0);
    text_pack (packer, "Help.");
    extra_pack (packer, s->extra);
  }
  extra_pack (packer, s->extra);
}

static struct schema *
spoiled_read (const struct spoiled *s, struct error *error)
{
  struct buffer out = { 0 };
  msgpack_packer packer;

  error->text[0] = 0;
  wire_packer (&packer, &out);
  msgpack_pack_array (&packer, 2 + s->extra);
  msgpack_pack_uint64 (&packer, s->version);
  msgpack_pack_array (&packer, s->twice ? 2 : 1);
  spoiled_pack (&packer, s);
  if (s->twice)
    spoiled_pack (&packer, s);
  extra_pack (&packer, s->extra);

  struct schema *schema = schema_read (out.data, out.length, error);

  buffer_free (&out);
  return schema;
}

static void
assert_refused (struct spoiled spoiled, const char *why)
{
  struct error error;
  struct schema *schema = spoiled_read (&spoiled, &error);

  assert_null (schema);
  if (strstr (error.text, why) == NULL)
    fail_msg ("\"%s\" does not say \"%s\"", error.text, why);
}

#define SPOIL(member, value, why)                                                                                      \
  do {                                                                                                                 \
    struct spoiled spoiled = fine;                                                                                     \
    spoiled.member = value;                                                                                            \
    assert_refused (spoiled, why);                                                                                     \
  } while (0)

static void
test_rules (void **state)
{
  struct error error;
  struct schema *schema = spoiled_read (&fine, &error);

  (void) state;
  assert_string_equal (error.text, "");
  assert_non_null (schema);
  schema_destroy (schema);

  SPOIL (version, 2, "version 2");
  SPOIL (group, "", "group name \"\"");
  SPOIL (group, "Net", "group name \"Net\"");
  SPOIL (group, "net\nwork", "broken");
  SPOIL (section, "system-data", "section");
  SPOIL (rows_name, "a b", "rows' name");
  SPOIL (rows_name, "", "no rows");
  SPOIL (rows_name, "period", "period");
  SPOIL (rows_name, "total", "total");
  SPOIL (fold_name, "\"", "fold's name");
  SPOIL (fold_name, "error", "error");
  SPOIL (metric, "", "metric name");
  SPOIL (metric, "a.b", "metric name");
  SPOIL (metric, "state", "two metrics are named state");
  SPOIL (name_length, SCHEMA_NAME_MAX + 1, "over a limit");
  SPOIL (kind, METRIC_KINDS, "kind 3");
  SPOIL (kind, UINT64_MAX, "broken");
  SPOIL (metrics_claimed, SCHEMA_METRICS_MAX + 1, "broken or over a limit");
  SPOIL (metrics_claimed, UINT32_MAX, "broken or over a limit");
  SPOIL (metrics_claimed, 3, "broken");
  SPOIL (metrics_claimed, 1, "broken");
  SPOIL (twice, true, "two groups are named net");

  struct spoiled spoiled = fine;

  spoiled.flags = METRIC_OF_NODE;
  spoiled.metric = "period";
  assert_refused (spoiled, "another use for the name period");
  spoiled.metric = "total";
  assert_refused (spoiled, "another use for the name total");
  spoiled = fine;
  spoiled.rows_name = spoiled.fold_name = "";
  assert_refused (spoiled, "metric bytes is one of rows");
  spoiled = fine;
  spoiled.section = spoiled.group;
  schema = spoiled_read (&spoiled, &error);
  assert_non_null (schema); /* in a section of its own name it lies apart */
  schema_destroy (schema);
}

static void
test_group_and_section (void **state)
{
  struct buffer out = { 0 };
  msgpack_packer packer;
  struct error error;
  struct spoiled direct = fine, within = fine;

  (void) state;
  direct.section = "";
  direct.group = "system_data";
  wire_packer (&packer, &out);
  msgpack_pack_array (&packer, 2);
  msgpack_pack_uint64 (&packer, 1);
  msgpack_pack_array (&packer, 2);
  spoiled_pack (&packer, &within);
  spoiled_pack (&packer, &direct);
  assert_null (schema_read (out.data, out.length, &error));
  assert_non_null (strstr (error.text, "system_data is both a group and a section"));
  buffer_free (&out);
}

static void
test_later_versions (void **state)
{
  struct error error;
  struct spoiled spoiled = fine;

  (void) state;
  spoiled.extra = 2;
  spoiled.unit = METRIC_UNITS + 5;
  spoiled.fold = METRIC_FOLDS + 5;
  spoiled.flags = 0xffe0; /* the flags of a group are these, too: none that is known */

  struct schema *schema = spoiled_read (&spoiled, &error);

  assert_string_equal (error.text, "");
  assert_non_null (schema);
  assert_int_equal (schema->groups[0]->metrics[0].unit, UNIT_NONE);
  assert_int_equal (schema->groups[0]->metrics[0].fold, FOLD_NONE);
  assert_int_equal (schema->groups[0]->metrics[0].flags, 0);
  assert_int_equal (schema->groups[0]->flags, 0);
  schema_destroy (schema);
}

/* Cut at every byte: refused. One byte changed to each of some values: refused or sound, never a crash. */
static void
test_truncated_and_mutated (void **state)
{
  struct schema *made = schema_create (groups, 2);
  size_t length = made->encoded.length;
  struct error error;

  (void) state;
  for (size_t cut = 0; cut < length; cut++) {
    char *bytes = memory_copy (made->encoded.data, cut);

    bytes = memory_resize (bytes, cut, 1);
    assert_null (schema_read (bytes, cut, &error));
    free (bytes);
  }

  char *bytes = memory_resize (memory_copy (made->encoded.data, length), length, 1);

  for (size_t at = 0; at < length; at++)
    for (unsigned value = 0; value < 256; value++) {
      bytes[at] = (char) value;
      schema_destroy (schema_read (bytes, length, &error));
      bytes[at] = made->encoded.data[at];
    }
  free (bytes);
  schema_destroy (made);
}

static void
test_bombs (void **state)
{
  struct error error;
  char *big = memory_new (SCHEMA_BYTES_MAX + 1, 1);

  (void) state;
  assert_null (schema_read ("\x92\x01\xdd\xff\xff\xff\xff", 7, &error));
  assert_null (schema_read (big, SCHEMA_BYTES_MAX + 1, &error));
  assert_non_null (strstr (error.text, "over the limit"));
  assert_null (schema_read (big, SCHEMA_BYTES_MAX, &error));
  memset (big, 0x91, SCHEMA_BYTES_MAX);
  assert_null (schema_read (big, SCHEMA_BYTES_MAX, &error));
  big[0] = (char) 0x93;
  big[1] = 1;
  big[2] = (char) 0x90;
  assert_null (schema_read (big, SCHEMA_BYTES_MAX, &error)); /* the trailing field is nested without end */
  free (big);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_round_trip),     cmocka_unit_test (test_hash_tells_schemas_apart),
    cmocka_unit_test (test_rules),          cmocka_unit_test (test_group_and_section),
    cmocka_unit_test (test_later_versions), cmocka_unit_test (test_truncated_and_mutated),
    cmocka_unit_test (test_bombs),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
