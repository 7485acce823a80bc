"""Hosts with a real systemd on this machine: each with an address on one bridge, sshd, and a file system of its own, an
overlay of this machine's, so that nothing that happens to a host happens to the machine.

A host is systemd-nspawn in mount and process namespaces of its own, whose first process dies with this one: what is
mounted and what runs ends then, however that happens. Names of network namespaces and empty cgroups would outlive it;
those that an earlier run left are removed at the start. Needs root, and what `lacking` names.

    with SystemdHosts(folder, ["m0", "n1"]) as hosts:
        hosts["n1"].run("systemctl", "is-active", "ssh")
        hosts.control("ssh", "-i", hosts.key, "root@10.79.0.11", "true")
"""

import errno
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import uuid

from lib.lab import NAMESPACES, PREFIX, Switch, children, die_with_parent, left_over, remove_left_over
from lib.programs import LIMIT, wait_until

CGROUPS = pathlib.Path("/sys/fs/cgroup")
TOOLS = {
    "ip": "iproute2",
    "nsenter": "util-linux",
    "ssh-keygen": "openssh-client",
    "/usr/sbin/sshd": "openssh-server",
    "systemd-nspawn": "systemd-container",
    "/lib/systemd/systemd": "systemd-sysv",
    "dbus-daemon": "dbus",
}
# What a unit may ask for beyond what nspawn leaves to its hosts.
CAPABILITIES = "CAP_PERFMON,CAP_BPF,CAP_SYSLOG,CAP_SYS_RAWIO,CAP_NET_ADMIN,CAP_SYS_TIME"
# Of the machine, and not wanted on a host that is new.
HIDDEN = ("etc/synop", "var/lib/synop", "var/log/journal", "usr/bin/synop-agent", "usr/bin/synop-aggregator",
          "lib/systemd/system/synop-agent.service",
          "lib/systemd/system/synop-aggregator.service", "usr/sbin/policy-rc.d",
          "usr/share/man/man1/synop-agent.1", "usr/share/man/man1/synop-aggregator.1",
          "usr/share/bash-completion/completions/synop-agent", "usr/share/bash-completion/completions/synop-aggregator",
          "var/lib/man-db/auto-update")
UNITS = """\
etc/systemd/system/default.target /lib/systemd/system/multi-user.target
etc/systemd/system/console-getty.service /dev/null
etc/systemd/system/systemd-logind.service /dev/null
etc/systemd/system/getty.target /dev/null
etc/systemd/system/ldconfig.service /dev/null
etc/systemd/system/systemd-journal-catalog-update.service /dev/null
etc/systemd/system/systemd-update-done.service /dev/null
etc/systemd/system/multi-user.target.wants/ssh.service /lib/systemd/system/ssh.service
"""
SSHD = """\
HostKey /etc/ssh/lab_host_key
UsePAM no
UseDNS no
PermitRootLogin prohibit-password
AuthorizedKeysFile /root/.lab/authorized_keys
MaxStartups 100
Subsystem sftp internal-sftp
"""
# Process 1 of the host's outer namespace. A host that reboots ends nspawn with 133.
# What nspawn keeps there by the names of hosts is of no concern to another run's hosts.
HOLD = r"""
mkdir -p /run/systemd/nspawn && mount -t tmpfs nspawn /run/systemd/nspawn || exit
mount -t overlay lab -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root" || exit
for cgroup in $3; do echo 0 >"$cgroup/cgroup.procs" || exit; done
while :; do
  systemd-nspawn --quiet --directory="$1/root" --boot --register=no --keep-unit --machine="$2" --hostname="$2" \
    --network-namespace-path="$4" --resolv-conf=off --timezone=off --link-journal=no --capability="$5"
  [ $? = 133 ] || exit
done
"""


def lacking():
    """Why there can be no such hosts here; None: nothing is lacking."""
    if os.geteuid() != 0:
        return "hosts with systemd need root"
    missing = sorted({package for tool, package in TOOLS.items() if not shutil.which(tool)})
    if missing:
        return f"not installed: {' '.join(missing)}"
    if not (CGROUPS / "systemd").is_dir() and not (CGROUPS / "cgroup.procs").exists():
        return f"no cgroups at {CGROUPS}"
    probe = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c",
             "d=$(mktemp -d) && mount -t tmpfs t $d && mkdir $d/u $d/w $d/r &&"
             " mount -t overlay o -o lowerdir=/,upperdir=$d/u,workdir=$d/w $d/r && umount $d/r && umount $d && rmdir $d"]
    tried = subprocess.run(probe, capture_output=True, text=True, check=False)
    return f"no namespaces or overlays here: {tried.stderr.strip()}" if tried.returncode else None


def hierarchies():
    """Where the host's systemd must have a cgroup: in each controller's hierarchy of version 1, or in the one of 2."""
    if not (CGROUPS / "systemd").is_dir():
        return [CGROUPS]
    names = ("systemd", "unified", "memory", "cpuacct", "freezer", "cpuset", "pids")
    return [CGROUPS / name for name in names if (CGROUPS / name / "cgroup.procs").exists()]


def remove_cgroup(top):
    """With all below it, once their processes are gone."""

    def removed():
        for folder, _, _ in os.walk(top, topdown=False):
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                pass
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
        return not top.exists()

    wait_until(removed, f"the end of {top}", 20)


def remove_left_over_cgroups():
    for hierarchy in hierarchies():
        for place in left_over(hierarchy):
            remove_cgroup(place)


class SystemdHost:
    def __init__(self, folder, name, address, stem):
        self.folder, self.name, self.address = folder / name, name, address
        self.namespace = f"{stem}-{name}"
        self.cgroups = [hierarchy / self.namespace for hierarchy in hierarchies()]
        self.holder = None

    # ---- its file system ----

    def path(self, inside):
        """Where something lies that this host, and not the machine, has at `inside`."""
        return self.folder / "upper" / inside.lstrip("/")

    def write(self, inside, text, mode=0o644):
        """Before the host boots; later it is `put`."""
        self.path(inside).parent.mkdir(parents=True, exist_ok=True)
        self.path(inside).write_text(text)
        self.path(inside).chmod(mode)

    def furnish(self, key, hosts):
        for part in ("upper", "work", "root"):
            (self.folder / part).mkdir(parents=True)
        for folder in ("etc/systemd/system", "etc/ssh", "root"):
            self.path(folder).mkdir(0o700 if folder == "root" else 0o755, parents=True)
            os.setxattr(self.path(folder), "trusted.overlay.opaque", b"y")  # nothing of the machine's
        for hidden in HIDDEN:
            real = pathlib.Path(os.path.realpath(f"/{hidden}"))
            if real.exists():
                whiteout = self.path(str(real))
                whiteout.parent.mkdir(parents=True, exist_ok=True)
                os.mknod(whiteout, stat.S_IFCHR, os.makedev(0, 0))
        for link, target in (line.split() for line in UNITS.splitlines()):
            self.path(link).parent.mkdir(parents=True, exist_ok=True)
            self.path(link).symlink_to(target)
        self.write("etc/hostname", f"{self.name}\n")
        self.write("etc/machine-id", f"{uuid.uuid4().hex}\n")  # without one, systemd enables all that is installed
        self.write("etc/hosts", "127.0.0.1 localhost\n" + "".join(f"{one.address} {one.name}\n" for one in hosts))
        self.write("etc/ssh/sshd_config", SSHD)
        self.write("etc/ssh/lab_host_key", key.read_text(), 0o600)
        self.write("root/.lab/authorized_keys", key.with_suffix(".pub").read_text(), 0o600)

    # ---- power ----

    def boot(self):
        for cgroup in self.cgroups:
            cgroup.mkdir(exist_ok=True)
            for name in ("cpuset.cpus", "cpuset.mems"):
                if (cgroup / name).exists() and not (cgroup / name).read_text().strip():
                    (cgroup / name).write_text((cgroup.parent / name).read_text())
        command = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"]
        command += ["sh", "-c", HOLD, "sh", str(self.folder), self.name, " ".join(map(str, self.cgroups))]
        command += [str(NAMESPACES / self.namespace), CAPABILITIES]
        with open(self.folder / "log", "ab") as log:
            self.holder = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                           start_new_session=True, preexec_fn=die_with_parent)

    def first(self):
        """The process id of its systemd, as seen from outside; None: it is off."""
        ids = [self.holder.pid] if self.holder else []
        while ids:
            for pid in ids:
                try:
                    if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "systemd":
                        return pid
                except OSError:
                    pass
            ids = [child for pid in ids for child in children(pid)]
        return None

    def cut_power(self):
        """All of its processes end at once, and nobody is told. `boot` switches it on again."""
        if self.holder and self.holder.poll() is None:
            for child in children(self.holder.pid):
                os.kill(child, signal.SIGKILL)
            self.holder.wait(20)
        self.holder = None

    def reboot(self):
        before = self.first()
        self.run("systemctl", "reboot", check=False)
        wait_until(lambda: self.first() not in (None, before), f"{self.name}'s reboot")

    def wait_ready(self):
        def ready():
            if self.holder.poll() is not None:
                raise RuntimeError(f"host {self.name} does not start: {(self.folder / 'log').read_text()}")
            return self.first() and self.run("systemctl", "is-active", "ssh", check=False).returncode == 0

        wait_until(ready, f"sshd of {self.name}")

    # ---- work ----

    def run(self, *words, check=True, stdin=""):
        """A command on the host, without ssh, that ends by itself."""
        inside = ["nsenter", "-t", str(self.first()), *"-m -u -i -n -p -r -w".split()]
        done = subprocess.run([*inside, *map(str, words)], input=stdin, capture_output=True, text=True,
                              timeout=LIMIT, check=False, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        if check and done.returncode:
            raise AssertionError(f"{self.name}: {' '.join(map(str, words))}: {done.stdout}{done.stderr}")
        return done

    def put(self, inside, data):
        """A file, while the host runs."""
        begin = ["nsenter", "-t", str(self.first()), "-m", "-r"]
        subprocess.run([*begin, "sh", "-c", 'mkdir -p "$(dirname "$1")" && cat >"$1"', "sh", inside], input=data,
                       check=True, capture_output=True, timeout=LIMIT)

    def text(self, *words):
        return self.run(*words).stdout.strip()


class SystemdHosts:
    """Those of `later` have their address and their cable, and are off until `hosts[name].boot ()`."""

    def __init__(self, folder, names, later=()):
        self.folder = pathlib.Path(folder)
        self.stem = f"{PREFIX}-{os.getpid()}-systemd"
        self.switch, self.center = Switch(self.stem), f"{self.stem}-control"
        self.hosts = {name: SystemdHost(self.folder, name, f"10.79.0.{10 + at}", self.stem)
                      for at, name in enumerate((*names, *later))}
        self.later = later
        self.key = self.folder / "key"
        self.known = self.folder / "known_hosts"

    def __getitem__(self, name):
        return self.hosts[name]

    def __iter__(self):
        return iter(self.hosts.values())

    def __enter__(self):
        remove_left_over()
        remove_left_over_cgroups()
        try:
            self.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def build(self):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.key)], check=True)
        public = " ".join(self.key.with_suffix(".pub").read_text().split()[:2])
        self.known.write_text("".join(f"{host.address} {public}\n" for host in self))
        self.switch.build()
        self.switch.plug("control", self.center, "10.79.0.1")
        for host in self:
            host.furnish(self.key, self)
            self.switch.plug(host.name, host.namespace, host.address)
        on = [host for host in self if host.name not in self.later]
        for host in on:
            host.boot()
        for host in on:
            host.wait_ready()

    def control(self, *words, **more):
        """A command on this machine that sees the hosts' network and no other."""
        command = ["nsenter", f"--net={NAMESPACES / self.center}", *map(str, words)]
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **more)

    def __exit__(self, *_):
        for host in self:
            host.cut_power()
        for host in self:
            for cgroup in host.cgroups:
                remove_cgroup(cgroup)
            shutil.rmtree(host.folder, ignore_errors=True)
        if NAMESPACES.joinpath(self.center).exists():  # ssh keeps connections for the next command
            left = subprocess.run(["ip", "netns", "pids", self.center], check=False, capture_output=True, text=True)
            for pid in left.stdout.split():
                try:
                    os.kill(int(pid), signal.SIGTERM)
                except ProcessLookupError:
                    pass
        self.switch.remove()
