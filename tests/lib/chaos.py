"""A cluster on hosts of this machine in which, as a seed decides, programs are killed and links are cut.

The plan is made beforehand: each agent, the aggregator and each link goes off and on in turn, after a random while. What
was sampled is in the agents' frame logs, a file for each start; what is known of it in the aggregator's history.
"""

import random
import time
from dataclasses import dataclass

import msgpack
from lib.programs import Program, parse_line, run, wait_until

MASTER = "m0"
NODES = ("n1", "n2", "n3")
PORT = 5555  # in a network of their own
PERIOD = "200ms"
HEALED = 180  # s; libzmq's watchdog alone may take 120


@dataclass
class Start:
    """One run of an agent."""

    node: str
    program: Program
    path: object  # its frame log


def split(data):
    """The whole messages, one after another, and what is left behind the last."""
    unpacker = msgpack.Unpacker(raw=True, strict_map_key=False, max_buffer_size=0)
    unpacker.feed(data)
    frames, begin = [], 0
    while True:
        try:
            unpacker.skip()
        except msgpack.OutOfData:
            return frames, data[begin:]
        frames.append(data[begin : unpacker.tell()])
        begin = unpacker.tell()


def identity(frame):
    """(node, session, sequence)"""
    return tuple(msgpack.unpackb(frame, raw=False, strict_map_key=False)[1:4])


def spans(numbers):
    """1, 2, 3, 7 -> "1-3, 7" """
    runs = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{a}-{b}" if a != b else str(a) for a, b in runs)


def told(frames):
    """Frames of which something must be said, by session."""
    sessions = {}
    for node, session, sequence in frames:
        sessions.setdefault((node, session), []).append(sequence)
    return "\n".join(f"{node} session {session:016x}: {spans(numbers)}" for (node, session), numbers in sessions.items())


class Chaos:
    def __init__(self, cluster, hosts, seed, seconds):
        self.cluster, self.hosts, self.seconds = cluster, hosts, seconds
        self.dice = random.Random(seed)
        self.longest_cut = 30 if seconds >= 120 else 10
        self.aggregator = None
        self.aggregators = []
        self.agents = {}  # node -> its last Start
        self.starts = []
        self.cut = set()
        self.cuts = 0
        self.began = time.monotonic()
        self.journal = []

    def note(self, text):
        self.journal.append(f"{time.monotonic() - self.began:7.2f} s  {text}")

    # ---- programs ----

    def start_aggregator(self):
        # From nearly all of it written at once to nearly nothing.
        chunk = self.dice.choice(("500ms", "3s", "20s"))
        ini = self.cluster.write(f"aggregator-{len(self.aggregators)}.ini", f"[history]\nchunk_time = {chunk}\n")
        host = self.hosts[MASTER]
        self.aggregator = host.program(
            self.cluster.folder, f"aggregator-{len(self.aggregators)}", "aggregator", "--config", ini,
            "--keys", self.cluster.master, "--socket", self.cluster.socket, "--history", self.cluster.history,
            "--listen", f"tcp://{host.address}:{PORT}", "--no-node-lines")  # fmt: skip
        self.aggregators.append(self.aggregator)
        self.note(f"aggregator started, chunks of {chunk}")

    def start_agent(self, node, period=PERIOD):
        count = sum(start.node == node for start in self.starts)
        path = self.cluster.folder / f"frames-{node}-{count}"
        keys = self.cluster.keys_of(node)
        queue = self.dice.choice((3, 300))  # with a short one more must be asked for again
        program = self.hosts[node].program(
            self.cluster.folder, f"agent-{node}-{count}", "agent", "--config", self.cluster.empty, "--keys", keys,
            "--node", node, "--connect", f"tcp://{self.hosts[MASTER].address}:{PORT}", "--queue", queue,
            "--period", period, "--ring-path", keys / "ring", "--ring-max-size", "4M",
            "--frame-log", path)  # fmt: skip
        self.agents[node] = Start(node, program, path)
        self.starts.append(self.agents[node])
        self.note(f"{node} started")

    def assert_alive(self, program):
        assert program.alive(), f"{program.name} ended by itself: {program.process.returncode}\n{program.log()[-4000:]}"

    def kill(self, program):
        self.assert_alive(program)
        program.kill()
        self.note(f"{program.name} killed")

    # ---- the plan ----

    def agent(self, node, turned_on):
        if turned_on:
            self.start_agent(node)
        else:
            self.kill(self.agents[node].program)

    def master(self, _, turned_on):
        if turned_on:
            self.start_aggregator()
        else:
            self.kill(self.aggregator)

    def link(self, name, turned_on):
        self.hosts.link(name, turned_on)
        self.note(f"link of {name} {'whole' if turned_on else 'cut'}")
        if turned_on:
            self.cut.discard(name)
        else:
            self.cut.add(name)
            self.cuts += 1

    def things(self):
        """What can be turned off: (function, name, at most so long on, at most so long off)"""
        yield from ((self.agent, node, 12, 5) for node in NODES)
        yield self.master, None, 15, 5
        yield from ((self.link, name, 2 * self.longest_cut, self.longest_cut) for name in (MASTER, *NODES))

    def plan(self):
        steps = []
        for function, name, longest_on, longest_off in self.things():
            at, turned_on = 0, True
            while True:
                longest = longest_on if turned_on else longest_off
                at += self.dice.uniform(longest / 4 if turned_on else 0, longest)
                if at >= self.seconds:
                    break
                turned_on = not turned_on
                steps.append((at, function, name, turned_on))
        return sorted(steps, key=lambda step: step[0])

    def least(self):
        """How often each kind of thing is turned off at least, if it is done as planned."""
        often = {}
        for function, _, longest_on, longest_off in self.things():
            often[function.__name__] = often.get(function.__name__, 0) + int(self.seconds // (longest_on + longest_off))
        return often

    def run(self, share_lost):
        plan = self.plan()
        for host in self.hosts:
            host.lose(share_lost)
        self.start_aggregator()
        for node in NODES:
            self.start_agent(node)
        wait_until(self.all_up, "nodes that are up")
        self.began = time.monotonic()
        self.journal.clear()
        for at, function, name, turned_on in plan:
            time.sleep(max(0, self.began + at - time.monotonic()))
            function(name, turned_on)
        time.sleep(max(0, self.began + self.seconds - time.monotonic()))

    # ---- the end ----

    def status(self):
        """None: the aggregator does not answer."""
        done = run("aggregator", "status", "--json", "--socket", self.cluster.socket)
        return parse_line(done.stdout) if done.returncode == 0 else None

    def all_up(self):
        for program in (self.aggregator, *(start.program for start in self.agents.values())):
            self.assert_alive(program)
        status = self.status()
        return status and all(node["state"] == "up" for node in status["nodes"])

    def caught_up(self, earlier):
        """All are heard, none of them in an earlier session, and nothing is missing any more."""
        status = self.status()
        return status and all(node["session"] and int(node["session"], 16) not in earlier and node["missing"] == 0
                              for node in status["nodes"])

    def heal(self):
        for host in self.hosts:
            host.lose(0)
        for name in sorted(self.cut):
            self.link(name, True)
        if not self.aggregator.alive():
            self.start_aggregator()
        for node in NODES:
            if not self.agents[node].program.alive():
                self.start_agent(node)
        wait_until(lambda: self.all_up() and self.caught_up(()), "a cluster that is healed", HEALED)
        self.note("healed")

    def stop(self):
        """Ends the agents, and starts each once more, for the frames that ended with it: it samples once an hour."""
        for node in NODES:
            assert self.agents[node].program.stop() == 0, self.agents[node].program.log()
        earlier = {session for _, session, _ in self.logged()}
        for node in NODES:
            self.start_agent(node, "1h")
        wait_until(lambda: self.caught_up(earlier), "an aggregator that has caught up", HEALED)
        self.note("caught up")
        for node in NODES:
            assert self.agents[node].program.stop() == 0, self.agents[node].program.log()
        assert self.aggregator.stop() == 0, self.aggregator.log()
        for program in (*self.aggregators, *(start.program for start in self.starts)):
            assert not program.sanitizer_report(), program.log()[-4000:]

    # ---- what came of it ----

    def logged(self):
        return {identity(frame): frame for start in self.starts if start.path.exists()
                for frame in split(start.path.read_bytes())[0]}

    def kills(self, programs):
        return sum(program.killed for program in programs)

    def events(self, *names):
        return [line for program in self.aggregators for line in program.lines(type="event") if line["event"] in names]

    def exported(self):
        """What the history holds: [(identity, frame)]"""
        to = self.cluster.folder / "history.msgpack"
        self.cluster.succeed("aggregator", "export", "--config", self.cluster.empty, "--history", self.cluster.history,
                             "--format", "msgpack", "-o", to)
        frames, rest = split(to.read_bytes())
        assert not rest, f"{len(rest)} bytes behind the last frame of the export"
        return [(identity(frame), frame) for frame in frames]

    def excused(self, extra, stored):
        """Those frames that history alone may have: for each kill of an agent one that was on its way from the ring to
        the log, the one behind the last there, which may have a part of it."""
        fine = set()
        for start in self.starts:
            if not start.program.killed:
                continue
            frames, torn = split(start.path.read_bytes()) if start.path.exists() else ([], b"")
            if frames:
                node, session, sequence = identity(frames[-1])
                candidates = {(node, session, sequence + 1)}
            else:
                candidates = {one for one in extra if one[0] == start.node and one[2] == 1}
            fitting = [one for one in candidates & extra - fine if stored[one].startswith(torn)]
            fine.update(fitting[:1])
        return fine
