"""A node that is played to a real aggregator, with a job whose processes can be traced: what it is asked for, what it answers."""

import threading
import time

from lib import protocol
from lib.cluster import read_key
from lib.peers import AgentPeer
from lib.protocol import COUNTER, GAUGE, TEXT, UNIT_NONE, Group, Metric

S = 1_000_000_000
PERIOD_NS = S // 10
JOB = {"section": "job_data", "row": "job", "rows_name": "jobs", "fold_name": "total"}


def text(name):
    return Metric(name, TEXT, UNIT_NONE, protocol.FOLD_NONE)


GROUPS = [
    Group("job_cpu", **JOB, metrics=[Metric("user_time", COUNTER, per=10**9)]),
    Group("job_info", **JOB, metrics=[text("scheduler"), text("user"), Metric("started", GAUGE)]),
]
LIST, BEGIN, STATE = range(3)
FOUND, BEGUN, ENDED, FAILED, UNREGISTERED = range(5)
MORE, GOES_ON, DONE, REFUSED = range(4)


class Request:
    def __init__(self, message):
        (self.session, self.id, self.kind, self.job, self.user, self.tool, self.options, self.output, self.ranks, self.limit,
         self.start_ns, self.duration_ns, self.iterations) = message[2:15]


def record(pid, state, rank=-1, begun_ns=0, size=0, job="", path="", error=""):
    return [pid, rank, 1000, -1, state, begun_ns, size, job, path, error]


class TracedNode:
    """`answer(node, request)` is called in its thread for each request. `ahead` seconds: of its CLOCK_MONOTONIC."""

    def __init__(self, cluster, name, answer, job="77", user="ana", ahead=0.0):
        keys = cluster.keys_of(name)
        pair = read_key(keys / "agent.pub"), read_key(keys / "agent.key")
        self.name, self.job, self.user, self.answer = name, job, user, answer
        self.peer = AgentPeer(cluster.endpoint, name, pair, read_key(keys / "aggregator.pub"), GROUPS)
        self.ahead_ns = round(ahead * S)
        self.peer.monotonic = lambda: time.monotonic_ns() + self.ahead_ns
        self.requests, self.ended, self.last, self.quiet = [], False, None, False
        self.known = set()
        self.peer.start(period_ns=PERIOD_NS)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def close(self):
        self.ended = True
        self.thread.join()
        self.peer.close()

    def reply(self, request, progress, *records, error=""):
        self.peer.send(protocol.TRACE_ANSWER, self.peer.session, request.id, progress, error, list(records))

    def run(self):
        next_frame = next_probe = 0.0
        while not self.ended:
            self.peer.pump(10)
            self.take(self.peer.received)
            self.peer.received.clear()
            now = time.monotonic()
            if self.quiet:
                continue
            if now >= next_probe:
                next_probe = now + 0.25
                self.peer.send(protocol.PROBE, self.peer.session, self.peer.monotonic(), self.last)
            if now >= next_frame:
                next_frame = now + PERIOD_NS / S
                self.show()

    def take(self, messages):
        for message in messages:
            if message[1] == protocol.PROBE_ANSWER:
                answer = protocol.answer_read(message)
                self.last = [answer.t1, answer.t2, answer.t3, self.peer.monotonic()]
            elif message[1] == protocol.WELCOME:
                self.known.clear()  # another aggregator, perhaps
            elif message[1] == protocol.TRACE_REQUEST:
                request = Request(message)
                self.requests.append(request)
                self.answer(self, request)

    def show(self):
        new = {} if self.job in self.known else {self.job: {"scheduler": "slurm", "user": self.user, "started": time.time() - 5}}
        self.known.add(self.job)
        self.peer.publish([protocol.table_wire(GROUPS, "job_cpu", PERIOD_NS, rows={self.job: {"user_time": S}}),
                           protocol.table_wire(GROUPS, "job_info", PERIOD_NS, rows=new)])
