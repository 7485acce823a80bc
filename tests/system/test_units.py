"""The units: what systemd-analyze says of them, and what the programs tell the service manager, which a socket of the
test's own plays here. tests/deploy runs them on hosts with a real systemd."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

from lib.programs import BUILD, LIMIT, ROOT, run, wait_until

UNITS = {"agent": ROOT / "agent/synop-agent.service", "aggregator": ROOT / "aggregator/synop-aggregator.service"}
EXPOSURE = {"agent": 3.5, "aggregator": 1.7}  # at most, of 10

analyze = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")


def systemd_analyze(*arguments):
    return subprocess.run(["systemd-analyze", "--no-pager", *map(str, arguments)], capture_output=True, text=True,
                          timeout=LIMIT, env=os.environ | {"LC_ALL": "C.UTF-8"}, check=False)


@analyze
@pytest.mark.parametrize("program", UNITS)
def test_verify(program, tmp_path):
    unit = tmp_path / UNITS[program].name
    unit.write_text(UNITS[program].read_text().replace(f"/usr/bin/synop-{program}", str((BUILD / program).resolve())))
    done = systemd_analyze("verify", "--man=no", unit)
    assert done.returncode == 0 and done.stdout + done.stderr == ""


@analyze
@pytest.mark.parametrize("program", UNITS)
def test_exposure(program):
    done = systemd_analyze("security", "--offline=true", UNITS[program])
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert found, done.stdout + done.stderr
    assert float(found[1]) <= EXPOSURE[program], done.stdout
    said = re.search(rf"`synop-{program}` +\| ([\d.]+)", (ROOT / "docs/operations.md").read_text())
    assert said, "docs/operations.md tells the figure of systemd 252"
    assert abs(float(said[1]) - float(found[1])) <= 0.2, "docs/operations.md tells another figure"


def test_units_agree():
    """What both must say alike, since they share user and folders."""
    for name, unit in UNITS.items():
        text = unit.read_text().splitlines()
        assert f"ExecStart=/usr/bin/synop-{name}" in " ".join(text)
        for line in ("Type=notify", "User=synop", "StateDirectory=synop", "Restart=always", "StartLimitIntervalSec=0",
                     "NoNewPrivileges=yes", "ProtectSystem=strict", "LimitCORE=0"):
            assert line in text, (unit.name, line)
        assert any(line.startswith("MemoryMax=") for line in text), unit.name
    # In a user namespace of its own all users of the socket would be nobody.
    assert "PrivateUsers=yes" not in UNITS["aggregator"].read_text()
    # systemd removes it at the end of the service: each has its own.
    folders = [line for unit in UNITS.values() for line in unit.read_text().splitlines() if line.startswith("RuntimeDirectory=")]
    assert len(folders) == len(set(folders)) == 2


# ---- what the manager hears ----


class Manager:
    """The socket of a service manager: an abstract name or a path."""

    def __init__(self, folder, abstract=True):
        self.name = f"@synop-test-{os.getpid()}-{time.monotonic_ns()}" if abstract else str(folder / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.socket.bind("\0" + self.name[1:] if abstract else self.name)
        self.heard = []

    def read(self):
        while True:
            try:
                self.heard.append(self.socket.recv(65536).decode())
            except BlockingIOError:
                return self.heard

    def wait(self, says, after=0):
        """The index of the first datagram that begins so."""

        def found():
            return next((i + 1 for i, text in enumerate(self.read()) if i >= after and text.startswith(says)), None)

        return wait_until(found, f"{says!r}, heard {self.heard}") - 1


@pytest.fixture
def manager(tmp_path):
    made = Manager(tmp_path)
    yield made
    made.socket.close()


def test_aggregator_tells(cluster, manager):
    aggregator = cluster.start_aggregator(env={"NOTIFY_SOCKET": manager.name})
    ready = manager.wait("READY=1")
    assert "listening on" in aggregator.log()
    cluster.start_nodes("n1")
    status = manager.wait("STATUS=1 of 1 nodes up, listening on tcp://")
    assert status > ready
    before = len(manager.read())
    aggregator.signal(signal.SIGHUP)
    at = manager.wait("RELOADING=1\nMONOTONIC_USEC=", before)
    usec = int(manager.heard[at].split("=")[-1])
    assert 0 < usec <= time.monotonic_ns() // 1000
    assert manager.wait("READY=1", at) > at
    assert not any("WATCHDOG" in text for text in manager.heard)
    aggregator.stop()
    assert "STOPPING=1" in manager.read()


def test_agent_tells(cluster, manager):
    """It is ready once it samples, also when no aggregator is there yet: a node boots before its network is up."""
    cluster.start_aggregator()
    keys = cluster.keys_of("n1")
    cluster.aggregator.stop()
    agent = cluster.start_agent("n1", env={"NOTIFY_SOCKET": manager.name})
    ready = manager.wait("READY=1")
    assert "publishing node" not in agent.log() and (keys / "ring").exists()
    cluster.start_aggregator()
    manager.wait("STATUS=node n1, connected to tcp://", ready)
    (cluster.folder / "n1.ini").write_text("[agent]\nperiod = soon\n")
    before = len(manager.read())
    agent.signal(signal.SIGHUP)
    at = manager.wait("RELOADING=1", before)
    told = manager.wait("STATUS=configuration not read again: ", at)
    assert "n1.ini:2: [agent] period" in manager.heard[told]
    assert manager.wait("READY=1", told) > told  # never left as reloading
    (cluster.folder / "n1.ini").write_text("")
    before = len(manager.read())
    agent.signal(signal.SIGHUP)
    manager.wait("STATUS=node n1, connected to tcp://", before)  # what was wrong is no more
    agent.stop()
    assert "STOPPING=1" in manager.read()


def test_agent_without_ring_is_ready(cluster, manager):
    """Its samples wait for the aggregator, systemd does not."""
    cluster.start_aggregator()
    cluster.keys_of("n1")
    cluster.aggregator.stop()
    cluster.start_agent("n1", "--ring=no", env={"NOTIFY_SOCKET": manager.name})
    manager.wait("READY=1")


def test_agent_alone_is_ready(cluster, tmp_path):
    path = Manager(tmp_path, abstract=False)
    cluster.start("alone", "agent", "--config", cluster.empty, env={"NOTIFY_SOCKET": path.name})
    path.wait("READY=1")
    path.socket.close()


@pytest.mark.parametrize("program", ["agent", "aggregator"])
def test_why_a_start_failed(cluster, manager, program):
    """Before there is a loop, and later; systemd shows the last status of a service that failed."""
    connect = ["--connect", "tcp://127.0.0.1:9"] if program == "agent" else ["--listen", "tcp://127.0.0.1:*"]
    wrong = cluster.write("wrong.ini", f"[{program}]\nlog_level = loud\n")
    for options, why in ((["--config", wrong], "wrong.ini:2: "),
                         (["--config", cluster.empty, *connect, "--keys", cluster.folder / "none"], f"none/{program}.key: ")):
        done = run(program, *options, env={"NOTIFY_SOCKET": manager.name})
        assert done.returncode == 2 and why in done.stderr
        *_, told = manager.read()
        assert told.startswith("STATUS=") and told.removeprefix("STATUS=") in done.stderr and why in told


@pytest.mark.parametrize("program", ["agent", "aggregator"])
def test_watchdog_needs_the_main_loop(cluster, manager, program):
    """Signs of life at half of the patience, and none from a program whose main thread hangs. $WATCHDOG_PID is the
    program's own, as systemd has it: the shell becomes it."""
    prefix = ["/bin/sh", "-c", 'WATCHDOG_PID=$$ exec "$0" "$@"']
    env = {"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "200000"}
    if program == "aggregator":
        made = cluster.start_aggregator(prefix=prefix, env=env)
    else:
        made = cluster.start("alone", "agent", "--config", cluster.empty, prefix=prefix, env=env)
    manager.wait("READY=1")
    begun, before = time.monotonic(), len(manager.read())
    for _ in range(4):
        before = manager.wait("WATCHDOG=1", before) + 1
    assert time.monotonic() - begun > 0.25
    os.kill(made.pid, signal.SIGSTOP)
    wait_until(lambda: "T" in open(f"/proc/{made.pid}/stat", encoding="ascii").read().rsplit(")", 1)[1][:3], "a stop")
    count = len(manager.read())
    time.sleep(0.4)
    assert len(manager.read()) == count
    os.kill(made.pid, signal.SIGCONT)
    manager.wait("WATCHDOG=1", count)


def test_watchdog_of_another_process(cluster, manager):
    env = {"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "10000", "WATCHDOG_PID": "1"}
    agent = cluster.start("alone", "agent", "--config", cluster.empty, "--period", "100ms", env=env)
    agent.wait_lines(3)
    assert not any("WATCHDOG" in text for text in manager.read())

