"""Players of the protocol by pyzmq: an agent and an aggregator that share no line with the programs."""

import random
import threading
import time

import zmq
import zmq.utils.z85

from lib import protocol
from lib.programs import LIMIT, wait_until


def control_endpoint(endpoint):
    host, port = endpoint.rsplit(":", 1)
    return f"{host}:{int(port) + 1}"


def curve_client(socket, keys, server_key):
    socket.curve_publickey, socket.curve_secretkey = keys
    socket.curve_serverkey = server_key
    socket.linger = 0


class Context(zmq.Context):
    """What a failed test leaves open goes without waiting for a peer that is gone. Its end is waited for, but not for
    ever: libzmq's own, seldom, does not come while a socket connects again."""

    def destroy(self, linger=0):
        ended = threading.Thread(target=super().destroy, kwargs={"linger": linger}, daemon=True)
        ended.start()
        ended.join(10)


def own_context():
    context = Context()
    context.linger = 0
    return context


class AgentPeer:
    """Plays a node. Its data socket is an XPUB, which hears of the subscription: what is published after that is not
    lost at the start. `monotonic` is its clock, which may be a played one too."""

    def __init__(self, endpoint, node, keys, server_key, groups, session=None, control=True):
        self.node, self.groups = node, groups
        self.schema = protocol.schema_bytes(groups)
        self.hash = protocol.schema_hash(self.schema)
        self.session = session or random.getrandbits(63) | 1
        self.sequence = 0
        self.received = []
        self.ring = None  # {(session, sequence): bytes}: what it can send again; None: it cannot
        self.monotonic = time.monotonic_ns
        self.context = own_context()
        self.data = self.context.socket(zmq.XPUB)
        self.data.sndhwm = 100000
        curve_client(self.data, keys, server_key)
        self.data.connect(endpoint)
        self.control = None
        if control:
            self.control = self.context.socket(zmq.DEALER)
            curve_client(self.control, keys, server_key)
            self.control.connect(control_endpoint(endpoint))

    def close(self):
        self.context.destroy(linger=0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def wait_subscribed(self):
        assert self.data.poll(LIMIT * 1000), "no subscription arrived"
        assert self.data.recv()[:1] == b"\x01"

    def send(self, *fields):
        self.control.send(protocol.pack([1, *fields]))

    def hello(self, node=None, schema=None, period_ns=1_000_000_000):
        first = 0 if self.ring is None else 1
        self.send(protocol.HELLO, node or self.node, self.session, schema or self.hash, first, self.sequence, period_ns,
                  "peer 1", self.held())

    def held(self):
        """Of earlier sessions, the newest first."""
        sessions = {}
        for session, sequence in self.ring or {}:
            if session != self.session:
                sessions.setdefault(session, []).append(sequence)
        return [[session, min(numbers), max(numbers)] for session, numbers in reversed(sessions.items())]

    def replay(self, session, first, last, frames, size):
        sent = 0
        for sequence in range(first, last + 1):
            data = self.ring.get((session, sequence))
            if data is None or len(data) > size:
                continue
            if sent == frames:
                last = sequence - 1
                break
            self.send(protocol.REPLAYED, data)
            sent += 1
        self.send(protocol.REPLAY_END, session, first, last, sent)

    def send_schema(self, data=None):
        data = self.schema if data is None else data
        self.send(protocol.SCHEMA, protocol.schema_hash(data), data)

    def pump(self, milliseconds=0):
        """Reads what arrived; a wish for the schema is granted."""
        while self.control.poll(milliseconds):
            message = protocol.unpack(self.control.recv())
            self.received.append(message)
            if message[1] == protocol.SCHEMA_REQUEST and message[2] == self.hash:
                self.send_schema()
            elif message[1] == protocol.REPLAY_REQUEST and self.ring is not None:
                self.replay(*message[2:7])
            milliseconds = 0

    def wait_message(self, kind):
        def found():
            self.pump(20)
            return next((message for message in self.received if message[1] == kind), None)

        return wait_until(found, f"message {kind} of the aggregator")

    def probe(self, last=None, session=None):
        """Asks what time it is; returns the answer, and the four times to tell with the next probe."""
        asked = self.monotonic()
        self.received.clear()
        self.send(protocol.PROBE, session or self.session, asked, last)

        def answered():
            self.pump(20)
            answers = [protocol.answer_read(one) for one in self.received if one[1] == protocol.PROBE_ANSWER]
            return next((answer for answer in answers if answer.t1 == asked), None)

        answer = wait_until(answered, "the answer to a probe")
        return answer, [asked, answer.t2, answer.t3, self.monotonic()]

    def start(self, **hello):
        """Until the aggregator knows this session and its schema, and hears it."""
        self.wait_subscribed()
        self.hello(**hello)
        welcome = self.wait_message(protocol.WELCOME)
        assert welcome[2] == self.session
        if not welcome[3]:
            self.send_schema()
        return welcome

    def frame(self, tables, sequence=None, node=None, monotonic_ns=None, wall_ns=None, more=()):
        if sequence is None:
            self.sequence += 1
            sequence = self.sequence
        monotonic_ns = self.monotonic() if monotonic_ns is None else monotonic_ns
        wall_ns = time.time_ns() if wall_ns is None else wall_ns
        return [1, node or self.node, self.session, sequence, monotonic_ns, wall_ns, self.hash, tables, *more]

    def publish(self, tables, lose=False, **fields):
        data = protocol.pack(self.frame(tables, **fields))
        if self.ring is not None:
            self.ring[self.session, protocol.unpack(data)[3]] = data
        if not lose:
            self.publish_raw(data)

    def publish_raw(self, data):
        self.data.send(data)


class Zap:
    """Admits the public keys of `users` ({key: name}), and counts the others."""

    def __init__(self, context, users):
        self.users, self.refused = users, 0
        self.socket = context.socket(zmq.REP)
        self.socket.linger = 0
        self.socket.bind("inproc://zeromq.zap.01")
        self.ended = False
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.ended:
            if not self.socket.poll(50):
                continue
            version, request, _domain, _address, _identity, mechanism, *credentials = self.socket.recv_multipart()
            user = self.users.get(zmq.utils.z85.encode(credentials[0])) if mechanism == b"CURVE" else None
            if user is None:
                self.refused += 1
                self.socket.send_multipart([version, request, b"300", b"unknown", b"", b""])
            else:
                self.socket.send_multipart([version, request, b"200", b"OK", user.encode(), b""])
        self.socket.close()

    def close(self):
        self.ended = True
        self.thread.join()


class AggregatorPeer:
    """Plays an aggregator to real agents: SUB on a free port, ROUTER on the next."""

    def __init__(self, secret, public, users, endpoint=None):
        self.context = own_context()
        self.zap = Zap(self.context, users)
        self.keys = (public, secret)
        self.messages, self.frames, self.schemas = [], [], {}
        self.answer = True
        self.hold_schema = False
        self.frame_limit = None  # bytes of a frame, told in the welcome
        self.known_sessions = {}
        self.clock = None  # [node ns, cluster ns, bound ns, drift, soon]
        self.endpoint = endpoint
        self.bind()

    def server_socket(self, kind):
        socket = self.context.socket(kind)
        socket.curve_server = True
        socket.curve_publickey, socket.curve_secretkey = self.keys
        socket.zap_domain = b"test"
        socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
        socket.linger = 0
        return socket

    def bind(self):
        def bound():
            at = self.endpoint or f"tcp://127.0.0.1:{random.randrange(10000, 32000, 2)}"
            self.data, self.control = self.server_socket(zmq.SUB), self.server_socket(zmq.ROUTER)
            try:
                self.data.bind(at)
                self.control.bind(control_endpoint(at))
            except zmq.ZMQError:
                self.data.close()
                self.control.close()
                return False
            self.endpoint = at
            return True

        wait_until(bound, "two free ports")
        self.data.subscribe(b"")

    def close(self):
        self.zap.close()
        self.context.destroy(linger=0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, routing, *fields):
        self.control.send_multipart([routing, protocol.pack([1, *fields])])

    def welcome(self, routing, hello, last=0):
        known = hello.schema in self.schemas
        self.known_sessions[hello.session] = hello
        limit = [] if self.frame_limit is None else [self.frame_limit]
        self.send(routing, protocol.WELCOME, hello.session, known, last, "peer 1", *limit)

    def take_control(self):
        routing, data = self.control.recv_multipart()
        message = protocol.unpack(data)
        assert message[0] == 1, message
        self.messages.append((routing, message))
        if message[1] == protocol.SCHEMA:
            assert protocol.schema_hash(message[3]) == message[2]
            self.schemas[message[2]] = protocol.schema_read(message[3])
        elif message[1] == protocol.HELLO and self.answer:
            hello = protocol.hello_read(message)
            self.welcome(routing, hello)
            if hello.schema not in self.schemas and not self.hold_schema:
                self.send(routing, protocol.SCHEMA_REQUEST, hello.schema)
        elif message[1] == protocol.PROBE and self.answer:
            now = time.monotonic_ns()
            self.send(routing, protocol.PROBE_ANSWER, message[2], message[3], now, time.monotonic_ns(),
                      message[2] in self.known_sessions, self.clock)

    def pump(self, milliseconds=20):
        poller = zmq.Poller()
        poller.register(self.data, zmq.POLLIN)
        poller.register(self.control, zmq.POLLIN)
        for socket, _ in poller.poll(milliseconds):
            if socket is self.control:
                self.take_control()
            else:
                self.frames.append((time.monotonic_ns(), self.data.recv()))

    def wait(self, condition, what):
        def pumped():
            self.pump()
            return condition()

        return wait_until(pumped, what)

    def probes(self):
        return [protocol.probe_read(message) for _, message in self.messages if message[1] == protocol.PROBE]

    def hellos(self):
        return [protocol.hello_read(message) for _, message in self.messages if message[1] == protocol.HELLO]

    def wait_frames(self, count, after=0):
        """Decoded, once the schema has come; hello and schema are waited for too."""
        self.wait(lambda: len(self.frames) >= after + count and self.schemas, f"{count} frames and a schema")
        return self.decoded()[after:]

    def decoded(self):
        made = []
        for received, data in self.frames:
            frame = protocol.frame_read(data, self.schemas[protocol.unpack(data)[6]])
            frame.received = received
            made.append(frame)
        return made
