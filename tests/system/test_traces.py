"""Traces of many ranks become one on cluster time: against the truth, from nodes whose clocks are wrong, from files that are
damaged; and the merged trace is what a reader of JSON makes of its parts."""

import collections
import gzip
import json
import os
import random
import resource
import shutil
import time

import pytest
from lib.clocks import WallShift
from lib.programs import run, time_ns, wait_until

pytestmark = pytest.mark.sanitized

S = 1_000_000_000
BEGIN = 1_790_000_000 * S


def made_trace(rank, base_ns, events=40, seed=0):
    """As PyTorch's profiler writes one: its events' times are microseconds behind the base. (the trace, its times in ns)"""
    rng = random.Random(1000 * seed + rank)
    times = sorted(rng.randrange(0, 2 * S) for _ in range(events))
    process = 4000 + rank
    made = [
        {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "ts": 0, "args": {"name": "python"}},
        {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": 'GPU "0" \u00e4'}},
        {"ph": "M", "name": "process_sort_index", "pid": process, "args": {"sort_index": 7}},
    ]
    for i, at in enumerate(times):
        event = {"ph": "X", "cat": "kernel", "name": f'gemm<"{i}">\\', "pid": rng.choice((process, 0, "Spans")), "tid": i % 3,
                 "ts": at / 1000, "dur": 1.5, "args": {"correlation": i, "ts": 1, "pid": [1, {"id": "}"}]}}
        flow = {"ph": "s" if i % 2 else "f", "id": i // 2, "pid": process, "tid": 1, "ts": at / 1000, "name": "ac2g", "bp": "e"}
        made += [event, flow]
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "distributedInfo": {"backend": "nccl", "rank": rank},
            "displayTimeUnit": "ms", "traceEvents": made, "traceName": "x", "baseTimeNanoseconds": base_ns}, times


def write(path, trace):
    with gzip.open(path, "wt") if path.suffix == ".gz" else open(path, "w", encoding="utf-8") as file:
        json.dump(trace, file)


def read(path):
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path, encoding="utf-8") as file:
        return json.load(file)


def merge(folder, output, *options, code=0, **more):
    done = run("aggregator", "trace", "--config", "/dev/null", "--history", "/none", "--socket", "/none", "--merge", folder,
               "-o", output, *options, **more)
    assert done.returncode == code, done.stderr
    return done


def times_of(merged, rank, order):
    """The times of a rank's events in the merged trace, in ns of cluster time."""
    assert merged["synopRanks"][order]["rank"] == rank
    return [merged["baseTimeNanoseconds"] + round(event["ts"] * 1000) for event in merged["traceEvents"]
            if event["ph"] == "X" and int(event["pid"]) // 10000 == order + 1]


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_eight_ranks_against_the_truth(tmp_path, suffix):
    """Each is moved by its clock exactly, nothing else of it changes, and no two have a process or a flow in common."""
    folder, merged_path = tmp_path / "traces", tmp_path / f"merged{suffix}"
    folder.mkdir()
    offsets = [round(random.Random(3).uniform(-10, 10), 6) for _ in range(8)]
    truth = {}
    for rank in range(8):
        base = BEGIN + round(offsets[rank] * S)
        trace, times = made_trace(rank, base)
        truth[rank] = ([BEGIN + at for at in times], trace)
        write(folder / f"gpu-node{rank % 4}{rank}-{rank}{suffix}", trace)
    lines = [f"gpu-node{rank % 4}{rank} {offsets[rank]}" for rank in range(8)]
    (tmp_path / "offsets").write_text("# by hand\n\n" + "\n".join(lines) + "  # the last\n")
    done = merge(folder, merged_path, "--offsets", tmp_path / "offsets")
    merged = read(merged_path)
    assert len(done.stdout.splitlines()) == 9
    assert merged["baseTimeNanoseconds"] == min(min(times) for times, _ in truth.values())
    ids = collections.defaultdict(set)
    for rank, (times, trace) in truth.items():
        assert times_of(merged, rank, rank) == times
        ours = [event for event in merged["traceEvents"] if int(event["pid"]) // 10000 == rank + 1]
        theirs = [event for event in trace["traceEvents"] if event["name"] != "process_sort_index"]
        assert len([event for event in ours if event["name"] != "process_sort_index"]) == len(theirs) + 1  # "Spans" gets a name
        for our, their in zip((event for event in ours if event["ph"] == "X"), (event for event in theirs if event["ph"] == "X")):
            assert {k: v for k, v in our.items() if k not in ("ts", "pid")} == {
                k: v for k, v in their.items() if k not in ("ts", "pid")}
        names = {event["args"]["name"] for event in ours if event["name"] == "process_name"}
        assert names == {f"rank {rank} (gpu-node{rank % 4}{rank}) python", f'rank {rank} (gpu-node{rank % 4}{rank}) GPU "0" \u00e4',
                         f"rank {rank} (gpu-node{rank % 4}{rank})"}
        sorts = [event["args"]["sort_index"] for event in ours if event["name"] == "process_sort_index"]
        assert len(sorts) == len(set(sorts)) == 3 and all(sort // 100 == rank for sort in sorts)
        flows = [(their["id"], our["id"]) for our, their in zip((e for e in ours if "id" in e), (e for e in theirs if "id" in e))]
        assert len({their for their, _ in flows}) == len({our for _, our in flows}) == len(set(flows))
        ids[rank] = {our for _, our in flows}
    assert not set.intersection(*ids.values()) and len(set.union(*ids.values())) == sum(map(len, ids.values()))


def test_times_before_the_base_time_was_there(tmp_path):
    """Older profilers write microseconds since 1970, as whole numbers or with a fraction; a list alone is a trace too."""
    for rank, ts in ((0, BEGIN // 1000 + 5), (1, float(BEGIN // 1000 + 7)), (2, f"{BEGIN // 1000 + 9}.1239")):
        text = f'[{{"ph":"X","name":"a","pid":1,"ts":{ts},"dur":NaN,"args":{{"x":-Infinity}}}}]\n'
        (tmp_path / f"n{rank}-{rank}.json").write_text(text)
    (tmp_path / "offsets").write_text("n0 0\nn1 0\nn2 0\n")
    merge(tmp_path, tmp_path / "out", "--offsets", tmp_path / "offsets")
    merged = json.loads((tmp_path / "out").read_text())
    assert [event["ts"] for event in merged["traceEvents"] if event["ph"] == "X"] == [0, 2, 4.123]
    assert all(event["dur"] is None for event in merged["traceEvents"] if event["ph"] == "X")


def test_what_is_no_utf8_and_what_was_merged_before(tmp_path):
    (tmp_path / "n1-0.json").write_bytes(b'[{"ph":"X","name":"a\xff\xc3\xa4\xe2\x82","pid":1,"ts":1}]')
    (tmp_path / "offsets").write_text("n1 0\n")
    merge(tmp_path, tmp_path / "job-77.json.gz", "--offsets", tmp_path / "offsets")
    done = merge(tmp_path, tmp_path / "job-78.json", "--offsets", tmp_path / "offsets")
    assert "job-77.json.gz is a merged trace itself" in done.stderr
    merged = read(tmp_path / "job-78.json")
    assert merged == read(tmp_path / "job-77.json.gz")
    assert [event["name"] for event in merged["traceEvents"] if event["ph"] == "X"] == ["a?\u00e4??"]


DAMAGED = {
    "n1-1.json": ('{"traceEvents":[{"ph":"X","ts":1', "is cut off here"),
    "n1-2.json": ("", "is cut off here"),
    "n1-3.json": ('{"traceEvents":[{"ph":"X" "ts":1}]}', "byte 26: a comma or } is expected here"),
    "n1-4.json": ('{"traceEvents":[1]}', "an event, {...}, is expected here"),
    "n1-5.json": ('{"traceEvents":[{"ph":"M"}]}', "no event with a time"),
    "n1-6.json": ('{"traceEvents":[{"a":"\\q"}]}', "an escape"),
    "n1-10.json": ('{"traceEvents":[{"ts":01}]}', "byte 24: a value is expected here"),
    "n1-7.json": ('{"a":' + "[" * 300, "nested too deeply"),
    "n1-8.json.gz": (gzip.compress(b'{"traceEvents":[' + b'{"ph":"X","ts":1},' * 5000)[:-20], "byte"),
    "n1.json": ("{}", 'is not of the form "{node}-{rank}.json"'),
    "n1-11.json": (None, "it is no regular file"),
    "n7-9.json": ('[{"ph":"X","ts":1}]', "has no line for node n7"),
}


def test_damaged_ones_are_left_out(tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    for name, (text, _) in DAMAGED.items():
        if text is None:
            os.mkfifo(folder / name)
            continue
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    (tmp_path / "offsets").write_text("n1 0\n")
    done = merge(folder, tmp_path / "out.json", "--offsets", tmp_path / "offsets", code=1)
    assert "none of its 12 traces can be merged" in done.stderr and not list(tmp_path.glob("out*"))
    write(folder / "n1-0.json", made_trace(0, BEGIN)[0])
    done = merge(folder, tmp_path / "out.json", "--offsets", tmp_path / "offsets", code=1)
    for name, (_, words) in DAMAGED.items():
        line = next(line for line in done.stderr.splitlines() if f"/{name} is left out" in line)
        assert words in line, line
    assert [one["rank"] for one in read(tmp_path / "out.json")["synopRanks"]] == [0]


@pytest.mark.parametrize(("options", "words"), [
    ((), "has no traces"),
    (("--name", "{rank}"), '[trace] name (command line): "{rank}" has no {node}'),
    (("--name", "{node}{nodes}"), "expected {node}, {rank}, {pid}, {job}, each once"),
    (("--offsets", "/nowhere"), "/nowhere: No such file"),
])
def test_wrong_questions(tmp_path, options, words):
    if "--offsets" in options:
        write(tmp_path / "n1-0.json", made_trace(0, BEGIN, events=2)[0])
    done = run("aggregator", "trace", "--config", "/dev/null", "--history", "/none", "--merge", tmp_path, "-o", tmp_path / "out", *options)
    assert done.returncode in (1, 2) and words in done.stderr, done.stderr
    assert run("aggregator", "trace", "--config", "/dev/null").returncode == 2
    assert run("aggregator", "trace", "--config", "/dev/null", "--merge", tmp_path).returncode == 2


def test_what_is_there_stays_and_a_full_disk_is_reported(tmp_path):
    write(tmp_path / "n1-0.json", made_trace(0, BEGIN, events=3000)[0])
    (tmp_path / "offsets").write_text("n1 0\nn1\n")
    (tmp_path / "out").write_text("mine")
    done = merge(tmp_path, tmp_path / "out", "--offsets", tmp_path / "offsets", code=1)
    assert "exists already" in done.stderr and (tmp_path / "out").read_text() == "mine"
    done = merge(tmp_path, tmp_path / "new", "--offsets", tmp_path / "offsets", code=1,
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)))
    assert f"{tmp_path}/new: File too large" in done.stderr and not list(tmp_path.glob("new*"))


def test_memory_does_not_grow_with_traces(tmp_path):
    """100 MB within 64 MiB of memory, and what it adds of its own."""
    event = json.dumps({"ph": "X", "name": "x" * 400, "pid": 1, "tid": 1, "ts": 12345.678, "args": {"y": "z" * 500}})
    with open(tmp_path / "n1-0.json", "w", encoding="ascii") as file:
        file.write('{"traceEvents":[' + event)
        for _ in range(100):
            file.write(("," + event) * 1000)
        file.write("]}")
    (tmp_path / "offsets").write_text("n1 0\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    merge(tmp_path, tmp_path / "out.json.gz", "--offsets", tmp_path / "offsets")
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    if not os.environ.get("SYNOP_BUILD", "").endswith("asan"):
        assert max(after, before) < 64 * 1024 or after == before
    with gzip.open(tmp_path / "out.json.gz", "rt") as file:
        assert sum(1 for _ in file) > 100_000


def test_clocks_of_the_history_and_curves_beside_the_traces(cluster, tmp_path):
    """Nodes whose wall clocks are off by seconds; their agents run, and traces begin at one instant of true time."""
    shifts = {"n1": 0.0, "n2": 7.25, "n3": -9.5}
    cluster.start_aggregator(config="[ticks]\nperiod = 500ms\n")
    for node, shift in shifts.items():
        cluster.start_agent(node, period="500ms", env=WallShift(cluster.folder, shift).env if shift else None)

    def timed(node):
        return [line for line in cluster.aggregator.lines(0, type="node", node=node) if line["clock"]["bound"] is not None][4:]

    wait_until(lambda: all(timed(node) for node in shifts), "clocks")
    begin = time.time_ns()
    folder = tmp_path / "traces"
    folder.mkdir()
    for rank, (node, shift) in enumerate(shifts.items()):
        trace, _ = made_trace(rank, begin + round(shift * S), events=30)
        trace["traceEvents"].append({"ph": "X", "name": "first", "pid": 1, "tid": 1, "ts": 0, "dur": 1})
        write(folder / f"{node}-{rank}.json", trace)
    time.sleep(2.5)  # the traces' time, in which nodes are sampled
    done = run("aggregator", "trace", "--config", cluster.empty, "--history", cluster.history, "--socket", cluster.socket,
               "--merge", folder, "-o", tmp_path / "merged.json")
    assert done.returncode == 0, done.stderr
    merged = read(tmp_path / "merged.json")
    firsts = [merged["baseTimeNanoseconds"] + event["ts"] * 1000 for event in merged["traceEvents"] if event["name"] == "first"]
    bounds = [one["bound_ns"] for one in merged["synopRanks"]]
    assert len(firsts) == 3 and all(0 < bound < S for bound in bounds)
    for first, bound in zip(firsts, bounds):
        assert abs(first - begin) < 2 * bound + 20e6
    curves = collections.defaultdict(list)
    for event in merged["traceEvents"]:
        if event["ph"] == "C":
            curves[event["name"], event["pid"]].append((event["ts"], event["args"]["value"]))
    names = {event["pid"]: event["args"]["name"] for event in merged["traceEvents"] if event["name"] == "process_name"}
    busy = {names[pid]: values for (name, pid), values in curves.items() if name.startswith("cpu_usage.busy")}
    assert set(busy) >= {"node n1", "node n2", "node n3"}
    lines = cluster.aggregator.lines(0, type="node", node="n1")
    span = [(time_ns(line["time"]) - merged["baseTimeNanoseconds"]) / 1000 for line in lines]
    assert all(min(span) - 2e6 <= ts <= max(span) + 1e6 for ts, _ in busy["node n1"])
    assert all(0 <= value <= 110 for values in busy.values() for _, value in values)
