"""A tab that stays open: `make soak` has it see PAGE_MINUTES of a live cluster, ten seconds of them in each second."""

import base64
import http.client
import http.server
import json
import os
import random
import threading
import time
import urllib.parse
from datetime import datetime, timedelta, timezone

import pytest
from lib.made import has_made_aggregator, start_made
from lib.web import url_of

NODES = 2000
FASTER = 10
MINUTES = float(os.environ.get("PAGE_MINUTES", "0"))
GROWTH = 10e6  # bytes in an hour
SETTLED = 5  # minutes of the cluster until what is kept has its size


class Faster:
    """In front of an aggregator: what is watched comes ten times as often, each line a second after the one before."""

    def __init__(self, to):
        self.to = urllib.parse.urlsplit(to).netloc
        self.ended, self.lines = False, 0
        made = type("Handler", (http.server.BaseHTTPRequestHandler,), {
            "protocol_version": "HTTP/1.1", "do_GET": lambda handler: self.answer(handler), "log_message": lambda *_: None})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), made)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.ended = True
        self.server.shutdown()
        self.server.server_close()

    def ask(self, path):
        upstream = http.client.HTTPConnection(self.to, timeout=60)
        upstream.request("GET", path)
        return upstream, upstream.getresponse()

    def answer(self, handler):
        upstream, reply = self.ask(handler.path)
        handler.send_response(reply.status)
        for name in ("Content-Type", "Cache-Control", "Content-Security-Policy"):
            handler.send_header(name, reply.headers[name])
        try:
            if handler.path.startswith("/api/v1/watch"):
                handler.send_header("Connection", "close")
                handler.end_headers()
                self.watch(handler, reply)
            elif handler.path.startswith("/api/v1/stream"):
                handler.send_header("Connection", "close")
                handler.end_headers()
                while not self.ended and (piece := reply.read1(1 << 16)):
                    handler.wfile.write(piece)
            else:
                body = reply.read()
                handler.send_header("Content-Length", str(len(body)))
                handler.end_headers()
                handler.wfile.write(body)
        except OSError:  # the browser has gone
            handler.close_connection = True
        finally:
            upstream.close()

    def watch(self, handler, reply):
        line = {}
        while not line:
            text = reply.readline().decode()
            line = json.loads(text[5:]) if text.startswith("data:") else {}
        now, chance = datetime.now(timezone.utc), random.Random(1)
        levels = bytearray(NODES)
        while not self.ended:
            levels = bytes(min(250, max(0, level + chance.randint(-9, 9))) for level in levels)
            line["metrics"][0]["levels"] = base64.b64encode(levels).decode()
            now += timedelta(seconds=1)
            line["time"] = now.strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
            handler.wfile.write(f"data: {json.dumps(line)}\n\n".encode())
            line.pop("nodes", None)
            self.lines += 1
            time.sleep(1 / FASTER)


def heap(tab):
    tab.collect_garbage()
    figures = tab.figures()
    return figures["JSHeapUsedSize"], figures["Nodes"]


@pytest.mark.skipif(not MINUTES, reason="PAGE_MINUTES is not set: make soak")
def test_a_tab_that_stays_open(cluster, browser):
    """Its heap does not grow, nor do its elements, and it complains of nothing."""
    assert has_made_aggregator(), "make benches"
    front = Faster(url_of(start_made(cluster, NODES)))
    try:
        tab = browser.open(f"{front.url}/")
        tab.wait("document.querySelector('canvas.cells')?.width > 50")
        seen = []
        begin = time.monotonic()
        while time.monotonic() - begin < MINUTES * 60 / FASTER:
            tab.pump(MINUTES * 60 / FASTER / 40)
            tab.hover((300 + 17 * len(seen) % 500, 400))
            seen.append((front.lines / 60, *heap(tab)))
        settled = [one for one in seen if one[0] >= SETTLED] or seen[-1:]
        minutes = settled[-1][0] - settled[0][0]
        grown = settled[-1][1] - settled[0][1]
        print(f"\n{minutes:.0f} minutes of {NODES} nodes: the tab's heap {settled[0][1] / 1e6:.2f} MB, then {settled[-1][1] / 1e6:.2f} MB, "
              f"at most {max(one[1] for one in settled) / 1e6:.2f} MB; {settled[0][2]:.0f} elements, then {settled[-1][2]:.0f}")
        assert grown < GROWTH * max(minutes, 10) / 60, seen
        assert settled[-1][2] < 2 * settled[0][2] + 500, "elements that nobody takes away"
        assert not tab.said(ignore=["400", "503", "504"])  # of time that has not come the history knows nothing; a host may be busy
    finally:
        front.close()
