/* DCMI's Get Power Reading; see ipmi_dcmi.h.
 *
 *   request    network function 0x2c, command 0x02: dc 01 00 00          group, system power statistics, reserved
 *   answer     00 dc | now (2) | least (2) | most (2) | mean (2) | time (4) | period (4) | 40: it measures
 *
 * The driver queues a message that is sent, and has the answer ready later. By its message id the answer to this request is
 * distinguished from one that comes too late. */
#include "agent/energy/ipmi_dcmi.h"

#include <fcntl.h>
#include <linux/ipmi.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "synop/clock.h"
#include "synop/memory.h"

#define DEVICE "/dev/ipmi0"
#define PERIOD (10 * NS_PER_S)
#define PATIENCE (60 * NS_PER_S) /* an answer is valid that long, and a device that cannot be opened is left alone */
#define GROUP_DCMI 0xdc
#define NETFN_GROUP 0x2c
#define GET_POWER_READING 0x02
#define ANSWER_SIZE 19
#define MEASURES 0x40

struct ipmi_dcmi {
  const struct ipmi_kernel *kernel;
  int fd;
  int64_t asked_ns, answered_ns; /* 0: never */
  long id;
  bool waits;
  double watts;
  uint64_t total_uj;
};

static int
kernel_open (const char *path)
{
  return open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static int
kernel_ioctl (int fd, unsigned long request, void *argument)
{
  return ioctl (fd, request, argument);
}

const struct ipmi_kernel ipmi_kernel = { kernel_open, kernel_ioctl, close };

struct ipmi_dcmi *
ipmi_dcmi_create (const struct ipmi_kernel *kernel)
{
  struct ipmi_dcmi *ipmi = memory_new (1, sizeof *ipmi);

  ipmi->kernel = kernel;
  ipmi->fd = -1;
  return ipmi;
}

void
ipmi_dcmi_destroy (struct ipmi_dcmi *ipmi)
{
  if (!ipmi)
    return;
  if (ipmi->fd >= 0)
    ipmi->kernel->close (ipmi->fd);
  free (ipmi);
}

static void
ask (struct ipmi_dcmi *ipmi, int64_t now_ns)
{
  struct ipmi_system_interface_addr address = { .addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE,
                                                .channel = IPMI_BMC_CHANNEL };
  unsigned char data[] = { GROUP_DCMI, 0x01, 0x00, 0x00 };
  struct ipmi_req request = {
    .addr = (unsigned char *) &address,
    .addr_len = sizeof address,
    .msgid = ++ipmi->id,
    .msg = { .netfn = NETFN_GROUP, .cmd = GET_POWER_READING, .data = data, .data_len = sizeof data },
  };

  if (ipmi->fd < 0)
    ipmi->fd = ipmi->kernel->open (DEVICE);
  ipmi->asked_ns = now_ns;
  ipmi->waits = ipmi->fd >= 0 && ipmi->kernel->ioctl (ipmi->fd, IPMICTL_SEND_COMMAND, &request) == 0;
}

static unsigned
number (const unsigned char *bytes)
{
  return bytes[0] | (unsigned) bytes[1] << 8;
}

static bool
is_reading (const struct ipmi_recv *answer, const unsigned char *data)
{
  return answer->recv_type == IPMI_RESPONSE_RECV_TYPE && answer->msg.data_len >= ANSWER_SIZE && data[0] == 0 &&
         data[1] == GROUP_DCMI && data[ANSWER_SIZE - 1] & MEASURES;
}

static void
reading_take (struct ipmi_dcmi *ipmi, double watts, int64_t now_ns)
{
  if (ipmi->answered_ns && now_ns - ipmi->answered_ns <= PATIENCE)
    ipmi->total_uj += (uint64_t) (watts * (double) (now_ns - ipmi->answered_ns) / (double) NS_PER_S * 1e6);
  ipmi->watts = watts;
  ipmi->answered_ns = now_ns;
}

/* All answers that are there; none is ready: EAGAIN. */
static void
answers_take (struct ipmi_dcmi *ipmi, int64_t now_ns)
{
  for (int i = 0; i < 8 && ipmi->waits; i++) {
    unsigned char data[IPMI_MAX_MSG_LENGTH];
    struct ipmi_addr address;
    struct ipmi_recv answer = { .addr = (unsigned char *) &address,
                                .addr_len = sizeof address,
                                .msg = { .data = data, .data_len = sizeof data } };

    if (ipmi->kernel->ioctl (ipmi->fd, IPMICTL_RECEIVE_MSG_TRUNC, &answer) < 0)
      return;
    if (answer.msgid != ipmi->id)
      continue;
    ipmi->waits = false;
    if (is_reading (&answer, data))
      reading_take (ipmi, number (data + 2), now_ns);
  }
}

bool
ipmi_dcmi_read (struct ipmi_dcmi *ipmi, int64_t now_ns, struct ipmi_power *power)
{
  int64_t pause_ns = ipmi->fd >= 0 || ipmi->asked_ns == 0 ? PERIOD : PATIENCE;

  answers_take (ipmi, now_ns);
  if (ipmi->asked_ns == 0 || now_ns - ipmi->asked_ns >= pause_ns - NS_PER_S / 2)
    ask (ipmi, now_ns);
  *power = (struct ipmi_power){ ipmi->watts, ipmi->total_uj, ipmi->answered_ns + PATIENCE };
  return ipmi->answered_ns && now_ns < power->until_ns;
}
