"""The page at 10,000 nodes (made_link.c): what a viewer costs the network and the aggregator, and how it is in a real Chromium."""

import http.client
import threading
import time

from attackers import Attackers
from lib.browser import Browser
from lib.devtools import chromium
from lib.made import fill_history, start_made
from lib.screens import Screen
from lib.web import url_of
from measure import cpu_seconds, memory, quantile, say
from part_http import HTTP
from part_load import LATENCY_WINDOW, Ages, make_keys, running_aggregator, start_load

NODES = 10_000
VIEWERS = 20
TURNS = 3
WINDOW = 10.0
WATCH = "/api/v1/watch?metric=cpu_usage.busy&encoding=levels"

# When the picture of all nodes was there first: a cell has a colour.
FIRST = """
(() => {
  const look = () => {
    const canvas = document.querySelector('canvas.cells');
    if (canvas && canvas.width > 50) {
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
      copy.drawImage(canvas, 0, 0);
      if (copy.getImageData(0, 0, canvas.width, Math.min(50, canvas.height)).data.some(one => one)) {
        window.firstPicture = performance.now();
        return;
      }
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();
"""
FRAMES = """
(() => {
  let last = 0;
  window.frames_ = [];
  const next = (now) => {
    if (last) window.frames_.push(now - last);
    last = now;
    window.recording = requestAnimationFrame(next);
  };
  window.recording = requestAnimationFrame(next);
})(); 0
"""


class Viewer(threading.Thread):
    """Reads what a page's feed is sent, and counts it. One address has not places for all."""

    def __init__(self, url, number=0):
        super().__init__(daemon=True)
        host, port = url.removeprefix("http://").split(":")
        self.connection = http.client.HTTPConnection(host, int(port), timeout=60,
                                                     source_address=(f"127.0.0.{2 + number % 4}", 0))
        self.connection.request("GET", WATCH, headers={"Accept-Encoding": "gzip"})  # as browsers do
        self.answer = self.connection.getresponse()
        if self.answer.status != 200:
            raise RuntimeError(f"{WATCH}: {self.answer.status}")
        self.bytes, self.ending = 0, False
        self.start()

    def run(self):
        try:
            while not self.ending and (piece := self.answer.read1(1 << 16)):
                self.bytes += len(piece)
        except (OSError, ValueError, AttributeError, http.client.HTTPException):  # it was closed
            pass

    def close(self):
        self.ending = True
        self.join(10)
        self.connection.close()


def part_of_a_core(pid, seconds):
    before, began = cpu_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return 100 * (cpu_seconds(pid) - before) / (time.monotonic() - began)


def viewers(figures, pid, url):
    """In turns with nobody, so that what others do to this host is in both."""
    alone, watched, taken = [], [], []
    for _ in range(TURNS):
        alone.append(part_of_a_core(pid, WINDOW / TURNS))
        those = [Viewer(url, number) for number in range(VIEWERS)]
        time.sleep(1)
        before = sum(one.bytes for one in those)
        watched.append(part_of_a_core(pid, WINDOW / TURNS))
        taken.append((sum(one.bytes for one in those) - before) / VIEWERS / (WINDOW / TURNS))
        for one in those:
            one.close()
    figures.add(f"{NODES} nodes live: bytes a second to a viewer", sum(taken) / TURNS / 1000, "kB", aim=("value", 20))
    figures.add(f"aggregator's CPU a viewer, with {VIEWERS} of them", (sum(watched) - sum(alone)) / TURNS / VIEWERS, "% of a core",
                "all of it, nobody there", sum(alone) / TURNS, ("value", 1))


# ---- in a browser ----


def begin_frames(tab):
    tab.evaluate(FRAMES)


def end_frames(figures, tab, what, task):
    frames = tab.evaluate("cancelAnimationFrame(window.recording), window.frames_")
    worked = (tab.figures()["TaskDuration"] - task) / max(1, len(frames)) * 1000
    figures.add(f"{what}: a frame, p95", quantile(frames, 0.95), "ms", "work of the tab's main thread in one, mean", worked,
                ("value", 17))


def hovering(figures, tab):
    left, top, width, height = tab.evaluate("""(() => {
      const box = document.querySelector('canvas.cells').getBoundingClientRect();
      return [box.x, box.y, box.width, Math.min(box.height, innerHeight - box.y)];
    })()""")
    task = tab.figures()["TaskDuration"]
    begin_frames(tab)
    for step in range(240):
        tab.hover((left + width * (step % 40 + 0.5) / 40, top + height * (step // 40 + 0.5) / 6))
    end_frames(figures, tab, "hovering over the cells", task)


def sliding(figures, tab):
    tab.evaluate("document.querySelector('input[type=range]').focus(), 0")
    task = tab.figures()["TaskDuration"]
    begin_frames(tab)
    for _ in range(120):
        tab.key("ArrowLeft")
    end_frames(figures, tab, "sliding through the history", task)


def first_pictures(figures, browser, url):
    """Warm: the program's files are in memory, the profile of the browser is not new."""
    taken = []
    for _ in range(5):
        tab = browser.open("about:blank")
        tab.call("Page.addScriptToEvaluateOnNewDocument", source=FIRST)
        for domain in ("Network", "Log"):  # what is told of each request would be a part of the time
            tab.call(f"{domain}.disable")
        tab.call("Page.navigate", url=url)
        tab.pump(1)  # nobody asks the tab meanwhile
        taken.append(tab.wait("window.firstPicture"))
        tab.close()
    figures.add(f"first picture of {NODES} nodes, best of 5", min(taken), "ms", aim=("value", 300))


def tab_memory(figures, tab):
    def heap():
        tab.collect_garbage()
        return tab.figures()["JSHeapUsedSize"] / 1e6

    tab.pump(10)
    before = heap()
    tab.pump(60)
    figures.add("the tab's heap after a minute live", heap(), "MB", "after 10 s", before, ("ratio", 1.2))


def in_browser(figures, url):
    if not chromium():
        figures.skip("the page in a browser", "chromium is not installed")
        return
    browser = Browser()
    try:
        first_pictures(figures, browser, f"{url}/")
        tab = browser.open(f"{url}/")
        tab.wait("document.querySelector('canvas.cells')?.width > 50")
        tab.pump(3)
        began, before = time.monotonic(), tab.received
        tab.pump(WINDOW)
        figures.add("all that the open page is sent, a second", (tab.received - before) / (time.monotonic() - began) / 1000, "kB")
        hovering(figures, tab)
        tab_memory(figures, tab)
        sliding(figures, tab)
        said = tab.said()
        if said:
            figures.note("the page in a browser", f"the console has {said[:3]}")
    finally:
        browser.close()


# ---- what it does to the intake ----


def intake(figures, cluster):
    """Lines of 1,000 agents that come by sockets, with viewers or without, and with attackers beside the viewers."""
    make_keys(cluster)
    alone, watched, attacked = Ages(), Ages(), Ages()
    with running_aggregator(cluster, *HTTP, read=True) as (aggregator, reader):
        url = url_of(aggregator)
        with start_load(cluster, cluster.endpoint, "spread", "full"):
            for _ in range(TURNS):
                for ages, count, hostile in ((alone, 0, False), (watched, VIEWERS, False), (attacked, VIEWERS, True)):
                    those = [Viewer(url, number) for number in range(count)] + ([Attackers(url)] if hostile else [])
                    time.sleep(1)
                    reader.note = ages.note
                    time.sleep(LATENCY_WINDOW)
                    reader.note = None
                    for one in those:
                        one.close()
    figures.add(f"frame made to line with {VIEWERS} viewers, p99", quantile(watched.ages, 0.99), "ms", "nobody looks",
                quantile(alone.ages, 0.99))
    figures.add("the same, by which p99 is later", quantile(watched.ages, 0.99) - quantile(alone.ages, 0.99), "ms", aim=("value", 2))
    figures.add("with slow, deaf, busy and large attackers beside the viewers, p99", quantile(attacked.ages, 0.99), "ms",
                "viewers alone", quantile(watched.ages, 0.99))


# ---- on a terminal ----


def terminal(figures, cluster, aggregator):
    """`top` at 80x24, in turns with nobody."""
    alone, watched, own = [], [], []
    for _ in range(TURNS):
        alone.append(part_of_a_core(aggregator.pid, WINDOW / TURNS))
        with Screen("aggregator", "top", "--socket", cluster.socket) as screen:
            screen.wait(f"{NODES} nodes")
            before, began = cpu_seconds(screen.pid), time.monotonic()
            watched.append(part_of_a_core(aggregator.pid, WINDOW / TURNS))
            own.append(100 * (cpu_seconds(screen.pid) - before) / (time.monotonic() - began))
            rss = memory(screen.pid)["rss"] / 1e6
    figures.add(f"top of {NODES} nodes: its CPU", sum(own) / TURNS, "% of a core")
    figures.add("top: its memory", rss, "MB")
    figures.add("top: the aggregator's CPU for it", (sum(watched) - sum(alone)) / TURNS, "% of a core", "all of it, nobody there",
                sum(alone) / TURNS)


def page(figures, cluster):
    intake(figures, cluster)
    for key in (cluster.master / "nodes").glob("sim*.pub"):
        key.unlink()
    cluster.history.unlink(missing_ok=True)
    cluster.endpoint = None
    fill_history(cluster, NODES, 2)
    aggregator = start_made(cluster, NODES)
    url = url_of(aggregator)
    say(f"      the aggregator has {memory(aggregator.pid)['rss'] / 1e6:.0f} MB")
    viewers(figures, aggregator.pid, url)
    terminal(figures, cluster, aggregator)
    in_browser(figures, url)
