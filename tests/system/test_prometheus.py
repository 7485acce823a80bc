"""A real Prometheus scrapes the cluster: what it says is what was sampled."""

import pytest
from lib.programs import LIMIT, time_ns, wait_until
from lib.receivers import Prometheus
from lib.web import url_of

NODES = ("n1", "n2")


@pytest.mark.skipif(not Prometheus.path(), reason="there is no prometheus here")
def test_scraped(cluster):
    """Found through /sd, under the nodes' names; each value is that of the line of its instant."""
    cluster.start_aggregator(config="[http]\nlisten = 127.0.0.1:0\ntimestamps = yes\n")
    cluster.start_nodes(*NODES, period="1s")
    ask = Prometheus(cluster, scrapes=url_of(cluster.aggregator)).start().query
    wait_until(lambda: len(ask('up{job="node"} == 1')) == 2, "both nodes", limit=2 * LIMIT)
    assert {one["metric"]["instance"] for one in ask('up{job="node"}')} == set(NODES)
    wait_until(lambda: len((ask('node_memory_MemFree_bytes{instance="n1"}[30s]') or [{"values": []}])[0]["values"]) > 5,
               "some scrapes")
    for node in NODES:
        lines = {time_ns(line["time"]) // 1_000_000: line["report"]["system_data"]
                 for line in cluster.aggregator.lines(type="node", node=node)
                 if "memory_info" in line["report"].get("system_data", {})}
        for family, group, metric in (("node_memory_MemFree_bytes", "memory_info", "free"), ("node_load1", "load", "load_1")):
            points = ask(f'{family}{{instance="{node}"}}[30s]')[0]["values"]
            assert len(points) > 4
            for at, number in points:
                assert float(number) == lines[round(at * 1000)][group][metric], (family, at)
    assert [one["value"][1] for one in ask("sum(synop_node_up)")] == ["2"]
    assert ask('synop_node_state{node="n1",state="up"} == 1')
    cluster.agents["n2"].kill()
    wait_until(lambda: [one["metric"]["instance"] for one in ask('up{job="node"} == 0')] == ["n2"], "n2 is down there too")
    assert ask("scrape_samples_scraped")[0]["value"][1] != "0"
