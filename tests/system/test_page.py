"""The page: its frame, the cluster as a picture, and time travel, in a real browser; its modules without one."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.parse

import pytest
from lib.cluster import Cluster
from lib.made import has_made_aggregator, start_made
from lib.programs import ROOT, parse_line, wait_until
from lib.web import get, url_of

PAGE = ROOT / "aggregator/page"
HTTP = "[http]\nlisten = {}\n"
NODES = ("n1", "n2", "n3")
SEEN = "document.querySelector('.cells')?.getAttribute('aria-label')"
WHEN = "document.querySelector('.as-of').textContent"
NAME = "document.querySelector('.tip:not([hidden]) .tip-name')?.textContent"
VALUE = "document.querySelector('.tip:not([hidden]) .tip-value')?.textContent"


@pytest.fixture(name="shown", scope="module")
def fixture_shown():
    """A cluster of three and its address: for all tests that leave it as it is."""
    cluster = Cluster()
    try:
        cluster.start_aggregator(config=HTTP.format("127.0.0.1:0") + "[history]\nchunk_time = 300ms\n")
        cluster.start_nodes(*NODES)
        yield cluster, url_of(cluster.aggregator)
    finally:
        cluster.close()


def address(url, view="cluster", **params):
    return f"{url}/#/{view}?{urllib.parse.urlencode(params, quote_via=urllib.parse.quote)}"


def params_of(tab):
    return dict(urllib.parse.parse_qsl(tab.evaluate("location.hash").partition("?")[2]))


def query(url, **params):
    page = get(url, f"/api/v1/query?{urllib.parse.urlencode(params)}")
    assert page.status == 200, page.text
    return parse_line(page.text)


def iso(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


# ---- without a browser ----


def test_no_text_becomes_markup_or_code():
    """Names of nodes, jobs and metrics are strangers' words."""
    for path in PAGE.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        found = re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|DOMParser|createContextualFragment|"
                           r"\beval\b|new Function|setTimeout\(['\"`]|setInterval\(['\"`]|javascript:", text)
        assert not found, f"{path.name}: {found}"
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|style=", (PAGE / "index.html").read_text(encoding="utf-8"))


def test_addresses_are_relative():
    """So that the page works behind any prefix, and fetches nothing from elsewhere."""
    for path in (*PAGE.glob("*.js"), *PAGE.glob("*.css"), PAGE / "index.html"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        found = re.findall(r"""(?:href|src)="/[^"]*|url\(['"]?/[^)]*|from '/[^']*|https?://(?!www\.w3\.org/2000/svg)[^'"\s]*""", text)
        assert not found, f"{path.name}: {found}"


def imports(name, seen):
    if name not in seen:
        seen.add(name)
        text = (PAGE / name).read_text(encoding="utf-8")
        for other in re.findall(r"^import .*?'\./([\w.]+)';", text, flags=re.MULTILINE | re.DOTALL):
            imports(other, seen)
    return seen


def test_what_the_first_picture_needs_is_loaded_at_once():
    """Else the browser hears of each module only when it has read the one before."""
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    assert set(re.findall(r'rel="modulepreload" href="v/0/([^"]+)"', text)) == imports("cluster.js", imports("main.js", set())) - {"main.js"}


def test_what_is_asked_for_the_first_picture(shown, browser):
    """Its values, once, ahead of what can wait; who comes again asks for no file of the page but its first one."""
    _, url = shown
    loaded = "performance.getEntriesByType('resource')"
    for where, question in (("", "metric=cpu_usage.busy&"), ("#/cluster?metric=load.load_1&nodes=n1,n2", "metric=load.load_1&node=n1%2Cn2&")):
        tab = browser.open(f"{url}/{where}")
        tab.wait("document.querySelector('.as-of')?.innerText.includes(' nodes, ')")
        tab.wait(f"{loaded}.some((one) => one.name.includes('api/v1/groups'))")
        asked = [request.removeprefix(f"{url}/api/v1/") for request in tab.requests if "/api/v1/" in request]
        assert asked[0] == f"now?{question}encoding=values", asked
        assert asked.count(asked[0]) == 1
        tab.close()
    tab = browser.open(f"{url}/")
    tab.wait("document.querySelector('.as-of')?.innerText.includes(' nodes, ')")
    assert tab.evaluate(f"{loaded}.filter((one) => one.name.includes('/v/')).length") > 30
    assert tab.evaluate(f"{loaded}.filter((one) => one.name.includes('/v/') && one.transferSize > 0).map((one) => one.name)") == []
    tab.close()


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Auckland"])
def test_modules(tmp_path, zone):
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    for path in (*PAGE.glob("*.js"), *(ROOT / "tests/unit/aggregator/page").glob("*.test.js")):
        shutil.copy(path, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="ascii")
    done = subprocess.run(["node", "--test"], cwd=tmp_path, env={"PATH": "/usr/bin:/bin", "TZ": zone}, capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0 and "# fail 0" in done.stdout, done.stdout[-6000:] + done.stderr


# ---- the cluster ----


def test_cluster(shown, browser, tmp_path):
    """All nodes with name and value; their mean, the curve, the ten highest; nothing to complain of, in any width and theme."""
    _, url = shown
    tab = browser.open(url)
    tab.wait(f"{SEEN}?.startsWith('3 nodes')")
    assert tab.text(".figure-mean dd").strip().endswith("%")
    tab.wait("document.querySelectorAll('.top-ten tbody tr').length === 3")
    assert sorted(tab.evaluate("[...document.querySelectorAll('.top-node')].map(one => one.textContent)")) == list(NODES)
    tab.wait("document.querySelector('.curve canvas')?.width > 100")
    tab.wait("document.querySelector('.metric-help').textContent.includes('something to do')")
    assert "Nothing: every node has a value" in tab.text(".trouble")
    for width, dark in ((1400, False), (800, True), (380, False), (380, True)):
        tab.size(width, 900)
        tab.media(dark)
        tab.pump(0.3)
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{width}: it scrolls sideways"
        tab.screenshot(tmp_path / f"{width}.png")
        assert tab.accessibility() == []
    assert tab.said() == []


def test_search(shown, browser):
    """By words of name and help; arrows and Enter choose; what is computed of two metrics is taken as typed."""
    _, url = shown
    tab = browser.open(url)
    tab.wait(SEEN)
    tab.key("/")
    tab.write("memory total avail")
    tab.wait("document.querySelectorAll('#metric-list [role=option]').length > 0")
    assert "memory_info.used" in tab.text("#metric-list")
    assert tab.accessibility() == []
    tab.key("ArrowDown", "ArrowUp", "Enter")
    tab.wait("location.hash.includes('metric=memory_info.')")
    tab.wait("/B$/.test(document.querySelector('.figure-mean dd').textContent)")
    tab.write("memory_info.used / memory_info.total")
    tab.key("Enter")
    tab.wait("document.querySelector('h1').textContent.includes(' / ')")
    tab.wait("+document.querySelector('.figure-mean dd').textContent > 0")
    tab.write("no.such_metric")
    tab.key("Escape")
    tab.write("no such metric at all")
    assert "No metric has these words" in tab.text("#metric-list")
    tab.key("Escape")
    assert tab.said() == []


def test_keyboard_alone(shown, browser):
    """From the top of the page to a node's view; what is pointed at is said."""
    _, url = shown
    tab = browser.open(url)
    tab.wait(f"{SEEN}?.startsWith('3 nodes')")
    tab.key("Tab")
    assert "skip" in tab.focused()
    seen = set()
    for _ in range(60):
        tab.key("Tab")
        seen.add(tab.focused())
        if "canvas.cells" in tab.focused():
            break
    assert any("#metric" in one for one in seen) and any("#order" in one for one in seen), seen
    tab.wait("document.querySelector('[aria-live=polite].unseen').textContent.startsWith('n1: ')")
    tab.key("ArrowRight")
    tab.wait("document.querySelector('[aria-live=polite].unseen').textContent.startsWith('n2: ')")
    tab.key("End")
    tab.wait(f"{NAME} === 'n3'")
    tab.key("Home", "ArrowRight", "Enter")
    tab.wait("location.hash.startsWith('#/node?node=n2')")
    tab.wait("document.activeElement.id === 'main'")
    tab.key("?")
    assert "Search a metric" not in tab.text("dialog") and "Play, pause" in tab.text("dialog")
    tab.key("Escape")
    assert tab.said() == []


def test_hover_and_click(shown, browser):
    _, url = shown
    tab = browser.open(url)
    tab.wait(f"{SEEN}?.startsWith('3 nodes') && document.querySelector('canvas.cells').width > 300")  # drawn, too
    box = tab.evaluate("(() => {const box = document.querySelector('.cells').getBoundingClientRect(); return [box.x, box.y]})()")
    tab.hover((box[0] + 20, box[1] + 20))
    tab.wait(f"{NAME} === 'n1'")
    assert tab.evaluate(VALUE).endswith("%")
    tab.click((box[0] + 20, box[1] + 20))
    tab.wait("location.hash.startsWith('#/node?node=n1')")


def test_address_is_the_state(shown, browser):
    """Who opens a link sees what its sender saw; what is chosen gets into the address."""
    _, url = shown
    at = int(time.time()) - 2
    racks = "left: n[1-2]\nright: n3"
    link = address(url, metric="load.load_1", sort="rack", scale="fit", racks=racks, at=iso(at), span=900, nodes="n[13]", low="1")
    tab = browser.open(link)
    tab.wait(f"{SEEN}?.startsWith('2 nodes, coloured by load.load_1')")
    chosen = tab.evaluate("['#metric', '#order', '#spread', '#only', '[aria-label=\"The slider spans\"]']"
                          ".map(one => document.querySelector(one).value)")
    assert chosen == ["load.load_1", "rack", "fit", "n[13]", "900"]
    assert tab.evaluate("document.querySelector('.live').getAttribute('aria-pressed')") == "false"
    assert "Lowest ten" in tab.text(".top-ten")
    assert params_of(tab)["at"] == iso(at)
    tab.evaluate("document.querySelector('#order').value = 'value', document.querySelector('#order').dispatchEvent(new Event('change'))")
    tab.wait("location.hash.includes('sort=value')")
    assert params_of(tab)["racks"] == racks
    # From view to view the instant goes along; "back" leads to what was.
    tab.click(".places li:nth-child(2) a")
    tab.wait("location.hash.startsWith('#/jobs')")
    assert params_of(tab)["at"] == iso(at)
    tab.evaluate("history.back()")
    tab.wait("location.hash.includes('sort=value')")
    tab.click(".live")
    tab.wait("!location.hash.includes('at=')")
    assert tab.said() == []


def test_racks(shown, browser):
    _, url = shown
    tab = browser.open(url)
    tab.wait(SEEN)
    tab.evaluate("document.querySelector('#order').value = 'rack', document.querySelector('#order').dispatchEvent(new Event('change'))")
    tab.wait("document.activeElement.id === 'racks-text'")
    tab.write("what")
    tab.wait("document.querySelector('#racks-said').textContent.startsWith('Line 1')")
    tab.key("Control+a")
    tab.evaluate("document.activeElement.select()")
    tab.write("<img src=x onerror=alert(1)>: n1,n3")
    tab.wait("document.querySelector('#racks-said').textContent === '1 racks; 1 of 3 nodes in none.'")
    assert tab.accessibility() == []
    tab.click("dialog .actions button")
    tab.wait("!document.querySelector('dialog')")
    tab.wait("location.hash.includes('racks=')")
    assert tab.said() == []


def test_before_anything(cluster, browser):
    """A page that is opened before the history has anything shows its curve as that comes, without an error."""
    cluster.start_aggregator(config=HTTP.format("127.0.0.1:0"))
    tab = browser.open(address(url_of(cluster.aggregator)))
    cluster.start_nodes("n1", "n2")
    tab.wait("document.querySelectorAll('.uplot canvas').length > 0")
    assert tab.said() == []


def test_hostile_address(shown, browser):
    """A link may say anything: it is shown as text, or not at all."""
    _, url = shown
    word = "<img src=x onerror=window.hit=1>\"'\u202e\x1b[31m"
    tab = browser.open(address(url, metric=word, sort="constructor", nodes=word, at="never", span="x", speed="9e99", racks=word))
    tab.wait("!document.querySelector('.problem').hidden")
    assert "<img" in tab.text("h1")
    tab.go("about:blank")
    tab.go(address(url, view=urllib.parse.quote(word)))
    tab.wait("document.querySelector('h1')?.textContent === 'There is no such view'")
    tab.go("about:blank")
    tab.go(address(url, view="__proto__"))
    tab.wait("document.querySelector('h1')?.textContent === 'There is no such view'")
    assert tab.evaluate("window.hit") is None
    assert tab.said(ignore=("400",)) == []


def test_restart(cluster, browser):
    """It says since when nothing comes, and goes on by itself."""
    cluster.start_aggregator(config=HTTP.format("127.0.0.1:0"))
    cluster.start_nodes("n1")
    url = url_of(cluster.aggregator)
    tab = browser.open(url)
    tab.wait(f"{SEEN}?.startsWith('1 nodes')")
    cluster.aggregator.signal(signal.SIGTERM)
    cluster.aggregator.wait()
    tab.wait("document.querySelector('#link-state').textContent.startsWith('No answer since ')")
    tab.wait("document.querySelector('.picture-stage').classList.contains('is-late')")
    before = tab.evaluate(WHEN)
    cluster.start_aggregator(config=HTTP.format(urllib.parse.urlsplit(url).netloc))
    cluster.wait_node("n1")
    tab.wait("document.querySelector('#link-state').textContent === ''")
    tab.wait(f"{WHEN} !== {json.dumps(before)}")
    tab.wait("!document.querySelector('.picture-stage').classList.contains('is-late')")
    assert tab.said(ignore=("ERR_", "Failed to load resource")) == []


def test_hidden(shown, browser):
    """Nothing is asked for while nobody looks."""
    cluster, url = shown
    tab = browser.open(url)
    tab.wait(f"{SEEN}?.startsWith('3 nodes')")
    wait_until(lambda: cluster.counter("api_streams") >= 1, "a watcher")
    tab.hide()
    wait_until(lambda: cluster.counter("api_streams") == 0, "nobody who watches")
    tab.hide(False)
    wait_until(lambda: cluster.counter("api_streams") >= 1, "a watcher again")


# ---- time travel ----


def value_shown(text):
    return float(text.replace("\u00a0", " ").split()[0].replace("−", "-"))


def values_at(url, at):
    """Of each node in the second that begins then; None: not all are there."""
    answer = query(url, metric="cpu_usage.busy", step="1s", **{"from": iso(at), "to": iso(at + 1)})
    values = {series["node"]: point[1] for series in answer["series"] for point in series["points"] if point[0] == at}
    return values if set(values) == set(NODES) and None not in values.values() else None


def test_time_travel(shown, browser):
    """A cell of the past is what the history had: exact where it is pointed at, else to a 250th of the scale."""
    _, url = shown
    at = int(time.time()) + 1
    wait_until(lambda: time.time() > at + 5, "an instant that is over")
    history = wait_until(lambda: values_at(url, at), "values of it")
    tab = browser.open(address(url, metric="cpu_usage.busy", at=iso(at)))
    tab.wait(f"{SEEN}?.startsWith('3 nodes')")
    clock = tab.evaluate(f"new Date({at * 1000}).toTimeString().slice(0, 8)")
    tab.wait(f"{WHEN}.endsWith({json.dumps(clock)})")
    tab.evaluate("document.querySelector('.cells').focus()")
    for node in NODES:
        expected = history[node]
        tab.key("Home", *["ArrowRight"] * NODES.index(node))
        tab.wait(f"{NAME} === {json.dumps(node)}")
        row = tab.evaluate(f"[...document.querySelectorAll('.top-ten tbody tr')].find(one => one.innerText.startsWith({json.dumps(node)})).innerText")
        exact = 0.0501 if expected < 99.95 else 0.501  # three digits are shown
        assert abs(value_shown(row.split("\n")[-1].split("\t")[-1]) - expected) <= 0.2 + exact, row
        wait_until(lambda: abs(value_shown(tab.evaluate(VALUE)) - expected) <= exact, f"{node}: {expected}, exactly")
    assert tab.said() == []


def test_play(shown, browser):
    """It plays as fast as it says, steps by keys, and becomes live at the end."""
    _, url = shown
    at = int(time.time()) - 8
    wait_until(lambda: time.time() > at + 12, "a past")
    tab = browser.open(address(url, at=iso(at)))
    tab.wait(SEEN)
    field = "document.querySelector('[aria-label=\"Date and time\"]').value"
    first = tab.evaluate(field)
    tab.key("ArrowRight")
    tab.wait(f"{field} !== {json.dumps(first)}")
    tab.key("ArrowLeft")
    tab.wait(f"{field} === {json.dumps(first)}")
    tab.evaluate("document.querySelector('[aria-label=Speed]').value = '5', document.querySelector('[aria-label=Speed]').dispatchEvent(new Event('change'))")
    tab.key(" ")
    tab.wait("location.hash.includes('speed=5')")
    tab.wait("document.querySelector('.live').getAttribute('aria-pressed') === 'true'")
    tab.wait("!location.hash.includes('at=')")
    assert tab.said() == []


def enter_time(tab, text):
    tab.evaluate("document.querySelector('[aria-label=\"Date and time\"]').focus()")
    tab.key("Control+a")
    tab.write(text)
    tab.key("Tab")


def test_slider_and_field(shown, browser):
    _, url = shown
    tab = browser.open(address(url, span=900))
    tab.wait(SEEN)
    tab.evaluate("document.querySelector('[aria-label=Instant]').focus()")
    tab.key("Home")
    tab.wait("location.hash.includes('at=')")
    at = time.mktime(time.strptime(params_of(tab)["at"], "%Y-%m-%dT%H:%M:%SZ")) - time.timezone
    assert 50 < time.time() - at < 920  # where the history begins, if that is known already
    enter_time(tab, "-120m")
    tab.wait("document.querySelector('.waiting').textContent === 'The history has nothing of this instant.'")
    tab.wait("document.querySelector('.trouble').innerText.includes('Not known: no node has a value.')")
    enter_time(tab, "-10m")
    tab.wait(f"Math.abs(Date.parse(new URLSearchParams(location.hash.split('?')[1]).get('at')) - Date.now() + 600000) < 20000")
    tab.key("l")
    tab.evaluate("document.querySelector('.live').click()")
    tab.wait("!location.hash.includes('at=')")
    assert tab.said() == []


# ---- thousands ----

MANY = int(os.environ.get("PAGE_NODES", "2000"))  # make soak: 10,000


@pytest.mark.skipif(not has_made_aggregator(), reason="make benches makes the made-up nodes")
def test_thousands(cluster, browser, tmp_path):
    """Each node is a cell still: seen, found, named; what is away has a pattern."""
    start_made(cluster, MANY)
    url = url_of(cluster.aggregator)
    wait_until(lambda: get(url, "/api/v1/query?metric=cpu_usage.busy&combined&from=-1m").status == 200, "a history")
    tab = browser.open(url)
    tab.wait(f"{SEEN}?.startsWith('{MANY} nodes')")
    tab.wait("document.querySelectorAll('.top-ten tbody tr').length === 10")
    colours = tab.evaluate("""(() => {
      const canvas = document.querySelector('.cells');
      const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
      return new Set(pixels).size;
    })()""")
    assert colours > 50
    box = tab.evaluate("(() => {const box = document.querySelector('.cells').getBoundingClientRect(); return [box.x, box.y, box.width, box.height]})()")
    tab.hover((box[0] + box[2] / 2, box[1] + box[3] / 2))
    tab.wait(f"/^r\\d{{3}}n\\d\\d$/.test({NAME})")
    tab.evaluate("document.querySelector('.cells').focus()")
    tab.key("Home", "ArrowDown", "ArrowRight")
    tab.wait("/^r\\d{3}n\\d\\d: /.test(document.querySelector('[aria-live=polite].unseen').textContent)")
    for width, dark in ((1400, True), (380, False)):
        tab.size(width, 900)
        tab.media(dark)
        tab.pump(0.5)
        tab.screenshot(tmp_path / f"{width}.png")
        assert tab.accessibility() == []
    for view, there in (("clocks", "document.querySelectorAll('.sheet tbody tr').length > 100"),
                        ("events", "document.querySelector('h1')?.textContent === 'Alerts and events'"),
                        ("jobs", "document.querySelector('h1')?.textContent.startsWith('Jobs')"),
                        ("node?node=r001n01", "document.querySelector('h1')?.textContent === 'r001n01'")):
        tab.go(f"{url}/#/{view}")
        tab.wait(there)
    assert tab.said() == []
