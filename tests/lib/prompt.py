"""How prompt an aggregator is: beside another one, of the same machine, that nobody attacks."""

import math
import os
import statistics
import subprocess
import threading
import time

from lib.cluster import Cluster
from lib.programs import parse_line, time_ns, wait_until

PAUSE = 0.5  # s, between questions


class Prompt:
    """Until it is stopped: how late lines of some nodes are at a reader of the stream, after the instant that they are of,
    and how long the status takes. Both in seconds."""

    def __init__(self, cluster, nodes):
        self.cluster, self.nodes = cluster, nodes
        self.late, self.asked = [], []
        self.stopped = threading.Event()
        out, into = os.pipe()
        self.tail = cluster.start_tail("--type", "node", "--group", "load", stdout=into)
        os.close(into)
        self.threads = [threading.Thread(target=self.read, args=(out,)), threading.Thread(target=self.ask)]
        for thread in self.threads:
            thread.start()

    def read(self, out):
        with open(out, "rb") as lines:
            for text in lines:
                now = time.time_ns()
                line = parse_line(text)
                if line["node"] in self.nodes:
                    self.late.append((now - time_ns(line["time"])) / 1e9)

    def ask(self):
        while not self.stopped.wait(PAUSE):
            begun = time.monotonic()
            try:
                self.cluster.status()
                self.asked.append(time.monotonic() - begun)
            except (AssertionError, subprocess.TimeoutExpired):
                self.asked.append(math.inf)

    def stop(self):
        self.stopped.set()
        self.tail.stop()
        for thread in self.threads:
            thread.join()


class Beside:
    """Both aggregators, each with its Prompt. What the other one takes is the machine's doing; and since who computes is made to
    wait by a busy machine more than who sleeps, it is the median that is compared, not the worst."""

    def __init__(self, cluster, nodes):
        self.other = Cluster()
        self.looks = []
        try:
            self.other.start_aggregator()
            self.other.start_nodes("n1", period="200ms")
            for one, names in (cluster, nodes), (self.other, ("n1",)):
                self.looks.append(Prompt(one, names))
            wait_until(lambda: all(look.late and look.asked for look in self.looks), "lines and answers of both")
        except BaseException:
            self.close()
            raise

    def close(self):
        for look in self.looks:
            look.stop()
        self.other.close()

    def assert_within(self, seconds):
        for what, taken, beside in zip(("lines", "status"), *((look.late, look.asked) for look in self.looks)):
            usual = statistics.median(taken)
            print(f"{what} within {usual:.2f}, at most {max(taken):.2f} s of {len(taken)}, of the other aggregator {max(beside):.2f} s")
            assert usual < seconds + max(beside), f"{what} took {usual:.2f} s"
