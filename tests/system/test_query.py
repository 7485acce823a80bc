"""`synop-aggregator query`: what it shows is what the lines had, folded here once more; tables, curves, lists and mistakes."""

import contextlib
import csv
import datetime
import io
import math
import re
import shutil
import sqlite3
import statistics

import pytest
from lib.cluster import Cluster
from lib.programs import parse_line, run, time_ns
from lib.tiers import tiers_tool

S = 1_000_000_000


def ask(cluster, *arguments, code=0, **more):
    done = run("aggregator", "query", "--config", cluster.empty, "--history", cluster.history, "--socket", cluster.socket,
               *arguments, **more)
    assert done.returncode == code, done.stderr
    return done


def answer(cluster, *arguments):
    return parse_line(ask(cluster, *arguments, "--format", "json").stdout)


def utc(ns):
    return datetime.datetime.fromtimestamp(ns // S, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture(name="ran", scope="module")
def _ran():
    """A cluster whose nodes ran for some seconds and ended: (cluster, its lines, which the history has too)."""
    cluster = Cluster()
    yield cluster, run_some_seconds(cluster)
    cluster.close()


def run_some_seconds(cluster):
    cluster.start_aggregator("--tick-period", "200ms")
    cluster.start_nodes("n1", "n2", period="100ms")
    for node in ("n1", "n2"):
        cluster.aggregator.wait_lines(60, type="node", node=node)
    for agent in cluster.agents.values():
        assert agent.stop() == 0
    lines = [parse_line(line) for line in cluster.aggregator.out_path.read_text().splitlines()]
    assert cluster.aggregator.stop() == 0
    return lines


def steps_of(lines, node, pick):
    """{second: [what `pick` gives of the group's object, None where it has none]}, and the times that they span."""
    found, spans = {}, {}
    for line in lines:
        if line["type"] != "node" or line["node"] != node:
            continue
        value, period = pick(line["report"]["system_data"])
        if value is not None:
            second = time_ns(line["time"]) // S
            found.setdefault(second, []).append(value)
            spans[second] = spans.get(second, 0) + period
    return found, spans


def check(found, series, value):
    """Each second of the lines, and no other, has a point with the value and the number. Lines have shares with four places."""
    points = {point[0]: point[1:] for point in series["points"] if point[4]}
    assert points.keys() == found.keys() and len(points) > 3
    for second, values in found.items():
        expected = value(second, values)
        assert math.isclose(points[second][0], expected, rel_tol=1e-8, abs_tol=1e-4), (second, values, points[second])
        assert points[second][3] == len(values)
    assert all(point[1:4] == [None] * 3 for point in series["points"] if not point[4])


def mean(_, values):
    return statistics.fmean(values)


@pytest.mark.parametrize("node", ["n1", "n2"])
def test_values_are_those_of_lines(ran, node):
    def whole(group, *path):
        def pick(report):
            value = report.get(group, {})
            period = value.get("period")
            for name in path:
                value = value.get(name, {})
            return (None if value == {} else value), period
        return pick

    cluster, lines = ran
    times = [time_ns(line["time"]) for line in lines if line["type"] == "node"]
    interval = ("--from", utc(min(times) - S), "--to", utc(max(times) + 2 * S), "--step", "1s", "--node", node)
    for metric, pick, value in (
        ("load.load_1", whole("load", "load_1"), mean),
        ("memory_info.used", whole("memory_info", "used"), mean),
        ("cpu_usage.average_usage.user", whole("cpu_usage", "average_usage", "user"), mean),
        ("vm.page_faults", whole("vm", "page_faults"), lambda _, values: sum(values)),
        ("network.devices.lo.rx_bytes", whole("network", "devices", "lo", "rx_bytes"), lambda _, values: sum(values)),
        ("cpu_usage.usage_data.0.user", whole("cpu_usage", "usage_data", "0", "user"), mean),
    ):
        found, _ = steps_of(lines, node, pick)
        assert any(map(sum, found.values())), metric
        got = answer(cluster, metric, *interval)
        assert [series["node"] for series in got["series"]] == [node], metric
        check(found, got["series"][0], value)
        points = [point for point in got["series"][0]["points"] if point[4]]
        assert {point[0]: point[2:4] for point in points} == {
            second: [pytest.approx(min(values), abs=1e-4), pytest.approx(max(values), abs=1e-4)] for second, values in found.items()}
    found, spans = steps_of(lines, node, whole("vm", "page_faults"))
    got = answer(cluster, "vm.page_faults", "--rate", *interval)
    check(found, got["series"][0], lambda second, values: sum(values) / spans[second])
    assert got["unit"] == "1/s"
    used, _ = steps_of(lines, node, whole("memory_info", "used"))
    total, _ = steps_of(lines, node, whole("memory_info", "total"))
    got = answer(cluster, "memory_info.used / memory_info.total", *interval)
    check(used, got["series"][0], lambda second, values: statistics.fmean(values) / statistics.fmean(total[second]))


@pytest.mark.parametrize("more", [[], ["--fold", "sum"]], ids=["nodes", "fold"])
def test_what_is_divided_by_zero_is_missing(ran, more):
    got = answer(ran[0], "load.load_1 / 0", "--step", "10s", *more)
    for series in got["series"]:
        assert all(point[1:] == [None, None, None, 0] for point in series["points"])
        assert series["missing"] == len(series["points"]) and series["mean"] is None
    assert got["missing"] == [{"from": got["from"], "to": got["to"]}]


def test_rows_folds_and_rankings(ran):
    each = answer(ran[0], "cpu_usage.user", "--rows", "--step", "10s")["series"]
    rows = len({series["row"] for series in each})
    assert rows >= 1 and [series["node"] for series in each] == ["n1"] * rows + ["n2"] * rows
    one = answer(ran[0], "cpu_usage.user", "--row", "0", "--step", "10s")["series"]
    assert [(series["node"], series["row"]) for series in one] == [("n1", "0"), ("n2", "0")]
    folded = answer(ran[0], "cpu_usage.user", "--row", "0", "--fold", "sum", "--step", "10s")
    assert folded["folded"] == 2 and len(folded["series"]) == 1
    for point, *parts in zip(folded["series"][0]["points"], one[0]["points"], one[1]["points"]):
        if point[4]:
            assert math.isclose(point[1], sum(part[1] for part in parts if part[4]))
    top = answer(ran[0], "cpu_usage.user", "--rows", "--top", "1", "--step", "10s")
    assert top["left_out"] == len(each) - 1
    assert top["series"][0]["mean"] == max(series["mean"] for series in each)
    bottom = answer(ran[0], "cpu_usage.user", "--rows", "--bottom", "1", "--step", "10s")
    assert bottom["series"][0]["mean"] == min(series["mean"] for series in each)


def test_the_combined_report(ran):
    ticks = [line for line in ran[1] if line["type"] == "cluster" and "load" in line["report"].get("system_data", {})]
    times = [time_ns(line["time"]) for line in ticks]
    got = answer(ran[0], "load.load_1", "--combined", "--from", utc(min(times) - S), "--to",
                 utc(max(times) + 2 * S), "--step", "1s")
    assert {series["row"] for series in got["series"]} >= {"mean", "min", "max"}
    for series in got["series"]:
        found = {}
        for line in ticks:
            value = line["report"]["system_data"]["load"]["load_1"].get(series["row"])
            if value is not None:
                found.setdefault(time_ns(line["time"]) // S, []).append(value)
        check(found, series, mean)
    assert [series["row"] for series in answer(ran[0], "load.load_1.max", "--step", "1s")["series"]] == ["max"]


def test_text_for_people(ran):
    done = ask(ran[0], "memory_info.used", "--step", "10s")
    title, times, blank, head, *rows = done.stdout.splitlines()
    assert re.fullmatch(r"memory_info\.used in [KMGT]iB, mean of 10 s", title) and " to " in times and blank == ""
    assert head.split() == ["TIME", "n1", "n2"]
    assert any(re.fullmatch(r"\d\d:\d\d:\d\d( +[\d.]+){2}", row) for row in rows)
    assert re.fullmatch(r"\d\d:\d\d:\d\d  \.\.\. \d+ steps without a value", rows[0]) and len(rows) < 10
    assert "From frames.\n" in done.stderr and "Missing: " in done.stderr
    wide = ask(ran[0], "cpu_usage.user", "--rows", "--top", "2").stdout.splitlines()
    assert wide[3].split() == ["NAME", "MEAN", "MIN", "MAX", "LAST"] and len(wide) == 6
    table = list(csv.reader(io.StringIO(ask(ran[0], "memory_info.used", "--format", "csv").stdout)))
    assert table[0] == ["time", "node", "row", "memory_info.used (bytes)", "min", "max", "count"]
    assert {row[1] for row in table[1:]} == {"n1", "n2"} and all((row[3] == "") == (row[6] == "0") for row in table[1:])


def test_the_list(ran):
    listed = ask(ran[0], "--list", "memory_info.*").stdout.splitlines()
    assert listed[0].split() == ["METRIC", "UNIT", "KIND", "NODES", "HELP"]
    assert any(re.match(r"memory_info\.used +bytes +gauge +2  ", line) for line in listed)
    all_of_them = parse_line(ask(ran[0], "--list", "--format", "json").stdout)
    names = [metric["metric"] for metric in all_of_them]
    assert names == sorted(names) and len(names) > 100 and "network.rx_bytes" in names
    assert "matches" in ask(ran[0], "--list", "nothing*").stderr


def test_pictures(ran, tmp_path):
    if not shutil.which("gnuplot"):
        pytest.skip("not installed: gnuplot")
    drawn = ask(ran[0], "memory_info.used", "--format", "plot").stdout
    assert "memory_info.used" in drawn and "n1" in drawn and "*" in drawn and "\x1b" not in drawn
    assert max(map(len, drawn.splitlines())) <= 80
    assert ", lo " in ask(ran[0], "network.rx_bytes", "--row", "lo", "--format", "plot").stdout, "the row that all are of"
    for name, begin in (("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a.svg", b"<?xml")):
        path = tmp_path / name
        assert ask(ran[0], "memory_info.used", "-o", path).stdout == ""
        assert path.read_bytes().startswith(begin)
    assert "exists" in ask(ran[0], "memory_info.used", "--format", "plot", "-o", path, code=1).stderr


MISTAKES = (
    (["lod.load_1"], 2, 'no node has a metric "lod.load_1"; near are load.load_1'),
    (["user"], 2, "several groups"),
    (["load"], 2, '"load" is a group of metrics: load.load_1, load.load_15, load.load_5'),
    (["memory_info.used / load"], 2, '"load" is a group of metrics'),
    (["load.load_1", "--step", "0"], 2, "[query] step (command line)"),
    (["load.load_1", "--step", "-5s"], 2, "[query] step (command line)"),
    (["load.load_1", "--step", "2h"], 2, "no longer than the interval"),
    (["load.load_1", "--from", "-30d", "--step", "1s"], 2, "choose a longer one"),
    (["load.load_1", "--from", "-1h", "--to", "-2h"], 2, "must be before"),
    (["load.load_1", "--node", "n7"], 2, "no node of the history matches"),
    (["load.load_1", "--rows"], 2, "and no rows"),
    (["load.load_1", "--rate"], 2, "is of counters"),
    (["load.load_1", "--fold", "median"], 2, "sum, mean, min or max"),
    (["load.load_1", "--top", "0"], 2, "from 1 to"),
    (["load.load_1", "--top", "1", "--bottom", "1"], 2, "does not go with top"),
    (["load.load_1", "--combined", "--node", "n1"], 2, "of all nodes together"),
    (["load.load_1", "--job", "77"], 2, "no job 77"),
    (["load.load_1", "--user", "root"], 2, "goes with a job (--job) alone"),
    (["load.load_1", "--scheduler", "slurm"], 2, "goes with a job (--job) alone"),
    (["load.load_1 - 1e400"], 2, "too large"),
    (["--list", "["], 2, "without its ']'"),
    (["load.load_1", "--format", "plot", "-o", "load.jpg"], 2, ".png, .svg or .pdf"),
    ([], 2, "query METRIC"),
)


@pytest.mark.parametrize("arguments, code, words", MISTAKES, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_mistakes(ran, arguments, code, words):
    done = ask(ran[0], *arguments, code=code)
    assert words in done.stderr and done.stdout == ""


# ---- ten thousand nodes: made of minutes alone ----


@pytest.fixture(name="many", scope="module")
def _many(tmp_path_factory):
    """The history of four hours, and the end of the last."""
    path = tmp_path_factory.mktemp("many") / "history.db"
    tiers_tool()(path, "fill", 10000, 4, 1, 0)
    with contextlib.closing(sqlite3.connect(path)) as file:
        (end,) = file.execute("SELECT max(start) + 3600 FROM tier_blocks WHERE tier = 0").fetchone()
    return path, end * S


def ask_many(path, end, *arguments, hours=1, code=0, form="json"):
    done = run("aggregator", "query", "made.m0", "--config", "/dev/null", "--history", path, "--socket", "/none", "--from",
               utc(end - hours * 3600 * S), "--to", utc(end), "--format", form, *arguments)
    assert done.returncode == code, done.stderr
    return done


def test_the_usual_step_fits(many):
    done = ask_many(*many, form="csv")
    assert done.stderr.startswith("Steps are 2 min long, for 10,000 series; with fewer (--top, --fold, --node) they are shorter.\n")
    assert len(done.stdout.splitlines()) == 1 + 30 * 10000
    for few in (["--node", "n00*"], ["--top", "3"], ["--fold", "max"]):
        done = ask_many(*many, *few)
        assert parse_line(done.stdout)["step"] == 60


def damaged(path, copy, hours):
    """A copy in which the minutes of these hours are damaged."""
    shutil.copy(path, copy)
    with contextlib.closing(sqlite3.connect(copy)) as file:
        for (start,) in file.execute("SELECT DISTINCT start FROM tier_blocks WHERE tier = 0 ORDER BY start").fetchall()[:hours]:
            file.execute("UPDATE tier_blocks SET data = x'00' WHERE tier = 0 AND start = ?", (start,))
        file.commit()
    return copy


def test_too_many_points_are_refused_before_they_are_read(many, tmp_path):
    path, end = damaged(many[0], tmp_path / "history.db", 2), many[1]
    assert "are left out" in ask_many(path, end, "--top", "3", hours=3, code=1).stderr
    done = ask_many(path, end, "--step", "1m", hours=3, code=2)
    assert done.stdout == "" and done.stderr.count("\n") == 1
    assert done.stderr.endswith("error: [query] step (command line): 180 steps of 10,000 series are 1,800,000 points, and an answer "
                                "has at most 400,000: choose 5m, or fewer series: by node, fold or top\n")
    done = ask_many(path, end, "--step", "5m", hours=3, code=1)
    assert len(parse_line(done.stdout)["series"]) == 10000
    done = ask_many(path, end, "--step", "1m", hours=3, form="levels", code=1)
    assert len(parse_line(done.stdout)["steps"]) == 180, "a byte each is less"


def test_nodes_that_have_gone_are_too_many_as_well(many, tmp_path):
    """They are not there in the last hours, where series are counted."""
    path = tmp_path / "history.db"
    shutil.copy(many[0], path)
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.execute("DELETE FROM tier_blocks WHERE tier = 0 AND batch > 3 AND start >= ?", (many[1] // S - 2 * 3600,))
        file.commit()
    answered = parse_line(ask_many(path, many[1], hours=4).stdout)
    assert len(answered["series"]) == 10000 and answered["step"] == 600
    assert "long, for more than " in ask_many(path, many[1], hours=4, form="csv").stderr
    assert "steps of more than 2,222 series are" in ask_many(path, many[1], "--step", "1m", hours=3, code=2).stderr


def test_no_history(cluster):
    done = ask(cluster, "load.load_1", code=1)
    assert "history.db" in done.stderr


def test_what_is_held_is_asked_for_first(cluster):
    """The newest values are not in the file yet."""
    cluster.start_aggregator()
    cluster.start_nodes("n1", period="100ms")
    cluster.aggregator.wait_lines(5, type="node", node="n1")
    assert cluster.counter("chunks") == 0
    shown = answer(cluster, "load.load_1", "--from", "-10s")["series"]
    assert sum(point[4] for point in shown[0]["points"]) >= 5


def test_what_frames_had_that_are_gone_is_in_tiers(ran, tmp_path):
    """Schemas go with the frames; the metrics of tiers stay, and what is derived of them."""
    copy = tmp_path / "history.db"
    with contextlib.closing(sqlite3.connect(f"file:{ran[0].history}?mode=ro", uri=True)) as file:
        with contextlib.closing(sqlite3.connect(copy)) as other:
            file.backup(other)
    tiers_tool()(copy, "work", 0)
    with contextlib.closing(sqlite3.connect(copy)) as other:
        other.execute("DELETE FROM chunks")
        other.execute("DELETE FROM schemas")
        other.commit()
    here = ("--history", copy)
    before = {metric["metric"] for metric in parse_line(ask(ran[0], "--list", "--format", "json").stdout)}
    after = {metric["metric"] for metric in parse_line(ask(ran[0], "--list", "--format", "json", *here).stdout)}
    assert after <= before and {"load.load_1", "network.rx_bytes", "job_counters.ipc"} <= after
    assert {name.split(".")[0].rpartition("_")[2] for name in before - after} <= {"info"}  # facts, which are in no tier
    got = answer(ran[0], "vm.page_faults", *here)
    assert {piece["tier"] for piece in got["tiers"]} == {"minutes"}
    assert [series["node"] for series in got["series"]] == ["n1", "n2"] and got["series"][0]["max"] > 0
