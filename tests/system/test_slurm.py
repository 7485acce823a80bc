"""Jobs of a real SLURM (tests/lib/slurm.py): what their programs did, as they say themselves, against `aggregator report`,
node lines, job lines, and SLURM's own sacct and sstat. An agent on each of SLURM's nodes, the aggregator where slurmctld
is. docs/jobs.md tells the tolerances."""

import base64
import gzip
import json
import pathlib
import pwd
import re
import time

import pytest
from lib import slurm
from lib.programs import LIMIT, time_ns, wait_until
from lib.slurm import amount, seconds
from lib.slurm_bed import PERIOD, Bed

MB = 1 << 20
OTHER = "nobody"  # a user


@pytest.fixture
def bed(cluster, request):
    plugins = request.param
    why = slurm.lacking(plugins)
    if why:
        pytest.skip(f"no SLURM: {why}")
    with Bed(cluster, plugins, epilog=plugins == "cgroup") as made:
        yield made


ORPHAN = 0.3  # s
TICKS = 0.04  # a process's four counters of CPU time, each cut to 10 ms


def assert_cpu(said, truth):
    """The programs' own figures lack slurmstepd's first steps, until it becomes the program, and what came after."""
    cpu = said["report"]["cpu_user"]["total"] + said["report"]["cpu_system"]["total"]
    assert truth["cpu"] - TICKS <= cpu <= truth["cpu"] * 1.03 + 0.1, (said["node"], cpu, truth)
    return cpu


def assert_node(said, truth):
    cpu = assert_cpu(said, truth)
    values = said["report"]
    peak, written = values["memory_peak"]["maximum"], values["write"]["total"]
    assert 0.95 * truth["memory"] <= peak <= truth["memory"] + 4 * MB, (peak, truth)
    assert truth["write_bytes"] <= written <= truth["write_bytes"] + 64 * 1024, (written, truth)
    assert said["samples"] > 3 and not said["lost"] and said["cpus"] == 1
    return cpu


def main_job(bed):
    """What was asked for and what was done, on three nodes of which the third has less to compute and more to hold. Returns
    what its programs say, when they have done everything and wait."""
    # Children first: a copy of what the parent holds would count too.
    acts = ["child=0.2", "cpu=0.8,0.8,0.3", "memory=40,40,90", "write=4,4,12"]
    bed.main = bed.slurm.srun("-N3", "-n3", "-c1", "-J", "relax", *bed.slurm.work("main", *acts, "wait"))
    truth = bed.slurm.told("main", 3)
    assert list(truth) == bed.nodes
    for node, cpu, memory, written in zip(bed.nodes, (1.0, 1.0, 0.5), (40, 40, 90), (4, 4, 12)):
        did = truth[node]
        assert cpu <= did["cpu"] < cpu + 0.2 and memory * MB < did["memory"] < (memory + 20) * MB
        assert written * MB <= did["write_bytes"] < (written + 1) * MB
    job = truth[bed.nodes[0]]["job"]
    started = bed.wait_samples(job)
    assert started["nodes"] == bed.nodes and started["user"] == "root" and started["name"] == "relax"
    assert started["scheduler"] == "slurm" and started["cpus"] == 3
    assert abs(time_ns(started["started"]) / 1e9 - min(did["began"] for did in truth.values())) < 0.3
    for node in bed.nodes:
        assert bed.latest(node, job, "job_processes", "processes") == 1, "slurmstepd is none of the job's"
    return job, truth


def end_main_job(bed, job, truth):
    """The report while it runs, and after its end; returns that and sacct's row of the step."""
    running = bed.report(job)
    assert running["ended"] is None and [node["node"] for node in running["nodes"]] == bed.nodes
    for node in running["nodes"]:
        assert_node(node, truth[node["node"]])
    bed.slurm.go_on("main")
    assert bed.main.wait(LIMIT) == 0
    lasted = time.time() - min(did["began"] for did in truth.values())
    rows = bed.slurm.account(job, "Elapsed", "TotalCPU", "MaxRSS", "MaxRSSNode", "MaxDiskWrite", "MaxDiskWriteNode",
                             until=lambda row: row["MaxDiskWrite"])
    ended = bed.job_line(job, "ended")
    report = bed.report(job)
    cpu = sum(assert_node(node, truth[node["node"]]) for node in report["nodes"])
    # Which node was unlike the others.
    assert report["memory_peak"]["node"] == bed.nodes[2] and report["lost_nodes"] == []
    assert {report["imbalance"][name]["node"] for name in ("cpu_usage", "memory", "write")} == {bed.nodes[2]}
    means = [node["report"]["cpu_usage"]["mean"] for node in report["nodes"]]
    if means[2] < min(means[:2]) * 0.84 and means[2] < min(means[:2]) - 6:  # else the job waited for too long
        assert report["slowest_node"] == bed.nodes[2] and re.search(rf"\n  {bed.nodes[2]} .* SLOWEST\n", bed.command("report", job))
    summary = ended["summary"]
    assert abs(summary["cpu_time"] - cpu) < 0.05 and abs(report["cpu_time"] - cpu) < 0.05
    assert summary["nodes"] == 3 and summary["cpus"] == 3 and summary["lost_nodes"] == []
    assert summary["memory_peak"]["node"] == bed.nodes[2]
    assert summary["memory_peak"]["bytes"] == report["memory_peak"]["bytes"]
    assert abs(report["duration"] - lasted) < 1 + PERIOD
    step = rows[f"{job}.0"]
    assert step["State"] == "COMPLETED" and abs(report["duration"] - seconds(step["Elapsed"])) < 2 + PERIOD
    assert abs(cpu - seconds(step["TotalCPU"])) < 0.1 + 0.05 * cpu, (cpu, step)
    assert step["MaxDiskWriteNode"] == bed.nodes[2]
    assert abs(max(node["report"]["write"]["total"] for node in report["nodes"]) - amount(step["MaxDiskWrite"])) < MB / 8
    return ended, report, step


@pytest.mark.parametrize("bed", ["processes"], indirect=True)
def test_without_cgroups(bed):
    """The environment alone tells of the job, and it is the sum of its processes; its end is that it is not seen."""
    job, truth = main_job(bed)
    row = bed.slurm.statistics(f"{job}.0", "MaxRSS", "MaxRSSNode", "MaxDiskWrite", "NTasks")
    third = bed.nodes[2]
    assert row["MaxRSSNode"] == third and row["NTasks"] == "3"
    ended, report, step = end_main_job(bed, job, truth)
    peak = report["memory_peak"]["bytes"]
    assert abs(peak - amount(row["MaxRSS"])) < 0.03 * peak and abs(peak - amount(step["MaxRSS"])) < 0.03 * peak
    assert abs(truth[third]["write_chars"] - amount(row["MaxDiskWrite"])) < MB / 8
    assert ended["reason"] == "gone"
    assert {bed.latest(node, job, "job_info", "source") for node in bed.nodes} == {"processes"}
    for node in bed.nodes:
        assert bed.latest(node, job, "job_memory", "cgroup_peak") is None


# ---- with cgroups: jobs of every kind, beside each other ----


def batch(bed, *steps):
    """A script that runs these steps one after the other, each a mark and acts."""
    lines = [f"srun --export=ALL -n1 {' '.join(bed.slurm.work(*step))}\n" for step in steps]
    return "#!/bin/sh\n" + "".join(lines)


def steps_job(bed):
    """Two steps and the script itself, of another user; shares the first node. The first step may be between two samples,
    so that only its cgroup tells what it did."""
    script = batch(bed, ("first", "cpu=0.2"), ("second", "cpu=0.1", "write=3", "wait"))
    return bed.slurm.sbatch(script, f"--uid={OTHER}", "-J", "steps", "-n1", "-w", bed.nodes[0])


def check_steps(bed, job):
    first, second = (bed.slurm.told(mark)[bed.nodes[0]] for mark in ("first", "second"))
    assert first["job"] == second["job"] == job
    bed.wait_samples(job)
    bed.slurm.go_on("second")
    rows = bed.slurm.account(job, "TotalCPU")
    assert {f"{job}.0", f"{job}.1", f"{job}.batch"} <= set(rows)
    ended, report = bed.job_line(job, "ended"), bed.report(job)
    assert report["user"] == ended["user"] == OTHER and report["name"] == "steps"
    [node] = report["nodes"]
    steps = [rows[f"{job}.{name}"] for name in ("0", "1", "batch")]
    known = first["cpu"] + second["cpu"]
    used = sum(seconds(row["TotalCPU"]) for row in steps)
    assert known - TICKS <= report["cpu_time"] and abs(report["cpu_time"] - used) < 0.5  # slurmstepd's own
    assert second["write_bytes"] <= node["report"]["write"]["total"] < second["write_bytes"] + MB / 8
    assert bed.latest(bed.nodes[0], job, "job_info", "uid") == pwd.getpwnam(OTHER).pw_uid


def array_job(bed):
    """Two tasks, on the second and on the third node, beside the main job. In each a process that nobody waits for ends
    before long."""
    script = batch(bed, ("array-$SLURM_ARRAY_TASK_ID", "cpu=0.1", f"orphan={ORPHAN}", "wait"))
    return bed.slurm.sbatch(script, "--array=1-2", "-J", "array", "-n1", "-x", bed.nodes[0])


def check_array(bed, array):
    jobs = set()
    for task in (1, 2):
        [[node, did]] = bed.slurm.told(f"array-{task}").items()
        started = bed.wait_samples(did["job"])
        assert started["array"] == f"{array}_{task}" and started["nodes"] == [node]
        bed.slurm.go_on(f"array-{task}")
        bed.job_line(did["job"], "ended")
        report = bed.report(did["job"])
        assert report["array"] == f"{array}_{task}"
        known = did["cpu"] + ORPHAN  # sacct says something between nothing of it and twice as much
        assert known - TICKS <= report["cpu_time"] < known + 0.5
        check_facts(bed, did["job"], "completed")
        jobs.add(did["job"])
    assert len(jobs) == 2


def requeued_job(bed):
    script = batch(bed, ("again-$SLURM_RESTART_COUNT", "cpu=0.1", "wait"))
    return bed.slurm.sbatch(script.replace("$SLURM_RESTART_COUNT", "${SLURM_RESTART_COUNT:-0}"), "--requeue", "-J", "again",
                            "-n1", "-w", bed.nodes[1])


def check_requeue(bed, job):
    """The same id, two runs: each is a job of its own."""
    bed.slurm.told("again-0")
    bed.wait_samples(job)
    bed.slurm.succeed("scontrol", "requeue", job)
    bed.job_line(job, "ended")
    wait_until(lambda: "PENDING" in bed.slurm.succeed("scontrol", "show", "job", job), "the job waits")
    bed.slurm.succeed("scontrol", "update", f"JobId={job}", "StartTime=now")
    bed.slurm.told("again-1")
    second = bed.wait_samples(f"{job}/1")
    assert second["nodes"] == [bed.nodes[1]]
    bed.slurm.go_on("again-1")
    bed.job_line(f"{job}/1", "ended")
    assert bed.report(job)["job_id"] == f"{job}/1", "of an id the newest run"
    listed = bed.listed()
    assert listed[job]["ended"] <= listed[f"{job}/1"]["started"]
    for run_of_it in (job, f"{job}/1"):
        assert 0.1 < listed[run_of_it]["summary"]["cpu_time"] < 1


def doomed_job(bed):
    return bed.slurm.srun("-N3", "-n3", "-c1", "-J", "doomed", *bed.slurm.work("doomed", "cpu=0.1", "wait"))


def check_lost_node(bed, process):
    """The third node loses its power while a job runs on all three."""
    lost = bed.nodes[2]
    truth = bed.slurm.told("doomed", 3)
    job = truth[lost]["job"]
    assert bed.wait_samples(job)["nodes"] == bed.nodes
    bed.slurm.hosts[lost].cut_power()
    wait_until(lambda: bed.cluster.node_status(lost)["state"] == "down", f"{lost} is down")
    bed.slurm.succeed("scontrol", "update", f"NodeName={lost}", "State=DOWN", "Reason=power")
    assert process.wait(LIMIT) != 0
    ended = bed.job_line(job, "ended")
    assert ended["summary"]["lost_nodes"] == [lost] and ended["summary"]["nodes"] == 3
    report = bed.report(job)
    assert report["lost_nodes"] == [lost] and [node["node"] for node in report["nodes"]] == bed.nodes
    for node in report["nodes"]:
        assert_cpu(node, truth[node["node"]])
    assert any(lost in sentence and "lost" in sentence for sentence in report["unknown"])
    assert f"{lost} was lost while the job ran, at " in bed.command("report", job)
    assert_first_note(bed, job, "lost_nodes", "Report it to the operators, and submit the job again without it",
                      f"#SBATCH --exclude={lost}")
    assert bed.slurm.account(job)[job]["State"].startswith("NODE_FAIL")
    return job


def assert_first_note(bed, job, name, words, write):
    found = bed.first_note(job)
    assert found and found[0] == name and words in found[1] and re.fullmatch(write, found[2]), found


# ---- what SLURM knows of jobs ----

FIELDS = ("JobIDRaw", "JobID", "State", "ExitCode", "Partition", "Account", "QOS", "ReqTRES", "TimelimitRaw", "Submit",
          "Eligible", "Start", "End", "SubmitLine")


def accounted(bed, job):
    """What sacct says of each run of a job, the first first."""
    text = bed.slurm.command(bed.slurm.master, "env", "SLURM_TIME_FORMAT=%s", slurm.which("sacct"), "-P", "-n", "-D", "-X",
                             "-j", job, "-o", ",".join(FIELDS)).stdout
    rows = [dict(zip(FIELDS, line.split("|", len(FIELDS) - 1))) for line in text.splitlines()]
    return [row for row in rows if row["JobIDRaw"] == job]  # the first task of an array stands for all of them


def final_facts(bed, job):
    def final():
        facts = bed.listed()[job]["scheduler_facts"]
        return facts if facts and facts.get("final") else None

    return wait_until(final, f"all facts of {job}")


def assert_facts(facts, row):
    """Every fact is sacct's."""
    asked = {name: amount(value) for name, _, value in (part.partition("=") for part in row["ReqTRES"].split(","))}
    code, _, signal = row["ExitCode"].partition(":")
    assert facts["state"] == row["State"].split()[0] and facts["outcome"] == facts["state"].lower()
    assert (facts["exit_code"], facts["exit_signal"]) == (int(code), int(signal))
    assert (facts["partition"], facts["account"], facts["qos"]) == (row["Partition"], row["Account"], row["QOS"])
    assert (facts["cpus"], facts["memory"], facts["nodes"]) == (asked["cpu"], asked["mem"], asked["node"])
    assert facts["memory_per_node"] == asked["mem"] / asked["node"]
    assert facts.get("gpus", 0) == asked.get("gres/gpu", 0)
    assert facts["time_limit"] == 60 * int(row["TimelimitRaw"])
    times = [time_ns(facts[name]) // 10**9 for name in ("submitted", "eligible", "started", "ended")]
    assert times == [int(row[name]) for name in ("Submit", "Eligible", "Start", "End")]
    assert facts["wait"] == times[2] - times[1] and "error" not in facts
    assert facts["command"] == row["SubmitLine"]
    assert facts.get("array", row["JobIDRaw"]) == row["JobID"]


def check_facts(bed, job, state):
    facts = final_facts(bed, job)
    [row] = accounted(bed, job)
    assert facts["outcome"] == state
    assert_facts(facts, row)
    assert bed.report(job)["scheduler_facts"] == facts
    return facts


def late_job(bed):
    """It is over its limit, which SLURM looks at every 30 s, while others run."""
    job = bed.slurm.sbatch(batch(bed, ("late", "wait")), "-J", "late", "-n1", "-w", bed.nodes[0])
    bed.slurm.told("late")
    bed.slurm.succeed("scontrol", "update", f"JobId={job}", "EndTime=now+1")
    return job


def ended_jobs(bed):
    """Each ends in a way of its own, on the nodes that are left."""
    common = ["-n1", "-x", bed.nodes[2]]
    failed = bed.slurm.sbatch("#!/bin/sh\nsleep 2\nexit 3\n", "-J", "failed", "--mem-per-cpu=100", *common)
    greedy = bed.slurm.sbatch(batch(bed, ("greedy", "cpu=2", "memory=150")).replace("srun --export=ALL -n1 ", ""), "-J",
                              "greedy", "--mem=50", *common)
    cancelled = bed.slurm.sbatch(batch(bed, ("cancelled", "wait")), "-J", "cancelled", "--gpus=1", *common)
    return failed, greedy, cancelled


def check_ends(bed, late):
    failed, greedy, cancelled = ended_jobs(bed)
    bed.slurm.told("cancelled")
    bed.wait_samples(cancelled)
    running = wait_until(lambda: (facts := bed.listed()[cancelled]["scheduler_facts"]) and facts["outcome"] == "running" and facts,
                         "facts of one that runs")  # accounting may be late
    assert not running["final"] and "exit_code" not in running
    bed.slurm.succeed("scancel", cancelled)
    check_facts(bed, failed, "failed")
    assert check_facts(bed, greedy, "out_of_memory")["exit_signal"] == 125
    assert_first_note(bed, greedy, "killed_for_memory", "killed for want of memory: it had 50.0 MiB. Ask for more, 256 MiB for",
                      "#SBATCH --mem=256M")
    assert check_facts(bed, cancelled, "cancelled")["gpus"] == 1
    check_facts(bed, late, "timeout")
    assert_first_note(bed, late, "timeout", "not done when its time was over, ", r"#SBATCH --time=00:\d\d:00")
    text = bed.command("report", cancelled)
    assert "CANCELLED" in text and "debug, account root, QOS normal" in text and "1 GPU" in text


def check_stored(bed, job):
    """SLURM has stored the summary of the epilog, and unpacked as jobstats does it is what the report says. sacctmgr of SLURM
    22.05 makes all of its letters small."""
    text = wait_until(lambda: bed.slurm.succeed("sacct", "-P", "-n", "-X", "-j", job, "-o", "AdminComment").strip(),
                      f"AdminComment of {job}")
    line, said = bed.command("report", job, "--format", "jobstats").strip(), bed.report(job)
    assert text in (line, line.lower())
    assert line.startswith("JS1:") and len(line) > 10
    stored = json.loads(gzip.decompress(base64.b64decode(line[4:])))
    assert (stored["total_time"], stored["gpus"]) == (round(said["duration"]), 0)
    assert set(stored["nodes"]) == set(bed.nodes)
    for node in said["nodes"]:
        values = node["report"]
        expected = {"total_memory": 200 * MB, "used_memory": values["memory_peak"]["maximum"], "cpus": node["cpus"],
                    "total_time": values["cpu_user"]["total"] + values["cpu_system"]["total"]}
        assert stored["nodes"][node["node"]] == pytest.approx(expected)


@pytest.mark.parametrize("bed", ["cgroup"], indirect=True)
def test_with_cgroups(bed):
    job, truth = main_job(bed)
    steps, array = steps_job(bed), array_job(bed)
    # Each for itself, though they share nodes.
    check_steps(bed, steps)
    check_array(bed, array)
    running = bed.listed()
    assert running[job]["state"] == "running" and running[steps]["state"] == "ended"
    assert {bed.latest(node, job, "job_info", "source") for node in bed.nodes} == {"cgroup"}
    for node in bed.nodes:
        did = truth[node]
        assert did["memory"] * 0.8 < bed.latest(node, job, "job_memory", "cgroup_peak") < did["memory"] + 30 * MB
        assert bed.latest(node, job, "job_memory", "cgroup_limit") == 200 * MB
    again = requeued_job(bed)
    ended, _, _ = end_main_job(bed, job, truth)
    assert ended["reason"] == "told", "by EpilogSlurmctld"
    check_stored(bed, job)
    doomed, late = doomed_job(bed), late_job(bed)
    check_requeue(bed, again)
    lost = check_lost_node(bed, doomed)
    check_facts(bed, job, "completed")
    check_facts(bed, lost, "node_fail")
    for run_of_it, row in zip((again, f"{again}/1"), accounted(bed, again), strict=True):
        assert_facts(final_facts(bed, run_of_it), row)
    assert final_facts(bed, again)["outcome"] == "requeued"
    check_ends(bed, late)


def test_nothing_is_left():
    """Of these tests and of those that were killed."""
    slurm.remove_left_over()
    mine = re.compile(rf"slurm_{slurm.PREFIX}(\d+)n")
    left = [path for path in slurm.CGROUPS.glob("*/slurm_*") if (owner := mine.match(path.name))
            and not pathlib.Path("/proc", owner[1]).exists()]
    assert not left
