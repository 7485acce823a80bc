/* See layers.h.
 *
 *   /sys/block/dm-0/slaves/{sda3,md0}       the devices below a device; a disk has the folder, empty
 *   /sys/class/net/eth0/device              exists for hardware, or for an interface that a hypervisor shows as such
 *   /sys/class/net/bond0/lower_eth0         a link to an interface below; the other way round eth0/upper_bond0
 *   /sys/class/net/pf0vf1/phys_port_name    "pf0vf1": represents a virtual function, whose traffic its port counts too
 *   /sys/class/net/vxlan0/uevent            "DEVTYPE=vxlan"; plain ones have no such line */
#include "agent/source/layers.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/source/facts.h"
#include "synop/globs.h"

#define DEEP 8 /* depth of layers that are followed */

static bool
is_there (const char *root, const char *folder, const char *name, const char *file)
{
  char path[PATH_MAX];
  int length = snprintf (path, sizeof path, "%s%s/%s/%s", root, folder, name, file);

  return length > 0 && (size_t) length < sizeof path && access (path, F_OK) == 0;
}

/* ---- disks ---- */

/* Devices backed by files and memory; and copies without links to what is below them: DRBD's, ZFS's volumes. */
#define NO_DISKS "loop*,ram*,zram*,drbd*,zd[0-9]*"
#define VOLUMES "dm-*,md*,bcache*,emcpower*,VxDMP*,VxVM*"

static bool has_row (const char *root, const char *exclude, const char *name, int deep);

static bool
any_has_row (const char *root, const char *exclude, const struct names *names, int deep)
{
  bool found = false;

  for (size_t i = 0; i < names->count && !found; i++)
    found = has_row (root, exclude, names->list[i], deep);
  return found;
}

static void
slaves_read (struct names *slaves, const char *root, const char *name)
{
  char folder[NAME_MAX + 1];

  snprintf (folder, sizeof folder, "%s", name);
  for (char *at = folder; *at; at++)
    if (*at == '/')
      *at = '!';
  names_read (slaves, "", root, "/sys/block/%s/slaves", folder);
}

/* Does the device have a row, or one below it? What is no disk counts as having one: the traffic of a loop is in its
 * file's disk. */
static bool
has_row (const char *root, const char *exclude, const char *name, int deep)
{
  struct names slaves = { 0 };
  bool found = !globs_list_matches (exclude, name) || globs_list_matches (NO_DISKS, name);

  if (!found && deep > 0) {
    slaves_read (&slaves, root, name);
    found = any_has_row (root, exclude, &slaves, deep - 1);
    names_free (&slaves);
  }
  return found;
}

bool
layers_disk_counts (const char *root, const char *exclude, const char *name)
{
  struct names slaves = { 0 };
  bool counts = !globs_list_matches (NO_DISKS, name);

  if (counts)
    slaves_read (&slaves, root, name);
  if (slaves.count > 0)
    counts = !any_has_row (root, exclude, &slaves, DEEP);
  else if (counts)
    counts = !globs_list_matches (VOLUMES, name);
  names_free (&slaves);
  return counts;
}

bool
layers_disk_head (const char *name, char *head, size_t size)
{
  unsigned subsystem, controller, space;
  int end = 0;

  if (sscanf (name, "nvme%uc%un%u%n", &subsystem, &controller, &space, &end) != 3 || name[end] != '\0')
    return false;
  return (size_t) snprintf (head, size, "nvme%un%u", subsystem, space) < size;
}

/* ---- network interfaces ---- */

#define NET "/sys/class/net"
/* Virtual interfaces by name, where /sys has nothing about them. */
#define MADE_NAMES                                                                                                     \
  "bond*,team*,br-*,br[0-9]*,virbr*,docker*,podman*,cni*,cali*,flannel*,cilium*,lxc*,lxdbr*,veth*,vnet*,tap*,tun*,"    \
  "wg*,ppp*,sit*,gre*,gretap*,erspan*,tunl*,ip6*,ip_vti*,vxlan*,geneve*,vlan*,macvlan*,*.[0-9]*,dummy*,ifb*"
/* Plain Ethernet in /sys, though their traffic is in another interface too. */
#define MADE_BARE_NAMES "dummy*,ifb*"
#define MADE_TYPES "bridge,bond,vlan,vxlan,geneve,gre*,bareudp,hsr,ppp,wireguard"

/* Linux' ARPHRD_ETHER and ARPHRD_INFINIBAND; tunnels have others. */
static bool
is_link_type (uint64_t type)
{
  return type == 1 || type == 32;
}

/* An interface without a device and with none below it: is it virtual, or a container's only view of the network? */
static bool
is_made (const char *root, const char *name)
{
  static const char *const files[] = { "bridge", "brport", "bonding", "tun_flags" };
  char text[64];
  uint64_t type;

  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
    if (is_there (root, NET, name, files[i]))
      return true;
  if (fact_uint (&type, root, NET "/%s/type", name) && !is_link_type (type))
    return true;
  if (fact_text (text, sizeof text, root, NET "/%s/uevent", name) && strncmp (text, "DEVTYPE=", 8) == 0 &&
      globs_list_matches (MADE_TYPES, text + 8))
    return true;
  return globs_list_matches (MADE_BARE_NAMES, name);
}

/* Is it a port of the adapter's switch that represents a function? */
static bool
is_representor (const char *root, const char *name)
{
  char port[64];

  return fact_text (port, sizeof port, root, NET "/%s/phys_port_name", name) && fnmatch ("*pf[0-9]*", port, 0) == 0;
}

/* Does an interface above count its traffic too? Those of Hyper-V and virtio count that of their virtual function:
 * both have a device. */
static bool
is_counted_above (const char *root, const char *exclude, const char *name)
{
  struct names uppers = { 0 };
  bool counted = false;

  names_read (&uppers, "upper_", root, NET "/%s", name);
  for (size_t i = 0; i < uppers.count && !counted; i++) {
    const char *upper = uppers.list[i] + strlen ("upper_");
    counted = is_there (root, NET, upper, "device") && !globs_list_matches (exclude, upper);
  }
  names_free (&uppers);
  return counted;
}

static enum layer layer_of (const char *root, const char *exclude, const char *name, int deep);

/* An interface above others: it represents them where none of them has a row. */
static enum layer
layer_above (const char *root, const char *exclude, const struct names *lowers, int deep)
{
  enum layer layer = LAYER_ABOVE;

  for (size_t i = 0; i < lowers->count; i++) {
    const char *lower = lowers->list[i] + strlen ("lower_");
    enum layer below;
    if (!globs_list_matches (exclude, lower) || deep == 0)
      return LAYER_ABOVE;
    below = layer_of (root, exclude, lower, deep - 1);
    layer = below > layer ? below : layer;
  }
  return layer;
}

static enum layer
layer_of (const char *root, const char *exclude, const char *name, int deep)
{
  struct names lowers = { 0 };
  enum layer layer;

  if (strcmp (name, "lo") == 0)
    return LAYER_ABOVE;
  if (!is_there (root, NET, name, ""))
    return globs_list_matches (MADE_NAMES, name) ? LAYER_ABOVE : LAYER_BOTTOM;
  if (is_there (root, NET, name, "device"))
    return is_representor (root, name) || is_counted_above (root, exclude, name) ? LAYER_ABOVE : LAYER_PHYSICAL;
  names_read (&lowers, "lower_", root, NET "/%s", name);
  if (lowers.count > 0)
    layer = layer_above (root, exclude, &lowers, deep);
  else
    layer = is_made (root, name) ? LAYER_ABOVE : LAYER_BOTTOM;
  names_free (&lowers);
  return layer;
}

enum layer
layers_network (const char *root, const char *exclude, const char *name)
{
  return layer_of (root, exclude, name, DEEP);
}
