"""SLURM on hosts of this machine: slurmctld, slurmdbd with its database and munged on the first host, slurmd on each other.

All is SLURM as the distribution has it, with real steps, cgroups, prologs and accounting; only the hosts are namespaces
(lab.py). They share the file system: a bind mount gives each its own folder `local`, for what SLURM keeps per host.
Names of nodes hold this process's id, since hosts share the cgroup tree, where SLURM makes folders named by them.

Everything ends with the hosts; what SLURM leaves behind in the cgroup tree is removed then, and that of an earlier run
that was killed at the start.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from lib import lab
from lib.programs import LIMIT, environment, wait_until

WORK = pathlib.Path(__file__).with_name("slurm_work.py")
CGROUPS = pathlib.Path("/sys/fs/cgroup")
CONTROLLERS = ("cpuacct", "cpuset", "freezer", "memory")  # that SLURM's plugins for cgroup v1 write to
PLUGINS = {
    "cgroup": "ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup\nJobAcctGatherType=jobacct_gather/cgroup\n",
    "processes": "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/linux\n",
}
DAEMONS = ("slurmctld", "slurmd", "slurmdbd", "munged", "mariadbd")
CLIENTS = ("srun", "sbatch", "scontrol", "sacct", "sacctmgr", "sinfo", "sstat")
DATABASE_TABLES = pathlib.Path("/usr/share/mysql")
CPUS = 2  # of a node; the machine's own are fewer than all of them have together
HARDWARE = f"CPUs={CPUS} RealMemory=1000 Gres=gpu:1"
DEVICES = "Name=gpu File=/dev/null\n"
PREFIX = "t"


def lacking(plugins):
    """Why SLURM cannot run here; None: nothing is lacking."""
    why = lab.lacking()
    if why:
        return why
    missing = [name for name in (*DAEMONS, *CLIENTS) if not which(name)]
    if missing:
        return f"{', '.join(missing)} not installed (slurm, slurmdbd, munge, mariadb-server)"
    if os.cpu_count() < CPUS:
        return f"SLURM's nodes have {CPUS} CPUs"
    if plugins == "cgroup":
        for controller in CONTROLLERS:
            if not os.access(CGROUPS / controller / "cgroup.procs", os.W_OK):
                return f"no cgroup v1 {controller} that may be written to"
    return None


def which(name):
    return shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")


def remove_cgroups(stem):
    """SLURM's folders of nodes whose names begin so; those of a host that was just killed empty in their own time."""
    wait_until(lambda: all([remove_tree(top) for top in CGROUPS.glob(f"*/slurm_{stem}*")]), "cgroups without processes")


def remove_tree(top):
    for folder, _, _ in os.walk(top, topdown=False):
        try:
            os.rmdir(folder)
        except OSError:
            return False
    return True


def remove_left_over():
    for top in CGROUPS.glob(f"*/slurm_{PREFIX}*"):
        owner = re.match(rf"slurm_{PREFIX}(\d+)n", top.name)
        if owner and not pathlib.Path("/proc", owner[1]).exists():
            remove_tree(top)


class Slurm:
    """with Slurm(folder, "cgroup") as slurm: slurm.srun("-N3", ...). Its folder is below `folder`. `hardware`: of each node, in
    slurm.conf's words; `devices`: gres.conf, with {0} for the first node's name."""

    def __init__(self, folder, plugins, settings="", hardware=(HARDWARE,) * 3, devices=DEVICES):
        stem = f"{PREFIX}{os.getpid()}"
        self.master, self.nodes = f"{stem}m", [f"{stem}n{at + 1}" for at in range(len(hardware))]
        self.hardware, self.devices = dict(zip(self.nodes, hardware)), devices
        self.hosts = lab.Hosts([self.master, *self.nodes])
        self.plugins, self.settings = plugins, settings
        self.folder = pathlib.Path(folder) / "slurm"
        self.local = self.folder / "local"  # another one on each host
        self.marks = self.folder / "marks"  # where programs of jobs say what they did
        self.conf = self.folder / "slurm.conf"
        self.srun_logs = []

    def __enter__(self):
        remove_left_over()
        try:
            self.hosts.__enter__()
            self.start()
        except BaseException:
            print(self.logs())
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.hosts.__exit__()
        remove_cgroups(f"{PREFIX}{os.getpid()}n")

    # ---- starting ----

    def start(self):
        self.folder.mkdir(mode=0o755)
        self.folder.parent.chmod(0o755)
        for path in (self.local, self.marks, self.folder / "state"):
            path.mkdir()
        self.marks.chmod(0o1777)
        shutil.copy(WORK, self.folder)  # for users who may not read the sources
        (self.folder / "munge.key").write_bytes(os.urandom(128))
        (self.folder / "munge.key").chmod(0o400)
        self.conf.write_text(self.text())
        (self.folder / "gres.conf").write_text(self.devices.format(*self.nodes))
        cores = "no" if "config_overrides" in self.settings else "yes"  # nodes have CPUs that the machine has not
        (self.folder / "cgroup.conf").write_text(f"CgroupPlugin=cgroup/v1\nCgroupAutomount=no\nConstrainCores={cores}\n"
                                                 "ConstrainRAMSpace=yes\n")
        database = self.folder / "slurmdbd.conf"
        database.write_text(self.database_text())
        database.chmod(0o600)
        for host in self.hosts:
            self.make_local(host)
        self.start_database()
        self.start_controller()
        for node in self.nodes:
            self.daemon(node, "slurmd", "-D")
        wait_until(lambda: self.states() == {node: "idle" for node in self.nodes}, "SLURM's nodes are idle", 20)

    def text(self):
        address = {host.name: host.address for host in self.hosts}
        nodes = "".join(f"NodeName={node} NodeAddr={address[node]} {words}\n" for node, words in self.hardware.items())
        return f"""ClusterName=lab
FirstJobId=800001
SlurmctldHost={self.master}({address[self.master]})
AuthType=auth/munge
AuthInfo=socket={self.local}/munge,cred_expire=5
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
MailProg=/bin/true
MpiDefault=none
SwitchType=switch/none
StateSaveLocation={self.folder}/state
SlurmctldPidFile={self.local}/slurmctld.pid
SlurmdPidFile={self.local}/slurmd.pid
SlurmdSpoolDir={self.local}/spool
{PLUGINS[self.plugins]}JobAcctGatherFrequency=1
GresTypes=gpu
AccountingStorageTRES=gres/gpu
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=6819
AccountingStoragePass={self.local}/munge
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=200
PropagateResourceLimits=NONE
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=0
ReturnToService=2
SlurmdTimeout=60
KillWait=1
PrologFlags=Alloc
{self.settings}{nodes}PartitionName=debug Nodes=ALL Default=YES MaxTime=10 State=UP
"""

    def database_text(self):
        return f"""DbdHost={self.master}
DbdAddr=127.0.0.1
DbdPort=6819
AuthType=auth/munge
AuthInfo=socket={self.local}/munge
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StorageUser=root
StoragePass=none
StorageLoc=slurm
PidFile={self.local}/slurmdbd.pid
"""

    def make_local(self, host):
        own = self.folder / f"of-{host.name}"
        own.mkdir(mode=0o755)
        (own / "spool").mkdir()
        self.command(host.name, "mount", "--bind", own, self.local)
        local = self.local
        self.daemon(host.name, "munged", "--foreground", "--force", "--key-file", self.folder / "munge.key",
                    "--socket", local / "munge", "--pid-file", local / "munge.pid", "--log-file", local / "munge.log",
                    "--seed-file", local / "munge.seed", "--num-threads", 2)
        wait_until((own / "munge").exists, f"munged of {host.name}", 20)

    def daemon(self, host, name, *arguments):
        self.hosts[host].program(self.folder, f"{name}-{host}", which(name), *arguments,
                                 env={"SLURM_CONF": str(self.conf)})

    def start_database(self):
        """A MariaDB without users, reachable on its own host only."""
        place = self.folder / "database"
        place.mkdir()
        options = ["--no-defaults", "--user=root", f"--datadir={place}", "--skip-grant-tables", "--skip-log-bin",
                   f"--tmpdir={place}", "--innodb-log-file-size=4M", "--innodb-buffer-pool-size=16M", "--innodb-flush-log-at-trx-commit=0"]
        tables = "".join((DATABASE_TABLES / name).read_text() for name in
                         ("mysql_system_tables.sql", "mysql_performance_tables.sql"))
        with open(self.folder / "bootstrap.log", "w", encoding="utf-8") as log:
            subprocess.run([which("mariadbd"), *options, "--bootstrap"], input=f"create database mysql;\nuse mysql;\n{tables}",
                           text=True, check=True, stdout=log, stderr=log, timeout=LIMIT, env=environment())
        self.daemon(self.master, "mariadbd", *options, "--bind-address=127.0.0.1", "--port=3306",
                    f"--socket={self.folder}/database.socket", f"--pid-file={place}/pid")
        wait_until((self.folder / "database.socket").exists, "the database", 20)

    def start_controller(self):
        self.daemon(self.master, "slurmdbd", "-D")
        wait_until(lambda: self.call("sacctmgr", "-n", "list", "cluster").returncode == 0, "slurmdbd", 20)
        self.succeed("sacctmgr", "-i", "add", "cluster", "lab")
        self.daemon(self.master, "slurmctld", "-D")
        wait_until(lambda: self.call("scontrol", "ping").returncode == 0, "slurmctld", 20)

    # ---- commands, on the first host ----

    def command(self, host, *words, **more):
        return subprocess.run(self.hosts[host].command(*words), capture_output=True, text=True, timeout=LIMIT, check=False,
                              stdin=subprocess.DEVNULL, env=environment() | {"SLURM_CONF": str(self.conf)}, **more)

    def call(self, name, *words):
        return self.command(self.master, which(name), *words)

    def succeed(self, name, *words):
        done = self.call(name, *words)
        assert done.returncode == 0, f"{name} {words}: {done.stdout}{done.stderr}"
        return done.stdout

    def states(self):
        return dict(line.split() for line in self.succeed("sinfo", "-h", "-N", "-o", "%N %t").splitlines())

    def logs(self):
        logs = {program.name: program.log() for host in self.hosts for program in host.programs}
        outputs = (*self.folder.glob("bootstrap.log"), *self.srun_logs, *self.marks.glob("*.out"))
        logs |= {path.name: path.read_text(errors="replace") for path in outputs}
        return "\n".join(f"---- {name}\n{text[-2000:]}" for name, text in logs.items())

    # ---- jobs ----

    def work(self, mark, *acts):
        """The words of a program of a job: slurm_work.py."""
        return [sys.executable, "-S", "-E", str(self.folder / WORK.name), str(self.marks / mark), *map(str, acts)]

    def srun(self, *words):
        """Runs on; its output is in srun-N.log."""
        log = self.folder / f"srun-{len(self.srun_logs)}.log"
        self.srun_logs.append(log)
        with open(log, "wb") as out:
            return self.hosts[self.master].start(which("srun"), *words, stdout=out, stderr=out, cwd=self.folder,
                                                 env=environment() | {"SLURM_CONF": str(self.conf)})

    def sbatch(self, script, *options):
        """The job's id."""
        path = self.folder / f"script-{len(list(self.folder.glob('script-*')))}"
        path.write_text(script)
        said = self.succeed("sbatch", "--parsable", "--chdir=/", f"--output={self.marks}/%A_%a.out", *options, path)
        return said.strip().partition(";")[0]

    def told(self, mark, count=1):
        """What so many programs with this mark say that they did, once all have: by node."""
        def all_told():
            found = sorted(self.marks.glob(f"{mark}.*.json"))
            return found if len(found) >= count else None

        said = [json.loads(path.read_text()) for path in wait_until(all_told, f"{count} programs {mark} of a job")]
        return {one["node"]: one for one in said}

    def go_on(self, mark):
        """Programs with this mark end now."""
        (self.marks / f"{mark}.go").touch()

    def account(self, job, *fields, until=lambda row: True):
        """sacct's rows of a job and its steps, by their names ("7", "7.0", "7.batch"), once it says that all have ended,
        and `until` holds for each step."""
        names = ("JobID", "State", "End", *fields)

        def ended():
            text = self.succeed("sacct", "-P", "-n", "-D", "-j", job, "-o", ",".join(names))
            rows = [dict(zip(names, line.split("|"))) for line in text.splitlines()]
            if not rows or any(row["End"] in ("Unknown", "") for row in rows):
                return None
            steps = [row for row in rows if "." in row["JobID"]]
            return {row["JobID"]: row for row in rows} if steps and all(map(until, steps)) else None

        return wait_until(ended, f"sacct's end of {job}")

    def statistics(self, step, *fields):
        """sstat's row of a step that runs."""
        text = self.succeed("sstat", "-P", "-n", "-a", "-j", step, "-o", ",".join(fields))
        return dict(zip(fields, text.strip().split("|")))


def seconds(text):
    """sacct's "[DD-[HH:]]MM:SS[.mmm]" """
    days, _, rest = text.rpartition("-")
    total = 0.0
    for part in rest.split(":"):
        total = total * 60 + float(part)
    return total + 86400 * int(days or 0)


def amount(text):
    """sacct's "12.3M" in bytes."""
    units = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
    return float(text[:-1]) * units[text[-1]] if text[-1:] in units else float(text or 0)
