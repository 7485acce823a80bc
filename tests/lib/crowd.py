"""Connections of one key by the thousand: crowd.py FOLDER ENDPOINT COUNT ADDRESS ADDRESSES makes COUNT of them, half on each
port, from ADDRESSES addresses beginning with 127.0.0.ADDRESS, and keeps them until its input ends. What is refused or ended
does not come back within a minute."""

import contextlib
import os
import pathlib
import subprocess
import sys

import zmq

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from lib.cluster import read_key  # noqa: E402
from lib.hostile import many_files  # noqa: E402
from lib.peers import control_endpoint, curve_client, own_context  # noqa: E402


def crowd(folder, endpoint, count, address, addresses):
    keys = read_key(folder / "agent.pub"), read_key(folder / "agent.key")
    context = own_context()
    # Of these kinds a socket connects as often as it is asked to.
    for kind, to in (zmq.XPUB, endpoint), (zmq.ROUTER, control_endpoint(endpoint)):
        client = context.socket(kind)
        client.reconnect_ivl = 60000
        curve_client(client, keys, read_key(folder / "aggregator.pub"))
        for number in range(count // 2):
            client.connect(to.replace("tcp://", f"tcp://127.0.0.{address + number % addresses}:0;"))
    sys.stdin.read()
    os._exit(0)  # the sockets' own end takes minutes


@contextlib.contextmanager
def crowds(cluster, processes, count, addresses):
    """So many processes with so many connections each of the evil node's key, each from so many addresses."""
    made = []
    try:
        for number in range(processes):
            command = [sys.executable, __file__, cluster.folder / "keys" / "evil", cluster.endpoint, count,
                       1 + number * addresses, addresses]
            made.append(subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE))
        yield
    finally:
        for one in made:
            one.stdin.close()
            one.wait()


if __name__ == "__main__":
    many_files()
    crowd(pathlib.Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:6]))
