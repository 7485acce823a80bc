"""What a process costs, programs that take commands, and the list of figures with what each is held against."""

import json
import os
import subprocess
import sys
import threading
import time

from lib.programs import BUILD, environment


def cpu_seconds(pid):
    """CPU time of a process with all its threads, those that ended too: its CPU clock, as clock_getcpuclockid(3)."""
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e9


def _fields(path, scale=1024):
    with open(path, encoding="ascii") as lines:
        words = (line.split() for line in lines)
        return {word[0].rstrip(":"): int(word[1]) * scale for word in words if len(word) == 3 and word[2] == "kB"}


def memory(pid):
    """Bytes: resident, proportional (shared pages parted among their users), private."""
    rollup = _fields(f"/proc/{pid}/smaps_rollup")
    return {
        "rss": _fields(f"/proc/{pid}/status")["VmRSS"],
        "pss": rollup["Pss"],
        "private": rollup["Private_Clean"] + rollup["Private_Dirty"],
    }


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def quantile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


class Tool:
    """One of the bench's own programs: a line to it is answered by a line of JSON; the end of its input ends it."""

    def __init__(self, program, *arguments):
        command = [str(BUILD / "tests/bench" / program), *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    @property
    def pid(self):
        return self.process.pid

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args[0]} ended: {self.process.wait()}")
        return json.loads(line)

    def ask(self, command="count"):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.read()


def run_tool(program, *arguments, env=None):
    """One that works and ends by itself."""
    command = [str(BUILD / "tests/bench" / program), *map(str, arguments)]
    env = environment() | (env or {})
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120, env=env)
    return json.loads(done.stdout) if done.stdout else None


class Reader(threading.Thread):
    """Reads a program's standard output, as somebody at the other end of the pipe. `note` hears each line and when it
    was read; without it lines are thrown away."""

    def __init__(self):
        super().__init__(daemon=True)
        self.from_program, self.to_program = os.pipe()
        self.note = None
        self.bytes = 0

    def started(self):
        """After the program has been started with `stdout=reader.to_program`."""
        os.close(self.to_program)
        self.to_program = None
        self.start()

    def run(self):
        rest = b""
        while chunk := os.read(self.from_program, 1 << 20):
            now = time.time_ns()
            self.bytes += len(chunk)
            *lines, rest = (rest + chunk).split(b"\n")
            if self.note:
                for line in lines:
                    self.note(line, now)

    def close(self):
        """When the program has ended."""
        if self.to_program is not None:
            os.close(self.to_program)
        elif self.ident:
            self.join(10)
        os.close(self.from_program)


class Figures:
    """Each figure: what, how much, against what in the same run, the ratio of the two, the aim, and whether it is met.

    An aim is ("value", most) for the figure itself or ("ratio", most)."""

    def __init__(self):
        self.list = []
        self.notes = []
        self.part = ""

    def add(self, name, value, unit, against=None, reference=None, aim=None):
        ratio = value / reference if reference else None
        held = value if aim and aim[0] == "value" else ratio
        self.list.append(
            {
                "part": self.part,
                "name": name,
                "value": value,
                "unit": unit,
                "against": against,
                "reference": reference,
                "ratio": ratio,
                "aim": {"of": aim[0], "most": aim[1]} if aim else None,
                "met": held <= aim[1] if aim and held is not None else None,
            }
        )
        say(self.text(self.list[-1]))

    def skip(self, what, why):
        self.note(what, f"skipped, {why}")

    def note(self, what, text):
        """What did not go as it should."""
        self.notes.append({"part": self.part, "name": what, "note": text})
        say(f"  NOTE {what}: {text}")

    @staticmethod
    def text(figure):
        line = f"  {figure['name']:<52} {number(figure['value']):>9} {figure['unit']:<5}"
        if figure["against"]:
            line += f" {number(figure['reference']):>9}  {figure['against']}"
        if figure["ratio"]:
            line += f": x {number(figure['ratio'])}"
        if figure["aim"]:
            most = figure["aim"]["most"]
            most = f"x {number(most)}" if figure["aim"]["of"] == "ratio" else f"{number(most)} {figure['unit']}"
            line += f"  [aim {most}: {'met' if figure['met'] else 'NOT MET'}]"
        return line


def number(value):
    """Three digits that count."""
    if value == 0 or abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.3g}"


talk_to = sys.stdout  # standard error with --json


def say(text):
    print(text, file=talk_to, flush=True)
