/* connections, against sockets that the test opens in a network of its own. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

#include "tests/unit/agent/sampler_test.h"

static int
socket_bound (int family, int type)
{
  struct sockaddr_in6 address6 = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
  struct sockaddr_in address4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
  int fd = socket (family, type, 0);

  if (family == AF_INET)
    assert_int_equal (bind (fd, (struct sockaddr *) &address4, sizeof address4), 0);
  else
    assert_int_equal (bind (fd, (struct sockaddr *) &address6, sizeof address6), 0);
  return fd;
}

static int
socket_to (int listening, int type)
{
  struct sockaddr_in6 address;
  socklen_t length = sizeof address;
  int fd;

  assert_int_equal (getsockname (listening, (struct sockaddr *) &address, &length), 0);
  fd = socket (((struct sockaddr *) &address)->sa_family, type, 0);
  assert_int_equal (connect (fd, (struct sockaddr *) &address, length), 0);
  return fd;
}

static bool
network_of_its_own (void)
{
  return unshare (CLONE_NEWNET) == 0 && system ("ip link set lo up") == 0;
}

static void
sockets_of_this_test (void **state)
{
  struct sampled sampled = { 0 };
  char bytes[1000] = { 0 };
  int listening, here, there, listening6, udp, sender;

  (void) state;
  if (!network_of_its_own ()) {
    print_message ("# skipped: no network namespace can be made\n");
    skip ();
  }
  sampled_open (&sampled, &sampler_connections, "");
  assert_false (sampled_may_block (&sampled));
  assert_int_equal (sampled_again (&sampled), 0);
  if (strstr (sampled.table.error, "No such file"))
    skip (); /* a kernel without the module */
  assert_string_equal (sampled.table.error, "");
  for (size_t i = 0; i < sampled.sampler->group->metric_count; i++)
    assert_uint (&sampled, NULL, sampled.sampler->group->metrics[i].name, 0);

  listening = socket_bound (AF_INET, SOCK_STREAM);
  listening6 = socket_bound (AF_INET6, SOCK_STREAM);
  assert_int_equal (listen (listening, 77), 0);
  assert_int_equal (listen (listening6, 77), 0);
  here = socket_to (listening, SOCK_STREAM);
  there = accept (listening, NULL, NULL);
  assert_int_equal (send (here, bytes, sizeof bytes, 0), sizeof bytes);
  udp = socket_bound (AF_INET6, SOCK_DGRAM);
  sender = socket_to (udp, SOCK_DGRAM);
  assert_int_equal (send (sender, bytes, sizeof bytes, 0), sizeof bytes);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "listening", 2);
  assert_uint (&sampled, NULL, "established", 2);
  assert_uint (&sampled, NULL, "tcp_receive_queue", sizeof bytes);
  assert_uint (&sampled, NULL, "tcp_send_queue", 0); /* not what listening ones may have waiting */
  assert_uint (&sampled, NULL, "udp4_receive_queue", 0);
  assert_true (sampled_value (&sampled, NULL, "udp6_receive_queue")->as.u >= sizeof bytes);

  assert_int_equal (recv (there, bytes, sizeof bytes, 0), sizeof bytes);
  shutdown (here, SHUT_WR);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "established", 0);
  assert_uint (&sampled, NULL, "close_wait", 1);
  assert_int_equal (sampled_value (&sampled, NULL, "fin_wait_1")->as.u + /* it may not be acknowledged yet */
                        sampled_value (&sampled, NULL, "fin_wait_2")->as.u,
                    1);
  close (there);
  close (here);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "time_wait", 1);
  assert_uint (&sampled, NULL, "close_wait", 0);
  close (listening);
  close (listening6);
  close (udp);
  close (sender);
  sampled_close (&sampled);
}

static void
a_recorded_machine_has_none (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_connections, ROOT_SMALL);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, NULL, "established");
  sampled_close (&sampled);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (a_recorded_machine_has_none),
    cmocka_unit_test (sockets_of_this_test),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
