"""Parquet and Arrow: what is written is read back, cell for cell and type for type, by four libraries of other people."""

import base64
import csv
import json
import math
import os
import pty
import struct
import subprocess

import pytest
from lib import protocol
from lib.cluster import Cluster
from lib.columnar import read_both, read_lines, read_tables, readers_or_skip
from lib.hostile import evil
from lib.programs import BUILD, LIMIT, environment, listed_groups, run, time_ns
from lib.protocol import COUNTER, GAUGE, Group, Metric

SEEDS = [int(seed) for seed in os.environ.get("COLUMNAR_SEEDS", "1").split()]


@pytest.fixture(autouse=True)
def readers():
    readers_or_skip()


def make(*arguments):
    done = subprocess.run([str(BUILD / "tests/unit/test_columnar"), *map(str, arguments)], capture_output=True, text=True,
                          env=environment(), timeout=5 * LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def order(value):
    """As statistics order values; doubles by their bits, -0 before 0."""
    return value.encode() if isinstance(value, str) else value


def number(text):
    return struct.unpack(">d", bytes.fromhex(text))[0]


def check_statistics(head, rows):
    """Of each row group: bounds of the values that are there, without NaN; how many are not."""
    begin = 0
    for group in head["groups"]:
        part = rows[begin:begin + group["rows"]]
        begin += group["rows"]
        assert group["bytes"] == sum(one["raw"] for one in group["columns"])
        for at, (column, said) in enumerate(zip(head["columns"], group["columns"])):
            values = [row[at] for row in part]
            there = [value for value in values if value is not None and value != "nan"]
            assert said["codec"] == "ZSTD" and said["values"] == len(part)
            assert said["nulls"] == values.count(None), column
            if column["type"] == "time":
                continue
            if not there:
                assert said["min"] is None and said["max"] is None, column
            elif column["type"] == "double":
                there = [number(value) for value in there]
                least, most = number(said["min"]), number(said["max"])
                assert least == min(there) and most == max(there)
                assert least != 0 or said["min"] == "8000000000000000" and most != 0 or said["max"] == "0000000000000000"
            else:
                assert (said["min"], said["max"]) == (min(there, key=order), max(there, key=order)), column
            if column["type"] == "text":
                assert "PLAIN" in said["encodings"] and "RLE" in said["encodings"]
                different = len(set(there))
                assert different > 10000 or not there or "RLE_DICTIONARY" in said["encodings"]
                assert different < 30000 or said["raw"] >= sum(len(order(value)) for value in there)
            else:
                assert "RLE_DICTIONARY" not in said["encodings"]
    assert begin == len(rows)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_tables(tmp_path, seed):
    """Tables of all types, lengths and shares of nulls: none, one row, a block less and more, texts that are too many for a
    dictionary, integers over 2^53, infinities, NaN, -0."""
    make("random", seed, tmp_path)
    tables = sorted(tmp_path.glob("*.jsonl"))
    assert len(tables) == 5
    parquet, arrow = (read_tables([table.with_suffix(form) for table in tables]) for form in (".parquet", ".arrow"))
    fallen_back = False
    for table in tables:
        expected = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
        columns, rows = expected[0]["columns"], expected[1:]
        assert len(rows) == expected[0]["rows"]
        plain, other, read = parquet[table.with_suffix(".parquet")]
        assert read == rows
        assert [(one["name"], one["type"], one["optional"]) for one in plain["columns"]] == [
            (one["name"], one["type"], True) for one in columns]
        assert [{**one, "optional": None} for one in other["columns"]] == [{**one, "optional": None} for one in columns]
        assert plain["table"] == {"table": 'made "up"', "help": "Made up.", "columns": {
            one["name"]: {key: one[key] for key in ("unit", "help") if one[key]} for one in columns}}
        assert plain["created"].startswith("synop version ") and base64.b64decode(plain["arrow"])[:4] == b"\xff" * 4
        check_statistics(plain, rows)
        fallen_back |= any(column["type"] == "text" and "RLE_DICTIONARY" not in said["encodings"] and len(rows) > 10000
                           for group in plain["groups"] for column, said in zip(plain["columns"], group["columns"]))
        *heads, read = arrow[table.with_suffix(".arrow")]
        assert read == rows
        for head in heads:
            assert [{**one, "optional": None} for one in head["columns"]] == [{**one, "optional": None} for one in columns]
            assert head["rows"] == len(rows) and head["table"] == {"name": 'made "up"', "help": "Made up."}
    assert fallen_back


def test_many_rows(tmp_path):
    """More than a row group has, in little memory; `make soak`: 10 million."""
    for form in ("parquet", "arrow"):
        path = tmp_path / f"rows.{form}"
        made = json.loads(make("rows", os.environ.get("COLUMNAR_ROWS", 1_100_000), form, path))
        assert made["rss_mib"] < (400 if "asan" in str(BUILD) else 64)
        assert path.stat().st_size == made["bytes"]
        said, = read_lines("sums", path)
        if form == "parquet":
            rows, *groups = said.pop("rows")
            assert rows == made["rows"] == sum(groups) and len(groups) > 1 and max(groups) == 2**20
        assert said == made["sums"]


# ---- a history ----

BOOLEAN = 10
JOB = {"section": "job_data", "row": "job", "rows_name": "jobs", "fold_name": "total"}
ODD = Group("odd", row="thing", rows_name="things", fold_name="total", help="Odd things.", metrics=[
    Metric("whole", COUNTER, protocol.UNIT_BYTES, help="Counted."), Metric("kilo", COUNTER, times=1024),
    Metric("part", COUNTER, per=1000), Metric("mean", COUNTER, fold=protocol.FOLD_MEAN),
    Metric("share", COUNTER, protocol.UNIT_SECONDS, flags=protocol.SHARE, per=1000), Metric("gauge", GAUGE),
    Metric("on", GAUGE, BOOLEAN, protocol.FOLD_MAX), Metric("summed", GAUGE, BOOLEAN),
    Metric("said", protocol.TEXT, protocol.UNIT_NONE, protocol.FOLD_NONE),
    Metric("level", GAUGE, flags=protocol.OF_NODE)])
TYPES = {"whole": "int64", "kilo": "int64", "part": "double", "mean": "double", "share": "double", "gauge": "double",
         "on": "bool", "summed": "double", "said": "text", "level": "double"}
JOBS = [ODD, Group("job_cpu", **JOB, metrics=[Metric("user_time", COUNTER, per=10**9), Metric("switches", COUNTER)]),
        Group("job_info", **JOB, metrics=[Metric("user", protocol.TEXT, protocol.UNIT_NONE, protocol.FOLD_NONE)])]
S = 10**9
BIG = 2**60 + 1
MINE = "columnar"  # a job that no other test of this machine has


def publish_odd(peer, turn):
    things = {"a b": {"whole": turn * BIG, "kilo": turn * 3, "part": turn * 5, "mean": turn * 2, "share": turn, "gauge": -1.5e300,
                      "on": turn % 2, "summed": 1, "said": "naïve, \"so\"\n"},
              "ü": {"whole": turn, "on": 0, "gauge": 2**53 + 2, "said": "x" * 4096 if turn == 2 else None}}
    if turn % 3 == 2:
        del things["ü"]
    peer.publish([protocol.table_wire(JOBS, "odd", S, {"level": turn or None}, things, error="odd" if turn == 1 else None),
                  protocol.table_wire(JOBS, "job_cpu", S, rows={MINE: {"user_time": turn * S, "switches": turn}}),
                  protocol.table_wire(JOBS, "job_info", S, rows={MINE: {"user": "ana"}})])
    peer.pump()


@pytest.fixture(name="ran", scope="module")
def _ran():
    """Two real nodes, and one of which every value is known; ended."""
    cluster = Cluster()
    cluster.keys_of("evil")
    cluster.start_aggregator("--tick-period", "200ms")
    cluster.start_nodes("n1", "n2", period="200ms")
    with evil(cluster, JOBS) as peer:
        peer.start()
        for turn in range(8):
            publish_odd(peer, turn)
        cluster.aggregator.wait_lines(8, type="node", node="evil")
        cluster.aggregator.wait_line(type="job", event="started", job_id=MINE)
    cluster.aggregator.wait_lines(10, type="node", node="n2")
    assert cluster.aggregator.stop() == 0
    yield cluster
    cluster.close()


def command(cluster, *words, code=0, **more):
    done = run("aggregator", *words, "--config", cluster.empty, "--socket", cluster.socket, "--history", cluster.history, **more)
    assert done.returncode == code, done.stderr
    return done


def column_type(metric, share):
    if metric["kind"] == "text":
        return "text"
    if metric["kind"] == "counter":
        return "double" if share or metric["fold"] == "mean" else "int64"
    return "bool" if metric["unit"] == "boolean" and metric["fold"] not in ("sum", "mean") else "double"


def same(column, said, cell):
    """`said` as JSON has it, which rounds shares to four places; `cell` as the readers have it."""
    kind = column["type"]
    if said is None or cell is None:
        return (said or None) is cell
    if kind == "time":
        return time_ns(said) == cell
    if kind == "bool":
        return bool(said) is cell
    return math.isclose(said, number(cell), rel_tol=1e-14, abs_tol=5.1e-5) if kind == "double" else said == cell


def compare(said, columns, rows):
    names = [column["name"] for column in columns]
    assert len(said) == len(rows)
    for expected, row in zip(said, rows):
        assert list(expected) == names
        for column, one, other in zip(columns, expected.values(), row):
            assert same(column, one, other), (column, one, other)


def test_export(ran):
    """What JSON has is in both, cell for cell; types and units are what a metric's description says."""
    folders = {form: ran.folder / form for form in ("json", "parquet", "arrow")}
    for form, folder in folders.items():
        command(ran, "export", "--format", form, "--from", "-1h", "-o", folder)
    described = {group["name"]: group for group in listed_groups()}
    integers = 0
    assert not list(ran.folder.glob("*/.*"))
    read = {form: read_tables(sorted(folders[form].iterdir())) for form in ("parquet", "arrow")}
    for path in sorted(folders["json"].glob("*.json")):
        said = json.loads(path.read_text(encoding="utf-8"))["data"]
        for form in ("parquet", "arrow"):
            first, second, rows = read[form][folders[form] / f"{path.stem}.{form}"]
            columns = second["columns"]
            assert columns[0]["type"] == "time" and columns[1]["type"] == "text" and columns[1]["label"]
            assert [one["type"] for one in first["columns"]] == [one["type"] for one in columns]
            for column in columns:
                for metric in described.get(path.stem, {"metrics": []})["metrics"]:
                    if metric["name"] == column["name"] and path.stem not in ("job_cpu", "job_info"):
                        assert column["help"] == metric["help"]
                        share = column["unit"] == "percent" and metric.get("unit") == "seconds"
                        assert column["type"] in (column_type(metric, share), "double"), (path.stem, metric, column)
                        integers += column["type"] == "int64"
            compare(said, columns, rows)
    assert integers > 100
    _, head, rows = read["parquet"][folders["parquet"] / "odd.parquet"]
    names = [column["name"] for column in head["columns"]]
    assert {one["name"]: one["type"] for one in head["columns"] if one["name"] in TYPES} == TYPES
    assert head["table"]["help"] == "Odd things." and {one["name"]: one["unit"] for one in head["columns"]}["whole"] == "bytes"
    changes = [dict(zip(names, row)) for row in rows]
    assert [row["whole"] for row in changes if row["thing"] == "a b"] == [None] + 7 * [BIG]
    assert [row["whole"] for row in changes if row["thing"] is None][:3] == [None, BIG + 1, BIG]
    assert [row["on"] for row in changes if row["thing"] == "a b"] == [bool(turn % 2) for turn in range(8)]
    assert [row["said"] for row in changes if row["thing"] == "a b"] == 8 * ['naïve, "so"\n']
    assert [row["error"] for row in changes].count("odd") == 3 and {row["error"] for row in changes} == {None, "odd"}


def test_export_refuses(ran):
    """What is there is left alone, and nothing else is written."""
    for form in ("parquet", "arrow"):
        folder = ran.folder / f"{form}-there"
        folder.mkdir()
        (folder / f"load.{form}").write_text("mine")
        done = command(ran, "export", "--format", form, "--from", "-1h", "-o", folder, code=1)
        assert f"load.{form}: File exists" in done.stderr
        assert [path.name for path in folder.iterdir()] == [f"load.{form}"] and (folder / f"load.{form}").read_text() == "mine"


def test_report(ran):
    """The tables of one job, also one that is empty."""
    folders = {form: ran.folder / f"job-{form}" for form in ("csv", "parquet", "arrow")}
    command(ran, "report", MINE, *(word for form, folder in folders.items() for word in (f"--{form}", folder)))
    for form in ("parquet", "arrow"):
        assert {path.stem for path in folders[form].iterdir()} == {path.stem for path in folders["csv"].glob("*.csv")}
        _, head, rows = read_both(folders[form] / f"job_cpu.{form}")
        names = [column["name"] for column in head["columns"]]
        with open(folders["csv"] / "job_cpu.csv", newline="", encoding="utf-8") as file:
            said = list(csv.DictReader(file))
        assert [(row[names.index("node")], row[names.index("job")], row[names.index("switches")]) for row in rows] == [
            (row["node"], row["job"], int(row["switches"])) for row in said]
        assert len(rows) >= 7 and head["columns"][names.index("switches")]["type"] == "int64"
    done = command(ran, "report", MINE, "--parquet", folders["arrow"], "--arrow", folders["arrow"], code=2)
    assert "--parquet and --arrow both name" in done.stderr


def test_query(ran):
    """The table of csv; on a terminal none."""
    words = ("query", "load.load_1", "--step", "1s", "--from", "-10m")
    said = list(csv.reader(command(ran, *words, "--format", "csv").stdout.splitlines()))
    for form in ("parquet", "arrow"):
        path = ran.folder / f"load.{form}"
        command(ran, *words, "--format", form, "-o", path)
        _, head, rows = read_both(path)
        assert [column["type"] for column in head["columns"]] == ["time", "text", "text", "double", "double", "double", "int64"]
        assert head["columns"][3]["name"] == "load.load_1" and said[0][0] == "time"
        there = [row for row in rows if row[3] is not None]
        printed = {(time_ns(row[0]), row[1]): row for row in said[1:]}
        assert len(there) >= 2 and {row[1] for row in there} == {"n1", "n2"}
        for row in there:
            assert math.isclose(number(row[3]), float(printed[row[0], row[1]][3]), rel_tol=1e-12)
            assert row[6] == int(printed[row[0], row[1]][6])
        assert f"{path}: File exists" in command(ran, *words, "--format", form, "-o", path, code=1).stderr
        assert "is a table, json or csv" in command(ran, "query", "--list", "--format", form, code=2).stderr
        master, terminal = pty.openpty()
        done = subprocess.run([BUILD / "aggregator", *words, "--history", ran.history, "--config", ran.empty, "--format", form],
                              stdout=terminal, stderr=subprocess.PIPE, text=True, env=environment(), timeout=LIMIT, check=False)
        assert done.returncode == 2 and "not for a terminal" in done.stderr
        os.close(master)
        os.close(terminal)
