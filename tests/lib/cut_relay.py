"""A network between agents and their aggregator that can be cut: what goes through two neighbouring ports of this host."""

import random
import socket
import threading

from lib.programs import wait_until


class Relay:
    """Use `endpoint` in place of the aggregator's. While it is cut, connections end and new ones are refused."""

    def __init__(self, endpoint):
        self.target = int(endpoint.rsplit(":", 1)[1])
        self.lock = threading.Lock()
        self.sockets, self.listeners = [], []
        self.port = None
        self.restore()
        self.endpoint = f"tcp://127.0.0.1:{self.port}"

    def restore(self):
        def listening():
            port = self.port or random.randrange(10000, 32000, 2)
            made = []
            try:
                for offset in (0, 1):
                    made.append(socket.create_server(("127.0.0.1", port + offset)))
            except OSError:
                for one in made:
                    one.close()
                return False
            self.port, self.listeners = port, made
            return True

        wait_until(listening, "two ports for the relay")
        for offset, listener in enumerate(self.listeners):
            threading.Thread(target=self.accept, args=(listener, self.target + offset), daemon=True).start()

    def cut(self):
        with self.lock:
            for one in (*self.listeners, *self.sockets):
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                one.close()
            self.sockets, self.listeners = [], []

    close = cut

    def accept(self, listener, port):
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection(("127.0.0.1", port))
            except OSError:
                if listener.fileno() < 0:
                    return
                continue
            with self.lock:
                if listener not in self.listeners:
                    near.close()
                    far.close()
                    return
                self.sockets += [near, far]
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self.copy, args=pair, daemon=True).start()

    @staticmethod
    def copy(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
