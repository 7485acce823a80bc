"""How the page is served: its files, the headers of every answer, whom it refuses, proxies, passwords, a real browser."""

import contextlib
import gzip
import http.server
import json
import re
import shutil
import socket
import subprocess
import threading
import urllib.parse

import pytest
from lib.fronts import FORWARDED, FORWARDED_BY_APACHE, Apache, Nginx
from lib.programs import BUILD, ROOT, run, wait_until
from lib.web import get, url_of

HTTP = "[http]\nlisten = 127.0.0.1:0\n"
SOURCES = ROOT / "aggregator/page"
UPLOT = ROOT / "build/page/uplot"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".svg": "image/svg+xml"}
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
          "form-action 'none'; frame-ancestors 'none'")
STRICT = {
    "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
}


@pytest.fixture(name="url")
def fixture_url(cluster):
    return url_of(cluster.start_aggregator(config=HTTP))


def password(cluster):
    made = run("aggregator", "keys", "password", "anna", stdin="secret\n")
    assert made.returncode == 0
    return f"[http]\nlisten = 127.0.0.1:0\npassword_file = {cluster.write('passwords', made.stdout)}\n"


# ---- files ----


def test_files(url):
    """Each as it lies in the sources, now and when it was changed; with its type, and kept until it changes."""
    front = get(url, "/").text
    version = re.search(r'"v/([0-9a-f]{32})/main\.js"', front)[1]
    assert front == (SOURCES / "index.html").read_text().replace('"v/0/', f'"v/{version}/')
    for path in sorted(SOURCES.iterdir()):
        if path.name == "index.html":
            continue
        page = get(url, f"/{path.name}")
        if path.suffix == ".md":
            assert page.status == 404
            continue
        assert page.status == 200 and page.body == path.read_bytes()
        assert page.headers["Content-Type"] == TYPES[path.suffix] and page.headers["Cache-Control"] == "no-cache"
        again = get(url, f"/{path.name}", If_None_Match=page.headers["ETag"])
        assert again.status == 304 and not again.body and again.headers["ETag"] == page.headers["ETag"]
        kept = get(url, f"/v/{version}/{path.name}")
        assert kept.body == page.body and kept.headers["Cache-Control"] == "private, max-age=31536000, immutable"
        assert get(url, f"/v/{version[::-1]}/{path.name}").headers["Cache-Control"] == "no-cache"
        packed = get(url, f"/{path.name}", Accept_Encoding="gzip")
        assert gzip.decompress(packed.body) == page.body
    for path in ("/..", "/../page/main.js", "/%2e%2e/page/main.js", "/./main.js", "/main.js/", "//main.js", "/main.js%00",
                 "/README.md", "/uplot/", "/uplot", "/main.js%2f..%2fmain.js", "/aggregator/../main.js", "/\\main.js"):
        assert get(url, path).status == 404 or path == "/main.js%00", path


def test_uplot(url):
    if not UPLOT.exists():
        pytest.skip("uPlot was not fetched")
    for name in ("uPlot.esm.js", "uPlot.min.css"):
        assert get(url, f"/uplot/{name}").body == (UPLOT / name).read_bytes()


def test_installed(cluster, tmp_path):
    """An installed aggregator has the page beside it; without it "/" says so, and lists the addresses."""
    done = subprocess.run(["make", "-s", "install-aggregator", f"BUILD={BUILD}", f"DESTDIR={tmp_path}", "PREFIX=/usr"], cwd=ROOT,
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    page = tmp_path / "usr/share/synop-aggregator/page"
    url = url_of(cluster.start_aggregator(config=HTTP, program=tmp_path / "usr/bin/synop-aggregator"))
    (page / "index.html").write_text("changed\n")
    assert get(url, "/").text == "changed\n" and get(url, "/main.js").body == (SOURCES / "main.js").read_bytes()
    assert get(url, "/uplot/uPlot.esm.js").status == (200 if UPLOT.exists() else 404)
    (page / "link.js").symlink_to(SOURCES / "main.js")
    assert get(url, "/link.js").status == 404
    shutil.rmtree(page)
    listed = get(url, "/")
    assert listed.status == 200 and "The page is not here" in listed.text and 'href="metrics"' in listed.text
    assert get(url, "/main.js").status == 404 and "not here" not in get(url, "/addresses").text


def test_without_uplot(cluster, browser, tmp_path):
    """As after a build without npm: all is there but curves, and that is said."""
    done = subprocess.run(["make", "-s", "install-aggregator", f"BUILD={BUILD}", f"DESTDIR={tmp_path}", "PREFIX=/usr"], cwd=ROOT,
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(tmp_path / "usr/share/synop-aggregator/page/uplot", ignore_errors=True)
    url = url_of(cluster.start_aggregator(config=HTTP, program=tmp_path / "usr/bin/synop-aggregator"))
    cluster.start_nodes("n1")
    cluster.aggregator.wait_lines(2, type="node")
    tab = browser.open(f"{url}/")
    tab.wait("document.querySelector('canvas.cells')?.width > 50")
    tab.wait("document.body.innerText.includes('Curves need uPlot, which this installation lacks: npm or a network')")
    assert not tab.said(ignore=["uPlot.esm.js", "api/v1/query"])


# ---- headers ----


def test_headers(cluster):
    """Every answer has all of them, whatever it is, and none lets other sites in."""
    url = url_of(cluster.start_aggregator(config=password(cluster)))
    cluster.start_nodes("n1")
    user = "anna:secret"
    routes = re.findall(r'href="(?!data)([^"]+)"', get(url, "/addresses", user=user).text)
    assert {"metrics", "sd", "api/v1/", "healthz"} <= set(routes)
    paths = [entry["path"] for entry in json.loads(get(url, "/api/v1/", user=user).text)["paths"]]
    paths = [path.replace("{id}", "1").lstrip("/") for path in paths if not path.endswith(("stream", "watch"))]
    answers = {path: get(url, f"/{path}", user=user) for path in ["", "main.js", "none", "nodes/n1/metrics", *routes, *paths]}
    assert {answers[path].status for path in answers} <= {200, 400, 404, 503}
    answers["unauthorized"] = get(url, "/")
    answers["method"] = get(url, "/", method="POST", user=user)
    answers["kept"] = get(url, "/", user=user, If_None_Match=answers[""].headers["ETag"])
    answers["foreign"] = get(url, "/api/v1/", user=user, Sec_Fetch_Site="cross-site")
    assert [answers[name].status for name in ("unauthorized", "method", "kept", "foreign")] == [401, 405, 304, 403]
    assert answers["unauthorized"].headers["WWW-Authenticate"].startswith("Basic ")
    for name, answer in answers.items():
        assert {key: answer.headers.get_all(key) for key in STRICT} == {key: [value] for key, value in STRICT.items()}, name
        assert not [key for key in answer.headers if key.lower().startswith("access-control")], name
        assert answer.headers["Cache-Control"] == ("no-cache" if name in ("", "main.js", "kept") else "no-store"), name


# ---- who is refused ----


def test_other_sites(url):
    """A page of another site may link to this one, and do nothing else."""
    def status(path, site, mode="cors", dest="empty"):
        return get(url, path, Sec_Fetch_Site=site, Sec_Fetch_Mode=mode, Sec_Fetch_Dest=dest).status

    for site in ("cross-site", "same-site"):
        for path in ("/api/v1/nodes", "/metrics", "/main.js", "/"):
            assert status(path, site) == 403 and status(path, site, "no-cors", "script") == 403, path
            assert status(path, site, "navigate", "iframe") == 403
        assert status("/", site, "navigate", "document") == 200
        assert status("/api/v1/nodes", site, "navigate", "document") == 403
    for site in ("same-origin", "none"):
        assert status("/api/v1/nodes", site) == 200 and status("/", site, "navigate", "document") == 200


def test_names_of_others(cluster):
    """Where no password is needed, a name that leads here by somebody else's DNS does not let their page in."""
    url = url_of(cluster.start_aggregator(config=HTTP))
    assert get(url, "/api/v1/nodes", Host="localhost:1").status == 200
    for host in ("evil.example", "evil.example:5580", "127.0.0.1.evil.example", "localhost.evil.example"):
        for path in ("/", "/api/v1/nodes", "/metrics", "/sd", "/main.js"):
            assert get(url, path, Host=host).status == 403
        assert get(url, "/healthz", Host=host).status == 200
    cluster.aggregator.stop()
    url = url_of(cluster.start_aggregator(config=HTTP + "names = monitor.example, other.example\n"))
    assert get(url, "/", Host="monitor.example").status == 200 and get(url, "/", Host="evil.example").status == 403
    cluster.aggregator.stop()
    url = url_of(cluster.start_aggregator(config=password(cluster)))
    assert get(url, "/", Host="evil.example", user="anna:secret").status == 200


# ---- proxies ----


@pytest.mark.parametrize(("front", "more"), [(Nginx, FORWARDED), (Apache, FORWARDED_BY_APACHE)])
def test_proxy(cluster, front, more):
    """Behind a prefix all works, since addresses are relative; who asks is known only from proxies that are trusted."""
    config = HTTP + "names = monitor.example\n"
    url = url_of(cluster.start_aggregator(config=config))
    cluster.start_nodes("n1")
    with front(cluster.folder, url, more=more) as proxy:
        assert re.search(r'src="v/[0-9a-f]{32}/main.js"', get(proxy.url, "/tools/synop/").text)
        targets = json.loads(get(proxy.url, "/tools/synop/sd").text)
        assert targets[0]["targets"] == [url.removeprefix("http://")] and targets[0]["labels"]["__scheme__"] == "http"
    cluster.aggregator.stop()
    url = url_of(cluster.start_aggregator(config=config + "trusted_proxies = 127.0.0.1\n"))
    with front(cluster.folder, url, more=more) as proxy:
        targets = wait_until(lambda: json.loads(get(proxy.url, "/tools/synop/sd", Host="monitor.example").text), "targets")
        assert targets[0]["targets"] == ["monitor.example"] and targets[0]["labels"]["__scheme__"] == "https"
        # It adds whom it was asked by, 127.0.0.1, which is trusted: what it was told before that counts.
        one, held = streams_of(proxy.url, "192.0.2.1", 200)
        with held:
            other, more = streams_of(proxy.url, "192.0.2.2", 200)
            more.close()
            assert 4 < one == other < 200, "each has places of its own"


def streams_of(url, host, most):
    """So many it gets who says to the proxy that it asks for this host."""
    parts = urllib.parse.urlsplit(url)
    with contextlib.ExitStack() as stack:
        for opened in range(most):
            client = stack.enter_context(socket.create_connection((parts.hostname, parts.port), timeout=30))
            client.sendall(f"GET {parts.path}/api/v1/stream?type=event HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {host}\r\n"
                           "\r\n".encode())
            if client.recv(4096).split()[1] != b"200":
                return opened, stack.pop_all()
        return most, stack.pop_all()


# ---- a real browser ----


@pytest.mark.parametrize("front", [Nginx, Apache])
def test_browser(cluster, browser, front):
    """The page loads by itself, behind a prefix, and after its password; nothing in it breaks its own rules."""
    url = url_of(cluster.start_aggregator(config=HTTP))
    cluster.start_nodes("n1")
    cluster.aggregator.wait_lines(2, type="node")  # before, it is not known which metrics there are
    with front(cluster.folder, url) as proxy:
        for address in (url + "/", proxy.url + "/"):
            tab = browser.open(address)
            tab.wait("document.title !== ''")
            tab.wait("document.querySelector('.as-of')?.innerText.startsWith('1 node, ')")
            first = tab.text(".as-of")
            tab.wait(f"document.querySelector('.as-of').innerText !== {json.dumps(first)}")  # values come as they are made
            assert not tab.said()
            assert not [request for request in tab.requests if not request.startswith((address, "data:"))]
            tab.close()
    cluster.aggregator.stop()
    url = url_of(cluster.start_aggregator(config=password(cluster)))
    tab = browser.open(f"{url}/", login=("anna", "secret"))
    assert tab.evaluate("fetch('api/v1/nodes').then(answer => answer.status)") == 200
    assert not tab.said(ignore=["api/v1/now"])  # its nodes have not come back


@contextlib.contextmanager
def other_site():
    """One whose pages are empty, and that forbids its scripts nothing."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # noqa: N802
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!DOCTYPE html><title>other</title>")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://localhost:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def test_browser_of_another_site(cluster, browser):
    """Its scripts get nothing, and it can show the page in no frame; a link to it works."""
    url = url_of(cluster.start_aggregator(config=HTTP))
    with other_site() as other:
        tab = browser.open(other)
        asked = cluster.counter("http_requests")
        assert tab.evaluate(f"fetch('{url}/api/v1/nodes').then(() => 'answered', () => 'refused')") == "refused"
        for loaded in ("script", "img"):
            assert tab.evaluate(f"""new Promise(done => {{
              const made = document.createElement('{loaded}');
              made.onload = () => done('loaded'); made.onerror = () => done('refused');
              made.src = '{url}/' + ('{loaded}' === 'img' ? 'icon.svg' : 'main.js'); document.body.append(made);
            }})""") == "refused"
        tab.evaluate(f"""new Promise(done => {{
          const frame = document.createElement('iframe');
          frame.onload = done; frame.src = '{url}/'; document.body.append(frame);
        }})""")
        tab.pump(0.5)
        assert any("frame-ancestors" in text or "X-Frame-Options" in text for _, text in tab.messages), tab.messages
        assert cluster.counter("http_requests") >= asked + 4  # they came, and were refused
        tab.evaluate(f"location.href = '{url}/'")
        tab.wait(f"location.href.startsWith('{url}/') && document.title !== ''")
