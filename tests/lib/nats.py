"""NATS' plain text protocol, as much as tests need: who subscribes, and who asks JetStream."""

import json
import socket
import threading


class Nats:
    """What comes on `subject`: a list of (subject, bytes); after the server was away, from when it is there again. `tls`: a
    context of ssl."""

    tls = None

    def __init__(self, port, subject, tls=None, **login):
        self.port, self.subject, self.tls, self.login = port, subject, tls, login
        self.messages = []
        self.ready, self.end = threading.Event(), False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        file = connection.makefile("rb")
        assert file.readline().startswith(b"INFO ")
        if self.tls:
            connection = self.tls.wrap_socket(connection, server_hostname="127.0.0.1")
            file = connection.makefile("rb")
        login = {"verbose": False, "pedantic": False, "name": "test", "headers": True, "no_responders": True} | self.login
        connection.sendall(b"CONNECT " + json.dumps(login).encode() + b"\r\nPING\r\n")
        line = file.readline()
        assert line == b"PONG\r\n", line
        return connection, file

    def run(self):
        while not self.end:
            try:
                connection, file = self.connect()
                with connection, file:
                    connection.settimeout(None)
                    connection.sendall(f"SUB {self.subject} 1\r\nPING\r\n".encode())
                    self.connection = connection
                    self.read(connection, file)
            except OSError:
                self.ready.clear()
                threading.Event().wait(0.05)

    def read(self, connection, file):
        while line := file.readline():
            words = line.split()
            if words[0] == b"PING":
                connection.sendall(b"PONG\r\n")
            elif words[0] == b"PONG":
                self.ready.set()
            elif words[0] == b"MSG":
                self.messages.append((words[1].decode(), file.read(int(words[-1]) + 2)[:-2]))
        raise ConnectionError("it is gone")

    def lines(self):
        return [line for _, message in list(self.messages) for line in message.splitlines()]

    def close(self):
        self.end = True
        self.connection.shutdown(socket.SHUT_RDWR)
        self.thread.join()


def ask(port, subject, body, **login):
    """A request, and its answer."""
    one = Nats.__new__(Nats)
    one.port, one.login = port, login
    connection, file = one.connect()
    with connection, file:
        text = json.dumps(body).encode()
        connection.sendall(b"SUB _INBOX.t 1\r\nPUB %s _INBOX.t %d\r\n%s\r\n" % (subject.encode(), len(text), text))
        while line := file.readline():
            words = line.split()
            if words[0] == b"MSG":
                return json.loads(file.read(int(words[-1])))
    raise AssertionError("no answer")
