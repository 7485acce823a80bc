"""The history: replay prints what the stream printed, tables say what the lines said, faults stop nothing."""

import errno
import json
import math
import os
import pty
import re
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess

import pytest
from lib import expected
from lib.programs import BUILD, LIMIT, environment, listed_groups, parse_line, run, wait_until

NODES = ("n1", "n2", "n3")


def replay(cluster, *options, history=None):
    done = run("aggregator", "replay", "--config", cluster.empty, "--history", history or cluster.history, *options)
    assert done.returncode == 0, (done.args, done.stderr)
    return done.stdout.splitlines()


def stream(cluster):
    """The lines that the aggregator printed, until it ended."""
    return cluster.aggregator.out_path.read_text().splitlines()


def recorded(cluster, lines=60, period="100ms", **more):
    """A run of three agents that has ended."""
    cluster.start_aggregator("--tick-period", "200ms", **more)
    cluster.start_nodes(*NODES, period=period)
    cluster.aggregator.wait_lines(lines, type="node", node="n1")
    cluster.aggregator.wait_lines(5, type="cluster")
    assert cluster.aggregator.stop() == 0
    return stream(cluster)


@pytest.mark.sanitized
def test_replay_is_line_for_line(cluster):
    lines = recorded(cluster)
    assert replay(cluster, "--from", "-1h") == lines

    # An interval in the middle: counters and combined reports need frames that lie before it.
    times = sorted(parse_line(line)["time"] for line in lines)
    begin, end = times[len(times) // 3], times[len(times) * 2 // 3]
    inside = [line for line in lines if begin <= parse_line(line)["time"] < end]
    assert len(inside) > 20
    assert replay(cluster, "--from", begin, "--to", end) == inside
    for kind in ("node", "cluster", "event"):
        expected = [line for line in inside if parse_line(line)["type"] == kind]
        assert replay(cluster, "--from", begin, "--to", end, "--type", kind) == expected
    of_nodes = [line for line in inside if parse_line(line).get("node") in ("n1", "n3")]
    assert replay(cluster, "--from", begin, "--to", end, "--node", "n[13]") == of_nodes


@pytest.mark.sanitized
def test_replay_while_it_is_written(cluster):
    """Readers and the writer share the file; a tail with the same filter had the same lines."""
    config = "[history]\nchunk_frames = 4\nchunk_time = 200ms\n"
    cluster.start_aggregator(config=config)
    tail = cluster.start_tail("--group", "load,vm", "--node", "n1")
    cluster.start_nodes("n1", "n2", period="100ms")
    tail.wait_lines(30)

    def caught_up():
        shown = replay(cluster, "--from", "-1h", "--group", "load,vm", "--node", "n1")
        return shown if len(shown) >= 30 else None

    shown = wait_until(caught_up, "30 lines from the history")
    seen = tail.out_path.read_text().splitlines()
    first = shown.index(seen[0])
    count = min(len(shown) - first, len(seen))
    assert count > 20 and shown[first : first + count] == seen[:count]
    assert cluster.counter("frames_stored") > 0 and cluster.counter("frames_not_stored") == 0


def test_kill_loses_only_what_was_not_written(cluster):
    """After SIGKILL the file is whole, and the next run goes on with it."""
    cluster.start_aggregator(config="[history]\nchunk_frames = 4\nchunk_time = 200ms\n")
    cluster.start_nodes("n1", period="50ms")
    wait_until(lambda: cluster.counter("frames_stored") >= 20, "stored frames")
    stored = cluster.counter("frames_stored")
    printed = [line for line in stream(cluster) if '"type":"node"' in line]
    cluster.aggregator.kill()
    done = run("aggregator", "check", cluster.history)
    assert done.returncode == 0, done.stderr + done.stdout
    shown = replay(cluster, "--from", "-1h", "--type", "node")
    assert len(shown) >= stored
    both = min(len(shown), len(printed))
    assert shown[:both] == printed[:both]


def test_late_lines_come_again_too(cluster):
    """A run that is killed, and one that fetches what was not stored: replay shows all of the second as it was printed,
    late lines among live ones, and every frame of both once."""
    cluster.start_aggregator(config="[history]\nchunk_frames = 16\nchunk_time = 1s\n")
    cluster.start_nodes("n1", "n2", period="50ms")
    wait_until(lambda: cluster.counter("frames_stored") >= 20, "stored frames")
    cluster.aggregator.wait_lines(30, after=cluster.aggregator.mark(), type="node", node="n1")
    cluster.aggregator.kill()
    cluster.start_aggregator()
    cluster.aggregator.wait_line(type="node", node="n1", late=True)
    cluster.wait_event("replayed", node="n1")
    cluster.aggregator.wait_lines(20, after=cluster.aggregator.mark(), type="node", node="n1")
    assert cluster.aggregator.stop() == 0
    second = stream(cluster)
    shown = replay(cluster, "--from", "-1h")
    assert shown[-len(second) :] == second
    for node in ("n1", "n2"):
        numbers = sorted(line["seq"] for line in map(parse_line, shown) if line["type"] == "node" and line["node"] == node)
        assert numbers == list(range(1, len(numbers) + 1))


# ---- tables ----


def expected_tables(lines, groups):
    """{group: [(time, node, label or None, {column: value})]} from node lines."""
    tables = {}
    for line in map(parse_line, lines):
        if line["type"] != "node":
            continue
        for group in groups:
            said = expected.place(line["report"], group["section"], group["name"])
            if said is None:
                continue
            of_node = {m["name"]: said.get(m["name"]) for m in group["metrics"] if m["name"] in said}
            fold = said.get(group["fold_name"], {}) if group["fold_name"] else None
            rows = tables.setdefault(group["name"], [])
            head = {"period": said.get("period"), "error": said["error"]}
            rows.append((line["time"], line["node"], None, head | of_node | (fold or {}), fold is None))
            for label, row in said.get(group["rows_name"], {}).items() if group["rows_name"] else ():
                rows.append((line["time"], line["node"], label, head | row, False))
    return tables


def same(one, other):
    if one is None or (isinstance(one, float) and math.isnan(one)):
        return other is None or (isinstance(other, float) and math.isnan(other))
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return other is not None and math.isclose(float(one), float(other), rel_tol=1e-12, abs_tol=5.1e-5)


def job_groups():
    """Lines show these the other way round, without the values of the whole node that tables have."""
    return {group["name"] for group in listed_groups() if group["section"] == expected.JOBS}


def group_list():
    groups = []
    for group in listed_groups():
        if group["section"] == expected.JOBS:
            continue
        groups.append({"name": group["name"], "section": group.get("section") or "",
                       "rows_name": group.get("rows_name") or "", "fold_name": group.get("fold_name") or "",
                       "row": group.get("row") or "", "metrics": group["metrics"]})
    return groups


def compare(expected, rows, label_column):
    """`rows`: dicts of column to value, None or NaN where missing; texts as str."""
    assert len(rows) == len(expected)
    for (time, node, label, values, partly), row in zip(expected, rows):
        assert row["time"] == time and row["node"] == node, (row, time, node)
        if label_column:
            assert (row[label_column] or None) == label, (row, label)
        for column, value in values.items():
            got = row[column]
            if isinstance(value, str) or isinstance(got, str):
                got, value = got or "", value or ""  # HDF5 has no text that is missing
            assert same(value, got), (time, node, label, column, value, got)
        assert partly or set(values) <= set(row)


def export(cluster, kind, to):
    done = run("aggregator", "export", "--config", cluster.empty, "--history", cluster.history, "--format", kind,
               "--from", "-1h", "-o", to)
    assert done.returncode == 0, done.stderr
    return to


def label_of(frame_columns, group):
    return next(iter(set(frame_columns) & {re.sub(r"\W", "_", group["row"]), "row"}), None) if group["rows_name"] else None


def test_csv_and_json_by_pandas(cluster):
    pandas = pytest.importorskip("pandas", reason="python3-pandas is not here")
    lines = recorded(cluster, 20)
    tables = expected_tables(lines, group_list())
    folder = export(cluster, "csv", cluster.folder / "csv")
    assert {path.stem for path in folder.glob("*.csv")} - job_groups() == set(tables)
    units = {(g["name"], m["name"]): m.get("unit") or "" for g in group_list() for m in g["metrics"]}
    titled = 0
    for group in group_list():
        if group["name"] not in tables:
            continue
        texts = {m["name"]: str for m in group["metrics"] if m["kind"] == "text"}
        table = pandas.read_csv(folder / f"{group['name']}.csv", keep_default_na=False, dtype=str)
        for name, unit in json.loads((folder / f"{group['name']}.units.json").read_text()).items():
            assert name in table.columns
            if name != "period":
                titled += 1
                assert unit in (units[group["name"], name], "percent"), name
        rows = [{key: (None if value == "" else value if key in ("time", "node", "error", *texts) or
                       key == label_of(table.columns, group) else float(value)) for key, value in row.items()}
                for row in table.to_dict("records")]
        compare(tables[group["name"]], rows, label_of(table.columns, group))
        typed = pandas.read_csv(folder / f"{group['name']}.csv", parse_dates=["time"])
        assert str(typed["time"].dt.tz) == "UTC"
    assert titled > 20

    folder = export(cluster, "json", cluster.folder / "json")
    for group in group_list():
        if group["name"] not in tables:
            continue
        path = folder / f"{group['name']}.json"
        data = json.loads(path.read_text())
        fields = {field["name"]: field for field in data["schema"]["fields"]}
        compare(tables[group["name"]], data["data"], label_of(fields, group))
        table = pandas.read_json(path, orient="table")
        assert list(table.columns) == list(fields) and len(table) == len(tables[group["name"]])
    assert fields["time"]["type"] == "datetime"
    again = run("aggregator", "export", "--config", cluster.empty, "--history", cluster.history, "-o",
                cluster.folder / "csv")
    assert again.returncode == 1 and "exists" in again.stderr # what is there is left alone


def test_hdf5_by_pandas_and_h5py(cluster):
    h5py = pytest.importorskip("h5py", reason="python3-h5py is not here")
    pandas = pytest.importorskip("pandas", reason="python3-pandas is not here")
    pytest.importorskip("tables", reason="python3-tables is not here")
    lines = recorded(cluster, 20)
    tables = expected_tables(lines, group_list())
    path = export(cluster, "hdf5", cluster.folder / "run.h5")
    with h5py.File(path, "r") as file:
        assert set(file) - job_groups() == set(tables)
        for group in group_list():
            if group["name"] not in tables:
                continue
            frame = pandas.read_hdf(path, group["name"])
            assert all(name.isidentifier() for name in frame.columns)
            times = pandas.to_datetime(frame["time"], utc=True)
            rows = []
            for time, row in zip(times, frame.to_dict("records")):
                row["time"] = time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.value % 10**9:09d}Z"
                rows.append(row)
            compare(tables[group["name"]], rows, label_of(frame.columns, group))
            dataset = file[group["name"]]
            assert dataset.dtype.names == tuple(frame.columns)
            for name in {"node", "error", *(m["name"] for m in group["metrics"] if m["kind"] == "text")}:
                assert h5py.check_string_dtype(dataset.dtype[name]).encoding == "utf-8"
                assert [text.decode() for text in dataset[name]] == frame[name].tolist()
            for metric in group["metrics"]:
                assert dataset.attrs[f"{metric['name']}.help"] == metric["help"]
        assert file["network"].attrs["rx_bytes.unit"] == "bytes"
        assert file["load"].attrs["time.unit"] == "ns since 1970-01-01 UTC"


@pytest.mark.sanitized
def test_export_filters_and_refuses(cluster):
    recorded(cluster, 10)
    for kind, name in (("csv", "some"), ("hdf5", "some.h5")):
        to = cluster.folder / name
        common = ("aggregator", "export", "--config", cluster.empty, "--history", cluster.history, "--format", kind)
        done = run(*common, "--node", "n2", "--group", "load", "-o", to)
        assert done.returncode == 0, done.stderr
        full = run(*common, "-o", "/dev/full/x")
        assert full.returncode == 1 and "/dev/full" in full.stderr
    assert {path.name for path in (cluster.folder / "some").iterdir()} == {"load.csv", "load.units.json"}
    text = (cluster.folder / "some" / "load.csv").read_text().splitlines()
    assert len(text) > 5 and all(line.split(",")[1] == "n2" for line in text[1:])
    done = run("aggregator", "export", "--config", cluster.empty, "--history", cluster.history)
    assert done.returncode == 2 and "-o" in done.stderr


def no_room():
    # Room for what SQLite maps, and for no table. SIGXFSZ stays ignored, as Python has it.
    resource.setrlimit(resource.RLIMIT_FSIZE, (40000, 40000))


def interrupt():
    # Pending from before the start, so that it is seen at the first frame.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.sanitized
def test_failed_export_leaves_nothing(cluster):
    recorded(cluster, 200, period="25ms")
    there = cluster.folder / "there"
    there.mkdir()
    (there / "load.csv").write_text("mine")
    for kind in ("csv", "json", "hdf5", "msgpack", "parquet", "arrow"):
        for why, prepare, words in (("full", no_room, "File too large" if kind != "hdf5" else "disk full"),
                                    ("interrupted", interrupt, "interrupted")):
            if why == "full" and kind in ("parquet", "arrow"):
                continue  # these are too small: test_export_folder.c
            to = cluster.folder / f"{kind}-{why}"
            command = [BUILD / "aggregator", "export", "--config", cluster.empty, "--history", cluster.history,
                       "--format", kind, "-o", to]
            done = subprocess.run(command, preexec_fn=prepare, restore_signals=False, capture_output=True, text=True,
                                  env=environment(), timeout=LIMIT, check=False)
            assert done.returncode == 1 and words in done.stderr, (kind, why, done)
            assert not to.exists(), (kind, why)
    done = run("aggregator", "export", "--config", cluster.empty, "--history", cluster.history, "-o", there)
    assert done.returncode == 1 and "load.csv: File exists" in done.stderr
    assert [path.name for path in there.iterdir()] == ["load.csv"] and (there / "load.csv").read_text() == "mine"


# ---- people ----


@pytest.mark.sanitized
def test_bad_questions(cluster):
    common = ("aggregator", "replay", "--config", cluster.empty, "--history")
    done = run(*common, cluster.folder / "none.db")
    assert done.returncode == 1 and "none.db" in done.stderr and "No such file" in done.stderr
    done = run(*common, cluster.empty)
    assert done.returncode == 1 and "empty.ini" in done.stderr
    done = run(*common, cluster.empty, "--from", "elevenish")
    assert done.returncode == 2 and "--from" in done.stderr or "from" in done.stderr
    done = run(*common, cluster.empty, "--from", "-1h", "--to", "-2h")
    assert done.returncode == 2 and "before" in done.stderr
    done = run(*common, cluster.empty, "--node", "n1", "--type", "cluster")
    assert done.returncode == 2


def test_filters_that_match_nothing(cluster):
    """Whoever misspells a node or a group of a history is told what there is; what matches is shown nevertheless."""
    recorded(cluster, 10)
    common = ("--config", cluster.empty, "--history", cluster.history, "--socket", cluster.socket)

    def told(*command, code=0):
        done = run("aggregator", *command, *common)
        assert done.returncode == code, (done.args, done.stderr)
        return [line.partition("warning: ")[2] for line in done.stderr.splitlines() if "warning: " in line], done.stdout

    warnings, shown = told("replay", "--node", "n1,n9,g*", "--group", "load,foo")
    assert shown and len(warnings) == 3
    assert warnings[0].startswith('--group: the history has no group "foo"; there are ') and " load, " in warnings[0]
    assert warnings[1:] == ['--node: there is no node "n9"; the history has n1, n2, n3',
                            '--node: there is no node "g*"; the history has n1, n2, n3']
    assert told("replay", "--node", "n[12]", "--group", "l*")[0] == []
    assert told("replay", "--node", "n1", "--from", "-3h", "--to", "-2h") == (
        ['--node: the history has nothing of node "n1" in that time, but at others: n1'], "")
    for kind in ("csv", "msgpack"):
        warnings, _ = told("export", "--format", kind, "--node", "n9", "-o", cluster.folder / kind)
        assert warnings == ['--node: there is no node "n9"; the history has n1, n2, n3']

    # One that a running aggregator lists, and that was never heard.
    cluster.keys_of("n9")
    cluster.start_aggregator()
    assert told("replay", "--node", "n9")[0] == ['--node: the history has no node "n9"; listed, and not in it, are n9']
    for command in ("replay", "export"):
        for option in ("--node", "--group"):
            done = run("aggregator", command, option, "n[1", "-o" if command == "export" else "--to", "now", *common)
            assert done.returncode == 2 and "has a '[' without its ']'" in done.stderr


def test_reader_that_leaves(cluster):
    recorded(cluster, 200, period="25ms")
    command = [str(BUILD / "aggregator"), "replay", "--config", cluster.empty, "--history", cluster.history]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    program.stdout.read(10)
    program.stdout.close()
    assert program.wait(LIMIT) == 0
    assert program.stderr.read() == b""


def test_progress_on_a_terminal(cluster):
    recorded(cluster, 20)
    master, slave = pty.openpty()
    command = [str(BUILD / "aggregator"), "export", "--config", cluster.empty, "--history", cluster.history, "-o",
               cluster.folder / "tables"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=slave, env=environment(), timeout=LIMIT, check=True)
    os.close(slave)
    shown = b""
    try:
        while data := os.read(master, 4096):
            shown += data
    except OSError as error:
        assert error.errno == errno.EIO
    os.close(master)
    assert b"export: 100 %" in shown and done.stdout == b""
    quiet = run("aggregator", "check", cluster.history)
    assert "%" not in quiet.stderr


# ---- faults ----


@pytest.mark.sanitized
def test_check(cluster):
    lines = [parse_line(line) for line in recorded(cluster, 20)]
    done = run("aggregator", "check", "--config", cluster.empty, "--history", cluster.history)
    assert done.returncode == 0 and "whole" in done.stdout, done.stderr
    for node in NODES:
        row = next(line.split() for line in done.stdout.splitlines() if line.startswith(node))
        assert int(row[2]) == sum(line["type"] == "node" and line["node"] == node for line in lines)
    broken = cluster.folder / "broken.db"
    shutil.copy(cluster.history, broken)
    with sqlite3.connect(broken) as database:
        database.execute("UPDATE chunks SET data = substr (data, 1, length (data) - 3) WHERE id = 2")
    database.close()
    done = run("aggregator", "check", broken)
    assert done.returncode == 1 and "chunk 2" in done.stderr and "faults" in done.stdout
    done = run("aggregator", "replay", "--config", cluster.empty, "--history", broken)
    assert done.returncode == 1 and "broken" in done.stderr and done.stdout
    for damage, word in (("chunks SET last_time = last_time + 1", "other times"),
                         ("chunks SET first_number = first_number - 1", "other numbers"),
                         ("events SET number = number + 1", "event 1:")):
        shutil.copy(cluster.history, broken)
        with sqlite3.connect(broken) as database:
            database.execute(f"UPDATE {damage} WHERE id = 1")
        database.close()
        done = run("aggregator", "check", broken)
        assert done.returncode == 1 and word in done.stderr, damage
    with open(broken, "r+b") as file:
        file.seek(0)
        file.write(b"x" * 3000)
    done = run("aggregator", "check", broken)
    assert done.returncode == 1 and "broken.db" in done.stderr


@pytest.mark.sanitized
def test_stream_goes_on_without_history(cluster):
    """A history that cannot be written is one event; what was there is left alone, and the cause is named."""
    cluster.history.write_bytes(b"these are not the bytes of a database" * 1000)
    before = cluster.history.read_bytes()
    cluster.start_aggregator()
    cluster.start_nodes("n1", period="50ms")
    event = cluster.wait_event("history_failed")
    assert "history.db" in event["error"] and "move it away" in event["error"]
    mark = cluster.aggregator.mark()
    cluster.aggregator.wait_lines(50, after=mark, type="node")
    assert len(cluster.aggregator.lines(type="event", event="history_failed")) == 1
    assert cluster.aggregator.stop() == 1
    frames = len(cluster.aggregator.lines(type="node"))
    (told,) = re.findall(r"history.db: .*; (\d+) frames and \d+ events that were printed are not stored",
                         cluster.aggregator.log())
    assert int(told) == frames >= 50
    assert cluster.history.read_bytes() == before


def test_history_that_is_mended_before_the_end(cluster):
    """What could not be written is written at the end, if only then it can be."""
    cluster.history.write_bytes(b"these are not the bytes of a database" * 1000)
    cluster.start_aggregator()
    cluster.start_nodes("n1", period="50ms")
    cluster.wait_event("history_failed")
    cluster.history.rename(cluster.history.with_suffix(".bad"))
    assert cluster.aggregator.stop() == 0
    assert replay(cluster) == stream(cluster)


def test_history_can_be_off(cluster):
    cluster.start_aggregator("--history-enabled=no")
    cluster.start_nodes("n1")
    cluster.aggregator.stop()
    assert not cluster.history.exists()


@pytest.mark.parametrize("umask", ["000", "022", "077"])
def test_what_is_written_is_not_for_everybody(cluster, umask):
    """Jobs' commands and users stand there. Whoever may open the socket may read the history, if the umask lets him."""
    prefix = ("sh", "-c", f'umask {umask}; exec "$@"', "sh")
    cluster.history = cluster.folder / "made" / "history.db"
    agent = cluster.folder / "agent"
    cluster.start_aggregator(prefix=prefix)
    cluster.start_agent("n1", "--ring-path", agent / "ring", "--frame-log", agent / "frames", prefix=prefix)
    cluster.wait_node("n1")
    wait_until(lambda: replay(cluster, "--from", "-1h"), "lines of the history")
    modes = {str(path.relative_to(cluster.folder)): stat.S_IMODE(path.lstat().st_mode)
             for folder in (cluster.history.parent, agent) for path in (folder, *folder.iterdir())}
    cut = ~int(umask, 8)
    assert modes == {"made": 0o750 & cut, "agent": 0o750 & cut, "agent/ring": 0o600, "agent/frames": 0o600} | {
        f"made/history.db{end}": 0o640 & cut for end in ("", "-wal", "-shm", "-lock")}


def test_mode_that_somebody_set_stays(cluster):
    cluster.start_aggregator()
    cluster.aggregator.stop()
    for mode in (0o644, 0o600):
        cluster.history.chmod(mode)
        cluster.start_aggregator()
        cluster.start_nodes("n1")
        wait_until(lambda: replay(cluster, "--from", "-1h"), "lines of the history")
        for end in ("", "-wal", "-shm"):
            assert stat.S_IMODE(os.stat(f"{cluster.history}{end}").st_mode) == mode, end
        cluster.aggregator.stop()
        cluster.agents["n1"].stop()
