"""`make run`: what a newcomer does first. And `make install`."""

import os
import pathlib
import pty
import re
import signal
import subprocess
import tempfile
import time

import pytest
from lib.programs import BUILD, LIMIT, ROOT, parse_line, wait_until
from lib.web import get

NODES = {"n1", "n2", "n3"}


def environment(scratch):
    """As little as there may be."""
    return {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "TMPDIR": str(scratch)}


def begin(scratch, *more, command=None):
    command = command or ["make", "-s", "run", f"BUILD={BUILD}", *more]
    with open(scratch / "log", "ab") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment(scratch), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=log, bufsize=0, preexec_fn=heed_signals)
    process.rest = b""
    return process


def heed_signals():
    """Who runs these tests in the background may have them ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def direct(*arguments):
    return ["env", f"BUILD={BUILD}", str(ROOT / "tests" / "run-cluster"), *arguments]


def read_until_all_nodes(process, count=2):
    """Each line must be JSON; returns them once every node has `count`."""
    lines = []
    while not all(sum(line.get("node") == node and line["type"] == "node" for line in lines) >= count
                  for node in NODES):
        data = os.read(process.stdout.fileno(), 65536)
        assert data, "it ended"
        *whole, process.rest = (process.rest + data).split(b"\n")
        lines += map(parse_line, whole)
    return lines


def left_over(scratch):
    """Processes and files of a run that should be over."""
    found = [path.name for path in scratch.iterdir() if path.name.startswith("synop-run")]
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(scratch).encode() in text:
                found.append(text)
    return found


def assert_all_gone(scratch):
    wait_until(lambda: not left_over(scratch), f"nothing is left over: {left_over(scratch)}")


@pytest.fixture
def scratch():
    """With a short name: a socket lies in it, and the name of one has 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="run.") as folder:
        yield pathlib.Path(folder)
        wait_until(lambda: not left_over(pathlib.Path(folder)), "the run's programs ended")


def test_three_nodes(scratch):
    process = begin(scratch)
    lines = read_until_all_nodes(process)
    node_lines = [line for line in lines if line["type"] == "node"]
    assert {line["node"] for line in node_lines} == NODES
    process.stdout.close()
    assert process.wait(LIMIT) == 0, (scratch / "log").read_text()
    assert_all_gone(scratch)


def test_duration(scratch):
    """It ends by itself, with whole lines of JSON and nothing else on standard output."""
    process = begin(scratch, "DURATION=3s")
    out, _ = process.communicate(timeout=2 * LIMIT)
    assert process.returncode == 0, (scratch / "log").read_text()
    assert out.endswith(b"\n")
    for line in out.splitlines():
        parse_line(line)
    assert_all_gone(scratch)


def test_demonstration(scratch):
    """With GPUs jobs come and go, and the page is where it says; 8 s pass before the first job is there."""
    process = begin(scratch, "GPUS=2")
    seen = b""
    while b'"event":"started"' not in seen or not all(f'"{node}"' in seen.decode() for node in NODES):
        data = os.read(process.stdout.fileno(), 65536)
        assert data, "it ended"
        seen += data
    started = next(parse_line(line) for line in seen.split(b"\n") if b'"event":"started"' in line)
    assert started["job_id"] == "train-1" and started["name"] == "train"
    page = re.search(r"run: the page: (http://\S+)/$", (scratch / "log").read_text(), re.MULTILINE).group(1)
    assert get(page, "/").status == 200 and get(page, "/api/v1/nodes").status == 200
    process.send_signal(signal.SIGINT)
    process.stdout.close()
    process.wait(LIMIT)
    assert_all_gone(scratch)


def test_on_a_terminal(scratch):
    """Where to look comes first, then lines of JSON; agents say what is bad alone."""
    master, slave = pty.openpty()
    with subprocess.Popen(direct(), cwd=ROOT, env=environment(scratch), stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                          start_new_session=True, preexec_fn=heed_signals) as process:
        os.close(slave)
        seen, end = "", time.monotonic() + LIMIT
        # Its lines may fall into those of the log: of both there are more each second, but each node comes up once.
        while not all(f'"node":"{node}"' in seen for node in NODES) or '{"type":"node"' not in seen:
            assert time.monotonic() < end, seen
            seen += os.read(master, 65536).decode(errors="replace")
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 130
    os.close(master)
    page = re.search(r"run: the page: (http://\S+)/\r", seen).group(1)
    assert page and "run: a terminal: " in seen and "run: JSON lines: " in seen
    before, _, _ = seen.partition('{"type":"node"')
    assert "run: JSON lines: " in before and "connecting to" not in seen
    assert len(before.splitlines()) < 25, before
    assert_all_gone(scratch)


@pytest.mark.parametrize("word", ["DURATION=soon", "GPUS=many"])
def test_words_that_are_no_number(scratch, word):
    """Said before anything is started."""
    variable, _, value = word.partition("=")
    done = subprocess.run(["tests/run-cluster", *([value] if variable == "DURATION" else [])], cwd=ROOT, timeout=LIMIT,
                          env={**environment(scratch), variable: value}, capture_output=True, text=True)
    assert done.returncode == 2 and word in done.stderr and "expected" in done.stderr
    assert_all_gone(scratch)


def test_two_beside_each_other(scratch):
    runs = [begin(scratch), begin(scratch)]
    for process in runs:
        read_until_all_nodes(process)
    for process in runs:
        assert process.poll() is None
        process.stdout.close()
    for process in runs:
        assert process.wait(LIMIT) == 0, (scratch / "log").read_text()
    assert_all_gone(scratch)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ends_when_told(scratch, number):
    process = begin(scratch, command=direct())
    read_until_all_nodes(process, 1)
    process.send_signal(number)
    rest, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 128 + number, (scratch / "log").read_text()
    rest = process.rest + rest
    assert not rest or rest.endswith(b"\n")
    for line in rest.splitlines():
        parse_line(line)
    assert_all_gone(scratch)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_ends_with_make(scratch, number):
    """Which alone has the signal, as by kill: its children are told nothing."""
    process = begin(scratch)
    read_until_all_nodes(process, 1)
    process.send_signal(number)
    process.communicate(timeout=LIMIT)
    assert process.returncode != 0
    assert_all_gone(scratch)


def test_a_program_that_dies(scratch):
    """Then the run is over, and says so."""
    process = begin(scratch, command=direct())
    read_until_all_nodes(process, 1)
    agents = [entry for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit() and is_agent(entry, scratch)]
    assert len(agents) == 3
    os.kill(int(agents[0].name), signal.SIGKILL)
    process.communicate(timeout=LIMIT)
    assert process.returncode == 1 and "ended" in (scratch / "log").read_text()
    assert_all_gone(scratch)


def is_agent(entry, scratch):
    try:
        words = (entry / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0].endswith(b"/agent") and any(str(scratch).encode() in word for word in words)


@pytest.mark.parametrize("duration", ["soon", "-1s", "1 s", "10x"])
def test_durations_that_are_none(scratch, duration):
    process = begin(scratch, command=direct(duration))
    out, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 2 and out == b"" and duration in (scratch / "log").read_text()


def test_install(tmp_path):
    """Into a folder, where the programs work, and away again."""
    for target in ("install", "uninstall"):
        done = subprocess.run(["make", "-s", target, f"BUILD={BUILD}", f"DESTDIR={tmp_path}", "PREFIX=/usr"], cwd=ROOT,
                              env=environment(tmp_path), capture_output=True, text=True, timeout=5 * LIMIT, check=False)
        assert done.returncode == 0, done.stderr
        if target == "install":
            shown = subprocess.run([tmp_path / "usr/bin/agent", "--version"], capture_output=True, timeout=LIMIT,
                                   check=True).stdout
            assert shown.startswith(b"synop agent ")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
