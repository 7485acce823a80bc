"""An agent beside node-exporter: the same families, series and values, but for what docs/prometheus.md says."""

import fnmatch
import re
import time

import pytest
from lib.node_exporter import node_exporter, read
from lib.programs import LIMIT, ROOT, wait_until
from lib.web import url_of

parser = pytest.importorskip("prometheus_client.parser")

PAGE = (ROOT / "docs/prometheus.md").read_text()
DIFFERING = re.findall(r"^\| `(\S+)` \|", PAGE.partition("with other series")[2].partition("not there:")[0], re.MULTILINE)
ABSENT = re.findall(r"^\| `(\S+)` \|", PAGE.partition("<!-- names node-exporter absent -->")[2], re.MULTILINE)
# Groups that are sampled seldom, as often as all for once.
CONFIG = "[prometheus]\nnames = node-exporter\n" + "".join(f"[group {name}]\nperiod = 100ms\n" for name in ("interfaces", "conntrack", "clock_source", "connections", "agent"))


def stands_in(family, globs):
    return any(fnmatch.fnmatchcase(family, glob) for glob in globs)


def series(text):
    """{(name, labels): value}, without empty labels, which are none to Prometheus."""
    return {
        (one.name, tuple(sorted((name, value) for name, value in one.labels.items() if value))): one.value
        for family in parser.text_string_to_metric_families(text)
        for one in family.samples
    }


@pytest.fixture
def shown(cluster):
    """What an agent shows of this machine."""
    agent = cluster.start("agent-page", "agent", "--config", cluster.write("page.ini", CONFIG), "--period", "100ms",
                          "--jobs-book", cluster.folder / "jobs", "--http", "127.0.0.1:0")
    url = url_of(agent)
    wait_until(lambda: ("node_load1", ()) in series(read(f"{url}/metrics")), "values")
    return lambda: series(read(f"{url}/metrics"))


def different_series(ours, theirs):
    mine, other = ({name for name, _ in side} for side in (ours, theirs))
    lacking = {name for name in other - mine if not stands_in(name, ABSENT + DIFFERING)}
    there = mine & other & set(ABSENT)
    both = {name for name in mine & other if not stands_in(name, DIFFERING)}
    return lacking | there | {key for key in ours.keys() ^ theirs.keys() if key[0] in both}


def test_series(shown):
    with node_exporter() as exporter:
        for _ in range(10):  # an interface may come or go between the two
            ours, theirs = shown(), series(exporter())
            different = different_series(ours, theirs)
            if not different:
                break
            time.sleep(0.5)
    assert len(ours) > 300 and len(theirs) > 300
    assert different == set()


def test_values(shown):
    """Each value of node-exporter's lies between two of ours, one from before and one from after: at once, or, where a value
    goes up and down, sooner or later."""
    low, high, open_, agreed = {}, {}, None, set()
    end = time.monotonic() + LIMIT
    with node_exporter() as exporter:
        while open_ is None or (open_ and time.monotonic() < end):
            before, theirs, after = shown(), series(exporter()), {}
            sampled = theirs["node_time_seconds", ()]
            while after.get(("node_time_seconds", ()), 0) <= sampled:
                time.sleep(0.02)
                after = shown()
            open_ = {}
            for key in before.keys() & theirs.keys() & after.keys():
                low[key] = min(before[key], after[key], low.get(key, before[key]))
                high[key] = max(before[key], after[key], high.get(key, before[key]))
                slack = abs(high[key]) * 1e-9
                if low[key] - slack <= theirs[key] <= high[key] + slack:
                    agreed.add(key)
                elif key not in agreed and not key[0].startswith(("node_scrape_collector_", "process_")):
                    open_[key] = low[key], theirs[key], high[key]
    assert open_ == {} and len(agreed) > 300
