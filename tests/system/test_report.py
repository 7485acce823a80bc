"""`aggregator report`: a job that Python's nodes play, in the past, so that every figure is known beforehand. Totals
and means are computed again here, from what was sent and from the node lines."""

import base64
import gzip
import json
import math
import re
import time

import pytest
from lib import protocol
from lib.cluster import read_key
from lib.peers import AgentPeer
from lib.programs import ROOT, parse_line, run, wait_until
from lib.protocol import COUNTER, GAUGE, Group, Metric

S = 1_000_000_000
TEXT, SHARE = protocol.TEXT, protocol.SHARE
JOB = {"section": "job_data", "row": "job", "rows_name": "jobs", "fold_name": "total"}


def counters(*names):
    return [Metric(name, COUNTER) for name in names]


def gauges(*names):
    return [Metric(name, GAUGE) for name in names]


def texts(*names):
    return [Metric(name, TEXT, fold=protocol.FOLD_NONE) for name in names]


def nanoseconds(name, flags=0):
    return Metric(name, COUNTER, protocol.UNIT_SECONDS, flags=flags, per=10**9)


GROUPS = [
    Group("job_info", **JOB,
          metrics=texts("scheduler", "user", "name", "command", "source") + gauges("started", "cpus")),
    Group("job_cpu", **JOB, metrics=[nanoseconds("user_time"), nanoseconds("system_time"),
                                     nanoseconds("usage", flags=SHARE), *gauges("cpus")]),
    Group("job_memory", **JOB, metrics=gauges("rss", "rss_peak", "vms", "shared", "swap", "percent", "pss", "uss")),
    Group("job_io", **JOB, metrics=counters("read_bytes", "write_bytes", "read_calls", "write_calls")),
    Group("job_processes", **JOB, metrics=gauges("processes", "threads", "open_files")),
    Group("job_energy", **JOB, metrics=[Metric(name, COUNTER, protocol.UNIT_JOULES, per=10**6)
                                        for name in ("energy", "estimated")]),
    Group("energy_rapl", row="domain", rows_name="domains", fold_name="",
          metrics=[Metric("energy", COUNTER, protocol.UNIT_JOULES, protocol.FOLD_NONE, per=10**6)]),
    Group("job_counters", **JOB, metrics=[
        *counters("cycles", "reference_cycles", "instructions", "branches", "branch_misses", "cache_references", "cache_misses",
                  "context_switches", "migrations", "page_faults"), nanoseconds("task_time")]),
    Group("memory_bandwidth", row="socket", rows_name="sockets", fold_name="total",
          metrics=[Metric(name, COUNTER, protocol.UNIT_BYTES) for name in ("read_bytes", "written_bytes", "bytes")]),
    Group("network", row="interface", rows_name="devices", fold_name="total",
          metrics=counters("rx_bytes", "tx_bytes", "rx_packets", "tx_packets")),
    Group("cpu_usage", row="CPU", rows_name="usage_data", fold_name="average_usage",
          metrics=[Metric("idle", COUNTER, protocol.UNIT_SECONDS, protocol.FOLD_MEAN, SHARE, per=100),
                   Metric("io_wait", COUNTER, protocol.UNIT_SECONDS, protocol.FOLD_MEAN, SHARE, per=100)]),
]
INDEX = {group.name: group for group in GROUPS}


class Part:
    """What a job uses on a node. Values of sample k; counters since it began there."""

    def __init__(self, busy, falls_at=None):
        self.busy, self.falls_at = busy, falls_at

    def job_cpu(self, k):
        user, system = round(self.busy * 9e8) * k + 5 * 10**8, round(self.busy * 1e8) * k
        return {"user_time": user, "system_time": system, "usage": (user + system) // 4, "cpus": 4}

    def job_memory(self, k):
        rss = 2**30 + k * 2**20
        return {"rss": rss, "rss_peak": rss + 7, "vms": 2**33, "shared": 2**20, "swap": 4096, "percent": 12.5 + k / 10,
                "pss": 2**29, "uss": 2**28}

    def job_io(self, k):
        since = k - self.falls_at if self.falls_at and k >= self.falls_at else k
        return {"read_bytes": 4096 * k, "write_bytes": 1000 * since + 3, "read_calls": 3 * k, "write_calls": 2 * since}

    def job_energy(self, k):
        """100 and 400 W by turns, 4 s each; of n1, where another job is, the half is estimated."""
        joules = 70 + sum(400 if second // 4 % 2 else 100 for second in range(k))
        return {"energy": joules * 10**6, "estimated": joules * 10**6 // 2 if self.falls_at else 0}

    def job_counters(self, k):
        """Each grows by its own rate. Branches have no value in every 7th sample; nobody counts cache references. On n1 the
        agent begins anew: it counts from 0 again."""
        since = k - self.falls_at if self.falls_at and k >= self.falls_at else k
        rates = {"cycles": 3 * 10**9, "reference_cycles": 2 * 10**9 + 1, "instructions": 6 * 10**9 + 7, "branches": 10**8,
                 "branch_misses": 10**6 + 3, "cache_misses": 12345, "context_switches": 17, "migrations": 2,
                 "page_faults": 4096, "task_time": 8 * 10**8}
        return {name: rate * since for name, rate in rates.items() if name != "branches" or k % 7}

    def job_processes(self, k):
        return {"processes": 3, "threads": 12 + k % 2, "open_files": 40}


def of_node(k):
    lo = {"rx_bytes": 10**9 * k, "tx_bytes": 10**9 * k, "rx_packets": k, "tx_packets": k}
    eth0 = {"rx_bytes": 10**12 + 5000 * k * k, "tx_bytes": 7000 * k, "rx_packets": 30 * k, "tx_packets": 20 * k}
    cpus = {"0": {"idle": 25 * k, "io_wait": 5 * k}, "1": {"idle": 75 * k, "io_wait": 5 * k}}
    domains = {"package-0": {"energy": 5 * 10**6 + 123456 * k}, "dram-0": {"energy": 7 * k}}
    if k >= 5:
        domains["package-1"] = {"energy": k}
    sockets = {"0": {"read_bytes": 10**9 * k, "written_bytes": 5 * 10**8 * k, "bytes": 15 * 10**8 * k + 10**15},
               "1": {"bytes": 2 * 10**6 * k * k}}
    return {"network": {"lo": lo, "eth0": eth0}, "cpu_usage": cpus, "energy_rapl": domains, "memory_bandwidth": sockets}


class Node(AgentPeer):
    """Its samples lie at begin + k seconds of this machine's CLOCK_MONOTONIC."""

    def teach(self):
        now = time.monotonic_ns()
        for step in range(20):
            real = now - (20 - step) * 5 * S
            self.send(protocol.PROBE, self.session, now, [real, real + 100_000, real + 110_000, real + 210_000])
        wait_until(lambda: (said := self.probe()[0].clock) and said.bound_ns < 10_000_000, "what the probes taught")

    def sample(self, begin, k, parts, started=None):
        def rows(group):
            return {job: getattr(part, group)(k) for job, part in parts.items()}

        groups = ("job_cpu", "job_memory", "job_io", "job_processes", "job_energy", "job_counters")
        tables = [protocol.table_wire(GROUPS, group, S, rows=rows(group)) for group in groups]
        tables += [protocol.table_wire(GROUPS, group, S, rows=made) for group, made in of_node(k).items()]
        info = {}
        if started is not None and k % 10 == 0:
            told = {"scheduler": "slurm", "user": "ana", "name": "relax", "command": "python3", "source": "cgroup",
                    "started": started, "cpus": 4}
            info = {job: told for job in parts}
        tables.append(protocol.table_wire(GROUPS, "job_info", S, rows=info))
        tables.sort(key=lambda table: table[0])
        at = begin + k * S
        self.publish(tables, monotonic_ns=at, wall_ns=time.time_ns() + at - time.monotonic_ns())


def play(cluster, name):
    keys = cluster.keys_of(name)
    pair = read_key(keys / "agent.pub"), read_key(keys / "agent.key")
    node = Node(cluster.endpoint, name, pair, read_key(keys / "aggregator.pub"), GROUPS)
    node.start()
    node.teach()
    return node


def places(cluster):
    return "--config", cluster.empty, "--history", cluster.history, "--socket", cluster.socket


def report(cluster, job, *options, code=0, **more):
    done = run("aggregator", "report", job, *places(cluster), *options, **more)
    assert done.returncode == code, (done.args, done.stdout, done.stderr)
    return done


def json_report(cluster, job):
    return parse_line(report(cluster, job, "--json").stdout)


def jobs_line(cluster, job, event):
    return cluster.aggregator.wait_line(type="job", job_id=job, event=event)


LAST = 30
GAP = range(10, 16)  # of n2
LOST = 20            # of n3: its last sample


@pytest.fixture
def played(cluster):
    """Job 42 on three nodes: n2 is slow and has a gap, n3 falls silent; job 43 is on n1 too."""
    cluster.start_aggregator(config="[history]\nchunk_frames = 8\n")
    nodes = [play(cluster, name) for name in ("n1", "n2", "n3")]
    begin = time.monotonic_ns() - 60 * S
    started = (time.time_ns() - 60 * S) / 1e9
    parts = {"n1": Part(4, falls_at=25), "n2": Part(1), "n3": Part(4)}
    for k in range(LAST + 6):
        for node in nodes:
            mine = {"42": parts[node.node]} if k <= LAST else {}
            if node.node == "n1":
                mine["43"] = Part(0.5)
            if (node.node == "n2" and k in GAP) or (node.node == "n3" and k > LOST):
                node.sequence += 1
            else:
                node.sample(begin, k, mine, started)
    for job in ("42", "43"):
        jobs_line(cluster, job, "started")
    cluster.wait_counter("frames", 3 * (LAST + 6) - len(GAP) - (LAST + 5 - LOST))
    cluster.succeed("aggregator", "job", "end", "42", "--config", cluster.empty, "--socket", cluster.socket)
    jobs_line(cluster, "42", "ended")
    yield cluster, parts
    for node in nodes:
        node.close()


def samples_of(name):
    return [k for k in range(LAST + 1) if not (name == "n2" and k in GAP) and not (name == "n3" and k > LOST)]


def lines_of(cluster, name):
    done = run("aggregator", "replay", *places(cluster), "--node", name, "--type", "node", "--from", "-10m")
    assert done.returncode == 0, done.stderr
    lines = sorted((parse_line(line) for line in done.stdout.splitlines()), key=lambda line: line["time"])
    made = []
    for line in lines:
        job = next((one["report"] for one in line["report"].get("job_data", []) if one["job_id"] == "42"), None)
        if job and "job_cpu" in job:
            made.append((line["time"], job, line["report"]["system_data"]))
    return made


def total_since(part, group, name, ks, per=1):
    """As the last of a counter says, with what it held before it fell."""
    values = [getattr(part, group)(k)[name] for k in ks]
    total = values[-1] + sum(old for old, new in zip(values, values[1:]) if new < old)
    return total / per


def near(one, other, rel=1e-9):
    assert one is not None and math.isclose(one, other, rel_tol=rel, abs_tol=1e-9), (one, other)


def changes(values):
    return [value for value in values if value is not None]


def test_figures(played):
    """The report's figures against those of the samples that were sent, and of the node lines."""
    cluster, parts = played
    said = json_report(cluster, "42")
    known = {"type": "job_report", "cluster": "", "job_id": "42", "user": "ana", "scheduler": "slurm", "name": "relax",
             "command": "python3", "cpus": 12, "period": 1, "reason": "told"}
    assert {key: said[key] for key in known} == known
    assert abs(said["duration"] - LAST) < 0.1
    assert [node["node"] for node in said["nodes"]] == ["n1", "n2", "n3"]
    cpu_time = 0
    for node in said["nodes"]:
        name, values, part = node["node"], node["report"], parts[node["node"]]
        ks, lines = samples_of(name), lines_of(cluster, name)
        assert node["samples"] == len(ks) == len(lines)
        assert node["first"] == lines[0][0] and node["last"] == lines[-1][0]
        near(values["cpu_user"]["total"], total_since(part, "job_cpu", "user_time", ks, 1e9))
        near(values["cpu_system"]["total"], total_since(part, "job_cpu", "system_time", ks, 1e9))
        near(values["read"]["total"], total_since(part, "job_io", "read_bytes", ks))
        near(values["write"]["total"], total_since(part, "job_io", "write_bytes", ks))
        cpu_time += values["cpu_user"]["total"] + values["cpu_system"]["total"]
        # from the lines
        user = changes(job["job_cpu"]["user_time"] for _, job, _ in lines)
        near(values["cpu_user"]["total"], part.job_cpu(0)["user_time"] / 1e9 + sum(user))
        cpu = [job["job_cpu"] for _, job, _ in lines]
        usage = [(one["usage"], one["period"]) for one in cpu if one["usage"] is not None]
        near(values["cpu_usage"]["mean"], sum(u * p for u, p in usage) / sum(p for _, p in usage), rel=1e-4)
        near(values["cpu_usage"]["maximum"], max(u for u, _ in usage), rel=1e-4)
        rss = [job["job_memory"]["rss"] for _, job, _ in lines]
        near(values["memory"]["mean"], sum(rss) / len(rss))
        assert (values["memory"]["minimum"], values["memory"]["maximum"]) == (min(rss), max(rss))
        received = changes(system["network"]["devices"]["eth0"]["rx_bytes"] for _, _, system in lines)
        near(values["network_received"]["total"], sum(received))
        near(values["network_received"]["total"], 5000 * ks[-1] ** 2)
        near(values["network_sent"]["mean"], 7000, rel=1e-6)
        assert values["threads"]["maximum"] == 13
    near(said["cpu_time"], cpu_time)
    near(said["total"]["cpu_user"]["total"], sum(node["report"]["cpu_user"]["total"] for node in said["nodes"]))
    near(said["cpu_efficiency"], cpu_time / (12 * said["duration"]) * 100, rel=1e-4)
    assert said["memory_peak"] == {"node": "n1", "bytes": parts["n1"].job_memory(LAST)["rss_peak"]}
    assert "infiniband_received" not in said["total"]


def test_energy(played):
    """kWh of the report, against the integral of what the nodes drew; prices; the same in all forms."""
    cluster, parts = played
    config = cluster.folder / "prices.ini"
    config.write_text("[energy]\nprice_per_kwh = 300\nco2_per_kwh = 400\ncurrency = CHF\n")
    at = "--config", config, "--history", cluster.history, "--socket", cluster.socket
    joules = estimated = 0
    for name, part in parts.items():
        watts = [400 if second // 4 % 2 else 100 for second in range(samples_of(name)[-1])]
        joules += 70 + sum(watts)
        estimated += (70 + sum(watts)) / 2 if name == "n1" else 0
    said = parse_line(run("aggregator", "report", "42", "--json", *at).stdout)
    near(said["energy"]["kwh"], joules / 3.6e6)
    near(said["energy"]["estimated"], 100 * estimated / joules)
    near(said["energy"]["cost"], 300 * joules / 3.6e6)
    near(said["energy"]["co2"], 400 * joules / 3.6e6)
    assert said["energy"]["currency"] == "CHF"
    near(said["total"]["energy"]["total"], joules)
    assert any("of the energy is estimated by CPU time" in sentence for sentence in said["unknown"])
    bare = json_report(cluster, "42")["energy"]
    assert bare["kwh"] == said["energy"]["kwh"] and bare["cost"] is bare["currency"] is bare["co2"] is None
    text = run("aggregator", "report", "42", "--cluster-name", "alps", *at).stdout
    assert "  Cluster           alps\n" in text
    assert f"  Energy            {joules / 3600:.2f} Wh, " in text and " % of it estimated" in text
    assert f"  Cost              {300 * joules / 3.6e6:.2f} CHF, {400 * joules / 3.6e6:.2f} kg of CO2\n" in text
    ended = cluster.aggregator.wait_line(type="job", job_id="42", event="ended")["summary"]
    assert abs(ended["energy_kwh"] - joules / 3.6e6) < 1e-6
    assert abs(ended["energy_estimated_kwh"] - estimated / 3.6e6) < 1e-6
    jobs = run("aggregator", "jobs", *places(cluster)).stdout
    assert f"  {joules / 3600:.2f} Wh\n" in jobs
    folder = cluster.folder / "energy"
    report(cluster, "42", "--csv", folder)
    rows = [line.split(",") for line in (folder / "job_energy.csv").read_text().splitlines()]
    column = rows[0].index("energy")
    near(sum(float(row[column] or 0) for row in rows[1:]), joules)
    assert json.loads((folder / "job_energy.units.json").read_text()) == {
        "period": "seconds", "energy": "joules", "estimated": "joules"}


def test_what_was_wrong(played):
    """Gaps, the lost node, the slow one, the neighbour; and a person sees it on a terminal."""
    cluster, _ = played
    said = json_report(cluster, "42")
    one, two, three = said["nodes"]
    assert one["gaps"] == [] and not one["lost"]
    assert len(two["gaps"]) == 1 and abs(two["gap_seconds"] - len(GAP) - 1) < 1e-3 and not two["lost"]
    assert three["lost"] and said["lost_nodes"] == ["n3"]
    assert abs(three["gap_seconds"] - (LAST - LOST)) < 0.1 and three["gaps"][0]["from"] == three["last"]
    assert said["slowest_node"] == "n2"
    assert said["imbalance"]["cpu_usage"]["node"] == "n2"
    near(said["imbalance"]["cpu_usage"]["value"], 25, rel=1e-4)
    near(said["imbalance"]["cpu_usage"]["others"], 100, rel=1e-4)
    near(said["imbalance"]["cpu_usage"]["percent"], (100 / 75 - 1) * 100, rel=1e-4)
    unknown = "\n".join(said["unknown"])
    assert "n3 was lost" in unknown and "n2 has no data for 7 s" in unknown and "Other jobs ran on n1" in unknown
    text = report(cluster, "42").stdout
    assert "\n  1 n3 was lost while the job ran, at " in text and "\n      #SBATCH --exclude=n3\n" in text
    assert said["notes"][0]["note"] == "lost_nodes" and said["notes"][0]["write"] == "#SBATCH --exclude=n3"
    assert "was slow" not in text  # too short to be judged, unless somebody wants it
    (cluster.folder / "advice.ini").write_text("[advice]\nshortest = 0\n")
    longer = run("aggregator", "report", "42", "--config", cluster.folder / "advice.ini", "--history", cluster.history,
                 "--socket", cluster.socket).stdout
    assert "\n  2 n2 was slow: it used 25.0 % of its CPUs, the others 100 %. " in longer
    table = text[text.index("\n  node"):].splitlines()[2:5]
    assert [line.split()[0] for line in table] == ["n3", "n2", "n1"]
    assert "LOST" in table[0] and table[1].endswith("SLOWEST")
    assert "\033" not in text


@pytest.mark.sanitized
def test_tables(played):
    """--csv and --hdf5 hold the job's rows alone, of its nodes and time; pandas and h5py read them."""
    h5py = pytest.importorskip("h5py", reason="python3-h5py is not here")
    pandas = pytest.importorskip("pandas", reason="python3-pandas is not here")
    pytest.importorskip("tables", reason="python3-tables is not here")
    cluster, parts = played
    folder, file, text = cluster.folder / "tables", cluster.folder / "42.h5", cluster.folder / "42.txt"
    done = report(cluster, "42", "--csv", folder, "--hdf5", file)
    assert done.stdout == ""
    for name, part in parts.items():
        cpu = pandas.read_csv(folder / "job_cpu.csv", dtype={"job": str})
        assert set(cpu["job"]) == {"42"}
        mine = cpu[cpu["node"] == name]
        assert len(mine) == len(samples_of(name)) and mine["time"].is_monotonic_increasing
        total = total_since(part, "job_cpu", "user_time", samples_of(name), 1e9)
        near(mine["user_time"].sum(), total)
        said = next(node for node in json_report(cluster, "42")["nodes"] if node["node"] == name)["report"]
        near(mine["user_time"].sum(), said["cpu_user"]["total"])
        near(mine["system_time"].sum(), said["cpu_system"]["total"])
        near((mine["usage"] * mine["period"]).sum() / mine["period"][mine["usage"].notna()].sum(), said["cpu_usage"]["mean"])
        network = pandas.read_csv(folder / "network.csv")
        devices = network[network["node"] == name]
        assert set(devices["interface"].dropna()) == {"lo", "eth0"}
        near(devices[devices["interface"] == "eth0"]["rx_bytes"].sum(), 5000 * samples_of(name)[-1] ** 2)
    table = pandas.read_hdf(file, "job_cpu")
    assert list(table.columns) == list(cpu.columns) and table["node"].tolist() == cpu["node"].tolist()
    near(table["user_time"].sum(), cpu["user_time"].sum())
    with h5py.File(file) as read:
        assert {"job_cpu", "job_memory", "job_io", "network"} <= set(read)
        assert {label.decode() for label in read["job_cpu"]["job"]} == {"42"}
        assert len(read["job_memory"]["node"]) == sum(len(samples_of(name)) for name in parts)
    # What is there is left alone; the text goes where -o says; each output is tried.
    done = report(cluster, "42", "--csv", folder, "-o", text, code=1)
    assert "exists" in done.stderr and "n3 was lost while the job ran" in text.read_text()
    for kind in ("text", "json", "perfmon"):
        assert f"{text}: File exists" in report(cluster, "42", "--format", kind, "-o", text, code=1).stderr
    assert "n3 was lost while the job ran" in text.read_text()


# ---- perfmon ----

NUMBERS = {
    None: ["cpu_time", "cpu_percent", "cpu_percent_sys", "memory_percent", "num_threads", "num_fds", "memory_bw"],
    "memory_info": ["rss", "vms", "shared"],
    "memory_full_info": ["uss", "swap"],
    "io_counters": ["read_bytes", "read_count", "write_bytes", "write_count"],
    "net_io_counters": ["bytes_sent", "bytes_recv", "packets_sent", "packets_recv"],
    "perf_events": ["cycles", "ref-cycles", "instructions", "branches", "branch-misses", "cache-references",
                    "cache-misses", "context-switches", "cpu-migrations", "page-faults", "task-clock"],
    "ib_io_counters": ["port_xmit_data", "port_xmit_packets", "port_rcv_data", "port_rcv_packets"],
}


def check_perfmon(said):
    """The merged JSON: host names, the period, and of each host lists with one entry a sample."""
    assert list(said)[:2] == ["host_names", "sampling_frequency"]
    assert set(said) == {"host_names", "sampling_frequency", *said["host_names"]}
    assert said["sampling_frequency"] is None or said["sampling_frequency"] > 0
    for name in said["host_names"]:
        host = said[name]
        outer = {key for key in NUMBERS if key}
        assert set(host) == {"time_stamps", "rapl_powercap", *NUMBERS[None], *outer}
        stamps = host["time_stamps"]
        assert stamps == sorted(stamps) and all(isinstance(stamp, (int, float)) for stamp in stamps)
        for key, names in NUMBERS.items():
            place = host[key] if key else host
            assert key is None or set(place) == set(names)
            for one in names:
                assert len(place[one]) == len(stamps), (name, key, one)
                assert all(value is None or type(value) in (int, float) for value in place[one])
        assert isinstance(host["rapl_powercap"], dict)
        assert all(len(values) == len(stamps) for values in host["rapl_powercap"].values())


PERF_EVENTS = {"cycles": "cycles", "ref-cycles": "reference_cycles", "instructions": "instructions", "branches": "branches",
               "branch-misses": "branch_misses", "cache-references": "cache_references", "cache-misses": "cache_misses",
               "context-switches": "context_switches", "cpu-migrations": "migrations", "page-faults": "page_faults"}


def test_perfmon(played):
    cluster, parts = played
    file = cluster.folder / "merged.json"
    report(cluster, "42", "--format", "perfmon", "-o", file)
    said = parse_line(file.read_text())
    check_perfmon(said)
    assert said["host_names"] == ["n1", "n2", "n3"] and said["sampling_frequency"] == 1
    for name, part in parts.items():
        host, ks = said[name], samples_of(name)
        assert len(host["time_stamps"]) == len(ks)
        near(host["time_stamps"][-1] - host["time_stamps"][0], ks[-1], rel=1e-4)
        for at, k in enumerate(ks):
            cpu, memory, io = part.job_cpu(k), part.job_memory(k), part.job_io(k)
            near(host["cpu_time"][at], (cpu["user_time"] + cpu["system_time"]) / 1e9)
            near(host["memory_percent"][at], memory["percent"], rel=1e-4)
            for key in ("rss", "vms", "shared"):
                assert host["memory_info"][key][at] == memory[key]
            for key in ("uss", "swap"):
                assert host["memory_full_info"][key][at] == memory[key]
            for key in ("read", "write"):
                assert host["io_counters"][f"{key}_bytes"][at] == io[f"{key}_bytes"]
                assert host["io_counters"][f"{key}_count"][at] == io[f"{key}_calls"]
            assert host["net_io_counters"]["bytes_recv"][at] == 10**12 + 5000 * k * k + 10**9 * k
            assert host["net_io_counters"]["packets_sent"][at] == 21 * k
            assert host["rapl_powercap"]["package-0"][at] == 5 * 10**6 + 123456 * k
            assert host["rapl_powercap"]["dram-0"][at] == 7 * k
            assert host["rapl_powercap"]["package-1"][at] == (k if k >= 5 else None)
            counted = part.job_counters(k)
            for key, metric in PERF_EVENTS.items():
                assert host["perf_events"][key][at] == counted.get(metric), (name, k, key)
            near(host["perf_events"]["task-clock"][at], counted["task_time"] / 1e9)
            if at and k == ks[at - 1] + 1:  # a second: what both sockets moved in it
                near(host["memory_bw"][at], 15 * 10**8 + 2 * 10**6 * (k * k - (k - 1) ** 2), rel=1e-4)
            assert host["num_threads"][at] == 12 + k % 2 and host["num_fds"][at] == 40
            if at:
                near(host["cpu_percent"][at], 100 * part.busy, rel=1e-4)
                near(host["cpu_percent_sys"][at], 45, rel=1e-3)
        assert host["cpu_percent"][0] is None and set(host["ib_io_counters"]["port_rcv_data"]) == {None}
    assert json.dumps(said)


def test_jobstats(played):
    """The line unpacks to what the JSON says."""
    cluster, _parts = played
    line = report(cluster, "42", "--format", "jobstats").stdout
    assert line.startswith("JS1:") and line.endswith("\n")
    found, said = json.loads(gzip.decompress(base64.b64decode(line[4:-1], validate=True))), json_report(cluster, "42")
    assert set(found) == {"nodes", "total_time", "gpus"} and found["gpus"] == 0
    assert found["total_time"] == round(said["duration"]) and "null" not in json.dumps(found)
    for node in said["nodes"]:
        here = found["nodes"][node["node"]]
        near(here["total_time"], node["report"]["cpu_user"]["total"] + node["report"]["cpu_system"]["total"])
        assert here["used_memory"] == node["report"]["memory_peak"]["maximum"] and here["cpus"] == node["cpus"]
        assert set(here) == {"used_memory", "total_time", "cpus"}  # no limit of memory is known
        assert isinstance(here["used_memory"], int)


# ---- a job that runs, one of which nothing is known, wrong words ----


def test_runs_still(cluster):
    """What was sampled a moment ago is in the report: the aggregator writes it first."""
    cluster.start_aggregator()
    with play(cluster, "n1") as node:
        begin, started = time.monotonic_ns() - 20 * S, (time.time_ns() - 20 * S) / 1e9
        for k in range(21):
            node.sample(begin, k, {"7": Part(2)}, started)
        jobs_line(cluster, "7", "started")
        cluster.wait_counter("frames", 21)
        said = json_report(cluster, "7")
        assert said["ended"] is None and said["reason"] == "" and abs(said["duration"] - 20) < 0.1
        assert said["nodes"][0]["samples"] == 21
        near(said["cpu_time"], 0.5 + 20 * 2)
        assert "Runs" in report(cluster, "7").stdout
        check_perfmon(parse_line(report(cluster, "7", "--format", "perfmon").stdout))
        node.sample(begin, 21, {"7": Part(2)})
        wait_until(lambda: json_report(cluster, "7")["nodes"][0]["samples"] == 22, "the next sample")


def test_no_sample(cluster):
    """Of a job that was only told there is a report, in all forms."""
    cluster.start_aggregator()
    cluster.succeed("aggregator", "job", "start", "9", "--user", "ben", "--config", cluster.empty,
                    "--socket", cluster.socket)
    jobs_line(cluster, "9", "started")
    said = wait_until(lambda: run_json(cluster, "9"), "the job in the history")
    assert said["user"] == "ben" and said["nodes"] == [] and said["cpu_time"] is None
    assert any("No node has shown this job" in sentence for sentence in said["unknown"])
    assert "Job 9 of ben" in report(cluster, "9").stdout
    merged = parse_line(report(cluster, "9", "--format", "perfmon").stdout)
    check_perfmon(merged)
    assert merged["host_names"] == []
    report(cluster, "9", "--csv", cluster.folder / "none")


def run_json(cluster, job):
    done = run("aggregator", "report", job, "--json", *places(cluster))
    return parse_line(done.stdout) if done.returncode == 0 else None


def test_wrong(played):
    cluster, _ = played
    done = report(cluster, "4711", code=1)
    assert done.stdout == "" and "no job 4711" in done.stderr and "42" in done.stderr and "43" in done.stderr
    done = report(cluster, "42", "--json", "-o", cluster.folder / "nowhere" / "x.json", code=1)
    assert "nowhere/x.json: No such file" in done.stderr
    none = cluster.folder / "none.db"
    done = run("aggregator", "report", "42", "--config", cluster.empty, "--history", none, "--socket", cluster.socket)
    assert done.returncode == 1 and "none.db" in done.stderr
    done = report(cluster, "42", "-o", "/dev/full", code=1)
    assert "/dev/full: No space left" in done.stderr
    one = cluster.folder / "one.x"
    done = report(cluster, "42", "--pdf", one, "--html", one, code=2)
    assert f"--pdf and --html both name {one}" in done.stderr and not one.exists()


def test_quantities_are_what_agents_have():
    """Every metric that aggregator/jobs/job_items.c names is one of an agent's, the job's own ones too."""
    source = " ".join((ROOT / "aggregator" / "jobs" / "job_items.c").read_text().split())
    items = re.findall(r'\[JOB_\w+\] = \{ "\w+", (?:NULL|"[^"]*"), "(\w+)", "(\w+)"([^}]*)\}', source)
    assert len(items) == source.count("[JOB_") - 1
    groups = {group["name"]: {metric["name"] for metric in group["metrics"]}
              for group in parse_line(run("agent", "--list-groups", "--json").stdout)["groups"]}
    for group, metric, rest in items:
        own = re.search(r'\.own = "(\w+)"', rest)
        assert metric in groups[group], (group, metric)
        assert not own or metric in groups[own[1]], (own[1], metric)
