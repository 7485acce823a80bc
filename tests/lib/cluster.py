"""A cluster on this host: keys in a scratch folder, an aggregator, agents. Ports are what the aggregator found free."""

import pathlib
import shutil
import signal
import tempfile
import time

from lib.programs import LIMIT, Program, parse_line, run, wait_until


def read_key(path):
    """The Z85 text of a key file: "public = ...", "secret = ..."; '#' begins a comment."""
    for line in pathlib.Path(path).read_text().splitlines():
        name, _, value = line.partition(" = ")
        if name.strip() in ("public", "secret"):
            assert len(value.strip()) == 40, line
            return value.strip().encode()
    raise AssertionError(f"{path} holds no key")


class Cluster:
    def __init__(self):
        # Short, since a socket's path has room for 107 bytes.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="synop-test."))
        self.master = self.folder / "master"
        self.socket = self.folder / "s"
        self.history = self.folder / "history.db"
        self.empty = self.write("empty.ini", "")
        self.programs = []
        self.endpoint = None
        self.aggregator = None
        self.agents = {}
        self.succeed("aggregator", "keys", "init", "--keys", self.master)

    def close(self):
        """Ends everything; fails when a program ended badly or a sanitizer had something to say."""
        bad = []
        for program in reversed(self.programs):
            if program.alive():
                program.signal(signal.SIGTERM)
                program.signal(signal.SIGCONT)
        for program in self.programs:
            try:
                code = program.wait()
            except AssertionError:
                bad.append(f"{program.name} did not end after SIGTERM\n{program.threads()}\n{program.log()[-4000:]}")
                program.kill()
                continue
            # A SIGTERM in a program's first moments, or a tail's, ends it as the kernel does.
            if program.sanitizer_report() or (code < 0 and code != -signal.SIGTERM and not program.killed):
                bad.append(f"{program.name}: exit code {code}\n{program.log()[-4000:]}")
        shutil.rmtree(self.folder, ignore_errors=True)
        assert not bad, "\n".join(bad)

    def logs(self):
        """Of the last programs."""
        parts = []
        for program in self.programs[-8:]:
            parts.append(f"---- {program.name}: {' '.join(program.command)}\n{program.log()[-3000:]}")
        return "\n".join(parts)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def succeed(self, program, *arguments, **more):
        done = run(program, *arguments, **more)
        assert done.returncode == 0, f"{done.args}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def start(self, name, program, *arguments, **more):
        made = Program(self.folder, name, program, *arguments, **more)
        self.programs.append(made)
        return made

    # ---- keys ----

    def keys_add(self, node, public):
        self.succeed("aggregator", "keys", "add", node, public, "--keys", self.master, "--socket", self.socket)

    def keys_of(self, node, admit=True):
        """Makes a node's keys, and lets it in; returns the folder."""
        folder = self.folder / "keys" / node
        if not folder.exists():
            folder.parent.mkdir(exist_ok=True)
            self.succeed("agent", "keys", "init", "--keys", folder, "--node", node)
            shutil.copy(self.master / "aggregator.pub", folder)
            if admit:
                self.keys_add(node, folder / "agent.pub")
        return folder

    # ---- programs ----

    def start_aggregator(self, *options, name=None, config="", program="aggregator", **more):
        """The first time on free ports, later on the same. Without HTTP and without questions to schedulers, unless [http],
        [scheduler] or options ask for them."""
        ini = self.write("aggregator.ini", config)
        name = name or f"aggregator{sum(p.name.startswith('aggregator') for p in self.programs)}"
        listen = self.endpoint or "tcp://127.0.0.1:*"
        end = time.monotonic() + LIMIT
        while True:
            at = self.folder / "endpoint"
            at.unlink(missing_ok=True)
            arguments = ["--config", ini, "--keys", self.master, "--socket", self.socket, "--listen", listen,
                         "--history", self.history]
            arguments += [] if "[http]" in config else ["--http", ""]
            arguments += [] if "[scheduler]" in config else ["--scheduler-enabled", "no"]
            self.aggregator = self.start(name, program, *arguments, "--endpoint-file", at, *options, **more)
            wait_until(lambda: not self.aggregator.alive() or (at.exists() and at.read_text().strip()), "an endpoint")
            if self.aggregator.alive():
                break
            # Somebody else may hold the port for a moment.
            text = self.aggregator.log()
            assert self.endpoint and "in use" in text and time.monotonic() < end, text
            self.programs.pop()
            time.sleep(0.2)
        self.endpoint = at.read_text().strip()
        wait_until(self.socket.exists, "the aggregator's socket")
        return self.aggregator

    def start_agent(self, node, *options, period="200ms", config="", name=None, **more):
        keys = self.keys_of(node)
        ini = self.write(f"{node}.ini", config)
        count = sum(p.name.startswith(f"agent-{node}-") for p in self.programs)
        arguments = ["--config", ini, "--keys", keys, "--node", node, "--connect", self.endpoint, "--period", period,
                     "--ring-path", keys / "ring", "--ring-max-size", "1M", "--jobs-book", keys / "jobs"]
        self.agents[node] = self.start(name or f"agent-{node}-{count}", "agent", *arguments, *options, **more)
        return self.agents[node]

    def start_nodes(self, *nodes, **more):
        """Agents, each until its first line is out."""
        for node in nodes:
            self.start_agent(node, **more)
        for node in nodes:
            self.wait_node(node)

    def start_tail(self, *options, name="tail", **more):
        count = sum(p.name.startswith(f"{name}-") for p in self.programs)
        return self.start(f"{name}-{count}", "aggregator", "tail", "--socket", self.socket, *options, **more)

    # ---- what the aggregator says ----

    def wait_node(self, node, after=0, limit=LIMIT, check=None):
        return self.aggregator.wait_line(check, after=after, limit=limit, type="node", node=node)

    def wait_event(self, event, after=0, limit=LIMIT, check=None, **fields):
        return self.aggregator.wait_line(check, after=after, limit=limit, type="event", event=event, **fields)

    def status(self):
        return parse_line(self.succeed("aggregator", "status", "--json", "--socket", self.socket))

    def node_status(self, node):
        return next((one for one in self.status()["nodes"] if one["node"] == node), None)

    def counter(self, name):
        return self.status()["counters"][name]

    def wait_counter(self, name, least, limit=LIMIT):
        return wait_until(lambda: self.counter(name) >= least, f"counter {name} at {least}", limit)


def assert_contiguous(lines, node):
    """No frame of the node is missing among these lines, within each session, and none comes twice. Late ones may come
    behind newer ones, also such as were sampled before the first of these lines."""
    sessions = {}
    for line in lines:
        if line["type"] == "node" and line["node"] == node:
            sessions.setdefault(line["session"], []).append((line["seq"], bool(line.get("late"))))
    assert sessions, f"no lines of {node}"
    for session, frames in sessions.items():
        live = [number for number, late in frames if not late]
        assert live == sorted(live), f"{node} {session}: {live}"
        numbers = sorted(number for number, _ in frames if not live or number >= live[0])
        whole = list(range(numbers[0], numbers[0] + len(numbers)))
        assert numbers == whole, f"{node} {session}: {numbers}"
