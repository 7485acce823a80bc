/* What types are made of, without a receiver: line protocol, msgpack, files that are whole, where a batch is parted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <math.h>
#include <unistd.h>
#include <zstd.h>

#include "aggregator/send/file_folder.h"
#include "aggregator/send/line_msgpack.h"
#include "aggregator/send/line_protocol.h"
#include "aggregator/send/send_batch.h"
#include "aggregator/send/send_library.h"
#include "aggregator/send/send_options.h"
#include "synop/memory.h"
#include "tests/unit/test_folder.h"

/* ---- line protocol ---- */

static struct send_symbol *
symbol (const char *text)
{
  struct send_symbol *made = memory_new (1, sizeof *made + strlen (text) + 1);

  made->length = (uint32_t) strlen (text);
  strcpy (made->text, text);
  return made;
}

/* A series of the family load{__name__, instance, job="ours", NAME=VALUE}. */
static struct send_series *
series_of (const char *name, const char *value)
{
  static const struct metric_family public = { .name = "load" };
  static struct send_family family = { .public = &public };
  struct send_series *series = memory_new (1, sizeof *series);

  series->family = &family;
  series->label_count = 4;
  series->labels = memory_new (4, sizeof series->labels[0]);
  series->labels[0] = (struct send_label){ symbol ("__name__"), symbol ("load") };
  series->labels[1] = (struct send_label){ symbol ("instance"), NULL };
  series->labels[2] = (struct send_label){ symbol ("job"), symbol ("ours") };
  series->labels[3] = (struct send_label){ symbol (name), symbol (value) };
  series->instance = 1;
  return series;
}

static void
series_free (struct send_series *series)
{
  for (size_t i = 0; i < series->label_count; i++) {
    free (series->labels[i].name);
    free (series->labels[i].value);
  }
  free (series->labels);
  free (series->encoded);
  free (series);
}

static void
test_lines (void **state)
{
  static const struct line_style influx = { .node = "host", .times = LINE_MS },
                                 ns = { .node = "host", .times = LINE_NS },
                                 cockpit = { .node = "hostname",
                                             .key = "cluster",
                                             .value = "f z",
                                             .usual = "type=node",
                                             .dashes = true,
                                             .jobless = true,
                                             .times = LINE_S };
  static const struct {
    const struct line_style *style;
    const char *name, *value;
    double number;
    const char *line;
  } rows[] = {
    { &influx, "cpu", "3", 11.22, "load,job=ours,cpu=3,host=n\\ 1 value=11.22 1500\n" },
    { &influx, "a b", "x,y=z w", 1e300, "load,job=ours,a\\ b=x\\,y\\=z\\ w,host=n\\ 1 value=1e+300 1500\n" },
    { &influx, "a", "C:\\x\\", 9007199254740992, "load,job=ours,a=C:\\x/,host=n\\ 1 value=9007199254740992 1500\n" },
    { &influx, "a", "x\n\\ y", -0.1, "load,job=ours,a=x\\ /\\ y,host=n\\ 1 value=-0.1 1500\n" },
    { &influx, "a", "x", 0.1 + 0.2, "load,job=ours,a=x,host=n\\ 1 value=0.30000000000000004 1500\n" },
    { &influx, "a", "x", (double) NAN, "" },
    { &influx, "a", "x", (double) INFINITY, "" },
    { &ns, "a", "x", 1, "load,job=ours,a=x,host=n\\ 1 value=1 1500000000\n" },
    { &cockpit, "stype_id", "eth_0", 2, "load,cluster=f\\ z,stype-id=eth_0,type=node,hostname=n\\ 1 value=2 2\n" },
    { &cockpit, "type", "hwthread", 2, "load,cluster=f\\ z,type=hwthread,hostname=n\\ 1 value=2 2\n" },
  };
  struct send_symbol *node = symbol ("n 1");

  (void) state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct send_sample sample = { series_of (rows[i].name, rows[i].value), node, rows[i].number, 1500, false };
    struct buffer out = { 0 };
    line_put (&out, rows[i].style, &sample);
    assert_string_equal (buffer_text (&out), rows[i].line);
    line_put (&out, rows[i].style, &sample); /* what is kept of the series is the same */
    assert_int_equal (out.length, 2 * strlen (rows[i].line));
    sample.stale = true;
    line_put (&out, rows[i].style, &sample);
    assert_int_equal (out.length, 2 * strlen (rows[i].line));
    buffer_free (&out);
    series_free (sample.series);
  }
  free (node);
}

/* ---- msgpack ---- */

static void
assert_packed (const char *json, const char *bytes, size_t length)
{
  struct buffer out = { 0 };

  line_msgpack_put (&out, json, strlen (json));
  assert_int_equal (out.length, length);
  assert_memory_equal (out.data, bytes, length);
  buffer_free (&out);
}
#define ASSERT_PACKED(json, bytes) assert_packed (json, bytes, sizeof (bytes) - 1)

static void
test_msgpack (void **state)
{
  (void) state;
  ASSERT_PACKED ("{\"a\":[1,-1,null,true,false],\"b\":\"x\\u0000y\"}", "\x82\xa1"
                                                                       "a\x95\x01\xff\xc0\xc3\xc2\xa1"
                                                                       "b\xa3x\0y");
  ASSERT_PACKED ("[0.5,9223372036854775807]", "\x92\xcb\x3f\xe0\0\0\0\0\0\0\xcf\x7f\xff\xff\xff\xff\xff\xff\xff");
  /* Beyond, a floating point number; digits in texts and behind points are as they were. */
  ASSERT_PACKED ("[18446744073709551615,\"18446744073709551615\\\"\",1.50000000000000000000]",
                 "\x93\xcb\x43\xf0\0\0\0\0\0\0\xb5"
                 "18446744073709551615\"\xcb\x3f\xf8\0\0\0\0\0\0");
}

/* ---- files ---- */

static void
put (const char *path, const void *bytes, size_t length)
{
  int fd = open (path, O_CREAT | O_TRUNC | O_WRONLY, 0600);

  assert_true (fd >= 0);
  assert_int_equal (write (fd, bytes, length), length);
  close (fd);
}

static int64_t
whole (const char *path, bool packed)
{
  int fd = open (path, O_RDONLY);
  int64_t length = file_folder_whole (fd, packed);

  close (fd);
  return length;
}

static void
test_what_is_whole (void **state)
{
  char folder[TEST_FOLDER_SIZE], path[TEST_FOLDER_SIZE + 8], frames[256];
  size_t one, both;

  (void) state;
  test_folder_make (folder);
  snprintf (path, sizeof path, "%s/f", folder);
  put (path, "", 0);
  assert_int_equal (whole (path, false), 0);
  assert_int_equal (whole (path, true), 0);
  put (path, "a\nbc\ndef", 8);
  assert_int_equal (whole (path, false), 5);
  put (path, "def", 3);
  assert_int_equal (whole (path, false), 0);
  one = ZSTD_compress (frames, sizeof frames, "first\n", 6, 3);
  both = one + ZSTD_compress (frames + one, sizeof frames - one, "second\n", 7, 3);
  for (size_t length = 0; length <= both; length++) {
    put (path, frames, length);
    assert_int_equal (whole (path, true), length < one ? 0 : length < both ? one : both);
  }
  test_folder_remove (folder);
}

static void
test_names_of_files (void **state)
{
  static const char *const others[] = {
    "one-two-20261123T074700.123Z.jsonl", "one-20261123T074700.123Z.json",  "one-x", "one-20261123T074700.12Z.jsonl",
    "one_20261123T074700.123Z.jsonl",     "one-29991323T074700.123Z.jsonl", "one"
  };
  char folder[TEST_FOLDER_SIZE], path[TEST_FOLDER_SIZE + FILE_NAME_SIZE + 2], name[FILE_NAME_SIZE];
  int64_t at = INT64_C (1795420020123) * 1000000, time_ns;

  (void) state;
  test_folder_make (folder);
  assert_int_equal (file_folder_newest (folder, "one", name, &time_ns), 0);
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    snprintf (path, sizeof path, "%s/%s", folder, others[i]);
    put (path, "", 0);
  }
  assert_int_equal (file_folder_newest (folder, "one", name, &time_ns), 0);
  for (int i = 0; i < 5; i++) {
    file_folder_name ("one", at + i * INT64_C (3600000000000), i % 2, name);
    snprintf (path, sizeof path, "%s/%s", folder, name);
    put (path, "", 0);
  }
  assert_int_equal (file_folder_newest (folder, "one", name, &time_ns), 1);
  assert_string_equal (name, "one-20261123T114700.123Z.jsonl");
  assert_int_equal (time_ns, at + 4 * INT64_C (3600000000000));
  assert_int_equal (file_folder_trim (folder, "one", 2), 0);
  snprintf (path, sizeof path, "%s/one-20261123T104700.123Z.jsonl.zst", folder);
  assert_int_equal (access (path, F_OK), 0);
  snprintf (path, sizeof path, "%s/one-20261123T094700.123Z.jsonl", folder);
  assert_int_equal (access (path, F_OK), -1);
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    snprintf (path, sizeof path, "%s/%s", folder, others[i]);
    assert_int_equal (access (path, F_OK), 0);
  }
  test_folder_remove (folder);
  assert_int_equal (file_folder_newest (folder, "one", name, &time_ns), -1);
}

/* ---- where a batch is parted ---- */

static void
test_the_middle (void **state)
{
  struct send_type lines = { .lines = true, .load_bytes = 1000 };
  struct buffer line = { .data = (char *) "0123456789\n", .length = 11 };
  struct send_batch batch;
  struct send_load load;

  (void) state;
  send_batch_init (&batch, &lines);
  send_batch_begin (&batch);
  for (int64_t part = 0; part < 5; part++) { /* 2, 2, none, 2, 2 */
    assert_true (send_batch_may (&batch, NULL, false));
    for (int i = 0; i < 2 && part != 2; i++)
      send_batch_add_line (&batch, "n1", &line);
    send_batch_end_part (&batch, NULL, part, 1);
  }
  assert_int_equal (batch.count, 8);
  assert_int_equal (send_batch_middle (&batch, 0, 8), 4);
  assert_int_equal (send_batch_middle (&batch, 0, 4), 2);
  assert_int_equal (send_batch_middle (&batch, 0, 3), 2); /* as many as went into one request */
  assert_int_equal (send_batch_middle (&batch, 3, 8), 4);
  assert_int_equal (send_batch_middle (&batch, 0, 2), 0);
  assert_int_equal (send_batch_middle (&batch, 6, 7), 0);
  load = send_batch_load (&batch, 3, 5);
  assert_int_equal (load.count, 2);
  assert_string_equal (load.text + load.lines[0].node, "n1");
  assert_memory_equal (load.text + load.lines[1].at, "0123456789\n", load.lines[1].length);
  while (!send_batch_is_full (&batch))
    send_batch_add_line (&batch, "n1", &line);
  assert_in_range (batch.text.length, 1000, 1014);
  send_batch_free (&batch);
}

/* ---- libraries ---- */

static void
test_libraries (void **state)
{
  static const char *const absent[] = { "libnosuch.so.7", NULL }, *const second[] = { "libnosuch.so.7", "libm.so.6",
                                                                                      NULL };
  struct {
    double (*cosine) (double);
    double (*more) (double);
  } functions = { NULL, NULL };
  static const struct send_symbol_of there[] = { { "cos", 0 } }, missing[] = { { "cos", 0 }, { "no_such", 8 } };
  struct error error;

  (void) state;
  assert_int_equal (send_library_load (absent, "libnosuch7", there, 1, &functions, &error), -1);
  assert_string_equal (error.text, "there is no libnosuch.so.7 here: it is in the package libnosuch7");
  assert_int_equal (send_library_load (second, "libm", there, 1, &functions, &error), 0);
  assert_true (functions.cosine (0) == 1);
  assert_int_equal (send_library_load (second, "libm", missing, 2, &functions, &error), -1);
  assert_string_equal (error.text, "libm.so.6 has no no_such: it is too old");
}

/* ---- options ---- */

#define PART(name) &send_##name.own,

/* One that two types mean is shared by all, in send_options.c. */
static void
test_keys_are_unique (void **state)
{
  static const struct config_part *const parts[] = { &send_config_type.first, SEND_TYPES (PART) };
  const char *keys[256];
  size_t count = 0;

  (void) state;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    for (size_t j = 0; j < parts[i]->option_count; j++) {
      assert_true (count < sizeof keys / sizeof keys[0]);
      for (size_t before = 0; before < count; before++)
        assert_string_not_equal (keys[before], parts[i]->options[j].key);
      keys[count++] = parts[i]->options[j].key;
    }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_lines),          cmocka_unit_test (test_msgpack),    cmocka_unit_test (test_what_is_whole),
    cmocka_unit_test (test_names_of_files), cmocka_unit_test (test_the_middle), cmocka_unit_test (test_keys_are_unique),
    cmocka_unit_test (test_libraries),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
