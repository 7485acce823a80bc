"""`synop-aggregator report --format clustercockpit`: meta.json and data.json are what ClusterCockpit's schemas ask for, checked here
by rules of our own, and what the nodes sampled."""

import json
import math
import re
import time

import pytest
from lib import protocol
from lib.cluster import read_key
from lib.programs import run
from lib.protocol import COUNTER, GAUGE, OF_NODE, Group, Metric
from test_report import JOB, Node, counters, gauges, nanoseconds, places, texts

S = 10**9
SAMPLES, GAP = 40, range(10, 16)  # of n2
GROUPS = [
    Group("job_info", **JOB, metrics=texts("scheduler", "user", "name", "command", "source") + gauges("started", "cpus")),
    Group("job_cpu", **JOB, metrics=[nanoseconds("user_time"), nanoseconds("system_time"), *gauges("cpus")]),
    Group("job_memory", **JOB, metrics=gauges("rss", "rss_peak")),
    Group("job_io", **JOB, metrics=counters("read_bytes", "write_bytes")),
    Group("job_gpu", **JOB, metrics=[*texts("gpus", "idle"), *gauges("gpus_used")]),
    Group("gpu", row="GPU", rows_name="gpus", fold_name="total",
          metrics=[*gauges("utilization", "memory_used", "memory_total"), Metric("energy", COUNTER, protocol.UNIT_JOULES, per=1000)]),
    Group("load", metrics=[Metric("load_1", GAUGE, flags=OF_NODE)]),
    Group("cpu_flops", row="socket", rows_name="sockets", fold_name="total", metrics=counters("flop_double", "flop_single")),
    Group("infiniband", row="port", rows_name="ports", fold_name="total", metrics=counters("port_rcv_data", "port_xmit_data")),
    Group("energy_rapl", row="domain", rows_name="domains", fold_name="",
          metrics=[Metric("energy", COUNTER, protocol.UNIT_JOULES, protocol.FOLD_NONE, per=10**6)]),
]
# What a value is on each node, whatever the sample; load_1 grows.
EXPECTED = {
    "cpu_user": 50, "mem_used": 2**30 / 1e9, "flops_any": 7, "flops_dp": 3, "flops_sp": 1, "net_bw": 5, "ic_read_bw": 4,
    "ic_write_bw": 1, "file_bw": 3.5, "cpu_power": 150, "acc_utilization": 80, "acc_mem_used": 16, "acc_power": 300,
}


class Worker(Node):
    def sample(self, begin, k, parts, started=None):
        job = {"job_info": {"scheduler": "slurm", "user": "ana", "name": "relax", "command": "python3", "source": "cgroup",
                            "started": started, "cpus": 4},
               "job_cpu": {"user_time": 2 * S * k, "system_time": S * k // 10, "cpus": 4},
               "job_memory": {"rss": 2**30, "rss_peak": 2**30}, "job_io": {"read_bytes": 3 * 10**6 * k, "write_bytes": 5 * 10**5 * k}}
        if self.node == "n1":
            job["job_gpu"] = {"gpus": "0,2", "idle": "", "gpus_used": 2}
        gpu = {"utilization": 80, "memory_used": 16 * 10**9, "memory_total": 80 * 10**9, "energy": 300 * 1000 * k}
        node = {"gpu": {str(number): gpu for number in range(3)}, "cpu_flops": {"0": {"flop_double": 3 * 10**9 * k, "flop_single": 10**9 * k}},
                "infiniband": {"mlx5_0:1": {"port_rcv_data": 4 * 10**6 * k, "port_xmit_data": 10**6 * k}},
                "energy_rapl": {"package-0": {"energy": 10**8 * k}, "package-1": {"energy": 5 * 10**7 * k}, "core-0": {"energy": k}}}
        tables = [protocol.table_wire(GROUPS, group, S, rows={label: row for label in parts}) for group, row in job.items()]
        tables += [protocol.table_wire(GROUPS, group, S, rows=rows) for group, rows in node.items()]
        tables.append(protocol.table_wire(GROUPS, "load", S, {"load_1": k}))
        tables.sort(key=lambda table: table[0])
        at = begin + k * S
        self.publish(tables, monotonic_ns=at, wall_ns=time.time_ns() + at - time.monotonic_ns())


def play(cluster, name):
    keys = cluster.keys_of(name)
    pair = read_key(keys / "agent.pub"), read_key(keys / "agent.key")
    node = Worker(cluster.endpoint, name, pair, read_key(keys / "aggregator.pub"), GROUPS)
    node.start()
    node.teach()
    return node


@pytest.fixture(name="ran")
def _ran(cluster):
    """Job 123456 on two nodes, of which n2 has a gap; it has two of the three GPUs of n1. Jobs demo and 7 are there too."""
    cluster.start_aggregator(config="[history]\nchunk_frames = 8\n")
    nodes = [play(cluster, name) for name in ("n1", "n2")]
    begin, started = time.monotonic_ns() - 60 * S, time.time() - 60
    for k in range(SAMPLES):
        for node in nodes:
            if node.node == "n2" and k in GAP:
                node.sequence += 1
            else:
                node.sample(begin, k, ["123456"] + ["demo", "7"] * (node.node == "n2"), started)
    cluster.wait_counter("frames", 2 * SAMPLES - len(GAP))
    for job in ("123456", "demo"):
        cluster.aggregator.wait_line(type="job", job_id=job, event="started")
        cluster.succeed("aggregator", "job", "end", job, "--config", cluster.empty, "--socket", cluster.socket)
        cluster.aggregator.wait_line(type="job", job_id=job, event="ended")
    yield cluster
    for node in nodes:
        node.close()


def archive(cluster, job, *options, code=0):
    done = run("aggregator", "report", job, "--format", "clustercockpit", *places(cluster), *options)
    assert done.returncode == code, (done.args, done.stderr)
    return done.stderr


# ---- ClusterCockpit's rules ----

UNITS = {"B", "F", "B/s", "F/s", "CPI", "IPC", "Hz", "W", "J", "°C", ""}
STATES = {"completed", "failed", "cancelled", "timeout", "out_of_memory", "node_fail", "preempted"}


def is_integer(value, least=None):
    return isinstance(value, int) and not isinstance(value, bool) and (least is None or value >= least)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


def check_unit(unit):
    assert unit["base"] in UNITS and set(unit) <= {"base", "prefix"} and unit.get("prefix", "K") in {"K", "M", "G", "T", "P", "E"}


def check_statistics(statistics):
    assert all(is_number(statistics[name]) for name in ("avg", "min", "max"))
    assert statistics["min"] <= statistics["avg"] <= statistics["max"] or statistics["max"] == 0


def check_meta(meta):
    for name in ("user", "project", "cluster", "subCluster", "jobState", "shared"):
        assert isinstance(meta[name], str) and meta[name], name
    for name in ("jobId", "numNodes", "startTime", "duration"):
        assert is_integer(meta[name], 1), name
    for name in ("numHwthreads", "numAcc", "walltime", "arrayJobId"):
        assert name not in meta or is_integer(meta[name], 1), name
    assert is_integer(meta["exclusive"], 0) and meta["exclusive"] <= 2 and meta["jobState"] in STATES
    assert meta["shared"] in {"none", "single_user", "multi_user"} and is_integer(meta["monitoringStatus"])
    assert len(meta["resources"]) == meta["numNodes"]
    for one in meta["resources"]:
        assert isinstance(one["hostname"], str) and all(isinstance(label, str) for label in one.get("accelerators", ["0"]))
    assert all(isinstance(value, str) for value in meta["metaData"].values())
    assert {"cpu_user", "cpu_load", "mem_used", "flops_any", "mem_bw"} <= set(meta["statistics"])
    for statistics in meta["statistics"].values():
        check_unit(statistics["unit"])
        check_statistics(statistics)


def check_data(data, meta):
    assert {"cpu_user", "cpu_load", "mem_used", "flops_any", "mem_bw", "net_bw"} <= set(data)
    assert set(data) == set(meta["statistics"])
    hosts = {one["hostname"]: set(one.get("accelerators", ())) for one in meta["resources"]}
    for name, scopes in data.items():
        assert set(scopes) == {"accelerator" if name.startswith("acc_") else "node"}
        for scope, metric in scopes.items():
            check_unit(metric["unit"])
            assert metric["unit"] == meta["statistics"][name]["unit"] and is_integer(metric["timestep"], 1)
            for series in metric["series"]:
                assert series["hostname"] in hosts and ("id" in series) == (scope == "accelerator")
                assert "id" not in series or series["id"] in hosts[series["hostname"]]
                check_statistics(series["statistics"])
                values = [value for value in series["data"] if value is not None]
                assert values and all(map(is_number, values))
                assert math.isclose(sum(values) / len(values), series["statistics"]["avg"], abs_tol=2e-4)
                assert (min(values), max(values)) == (series["statistics"]["min"], series["statistics"]["max"])


def test_archive(ran):
    root = ran.folder / "archive"
    said = archive(ran, "123456", "-o", root, "--cluster", "fritz/spr1tb")
    assert "no node measured mem_bw, which" in said
    folder, = (root / "fritz/123/456").iterdir()
    assert {path.name for path in folder.iterdir()} == {"meta.json", "data.json"} and re.fullmatch(r"\d{10}", folder.name)
    assert [path.name for path in root.rglob("*") if path.is_dir()] == ["fritz", "123", "456", folder.name]
    meta, data = (json.loads((folder / name).read_text(encoding="utf-8")) for name in ("meta.json", "data.json"))
    check_meta(meta)
    check_data(data, meta)
    assert meta["jobId"] == 123456 and meta["cluster"] == "fritz" and meta["subCluster"] == "spr1tb" and meta["user"] == "ana"
    assert meta["startTime"] == int(folder.name) and SAMPLES - 2 <= meta["duration"] <= 70
    assert meta["numAcc"] == 2 and meta["numHwthreads"] == 8 and meta["metaData"]["jobName"] == "relax"
    assert meta["shared"] == "multi_user" and meta["exclusive"] == 0
    assert meta["resources"] == [{"hostname": "n1", "accelerators": ["0", "2"]}, {"hostname": "n2"}]

    for name, value in EXPECTED.items():
        (_, metric), = data[name].items()
        assert metric["timestep"] == 1
        ids = [(series["hostname"], series.get("id")) for series in metric["series"]]
        assert ids == ([("n1", "0"), ("n1", "2")] if name.startswith("acc_") else [("n1", None), ("n2", None)]), name
        for series in metric["series"]:
            there = [one for one in series["data"] if one is not None]
            assert len(there) >= SAMPLES - len(GAP) - 3 and math.isclose(sorted(there)[len(there) // 2], value, rel_tol=0.02), (name, there)
        assert math.isclose(meta["statistics"][name]["avg"], value, rel_tol=0.1), name
    first, second = (series["data"] for series in data["cpu_load"]["node"]["series"])
    assert [value for value in second if value is not None] == [k for k in range(SAMPLES) if k not in GAP and k in second]
    at = second.index(9.0)
    assert second[at + 1:at + 7] == 6 * [None] and second[at + 7] == 16 and len(first) == len(second)
    assert data["mem_bw"]["node"]["series"] == [] and meta["statistics"]["mem_bw"]["max"] == 0


def test_archive_refuses(ran):
    """What is there is left alone; jobs that have no place in it."""
    root = ran.folder / "archive"
    archive(ran, "123456", "-o", root)
    folder, = (root / "cluster/123/456").iterdir()
    before = (folder / "data.json").read_text(encoding="utf-8")
    assert "File exists" in archive(ran, "123456", "-o", root, code=1)
    assert (folder / "data.json").read_text(encoding="utf-8") == before and len([*folder.parent.iterdir()]) == 1
    assert "has no number" in archive(ran, "demo", "-o", root, code=1)
    assert "runs still" in archive(ran, "7", "-o", root, code=1)
    assert "-o says where" in archive(ran, "123456", code=2)
    for name in ("", "a/b/c", "../..", "/x", ".."):
        assert "is the name of a cluster" in archive(ran, "123456", "-o", root, "--cluster", name, code=1)
    assert [path.name for path in root.iterdir()] == ["cluster"]
    (ran.folder / "file").write_text("")
    assert "file/cluster: Not a directory" in archive(ran, "123456", "-o", ran.folder / "file", code=1)
