/* The power that the machine draws, from its management controller: DCMI's Get Power Reading, by the kernel's /dev/ipmi0.
 * Off unless [energy] ipmi says yes. The controller is asked every 10 s and answers when it likes: nothing waits for it. */
#ifndef SYNOP_AGENT_IPMI_DCMI_H
#define SYNOP_AGENT_IPMI_DCMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The calls, which tests play: as open, ioctl and close. */
struct ipmi_kernel {
  int (*open) (const char *path);
  int (*ioctl) (int fd, unsigned long request, void *argument);
  int (*close) (int fd);
};
extern const struct ipmi_kernel ipmi_kernel;

struct ipmi_power {
  double watts;
  uint64_t total_uj; /* each answer counts for the time since the one before */
  int64_t until_ns;  /* valid that long */
};

struct ipmi_dcmi;
struct ipmi_dcmi *ipmi_dcmi_create (const struct ipmi_kernel *kernel);
void ipmi_dcmi_destroy (struct ipmi_dcmi *ipmi); /* NULL is fine */
/* Takes an answer and asks again when it is time. False: there is no valid answer. */
bool ipmi_dcmi_read (struct ipmi_dcmi *ipmi, int64_t now_ns, struct ipmi_power *power);

#endif
