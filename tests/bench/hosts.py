"""Hosts on this machine: each with an address on one bridge, a process tree, and a monotonic clock of its own.

A host is a holder process in its own network, process, mount and time namespaces; programs are put beside it. All share
CLOCK_REALTIME, so that what any of them finds out about another one's clock can be held against the truth. Needs root.

Everything ends with the holder, and the holder with this process, however that ends. Names of network namespaces would
outlive it: those that an earlier run left are removed at the start.
"""

import ctypes
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

PREFIX = "synop-bench"
NAMESPACES = pathlib.Path("/run/netns")
TOOLS = ("ip", "unshare", "nsenter")


def lacking():
    """Why there can be no hosts here, or None."""
    if os.geteuid() != 0:
        return "needs root for namespaces"
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        return f"{', '.join(missing)} not installed (iproute2, util-linux)"
    probe = ["unshare", "--net", "--pid", "--fork", "--mount-proc", "--time", "--monotonic", "5", "true"]
    tried = subprocess.run(probe, capture_output=True, text=True, check=False)
    if tried.returncode:
        return f"no namespaces here: {tried.stderr.strip()}"
    return None


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def ip(*arguments):
    subprocess.run(["ip", *map(str, arguments)], check=True, capture_output=True, timeout=20)


def remove_left_over():
    for place in NAMESPACES.glob(f"{PREFIX}-*"):
        owner = re.match(rf"{PREFIX}-(\d+)-", place.name)
        if owner and not pathlib.Path("/proc", owner[1]).exists():
            subprocess.run(["ip", "netns", "del", place.name], check=False, capture_output=True, timeout=20)


class Host:
    def __init__(self, name, namespace, address, shift):
        self.name, self.namespace, self.address, self.shift = name, namespace, address, shift
        self.holder = self.first = None
        self.programs = []

    def boot(self):
        command = ["ip", "netns", "exec", self.namespace, "unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        command += ["--uts", "--ipc", "--time", "--monotonic", str(self.shift), "--boottime", str(self.shift)]
        command += ["sh", "-c", f"hostname {self.name}; exec sleep infinity"]
        self.holder = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       start_new_session=True, preexec_fn=die_with_parent)
        children = pathlib.Path(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children")
        end = time.monotonic() + 10
        while self.first is None:
            for child in children.read_text().split():
                if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "sleep":
                    self.first = int(child)
            if self.holder.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"host {self.name} does not start")
            time.sleep(0.01)

    def command(self, *words):
        return ["nsenter", "-t", str(self.first), "-n", "-p", "-m", "-u", "-i", "-T", *map(str, words)]

    def start(self, *words, **more):
        program = subprocess.Popen(self.command(*words), stdin=more.pop("stdin", subprocess.DEVNULL),
                                   start_new_session=True, preexec_fn=die_with_parent, **more)
        self.programs.append(program)
        return program

    def pid(self, program):
        """Of what `start` started, as seen from outside."""
        children = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children")
        return int(children.read_text().split()[0])

    def shut_down(self):
        if self.holder:
            self.holder.kill()
            self.holder.wait()
        for program in self.programs:
            program.kill()
            program.wait()


class Hosts:
    """with Hosts(["m0", "n1"]) as hosts: hosts["n1"].start("agent", ...)"""

    def __init__(self, names):
        stem = f"{PREFIX}-{os.getpid()}"
        self.switch = f"{stem}-switch"
        # Odd shifts, so that no two clocks agree about anything, and the periods' multiples lie elsewhere on each.
        self.hosts = {name: Host(name, f"{stem}-{name}", f"10.78.0.{10 + at}", at and 777 + 12347 * at)
                      for at, name in enumerate(names)}

    def __getitem__(self, name):
        return self.hosts[name]

    def __enter__(self):
        remove_left_over()
        try:
            self.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def build(self):
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "br0", "type", "bridge")
        ip("-n", self.switch, "link", "set", "br0", "up")
        for host in self.hosts.values():
            ip("netns", "add", host.namespace)
            port = f"v-{host.name}"
            ip("-n", self.switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", host.namespace)
            ip("-n", self.switch, "link", "set", port, "master", "br0", "up")
            ip("-n", host.namespace, "addr", "add", f"{host.address}/24", "dev", "eth0")
            ip("-n", host.namespace, "link", "set", "eth0", "up")
            ip("-n", host.namespace, "link", "set", "lo", "up")
            host.boot()

    def __exit__(self, *_):
        for host in self.hosts.values():
            host.shut_down()
        for name in [host.namespace for host in self.hosts.values()] + [self.switch]:
            if NAMESPACES.joinpath(name).exists():
                subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True, timeout=20)
