/* The metadata service: what it answers, and what anything else at its address may answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agent/neuron/imds.h"
#include "synop/clock.h"
#include "tests/unit/agent/neuron/metadata_server.h"

#define PATIENCE (clock_monotonic () + 120 * NS_PER_S)

static void
test_aws (void **state)
{
  struct metadata_server server;
  struct imds_facts facts = { 0 };
  struct error error = { "" };

  (void) state;
  metadata_server_start (&server, answer_as_aws);
  if (imds_query_aws (server.endpoint, PATIENCE, &facts, &error) < 0)
    fail_msg ("%s", error.text);
  metadata_server_stop (&server);
  assert_string_equal (facts.image_id, "ami-0abcdef1234567890");
  assert_string_equal (facts.instance_id, "i-0fedcba9876543210");
  assert_string_equal (facts.instance_type, "p5.48xlarge");
  assert_string_equal (facts.availability_zone, "us-east-2c");
  assert_string_equal (facts.region, "us-east-2");
  assert_int_equal (server.requests, 6);
}

static void
test_azure (void **state)
{
  struct metadata_server server;
  struct imds_facts facts = { 0 };
  struct error error = { "" };

  (void) state;
  metadata_server_start (&server, answer_as_azure);
  if (imds_query_azure (server.endpoint, PATIENCE, &facts, &error) < 0)
    fail_msg ("%s", error.text);
  metadata_server_stop (&server);
  assert_string_equal (facts.instance_id, "02aab8a4-74ef-476e-8182-f6d2ba4166a6");
  assert_string_equal (facts.instance_type, "Standard_ND96isr_H100_v5");
  assert_string_equal (facts.region, "westeurope");
  assert_string_equal (facts.availability_zone, "2");
  assert_string_equal (facts.image_id, "microsoft-dsvm:ubuntu-hpc:2204:22.04.2023080201");
  assert_int_equal (server.requests, 1);
}

static void
answer_never (int connection, const char *request)
{
  char byte;

  (void) request;
  while (recv (connection, &byte, 1, 0) > 0) /* until the other side has had enough */
    ;
}

static void
answer_in_drops (int connection, const char *request)
{
  (void) request;
  send_text (connection, "HTTP/1.1 200 OK\r\n");
  while (send (connection, "X", 1, MSG_NOSIGNAL) == 1)
    usleep (1000);
}

static void
answer_without_end (int connection, const char *request)
{
  char text[4096];

  (void) request;
  memset (text, 'a', sizeof text);
  send_text (connection, "HTTP/1.1 200 OK\r\n\r\n");
  while (send (connection, text, sizeof text, MSG_NOSIGNAL) > 0)
    ;
}

static void
assert_refused (void (*answer) (int, const char *), int64_t patience_ns, const char *words)
{
  int (*const asks[]) (const char *, int64_t, struct imds_facts *, struct error *) = { imds_query_aws,
                                                                                       imds_query_azure };

  for (size_t i = 0; i < 2; i++) {
    struct metadata_server server;
    struct imds_facts facts = { 0 };
    struct error error = { "" };
    int64_t before = clock_monotonic ();
    metadata_server_start (&server, answer);
    assert_int_equal (asks[i](server.endpoint, before + patience_ns, &facts, &error), -1);
    assert_true (clock_monotonic () - before < 60 * NS_PER_S);
    metadata_server_stop (&server);
    assert_non_null (strstr (error.text, words));
    assert_string_equal (facts.instance_id, "");
  }
}

static void
test_servers_that_hang (void **state)
{
  (void) state;
  assert_refused (answer_never, 50 * NS_PER_MS, "timed out");
  assert_refused (answer_in_drops, 50 * NS_PER_MS, "timed out");
}

static void
test_answer_without_end (void **state)
{
  (void) state;
  assert_refused (answer_without_end, 20 * NS_PER_S, "more than 65536 bytes");
}

static void
answer_not_found (int connection, const char *request)
{
  (void) request;
  send_text (connection, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
}

static void
answer_nothing (int connection, const char *request)
{
  (void) connection;
  (void) request;
}

static void
answer_page (int connection, const char *request)
{
  (void) request;
  send_body (connection, "<html><body>Welcome to the hotel's network</body></html>");
}

static void
test_other_servers (void **state)
{
  (void) state;
  assert_refused (answer_not_found, 20 * NS_PER_S, "status 404");
  assert_refused (answer_nothing, 20 * NS_PER_S, "metadata service");
  assert_refused (answer_page, 20 * NS_PER_S, "metadata service");
}

static void
test_nobody_there (void **state)
{
  struct metadata_server server;
  struct imds_facts facts = { 0 };
  struct error error = { "" };

  (void) state;
  metadata_server_start (&server, answer_nothing);
  metadata_server_stop (&server); /* a port that nobody has any more */
  assert_int_equal (imds_query_aws (server.endpoint, PATIENCE, &facts, &error), -1);
  assert_non_null (strstr (error.text, "refused"));
}

static void
test_endpoints (void **state)
{
  static const char *const bad[] = { "",
                                     "169.254.169.254",
                                     "https://127.0.0.1",
                                     "http://",
                                     "http://metadata.internal",
                                     "http://[::1",
                                     "http://127.0.0.1:0",
                                     "http://127.0.0.1:65536",
                                     "http://127.0.0.1/x",
                                     "http://127.0.0.1:80x" };
  struct imds_facts facts = { 0 };
  struct error error;

  (void) state;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    error.text[0] = '\0';
    assert_int_equal (imds_query_aws (bad[i], clock_monotonic (), &facts, &error), -1);
    assert_non_null (strstr (error.text, "metadata endpoint"));
  }
  /* These are good, so that it goes on to ask. */
  assert_int_equal (imds_query_aws ("http://[::1]:1/", clock_monotonic (), &facts, &error), -1);
  assert_non_null (strstr (error.text, "metadata service"));
}

static void
assert_answer (const char *bytes, int ended, int expected, const char *body)
{
  struct buffer got = { 0 };
  struct error error;
  int rc = imds_parse_answer (bytes, strlen (bytes), ended, &got, &error);

  if (rc != expected)
    fail_msg ("\"%s\": %d, expected %d", bytes, rc, expected);
  if (body) {
    assert_int_equal (got.length, strlen (body));
    assert_memory_equal (got.data, body, got.length);
  }
  buffer_free (&got);
}

static void
test_answers (void **state)
{
  (void) state;
  assert_answer ("", 0, IMDS_MORE, NULL);
  assert_answer ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n", 0, IMDS_MORE, NULL);
  assert_answer ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", 0, IMDS_MORE, NULL);
  assert_answer ("HTTP/1.1 200 OK\r\ncontent-length:3 \r\n\r\nabc", 0, 0, "abc");
  assert_answer ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef", 0, 0, "abc");
  assert_answer ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", 1, -1, NULL);
  assert_answer ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nab", 0, -1, NULL);
  assert_answer ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nab", 0, -1, NULL);
  assert_answer ("HTTP/1.0 200 OK\r\n\r\nabc", 0, IMDS_MORE, NULL);
  assert_answer ("HTTP/1.0 200 OK\r\n\r\nabc", 1, 0, "abc");
  assert_answer ("HTTP/1.1 301 Moved\r\nLocation: http://elsewhere\r\n\r\n", 1, -1, NULL);
  assert_answer ("SSH-2.0-OpenSSH\r\n\r\n", 0, -1, NULL);
  assert_answer ("HTTP/1.1\r\n\r\n", 0, -1, NULL);
  assert_answer ("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n", 0, 0, "abc");
  assert_answer ("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", 0, IMDS_MORE, NULL);
  assert_answer ("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\nab\r\n", 0, IMDS_MORE, NULL);
  assert_answer ("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\nab\r\n", 1, -1, NULL);
  assert_answer ("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", 0, -1, NULL);
  assert_answer ("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 0, -1, NULL);
}

static void
assert_json (const char *json, const char *key, const char *expected)
{
  json_t *object = json_loadb (json, strlen (json), 0, NULL);
  char text[IMDS_TEXT_SIZE];

  assert_int_equal (imds_json_text (object, key, text), expected != NULL);
  assert_string_equal (text, expected ? expected : "");
  json_decref (object);
}

static void
test_json (void **state)
{
  char large[600];

  (void) state;
  assert_json ("{\"x\":[1,{\"a\":\"no\"},\"]\"],\"a\":\"b c\"}", "a", "b c");
  assert_json ("{\"a\":\"\\/images\\/x\"}", "a", "/images/x");
  assert_json ("{\"a\":\"line\\nbreak\"}", "a", NULL);
  assert_json ("{\"a\":\"\\u00e9\"}", "a", NULL);
  assert_json ("{\"a\":\"\"}", "a", NULL);
  assert_json ("{\"a\":5}", "a", NULL);
  assert_json ("{\"a\":\"b", "a", NULL);
  assert_json ("[]", "a", NULL);
  assert_json ("", "a", NULL);
  for (int size = IMDS_TEXT_SIZE - 1; size <= IMDS_TEXT_SIZE; size++) {
    snprintf (large, sizeof large, "{\"a\":\"%0*d\"}", size, 0);
    json_t *object = json_loads (large, 0, NULL);
    char text[IMDS_TEXT_SIZE];
    assert_int_equal (imds_json_text (object, "a", text), size < IMDS_TEXT_SIZE);
    json_decref (object);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_aws),
    cmocka_unit_test (test_azure),
    cmocka_unit_test (test_servers_that_hang),
    cmocka_unit_test (test_answer_without_end),
    cmocka_unit_test (test_other_servers),
    cmocka_unit_test (test_nobody_there),
    cmocka_unit_test (test_endpoints),
    cmocka_unit_test (test_answers),
    cmocka_unit_test (test_json),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
