/* The file devices.list of cgroup v1: a line for what is permitted, and how ("r"ead, "w"rite, "m"ake its node).
 *
 *   a *:* rwm          all devices; also where some are forbidden one by one, which the kernel does not show
 *   c 195:3 rwm        /dev/nvidia3
 *   c 195:255 rw       /dev/nvidiactl, which all jobs have
 *   c *:* m
 *   b 8:0 r            a block device
 *
 * NVIDIA's devices have the major number 195, those of MIG's capabilities another one. */
#include "agent/job/job_devices.h"

#include <string.h>

#define NVIDIA 195

/* "195", or "*" for all. */
static bool
take_number (struct scan *line, uint64_t *number, bool *all)
{
  *all = scan_prefix (line, "*");
  return *all || scan_uint (line, number);
}

/* Whoever computes on a GPU has to read and write its device: the right to make its node is not enough. */
static void
permit (uint64_t devices[JOB_DEVICE_WORDS], struct scan line)
{
  uint64_t major = 0, minor = 0;
  bool all_majors, all_minors;

  if ((!scan_prefix (&line, "c ") && !scan_prefix (&line, "a ")) || !take_number (&line, &major, &all_majors) ||
      !scan_prefix (&line, ":") || !take_number (&line, &minor, &all_minors) || !scan_prefix (&line, " rw") ||
      (!all_majors && major != NVIDIA))
    return;
  if (all_minors)
    memset (devices, 0xff, JOB_DEVICE_WORDS * sizeof *devices);
  else if (minor < UINT64_C (64) * JOB_DEVICE_WORDS)
    devices[minor / 64] |= UINT64_C (1) << minor % 64;
}

void
job_devices_parse (uint64_t devices[JOB_DEVICE_WORDS], struct scan text)
{
  struct scan line;

  memset (devices, 0, JOB_DEVICE_WORDS * sizeof *devices);
  while (scan_line (&text, &line))
    permit (devices, line);
}
