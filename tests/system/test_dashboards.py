"""The dashboards for Grafana: each query of each is run against a real Prometheus, which scrapes a cluster with GPUs,
InfiniBand and a job through the aggregator, and gives data."""

import shutil
import time

import pytest
from lib.dashboards import Dashboard, families, fill
from lib.gpus import Gpus
from lib.programs import LIMIT, ROOT, wait_until
from lib.receivers import Prometheus
from lib.web import url_of

FOLDER = ROOT / "aggregator/dashboards"
NAMES = {"cluster", "gpu", "profiling", "network", "node", "jobs", "time"}
# Memory's temperature and NVLinks' traffic are fields; reason 4 is the power limit.
GPUS = "gpus 2\nfield * 82 55\nfield * 138 4711\nfield * 139 4711\nvalue * reasons 4\nxid 1 48\n"
NODES = ("n1", "n2")
# What comes last, so that variables have values.
EARLY = ("synop_job_gpu_gpus_used", 'count(node_uname_info) == 2', "synop_cluster_gpu_power_watts")
RECORDED = ("small", "infiniband", "hwmon", "thermal", "devices")


def boards():
    return [Dashboard(path) for path in sorted(FOLDER.glob("*.json"))]


def test_files():
    """What Grafana and those who look expect of each."""
    made = boards()
    assert {board.made["uid"] for board in made} == {f"synop-{name}" for name in NAMES}
    assert len({board.made["title"] for board in made}) == len(NAMES)
    for board in made:
        panels = board.made["panels"]
        assert len({panel["id"] for panel in panels}) == len(panels)
        taken = set()
        for panel in panels:
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
            assert not cells & taken and place["x"] + place["w"] <= 24, (board.name, panel["title"])
            taken |= cells
            if panel["type"] != "row":
                assert panel["title"] and panel["description"], (board.name, panel["title"])
                assert panel["datasource"]["uid"] == "${datasource}" and panel["targets"]
        assert "synop" in board.made["tags"] and board.made["links"][0]["tags"] == ["synop"]
        assert board.variables[0]["current"]["value"] == "synop"
    source = (FOLDER / "provisioning/datasources.yaml").read_text()
    assert "uid: synop\n" in source and "name: synop\n" in source
    text = "".join(path.read_text() for path in FOLDER.glob("*.json"))
    for uid in {part.split("/")[0] for part in text.split('"/d/')[1:]}:
        assert uid in {board.made["uid"] for board in made}, uid


def job_of(cluster):
    """One that no test beside has."""
    return f"dashboards-{cluster.folder.name[-8:]}"


def play(cluster):
    """n1: this machine, with GPUs and a job that uses one. n2: recorded pieces of others, with GPUs and InfiniBand."""
    aggregator = cluster.start_aggregator(config="[http]\nlisten = 127.0.0.1:0\n")
    machine = cluster.folder / "machine"
    for name in RECORDED:
        shutil.copytree(ROOT / "tests/roots" / name, machine, dirs_exist_ok=True, symlinks=True)
    job = cluster.start("job", "agent", "run", "--job", job_of(cluster), "--", "sleep", "600")
    gpus = {node: Gpus(cluster.folder, GPUS + (f"process 0 {job.pid} 1000000\n" if node == "n1" else ""), name=f"gpus-{node}")
            for node in NODES}
    for node, more in (("n1", ()), ("n2", ("--root", machine))):
        cluster.start_agent(node, *gpus[node].options, *more, env=gpus[node].environment, period="500ms")
    return url_of(aggregator)


@pytest.mark.skipif(not Prometheus.path(), reason="there is no prometheus here")
def test_every_query_gives_data(cluster):
    ask = Prometheus(cluster, scrapes=play(cluster)).start().query
    wait_until(lambda: all(ask(f"{one} > 0") for one in EARLY), "scrapes")
    unanswered = [(board, where, query) for board in boards() for where, query in board.expressions()]
    assert len(unanswered) > 150

    def answered():
        """Asks once more what had no data yet, of all nodes or of any of them where a dashboard shows one."""
        for board in {board.name: board for board, _, _ in unanswered}.values():
            for node in NODES if any(one["name"] == "node" for one in board.variables) else (None,):
                values = board.resolve(ask, {"node": node} if node else None)
                assert all(values.values()), (board.name, values)
                unanswered[:] = [one for one in unanswered if one[0] is not board or not ask(fill(one[2], values))]
        return not unanswered or time.sleep(0.5)

    try:
        wait_until(answered, "an answer to every query", LIMIT / 2)
    except AssertionError:
        served = {one["metric"]["__name__"] for one in ask('count by (__name__) ({__name__=~".+"})')}
        unknown = {name for _, _, query in unanswered for name in families(fill(query, {}))} - served
        text = "\n".join(f"{where}: {query}" for _, where, query in unanswered)
        raise AssertionError(f"{len(unanswered)} queries have no data:\n{text}\nnot served: {unknown}") from None
    # Labels that tell GPUs and jobs apart stay as they are.
    assert not ask('count_over_time(DCGM_FI_DEV_GPU_UTIL{UUID=""}[1m])')
    assert len(ask(f'count by (name) (count_over_time(synop_job_info{{job_id="{job_of(cluster)}"}}[1m]))')) == 1
