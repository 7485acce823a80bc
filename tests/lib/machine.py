"""A made-up machine with processes, for an agent's --root: a /proc of files. What users do on it is seen by that agent alone,
and not by those of tests that run beside. Needs root, since a process is the user's to whom its folder belongs."""

import os
import pathlib
import shutil
import tempfile

from lib.programs import listed_groups

NOBODY, EVE, BOB = 65534, 12346, 12345  # users
RAN_BEFORE, BEGINS = 5, 100100  # ticks after the machine's start; the agent is started at 100000

MEMORY = "/dev/shm"  # thousands of files take their time on a disk that others use too


class Machine:
    """with Machine() as machine: machine.process(...)"""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="synop-machine.", dir=MEMORY if os.path.isdir(MEMORY) else None)
        self.root = pathlib.Path(self.folder.name)
        self.pid = 1000
        for path, text in {"proc/uptime": "1000.00 0.00\n", "proc/meminfo": "MemTotal:        4000 kB\n",
                           "proc/sys/kernel/random/boot_id": "one\n", "sys/devices/system/cpu/online": "0-3\n"}.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def process(self, uid=0, start=BEGINS, cgroup="/", **environment):
        """Its folder."""
        self.pid += 1
        made = self.root / "proc" / f".{self.pid}"  # whole when it is seen
        made.mkdir()
        times = "7 3 0 0 20 0 1 0"
        (made / "stat").write_text(f"{self.pid} (work) S 1 1 1 0 -1 4194304 10 0 0 0 {times} {start} 8192000 100 "
                                   "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 17 0 0 0\n")
        (made / "cgroup").write_text(f"0::{cgroup}\n")
        (made / "environ").write_text("".join(f"{name}={value}\0" for name, value in environment.items()))
        os.chown(made, uid, uid)
        return made.rename(made.with_name(str(self.pid)))

    @staticmethod
    def end(processes):
        for folder in processes:
            shutil.rmtree(folder)


def only_jobs():
    """A configuration without groups of anything else, of which such a machine has nothing."""
    return "".join(f"[group {group['name']}]\nenabled = no\n" for group in listed_groups() if not group["name"].startswith("job_"))
