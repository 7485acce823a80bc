/* What lies on what: block devices on others, network interfaces on others. What goes through several layers is told by
 * each of them, so a total takes it where it is lowest: at the disks, at the physical interfaces. */
#ifndef SYNOP_AGENT_LAYERS_H
#define SYNOP_AGENT_LAYERS_H

#include <stdbool.h>
#include <stddef.h>

/* Does a whole block device count in a total? No, when it is a file's or memory's (loop, ram, zram), or lies on one that
 * `exclude` leaves in (dm, md, bcache: by /sys/block/NAME/slaves, else by its name). */
bool layers_disk_counts (const char *root, const char *exclude, const char *name);

/* "nvme0c1n1", a path of NVMe multipath: the name of its head, "nvme0n1", of less than `size` bytes. False: it is none. */
bool layers_disk_head (const char *name, char *head, size_t size);

enum layer {
  LAYER_ABOVE,   /* lies on another that tells of the same (bond, bridge, VLAN, tunnel), or leads nowhere (lo) */
  LAYER_BOTTOM,  /* lies on none that is known: the interface of a container */
  LAYER_PHYSICAL /* has a device, or stands for one that `exclude` leaves out */
};
/* Of a network interface, by its links in /sys/class/net/NAME; where it has no folder there, by its name. */
enum layer layers_network (const char *root, const char *exclude, const char *name);

#endif
