"""[send NAME] whose receiver's name no server resolves: the resolver hangs, and holds up neither a reload nor the end."""

import os
import select
import signal
import socket
import subprocess

import pytest
from lib.programs import LIMIT, wait_until
from lib.sent_lines import check_lines, sender

HISTORY = "[history]\nchunk_time = 500ms\n"
HANGING = {"one": "url = http://one.example/api/v1/write", "two": "type = influx\nurl = tcp://two.example:8094"}


@pytest.fixture
def silent(cluster):
    """What an aggregator is begun with whose server of names answers nothing."""
    resolver = cluster.write("resolv.conf", "nameserver 127.0.87.53\noptions timeout:30 attempts:2\n")
    prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", f'mount --bind {resolver} /etc/resolv.conf && exec "$@"', "sh"]
    if os.geteuid() or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.87.53", 53))
        server.settimeout(LIMIT)

        def asked(before):
            """Both names are, once `before` was done."""
            names = set()
            while select.select([server], [], [], 0)[0]:
                server.recv(512)
            before()
            while not {b"one", b"two"} <= names:
                names.add(server.recv(512)[13:16])

        yield prefix, asked


def test_a_name_that_hangs(cluster, silent):
    """Both are left, and who comes under the name of one goes on with what it had."""
    prefix, asked = silent
    sections = "".join(f"[send {name}]\nperiod = 200ms\n{text}\n" for name, text in HANGING.items())
    cluster.start_aggregator(config=HISTORY + sections, prefix=prefix)
    asked(lambda: cluster.start_nodes("n1"))
    out = cluster.folder / "out"
    cluster.write("aggregator.ini", f"{HISTORY}[send one]\ntype = exec\ncommand = cat >> {out}\n")
    cluster.aggregator.signal(signal.SIGHUP)
    wait_until(lambda: cluster.aggregator.log().count("hangs, and is left") == 2, "that both are left")
    check_lines(cluster, lambda: [line for line in out.exists() and out.read_bytes().splitlines(True) or [] if line.endswith(b"\n")])
    assert [one["sender"] for one in cluster.status()["senders"]] == ["one"] and not sender(cluster)["error"]
    cluster.write("aggregator.ini", HISTORY + sections)
    asked(lambda: cluster.aggregator.signal(signal.SIGHUP))
    assert cluster.aggregator.stop() == 0
    assert cluster.aggregator.log().count("hangs, and is left") >= 4
