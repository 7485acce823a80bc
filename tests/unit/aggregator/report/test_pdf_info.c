/* What is added behind a PDF, of both forms that cross-references have; test_report_pictures.py has pdfinfo read the real
 * thing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <string.h>

#include "aggregator/report/pdf_info.h"
#include "synop/clock.h"

#define HEAD "%PDF-1.5\n1 0 obj\n<< /Type /Catalog >>\nendobj\n"
#define TABLE "xref\n0 2\n0000000000 65535 f \n0000000009 00000 n \ntrailer\n<< /Size 2\n   /Root 1 0 R\n>>\n"
#define STREAM                                                                                                         \
  "2 0 obj\n<< /Type /XRef /Size 3 /Root 1 0 R /W [1 1 1] /Length 9 "                                                  \
  ">>\nstream\n\0\0\0\1\11\0\1\54\0\nendstream\nendobj\n"

static const struct pdf_info info = { "Job 7: \xc3\xa4(\xf0\x9f\x98\x80)", "ana", "synop",
                                      INT64_C (1795271527) * NS_PER_S };

static struct buffer
document (const char *references, size_t length)
{
  struct buffer pdf = { 0 };

  buffer_add_string (&pdf, HEAD);
  buffer_add (&pdf, references, length);
  buffer_printf (&pdf, "startxref\n%zu\n%%%%EOF\n", strlen (HEAD));
  return pdf;
}

/* Where the last cross-references are. */
static const char *
references (struct buffer *pdf)
{
  const char *text = buffer_text (pdf), *found = NULL;

  for (size_t i = 0; i < pdf->length; i++)
    if (strncmp (text + i, "startxref\n", 10) == 0)
      found = text + i;
  assert_non_null (found);
  assert_non_null (strstr (found, "%%EOF\n"));
  return text + strtoul (found + 10, NULL, 10);
}

static void
check_object (const char *object, const char *number)
{
  assert_memory_equal (object, number, strlen (number));
  assert_non_null (strstr (object, "/Title <FEFF004A006F006200200037003A002000E40028D83DDE000029>\n"));
  assert_non_null (strstr (object, "/Author <FEFF0061006E0061>\n"));
  assert_non_null (strstr (object, "/CreationDate (D:20261121143207Z) >>\nendobj\n"));
}

static void
test_table (void **state)
{
  struct buffer pdf = document (TABLE, sizeof TABLE - 1);
  size_t before = pdf.length;
  const char *at;

  (void) state;
  pdf_info_add (&pdf, &info);
  at = references (&pdf);
  assert_memory_equal (at, "xref\n2 1\n", 9);
  assert_memory_equal (at + 19, " 00000 n \ntrailer\n", 18);
  assert_non_null (strstr (at, "<< /Size 3 /Root 1 0 R /Info 2 0 R /Prev 45 >>\n"));
  assert_true (strtoul (at + 9, NULL, 10) >= before);
  check_object (buffer_text (&pdf) + strtoul (at + 9, NULL, 10), "2 0 obj\n");
  buffer_free (&pdf);
}

static void
test_stream (void **state)
{
  struct buffer pdf = document (STREAM, sizeof STREAM - 1);
  const unsigned char *entries;
  const char *at;

  (void) state;
  pdf_info_add (&pdf, &info);
  at = references (&pdf);
  assert_memory_equal (at, "4 0 obj\n", 8);
  assert_non_null (strstr (at, "/W [1 4 1] /Index [3 2] /Length 12 /Size 5 /Root 1 0 R /Info 3 0 R /Prev 45 >>\n"));
  entries = (const unsigned char *) strstr (at, "stream\n") + 7;
  for (int i = 0; i < 2; i++, entries += 6) {
    const char *object = buffer_text (&pdf) + (entries[3] << 8 | entries[4]);
    assert_int_equal (entries[0], 1);
    assert_int_equal (entries[1] | entries[2] | entries[5], 0);
    if (i == 0)
      check_object (object, "3 0 obj\n");
    else
      assert_ptr_equal (object, at);
  }
  buffer_free (&pdf);
}

static void
test_others (void **state)
{
  static const char *const texts[] = { "", "no PDF", "startxref\n99999\n", "startxref\n0\n",
                                       "xref /Size 3 startxref\n0\n" };

  (void) state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    struct buffer pdf = { 0 };
    buffer_add_string (&pdf, texts[i]);
    pdf_info_add (&pdf, &info);
    assert_string_equal (buffer_text (&pdf), texts[i]);
    buffer_free (&pdf);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_table), cmocka_unit_test (test_stream),
                                      cmocka_unit_test (test_others) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
