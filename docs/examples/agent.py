#!/usr/bin/env python3
"""A whole agent in Python: publishes this machine's load and network counters every second.

    agent.py tcp://master:5555 NODE KEYS

KEYS is a folder with agent.key and aggregator.pub, as "synop-agent keys init" and one copy make it. What every field
means is in docs/protocol.md. It needs pyzmq and msgpack (Debian: python3-zmq, python3-msgpack)."""

import glob
import hashlib
import os
import secrets
import sys
import time

import msgpack
import zmq

PERIOD = 1_000_000_000  # ns, as all times
COUNTER, GAUGE = 0, 1  # kind
COUNT, BYTES = 0, 1  # unit
SUM, MEAN = 1, 2  # fold
OF_NODE = 1  # flag: one value for the node, none for rows
HELLO, SCHEMA, PROBE, WELCOME, PROBE_ANSWER, SCHEMA_REQUEST = 1, 2, 3, 32, 33, 36

GROUPS = [  # name, section, row, rows_name, fold_name, flags, help, [name, kind, unit, fold, flags, times, per, help]
    ["python_load", "system_data", "", "", "", 0, "Load averages.", [
        [f"load_{minutes}", GAUGE, COUNT, MEAN, OF_NODE, 0, 0, f"Over {minutes} minutes."] for minutes in (1, 5, 15)]],
    ["python_network", "system_data", "interface", "devices", "total", 0, "Traffic.", [
        [name, COUNTER, BYTES, SUM, 0, 0, 0, f"As in statistics/{name}."] for name in ("rx_bytes", "tx_bytes")]],
]


def sample():
    """[group index, period, error, labels of the rows, values of the node, a column for each metric of the rows]"""
    folders = sorted(glob.glob("/sys/class/net/*/statistics"))
    names = [folder.split("/")[4] for folder in folders]
    columns = [[int(open(f"{folder}/{name}").read()) for folder in folders] for name in ("rx_bytes", "tx_bytes")]
    return [[0, PERIOD, None, None, list(os.getloadavg()), []], [1, PERIOD, None, names, [], columns]]


def read_key(path, half):
    return next(line.split(" = ")[1].strip() for line in open(path) if line.startswith(half)).encode()


def connect(kind, endpoint, keys):
    socket = zmq.Context.instance().socket(kind)
    secret = read_key(f"{keys}/agent.key", "secret")
    socket.curve_publickey, socket.curve_secretkey = zmq.curve_public(secret), secret
    socket.curve_serverkey = read_key(f"{keys}/aggregator.pub", "public")
    socket.setsockopt(zmq.HEARTBEAT_IVL, 5000)
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 15000)
    socket.linger = 0
    socket.connect(endpoint)
    return socket


def next_instant(clock, after):
    """The first multiple of the period on the cluster's clock after `after`, both in this machine's monotonic time."""
    here, there, drift = clock
    since = after - here
    to_go = PERIOD - (there + since + int(since * drift)) % PERIOD
    return after + int(to_go / (1 + drift))


def main(endpoint, node, keys):
    host, port = endpoint.rsplit(":", 1)
    data = connect(zmq.XPUB, endpoint, keys)  # as PUB, and receives a message when somebody subscribes
    control = connect(zmq.DEALER, f"{host}:{int(port) + 1}", keys)
    schema = msgpack.packb([1, GROUPS])
    schema_hash = hashlib.blake2b(schema, digest_size=16).digest()
    session, sequence = secrets.randbits(63) | 1, 0
    clock, last, probes = (0, 0, 0.0), None, 0
    sample_at, probe_at = None, time.monotonic_ns() + PERIOD

    def send(*message):
        control.send(msgpack.packb([1, *message]), zmq.NOBLOCK)

    def hello():
        send(HELLO, node, session, schema_hash, 0, sequence, PERIOD, "python example")

    data.recv()  # the subscription: what is published before it is lost
    hello()
    while True:
        due = min(probe_at, sample_at or probe_at)
        if control.poll(max(0, due - time.monotonic_ns()) // 1_000_000 + 1):
            now = time.monotonic_ns()
            _, kind, *message = msgpack.unpackb(control.recv())
            if kind == WELCOME:
                if not message[1]:
                    send(SCHEMA, schema_hash, schema)
                sample_at = sample_at or next_instant(clock, now)
                last, probes, probe_at = None, 0, now
            elif kind == SCHEMA_REQUEST:
                send(SCHEMA, schema_hash, schema)
            elif kind == PROBE_ANSWER and not message[4]:
                hello()  # another aggregator than before
            elif kind == PROBE_ANSWER:
                last = [*message[1:4], now]
                if message[5]:
                    clock = message[5][0], message[5][1], message[5][3]
        now = time.monotonic_ns()
        if now >= probe_at:  # eight in a burst, then seldom
            send(PROBE, session, now, last)
            last, probes = None, probes + 1
            probe_at = now + (200_000_000 if probes < 8 else 5 * PERIOD)
        if sample_at and now >= sample_at:
            sequence += 1
            frame = [1, node, session, sequence, now, time.time_ns(), schema_hash, sample()]
            data.send(msgpack.packb(frame))
            sample_at = next_instant(clock, now + PERIOD // 2)


if __name__ == "__main__":
    main(*sys.argv[1:])
