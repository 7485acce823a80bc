"""What public dashboards ask for (docs/dashboards.txt): each family with its labels is there, on this machine or on a played one
with everything."""

import re
import shutil
import time

import pytest
from lib.gpus import Gpus
from lib.programs import ROOT, environment, wait_until
from lib.web import get, url_of

parser = pytest.importorskip("prometheus_client.parser")

ASKED = [(part.splitlines()[0], line.split()) for part in (ROOT / "docs/dashboards.txt").read_text().split("\n\n")[1:]
         for line in part.splitlines()[1:]]
LACKING = set(re.findall(r"`\*?(\w+)`", (ROOT / "docs/prometheus.md").read_text().partition("exporter lacking -->")[2].partition("<!--")[0]))
# What no recorded root has.
MORE = {
    "proc/sys/net/netfilter/nf_conntrack_count": "12\n", "proc/sys/net/netfilter/nf_conntrack_max": "262144\n",
    "sys/class/hwmon/hwmon3/temp1_crit_hyst": "95000\n",
}
GPUS = "gpus 3\nmig 2 2\nfield * 82 61\n"  # one is split; memory has a temperature


@pytest.fixture
def page(cluster, tmp_path):
    """What the aggregator shows of this machine with played GPUs, and of one that has all that recorded ones have."""
    for root in ("small", "devices", "hwmon", "infiniband", "thermal"):
        shutil.copytree(ROOT / "tests/roots" / root, tmp_path / "root", dirs_exist_ok=True, symlinks=True)
    for path, text in MORE.items():
        (tmp_path / "root" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / path).write_text(text)
    cluster.start_aggregator(config="[http]\nlisten = 127.0.0.1:0\n[prometheus]\nnames = node-exporter, dcgm-exporter, moneo\n")
    gpus = Gpus(cluster.folder, GPUS)
    cluster.start_agent("live", *gpus.options, env=environment() | gpus.environment)
    cluster.start_agent("played", "--root", tmp_path / "root")
    cluster.wait_node("live")
    cluster.wait_node("played")
    gpus.say(GPUS + "xid 0 79\n")
    url = url_of(cluster.aggregator)
    return lambda: [one for family in parser.text_string_to_metric_families(get(url, "/metrics").text) for one in family.samples]


def missing(samples):
    """Of the families that are asked for: those without a series that has all labels."""
    labels = {}
    for one in samples:
        labels.setdefault(one.name, []).append({name for name, value in one.labels.items() if value})
    return [(board, family) for board, (family, *wanted) in ASKED
            if family.lstrip("*") not in LACKING and not any(set(wanted) <= has for has in labels.get(family.lstrip("*"), []))]


def of_gpus(samples):
    """{(family, GPU, instance of it): labels}"""
    return {(one.name, one.labels["gpu"], one.labels.get("mig")): one.labels for one in samples if one.name.startswith("DCGM_")}


def test_all_is_there(page):
    assert len(ASKED) > 280
    try:
        wait_until(lambda: not missing(page()), "all families")
    except AssertionError:
        assert missing(page()) == []
    before = of_gpus(page())
    for _ in range(10):  # a series stays the same one
        assert {key: labels for key, labels in of_gpus(page()).items() if labels != before.get(key, labels)} == {}
        time.sleep(0.1)
