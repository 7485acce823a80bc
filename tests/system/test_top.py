"""`synop-aggregator top` and `synop-agent top` on a terminal: a pty, read through an emulator."""

import os
import pty
import re
import signal
import subprocess
import termios
import unicodedata

import pytest
from lib.cluster import Cluster
from lib.programs import BUILD, LIMIT, cpu_seconds, environment, run, wait_until
from lib.screens import Screen
from lib.top_stand_in import StandIn

HOSTILE = ["\x1b[2J\x1b[31mred", "rtl\u202egnp.exe", "名前ジョブ", "a\u0301\u0301b", "tab\there\nline", "\x9b2J", "💥💥", "x" * 300]


@pytest.fixture(scope="module")
def cluster():
    made = Cluster()
    try:
        made.start_aggregator()
        made.start_nodes("n1", "n2", period="1s")
        yield made
    finally:
        made.close()


@pytest.fixture
def socket(tmp_path_factory):
    path = tmp_path_factory.mktemp("s") / "s"
    assert len(str(path)) < 107
    return path


def top(cluster_or_socket, *options, **more):
    path = getattr(cluster_or_socket, "socket", cluster_or_socket)
    return Screen("aggregator", "top", "--socket", path, *options, **more)


def values(expression, index):
    if "/" in expression:
        return (index % 10) / 10
    return float(index % 101)


# ---- a real cluster ----


def test_views(cluster):
    with top(cluster) as screen:
        screen.wait("Cluster", "2 nodes: 2 up", "cpu_usage.busy", "n1", "n2", "F1Help", "qQuit")
        wait_until(lambda: re.search(r"^n1 +\[.*%\] \[.*%\]", screen.text(), re.MULTILINE), "bars")
        screen.keys("down", "enter")
        screen.wait("Node n2", "Load", "Mem ", "NETWORK", "FILE SYSTEM")
        screen.keys("j")
        screen.wait_gone("NETWORK")
        screen.keys("escape", "F7")
        screen.wait("Jobs", "NODES")
        screen.keys("F8")
        screen.wait("Events", "WHAT")
        screen.keys("F1")
        screen.wait("Help", "holds the screen still")
        screen.keys("x", "escape")
        screen.wait("Cluster")
        screen.keys("q")
        assert screen.wait_end() == 0


def test_metric_is_chosen_while_typing(cluster):
    with top(cluster) as screen:
        screen.wait("n1")
        screen.keys("F2")
        screen.wait("Metric of the picture")
        screen.keys(*"load_15")
        screen.wait("load.load_15")
        screen.wait_gone("memory_info.used")
        screen.keys("enter")
        screen.wait("load.load_15 0", "load_15", "Cluster")


def test_jobs_are_those_that_run(cluster):
    job = subprocess.Popen([BUILD / "agent", "run", "--job", "top7", "--", "sleep", "300"], env=environment())
    try:
        with top(cluster, "--view", "jobs", columns=100) as screen:
            screen.wait("top7", "NAME")
            text = screen.text()
            assert re.search(r"\d+ jobs? run", text), text
            screen.keys("F4", *"top7")
            screen.wait("1 job runs")
            screen.keys("enter", "enter")
            screen.wait("Cluster", "job top7", "n1")
        once = run("aggregator", "top", "--socket", cluster.socket, "--once", "--view", "jobs", "--width", "120", "--filter", "top7")
        assert once.returncode == 0 and "top7" in once.stdout and "1 job runs" in once.stdout, once
    finally:
        job.terminate()
        job.wait(LIMIT)


def test_restart_of_the_aggregator(cluster):
    with top(cluster) as screen:
        screen.wait("2 nodes: 2 up")
        cluster.aggregator.signal(signal.SIGTERM)
        cluster.aggregator.wait()
        screen.wait("no values since")
        assert "n1" in screen.text(), "what was known stays"
        cluster.start_aggregator()
        screen.wait("2 nodes: 2 up")
        screen.wait_gone("no values since")


def test_nothing_is_asked_that_nobody_sees(socket):
    with StandIn(socket, ["n1", "n2"], values=values, period=0.2) as aggregator:
        with top(socket) as screen:
            screen.wait("n2")
            wait_until(lambda: sum(aggregator.open.values()) == 2, "watch and events alone")
            screen.keys("F7")
            wait_until(lambda: any("row=*" in name and count for name, count in aggregator.open.items()), "the jobs' watch")
            screen.keys("F7")
            wait_until(lambda: sum(aggregator.open.values()) == 2, "watch and events alone")
        wait_until(lambda: sum(aggregator.open.values()) == 0, "nothing")


# ---- --once ----


def test_once(cluster):
    done = run("aggregator", "top", "--once", "--socket", cluster.socket, "--width", "100")
    assert done.returncode == 0 and not done.stderr
    assert re.search(r"^n1 .*%\]", done.stdout, re.MULTILINE) and "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    for options, words in ((["--view", "events"], "wrong now"), (["--node", "n2"], "Node n2"), (["--sort", "name", "--filter", "n2"], "n2"),
                           (["--metric", "load.load_1"], "load.load_1")):
        done = run("aggregator", "top", "--once", "--socket", cluster.socket, *options)
        assert done.returncode == 0 and words in done.stdout, done
    assert "n1" not in run("aggregator", "top", "--once", "--socket", cluster.socket, "--filter", "n2", "--metric", "load.load_1").stdout.split("NODE")[1]


@pytest.mark.parametrize("options, code, words", [
    (["--sort", "nonsense"], 2, "--sort nonsense: expected one of name, state"),
    (["--view", "jobs", "--sort", "gpu"], 2, "expected one of cpu, memory"),
    (["--view", "node"], 2, "needs --node"),
    (["--metric", "cpu_usage.bussy"], 1, "cpu_usage.busy"),
    (["--width", "7"], 2, "width"),
    (["extra"], 2, "unexpected argument"),
])
def test_wrong_options_are_explained(cluster, options, code, words):
    done = run("aggregator", "top", "--once", "--socket", cluster.socket, *options)
    assert done.returncode == code and words in done.stderr and not done.stdout, done


def test_once_without_an_aggregator(tmp_path):
    done = run("aggregator", "top", "--once", "--socket", tmp_path / "none")
    assert done.returncode == 1 and "none" in done.stderr and not done.stdout


# ---- terminals ----


@pytest.mark.parametrize("columns, lines", [(80, 24), (200, 60), (40, 10)])
def test_sizes(socket, columns, lines):
    with StandIn(socket, [f"n{i}" for i in range(500)], values=values), top(socket, columns=columns, lines=lines) as screen:
        screen.wait("500 up", "n0", "CPU")
        wait_until(lambda: screen.lines()[-1].startswith("F1Help"), "the foot")
        screen.wait("NODE")
        wait_until(lambda: sum(line.startswith("n") for line in screen.lines()) >= 3, "nodes")


def test_follows_the_size(socket):
    with StandIn(socket, [f"n{i}" for i in range(50)], values=values), top(socket) as screen:
        screen.wait("n0", "qQuit")
        screen.resize(120, 40)
        screen.wait("n25")
        wait_until(lambda: screen.lines()[39].startswith("F1Help"), "a foot in the last line")
        screen.resize(30, 8)
        screen.wait("too small: 30x8", "40x10 is needed")
        screen.resize(80, 24)
        screen.wait("n0", "qQuit")


@pytest.mark.parametrize("term", ["dumb", "no-such-terminal", "", None])
def test_terminals_that_cannot(socket, term):
    with StandIn(socket, ["n1"]), top(socket, env={"TERM": term}) as screen:
        assert screen.wait_end() == 1
        screen.wait("--once")


def test_needs_a_terminal(socket):
    with StandIn(socket, ["n1"]):
        done = run("aggregator", "top", "--socket", socket, env={"TERM": "xterm"})
    assert done.returncode == 1 and "are to be a terminal; --once" in done.stderr


@pytest.mark.parametrize("locale, ascii", [("C.UTF-8", False), ("xx_YY.UTF-8", False), ("C", True), ("POSIX", True)])
def test_locales(socket, locale, ascii):
    with StandIn(socket, ["n1", "n2"], values=values), top(socket, env={"LC_ALL": locale}) as screen:
        screen.wait("n2", "qQuit")
        screen.settle()
        assert all(ord(letter) < 128 for letter in screen.text()) == ascii
        assert ("█" in screen.text()) != ascii


@pytest.mark.parametrize("term, env, colours", [("xterm-256color", {}, True), ("linux", {}, True), ("vt100", {}, False),
                                                ("xterm-256color", {"NO_COLOR": "1"}, False)])
def test_colours(socket, term, env, colours):
    with StandIn(socket, ["n1", "n2"], values=values), top(socket, env={"TERM": term} | env) as screen:
        screen.wait("n2", "qQuit")
        screen.settle()
        seen = {style[:2] for line in range(24) for style in screen.styles(line)}
        assert (len(seen) > 2) == colours, seen


# ---- ends ----


def modes(screen):
    return termios.tcgetattr(screen.fd)


@pytest.mark.parametrize("end, code", [("q", 0), ("\x03", 0), (signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGSEGV, -11), (signal.SIGABRT, -6)])
def test_terminal_is_left_as_it_was(socket, end, code):
    with StandIn(socket, ["n1"]), top(socket) as screen:
        screen.wait("n1", "qQuit")
        assert modes(screen) != screen.modes
        if isinstance(end, str):
            screen.keys(end)
        else:
            os.kill(screen.pid, end)
        assert screen.wait_end() == code
        assert modes(screen) == screen.modes
        wait_until(lambda: b"\x1b[?1049l" in screen.raw, "the end of the alternate screen")
        sent = bytes(screen.raw)
        assert sent.rindex(b"\x1b[?1049l") > sent.rindex(b"\x1b[?1049h")
        assert sent.rindex(b"\x1b[?25h") > sent.rindex(b"\x1b[?25l")


def test_connection_breaks(socket):
    """As when ssh dies: the other side of the pty is closed."""
    with StandIn(socket, ["n1"]):
        screen = top(socket)
        screen.wait("n1")
        screen.fd, closed = os.open("/dev/null", os.O_RDONLY), screen.fd
        os.close(closed)
        assert screen.wait_end() == 0
        screen.close()


def test_terminal_of_others_goes_away(socket):
    """One that is not the session's: no signal says so."""
    with StandIn(socket, ["n1"]) as aggregator:
        ours, theirs = pty.openpty()
        program = subprocess.Popen([BUILD / "aggregator", "top", "--socket", socket], stdin=theirs, stdout=theirs,
                                   env=environment() | {"TERM": "xterm"})
        os.close(theirs)
        try:
            wait_until(lambda: any(request.startswith("watch") for request in aggregator.requests), "a question")
            os.close(ours)
            assert program.wait(LIMIT) == 0
        finally:
            program.kill()
            program.wait()


# ---- cost ----


def test_ten_thousand_nodes(socket):
    """Only what changed is sent: a line that stays is no byte, and a key is answered at once."""
    with StandIn(socket, [f"n{i}" for i in range(10000)], states="u" * 9999 + "d", values=values) as aggregator, top(socket) as screen:
        screen.wait("10000 nodes", "nodes a cell", "X", "n0")
        screen.settle(0.4)
        before, lines, cpu = screen.sent(), aggregator.lines, cpu_seconds(screen.pid)
        wait_until(lambda: aggregator.lines >= lines + 4, "four lines")
        seconds = 4
        sent, spent = screen.sent() - before, cpu_seconds(screen.pid) - cpu
        print(f"{sent / seconds:.0f} bytes a second, {spent / seconds * 100:.1f} % of a CPU")
        assert sent / seconds < 200
        assert spent / seconds < 0.5
        screen.keys("end")
        screen.wait("n9999")
        screen.keys("X")
        screen.wait("n9999    down")


# ---- names ----


def test_hostile_names(socket):
    """What looks like escapes is shown harmlessly, and columns stay where they are."""
    jobs = [{"job_id": f"{i}{name[:60]}", "user": name[:40], "name": name, "command": "", "started": "2026-11-23T00:00:00Z", "nodes": HOSTILE,
             "job_cpu.cpus": 4, "job_memory.rss": 1e9} for i, name in enumerate(HOSTILE)]
    alerts = [{"node": name, "level": "warning", "text": name, "since": name, "last": name} for name in HOSTILE]
    events = [{"time": "2026-11-23T00:00:00Z", "event": name, "node": name, name: name} for name in HOSTILE]
    with StandIn(socket, HOSTILE, values=values, jobs=jobs, alerts=alerts, events=events) as aggregator, top(socket, columns=100) as screen:
        screen.wait("8 nodes: 8 up", "qQuit", "xxxx…")
        screen.settle()
        rows = [line for line in screen.lines() if line.count("[") >= 3]
        assert len(rows) == 8
        assert len({cell_column(row, "]") for row in rows}) == 1, screen.text()
        assert not {style[0] for line in range(24) for style in screen.styles(line)} & {"red"}
        for key in ("F7", "F8", "F2"):
            screen.keys(key)
            screen.wait("名前" if key != "F2" else "Metric of")
            screen.settle()
            assert screen.lines()[0].strip(), f"the screen was cleared: {key}"
        sent = bytes(screen.raw)
        assert b"\x1b[2J\x1b[31m" not in sent and "\u202e".encode() not in sent and b"\xc2\x9b" not in sent
        screen.keys("escape", "escape")
    done = run("aggregator", "top", "--once", "--socket", socket)
    assert done.returncode == 1
    assert aggregator.requests


def cell_column(line, letter):
    """Where the letter stands last: the emulator's text has one character for two cells of a wide one."""
    before = line[:line.rindex(letter)]
    return len(before) + sum(unicodedata.east_asian_width(found) in "WF" for found in before)


def test_a_name_is_chosen_that_is_no_metric(socket):
    with StandIn(socket, ["n1"], values=values) as aggregator, top(socket) as screen:
        screen.wait("n1")
        screen.keys("F2", *"load.load_1 / 4")
        screen.wait("No metric has these words")
        screen.keys("enter")
        wait_until(lambda: any("metric=load.load_1 / 4" in request for request in aggregator.requests), "the question")
        screen.wait("load.load_1 / 4", "METRIC")


def test_a_metric_that_is_refused(cluster):
    with top(cluster) as screen:
        screen.wait("n1", "cpu_usage.busy")
        screen.keys("F2", *"load.nonsense")
        screen.wait("No metric has these words")
        screen.keys("enter")
        screen.wait("metric:", "cpu_usage.busy 0.0%", "2 nodes: 2 up")
        screen.keys("home")
        screen.wait("F1Help")


def test_before_the_first_node_and_after_the_last():
    made = Cluster()
    try:
        made.start_aggregator()
        with top(made) as screen:
            screen.wait("no node has sent values yet")
            agent = made.start_agent("n1", period="100ms")
            screen.wait("1 node: 1 up", "MEMORY")
            agent.signal(signal.SIGTERM)
            agent.wait()
            screen.wait("1 down", "n1       down")
        with top(made) as screen:
            screen.wait("1 node: 0 up 1 down", "n1       down")
    finally:
        made.close()


def test_events_of_before(cluster):
    """From the history; those that come later stand above them."""
    wait_until(lambda: "node_up" in run("aggregator", "top", "--once", "--view", "events", "--socket", cluster.socket,
                                        "--history", cluster.history).stdout, "events in the history")
    with top(cluster, "--history", cluster.history, lines=40) as screen:
        screen.wait("n1")
        screen.keys("F8")
        screen.wait("node_up", "aggregator_started")
        cluster.keys_of("late")
        screen.wait("keys_reloaded")
        cluster.succeed("aggregator", "keys", "revoke", "late", "--keys", cluster.master, "--socket", cluster.socket)


def test_a_node_that_is_not(cluster):
    done = run("aggregator", "top", "--once", "--socket", cluster.socket, "--node", "n77")
    assert done.returncode == 1 and "no node of that name" in done.stderr, done
    with top(cluster, "--node", "n77") as screen:
        screen.wait("No node of that name is listed")


# ---- one node ----


def test_agent(tmp_path):
    empty = tmp_path / "empty.ini"
    empty.write_text("")
    with Screen("agent", "top", "--config", empty, "--period", "200ms") as screen:
        screen.wait("CPU", "Mem ", "Load", "NETWORK", "qQuit")
        first = screen.wait("UTC").split("UTC")[0]
        wait_until(lambda: first not in screen.text(), "another second")
        screen.keys("j")
        screen.wait("JOB", "USER")
        screen.wait_gone("NETWORK")
        screen.keys("j", "end")
        screen.wait("JOB")
        screen.resize(40, 10)
        screen.keys("home")
        screen.wait("CPU", "more below")
        screen.keys("q")
        assert screen.wait_end() == 0


def test_agent_once(tmp_path):
    empty = tmp_path / "empty.ini"
    empty.write_text("")
    done = run("agent", "top", "--once", "--config", empty, "--period", "200ms")
    assert done.returncode == 0 and "Mem " in done.stdout and "\x1b" not in done.stdout, done
    assert run("agent", "top", "--period", "nonsense").returncode == 2
    assert run("agent", "top", "--nonsense").returncode == 2
    assert run("agent", "top", "--config", empty).returncode == 1


def test_agent_needs_no_privileges(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    os.chmod(tmp_path, 0o755)
    done = run("agent", "top", "--once", "--period", "200ms", prefix=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
    assert done.returncode == 0 and "Mem " in done.stdout, done


@pytest.mark.parametrize("command", [["aggregator", "status", "--socket", "/none"], ["agent", "--version"]])
def test_ncurses_is_loaded_by_top_alone(command):
    assert "ncurses" not in subprocess.run(["ldd", BUILD / command[0]], capture_output=True, text=True, check=True).stdout
