/* The msgpack reader against every kind of head, at every length, and against lies. */
#include <msgpack.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "synop/wire.h"

#define WIRE(bytes) wire_over ("" bytes, sizeof bytes - 1)

static void
test_numbers (void **state)
{
  struct buffer out = { 0 };
  msgpack_packer packer;

  (void) state;
  wire_packer (&packer, &out);
  for (unsigned shift = 0; shift < 64; shift++)
    for (int side = -1; side <= 1; side++) {
      uint64_t number = (UINT64_C (1) << shift) + (uint64_t) side;

      msgpack_pack_uint64 (&packer, number);
      msgpack_pack_int64 (&packer, -(int64_t) (number & INT64_MAX));
    }

  struct wire wire = wire_over (out.data, out.length);

  for (unsigned shift = 0; shift < 64; shift++)
    for (int side = -1; side <= 1; side++) {
      uint64_t number = (UINT64_C (1) << shift) + (uint64_t) side;

      assert_true (wire_uint (&wire, UINT64_MAX) == number);
      assert_true (wire_int (&wire) == -(int64_t) (number & INT64_MAX));
    }
  assert_false (wire.bad);
  assert_ptr_equal (wire.at, wire.end);
  buffer_free (&out);
}

static void
test_types (void **state)
{
  struct wire wire =
      WIRE ("\xc0\xc2\xc3\xca\x3f\xc0\x00\x00\xcb\x40\x04\x00\x00\x00\x00\x00\x00\xa2hi\xd9\x01x\xda\x00\x01y"
            "\xdb\x00\x00\x00\x01z\xc4\x02\x01\x02\xc5\x00\x01\x03\xc6\x00\x00\x00\x01\x04\x92\x01\x02\xff");
  size_t length;

  (void) state;
  assert_true (wire_nil (&wire));
  assert_false (wire_nil (&wire));
  assert_false (wire_bool (&wire));
  assert_true (wire_bool (&wire));
  assert_true (wire_real (&wire) == 1.5);
  assert_true (wire_real (&wire) == 2.5);
  assert_memory_equal (wire_text (&wire, &length, 2), "hi", 2);
  assert_int_equal (*wire_text (&wire, &length, 9), 'x');
  assert_int_equal (*wire_text (&wire, &length, 9), 'y');
  assert_int_equal (*wire_text (&wire, &length, 9), 'z');
  assert_memory_equal (wire_binary (&wire, &length, 2), "\1\2", 2);
  assert_int_equal (*wire_binary (&wire, &length, 2), 3);
  assert_int_equal (*wire_binary (&wire, &length, 2), 4);
  assert_int_equal (wire_array (&wire, 2), 2);
  assert_true (wire_real (&wire) == 1);
  assert_int_equal (wire_peek (&wire), 2);
  wire_skip_items (&wire, 1);
  assert_int_equal (wire_int (&wire), -1);
  assert_false (wire.bad);
  assert_int_equal (wire_peek (&wire), 0xc1);
  assert_int_equal (wire_int (&wire), 0);
  assert_true (wire.bad);
}

static void
test_wrong_type_stays_bad (void **state)
{
  struct wire wire = WIRE ("\xa1x\x05\xc3");
  size_t length = 7;

  (void) state;
  assert_int_equal (wire_uint (&wire, 10), 0);
  assert_true (wire.bad);
  assert_int_equal (wire_uint (&wire, 10), 0);
  assert_int_equal (wire_int (&wire), 0);
  assert_true (wire_real (&wire) == 0);
  assert_false (wire_bool (&wire));
  assert_non_null (wire_text (&wire, &length, 10));
  assert_int_equal (length, 0);
  assert_int_equal (wire_array (&wire, 10), 0);
  assert_false (wire_nil (&wire));
  wire_skip (&wire);
  assert_true (wire.bad);
}

static bool
refused (struct wire wire)
{
  wire_skip (&wire);
  return wire.bad;
}

static void
test_lies (void **state)
{
  struct wire wire;
  size_t length;

  (void) state;
  assert_true (refused (wire_over (NULL, 0)));
  assert_true (refused (WIRE ("\xc1")));
  assert_true (refused (WIRE ("\xdd\xff\xff\xff\xff")));
  assert_true (refused (WIRE ("\xdd\x00\x00\x00\x02\x01")));
  assert_true (refused (WIRE ("\xdf\xff\xff\xff\xff\x01\x01")));
  assert_true (refused (WIRE ("\x82\x01\x01\x01")));
  assert_true (refused (WIRE ("\xdb\xff\xff\xff\xff"
                              "abc")));
  assert_true (refused (WIRE ("\xc6\xff\xff\xff\xff")));
  assert_true (refused (WIRE ("\xc9\xff\xff\xff\xff\x01")));
  assert_true (refused (WIRE ("\xd8\x01\x02")));
  assert_true (refused (WIRE ("\xd4\x01")));
  assert_false (refused (WIRE ("\xd4\x01\x02")));
  assert_false (refused (WIRE ("\xc7\x01\x05\x02")));
  assert_false (refused (WIRE ("\x82\x01\x01\x01\x91\xa1x")));

  wire = WIRE ("\xdd\x00\x00\x00\x03\x01\x02");
  assert_int_equal (wire_array (&wire, UINT32_MAX), 0); /* more items than bytes: refused at the head */
  assert_true (wire.bad);
  wire = WIRE ("\x93\x01\x02");
  assert_int_equal (wire_array (&wire, UINT32_MAX), 0); /* a short one likewise */
  assert_true (wire.bad);
  wire = WIRE ("\x82\x01\x01\x01");
  assert_int_equal (wire_next (&wire).type, WIRE_BAD);
  assert_true (wire.bad);
  wire = WIRE ("\x93\x01\x02\x03");
  assert_int_equal (wire_array (&wire, 2), 0);
  assert_true (wire.bad);
  wire = WIRE ("\xa3"
               "abc");
  wire_text (&wire, &length, 2);
  assert_true (wire.bad);
  wire = WIRE ("\x0b");
  assert_int_equal (wire_uint (&wire, 10), 0);
  assert_true (wire.bad);
  wire = WIRE ("\xcf\xff\xff\xff\xff\xff\xff\xff\xff");
  assert_int_equal (wire_int (&wire), 0);
  assert_true (wire.bad);
}

static void
test_nesting (void **state)
{
  char bytes[100000];
  struct wire wire;

  (void) state;
  memset (bytes, 0x91, sizeof bytes);
  assert_true (refused (wire_over (bytes, sizeof bytes)));
  bytes[31] = 1;
  wire = wire_over (bytes, 32);
  wire_skip (&wire);
  assert_false (wire.bad);
  assert_ptr_equal (wire.at, wire.end);
  bytes[31] = (char) 0x91;
  bytes[32] = 1;
  assert_true (refused (wire_over (bytes, 33)));
}

/* Any head cut short anywhere is bad, and nothing is read behind the end (which the sanitizer sees). */
static void
test_every_head_truncated (void **state)
{
  (void) state;
  for (unsigned head = 0; head < 256; head++)
    for (size_t size = 1; size < 12; size++) {
      uint8_t *bytes = malloc (size);
      struct wire wire = wire_over (bytes, size);

      memset (bytes, 0, size);
      bytes[0] = (uint8_t) head;
      wire_skip (&wire);
      assert_true (wire.at <= wire.end);
      memset (bytes + 1, 0xff, size - 1);
      wire = wire_over (bytes, size);
      wire_skip (&wire);
      assert_true (wire.at <= wire.end);
      free (bytes);
    }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_numbers), cmocka_unit_test (test_types),   cmocka_unit_test (test_wrong_type_stays_bad),
    cmocka_unit_test (test_lies),    cmocka_unit_test (test_nesting), cmocka_unit_test (test_every_head_truncated),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
