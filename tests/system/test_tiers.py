"""Minutes and hours of the history against an independent reader: of frames as they are exported, with what replay says of
their times and order. What a frame's counters are compared with follows from docs/history.md."""

import calendar
import csv
import json
import math
import shutil
import sqlite3
import subprocess
import time
from collections import defaultdict

import msgpack
import pytest
from lib import expected, protocol
from lib.programs import run
from lib.tiers import tiers_tool

SPANS = {"minutes": 60 * 10**9, "hours": 3600 * 10**9}
SEED, NODES, FRAMES = 3, 5, 600


@pytest.fixture(name="tool", scope="module")
def _tool():
    return tiers_tool()


# ---- the independent reader ----


def nanoseconds(text):
    seconds, fraction = text.rstrip("Z").split(".")
    return calendar.timegm(time.strptime(seconds, "%Y-%m-%dT%H:%M:%S")) * 10**9 + int(fraction)


def comparable(table):
    """A table with an error instead of values is compared with nothing."""
    return not table.error or table.rows or any(value is not None for value in table.node.values())


class Chain:
    """The last tables of a node's live frames, or of its late ones."""

    def __init__(self):
        self.tables, self.session, self.sequence = {}, None, 0

    def take(self, frame):
        """{group: (table, the one it is compared with or None, time between)}"""
        if self.session != frame.session or self.sequence >= frame.sequence:
            self.tables = {}
        self.session, self.sequence = frame.session, frame.sequence
        pairs = {}
        for name, table in frame.tables.items():
            before, at = self.tables.get(name, (None, 0))
            pairs[name] = table, before, frame.monotonic_ns - at
            if comparable(table):
                self.tables[name] = table, frame.monotonic_ns
        return pairs


def shown_values(table, before, elapsed_ns):
    """(metric, label or None, value): of the node its own values, or the folds of rows."""
    group = table.group
    said = expected.group_report(table, before, elapsed_ns)
    for metric in group.metrics:
        if metric.kind == protocol.TEXT:
            continue
        if metric.flags & protocol.OF_NODE:
            yield metric, None, said[metric.name]
            continue
        if metric.fold != protocol.FOLD_NONE:
            yield metric, None, said[group.fold_name][metric.name]
        for label, row in said[group.rows_name].items():
            yield metric, label, row[metric.name]


def sample(value):
    return math.floor(value * 10**4 + 0.5) / 10**4 if isinstance(value, expected.Share) else value


def read_frames(path, folder, restarts):
    """{tier: {(group, metric): {(node, label, time): [count, sum, least, greatest, ns between the frames of its changes]}}}"""
    groups = {}
    with sqlite3.connect(path) as database:
        for digest, data in database.execute("SELECT hash, bytes FROM schemas"):
            groups[digest] = protocol.schema_read(data)
    database.close()
    exported = folder / "frames"
    done = run("aggregator", "export", "--format", "msgpack", "--history", path, "-o", exported)
    assert done.returncode == 0, done.stderr
    frames = {}
    for wire in msgpack.Unpacker(exported.open("rb")):
        frame = protocol.frame_read(protocol.pack(wire), groups[wire[6]])
        frames[frame.node, frame.session, frame.sequence] = frame
    exported.unlink()
    replayed = run("aggregator", "replay", "--history", path, "--type", "node", "--from", "2000-01-01T00:00:00Z")
    assert replayed.returncode == 0, replayed.stderr
    chains = defaultdict(Chain)
    tiers = {tier: defaultdict(dict) for tier in SPANS}
    lines = replayed.stdout.splitlines()
    assert len(lines) == len(frames)
    for number, line in enumerate(map(json.loads, lines)):
        if number in restarts:
            chains.clear()
        frame = frames[line["node"], int(line["session"], 16), line["seq"]]
        at = nanoseconds(line["time"])
        for name, (table, before, elapsed_ns) in chains[frame.node, line.get("late", False)].take(frame).items():
            if table.group.flags & protocol.ONCE:
                continue
            for metric, label, value in shown_values(table, before, elapsed_ns):
                if value is None:
                    continue
                value = sample(value)
                for tier, span in SPANS.items():
                    cell = tiers[tier][name, metric.name].setdefault((frame.node, label, at // span * span),
                                                                     [0, 0, math.inf, -math.inf, 0])
                    cell[:] = (cell[0] + 1, cell[1] + value, min(cell[2], value), max(cell[3], value),
                               cell[4] + (elapsed_ns if before else 0))
    return tiers


# ---- what the program says ----


def points(tool, path, tier, group, metric):
    """Each point once."""
    made = {}
    for rows in ((), ("rows",)):
        for line in tool(path, "points", tier, group, metric, *rows).splitlines():
            node, label, at, *cell = json.loads(line)
            assert (node, label, at) not in made
            assert (label is None) == (not rows)
            made[node, label, at] = cell
    return made


def close(said, wanted):
    # A share lies between two steps of its last place now and then.
    return said[0] == wanted[0] and all(math.isclose(one, other, rel_tol=1e-9, abs_tol=1.01e-4 * wanted[0])
                                        for one, other in zip(said[1:], wanted[1:]))


def assert_equal(tool, path, tiers):
    for tier, metrics in tiers.items():
        for (group, metric), wanted in metrics.items():
            said = points(tool, path, tier, group, metric)
            assert set(said) == set(wanted), (tier, group, metric, set(said) ^ set(wanted))
            wrong = {key: (said[key], cell) for key, cell in wanted.items() if not close(said[key], cell)}
            assert not wrong, (tier, group, metric, len(wrong), next(iter(wrong.items())))


@pytest.fixture(scope="module")
def made(tool, tmp_path_factory):
    """A history, and what an independent reader finds in it."""
    folder = tmp_path_factory.mktemp("tiers")
    path = folder / "made.db"
    restarts = {int(line) for line in tool(path, "random", SEED, NODES, FRAMES).split()}
    tiers = read_frames(path, folder, restarts)
    starts = {at for cells in tiers["hours"].values() for _, _, at in cells}
    assert len({start // (24 * SPANS["hours"]) for start in starts}) == 2 and len(starts) >= 3
    assert sum(len(cells) for cells in tiers["minutes"].values()) > 40000
    return path, tiers


def test_tiers_equal_an_independent_reader(tool, made, tmp_path):
    """Resets, wraps, late frames, restarts, nodes and rows that come and go, over a midnight: while it is staged, half in
    blocks, and merged."""
    path = tmp_path / "history.db"
    shutil.copy(made[0], path)
    tool(path, "work", 0)  # a few chunks may wait for frames that they are compared with
    assert_equal(tool, path, made[1])
    tool(path, "work", 3 * 86400, 40)
    assert_equal(tool, path, made[1])
    tool(path, "work", 3 * 86400)
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT (SELECT count(*) FROM tier_staged), (SELECT count(*) FROM unfolded),"
                                " (SELECT count(*) FROM tier_blocks WHERE part > 0)").fetchone() == (0, 0, 0)
    database.close()
    assert_equal(tool, path, made[1])


NO_TIERS = """DROP TABLE tier_metrics; DROP TABLE tier_maps; DROP TABLE tier_staged; DROP TABLE tier_blocks;
DROP TABLE tier_parts; DROP TABLE tier_repairs;
DROP TRIGGER chunk_unfolded; DROP TRIGGER chunk_gone; DROP TABLE unfolded; DELETE FROM uses WHERE room = 'tiers';
PRAGMA user_version = 1;"""


def test_an_older_file_gets_its_tiers(tool, made, tmp_path):
    """Step by step, however often that is cut short."""
    path = tmp_path / "history.db"
    shutil.copy(made[0], path)
    with sqlite3.connect(path) as database:
        database.executescript(NO_TIERS)
    database.close()
    assert not points(tool, path, "minutes", "plain", "count")
    for _ in range(5):
        tool(path, "work", 0, 13)
    tool(path, "work", 0)
    assert_equal(tool, path, made[1])


def rates(path, metric, *more):
    """{(node, label, minute): rate}"""
    group, name = metric
    done = run("aggregator", "query", f"{group}.{name}", "--rate", "--step", "1m", "--history", path, "--socket", "/none",
               "--from", "-3d", "--format", "csv", *more)
    assert done.returncode == 0, done.stderr
    return {(row["node"], row["row"] or None, nanoseconds(row["time"])): float(row[f"{group}.{name} ({unit_of(row)})"])
            for row in csv.DictReader(done.stdout.splitlines()) if int(row["count"])}


def unit_of(row):
    return next(name for name in row if "." in name).partition("(")[2].rstrip(")")


ALL_UNFOLDED = """DELETE FROM tier_blocks; DELETE FROM tier_parts; DELETE FROM tier_staged;
INSERT OR IGNORE INTO unfolded SELECT id, first_time FROM chunks WHERE node != 0"""
COUNTERS = (("widgets", "turns"), ("plain", "count"))


def different(said, wanted, keys):
    return {key: (said.get(key), wanted[key][1] / wanted[key][4] * 1e9) for key in keys
            if not math.isclose(said.get(key, math.nan), wanted[key][1] / wanted[key][4] * 1e9, rel_tol=1e-9)}


@pytest.mark.parametrize("rows", [[], ["--rows"]], ids=["nodes", "rows"])
def test_rates_are_of_the_time_between_frames(tool, made, tmp_path, rows):
    """Of minutes that are in no block yet each; of others those in which a series begins or ends."""
    counters = [metric for metric in COUNTERS if not rows or metric[0] == "widgets"]
    path = tmp_path / "history.db"
    for work in (0, 3 * 86400):
        shutil.copy(made[0], path)
        if not work:
            with sqlite3.connect(path) as database:
                database.executescript(ALL_UNFOLDED)
            database.close()
        else:
            tool(path, "work", work)
        for metric in counters:
            wanted = {key: cell for key, cell in made[1]["minutes"][metric].items() if (key[1] is not None) == bool(rows)}
            alone = {(node, label, at) for node, label, at in wanted
                     if (node, label, at - SPANS["minutes"]) not in wanted or (node, label, at + SPANS["minutes"]) not in wanted}
            assert len(wanted) > 300 and len(alone) > 20
            said = rates(path, metric, *rows)
            assert said.keys() == wanted.keys()
            wrong = different(said, wanted, alone if work else wanted)
            assert not wrong, (metric, work, len(wrong), next(iter(wrong.items())))


def test_one_of_many_nodes_is_as_among_all(tool, tmp_path):
    """Few of many are looked up one by one: in frames, in what is in no minute yet, and beside minutes."""
    path = tmp_path / "history.db"
    tool(path, "random", SEED, 10, 500)
    now = time.time()
    during = [f"--{key}={time.strftime('%Y-%m-%dT%H:%M:00Z', time.gmtime(now - days * 86400))}" for key, days in (("from", 3), ("to", 0))]
    for state in ("as it is", "in no minute", "in minutes"):
        if state == "in no minute":
            with sqlite3.connect(path) as database:
                database.executescript(ALL_UNFOLDED + "; DELETE FROM unfolded WHERE chunk % 3 = 0")
            database.close()
        if state == "in minutes":
            tool(path, "work", 3 * 86400)
        for step in ("1m", "90s"):
            asked = ("query", "widgets.turns", "--step", step, "--history", path, "--socket", "/none", *during, "--format",
                     "json")
            every = json.loads(run("aggregator", *asked).stdout)["series"]
            assert len(every) == 10
            for one in every[::4]:
                said = json.loads(run("aggregator", *asked, "--node", one["node"]).stdout)["series"]
                assert said == [one], (state, step, one["node"])
