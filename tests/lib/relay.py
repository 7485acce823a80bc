"""A TCP relay before an aggregator's two ports: it delays one direction, or holds it back for a while."""

import queue
import random
import socket
import threading
import time

from lib.programs import wait_until

UP, DOWN = "up", "down"  # to the aggregator, from it


class Way:
    """One direction of one connection: a reader that stamps what comes, and a writer that sends it when it is due."""

    def __init__(self, relay, channel, direction, source, sink):
        self.relay, self.key = relay, (channel, direction)
        self.source, self.sink = source, sink
        self.waiting = queue.Queue()
        for work in (self.read, self.write):
            threading.Thread(target=work, daemon=True).start()

    def read(self):
        try:
            while data := self.source.recv(65536):
                self.waiting.put((time.monotonic() + self.relay.delays.get(self.key, 0), data))
        except OSError:
            pass
        self.waiting.put((0, None))

    def write(self):
        try:
            while True:
                due, data = self.waiting.get()
                if data is None:
                    break
                time.sleep(max(0, due - time.monotonic()))
                while self.key in self.relay.held and not self.relay.closed:
                    time.sleep(0.005)
                self.sink.sendall(data)
        except OSError:
            pass
        for one in (self.source, self.sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Relay:
    """Agents connect to `endpoint`. `delays` and `held` are by (channel, direction): ("data", UP)."""

    def __init__(self, endpoint):
        self.target = int(endpoint.rsplit(":", 1)[1])
        self.delays, self.held, self.closed = {}, set(), False
        self.sockets, self.listeners = [], []
        self.port = wait_until(self.listen, "two free neighbouring ports")
        self.endpoint = f"tcp://127.0.0.1:{self.port}"
        for number, channel in enumerate(("data", "control")):
            threading.Thread(target=self.accept, args=(number, channel), daemon=True).start()

    def listen(self):
        port = random.randrange(10000, 32000, 2)
        listeners = [socket.socket(), socket.socket()]
        try:
            for number, listener in enumerate(listeners):
                listener.bind(("127.0.0.1", port + number))
                listener.listen(16)
        except OSError:
            for listener in listeners:
                listener.close()
            return None
        self.listeners = listeners
        return port

    def accept(self, number, channel):
        while True:
            try:
                near, _ = self.listeners[number].accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.target + number))
            except OSError:
                near.close()
                continue
            for one in (near, far):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.sockets += [near, far]
            Way(self, channel, UP, near, far)
            Way(self, channel, DOWN, far, near)

    def close(self):
        self.closed = True
        for one in [*self.listeners, *self.sockets]:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
