"""The agent that docs/protocol.md shows, run against the real aggregator."""

import os

import pytest
from lib.programs import ROOT

pytestmark = pytest.mark.sanitized


def start_example(cluster):
    keys = cluster.keys_of("n1")
    script = ROOT / "docs" / "examples" / "agent.py"
    return cluster.start("example", "/usr/bin/python3", script, cluster.endpoint, "n1", keys)


def shows_changes(line):
    return line["report"]["system_data"]["python_network"]["total"]["rx_bytes"] is not None


def test_the_example_publishes(cluster):
    cluster.keys_of("n1")
    aggregator = cluster.start_aggregator()
    start_example(cluster)
    first = aggregator.wait_line(type="node", node="n1")
    assert first["seq"] == 1
    line = aggregator.wait_line(shows_changes, type="node", node="n1")
    groups = line["report"]["system_data"]
    assert list(groups) == ["python_load", "python_network"]
    assert 0.5 < groups["python_network"]["period"] < 60
    assert all(groups["python_load"][f"load_{minutes}"] >= 0 for minutes in (1, 5, 15))
    devices = groups["python_network"]["devices"]
    assert set(devices) <= set(os.listdir("/sys/class/net")) | set(devices) and "lo" in devices
    for name in ("rx_bytes", "tx_bytes"):
        assert groups["python_network"]["total"][name] == sum(device[name] for device in devices.values())


def test_the_example_learns_cluster_time(cluster):
    cluster.keys_of("n1")
    aggregator = cluster.start_aggregator()
    start_example(cluster)
    line = aggregator.wait_line(lambda line: line["clock"]["bound"] is not None, type="node", node="n1")
    assert 0 < line["clock"]["bound"] < 1
    tick = aggregator.wait_line(lambda line: line["nodes"]["reporting"] == 1, type="cluster")
    assert tick["report"]["system_data"]["python_load"]["load_1"]["nodes"] == 1


def test_the_example_comes_back_to_an_aggregator_that_is_restarted(cluster):
    cluster.keys_of("n1")
    aggregator = cluster.start_aggregator()
    start_example(cluster)
    before = aggregator.wait_line(type="node", node="n1")
    aggregator.kill()
    after = cluster.start_aggregator().wait_line(type="node", node="n1")
    assert after["session"] == before["session"] and after["seq"] > before["seq"]
