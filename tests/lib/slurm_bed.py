"""SLURM on hosts of this machine (slurm.py), an agent on each of its nodes, and the aggregator where slurmctld is."""

import re
import textwrap

from lib.programs import BUILD, ROOT, parse_line, run, wait_until
from lib.slurm import Slurm

PORT = 5555  # in a network of their own
PERIOD = 0.5


def stored_line():
    """The line of the epilog that docs/report.md has, which stores jobstats' summary."""
    text = (ROOT / "docs/report.md").read_text(encoding="utf-8").split("## In SLURM's AdminComment\n")[1]
    return textwrap.dedent(re.search(r"\n\n((?: {4}.*\n)+)", text)[1])


class Bed:
    """SLURM, with agents and an aggregator. `gpus`: for each node what is said to its agent of GPUs (Gpus), or None. More is
    Slurm's."""

    def __init__(self, cluster, plugins, epilog=False, settings="", gpus=(), **more):
        self.cluster, self.gpus = cluster, gpus
        self.options = ["--config", cluster.empty, "--socket", cluster.socket]
        if epilog:
            script = self.epilog()
            settings += f"EpilogSlurmctld={script}\n"
        self.slurm = Slurm(cluster.folder, plugins, settings, **more)
        self.nodes = self.slurm.nodes
        programs = cluster.logs
        cluster.logs = lambda: f"{programs()}\n{self.slurm.logs()}"  # of a test that fails

    def epilog(self):
        """It announces the end, then stores the summary."""
        folder = self.cluster.folder
        options = " ".join(map(str, self.options))
        line = stored_line().replace("synop-aggregator report", f"{BUILD}/aggregator report --history {self.cluster.history} {options}")
        script = self.cluster.write("epilog", f"#!/bin/sh\nexec 2>>{folder}/epilog.log\nexport SLURM_CONF={folder}/slurm/slurm.conf\n"
                                              f"{BUILD}/aggregator job end \"$SLURM_JOB_ID\" {options}\n{line}exit 0\n")
        script.chmod(0o755)
        return script

    def __enter__(self):
        self.slurm.__enter__()
        try:
            self.start()
        except BaseException:
            self.slurm.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for program in self.cluster.programs:
            if program.alive():
                program.stop()
        self.slurm.__exit__()

    def start(self):
        cluster, master = self.cluster, self.slurm.hosts[self.slurm.master]
        ini = cluster.write("aggregator.ini", "[history]\nchunk_time = 500ms\n[jobs]\ngrace = 2s\n[scheduler]\n"
                            f"command = env SLURM_CONF={self.slurm.conf}\n")
        endpoint = f"tcp://{master.address}:{PORT}"
        cluster.aggregator = self.program(master, "aggregator", "--config", ini, "--keys", cluster.master, "--listen",
                                          endpoint, "--socket", cluster.socket, "--history", cluster.history,
                                          "--down-periods", 8)
        wait_until(cluster.socket.exists, "the aggregator's socket")
        for at, node in enumerate(self.nodes):
            keys = cluster.keys_of(node)
            played = self.gpus[at] if at < len(self.gpus) else None
            ini = cluster.write(f"{node}.ini", f"[jobs]\nbook = {keys}/book\npss_period = 1s\n")
            self.program(self.slurm.hosts[node], "agent", "--config", ini, "--keys", keys, "--node", node, "--connect",
                         endpoint, "--period", f"{PERIOD}s", "--ring-path", keys / "ring", "--ring-max-size", "1M",
                         *(played.options if played else ()), env=played.environment if played else None)
        for node in self.nodes:
            cluster.wait_node(node)

    def program(self, host, name, *arguments, **more):
        made = host.program(self.cluster.folder, f"{name}-{host.name}", name, *arguments, **more)
        self.cluster.programs.append(made)
        return made

    # ---- what is said ----

    def job_line(self, job, event, check=None):
        return self.cluster.aggregator.wait_line(check, type="job", event=event, job_id=job)

    def command(self, name, *options):
        done = run("aggregator", name, *options, *self.options, "--history", self.cluster.history)
        assert done.returncode == 0, f"{done.args}: {done.stdout}{done.stderr}"
        return done.stdout

    def report(self, job, *options):
        return parse_line(self.command("report", job, "--json", *options))

    def first_note(self, job, *options):
        """What a user reads first: its name, all of its words, what to write. None: there is no note."""
        notes = self.report(job, *options)["notes"]
        return (notes[0]["note"], f"{notes[0]['text']} {notes[0]['advice']}", notes[0]["write"]) if notes else None

    def nodes_of(self, job):
        return {node["node"]: node for node in self.report(job)["nodes"]}

    def listed(self):
        return {line["job_id"]: line for line in map(parse_line, self.command("jobs", "--json").splitlines())}

    def rows(self, node, job):
        """The job's groups in the node's lines."""
        for line in self.cluster.aggregator.lines(type="node", node=node):
            for one in line["report"].get("job_data", []):
                if one["job_id"] == job:
                    yield one["report"]

    def latest(self, node, job, group, metric, check=lambda value: value is not None):
        """The newest of its values that fits."""
        values = [row[group][metric] for row in self.rows(node, job) if group in row and row[group][metric] is not None]
        return next(filter(check, reversed(values)), None)

    def wait_samples(self, job, count=3):
        """So many more lines with the job from each of its nodes; returns the line of its start."""
        started = self.job_line(job, "started")
        seen = {node: sum(1 for _ in self.rows(node, job)) for node in started["nodes"]}
        for node, before in seen.items():
            wait_until(lambda: sum(1 for _ in self.rows(node, job)) >= before + count, f"samples of {job} on {node}")
        return started
