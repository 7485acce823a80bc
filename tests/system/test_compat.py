"""The agent in neuron-monitor's place: what it reads of a neuron-monitor comes out in the same form, scripts made for that
read it, and its configuration is understood or refused in words."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from lib.programs import BUILD, ROOT, run

pytestmark = pytest.mark.sanitized

RECORDED = ROOT / "tests" / "roots" / "neuron"
NEWER = {"period": "400ms", "neuron_runtimes": [{"tag_filter": ".*", "metrics": [
    {"type": name} for name in ("neuroncore_counters", "memory_used", "neuron_runtime_vcpu_usage", "execution_stats")]}],
    "system_metrics": [{"type": "vcpu_usage"}, {"type": "memory_info"}, {"type": "neuron_hw_counters"}]}
OLDER = {"period": "400ms", "neuron_runtimes": [{"address": "unix:/run/neuron.sock", "metrics": [
    {"type": name} for name in ("nc_counters", "memory", "runtime_cpu_usage", "inference_stats", "hw_counters")]}],
    "system_metrics": [{"type": "cpu_usage"}]}

# Reports that were written down, one at once and one later, as a neuron-monitor writes them.
REPLAY = """
import sys, time
lines = open(sys.argv[1]).read().splitlines()
for line in lines[:2]:
    print(line, flush=True)
    time.sleep(1.2)
time.sleep(60)
"""


def options(tmp_path, *command):
    empty = tmp_path / "empty.ini"
    empty.touch()
    return ["--neuron-command", " ".join(map(str, command)), "--jobs-book", "",
            f"--config={empty}"]


def lines_of(tmp_path, config, recorded, count):
    replay, conf = tmp_path / "replay.py", tmp_path / "monitor.conf"
    replay.write_text(REPLAY)
    conf.write_text(json.dumps(config))
    done = run("agent", "--compat", "neuron-monitor", "-c", conf, "--count", count,
               *options(tmp_path, sys.executable, replay, recorded))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


def number(value):
    return 0 if value is None else value


def same(theirs, ours, where=""):
    """Each member of theirs is in ours, with the value or 0 for null; no period, and no breakdown of subgraphs."""
    if isinstance(theirs, dict):
        for name, value in theirs.items():
            if name not in ("period", "usage_breakdown") or (name == "usage_breakdown" and "host" in value):
                assert name in ours, f"{where}/{name}"
                same(value, ours[name], f"{where}/{name}")
    elif isinstance(theirs, list):
        assert len(theirs) == len(ours), where
        for i, value in enumerate(theirs):
            same(value, ours[i], f"{where}/{i}")
    elif theirs is None:
        assert ours in (None, 0), f"{where}: {ours}"
    else:
        assert ours == theirs, f"{where}: {ours}, not {theirs}"


def find(lines, runtimes, stats, outcome, count):
    return next(line for line in lines if line[runtimes]
                and line[runtimes][0]["report"].get(stats, {}).get(outcome, {}).get("completed") == count)


def test_newer_reports_come_out_as_they_went_in(tmp_path):
    recorded = json.loads((RECORDED / "newer.jsonl").read_text().splitlines()[1])
    lines = lines_of(tmp_path, NEWER, RECORDED / "newer.jsonl", 8)
    ours = find(lines, "neuron_runtime_data", "execution_stats", "execution_summary", 7)
    healthy, broken = recorded["neuron_runtime_data"]
    same(healthy, ours["neuron_runtime_data"][0])
    assert ours["neuron_runtime_data"][1]["error"] == broken["error"]
    assert ours["neuron_runtime_data"][1]["report"]["execution_stats"]["error"] == "timed out"
    same(recorded["system_data"]["neuron_hw_counters"], ours["system_data"]["neuron_hw_counters"])
    same(recorded["neuron_hardware_info"], ours["neuron_hardware_info"])
    known = {name: recorded["instance_info"][name] for name in ("instance_id", "instance_type", "ami_id", "error")}
    same(known, ours["instance_info"])
    assert set(ours["instance_info"]) == set(recorded["instance_info"])
    assert list(ours) == list(recorded)


def test_older_reports_come_out_as_they_went_in(tmp_path):
    recorded = json.loads((RECORDED / "older.jsonl").read_text().splitlines()[1])
    lines = lines_of(tmp_path, OLDER, RECORDED / "older.jsonl", 8)
    count = recorded["runtime_data"][0]["report"]["inference_stats"]["inference_summary"]["completed"]
    ours = find(lines, "runtime_data", "inference_stats", "inference_summary", count)
    report = dict(recorded["runtime_data"][0]["report"])
    for model in report["memory"]["models"]:
        model.pop("memory_usage")  # here it is the sum of the subgraphs
    same(report, ours["runtime_data"][0]["report"])
    same(recorded["instance_data"], ours["instance_data"])
    assert list(ours) == list(recorded)


def test_facts_and_runtimes_stay_where_nothing_of_theirs_is_due(tmp_path):
    config = dict(NEWER, period="2s", system_metrics=[{"type": "memory_info", "period": "200ms"}])
    lines = lines_of(tmp_path, config, RECORDED / "newer.jsonl", 20)
    full = [i for i, line in enumerate(lines) if line["neuron_runtime_data"] and line["neuron_runtime_data"][0]["report"]]
    brief = [line for line in lines[full[0]:] if not line["neuron_runtime_data"][0]["report"]]
    assert brief and all(len(line["neuron_runtime_data"]) == 2 for line in brief)
    assert all(line["neuron_hardware_info"]["neuron_device_type"] == "trainium2" for line in lines[full[0]:])
    assert all(line["system_data"]["memory_info"]["error"] == "" for line in brief)
    assert not any("vcpu_usage" in line["system_data"] for line in lines)


def test_tag_filter(tmp_path):
    config = dict(NEWER, neuron_runtimes=[dict(NEWER["neuron_runtimes"][0], tag_filter="^se")])
    lines = lines_of(tmp_path, config, RECORDED / "newer.jsonl", 3)
    assert {runtime["neuron_runtime_tag"] for line in lines for runtime in line["neuron_runtime_data"]} == {"serve"}


# What users wrote for neuron-monitor's lines: each reads lines and prints one result.
SCRIPTS = {
    "cpu": """
import json, sys
for line in sys.stdin:
    cpu = json.loads(line)["system_data"]["vcpu_usage"]
    if cpu["error"] == "":
        busy = sum(v for k, v in cpu["average_usage"].items() if k not in ("idle", "io_wait"))
        print("busy %.1f of %d cpus, %d switches" % (busy, len(cpu["usage_data"]), cpu["context_switch_count"]))
""",
    "memory": """
import json, sys
for line in sys.stdin:
    report = json.loads(line)
    memory = report["system_data"]["memory_info"]
    print("host %.1f %%" % (100 * memory["memory_used_bytes"] / memory["memory_total_bytes"]), end="")
    for runtime in report["neuron_runtime_data"]:
        used = runtime["report"]["memory_used"]["neuron_runtime_used_bytes"]
        print(", %s %d + %d" % (runtime["neuron_runtime_tag"], used["host"], used["neuron_device"]), end="")
    print()
""",
    "hardware": """
import json, sys
total = {}
for line in sys.stdin:
    for device in json.loads(line)["system_data"]["neuron_hw_counters"]["neuron_devices"]:
        for name in ("mem_ecc_corrected", "mem_ecc_uncorrected", "sram_ecc_corrected", "sram_ecc_uncorrected"):
            key = (device["neuron_device_index"], name)
            total[key] = total.get(key, 0) + device[name]
print("ecc", sum(total.values()), "on", len({device for device, _ in total}), "devices")
""",
    "latency": """
import json, sys
done = 0
for line in sys.stdin:
    for runtime in json.loads(line)["neuron_runtime_data"]:
        if runtime["error"]:
            print("runtime", runtime["pid"], runtime["error"], file=sys.stderr)
            continue
        stats = runtime["report"]["execution_stats"]
        done += stats["execution_summary"]["completed"]
        for name in ("total_latency", "device_latency"):
            latency = stats["latency_stats"][name]
            if latency is not None:
                print(name, "p50 %.6f p99 %.6f" % (latency["p50"], latency["p99"]))
print("completed", done)
""",
}
EXPECTED = {"cpu": r"busy \d+\.\d of \d+ cpus, [1-9]\d* switches", "memory": r"host \d+\.\d %, train \d+ \+ \d+",
            "hardware": r"ecc 3 on 2 devices", "latency": r"^total_latency p50 \d+\.\d{6} p99 \d+\.\d{6}\ndevice_latency p50 .*\n(?:.*\n)*completed 7$"}


def test_scripts_read_it(tmp_path):
    lines = lines_of(tmp_path, NEWER, RECORDED / "newer.jsonl", 8)
    text = "".join(json.dumps(line) + "\n" for line in lines if line["neuron_runtime_data"])
    for name, script in SCRIPTS.items():
        done = subprocess.run([sys.executable, "-c", script], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{name}: {done.stderr}"
        assert re.search(EXPECTED[name], done.stdout, re.M), f"{name}: {done.stdout}"


def test_in_a_pipe_under_its_name(tmp_path):
    """The name alone is enough, the reader may go, and it never takes itself for a neuron-monitor."""
    program = tmp_path / "neuron-monitor"
    program.symlink_to(pathlib.Path(BUILD) / "agent")
    conf = tmp_path / "monitor.conf"
    conf.write_text(json.dumps({"period": "100ms", "system_metrics": [{"type": "memory_info"}]}))
    empty = tmp_path / "empty.ini"
    empty.touch()
    done = subprocess.run(f"neuron-monitor -c {conf} --config={empty} | head -n 2", shell=True, capture_output=True, text=True,
                          timeout=30, check=False, env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == 0 and done.stderr == ""
    for line in map(json.loads, done.stdout.splitlines()):
        assert line["system_data"]["memory_info"]["memory_total_bytes"] > 0
        assert line["neuron_hardware_info"]["error"] == "no Neuron device is found"


@pytest.mark.parametrize(("text", "words"), [
    ("{", "monitor.conf: line 1, column 1"),
    ("[]", "expected an object"),
    ("{}", "no group is asked for"),
    ('{"period": "1s", "period": "2s"}', "duplicate"),
    ('{"period": 1, "system_metrics": []}', 'period: expected a text such as "1s"'),
    ('{"period": "soon", "system_metrics": []}', 'period: "soon" is not understood; expected 10ms to 1h'),
    ('{"system_metrics": [{"type": "memory_infos"}]}', 'system_metrics[0].type: "memory_infos" is not a group of these; '
                                                       "expected one of: neuron_hw_counters, vcpu_usage, memory_info"),
    ('{"neuron_runtimes": [{"metrics": [{"type": "vcpu_usage"}]}]}', "neuron_runtimes[0].metrics[0].type"),
    ('{"neuron_runtimes": [{"metrics": [{}]}]}', "type is missing"),
    ('{"neuron_runtimes": [{"tag_filter": "(", "metrics": []}]}', 'tag_filter: "(" is no regular expression'),
    ('{"neuron_runtimes": [{"metrics": 1}]}', "neuron_runtimes[0].metrics: expected a list"),
    ('{"neuron_runtimes": [{"metrics": [{"type": "nc_counters"}]}]}', "period is missing"),
    ('{"period": "1s", "neuron_runtimes": [{"metrics": [{"type": "nc_counters"}]}], '
     '"system_metrics": [{"type": "vcpu_usage"}]}', "both generations"),
    ('{"system_metrics": [{"type": "memory_info", "period": "1s500"}]}', 'period: "1s500"'),
])
def test_wrong_configurations(tmp_path, text, words):
    conf = tmp_path / "monitor.conf"
    conf.write_text(text)
    done = run("agent", "--compat", "neuron-monitor", "-c", conf, *options(tmp_path, "off"))
    assert done.returncode == 2 and done.stdout == ""
    assert "monitor.conf: " in done.stderr and words in done.stderr


@pytest.mark.parametrize(("arguments", "words"), [
    (["--compat"], "--compat needs a value"),
    (["--compat", "dcgm"], '"dcgm" is not known; expected neuron-monitor'),
    (["--compat", "neuron-monitor", "-c"], "-c needs a value"),
    (["--compat", "neuron-monitor", "-c", "/nowhere"], "/nowhere: No such file"),
    (["--compat", "neuron-monitor", "--verbose", "5"], "expected 0 to 4"),
    (["--compat", "neuron-monitor", "--nothing"], "--nothing"),
    (["--compat", "neuron-monitor", "--list-groups"], "only --once and --count"),
])
def test_wrong_arguments(arguments, words):
    done = run("agent", *arguments)
    assert done.returncode == 2 and words in done.stderr


def test_what_has_no_effect_is_reported(tmp_path):
    conf = tmp_path / "monitor.conf"
    conf.write_text('{"periods": "1s", "system_metrics": [{"type": "memory_info", "period": "100ms", "unit": 1}]}')
    done = run("agent", "--compat", "neuron-monitor", "-c", conf, "--count", 1, "--verbose", 1, *options(tmp_path, "off"))
    assert done.returncode == 0
    assert "periods is not known" in done.stderr and "system_metrics[0].unit is not known" in done.stderr
