"""The agent by itself: reports on standard output, on this machine and on recorded ones."""

import json
import os
import pathlib
import shutil
import signal

import pytest
from lib.programs import RECORDED, ROOT, listed_groups, needs_hardware, parse_line, run

pytestmark = pytest.mark.sanitized


def reports(*options):
    done = run("agent", *(() if "--config" in options else ("--config", "/dev/null")), *options)
    assert done.returncode == 0, done.stderr
    return [parse_line(line) for line in done.stdout.splitlines()]


def test_once():
    line, = reports("--once", "--period", "100ms")
    assert line["type"] == "node" and line["seq"] >= 1 and "clock" not in line
    assert line["node"] == os.uname().nodename.partition(".")[0]
    assert isinstance(line["report"].pop("job_data"), list)
    # Accelerators' groups are there where a node has some.
    groups = [group for group in listed_groups() if group["section"] != "job_data"]
    accelerators = {group["name"] for group in groups if needs_hardware(group)}
    shown = set(line["report"]["system_data"]) | (set(line["report"]) - {"system_data", "runtime_data"})
    assert {group["name"] for group in groups} - accelerators == shown - accelerators
    cpu = line["report"]["system_data"]["cpu_usage"]
    assert cpu["error"] == "" and cpu["period"] > 0.05
    assert cpu["average_usage"]["idle"] is not None, "one report has changes already"


def test_count():
    lines = reports("--count", "4", "--period", "50ms", "--node", "me")
    assert len(lines) == 4 and {line["node"] for line in lines} == {"me"}
    assert len({line["session"] for line in lines}) == 1
    assert [line["seq"] for line in lines] == list(range(lines[0]["seq"], lines[0]["seq"] + 4))
    assert "hardware_info" in lines[0]["report"] and "hardware_info" not in lines[-1]["report"]
    assert lines[-1]["report"]["system_data"]["cpu_usage"]["average_usage"]["idle"] is not None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ends_when_asked(cluster, number):
    agent = cluster.start("alone", "agent", "--config", cluster.empty, "--period", "50ms", "--jobs-book", "")
    agent.wait_lines(3)
    agent.signal(number)
    assert agent.wait() == 0
    assert agent.log() == ""


def test_list_groups():
    text, markdown = run("agent", "--list-groups").stdout, run("agent", "--list-groups", "--markdown").stdout
    for group in listed_groups():
        assert group["help"] in text and group["help"] in markdown
        for metric in group["metrics"]:
            assert f" {metric['name']} " in text and f"`{metric['name']}`" in markdown
            assert metric["help"].endswith(".")
        assert group["left_out"] in text and group["left_out"].replace("*", "\\*") in markdown
    left_out = {group["name"]: group["left_out"] for group in listed_groups()}
    for name, words in {"thermal": ['"Core "'], "filesystem": ["/proc/*", "/sys/*", "/run/user/*", " squashfs "],
                        "disk_io": ["partitions", "loop*"]}.items():
        assert all(word in left_out[name] for word in words), left_out[name]


def test_groups_can_be_left_out(cluster):
    others = "".join(f"[group {group['name']}]\nenabled = no\n" for group in listed_groups()
                     if group["name"] not in ("load", "network"))
    line, = reports("--config", cluster.write("own.ini", others), "--once", "--period", "50ms", "--jobs-book", "")
    assert list(line["report"]) == ["system_data"] and set(line["report"]["system_data"]) == {"load", "network"}


def test_interfaces_can_be_left_out(cluster):
    own = cluster.write("own.ini", "[group network]\nexclude = lo,nothing*\n")
    line, = reports("--config", own, "--once", "--period", "50ms", "--jobs-book", "")
    assert "lo" not in line["report"]["system_data"]["network"]["devices"]


def test_empty_machine(cluster):
    """Neither proc nor sys: every group says what is missing, or has no rows; nothing is 0 that was not read."""
    empty = cluster.folder / "empty"
    empty.mkdir()
    line, = reports("--root", empty, "--once", "--period", "50ms", "--jobs-book", "")
    data = line["report"]["system_data"]
    assert data["memory_info"]["error"] and data["memory_info"]["total"] is None
    assert data["cpu_usage"]["error"] and data["load"]["error"]


def test_fifos_in_place_of_files(cluster):
    """What is no file is refused and named; nobody waits for it."""
    strange, roots = cluster.folder / "strange", ROOT / "tests" / "roots"
    places = {path.relative_to(roots / name) for name in ("small", "thermal", "infiniband", "neuron", "amdgpu")
              for path in (roots / name).rglob("*") if path.is_file()}
    places |= {pathlib.Path("proc", name) for name in ("self/mountinfo", "net/dev", "net/snmp", "net/netstat")}
    places |= {pathlib.Path("proc/4242", name) for name in ("stat", "status", "environ", "cgroup", "io", "smaps_rollup")}
    for place in places:
        (strange / place).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(strange / place)
    line, = reports("--root", strange, "--once", "--period", "50ms", "--jobs-book", "")
    data = line["report"]["system_data"]
    files = {"cpu_usage": "stat", "memory_info": "meminfo", "load": "loadavg", "vm": "vmstat", "network": "net/dev"}
    for group, path in files.items():
        assert f"/proc/{path}: is no regular file" in data[group]["error"], (group, data[group]["error"])


def test_names_twice(cluster):
    """No key stands twice, which parse_line refuses; long names that begin alike are both there, and stay the same."""
    twice, long = cluster.folder / "twice", "/mnt/" + "x" * 300
    (twice / "proc/self").mkdir(parents=True)
    (twice / "proc/stat").write_text("cpu0 1 1 1 1\ncpu0 2 2 2 2\nctxt 1\n")
    (twice / "proc/diskstats").write_text("8 0 sda 1 0 0 0 0 0 0 0 0 0 0\n" * 2)
    (twice / "proc/self/mountinfo").write_text(
        "".join(f"2{i} 1 8:{i} / {long}{i} rw - ext4 /dev/sda{i} rw\n" for i in (1, 2)))
    lines = reports("--root", twice, "--count", "2", "--period", "50ms", "--jobs-book", "")
    for data in (line["report"]["system_data"] for line in lines):
        assert list(data["cpu_usage"]["usage_data"]) == ["0"] and "is there twice" in data["cpu_usage"]["error"]
        assert list(data["disk_io"]["devices"]) == ["sda"] and "is there twice" in data["disk_io"]["error"]
        mounts = data["filesystem"]["mounts"]
        assert {row["device"] for row in mounts.values()} == {"/dev/sda1", "/dev/sda2"}
        assert all(len(name) == 255 and name.startswith(long[:200]) for name in mounts)
    assert list(lines[0]["report"]["system_data"]["filesystem"]["mounts"]) == list(mounts)


def recorded(name):
    if not (RECORDED / name).is_dir():
        pytest.skip(f"{RECORDED / name} is not here")
    return RECORDED / name


def test_480_cpus():
    line, = reports("--root", recorded("big480"), "--once", "--period", "50ms", "--jobs-book", "")
    cpus = line["report"]["system_data"]["cpu_usage"]["usage_data"]
    assert len(cpus) == 480 and list(cpus)[479] == "479"


def test_many_kernels():
    """Three InfiniBand adapters, one of which says N/A for counters: missing, not 0."""
    line, = reports("--root", recorded("procfs"), "--once", "--period", "50ms", "--jobs-book", "")
    data = line["report"]["system_data"]
    ports = data["infiniband"]
    rows = next(value for value in ports.values() if isinstance(value, dict) and any(":" in key for key in value))
    assert len(rows) >= 3
    assert data["memory_info"]["total"] == 15666184 * 1024
    assert "sda" in json.dumps(list(data["disk_io"]["devices"])), list(data["disk_io"]["devices"])


def test_own_recordings():
    """Each of the project's own small recordings gives a whole report."""
    roots = sorted((ROOT / "tests" / "roots").glob("*/proc"))
    if not roots:
        pytest.skip("tests/roots holds no whole machine")
    for root in roots:
        line, = reports("--root", root.parent, "--once", "--period", "50ms", "--jobs-book", "")
        assert line["report"]["system_data"]


def test_an_error_is_of_what_it_tells_alone(tmp_path):
    """A file that is away costs its values; the counters of the others go on."""
    shutil.copytree(ROOT / "tests" / "roots" / "small", tmp_path / "root")
    (tmp_path / "root" / "proc" / "net" / "netstat").unlink()
    lines = reports("--root", tmp_path / "root", "--count", "3", "--period", "50ms", "--jobs-book", "")
    for line in lines[1:]:
        network = line["report"]["system_data"]["network"]
        assert network["error"].endswith("/proc/net/netstat: No such file or directory"), network["error"]
        assert network["tcp_timeouts"] is None
        assert network["udp_in"] == 0 and network["devices"]["eth0"]["rx_bytes"] == 0
