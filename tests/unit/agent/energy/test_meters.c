/* Sensors beside RAPL: counters and powers of the hwmon class, and DCMI with a driver that is played. */
#include <errno.h>
#include <linux/ipmi.h>
#include <math.h>
#include <sys/ioctl.h>

#include "agent/energy/meters.h"
#include "synop/clock.h"
#include "tests/unit/agent/sampler_test.h"

static void
assert_near (double value, double expected)
{
  if (!(fabs (value - expected) < 1e-6))
    fail_msg ("%.9g; expected %.9g", value, expected);
}

static void
counters_of_sockets (void **state)
{
  struct meter_sum sums[METER_KINDS];
  struct scratch scratch;
  struct meters meters;

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/sys/class/hwmon/hwmon3/name", "amd_energy\n");
  scratch_write (&scratch, "/sys/class/hwmon/hwmon3/energy1_label", "Ecore000\n");
  scratch_write (&scratch, "/sys/class/hwmon/hwmon3/energy1_input", "1\n");
  scratch_write (&scratch, "/sys/class/hwmon/hwmon3/energy2_label", "Esocket0\n");
  scratch_write (&scratch, "/sys/class/hwmon/hwmon3/energy2_input", "5000000\n");
  scratch_write (&scratch, "/sys/class/hwmon/hwmon3/energy3_label", "Esocket1\n");
  scratch_write (&scratch, "/sys/class/hwmon/hwmon3/energy3_input", "7000000\n");
  meters_init (&meters, scratch.root, NULL);
  assert_true (meters_exist (&meters));
  assert_int_equal (meters.count, 2);
  meters_read (&meters, NS_PER_S, sums);
  assert_true (sums[METER_CPU].known);
  assert_int_equal (sums[METER_CPU].total_uj, 0);
  assert_true (isnan (sums[METER_CPU].watts));
  assert_false (sums[METER_NODE].known);
  scratch_write (&scratch, "/sys/class/hwmon/hwmon3/energy2_input", "105000000\n");
  scratch_write (&scratch, "/sys/class/hwmon/hwmon3/energy3_input", "3000000\n"); /* set back */
  meters_read (&meters, 3 * NS_PER_S, sums);
  assert_int_equal (sums[METER_CPU].total_uj, 100000000);
  assert_near (sums[METER_CPU].watts, 50);
  scratch_write (&scratch, "/sys/class/hwmon/hwmon3/energy3_input", "\n");
  meters_read (&meters, 4 * NS_PER_S, sums);
  assert_false (sums[METER_CPU].known); /* one socket is not all */
  meters_free (&meters);
  scratch_free (&scratch);
}

/* What was counted goes on when sensors are listed anew; a long pause counts for nothing. */
static void
powers_over_time (void **state)
{
  struct meter_sum sums[METER_KINDS];
  struct scratch scratch;
  struct meters meters;

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/sys/class/hwmon/hwmon0/name", "ibmpowernv\n");
  scratch_write (&scratch, "/sys/class/hwmon/hwmon0/power1_label", "System\n");
  scratch_write (&scratch, "/sys/class/hwmon/hwmon0/power1_input", "400000000\n");
  meters_init (&meters, scratch.root, NULL);
  for (int second = 0; second <= 100; second++) {
    assert_true (meters_exist (&meters));
    meters_read (&meters, (second + 1) * NS_PER_S, sums);
  }
  assert_int_equal (sums[METER_NODE].total_uj, UINT64_C (40000) * 1000000);
  assert_string_equal (sums[METER_NODE].source, "OCC");
  meters_read (&meters, 10000 * NS_PER_S, sums);
  assert_int_equal (sums[METER_NODE].total_uj, UINT64_C (40000) * 1000000);
  meters_free (&meters);
  scratch_free (&scratch);
}

/* ---- DCMI ---- */

static struct controller { /* what the driver does */
  bool absent, silent;
  unsigned watts;
  unsigned char completion, state;
  int opened, asked, closed;
  long id;
  unsigned char request[8];
  unsigned netfn, command, length;
} controller;

static int
played_open (const char *path)
{
  assert_string_equal (path, "/dev/ipmi0");
  controller.opened++;
  return controller.absent ? -1 : 5;
}

static int
played_close (int fd)
{
  assert_int_equal (fd, 5);
  controller.closed++;
  return 0;
}

static int
played_ioctl (int fd, unsigned long request, void *argument)
{
  struct ipmi_recv *answer = argument;

  assert_int_equal (fd, 5);
  if (request == IPMICTL_SEND_COMMAND) {
    const struct ipmi_req *sent = argument;

    controller.asked++;
    controller.id = sent->msgid;
    controller.netfn = sent->msg.netfn;
    controller.command = sent->msg.cmd;
    controller.length = sent->msg.data_len;
    memcpy (controller.request, sent->msg.data, sent->msg.data_len);
    return 0;
  }
  assert_true (request == IPMICTL_RECEIVE_MSG_TRUNC);
  if (controller.silent || controller.id == 0) {
    errno = EAGAIN;
    return -1;
  }
  assert_true (answer->msg.data_len >= 19);
  memset (answer->msg.data, 0, 19);
  answer->msg.data[0] = controller.completion;
  answer->msg.data[1] = 0xdc;
  answer->msg.data[2] = (unsigned char) (controller.watts & 0xff);
  answer->msg.data[3] = (unsigned char) (controller.watts >> 8);
  answer->msg.data[18] = controller.state;
  answer->msg.data_len = 19;
  answer->recv_type = IPMI_RESPONSE_RECV_TYPE;
  answer->msgid = controller.id;
  controller.id = 0;
  return 0;
}

static const struct ipmi_kernel played = { played_open, played_ioctl, played_close };

static void
dcmi_answers (void **state)
{
  static const unsigned char expected[] = { 0xdc, 0x01, 0x00, 0x00 };
  struct ipmi_dcmi *ipmi = ipmi_dcmi_create (&played);
  struct ipmi_power power;
  int64_t now = 100 * NS_PER_S;

  (void) state;
  controller = (struct controller){ .watts = 612, .state = 0x40 };
  assert_false (ipmi_dcmi_read (ipmi, now, &power));
  assert_int_equal (controller.netfn, 0x2c);
  assert_int_equal (controller.command, 0x02);
  assert_int_equal (controller.length, 4);
  assert_memory_equal (controller.request, expected, 4);
  for (int second = 1; second <= 20; second++)
    assert_true (ipmi_dcmi_read (ipmi, now + second * NS_PER_S, &power));
  assert_near (power.watts, 612);
  assert_int_equal (controller.asked, 3); /* each 10 s */
  assert_int_equal (power.total_uj, UINT64_C (612) * 10 * 1000000);
  controller.silent = true; /* it hangs: its last answer counts for a minute */
  assert_true (ipmi_dcmi_read (ipmi, now + 60 * NS_PER_S, &power));
  assert_false (ipmi_dcmi_read (ipmi, now + 80 * NS_PER_S, &power));
  controller.silent = false;
  controller.state = 0; /* it does not measure */
  assert_false (ipmi_dcmi_read (ipmi, now + 81 * NS_PER_S, &power));
  controller.state = 0x40;
  controller.completion = 0xc1; /* it does not know the command */
  assert_false (ipmi_dcmi_read (ipmi, now + 91 * NS_PER_S, &power));
  assert_false (ipmi_dcmi_read (ipmi, now + 92 * NS_PER_S, &power));
  ipmi_dcmi_destroy (ipmi);
  assert_int_equal (controller.opened, 1);
  assert_int_equal (controller.closed, 1);
}

static void
dcmi_of_the_node (void **state)
{
  struct meter_sum sums[METER_KINDS];
  struct meters meters;

  (void) state;
  controller = (struct controller){ .watts = 300, .state = 0x40 };
  meters_init (&meters, "/nonexistent", ipmi_dcmi_create (&played));
  assert_true (meters_exist (&meters));
  meters_read (&meters, 100 * NS_PER_S, sums);
  assert_false (sums[METER_NODE].known);
  meters_read (&meters, 101 * NS_PER_S, sums);
  assert_true (sums[METER_NODE].known);
  assert_near (sums[METER_NODE].watts, 300);
  assert_string_equal (sums[METER_NODE].source, "IPMI");
  meters_free (&meters);
}

/* A device that may not be opened is tried once a minute. */
static void
dcmi_is_closed (void **state)
{
  struct ipmi_dcmi *ipmi = ipmi_dcmi_create (&played);
  struct ipmi_power power;

  (void) state;
  controller = (struct controller){ .absent = true };
  for (int second = 0; second < 120; second++)
    assert_false (ipmi_dcmi_read (ipmi, (second + 1) * NS_PER_S, &power));
  assert_int_equal (controller.opened, 2);
  ipmi_dcmi_destroy (ipmi);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (counters_of_sockets), cmocka_unit_test (powers_over_time), cmocka_unit_test (dcmi_answers),
    cmocka_unit_test (dcmi_of_the_node),    cmocka_unit_test (dcmi_is_closed),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
