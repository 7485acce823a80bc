"""GPUs in real processes, by the stand-in for NVIDIA's library: node lines, the combined report, jobs, and a driver that
hangs, goes away and comes back."""

import os
import re
import subprocess

import pytest
from lib.gpus import Gpus
from lib.programs import BUILD, LIMIT, environment, parse_line, run, wait_until


@pytest.fixture
def gpus(cluster):
    return Gpus(cluster.folder, "gpus 8\nvalue 3 utilization 0\n")


def of(line, group="gpu", section="system_data"):
    return line["report"][section].get(group)


def start(cluster, gpus, node="n1", **more):
    return cluster.start_agent(node, *gpus.options, env=gpus.environment, **more)


def count_threads(program):
    return len(os.listdir(f"/proc/{program.pid}/task"))


def test_node_lines_and_the_combined_report(cluster, gpus):
    cluster.start_aggregator()
    start(cluster, gpus)
    cluster.start_agent("n2", "--gpu-library", "/nonexistent.so")
    line = cluster.wait_node("n1", check=lambda line: of(line) and of(line)["gpus"])
    assert list(of(line)["gpus"]) == [str(i) for i in range(8)]
    assert of(line)["gpus"]["5"]["power"] == 105
    assert of(line)["total"]["power"] == sum(100 + i for i in range(8))
    assert of(cluster.wait_node("n2")) is None, "a node without GPUs says nothing of them"
    info = cluster.wait_node("n1", check=lambda line: of(line, "gpu_info") and of(line, "gpu_info")["gpus"])
    assert of(info, "gpu_info")["gpus"]["7"]["name"] == "Stand-in H100 7"
    tick = cluster.aggregator.wait_line(lambda line: "gpu" in line["report"]["system_data"], type="cluster")
    assert tick["report"]["system_data"]["gpu"]["total"]["power"] is not None


def test_a_call_that_hangs_stops_only_its_lane(cluster, gpus):
    cluster.start_aggregator()
    agent = start(cluster, gpus)
    cluster.wait_node("n1", check=lambda line: of(line) and of(line)["gpus"])
    gpus.say("gpus 8\nhang nvmlDeviceGetPowerUsage 2\n")
    line = cluster.wait_node("n1", check=lambda line: of(line) and of(line)["error"] == "timed out")
    assert of(line, "cpu_usage")["error"] == ""
    threads = count_threads(agent)
    after = len(cluster.aggregator.lines(0))
    cluster.aggregator.wait_lines(8, after=after, type="node")
    for line in cluster.aggregator.lines(after, type="node"):
        assert of(line)["error"] == "timed out" and of(line, "load")["error"] == ""
        assert of(line, "gpu_nvlink")["error"] == "" and len(of(line, "gpu_nvlink")["links"]) > 8
    assert count_threads(agent) <= threads, "threads pile up"
    gpus.say("gpus 8\n")
    after = len(cluster.aggregator.lines(0))
    line = cluster.wait_node("n1", after=after, check=lambda line: of(line)["gpus"] and not of(line)["error"])
    gpus.say("gpus 8\nhang nvmlDeviceGetTemperature\n")
    cluster.wait_node("n1", after=after, check=lambda line: of(line)["error"] == "timed out")
    assert agent.stop() == 0, "while the driver hangs"


def test_lost_reloaded_and_counters(cluster, gpus):
    cluster.start_aggregator()
    agent = start(cluster, gpus)
    cluster.wait_node("n1", check=lambda line: of(line) and of(line)["gpus"])
    gpus.say("gpus 8\nlost 2\nxid 2 79\n")
    line = cluster.wait_node("n1", check=lambda line: of(line) and of(line)["error"])
    assert of(line)["error"] == "GPU 2: lost"
    assert of(line)["gpus"]["2"]["state"] == "lost" and of(line)["gpus"]["2"]["power"] is None
    assert of(line)["gpus"]["4"]["power"] == 104
    wait_until(lambda: "group gpu: GPU 2: lost" in agent.log(), "a warning")
    gpus.say("gpus 8\nreload 1\n")  # its counters begin anew
    after = len(cluster.aggregator.lines(0))
    cluster.wait_node("n1", after=after, check=lambda line: of(line)["gpus"] and not of(line)["error"])
    cluster.aggregator.wait_lines(4, after=after, type="node")
    for line in cluster.aggregator.lines(0, type="node"):
        for gpu in (of(line) or {"gpus": {}})["gpus"].values():
            assert gpu["energy"] is None or gpu["energy"] >= 0, gpu
    log = agent.log()
    assert log.count("XID 79") == 1 and log.count("group gpu: GPU 2: lost") == 1, log


def job_use(line, job):
    """What job_gpu says of it; None: nothing."""
    for entry in line["report"].get("job_data") or []:
        if entry["job_id"] == job:
            return entry["report"].get("job_gpu")
    return None


def report_of_its_gpus(cluster):
    """Of each GPU that it was given, and nothing of the others; the one that it leaves idle is named first."""
    places = ("--config", cluster.empty, "--history", cluster.history, "--socket", cluster.socket)

    def gpus():
        done = run("aggregator", "report", "4711", "--json", *places)
        return parse_line(done.stdout)["nodes"][0]["gpus"] if done.returncode == 0 else []

    used, idle = wait_until(lambda: (found := gpus()) and found[0]["xid"] and found, "the XID in the report")
    assert (used["gpu"], idle["gpu"]) == ("2", "3")
    assert used["idle"] < 100 and idle["idle"] == 100
    assert used["utilization"]["maximum"] == 80 and idle["utilization"] == {"mean": 53, "maximum": 53}
    assert used["memory"]["maximum"] == 3 * 2**30
    assert used["energy"] > 0 and 0 < used["throttled"] < 100 and used["throttled_power"] == 0
    assert (used["xid_errors"], used["xid"]) == (1, 48) and (idle["xid_errors"], idle["xid"]) == (0, None)
    text = run("aggregator", "report", "4711", *places).stdout
    # No process is seen on GPU 3, which is used 53 %: whosever they are, it is not idle.
    assert re.search(r"\n  GPU 3 on n1 .* 100 % .*\n", text) and "left idle" not in text, text
    assert "The driver reported errors (XIDs) of GPU 2 on n1." in text
    assert "GPU 2 on n1" in text and "GPU 0" not in text


def test_a_job_and_the_gpus_that_it_leaves_idle(cluster, gpus):
    job = environment() | {"SLURM_JOB_ID": "4711", "SLURM_JOB_GPUS": "2-3"}
    worker = subprocess.Popen(["sleep", "600"], env=job, start_new_session=True)
    try:
        gpus.say(f"gpus 4\nvalue 2 utilization 80\nprocess 2 {worker.pid} 1000000\n")
        cluster.start_aggregator()
        start(cluster, gpus)
        use = job_use(cluster.wait_node("n1", check=lambda line: (job_use(line, "4711") or {}).get("gpus_used") == 1), "4711")
        assert use["gpus"] == "2,3" and use["gpus_allocated"] == 2
        assert use["gpus_idle"] == 1 and use["idle"] == "3"
        assert use["memory_used"] == 1000000
        name = f"2/{worker.pid}"
        cluster.wait_node("n1", check=lambda line: ((of(line, "gpu_processes") or {"processes": {}})["processes"]
                                                    .get(name, {}).get("job") == "4711"))
        line = cluster.wait_node("n1", check=lambda line: (job_use(line, "4711") or {}).get("energy"))
        assert 0 < job_use(line, "4711")["energy"] < 205 * 60
        gpus.say(f"gpus 4\nvalue 2 utilization 80\nvalue * reasons 4\nxid 2 48\nprocess 2 {worker.pid} 1000000\n")
        cluster.wait_node("n1", check=lambda line: of(line)["gpus"]["2"]["xid"] == 48)
        report_of_its_gpus(cluster)
    finally:
        worker.kill()
        worker.wait()


def test_without_a_driver_nothing_is_said(cluster, gpus):
    gpus.say("init 9\n")
    cluster.start_aggregator()
    agent = start(cluster, gpus)
    cluster.aggregator.wait_lines(6, type="node")
    for line in cluster.aggregator.lines(0, type="node"):
        assert of(line) is None
    assert "NVIDIA" not in agent.log() and "gpu" not in agent.log()


def test_list_groups_says_why(cluster):
    done = run("agent", "--list-groups", "--gpu-library", cluster.folder / "nothing.so")
    assert done.returncode == 0
    assert f"{cluster.folder}/nothing.so" in done.stdout


def test_list_groups_ends_while_the_driver_hangs(gpus):
    gpus.say("hang nvmlInit_v2\n")
    done = subprocess.run([BUILD / "agent", "--list-groups", *map(str, gpus.options)], env=environment() | gpus.environment,
                          capture_output=True, text=True, timeout=LIMIT, check=True)
    assert re.search(r"\bjob_gpu\b.*: the driver has not answered", done.stdout) and "Neuron device" in done.stdout


def test_a_lost_gpu_and_its_return_are_events(cluster, gpus):
    cluster.start_aggregator()
    start(cluster, gpus)
    cluster.wait_node("n1", check=lambda line: of(line) and of(line)["gpus"])
    gpus.say("gpus 8\nlost 3\n")
    failed = cluster.wait_event("group_failed", node="n1", check=lambda line: "gpu" in line["groups"])
    assert failed["error"] == "GPU 3: lost"
    assert {"group": "gpu", "error": "GPU 3: lost"} in cluster.node_status("n1")["failing"]
    gpus.say("gpus 8\n")
    recovered = cluster.wait_event("group_recovered", node="n1", check=lambda line: "gpu" in line["groups"])
    assert recovered["error"] == "GPU 3: lost"
    wait_until(lambda: cluster.node_status("n1")["failing"] == [], "a node without failures")
    assert len([line for line in cluster.aggregator.lines(type="event") if "gpu" in line.get("groups", [])]) == 2
