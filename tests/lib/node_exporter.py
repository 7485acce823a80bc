"""Prometheus' node-exporter, on this machine."""

import contextlib
import shutil
import socket
import subprocess
import urllib.request

import pytest
from lib.programs import LIMIT, wait_until


def read(url):
    """ "" while nothing is there."""
    try:
        with urllib.request.urlopen(url, timeout=LIMIT) as answer:
            return answer.read().decode()
    except OSError:
        return ""


@contextlib.contextmanager
def node_exporter():
    """A function that gives the text that it shows."""
    program = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
    if program is None:
        pytest.skip("there is no node-exporter")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    process = subprocess.Popen([program, f"--web.listen-address={address}"], stderr=subprocess.DEVNULL)

    def shown():
        assert process.poll() is None, "node-exporter has ended"
        return read(f"http://{address}/metrics")

    try:
        wait_until(shown, "node-exporter")
        yield shown
    finally:
        process.terminate()
        process.wait(LIMIT)
