"""[send NAME]: samples of the history on their way to a receiver of remote write, one that does as it is told."""

import csv
import datetime
import signal
import time

import pytest
from lib.programs import wait_until
from lib.remote_write import Answer, Receiver

GROUPS = "load,cpu_usage,memory_info"


def section(receiver, name="one", period="200ms", more=""):
    return f"[history]\nchunk_time = 500ms\n[send {name}]\nurl = {receiver.url}\nnames = synop\nperiod = {period}\ngroups = {GROUPS}\n{more}\n"


def sender(cluster, name="one"):
    return next(one for one in cluster.status()["senders"] if one["sender"] == name)


def ms_of(text):
    at = datetime.datetime.fromisoformat(text[:19]).replace(tzinfo=datetime.timezone.utc)
    return int(at.timestamp()) * 1000 + int(text[20:23])


def history(cluster, group, column, node, row=""):
    """{ms: value} of a metric, as the history has it."""
    folder = cluster.folder / f"export-{time.monotonic_ns()}"
    cluster.succeed("aggregator", "export", "--config", cluster.empty, "--history", cluster.history, "--socket", cluster.socket,
                    "--group", group, "-o", folder)
    with open(folder / f"{group}.csv", encoding="utf-8") as file:
        rows = csv.reader(file)
        heads = [head.split(" ")[0] for head in next(rows)]
        lines = [dict(zip(heads, line)) for line in rows]
    device = heads[2]
    wanted = (line for line in lines if line["node"] == node and (device == "period" or line[device] == row))
    return {ms_of(line["time"]): float(line[column]) for line in wanted if line[column]}


def values(times):
    return {ms: value for ms, value in times.items() if value is not None}


def check_whole(cluster, receiver, node, after_ms=0):
    """All that the history has of the node is there, each sample once."""
    want = {ms: value for ms, value in history(cluster, "load", "load_1", node).items() if ms >= after_ms}
    assert want
    wait_until(lambda: want.keys() <= values(receiver.find("synop_load_load_1", instance=node)).keys(),
               f"{len(want)} samples of {node}")
    got = values(receiver.find("synop_load_load_1", instance=node))
    assert {ms: got[ms] for ms in want} == want
    assert sender(cluster)["dropped"] == 0


def test_what_is_sent_is_what_the_history_has(cluster):
    with Receiver() as receiver:
        cluster.start_aggregator(config=section(receiver, more="labels = cluster=c1\njob = ours"))
        cluster.start_nodes("n1", "n2")
        wait_until(lambda: len(receiver.find("synop_load_load_1", instance="n2")) > 20, "samples")
        for node in ("n1", "n2"):
            check_whole(cluster, receiver, node)
        assert receiver.twice == 0
        series = dict(next(iter(receiver.taken)))
        assert series["job"] == "ours" and series["cluster"] == "c1"
        _, headers, _, _ = receiver.requests[0]
        assert headers["Content-Encoding"] == "snappy" and headers["Content-Type"] == "application/x-protobuf"
        assert headers["X-Prometheus-Remote-Write-Version"] == "0.1.0" and headers["User-Agent"].startswith("synop/")
        assert cluster.counter("samples_sent") >= receiver.samples() > 0
        table = cluster.succeed("aggregator", "status", "--socket", cluster.socket)
        assert "SENDER" in table and "\none " in table
