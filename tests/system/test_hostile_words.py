"""What a node with a listed key says reaches people: words for their terminals, cells for their spreadsheets, numbers for
their documents, tables for their folders. All of it is whole, and harms nobody; the healthy nodes lose nothing."""

import contextlib
import csv
import re
import shutil
import sqlite3
import time
import unicodedata

import pytest
from lib import protocol
from lib.hostile import Siege, evil
from lib.programs import run, wait_until
from lib.protocol import COUNTER, FOLD_NONE, GAUGE, OF_NODE, TEXT, UNIT_NONE, Group, Metric

S = 1_000_000_000
MARKS = "\x9b31m\u202eevil\u2066\x1b[2J\u200b"  # a colour by C1, right to left, an isolate, a screen cleared, of no width
FORMULAS = ["=cmd|' /C calc'!A0", "+1", "-1+1", "@SUM(A1)", "\t=1"]
ODD = [1.7e308, -1.7e308, 1e30, 5e-324, -5e-324, 3e38]
JOB = {"section": "job_data", "row": "job", "rows_name": "jobs", "fold_name": "total"}


def text(name):
    return Metric(name, TEXT, UNIT_NONE, FOLD_NONE)


JOBS = [Group("plain", metrics=[Metric("level", GAUGE, flags=OF_NODE)]),
        Group("job_cpu", **JOB, metrics=[Metric("user_time", COUNTER, per=10**9), Metric("system_time", COUNTER, per=10**9)]),
        Group("job_info", **JOB, metrics=[text("scheduler"), text("user"), text("name"), Metric("started", GAUGE)]),
        Group("job_memory", **JOB, metrics=[Metric("rss", GAUGE), Metric("rss_peak", GAUGE)])]


def show(peer, jobs, info, memory=None, period_ns=S, error=None):
    """A frame of which each of the jobs has a row; `info` is of each."""
    peer.publish([protocol.table_wire(peer.groups, "plain", period_ns, {"level": 1}, error=error),
                  protocol.table_wire(peer.groups, "job_cpu", period_ns, rows=jobs),
                  protocol.table_wire(peer.groups, "job_info", period_ns, rows={job: info | {"started": time.time() - 9} for job in jobs}),
                  protocol.table_wire(peer.groups, "job_memory", period_ns, rows={job: memory or {"rss": 1000} for job in jobs})])
    peer.pump()


def wait_started(siege, label, again):
    """The job's first line; `again` shows it, since one that nobody shows has ended."""
    def started():
        again()
        return siege.cluster.aggregator.lines(type="job", event="started", job_id=label)

    return wait_until(started, f"the line of job {label}")[0]


def history_command(cluster, name, *options, **more):
    return run("aggregator", name, "--config", cluster.empty, "--socket", cluster.socket, "--history", cluster.history,
               *options, **more)


def assert_harmless(words, where):
    odd = {f"U+{ord(one):04X}" for one in words if unicodedata.category(one) in ("Cc", "Cf") and one not in "\n\t"}
    assert not odd, f"{where}: {odd}"


def test_words_reach_no_terminal(cluster):
    """Names of jobs and users, and errors, with characters by which a terminal is told something: they are in no
    log, and in lines as JSON escapes them, so that a reader has the same value. What an event said cannot be changed
    unnoticed."""
    info = {"scheduler": "slurm", "user": f"eve{MARKS}", "name": f"job{MARKS}"}
    with Siege(cluster, prompt=Siege.healthy) as siege, evil(cluster, JOBS) as peer:
        tail = cluster.start_tail()
        tail.wait_line(type="node")
        peer.start()
        line = wait_started(siege, "700007", lambda: show(peer, {"700007": {"user_time": S}}, info, error=f"GPU lost{MARKS}"))
        assert line["user"] == info["user"] and line["name"] == info["name"]
        event = cluster.wait_event("group_failed", node="evil")
        assert event["error"] == f"GPU lost{MARKS}"
        tail.wait_line(type="event", event="group_failed")
        shown = {name: history_command(cluster, *name.split()).stdout for name in ("jobs", "report 700007")}
        shown["status"] = cluster.succeed("aggregator", "status", "--socket", cluster.socket)
    assert "evil" in cluster.aggregator.log() and "GPU lost" in cluster.aggregator.log()
    assert "700007" in shown["jobs"] and "eve" in shown["report 700007"] and "evil" in shown["status"]
    for name, words in shown.items():
        assert_harmless(words, name)
    for program in (cluster.aggregator, tail):
        assert_harmless(program.out_path.read_text(), f"lines of {program.name}")
        assert_harmless(program.log(), f"log of {program.name}")

    assert cluster.aggregator.stop() == 0
    assert run("aggregator", "check", cluster.history).returncode == 0
    with contextlib.closing(sqlite3.connect(cluster.history)) as file, file:
        file.execute("UPDATE events SET line = replace (line, 'GPU lost', 'GPU fine') WHERE type = 'group_failed'")
    done = run("aggregator", "check", cluster.history)
    assert done.returncode == 1 and "event " in done.stderr, done.stdout


def cells(folder):
    """Of all tables: (file, cell)."""
    for path in folder.glob("*.csv"):
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.reader(file):
                yield from ((path.name, cell) for cell in row)


def test_cells_are_no_formulas(cluster):
    """Labels and values that a spreadsheet would run."""
    with Siege(cluster, prompt=Siege.healthy) as siege, evil(cluster, JOBS) as peer:
        peer.start()
        for word in FORMULAS:
            info = {"scheduler": "slurm", "user": word, "name": word}
            show(peer, {word: {"user_time": S}}, info)
        info = {"scheduler": "slurm", "user": "=1+1", "name": "=1+1"}
        wait_started(siege, "700007", lambda: show(peer, {"700007": {"user_time": S}}, info))
    assert cluster.aggregator.stop() == 0
    for folder, command in ((cluster.folder / "tables", ["export", "-o"]), (cluster.folder / "job", ["report", "700007", "--csv"])):
        done = history_command(cluster, *command, folder)
        assert done.returncode == 0, done.stderr
        found = list(cells(folder))
        assert {name for name, _ in found} >= {"job_info.csv", "job_cpu.csv"}
        assert "'=1+1" in {cell for _, cell in found}
        for name, cell in found:
            number = re.fullmatch(r"-?[0-9.]+(e[-+]?[0-9]+)?", cell)
            assert number or not cell.startswith(("=", "+", "-", "@", "\t", "\r")), f"{name}: {cell!r}"


def test_numbers_at_the_ends(cluster):
    """Values, counters and periods at the ends of what can be written: a report is whole in each form, and says so."""
    if not shutil.which("gnuplot"):
        pytest.skip("gnuplot is not installed")
    info = {"scheduler": "slurm", "user": "eve", "name": "ends"}
    shown = 0

    def again():
        nonlocal shown
        shown += 1
        cpu = {"user_time": 2**64 - 1 if shown % 4 == 3 else 1e308 if shown % 4 == 1 else 0, "system_time": shown * S}
        show(peer, {"700007": cpu}, info, {"rss": ODD[shown % len(ODD)], "rss_peak": ODD[-1 - shown % len(ODD)]},
             period_ns=2**63 - 1 if shown % 10 == 9 else S // 20)
        time.sleep(0.05)

    with Siege(cluster, prompt=Siege.healthy) as siege, evil(cluster, JOBS) as peer:
        peer.start()
        wait_started(siege, "700007", again)
        for _ in range(20):
            again()
    assert cluster.aggregator.stop() == 0
    pdf, page = cluster.folder / "700007.pdf", cluster.folder / "700007.html"
    done = history_command(cluster, "report", "700007", "--pdf", pdf, "--html", page)
    assert done.returncode == 0, done.stderr
    assert pdf.read_bytes().startswith(b"%PDF-") and pdf.read_bytes().rstrip().endswith(b"%%EOF")
    assert page.read_text().rstrip().endswith("</html>")
    done = history_command(cluster, "report", "700007")
    assert done.returncode == 0 and "evil reported numbers that no machine has" in done.stdout, done.stdout
    assert not re.search(r"\b(inf|nan)\b", done.stdout), done.stdout


def test_tables_without_end(cluster):
    """Twelve schemas of a hundred groups, where an export may have 1,024 files open; and a `load` of another shape, which was
    there first."""
    def shape(number):
        return [Group(f"group_{index}", metrics=[Metric(f"metric_{number}", GAUGE, flags=OF_NODE)]) for index in range(100)]

    def comes_first():
        nonlocal peer
        cluster.keys_of("evil")
        peer = evil(cluster, [Group("load", metrics=[Metric("load_of_evil", GAUGE, flags=OF_NODE)])])
        peer.start()
        peer.publish([protocol.table_wire(peer.groups, "load", S, {"load_of_evil": 1})])
        cluster.wait_node("evil")

    peer = None
    with Siege(cluster, prompt=Siege.healthy, before=comes_first) as siege, peer:
        for number in range(12):
            peer.groups = shape(number)
            peer.schema = protocol.schema_bytes(peer.groups)
            peer.hash = protocol.schema_hash(peer.schema)
            peer.session += 2
            peer.sequence = 0
            peer.hello()
            peer.send_schema()
            peer.publish([protocol.table_wire(peer.groups, group.name, S, {f"metric_{number}": 1}) for group in peer.groups])
            session = f"{peer.session:016x}"
            wait_until(lambda: cluster.aggregator.lines(type="node", session=session), "its line")
    assert cluster.aggregator.stop() == 0
    tables = cluster.folder / "tables"
    done = history_command(cluster, "export", "-o", tables, prefix=("prlimit", "--nofile=1024:1024"))
    assert done.returncode == 0, done.stderr
    assert len(list(tables.glob("group_*.csv"))) == 1200
    assert "load_1" in (tables / "load.csv").read_text().partition("\n")[0]
    other, = set(tables.glob("load*.csv")) - {tables / "load.csv"}
    assert "load_of_evil" in other.read_text().partition("\n")[0]
