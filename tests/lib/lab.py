"""Hosts on this machine: each with an address on one bridge, a process tree, and a monotonic clock of its own.

A host is a holder process in its own network, process, mount, hostname and time namespaces; programs are put beside it.
All share CLOCK_REALTIME, so that what any of them finds out about another one's clock can be held against the truth, and
the file system. Links can be cut, and lose packets. Needs root.

Everything ends with the holder, and the holder with this process, however that ends. Names of network namespaces would
outlive it: those that an earlier run left are removed at the start.
"""

import contextlib
import ctypes
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from lib.programs import Program, wait_until

PREFIX = "synop-lab"
NAMESPACES = pathlib.Path("/run/netns")
CGROUPS = "/sys/fs/cgroup"
ASIDE = "/mnt"  # for a moment, in a mount namespace
TOOLS = ("ip", "unshare", "nsenter")
PARTS = ("--pid", "--fork", "--kill-child", "--mount-proc", "--uts", "--ipc", "--time")
LOSE = ("iptables", "-w", "-A", "INPUT", "-i", "eth0", "-m", "statistic", "--mode", "random", "-j", "DROP", "--probability")
LOSE_NOTHING = ("iptables", "-w", "-F", "INPUT")


def lacking(loss=False):
    """Why there can be no hosts here, or none that lose packets; None: nothing is lacking."""
    if os.geteuid() != 0:
        return "needs root for namespaces"
    missing = [tool for tool in (*TOOLS, *(("iptables",) if loss else ())) if not shutil.which(tool)]
    if missing:
        return f"{', '.join(missing)} not installed (iproute2, util-linux, iptables)"
    probe = ["unshare", "--net", *PARTS, "--monotonic", "5", *((*LOSE, "0.5") if loss else ("true",))]
    tried = subprocess.run(probe, capture_output=True, text=True, check=False)
    if tried.returncode:
        return f"no namespaces here: {tried.stderr.strip()}"
    return None


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def ip(*arguments):
    subprocess.run(["ip", *map(str, arguments)], check=True, capture_output=True, timeout=20)


def left_over(folder):
    """What lies there by the name of a lab whose process has ended."""
    for place in folder.glob(f"{PREFIX}-*"):
        owner = re.match(rf"{PREFIX}-(\d+)-", place.name)
        if owner and not pathlib.Path("/proc", owner[1]).exists():
            yield place


def remove_namespace(name):
    if NAMESPACES.joinpath(name).exists():
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True, timeout=20)


def remove_left_over():
    for place in left_over(NAMESPACES):
        remove_namespace(place.name)


class Switch:
    """A bridge, in a namespace of its own, into which namespaces are plugged."""

    def __init__(self, stem):
        self.name = f"{stem}-switch"
        self.plugged = []

    def build(self):
        ip("netns", "add", self.name)
        ip("-n", self.name, "link", "add", "br0", "type", "bridge")
        ip("-n", self.name, "link", "set", "br0", "up")

    def plug(self, name, namespace, address):
        """Makes the namespace, with a cable to here that is called by `name`."""
        self.plugged.append(namespace)
        ip("netns", "add", namespace)
        port = f"v-{name}"
        ip("-n", self.name, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        ip("-n", self.name, "link", "set", port, "master", "br0", "up")
        ip("-n", namespace, "addr", "add", f"{address}/24", "dev", "eth0")
        ip("-n", namespace, "link", "set", "eth0", "up")
        ip("-n", namespace, "link", "set", "lo", "up")

    def link(self, name, whole):
        """Plugs a cable in again, or pulls it."""
        ip("-n", self.name, "link", "set", f"v-{name}", "up" if whole else "down")

    def remove(self):
        for namespace in (*self.plugged, self.name):
            remove_namespace(namespace)


def children(pid):
    try:
        return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


class HostProgram(Program):
    """A program on a host. It is a child of nsenter, which waits for it and ends as it does."""

    @property
    def pid(self):
        """As seen from outside."""
        found = wait_until(lambda: children(self.process.pid) or not self.alive(), f"{self.name}'s process")
        return self.process.pid if found is True else found[0]

    def signal(self, number):
        if self.alive():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                pass


class Host:
    def __init__(self, name, namespace, address, shift):
        self.name, self.namespace, self.address, self.shift = name, namespace, address, shift
        self.holder = self.first = None
        self.started = []
        self.programs = []

    def boot(self):
        # ip mounts a /sys of the namespace's own devices, without the cgroup tree that lies below it.
        command = ["unshare", "--mount", "sh", "-c", f"mount --rbind {CGROUPS} {ASIDE}; exec \"$@\"", "sh"]
        command += ["ip", "netns", "exec", self.namespace, "unshare", *PARTS]
        command += ["--monotonic", str(self.shift), "--boottime", str(self.shift)]
        command += ["sh", "-c", f"mount --rbind {ASIDE} {CGROUPS}; umount -l {ASIDE}; hostname {self.name}; exec sleep infinity"]
        silent = {name: subprocess.DEVNULL for name in ("stdin", "stdout", "stderr")}
        self.holder = subprocess.Popen(command, start_new_session=True, preexec_fn=die_with_parent, **silent)
        end = time.monotonic() + 10
        while self.first is None:
            for child in children(self.holder.pid):
                with contextlib.suppress(OSError):  # it has ended
                    if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "sleep":
                        self.first = child
            if self.holder.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"host {self.name} does not start")
            time.sleep(0.01)

    def command(self, *words):
        return ["nsenter", "-t", str(self.first), "-n", "-p", "-m", "-u", "-i", "-T", *map(str, words)]

    def outside(self, pid):
        """The id that a process of this host has on the machine."""
        here = os.readlink(f"/proc/{self.first}/ns/pid")
        for place in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                ids = re.search(r"^NSpid:\t(.*)$", (place / "status").read_text(), re.M)[1].split()
                if ids[-1] == str(pid) and os.readlink(place / "ns/pid") == here:
                    return int(place.name)
            except OSError:
                continue  # it has ended
        raise AssertionError(f"{self.name} has no process {pid}")

    def start(self, *words, **more):
        """Any command. What it runs is a child of what is returned."""
        started = subprocess.Popen(self.command(*words), stdin=more.pop("stdin", subprocess.DEVNULL),
                                   start_new_session=True, preexec_fn=die_with_parent, **more)
        self.started.append(started)
        return started

    def program(self, folder, name, program, *arguments, **more):
        """A program under test, with its output in `folder`."""
        made = HostProgram(folder, name, program, *arguments, prefix=self.command(), **more)
        self.programs.append(made)
        return made

    def lose(self, share):
        """So much of what comes in, by chance, from now on."""
        words = (*LOSE, str(share)) if share else LOSE_NOTHING
        subprocess.run(["ip", "netns", "exec", self.namespace, *words], check=True, capture_output=True, timeout=20)

    def cut_power(self):
        """All of its processes end at once, and nobody is told."""
        for program in self.programs:
            program.killed = True
        os.kill(self.first, signal.SIGKILL)
        self.first = None
        self.holder.wait(20)

    def shut_down(self):
        """With its first process all others of the host end, and each is waited for by its parent."""
        for program in self.programs:
            if program.alive():
                program.kill()
        if self.first:
            os.kill(self.first, signal.SIGKILL)
        elif self.holder:
            self.holder.kill()
        for started in (self.holder, *self.started):
            if started:
                started.wait(20)


class Hosts:
    """with Hosts(["m0", "n1"]) as hosts: hosts["n1"].start("agent", ...)"""

    def __init__(self, names):
        stem = f"{PREFIX}-{os.getpid()}"
        self.switch = Switch(stem)
        # Odd shifts, so that no two clocks agree about anything, and the periods' multiples lie elsewhere on each.
        self.hosts = {name: Host(name, f"{stem}-{name}", f"10.78.0.{10 + at}", at and 777 + 12347 * at)
                      for at, name in enumerate(names)}

    def __getitem__(self, name):
        return self.hosts[name]

    def __iter__(self):
        return iter(self.hosts.values())

    def __enter__(self):
        remove_left_over()
        try:
            self.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def build(self):
        self.switch.build()
        for host in self:
            self.switch.plug(host.name, host.namespace, host.address)
            host.boot()

    def link(self, name, whole):
        self.switch.link(name, whole)

    def __exit__(self, *_):
        for host in self:
            host.shut_down()
        self.switch.remove()
