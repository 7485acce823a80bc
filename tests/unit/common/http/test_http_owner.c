/* Who opened a connection of this host, by the kernel's tables; and requests in one spelling. */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/http/http_private.h"

#define OTHER 4000000001u

struct ends {
  int listener, client, server;
  struct sockaddr_storage peer, local;
};

static socklen_t
address_fill (struct sockaddr_storage *address, int family, bool mapped)
{
  struct sockaddr_in *four = (struct sockaddr_in *) address;
  struct sockaddr_in6 *six = (struct sockaddr_in6 *) address;

  memset (address, 0, sizeof *address);
  address->ss_family = (sa_family_t) family;
  if (family == AF_INET) {
    four->sin_addr.s_addr = htonl (INADDR_LOOPBACK);
    return sizeof *four;
  }
  six->sin6_addr = in6addr_loopback;
  if (mapped) {
    memset (&six->sin6_addr, 0, 10);
    six->sin6_addr.s6_addr[10] = six->sin6_addr.s6_addr[11] = 0xff;
    six->sin6_addr.s6_addr[12] = 127;
    six->sin6_addr.s6_addr[15] = 1;
  }
  return sizeof *six;
}

static void
ends_open (struct ends *ends, int family, bool mapped, uid_t user)
{
  struct sockaddr_storage address;
  socklen_t length = address_fill (&address, family, mapped), size = sizeof ends->peer;
  uid_t before = geteuid ();

  ends->listener = socket (family, SOCK_STREAM, 0);
  assert_int_equal (bind (ends->listener, (struct sockaddr *) &address, length), 0);
  assert_int_equal (listen (ends->listener, 1), 0);
  assert_int_equal (getsockname (ends->listener, (struct sockaddr *) &address, &length), 0);
  assert_int_equal (seteuid (user), 0);
  ends->client = socket (family, SOCK_STREAM, 0);
  assert_int_equal (seteuid (before), 0);
  assert_int_equal (connect (ends->client, (struct sockaddr *) &address, length), 0);
  ends->server = accept (ends->listener, (struct sockaddr *) &ends->peer, &size);
  size = sizeof ends->local;
  assert_int_equal (getsockname (ends->server, (struct sockaddr *) &ends->local, &size), 0);
}

static void
ends_close (struct ends *ends)
{
  close (ends->listener);
  close (ends->client);
  close (ends->server);
}

static int64_t
owner (const struct ends *ends)
{
  return http_owner_find ((const struct sockaddr *) &ends->peer, (const struct sockaddr *) &ends->local);
}

static void
test_owner (void **state)
{
  static const struct {
    int family;
    bool mapped;
  } cases[] = { { AF_INET, false }, { AF_INET6, false }, { AF_INET6, true } };
  struct ends ends;

  (void) state;
  if (geteuid () != 0)
    skip ();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    ends_open (&ends, cases[i].family, cases[i].mapped, OTHER);
    assert_true (owner (&ends) == OTHER);
    ends_close (&ends);
    ends_open (&ends, cases[i].family, cases[i].mapped, 0);
    assert_true (owner (&ends) == 0);
    /* The ends exchanged: the row of the other socket, which is root's too; and of a port that is nobody's. */
    ((struct sockaddr_in *) &ends.peer)->sin_port ^= htons (1);
    assert_true (owner (&ends) == -1);
    ends_close (&ends);
  }
}

/* A socket that was closed, or closed half, is nobody's: the kernel shows it as root's. */
static void
test_closed (void **state)
{
  struct ends ends;

  (void) state;
  if (geteuid () != 0)
    skip ();
  ends_open (&ends, AF_INET, false, OTHER);
  shutdown (ends.client, SHUT_WR);
  assert_true (owner (&ends) == -1);
  close (ends.client);
  ends.client = -1;
  assert_true (owner (&ends) == -1);
  ends_close (&ends);
}

/* An address of another host is never looked up. */
static void
test_far (void **state)
{
  struct ends ends;

  (void) state;
  ends_open (&ends, AF_INET, false, geteuid ());
  assert_true (owner (&ends) == geteuid ());
  ((struct sockaddr_in *) &ends.peer)->sin_addr.s_addr = htonl (0x0a000001);
  assert_true (owner (&ends) == -1);
  ends_close (&ends);
}

static void
test_spelling (void **state)
{
  struct buffer text = { 0 };

  (void) state;
  http_target_add (&text, "/api/v1/jobs/2_1", "/");
  http_target_add (&text, "a b&c=d/e%\n\xc3\xa9~", "");
  assert_string_equal (buffer_text (&text), "/api/v1/jobs/2_1a%20b%26c%3Dd%2Fe%25%0A%C3%A9~");
  buffer_free (&text);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_owner),
    cmocka_unit_test (test_closed),
    cmocka_unit_test (test_far),
    cmocka_unit_test (test_spelling),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
