"""Starts and ends the programs under test, by their process ids, with their output kept in files.

Tests wait for conditions and never for times: LIMIT only ends what hangs, so it is far above what a loaded machine needs.
"""

import datetime
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SYNOP_BUILD", ROOT / "build"))
LIMIT = 60.0
RECORDED = ROOT.parent / "shared" / "roots"

SANITIZER_WORDS = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:")


def wait_until(condition, what, limit=LIMIT):
    """Calls `condition` until it returns something true, and returns that."""
    end = time.monotonic() + limit
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {limit:.0f} s")
        time.sleep(0.02)


def unique_keys(pairs):
    made = dict(pairs)
    assert len(made) == len(pairs), f"a key occurs twice in {[key for key, _ in pairs]}"
    return made


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def parse_line(line):
    """Strictly: no key twice, no NaN."""
    return json.loads(line, object_pairs_hook=unique_keys, parse_constant=refuse_constant)


def environment():
    """The same for every program: nothing of the user's."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    # Leaks are the unit tests' business: about once in a thousand ends of a program LeakSanitizer's own child hangs.
    options = {
        "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=4",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "LC_ALL": "C.UTF-8",
    }
    return kept | options


def run(program, *arguments, stdin="", env=None, prefix=(), **more):
    """A command that ends by itself. `prefix` as for a Program."""
    command = [*map(str, prefix), str(BUILD / program), *map(str, arguments)]
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=LIMIT, env=environment() | (env or {}), check=False,
        **more
    )


def listed_groups():
    """What --list-groups says."""
    return parse_line(run("agent", "--list-groups", "--json").stdout)["groups"]


# Not every machine has what these tell of.
SELDOM = {
    "bonding", "clock_source", "connections", "conntrack", "cooling_device", "cpu_counters", "cpu_flops", "cpu_scaling", "edac",
    "energy_rapl", "hwmon", "infiniband_info", "job_counters", "job_energy", "md", "memory_bandwidth", "node_peaks", "node_power",
    "nvme_info", "power_supply", "schedstat", "timex",
}


def needs_hardware(group):
    """Groups of accelerators, and others, come only where there is something to tell."""
    return (
        group["section"] == "runtime_data"
        or group["name"] in SELDOM
        or group["name"].startswith(("gpu", "neuron", "job_gpu"))
    )


class Program:
    """A program that runs until it is stopped. Standard output goes to a file (or where `stdout` says). `prefix`: a command
    that becomes the program, with the same process id."""

    def __init__(self, folder, name, program, *arguments, stdout=None, cwd=None, prefix=(), env=None):
        self.name = name
        self.out_path = pathlib.Path(folder) / f"{name}.out"
        self.log_path = pathlib.Path(folder) / f"{name}.log"
        self.command = [*map(str, prefix), str(BUILD / program), *map(str, arguments)]
        self.offset = 0
        self.rest = b""
        self.seen = []
        self.killed = False
        with open(self.out_path, "wb") as out, open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=out if stdout is None else stdout,
                stderr=log,
                env=environment() | (env or {}),
                cwd=cwd,
            )

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def log(self):
        return self.log_path.read_text(errors="replace")

    def wait(self, limit=LIMIT):
        """Until it ends by itself; returns its exit code."""
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end within {limit:.0f} s") from None

    def signal(self, number):
        if self.alive():
            self.process.send_signal(number)

    def stop(self):
        """Asks it to end; returns its exit code."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)
        return self.wait()

    def kill(self):
        self.killed = True
        self.signal(signal.SIGKILL)
        return self.wait()

    def threads(self):
        """What each thread waits for."""
        told = []
        for task in sorted(pathlib.Path(f"/proc/{self.pid}/task").glob("*")):
            for name in ("comm", "wchan", "syscall", "stack"):
                try:
                    told.append(f"{task.name} {name}: {(task / name).read_text().strip()}")
                except OSError as error:
                    told.append(f"{task.name} {name}: {error}")
        return "\n".join(told)

    def sanitizer_report(self):
        text = self.log() if self.log_path.exists() else ""
        return any(word in text for word in SANITIZER_WORDS)

    # ---- lines of JSON ----

    def lines(self, after=0, **fields):
        """All whole lines so far, from index `after` on, whose members are as `fields` says."""
        with open(self.out_path, "rb") as out:
            out.seek(self.offset)
            data = self.rest + out.read()
            self.offset = out.tell()
        *whole, self.rest = data.split(b"\n")
        self.seen += [parse_line(line) for line in whole]
        return [line for line in self.seen[after:] if all(line.get(key) == value for key, value in fields.items())]

    def mark(self):
        """The index of the next line, to give to `after`."""
        return len(self.lines())

    def wait_line(self, check=None, after=0, limit=LIMIT, **fields):
        """The first line that fits."""

        def found():
            assert self.alive() or self.lines(), f"{self.name} ended: {self.log()}"
            fitting = (line for line in self.lines(after, **fields) if check is None or check(line))
            return next(fitting, None)

        return wait_until(found, f"a line of {self.name} with {fields}", limit)

    def wait_lines(self, count, after=0, limit=LIMIT, **fields):
        def enough():
            fitting = self.lines(after, **fields)
            return fitting if len(fitting) >= count else None

        return wait_until(enough, f"{count} lines of {self.name} with {fields}", limit)


def time_ns(text):
    """The ns since 1970 of a line's time."""
    seconds, digits = text.removesuffix("Z").split(".")
    assert len(digits) == 9, text
    at = datetime.datetime.fromisoformat(seconds).replace(tzinfo=datetime.timezone.utc)
    return int(at.timestamp()) * 1_000_000_000 + int(digits)


def copy_tree(to):
    """A copy of the project's sources, to change them."""
    names = shutil.ignore_patterns("build", ".git", "__pycache__")
    shutil.copytree(ROOT, to, ignore=names, symlinks=True)


def copy_built(to):
    """The same, in which what is built already need not be built again."""
    copy_tree(to)
    (to / "build").mkdir()
    for folder in ("obj", "page"):
        shutil.copytree(BUILD / folder, to / "build" / folder)
    for file in (*BUILD.glob("*.a"), BUILD / "agent", BUILD / "aggregator"):
        shutil.copy2(file, to / "build")


def make(tree, *arguments):
    done = subprocess.run(["make", "-s", "BUILD=build", *arguments], cwd=tree, env=environment(), capture_output=True,
                          text=True, timeout=20 * LIMIT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def cpu_seconds(pid):
    """What a process has spent, however busy the machine is."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_bytes(pid, name="VmRSS"):
    """VmRSS: resident now. VmHWM: the most that ever was, or since peak_reset."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return 0


def peak_reset(pid):
    """Only root may, since who holds a secret key closes itself to its own user; else the peak counts from the start."""
    try:
        with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as clear:
            clear.write("5")
    except PermissionError:
        pass
