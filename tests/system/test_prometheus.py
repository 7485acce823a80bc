"""A real Prometheus scrapes the cluster: what it says is what was sampled."""

import contextlib
import json
import shutil
import socket
import subprocess
import urllib.parse

import pytest
from lib.programs import LIMIT, time_ns, wait_until
from lib.web import get, url_of

NODES = ("n1", "n2")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextlib.contextmanager
def started(command, log):
    """Of others; ended by its process."""
    with open(log, "wb") as out, subprocess.Popen([str(word) for word in command], stdout=out, stderr=out,
                                                  stdin=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()


CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
- job_name: nodes
  honor_timestamps: true
  http_sd_configs: [{{url: "{url}/sd", refresh_interval: 1s}}]
- job_name: aggregator
  metrics_path: /aggregator/metrics
  static_configs: [{{targets: ["{host}"]}}]
"""


@contextlib.contextmanager
def prometheus(cluster, url):
    """A function that asks it."""
    if not shutil.which("prometheus"):
        pytest.skip("prometheus is not installed")
    port = free_port()
    host = urllib.parse.urlsplit(url).netloc
    config = cluster.write("prometheus.yml", CONFIG.format(url=url, host=host))
    own = f"http://127.0.0.1:{port}"

    def ask(query, path="/api/v1/query"):
        try:
            answer = json.loads(get(own, f"{path}?query={urllib.parse.quote(query)}").text)
        except (OSError, ValueError):
            return None
        return answer["data"]["result"] if answer["status"] == "success" else None

    with started(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={cluster.folder / 'tsdb'}",
                  f"--web.listen-address=127.0.0.1:{port}"], cluster.folder / "prometheus.log"):
        yield ask


def test_scraped(cluster):
    """Found through /sd, under the nodes' names; each value is that of the line of its instant."""
    cluster.start_aggregator(config="[http]\nlisten = 127.0.0.1:0\ntimestamps = yes\n")
    cluster.start_nodes(*NODES, period="1s")
    url = url_of(cluster.aggregator)
    with prometheus(cluster, url) as ask:
        wait_until(lambda: len(ask('up{job="nodes"} == 1') or []) == 2, "both nodes", limit=2 * LIMIT)
        assert {one["metric"]["instance"] for one in ask('up{job="nodes"}')} == set(NODES)
        wait_until(lambda: len((ask('node_memory_MemFree_bytes{instance="n1"}[30s]') or [{"values": []}])[0]["values"]) > 5,
                   "some scrapes")
        for node in NODES:
            lines = {time_ns(line["time"]) // 1_000_000: line["report"]["system_data"]
                     for line in cluster.aggregator.lines(type="node", node=node)
                     if "memory_info" in line["report"].get("system_data", {})}
            for family, group, metric in (("node_memory_MemFree_bytes", "memory_info", "free"),
                                          ("node_load1", "load", "load_1")):
                points = ask(f'{family}{{instance="{node}"}}[30s]')[0]["values"]
                assert len(points) > 4
                for at, number in points:
                    assert float(number) == lines[round(at * 1000)][group][metric], (family, at)
        assert [one["value"][1] for one in ask("sum(synop_node_up)")] == ["2"]
        assert ask('synop_node_state{node="n1",state="up"} == 1')
        cluster.agents["n2"].kill()
        wait_until(lambda: [one["metric"]["instance"] for one in ask('up{job="nodes"} == 0') or []] == ["n2"],
                   "n2 is down there too")
        assert ask("scrape_samples_scraped")[0]["value"][1] != "0"
