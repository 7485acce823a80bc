"""Profiling counters of GPUs in real processes, by the stand-ins for NVIDIA's libraries: the same names from GPM and from
DCGM, a host engine that is not there, goes, comes back and hangs, and the group switched off for a profiler."""

import os
import signal
import subprocess

import pytest
from lib.gpus import LIBRARY, Gpus
from lib.programs import BUILD, LIMIT, environment

RATES = {"pcie_tx_rate", "pcie_rx_rate", "nvlink_tx_rate", "nvlink_rx_rate"}
WITHOUT_GPM = "gpus 2\nvalue * gpm 0\n"


class Node:
    """An agent with GPUs, and maybe a host engine of DCGM."""

    def __init__(self, cluster, gpus, dcgm="gpus 2\n"):
        self.cluster = cluster
        self.gpus = Gpus(cluster.folder, gpus)
        self.engine = Gpus(cluster.folder, dcgm, name="dcgm")
        self.environment = self.gpus.environment | {
            "SYNOP_DCGM_SCRIPT": str(self.engine.path),
            "LD_LIBRARY_PATH": str(LIBRARY.parent),
        }

    def start(self, *options, **more):
        if not self.cluster.endpoint:
            self.cluster.start_aggregator()
        return self.cluster.start_agent("n1", *self.gpus.options, *options, env=self.environment, **more)

    def wait(self, check, after=0):
        return profiling(self.cluster.wait_node("n1", after=after, check=lambda line: (
            profiling(line) and check(profiling(line)))))

    def lines(self):
        return len(self.cluster.aggregator.lines(0))


def profiling(line):
    return line["report"]["system_data"].get("gpu_profiling")


def has_values(group):
    return group["gpus"] and all(gpu["sm_active"] is not None for gpu in group["gpus"].values())


def test_gpm(cluster):
    node = Node(cluster, "gpus 2\nvalue 1 gpm2 45500\nvalue 0 gpm_nan10 1\nvalue 0 gpm_error5 3\n")
    node.start()
    group = node.wait(has_values)
    assert group["source"] == "gpm" and group["error"] == ""
    assert group["gpus"]["1"]["sm_active"] == 45.5
    assert group["gpus"]["0"]["sm_active"] == 0.2 and group["total"]["sm_active"] == pytest.approx(22.85)
    assert group["gpus"]["0"]["dram_active"] is None and group["gpus"]["0"]["tensor_active"] is None
    assert group["gpus"]["0"]["pcie_tx_rate"] == pytest.approx(2 * 2**20)
    assert group["total"]["pcie_tx_rate"] == pytest.approx(4.1 * 2**20)
    tick = cluster.aggregator.wait_line(lambda line: profiling(line) and profiling(line)["total"].get("sm_active"),
                                        type="cluster")
    assert profiling(tick)["total"]["sm_active"]["mean"] == pytest.approx(22.85)


def test_dcgm_has_the_same_names(cluster):
    node = Node(cluster, WITHOUT_GPM, "gpus 2\nblank 1005 2\nblank 1012 1\nvalue 1002 0.5\nvalue 1009 3000000\n")
    node.start()
    group = node.wait(has_values)
    assert group["source"] == "dcgm" and group["error"] == ""
    gpu = group["gpus"]["1"]
    assert gpu["sm_active"] == 50 and gpu["pcie_tx_rate"] == 3e6
    assert gpu["dram_active"] is None and gpu["nvlink_rx_rate"] is None
    for name, value in gpu.items():
        assert value is None or 0 <= value <= (1e12 if name in RATES else 100), name


def test_a_host_engine_goes_and_comes_back(cluster):
    node = Node(cluster, WITHOUT_GPM, "down\n")
    agent = node.start()
    cluster.aggregator.wait_lines(6, type="node")
    assert all(profiling(line) is None for line in cluster.aggregator.lines(0, type="node")), "none was asked for"
    assert "gpu_profiling" not in agent.log() and "DCGM" not in agent.log()
    node.engine.say("gpus 2\n")
    node.wait(has_values)
    after = node.lines()
    node.engine.say("down\n")
    group = node.wait(lambda group: group["error"], after)
    assert group["error"].startswith("DCGM: 127.0.0.1:5555: ") and group["gpus"]["0"]["sm_active"] is None
    node.engine.say("gpus 2\n")
    node.wait(lambda group: has_values(group) and not group["error"], node.lines())


def test_a_host_engine_that_hangs_stops_only_this_group(cluster):
    node = Node(cluster, WITHOUT_GPM)
    agent = node.start()
    node.wait(has_values)
    node.engine.say("hang dcgmEntitiesGetLatestValues\n")
    after = node.lines()
    node.wait(lambda group: group["error"] == "timed out", after)
    threads = len(os.listdir(f"/proc/{agent.pid}/task"))
    after = node.lines()
    cluster.aggregator.wait_lines(6, after=after, type="node")
    for line in cluster.aggregator.lines(after, type="node"):
        assert profiling(line)["error"] == "timed out"
        assert line["report"]["system_data"]["gpu"]["error"] == "" and line["report"]["system_data"]["load"]["error"] == ""
    assert len(os.listdir(f"/proc/{agent.pid}/task")) <= threads, "threads pile up"
    node.engine.say("gpus 2\n")
    node.wait(lambda group: has_values(group) and not group["error"], node.lines())
    node.engine.say("hang dcgmEntitiesGetLatestValues\n")
    node.wait(lambda group: group["error"] == "timed out", node.lines())
    assert agent.stop() == 0, "while DCGM hangs"


def test_switched_off_for_a_profiler(cluster):
    node = Node(cluster, WITHOUT_GPM)
    agent = node.start()
    node.wait(has_values)
    (cluster.folder / "n1.ini").write_text("[group gpu_profiling]\nenabled = no\n")
    agent.signal(signal.SIGHUP)
    cluster.wait_node("n1", after=node.lines(), check=lambda line: (
        profiling(line) is None and line["report"]["system_data"].get("gpu")))
    (cluster.folder / "n1.ini").write_text("")
    agent.signal(signal.SIGHUP)
    node.wait(has_values, node.lines())


def test_an_aggregator_at_the_address_is_left_alone(cluster):
    """Its default port is the host engine's too."""
    node = Node(cluster, WITHOUT_GPM)
    cluster.start_aggregator()
    address = cluster.endpoint.removeprefix("tcp://")
    node.start("--gpu-dcgm", address)
    group = node.wait(lambda group: group["error"].startswith(f"DCGM: {address}: "))
    assert "it speaks first" in group["error"] and not group["gpus"]
    cluster.aggregator.wait_lines(6, after=node.lines(), type="node")
    assert cluster.counter("handshake_failed") <= 1


def test_list_groups_says_why(cluster):
    node = Node(cluster, WITHOUT_GPM, "down\n")
    for dcgm, why in (("off", "it is off ([gpu] dcgm)"), ("127.0.0.1:5555", "127.0.0.1:5555: ")):
        done = subprocess.run([BUILD / "agent", "--list-groups", *node.gpus.options, "--gpu-dcgm", dcgm],
                              env=environment() | node.environment, capture_output=True, text=True, timeout=LIMIT, check=True)
        said = [line for line in done.stdout.splitlines() if line.startswith("Not on this machine: gpu_profiling: ")]
        assert len(said) == 1 and "the GPUs have no GPM" in said[0] and f"DCGM: {why}" in said[0], done.stdout
