"""Clients that mean no good, in a process of their own: some are slow, some ask without end, some send far too much, some ask
for streams that they never read. From addresses of the loopback network that nobody else uses."""

import multiprocessing
import os
import socket
import threading
import time

SLOW, DEAF, BUSY = 40, 20, 4
PATHS = ("/api/v1/nodes", "/api/v1/now?metric=load.load_1", "/metrics", "/api/v1/query?metric=load.load_1&from=-1h", "/main.js", "/none",
         "/api/v1/now?metric=" + "a" * 900, "/api/v1/events?type=" + "*a" * 400)


def connect(address, source):
    client = socket.create_connection(address, timeout=20, source_address=(source, 0))
    client.settimeout(20)
    return client


def patient(what):
    """What is refused is tried again; nobody is told."""
    while True:
        try:
            what()
        except OSError:
            time.sleep(0.1)


def slow(address, source):
    """A byte of a header each second."""
    with connect(address, source) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        while True:
            client.sendall(b"x")
            time.sleep(1)


def deaf(address, source):
    with connect(address, source) as client:
        client.sendall(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        time.sleep(5)


def busy(address, source):
    """About 200 requests a second from each."""
    for path in PATHS:
        with connect(address, source) as client:
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            while client.recv(1 << 16):
                pass
        time.sleep(0.005)


def large(address, source):
    with connect(address, source) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        for _ in range(1000):
            client.sendall(b"X-Large: " + b"x" * 8000 + b"\r\n")
        time.sleep(1)


def attack(host, port):
    os.nice(5)  # on one machine with what is attacked: not the CPU is the weapon
    for count, what, last in ((SLOW, slow, 10), (DEAF, deaf, 11), (BUSY, busy, 12), (1, large, 13)):
        for i in range(count):
            source = f"127.0.{last}.{1 + i}"
            threading.Thread(target=patient, args=(lambda what=what, source=source: what((host, port), source),), daemon=True).start()
    while True:
        time.sleep(60)


class Attackers:
    def __init__(self, url):
        host, port = url.removeprefix("http://").split(":")
        self.process = multiprocessing.get_context("fork").Process(target=attack, args=(host, int(port)), daemon=True)
        self.process.start()

    def close(self):
        self.process.kill()
        self.process.join(10)
