"""Jobs on real processes: started with the environments of schedulers, in cgroup folders as these make them, and by
agent run. The folders are made in cgroup v1 below one of the test's own, which goes with the test."""

import os
import pathlib
import pwd
import signal
import subprocess
import sys

import pytest
from lib.programs import BUILD, LIMIT, environment, listed_groups, parse_line, run, wait_until

CGROUPS = pathlib.Path("/sys/fs/cgroup")
CONTROLLERS = ("cpuacct", "memory", "blkio")
SHORT_LIVED = 0.6  # seconds of CPU time
HELD = 48 << 20

# Waits for the file "go", then has processes use CPU time for which no living process waits, 20 ms each, and holds
# memory. "done" is there when all of them have ended.
WORK = f"""
import os, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
(folder / "ready").touch()
while not (folder / "go").exists():
    time.sleep(0.02)
held = b"x" * {HELD}
reading, writing = os.pipe()
for _ in range({int(SHORT_LIVED / 0.02)}):
    if os.fork() == 0:
        if os.fork() == 0:
            while time.process_time() < 0.02:
                pass
        os._exit(0)
    os.wait()
os.close(writing)
os.read(reading, 1)
(folder / "done").touch()
while True:
    time.sleep(1)
"""


def has_begun(process):
    """It is the command, no longer the shell that enters folders."""
    return process.poll() is not None or b"FOLDERS=" not in pathlib.Path(f"/proc/{process.pid}/environ").read_bytes()


class Processes:
    """Started processes and the cgroup folders made for them; both are gone after the test."""

    def __init__(self, folder):
        self.folder = folder
        self.started = []
        self.made = []

    def start(self, command, env=None, folders=(), plain=True):
        """`folders` are entered before the command is executed, so that it never was anywhere else."""
        enter = 'for f in $FOLDERS; do echo 0 > "$f/cgroup.procs" || exit 1; done; unset FOLDERS; exec "$@"'
        kept = environment() if plain else {}
        process = subprocess.Popen(
            ["sh", "-c", enter, "sh", *map(str, command)],
            stdin=subprocess.DEVNULL, start_new_session=True,
            env=kept | (env or {}) | {"FOLDERS": " ".join(map(str, folders))},
        )
        self.started.append(process)
        if folders:
            wait_until(lambda: has_begun(process), f"{command[0]} in {folders}")
        return process

    def sleeper(self, env=None, folders=()):
        return self.start(["sleep", "600"], env, folders)

    def worker(self, name, env=None, folders=(), prefix=()):
        marks = self.folder / name
        marks.mkdir()
        self.start([*prefix, sys.executable, "-c", WORK, marks], env, folders)
        wait_until(lambda: (marks / "ready").exists(), f"{name} is ready")
        return marks

    def make(self, controller, path):
        """A cgroup folder with all that lead there."""
        at = CGROUPS / controller
        for part in (f"synop-test-{os.getpid()}", *path.split("/")):
            at = at / part
            if at.exists():
                continue
            try:
                at.mkdir()
            except OSError as error:
                pytest.skip(f"{at}: {error.strerror}")
            self.made.append(at)
            if controller == "cpuset":
                (at / "cpuset.mems").write_text((at.parent / "cpuset.mems").read_text())
                (at / "cpuset.cpus").write_text((at.parent / "cpuset.cpus").read_text())
        return at

    def close(self):
        for process in self.started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        # os.walk minds no folder that another process takes away meanwhile.
        own = [pathlib.Path(place, name) for controller in (*CONTROLLERS, "unified")
               for place, names, _ in os.walk(CGROUPS / controller) for name in names if name.startswith("synop_job_test-")]
        for path in [*own, *reversed(self.made)]:
            wait_until(lambda at=path: not at.exists() or removed(at), f"{path} is removed")


def removed(path):
    try:
        path.rmdir()
    except OSError:
        return not path.exists()
    return True


@pytest.fixture(name="processes")
def fixture_processes(cluster):
    made = Processes(cluster.folder)
    yield made
    made.close()


def job_agent(cluster, variables=""):
    """An agent that has the groups of jobs alone."""
    names = [group["name"] for group in listed_groups()]
    if "job_info" not in names:
        pytest.skip("this agent has no groups of jobs")
    others = "".join(f"[group {name}]\nenabled = no\n" for name in names if not name.startswith("job_"))
    config = cluster.write("jobs.ini", f"[jobs]\nbook = {cluster.folder}/book\nenvironment = {variables}\n{others}")
    return cluster.start("alone", "agent", "--config", config, "--period", "200ms")


def seen(agent, job, group):
    """That group of the job in all lines so far."""
    assert agent.alive(), agent.log()
    rows = []
    for line in agent.lines():
        rows += [entry["report"][group] for entry in line["report"].get("job_data", [])
                 if entry["job_id"] == job and group in entry["report"]]
    return rows


def info(agent, job, complete=lambda row: True):
    return wait_until(lambda: next((row for row in reversed(seen(agent, job, "job_info")) if complete(row)), None),
                      f"job_info of {job}")


def cpu_time(agent, job):
    return sum((row["user_time"] or 0) + (row["system_time"] or 0) for row in seen(agent, job, "job_cpu"))


def own_name():
    """Whose a job is where its environment tells nobody's name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


ENVIRONMENTS = {
    # label: environment, what job_info says
    "9001": ({"SLURM_JOB_ID": "9001", "SLURM_JOB_NAME": "two words", "SLURM_JOB_USER": "ann",
              "SLURM_JOB_CPUS_PER_NODE": "2(x3)",
              "SLURM_JOB_NUM_NODES": "3", "SLURM_JOB_NODELIST": "n[1-3]", "SLURMD_NODENAME": "n1",
              "SLURM_ARRAY_JOB_ID": "9000", "SLURM_ARRAY_TASK_ID": "1", "SLURM_JOB_GPUS": "0,1"},
             {"scheduler": "slurm", "name": "two words", "cpus": 2, "nodes": 3, "node_list": "n[1-3]",
              "array": "9000_1", "gpus": "0,1"}),
    "9002/1": ({"SLURM_JOB_ID": "9002", "SLURM_RESTART_COUNT": "1"}, {"scheduler": "slurm"}),
    "42[3].pbs": ({"PBS_JOBID": "42[3].pbs", "PBS_JOBNAME": "sim", "PBS_O_LOGNAME": "bob", "PBS_ARRAY_INDEX": "3",
                   "NCPUS": "4"},
                  {"scheduler": "pbs", "name": "sim", "cpus": 4, "array": "42_3"}),
    "43.torque": ({"PBS_JOBID": "43.torque", "PBS_NUM_NODES": "2", "PBS_NUM_PPN": "8"},
                  {"scheduler": "pbs", "nodes": 2, "cpus": 8}),
    "7001": ({"OAR_JOB_ID": "7001", "OAR_JOB_NAME": "o", "OAR_USER": "cat"},
             {"scheduler": "oar", "name": "o"}),
    "99[4]": ({"LSB_JOBID": "99", "LSB_JOBINDEX": "4", "LSB_MCPU_HOSTS": "a 2 b 2"},
              {"scheduler": "lsf", "nodes": 2, "cpus": 2, "node_list": "a,b", "array": "99_4"}),
    "f58xQ": ({"FLUX_JOB_ID": "\u019258xQ", "FLUX_JOB_NNODES": "5"}, {"scheduler": "flux", "nodes": 5}),
    "mine": ({"SYNOP_JOB_ID": "mine", "SYNOP_JOB_NAME": "My own"}, {"scheduler": "synop", "name": "My own"}),
    "q-1": ({"QUEUE_JOB": "q-1"}, {"scheduler": "other"}),
}


@pytest.mark.sanitized
def test_environments(cluster, processes):
    # Whom the environment names is not believed: the user is who runs the process.
    for env, _ in ENVIRONMENTS.values():
        processes.sleeper(env)
    agent = job_agent(cluster, "QUEUE_JOB")
    for label, (_, expected) in ENVIRONMENTS.items():
        row = info(agent, label)
        expected = {"user": own_name()} | expected
        assert {key: row[key] for key in expected} == expected
        assert row["source"] == "processes" and row["uid"] == os.getuid()
        wait_until(lambda job=label: any(row["processes"] == 1 for row in seen(agent, job, "job_processes")),
                   f"the process of {label}")
    assert not seen(agent, "9002", "job_info"), "a job that was requeued is another one"


FOLDERS = {
    # label: environment, controllers, folder, scheduler
    "511.pbs": ({}, CONTROLLERS, "pbs_jobs.service/jobid/511.pbs", "pbs"),
    "512.torque": ({"PBS_JOBID": "999.else"}, CONTROLLERS, "torque/512.torque", "pbs"),
    "513": ({}, CONTROLLERS, "slurm_n1/uid_0/job_513/step_0/task_0", "slurm"),
    "514": ({"SLURM_JOB_ID": "514"}, CONTROLLERS, "slurm/uid_0/s7XYZ/step_0/task_0", "slurm"),
    "515": ({}, CONTROLLERS, "lsf/hpc/job.515.1.2", "lsf"),
    "516": ({"OAR_JOB_ID": "516", "OAR_USER": "an_user"}, (*CONTROLLERS, "cpuset"), "oar/an_user_516", "oar"),
}


def test_folders(cluster, processes):
    """The kernel's word, whatever the environment says; an OAR job has one CPU, by its cpuset."""
    for env, controllers, path, _ in FOLDERS.values():
        folders = [processes.make(controller, path) for controller in controllers]
        if "cpuset" in controllers:
            (folders[-1] / "cpuset.cpus").write_text(str(min(os.sched_getaffinity(0))))
        processes.sleeper(env, folders)
    agent = job_agent(cluster)
    for label, (_, _, _, scheduler) in FOLDERS.items():
        row = info(agent, label, lambda row: row["source"] == "cgroup")
        assert row["scheduler"] == scheduler
    info(agent, "516", lambda row: row["cpus"] == 1 and row["user"] == "an_user")
    assert not seen(agent, "999.else", "job_info")


def assert_work_is_counted(agent, job, marks):
    """All CPU time, though the processes that used it were not seen, and the peak of memory."""
    info(agent, job, lambda row: row["source"] == "cgroup")
    before = cpu_time(agent, job)
    (marks / "go").touch()
    wait_until(lambda: (marks / "done").exists(), "the work is done")
    wait_until(lambda: cpu_time(agent, job) - before >= 0.95 * SHORT_LIVED, f"the CPU time of {job}")
    rows = len(seen(agent, job, "job_cpu"))
    wait_until(lambda: len(seen(agent, job, "job_cpu")) > rows + 2, "two more samples")
    assert cpu_time(agent, job) - before < SHORT_LIVED + 1, "not twice"
    wait_until(lambda: any((row["cgroup_peak"] or 0) >= HELD for row in seen(agent, job, "job_memory")),
               "the peak of memory")


def test_pbs_counts_what_is_short_lived(cluster, processes):
    folders = [processes.make(controller, "pbs_jobs.service/jobid/600.pbs") for controller in CONTROLLERS]
    marks = processes.worker("work", {"PBS_JOBID": "600.pbs"}, folders)
    assert_work_is_counted(job_agent(cluster), "600.pbs", marks)


def test_process_that_leaves_its_folder(cluster, processes):
    """It has the job's environment and the job's user: it stays the job's, beside those in the folder."""
    folders = [processes.make(controller, "torque/601.torque") for controller in CONTROLLERS]
    processes.sleeper({"PBS_JOBID": "601.torque"}, folders)
    processes.sleeper({"PBS_JOBID": "601.torque"})
    agent = job_agent(cluster)
    info(agent, "601.torque", lambda row: row["source"] == "cgroup")
    wait_until(lambda: any(row["processes"] == 2 for row in seen(agent, "601.torque", "job_processes")),
               "both processes")


# ---- agent run ----


def agent_run(*arguments, **more):
    return run("agent", "run", *arguments, **more)


def job_name(name):
    return f"test-{os.getpid()}-{name}"


@pytest.mark.sanitized
def test_run_becomes_the_command(processes):
    job = job_name("a")
    show = "print(os.environ['SYNOP_JOB_ID'], os.environ['SYNOP_JOB_NAME'], os.getppid(), sys.argv[1:])"
    code = f"import os, sys\n{show}\nsys.exit(7)"
    done = agent_run("--job", job, "--", sys.executable, "-c", code, "--job", "--", "x")
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == f"{job} {job} {os.getpid()} ['--job', '--', 'x']\n"
    # Signals are as they were: a pipe without a reader ends the command.
    done = agent_run(f"--job={job}", "sh", "-c", "trap; kill -PIPE $$; echo survived")
    assert done.returncode == -signal.SIGPIPE and done.stdout == ""
    process = processes.start([BUILD / "agent", "run", "--job", job, "sleep", "600"])
    wait_until(lambda: pathlib.Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n",
               "the command has the process id")
    process.terminate()
    assert process.wait(LIMIT) == -signal.SIGTERM


@pytest.mark.parametrize("arguments,words", [
    ([], ["a command", "--help"]),
    (["--job", "x"], ["a command"]),
    (["--job", "x", "--"], ["a command"]),
    (["true"], ["--job NAME"]),
    (["--job", "", "true"], ["--job NAME"]),
    (["--job"], ["--job"]),
    (["--job", "a b", "true"], ["--job", "a b", "letters"]),
    (["--job", "a/b", "true"], ["a/b"]),
    (["--job", "..", "true"], [".."]),
    (["--job", "x" * 101, "true"], ["100"]),
    (["--jbo", "x", "true"], ["--jbo", "--job"]),
    (["--log-level", "loud", "--job", "x", "true"], ["--log-level", "debug"]),
], ids=lambda value: " ".join(value)[:30])
def test_errors_of_run(arguments, words):
    done = agent_run(*arguments)
    assert done.returncode == 2 and done.stdout == ""
    for word in words:
        assert word in done.stderr, (word, done.stderr)


def test_commands_that_cannot_be_run(processes):  # pylint: disable=unused-argument
    job = job_name("none")
    done = agent_run("--job", job, "/nonexistent/command")
    assert done.returncode == 127 and "/nonexistent/command: No such file" in done.stderr
    done = agent_run("--job", job, "/etc")
    assert done.returncode == 126 and "/etc: Permission denied" in done.stderr
    done = agent_run("--help")
    assert done.returncode == 0 and "--job" in done.stdout and done.stderr == ""


def test_run_has_a_cgroup_that_counts(cluster, processes):
    job = job_name("c")
    told = agent_run("--job", job, "--log-level", "debug", "true").stderr
    if any(f"entered {CGROUPS}/{name}" not in told for name in ("cpuacct", "memory")):
        pytest.skip(f"no cgroup folders can be made here: {told}")
    marks = processes.worker("work", prefix=[BUILD / "agent", "run", "--job", job])
    agent = job_agent(cluster)
    assert_work_is_counted(agent, job, marks)
    assert info(agent, job)["scheduler"] == "synop" and info(agent, job)["name"] == job


def own_folders(job):
    """Others may go while they are looked through."""
    return [pathlib.Path(path, name) for controller in (*CONTROLLERS, "unified")
            for path, names, _ in os.walk(CGROUPS / controller) for name in names if name == f"synop_job_{job}"]


def test_folders_that_are_left_are_removed(processes):
    first, second, third = job_name("first"), job_name("second"), job_name("third")
    agent_run("--job", first, "true")
    if not own_folders(first):
        pytest.skip("no cgroup folders can be made here")
    running = processes.start([BUILD / "agent", "run", "--job", second, "sleep", "600"])
    wait_until(lambda: own_folders(second), "the folders of a command that runs")

    def gone():
        agent_run("--job", third, "true")
        return not own_folders(first)

    wait_until(gone, "the folders of a command that ended are removed")
    wait_until(lambda: pathlib.Path(f"/proc/{running.pid}/comm").read_text() == "sleep\n", "it runs")
    assert own_folders(second)
    assert f"synop_job_{second}" in pathlib.Path(f"/proc/{running.pid}/cgroup").read_text()


@pytest.mark.sanitized
def test_run_inside_of_jobs(processes):  # pylint: disable=unused-argument
    """A job that is there is not left, and the user is told."""
    inner, outer = job_name("inner"), job_name("outer")
    done = agent_run("--job", outer, BUILD / "agent", "run", "--job", inner, "cat", "/proc/self/cgroup")
    assert done.returncode == 0 and f"synop_job_{inner}" not in done.stdout
    if f"synop_job_{outer}" in done.stdout:
        assert f"inside of synop job {outer}" in done.stderr
    done = subprocess.run([BUILD / "agent", "run", "--job", inner, "cat", "/proc/self/cgroup"], capture_output=True,
                          text=True, check=True, timeout=LIMIT, env=environment() | {"PBS_JOBID": "5.pbs"})
    assert "inside of pbs job 5.pbs" in done.stderr and inner not in done.stdout


def test_run_without_permission(processes):  # pylint: disable=unused-argument
    """An ordinary user's command runs without a cgroup, and nothing is said of it."""
    if os.getuid() != 0:
        pytest.skip("only root can be somebody else")
    job = job_name("user")
    try:
        done = agent_run("--job", job, "sh", "-c", "echo $SYNOP_JOB_ID; cat /proc/self/cgroup", user=65534, group=65534,
                         extra_groups=[], cwd="/")
    except PermissionError as error:
        pytest.skip(f"{BUILD} cannot be entered by others: {error.strerror}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{job}\n") and f"synop_job_{job}" not in done.stdout


def test_node_line(cluster, processes):
    """One object for each job, with the groups in it."""
    processes.sleeper({"OAR_JOB_ID": "7100"})
    agent = job_agent(cluster)
    info(agent, "7100")
    line = agent.lines()[-1]
    job, = [entry for entry in line["report"]["job_data"] if entry["job_id"] == "7100"]
    assert set(job) == {"job_id", "error", "report"}
    assert {"job_cpu", "job_memory", "job_io", "job_processes"} <= set(job["report"])
    assert job["report"]["job_cpu"]["period"] > 0 and parse_line(agent.out_path.read_text().splitlines()[0])


# ---- with an agent that is told how commands end ----


class Runs:
    """An aggregator, and an agent that listens for "agent run"."""

    def __init__(self, cluster):
        self.cluster, self.socket = cluster, cluster.folder / "run"
        cluster.start_aggregator("--job-grace", "60s")
        cluster.start_agent("n1", "--jobs-socket", self.socket)
        cluster.wait_node("n1")
        self.job = job_name("told")

    def words(self, *command, job=None):
        return [BUILD / "agent", "run", "--socket", self.socket, "--job", job or self.job, "--", *command]

    def run(self, *command, **more):
        return subprocess.run(self.words(*command), capture_output=True, text=True, timeout=LIMIT, check=False,
                              env=environment(), **more)

    def lines(self, event, count):
        def found():
            lines = self.cluster.aggregator.lines(type="job", event=event, job_id=self.job)
            return lines if len(lines) >= count else None

        return wait_until(found, f"{count} lines {event} of {self.job}")

    def report(self, job):
        done = run("aggregator", "report", job, "--json", "--config", self.cluster.empty, "--socket", self.cluster.socket,
                   "--history", self.cluster.history)
        assert done.returncode == 0, done.stderr
        return parse_line(done.stdout)


@pytest.fixture(name="runs")
def fixture_runs(cluster):
    return Runs(cluster)


BURN = "t=$(($(date +%s%N)/1000000+{ms})); while [ $(($(date +%s%N)/1000000)) -lt $t ]; do :; done; exit {code}"


def test_end_is_told(runs):
    """The job has ended at once, long before the grace; its name used again is another run, which has nothing of the first."""
    for at, (ms, code) in enumerate(((1500, 3), (1200, 0), (1200, 0)), 1):
        assert runs.run("sh", "-c", BURN.format(ms=ms, code=code)).returncode == code
        if at == 2:
            continue  # the third begins right behind it
        ended = runs.lines("ended", at)[at - 1]
        assert ended["reason"] == "exited" or at == 3
        facts = runs.lines("facts", at)[at - 1]["scheduler_facts"]
        assert facts == {"outcome": "failed" if code else "completed", "final": True, "exit_code": code}
    reports = [runs.report(f"{runs.job}/{number}") for number in (0, 1, 2)]
    assert [one["shown"] for one in reports] == [runs.job, f"{runs.job}/1", f"{runs.job}/2"]
    for one, (low, high) in zip(reports, ((1.2, 2.2), (0.9, 1.9), (0.9, 1.9)), strict=True):
        assert low < one["duration"] < high and one["cpu_time"] < high + 0.3, one
    assert reports[0]["scheduler_facts"]["exit_code"] == 3
    assert runs.report(runs.job)["started"] == reports[2]["started"], "the newest"
    listed = run("aggregator", "jobs", "--config", runs.cluster.empty, "--socket", runs.cluster.socket, "--history",
                 runs.cluster.history).stdout
    assert f"{runs.job}/2 " in listed


def test_signals_are_passed_on(runs):
    """And the code, or the signal, is the command's; the command does not outlive who runs it."""
    code = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    process = subprocess.Popen(runs.words("sh", "-c", code), stdout=subprocess.PIPE, env=environment())
    assert process.stdout.readline() == b"ready\n"
    process.terminate()
    assert process.wait(LIMIT) == 7
    assert runs.run("sh", "-c", "kill -USR1 $$").returncode == -signal.SIGUSR1
    assert runs.run("sh", "-c", "exit 0").returncode == 0
    assert runs.run("/nonexistent/command").returncode == 127
    assert runs.run("cat", input="words").stdout == "words"
    process = subprocess.Popen(runs.words("sh", "-c", "echo $$; exec sleep 600"), stdout=subprocess.PIPE, env=environment())
    child = int(process.stdout.readline())
    process.kill()
    process.wait(LIMIT)
    wait_until(lambda: not os.path.exists(f"/proc/{child}") or "Z" in pathlib.Path(f"/proc/{child}/stat").read_text().split()[2],
               "it has ended too")


def test_only_own_jobs(runs):
    """Nobody says how another user's job ended; what is no message is left out."""
    import socket

    process = subprocess.Popen(runs.words("sleep", "600"), env=environment())
    try:
        runs.lines("started", 1)
        sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        sender.connect(str(runs.socket))
        for text in (b"", b"\0" * 300, b"x y", b"300 " + runs.job.encode(), b"-1 a", b"7", b"7 " + b"a" * 200):
            sender.send(text)
        if os.getuid() == 0:
            code = f"import socket; s=socket.socket(1,2); s.connect({str(runs.socket)!r}); s.send(b'7 {runs.job}')"
            runs.cluster.folder.chmod(0o755)
            subprocess.run([sys.executable, "-c", code], user=65534, group=65534, extra_groups=[], check=True, timeout=LIMIT)
    finally:
        process.kill()  # it says nothing itself
        process.wait(LIMIT)
    aggregator = runs.cluster.aggregator
    aggregator.wait_lines(8, after=aggregator.mark(), type="node", node="n1")
    assert not aggregator.lines(type="job", event="ended") and not aggregator.lines(type="job", event="facts")
