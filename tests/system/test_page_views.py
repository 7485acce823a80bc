"""The page's views of a node, of jobs, events and clocks, in a real browser: with a cluster of three, by keyboard alone, with
names and texts that would be markup, and with what the commands print as the measure."""

import contextlib
import itertools
import json
import re
import time
import urllib.parse

import pytest
from lib import protocol
from lib.browser import browser_or_skip
from lib.cluster import Cluster
from lib.gpus import Gpus
from lib.hostile import evil
from lib.programs import parse_line, wait_until
from lib.protocol import COUNTER, GAUGE, OF_NODE, Group, Metric
from lib.web import get, url_of
from system.test_hostile_words import JOB as JOB_GROUP
from system.test_hostile_words import text

S = 1_000_000_000
API = "/api/v1/"
JOB = "page-job"
MARKUP = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'
WORDS = [MARKUP, "javascript:window.hit=1", "\x1b[31mred\x1b[2J", "\u202eright to left\u2066", "'\"><svg onload=window.hit=1>", "a,b c*?[x]\\"]
EVIL = [Group("plain", help=MARKUP, metrics=[Metric("level", GAUGE, flags=OF_NODE, help=MARKUP)]),
        Group("disk_io", row="block device", rows_name="devices", fold_name="total", metrics=[Metric("read_bytes", COUNTER), Metric("io_time", COUNTER)]),
        Group("job_cpu", **JOB_GROUP, metrics=[Metric("user_time", COUNTER, per=S), Metric("system_time", COUNTER, per=S)]),
        Group("job_info", **JOB_GROUP, metrics=[text("scheduler"), text("user"), text("name"), Metric("started", GAUGE)]),
        Group("job_memory", **JOB_GROUP, metrics=[Metric("rss", GAUGE), Metric("rss_peak", GAUGE)])]


@pytest.fixture(name="shown", scope="module")
def fixture_shown():
    """A cluster of three with GPUs, a job that runs and two that ended: for all tests that leave it as it is."""
    cluster = Cluster()
    try:
        gpus = Gpus(cluster.folder, "gpus 2\n")
        cluster.start_aggregator(config="[http]\nlisten = 127.0.0.1:0\n[jobs]\ngrace = 1s\n[history]\nchunk_time = 300ms\n"
                                        "[aggregator]\nstale_periods = 3\ndown_periods = 5\n")
        cluster.start_nodes("n1", "n2", "n3")
        cluster.start_agent("gpu1", *gpus.options, env=gpus.environment)
        cluster.wait_node("gpu1")
        cluster.gpus = gpus
        url = url_of(cluster.aggregator)
        for job in ("paged-1", "paged-2"):
            run_job(cluster, job, "1.5")
        cluster.start("job", "agent", "run", "--job", JOB, "--", "sleep", "600")
        for job in ("paged-1", "paged-2"):
            cluster.aggregator.wait_line(type="job", event="ended", job_id=job)
        wait_until(lambda: get(url, f"{API}jobs/{JOB}").status == 200, "the job")
        yield cluster, url
    finally:
        cluster.close()


def run_job(cluster, job, seconds):
    cluster.start(job, "agent", "run", "--job", job, "--", "sleep", seconds)
    cluster.aggregator.wait_line(type="job", event="started", job_id=job)


@pytest.fixture(name="tabs", scope="module")
def fixture_tabs(shown):
    """Opens an address of the page in a browser that all tests share; whoever asks wants its console to stay empty."""
    made = browser_or_skip()
    try:
        yield lambda place, **more: made.open(f"{shown[1]}/#/{place}", **more)
    finally:
        made.close()


@contextlib.contextmanager
def opened(tabs, place, silent=True, **more):
    tab = tabs(place, **more)
    try:
        yield tab
        if silent:
            assert tab.said() == []
    finally:
        tab.close()


def ask(url, path):
    page = get(url, API + path)
    assert page.status == 200, page.text
    return json.loads(page.text)


def rows(tab, label):
    """The texts of a table's cells: [[cell, ...], ...]."""
    return tab.evaluate(f"""[...[...document.querySelectorAll('table')].find((one) => one.caption?.textContent === {json.dumps(label)})
      ?.tBodies[0].rows ?? []].map((row) => [...row.cells].map((cell) => cell.innerText.trim()))""")


def wait_rows(tab, label, wanted):
    return wait_until(lambda: (found := rows(tab, label)) and wanted(found) and found, f"the rows of {label}")


def has_curve(tab, name):
    """A canvas with ink on it, in the panel of that curve."""
    return tab.evaluate(f"""(() => {{
      const panel = [...document.querySelectorAll('.curve')].find((one) => one.querySelector('h2, h3').textContent === {json.dumps(name)});
      const canvas = panel?.querySelector('canvas');
      if (!canvas?.width) return false;
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {{willReadFrequently: true}});
      copy.drawImage(canvas, 0, 0);
      const data = copy.getImageData(0, 0, canvas.width, canvas.height).data;
      return data.some((value) => value > 0);
    }})()""")


VIEWS = ["node?node=n1", "node?node=gpu1", "jobs", f"job?job={JOB}", "compare?a=paged-1&b=paged-2", "events", "clocks"]
READY = {"node": "document.querySelectorAll('.part').length > 5 && document.querySelectorAll('details.group').length > 10",
         "jobs": "document.querySelectorAll('tbody tr').length >= 3", "job": "document.querySelectorAll('.meter').length > 0",
         "compare": "document.querySelectorAll('tbody tr').length > 5", "events": "document.querySelectorAll('tbody tr').length > 3",
         "clocks": "document.querySelectorAll('tbody tr').length === 4"}


@pytest.mark.parametrize("place", VIEWS)
def test_accessible(tabs, place):
    """In light and dark, wide and narrow: nothing in the console, nothing that axe finds, nothing wider than the screen."""
    for dark, width in ((False, 1400), (True, 380)):
        with opened(tabs, place, dark=dark, width=width) as tab:
            tab.wait(READY[place.split("?")[0]])
            tab.pump(0.5)
            assert tab.accessibility() == []
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            assert tab.evaluate("document.title").endswith("synop")


# ---- a node ----

def test_node_hides_nothing(shown, tabs):
    """Each group of the node's lines, each metric and row of it, with its value."""
    _, url = shown
    lines = ask(url, "lines?type=node&node=gpu1&from=-60s&limit=500")["lines"]
    groups = {name: value for line in lines for name, value in line["report"].get("system_data", {}).items()}
    with opened(tabs, "node?node=gpu1") as tab:
        tab.wait(READY["node"])
        names = "[...document.querySelectorAll('.group-name')].map((one) => one.textContent)"
        wait_until(lambda: set(groups) <= set(tab.evaluate(names)), "all groups")
        assert {"hardware_info", "instance_info"} <= set(tab.evaluate(names))
        tab.evaluate("document.querySelectorAll('details.group').forEach((one) => one.open = true)")
        for name, value in groups.items():
            own = {key for key, one in value.items() if not isinstance(one, dict) and key not in ("period", "error")}
            if own:
                assert own <= {row[0] for row in wait_rows(tab, f"{name}: values of the node", len)}, name
        usage = wait_rows(tab, "cpu_usage: each CPU", len)
        assert [row[0] for row in usage] == list(groups["cpu_usage"]["usage_data"])
        memory = dict(row[:2] for row in rows(tab, "memory_info: values of the node"))
        assert memory["total"] == tab.evaluate(f"import('./units.js').then((units) => units.format({groups['memory_info']['total']}, 'bytes'))")
        models = {row[1] for row in wait_rows(tab, "GPUs", len)}
        assert models == {gpu["name"] for gpu in groups["gpu_info"]["gpus"].values()}


def test_node_curves(shown, tabs):
    """A click on any value brings its curve, and takes it away; the address has it, and brings it back elsewhere."""
    with opened(tabs, "node?node=n1&over=5m") as tab:
        tab.wait("document.querySelector('.part-load button[data-curve]') !== null")
        assert tab.evaluate("document.querySelectorAll('.curve').length") == 2, "CPUs and memory at first"
        tab.click(".part-load button[data-curve='load.load_1']")
        wait_until(lambda: has_curve(tab, "load.load_1"), "the curve")
        assert tab.evaluate("document.querySelector('.part-load button[data-curve]').getAttribute('aria-pressed')") == "true"
        device = tab.evaluate("document.querySelector('.part-network button[data-curve]').dataset.curve")
        tab.evaluate("document.querySelector('.part-network button[data-curve]').click()")
        metric, _, row = device.partition("@")
        wait_until(lambda: has_curve(tab, f"{metric} {row}"), "the curve of a device")
        place = tab.wait(f"location.hash.includes({json.dumps(metric)}) && location.hash")
        with opened(tabs, place[2:]) as other:
            wait_until(lambda: has_curve(other, "load.load_1") and has_curve(other, f"{metric} {row}"), "the same curves")
            assert other.evaluate("document.querySelector('#curves-span').value") == "5m"
        tab.evaluate("document.querySelectorAll('.curve-head button').forEach((one) => one.click())")
        tab.wait("document.querySelectorAll('.curve').length === 0 && location.hash.includes('curves=none')")


def test_node_of_the_past(shown, tabs):
    """What the page shows of an instant is what replay prints of it; before the first sample it says that there is none."""
    cluster, url = shown
    lines = wait_until(lambda: (found := ask(url, "lines?type=node&node=n1&group=load&from=-30s")["lines"]) and len(found) > 20 and found, "lines")
    line = lines[len(lines) // 2]
    at = line["time"][:23] + "Z"
    with opened(tabs, f"node?node=n1&at={at}") as tab:
        tab.wait("document.querySelector('.part-load dd') !== null")
        value = line["report"]["system_data"]["load"]
        newest = [one for one in lines if one["time"] <= at][-1]["report"]["system_data"]["load"]
        told = [tab.evaluate(f"import('./units.js').then((units) => units.format({one['tasks']}))") for one in (value, newest)]
        assert tab.evaluate("document.querySelector('.part-load [data-curve=\"load.tasks\"]').textContent") in told
        assert "Sample of" in tab.text(".head")
    with opened(tabs, "node?node=n1&at=2020-01-01T00:00:00Z") as tab:
        tab.wait("document.querySelector('.head').innerText.includes('No sample of this time')")
    with opened(tabs, "node?node=nobody") as tab:
        tab.wait("document.querySelector('.problem').innerText.includes('No node nobody')")


# ---- jobs ----

def test_node_that_is_not(tabs):
    with opened(tabs, "node?node=n9", silent=False) as tab:
        tab.wait("document.querySelectorAll('.curve').length === 2")
        tab.pump(1)
        assert "No node n9 is listed." in tab.text(".problem")


def test_jobs(tabs):
    """Searched, sorted by heads that say so, by an address that brings the same."""
    with opened(tabs, "jobs") as tab:
        jobs = wait_rows(tab, "Jobs", lambda found: len(found) >= 3)
        assert {row[1] for row in jobs} >= {JOB, "paged-1", "paged-2"}
        assert next(row for row in jobs if row[1] == JOB)[4] == "running"
        tab.click("#jobs-search")
        tab.write("paged n2")
        wait_rows(tab, "Jobs", lambda found: [row[1] for row in found] == ["paged-2", "paged-1"])
        head = "[...document.querySelectorAll('th')].find((one) => one.textContent === 'Job')"
        tab.evaluate(f"{head}.querySelector('button').click()")
        wait_rows(tab, "Jobs", lambda found: [row[1] for row in found] == ["paged-1", "paged-2"])
        assert tab.evaluate(f"{head}.getAttribute('aria-sort')") == "ascending"
        place = tab.wait("location.hash.includes('sort=id') && location.hash")
        with opened(tabs, place[2:]) as other:
            wait_rows(other, "Jobs", lambda found: [row[1] for row in found] == ["paged-1", "paged-2"])
        for _ in range(2):
            tab.evaluate("[...document.querySelectorAll('td input, th input')].find((one) => !one.checked)?.click()")
        tab.wait("!document.querySelector('a.button').hidden")
        tab.click("a.button")
        tab.wait("location.hash.startsWith('#/compare')")
        wait_rows(tab, "Figures of both jobs", lambda found: len(found) > 5)


def test_job(shown, tabs):
    """The report's figures, a curve for each quantity, and downloads that are what the command prints."""
    cluster, url = shown
    report = ask(url, "jobs/paged-1")
    places = ["--config", cluster.empty, "--history", cluster.history, "--socket", cluster.socket]
    with opened(tabs, "job?job=paged-1") as tab:
        nodes = wait_rows(tab, "Nodes of the job", len)
        assert {row[1] for row in nodes} == {one["node"] for one in report["nodes"]}
        figures = {row[0]: row for row in rows(tab, "In figures")}
        mean = report["total"]["cpu_usage"]["mean"]
        assert figures["CPU use"][2] == tab.evaluate(f"import('./units.js').then((units) => units.format({mean}, 'percent'))")
        assert tab.evaluate("[...document.querySelectorAll('.meter-name')].map((one) => one.innerText)") == [
            *(one["title"] for one in report["meters"]), "Peak memory", *(["Energy"] if report["energy"] else [])]
        wait_until(lambda: has_curve(tab, "Memory"), "the curve of memory")
        links = dict(tab.evaluate("[...document.querySelectorAll('.downloads a')].map((one) => [one.textContent, one.href])"))
        assert set(links) == {"PDF", "HTML", "CSV", "JSON", "Text"}
        for name, form in (("CSV", "csv"), ("JSON", "json"), ("Text", "text")):
            sent = get(url, urllib.parse.urlsplit(links[name]).path + "?" + urllib.parse.urlsplit(links[name]).query)
            assert sent.text == cluster.succeed("aggregator", "report", "paged-1", "--format", form, *places), name
            assert "attachment" in sent.headers["Content-Disposition"]
        for name, begin in (("PDF", b"%PDF"), ("HTML", b"<!DOCTYPE html>")):
            parts = urllib.parse.urlsplit(links[name])
            assert get(url, f"{parts.path}?{parts.query}").body.startswith(begin)
    with opened(tabs, "job?job=nothing", silent=False) as tab:
        tab.wait("document.querySelector('.problem').innerText.includes('there is no job nothing')")


def test_compare(shown, tabs):
    """What differs is marked, with how much."""
    _, url = shown
    reports = [ask(url, f"jobs/{job}") for job in ("paged-1", "paged-2")]
    with opened(tabs, "compare?a=paged-1&b=paged-2") as tab:
        table = {row[0]: row[1:] for row in wait_rows(tab, "Figures of both jobs", lambda found: len(found) > 5)}
        assert table["Nodes"][:2] == [str(len(report["nodes"])) for report in reports]
        marked = tab.evaluate("[...document.querySelectorAll('tr.is-marked')].map((row) => row.cells[0].innerText)")
        means = [report["total"]["cpu_usage"]["mean"] for report in reports]
        assert ("CPU use, mean" in marked) == (abs(means[1] - means[0]) / means[0] >= 0.1 if means[0] else means[1] != 0)
        wait_until(lambda: has_curve(tab, "Memory"), "both curves")


# ---- events, clocks ----

def test_events_and_alerts(shown, tabs):
    """The log filters; a node that goes down is an alert until it is back; an XID is one too."""
    cluster, _ = shown
    with opened(tabs, "events") as tab:
        log = wait_rows(tab, "Events", lambda found: any(row[2] == "node up" and row[1] == "n3" for row in found))
        assert any(row[2] == "aggregator started" for row in log)
        assert f"Job {JOB} began" in {row[3].split(" (")[0] for row in log}
        tab.click("#events-node")
        tab.write("n3")
        wait_rows(tab, "Events", lambda found: all(row[1] == "n3" for row in found))
        tab.wait("location.hash.includes('node=n3')")
        cluster.agents["n3"].stop()
        wait_rows(tab, "Events", lambda found: found[0][2] == "node down")
        alerts = wait_rows(tab, "Alerts that stand", lambda found: any(row[1] == "n3" and row[2].startswith("down") for row in found))
        assert alerts[0][0] == "alarm"
        cluster.start_agent("n3")
        wait_rows(tab, "Events", lambda found: found[0][2] == "node up")
        wait_until(lambda: not any(row[1] == "n3" and "down" in row[2] for row in rows(tab, "Alerts that stand")), "the end of the alert")
    cluster.gpus.say("gpus 2\nxid 1 79\n")
    wait_until(lambda: any(one["points"] and any(point[1] for point in one["points"]) for one in
                           ask(shown[1], "query?metric=gpu.xid_errors&rows&from=-5m&step=1m")["series"]), "the XID in the history")
    with opened(tabs, "events") as tab:
        wait_rows(tab, "Alerts that stand", lambda found: any(row[1] == "gpu1" and row[2] == "XID errors on GPU 1: 1" for row in found))


def test_clocks(shown, tabs):
    """Every node's clock, sorted by how far it is off, and curves of the ticks and of a node."""
    _, url = shown
    with opened(tabs, "clocks") as tab:
        nodes = wait_rows(tab, "Clocks of the nodes", lambda found: len(found) == len(ask(url, "nodes")["nodes"]))
        assert {row[0] for row in nodes} == {one["node"] for one in ask(url, "nodes")["nodes"]}
        assert tab.evaluate("document.querySelector('th[aria-sort=descending]').innerText.includes('off by')")
        wait_until(lambda: has_curve(tab, "Spread of a tick, and its error bound"), "the spread")
        tab.evaluate("document.querySelector('button[data-curve=n2]').click()")
        wait_until(lambda: has_curve(tab, "Wall clock of n2"), "the node's curve")
        tab.wait("location.hash.includes('node=n2')")


# ---- keys ----

def reach(tab, condition, most=80):
    """Presses Tab until the focused element is one that the expression wants, of `at`."""
    for _ in range(most):
        tab.key("Tab")
        if tab.evaluate(f"((at) => {condition})(document.activeElement)"):
            return
    raise AssertionError(f"{condition}: not reached by Tab")


def test_keyboard(tabs):
    """From the list of jobs to a job, to a node, to a curve of one of its CPUs, without a mouse."""
    with opened(tabs, "jobs?q=page-job") as tab:
        wait_rows(tab, "Jobs", lambda found: len(found) == 1)
        reach(tab, "at.innerText === 'Lasted'")
        tab.key("Enter")
        tab.wait("[...document.querySelectorAll('th')].some((one) => one.getAttribute('aria-sort') === 'descending' && one.innerText === 'Lasted')")
        reach(tab, f"at.innerText === '{JOB}'")
        tab.key("Enter")
        tab.wait("document.querySelectorAll('.meter').length > 0")
        reach(tab, "at.innerText === 'n2'")
        tab.key("Enter")
        tab.wait("location.hash.includes('node=n2') && document.querySelectorAll('button.cpu').length > 0")
        reach(tab, "at.classList.contains('cpu')")
        tab.key("End")
        last = tab.evaluate("document.activeElement.dataset.curve")
        tab.key(" ")
        tab.wait("document.activeElement.getAttribute('aria-pressed') === 'true'")
        metric, _, row = last.partition("@")
        wait_until(lambda: has_curve(tab, f"{metric} {row}"), "the curve")
        reach(tab, "at.closest('.part-network') && at.matches('button[data-curve]')")
        before = tab.evaluate("document.activeElement.dataset.curve")
        tab.key("ArrowRight")
        after = tab.evaluate("document.activeElement.dataset.curve")
        assert after != before and after.partition("@")[2] == before.partition("@")[2], "arrows go from value to value"
        reach(tab, "at.matches('details.group summary')", most=160)
        tab.key("Enter")
        tab.wait("document.querySelector('details.group').open")


# ---- strangers' words ----

def show_evil(peer, number):
    info = {"scheduler": "slurm", "user": MARKUP, "name": WORDS[5]}
    jobs = {word: {"user_time": number * S, "system_time": 0} for word in ("evil-7", MARKUP)}
    peer.publish([protocol.table_wire(peer.groups, "plain", S, {"level": 1}, error=f"{MARKUP} {WORDS[2]}"),
                  protocol.table_wire(peer.groups, "disk_io", S, rows={word: {"read_bytes": number * 1000, "io_time": 0} for word in WORDS}),
                  protocol.table_wire(peer.groups, "job_cpu", S, rows=jobs),
                  protocol.table_wire(peer.groups, "job_info", S, rows={job: info | {"started": time.time() - 9} for job in jobs}),
                  protocol.table_wire(peer.groups, "job_memory", S, rows={job: {"rss": 1000} for job in jobs})])
    peer.pump()


def test_hostile_words(shown, tabs):
    """Devices, jobs, users, errors and helps full of markup, of controls, from right to left: text, and nothing but text."""
    cluster, url = shown
    cluster.keys_of("evil")
    numbers = itertools.count(1)
    with evil(cluster, EVIL) as peer:
        peer.start()

        def go_on(condition, what):
            def again():
                show_evil(peer, next(numbers))
                time.sleep(0.1)
                return condition()
            return wait_until(again, what)

        go_on(lambda: get(url, f"{API}jobs/evil-7").status == 200, "its job")
        go_on(lambda: cluster.aggregator.lines(type="event", event="group_failed", node="evil"), "its error")
        for place, sign in (("node?node=evil", "block device"), ("jobs", MARKUP), ("job?job=evil-7", MARKUP), ("events", MARKUP),
                            (f"job?job={urllib.parse.quote(MARKUP)}", MARKUP), ("compare?a=evil-7&b=evil-7", MARKUP),
                            (f"node?node={urllib.parse.quote(MARKUP)}", MARKUP)):
            with opened(tabs, place, silent=False) as tab:
                tab.wait("document.querySelector('main').innerText.length > 20")
                if sign == "block device":
                    go_on(lambda tab=tab: len(rows(tab, "Disks")) == len(WORDS), "its devices")
                    assert {row[0] for row in rows(tab, "Disks")} == {tab.evaluate(f"{json.dumps(word)}.trim()") for word in WORDS}
                    tab.evaluate("document.querySelectorAll('details.group').forEach((one) => one.open = true)")
                    for button in range(len(WORDS)):
                        tab.evaluate(f"document.querySelectorAll('.part-disks tbody tr')[{button}].querySelector('button[data-curve]').click()")
                    go_on(lambda tab=tab: tab.evaluate("document.querySelectorAll('.curve canvas').length") >= len(WORDS), "curves of its devices")
                    sign = MARKUP
                go_on(lambda tab=tab, sign=sign: sign in tab.evaluate("document.querySelector('main').textContent"), f"{place}: the words")
                assert tab.evaluate("window.hit === undefined && document.querySelectorAll('main img, main script').length === 0")
                assert tab.evaluate("[...document.querySelectorAll('a')].every((one) => !/^javascript:/i.test(one.getAttribute('href') ?? ''))")
                refused = ("404", "400 (Bad Request)") if place.startswith("node?node=%") else ("404",)  # no node is called so
                wrong = tab.said(ignore=refused)
                assert wrong == [], place
