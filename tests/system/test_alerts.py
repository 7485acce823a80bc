"""What is wrong is the same everywhere: at the socket, over HTTP now and of the past, on the terminal, in the page; also after a restart."""

import json
from datetime import datetime, timezone

from lib.browser import Browser
from lib.devtools import chromium
from lib.gpus import Gpus
from lib.programs import run, wait_until
from lib.web import get, url_of

CONFIG = "[http]\nlisten = 127.0.0.1:0\n[history]\nchunk_time = 300ms\n"
XID = "XID errors on GPU 1: 1"


def now():
    return datetime.now(timezone.utc).isoformat().replace("+00:00", "Z")


def alerts(url, words=""):
    answer = get(url, f"/api/v1/alerts?{words}")
    assert answer.status == 200, answer.text
    return [(one["node"], one["level"], one["text"]) for one in json.loads(answer.text)["alerts"]]


def test_an_xid_everywhere(cluster):
    gpus = Gpus(cluster.folder, "gpus 2\n")
    url = url_of(cluster.start_aggregator(config=CONFIG))
    cluster.start_nodes("n1")
    cluster.start_agent("gpu1", *gpus.options, env=gpus.environment)
    cluster.wait_node("gpu1", check=lambda line: line["report"].get("system_data", {}).get("gpu"))
    before = now()
    assert alerts(url) == []
    gpus.say("gpus 2\nxid 1 79\n")
    wait_until(lambda: alerts(url) == [("gpu1", "alarm", XID)], "the alert")
    cluster.agents["n1"].stop()
    wait_until(lambda: ("n1", "alarm", "down: no frames come") in alerts(url), "the silent node")
    standing = alerts(url)
    assert alerts(url, "node=gpu*") == [("gpu1", "alarm", XID)]

    assert alerts(url, f"at={before}") == []  # of the past, by the history
    assert alerts(url, "at=now") == standing == alerts(url, f"at={now()}")
    assert get(url, "/api/v1/alerts?at=never").status == 400

    events = run("aggregator", "top", "--once", "--view", "events", "--socket", cluster.socket, "--history", cluster.history).stdout
    assert "2 wrong now" in events and XID in events and "fault  count: 1" in events.replace("metric: gpu.xid_errors  ", ""), events
    nodes = run("aggregator", "top", "--once", "--socket", cluster.socket).stdout
    assert "gpu1    ![" in nodes and "1 up 1 down 1 with alerts" in nodes, nodes
    unread = run("aggregator", "top", "--once", "--view", "events", "--socket", cluster.socket, "--history", cluster.folder / "none.db").stdout
    assert "since top was started" in unread and "Events of before are not known: " in unread, unread

    cluster.aggregator.stop()
    url = url_of(cluster.start_aggregator(config=CONFIG))
    wait_until(lambda: alerts(url) == standing, "the same alerts after a restart")
    in_the_page(url)
    gone = get(url, "/api/v1/nodes").text
    assert '"gpu1"' in gone
    cluster.start_agent("n1")
    wait_until(lambda: alerts(url) == [("gpu1", "alarm", XID)], "the end of an alert")


def in_the_page(url):
    """In the head of the node and in its log, and on the picture of all."""
    if not chromium():
        return
    browser = Browser()
    try:
        tab = browser.open(f"{url}/#/node?node=gpu1")
        tab.wait(f"document.querySelector('.node-alerts').innerText.startsWith({json.dumps(XID)})")
        tab.wait(f"[...document.querySelectorAll('section table td')].some((one) => one.innerText === {json.dumps(XID.rsplit(':')[0])})")
        tab.call("Page.navigate", url=f"{url}/#/cluster")
        tab.wait(f"document.querySelector('.trouble')?.innerText.includes({json.dumps(XID)})")
        tab.wait("document.querySelector('.picture-legend').innerText.includes('1 with an alert')")
    finally:
        browser.close()
