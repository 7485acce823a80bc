/* Layers of devices: block devices on others, network interfaces on others. Traffic through several layers is
 * counted by each of them, so a total takes the lowest: disks, and physical interfaces. */
#ifndef SYNOP_AGENT_LAYERS_H
#define SYNOP_AGENT_LAYERS_H

#include <stdbool.h>
#include <stddef.h>

/* Does a whole block device count in a total? No, when it is backed by a file or memory (loop, ram, zram), or by a
 * device that `exclude` leaves in (dm, md, bcache: by /sys/block/NAME/slaves, else by its name). */
bool layers_disk_counts (const char *root, const char *exclude, const char *name);

/* For "nvme0c1n1", a path of NVMe multipath: its head's name, "nvme0n1", of less than `size` bytes. False: the name
 * is no path. */
bool layers_disk_head (const char *name, char *head, size_t size);

enum layer {
  LAYER_ABOVE,   /* above an interface that counts the same traffic (bond, bridge, VLAN, tunnel), or internal (lo) */
  LAYER_BOTTOM,  /* has no device and none below it: the interface of a container */
  LAYER_PHYSICAL /* has a device, or represents one that `exclude` leaves out */
};
/* The layer of a network interface, by its links in /sys/class/net/NAME; without such a folder, by its name. */
enum layer layers_network (const char *root, const char *exclude, const char *name);

#endif
