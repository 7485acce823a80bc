"""Schedulers that are asked about jobs, played here: each tool is a script that prints what its scheduler would, or hangs,
fails, floods. test_slurm.py has the real one. Answers of SLURM 22.05 were recorded; those of 24.05, PBS, OAR, LSF and Flux are
written after their documentation, since none of these is to be had here."""

import json
import os
import subprocess
import time

import pytest
from lib.programs import BUILD, LIMIT, environment, parse_line, run, time_ns, wait_until
from test_jobs_aggregator import Node, from_history, listed, wait_jobs

MB, GB = 1 << 20, 1 << 30
START = 1795407741


class Tools:
    """A folder of tools for PATH."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        (folder / "asked").touch()
        (folder / "asked").chmod(0o666)

    def add(self, name, text, *, prints=""):
        path = self.folder / name
        (self.folder / f"{name}.out").write_text(prints)
        path.write_text(f"#!/bin/sh\nout={self.folder}/{name}.out\necho \"$0 $*\" >> {self.folder}/asked\n{text}\n")
        path.chmod(0o755)

    def answer(self, name, answer):
        self.add(name, 'cat "$out"', prints=answer if isinstance(answer, str) else json.dumps(answer))

    def asked(self):
        return (self.folder / "asked").read_text().replace(f"{self.folder}/", "").splitlines()

    def ask(self, scheduler, *jobs, timeout=5, command="", user=""):
        """What "synop-aggregator ask" prints: {number: facts}, and whether it says that there are no tools."""
        wanted = [job if "," in job else f"{job},{START},ana" for job in jobs]
        done = subprocess.run([BUILD / "aggregator", "ask", scheduler, str(timeout * 1000), user, command, *wanted], check=True,
                              capture_output=True, text=True, timeout=LIMIT, env=environment() | {"PATH": self.path(), "TZ": "UTC"})
        lines = done.stdout.splitlines()
        absent = lines[0] == "absent"
        facts = {int(number): json.loads(rest) for number, _, rest in (line.partition(" ") for line in lines[absent:])}
        assert list(facts) == list(range(len(jobs))), done.stdout
        return facts, absent

    def path(self):
        return f"{self.folder}:/usr/bin:/bin" if self.folder.name != "alone" else str(self.folder)


@pytest.fixture(name="tools")
def fixture_tools(tmp_path):
    return Tools(tmp_path / "tools")


def times(facts):
    return {name: time_ns(facts[name]) // 10**9 for name in ("submitted", "eligible", "started", "ended") if name in facts}


# ---- SLURM ----


def slurm_job(**more):
    """As sacct of 22.05 prints it, in what is read of it and some of the rest."""
    job = {
        "account": "physics", "array": {"job_id": 0, "task_id": None}, "association": {"account": "physics", "user": "ana"},
        "exit_code": {"status": "SUCCESS", "return_code": 0}, "job_id": 5, "name": "relax", "partition": "debug",
        "qos": "normal", "required": {"CPUs": 4, "memory": 300}, "state": {"current": "COMPLETED", "reason": "None"},
        "steps": [{"state": "RUNNING", "exit_code": {"return_code": 9}}],
        "time": {"elapsed": 11, "eligible": START - 5, "end": START + 60, "start": START, "submission": START - 10, "limit": 90},
        "tres": {"requested": [{"type": "cpu", "name": None, "count": 4}, {"type": "mem", "name": None, "count": 600},
                               {"type": "node", "name": None, "count": 2}, {"type": "billing", "name": None, "count": 2},
                               {"type": "gres", "name": "gpu:a100", "count": 2}, {"type": "gres", "name": "gpu", "count": 2}]},
    }
    return job | more


SLURM_FACTS = {
    "outcome": "completed", "final": True, "state": "COMPLETED", "partition": "debug", "account": "physics", "qos": "normal",
    "gpu_type": "a100", "exit_code": 0, "exit_signal": 0, "nodes": 2, "cpus": 4, "memory": 600 * MB,
    "memory_per_node": 300 * MB, "gpus": 2, "time_limit": 5400, "wait": 5,
}


def assert_slurm(facts, **more):
    assert times(facts) == {"submitted": START - 10, "eligible": START - 5, "started": START, "ended": START + 60}
    left = {name: value for name, value in facts.items() if name not in ("submitted", "eligible", "started", "ended")}
    assert left == SLURM_FACTS | more


def test_slurm_of_today(tools):
    """24.05: states are arrays, numbers are objects; the line of the submission is there, so that one question is all."""
    number = lambda value: {"set": True, "infinite": False, "number": value}
    unset = {"set": False, "infinite": False, "number": 0}
    tools.answer("sacct", {"jobs": [slurm_job(
        state={"current": ["OUT_OF_MEMORY"], "reason": "None"}, submit_line="sbatch --mem=300M run.sh", restart_cnt=1,
        array={"job_id": 2, "task_id": number(7)},
        exit_code={"status": ["SIGNALED"], "return_code": number(0), "signal": {"id": number(125), "name": ""}},
        required={"CPUs": 4, "memory_per_cpu": unset, "memory_per_node": number(300)},
        time=slurm_job()["time"] | {"limit": number(90)})]})
    facts, absent = tools.ask("slurm", "5")
    assert not absent
    assert_slurm(facts[0], outcome="out_of_memory", state="OUT_OF_MEMORY", exit_signal=125, array="2_7", restarts=1,
                 command="sbatch --mem=300M run.sh")
    assert tools.asked() == ["sacct --json -D -j 5"]


def test_slurm_in_two_questions(tools):
    """22.05: its JSON has no line of the submission, its fields have; secrets in it are hidden. Several jobs are one question."""
    rows = ["JobIDRaw@User@SubmitLine", "5@ana@sbatch --export=TOKEN=abc run.sh\n6|ana|forged", "6@ana@sbatch x@y.sh",
            "7@eve@sbatch hers.sh"]
    tools.add("sacct", """case "$*" in
    *--json*) cat "$out";;
    *) d=$(echo "$*" | sed 's/.*--delimiter=\\(|[0-9a-f]*|\\).*/\\1/'); sed "s/@/$d/;s/@/$d/" "$out.rows";;
    esac""", prints=json.dumps({"jobs": [slurm_job(), slurm_job(job_id=6), slurm_job(job_id=7, association={"user": "eve"})]}))
    (tools.folder / "sacct.out.rows").write_text("\n".join(rows) + "\n")
    facts, _ = tools.ask("slurm", "5", "6", "7")
    assert_slurm(facts[0], command="sbatch --export=*** run.sh")
    assert_slurm(facts[1], command="sbatch x@y.sh")
    assert facts[2] == {"error": "the scheduler does not know this job"}, "it is another user's"
    assert [line.split(" -j ")[1] for line in tools.asked()] == ["5,6,7", "5,6,7", "7", "7", "7"][:len(tools.asked())]


def test_slurm_without_json(tools):
    fields = {"JobIDRaw": "5", "JobID": "2_7", "User": "ana", "State": "CANCELLED by 1002", "ExitCode": "0:15",
              "Partition": "debug", "Account": "physics", "QOS": "normal",
              "ReqTRES": "billing=2,cpu=4,gres/gpu:a100=2,gres/gpu=2,mem=600M,node=2", "TimelimitRaw": "90",
              "Submit": START - 10, "Eligible": START - 5, "Start": START, "End": START + 60, "SubmitLine": "sbatch run.sh"}
    tools.add("sacct", """case "$*" in
    *--json*) echo "sacct: unrecognized option '--json'" >&2; exit 1;;
    *) [ "$SLURM_TIME_FORMAT" = %s ] || exit 1
       d=$(echo "$*" | sed 's/.*--delimiter=\\(|[0-9a-f]*|\\).*/\\1/'); sed "s/@/$d/g" "$out";;
    esac""", prints="\n".join("@".join(map(str, words)) for words in (fields, fields.values())) + "\n")
    facts, _ = tools.ask("slurm", "5")
    assert_slurm(facts[0], outcome="cancelled", state="CANCELLED", exit_signal=15, array="2_7", command="sbatch run.sh")
    for limit, final in (("0", False), ("UNLIMITED", True), ("Partition_Limit", False)):
        fields["TimelimitRaw"] = limit
        (tools.folder / "sacct.out").write_text("\n".join("@".join(map(str, words)) for words in (fields, fields.values())) + "\n")
        facts, _ = tools.ask("slurm", "5")
        assert facts[0].get("final", False) == final, limit


@pytest.mark.parametrize("lacks", [{"limit": 0}, {"limit": None}, {"end": 0}, {"submission": 0},
                                   {"limit": {"set": False, "infinite": False, "number": 0}}])
def test_slurm_knows_the_rest_later(tools, lacks):
    """slurmdbd may have the end of a job before it has what it was given: it is asked again, until all is there."""
    tools.answer("sacct", {"jobs": [slurm_job(submit_line="x", time=slurm_job()["time"] | lacks)]})
    facts, _ = tools.ask("slurm", "5")
    assert facts[0]["outcome"] == "completed" and not facts[0].get("final")
    for limit in (4294967295, {"set": False, "infinite": True, "number": 0}):
        tools.answer("sacct", {"jobs": [slurm_job(submit_line="x", time=slurm_job()["time"] | {"limit": limit})]})
        facts, _ = tools.ask("slurm", "5")
        assert facts[0]["final"] and "time_limit" not in facts[0], "no limit is none that comes later"


def test_slurm_without_accounting(tools):
    """scontrol alone, whose JSON came later than its lines."""
    line = ("JobId=5 JobName=a b UserId=ana(1000) GroupId=x(1) Account=physics QOS=normal JobState=TIMEOUT Reason=TimeLimit "
            f"Restarts=2 ExitCode=0:1 TimeLimit=01:30:00 SubmitTime={START - 10} EligibleTime={START - 5} StartTime={START} "
            f"EndTime={START + 60} Partition=debug NumNodes=2 TRES=cpu=4,mem=600M,node=2,billing=2,gres/gpu:a100=2 "
            "MinMemoryNode=300M Command=/home/ana/run.sh WorkDir=/ Power=\n")
    tools.add("sacct", 'echo "sacct: error: Slurm accounting storage is disabled" >&2; exit 1')
    tools.add("scontrol", 'case "$*" in *--json*) exit 1;; *) cat "$out";; esac', prints=line)
    facts, _ = tools.ask("slurm", "5")
    expected = dict(outcome="timeout", state="TIMEOUT", exit_signal=1, restarts=2, command="/home/ana/run.sh")
    assert_slurm(facts[0], **expected)
    number = lambda value: {"set": True, "infinite": False, "number": value}
    tools.answer("scontrol", {"jobs": [{
        "job_id": 5, "user_name": "ana", "account": "physics", "qos": "normal", "partition": "debug", "job_state": ["TIMEOUT"],
        "restart_cnt": 2, "exit_code": {"return_code": number(0), "signal": {"id": number(1)}}, "time_limit": number(90),
        "submit_time": number(START - 10), "eligible_time": number(START - 5), "start_time": number(START),
        "end_time": number(START + 60), "tres_req_str": "cpu=4,mem=600M,node=2,billing=2,gres/gpu:a100=2",
        "memory_per_node": number(300), "command": "/home/ana/run.sh", "array_job_id": number(0)}]})
    facts, _ = tools.ask("slurm", "5")
    assert_slurm(facts[0], **expected)


def test_runs_of_one_id(tools):
    """That whose start is nearest."""
    later = slurm_job()["time"] | {"start": START + 100, "end": START + 200}
    tools.answer("sacct", {"jobs": [slurm_job(state={"current": "REQUEUED"}, submit_line="x"),
                                    slurm_job(time=later, state={"current": "FAILED"}, submit_line="x")]})
    facts, _ = tools.ask("slurm", f"5,{START + 1},ana", f"5,{START + 99},ana")
    assert [facts[0]["outcome"], facts[1]["outcome"]] == ["requeued", "failed"]


# ---- the others ----


def test_pbs(tools):
    when = lambda seconds: time.strftime("%a %b %d %H:%M:%S %Y", time.gmtime(seconds))
    job = {"Job_Name": "relax", "Job_Owner": "ana@login1", "job_state": "F", "queue": "workq", "project": "physics",
           "ctime": when(START - 10), "etime": when(START - 5), "stime": when(START), "mtime": when(START + 60),
           "Exit_status": 271, "run_count": 2, "Submit_arguments": "-l select=2 run.sh",
           "Resource_List": {"mem": "4gb", "ncpus": 8, "ngpus": 2, "nodect": 2, "walltime": "01:30:00"},
           "resources_used": {"mem": "1gb"}}
    tools.answer("qstat", {"timestamp": 1, "Jobs": {"12.pbs": job, "13[2].pbs": job | {"Exit_status": -29},
                                                    "14.pbs": job | {"job_state": "R", "Exit_status": None}}})
    facts, _ = tools.ask("pbs", "12.pbs", "13[2].pbs", "14")
    assert times(facts[0]) == {"submitted": START - 10, "eligible": START - 5, "started": START, "ended": START + 60}
    assert facts[0] | {"outcome": "cancelled", "state": "F", "exit_signal": 15, "exit_code": 0, "partition": "workq",
                       "account": "physics", "cpus": 8, "nodes": 2, "gpus": 2, "memory": 4 * GB, "memory_per_node": 2 * GB,
                       "time_limit": 5400, "restarts": 1, "command": "-l select=2 run.sh", "wait": 5} == facts[0]
    assert facts[1]["outcome"] == "timeout" and facts[2]["outcome"] == "running" and not facts[2]["final"]
    assert tools.asked() == ["qstat -x -f -F json 12.pbs 13[2].pbs 14"]


def test_oar(tools):
    job = {"Job_Id": 7, "owner": "ana", "state": "Error", "queue": "default", "project": "physics", "exit_code": 256,
           "submissionTime": START - 10, "startTime": START, "stopTime": START + 60, "command": "./run.sh",
           "message": "WALLTIME reached", "wanted_resources": "-l \"{type = 'default'}/host=2/core=4,walltime=1:30:0\"",
           "array_id": 6, "array_index": 2}
    tools.answer("oarstat", {"7": job})
    facts, _ = tools.ask("oar", "7")
    assert times(facts[0]) == {"submitted": START - 10, "started": START, "ended": START + 60}
    assert facts[0] | {"outcome": "timeout", "exit_code": 1, "exit_signal": 0, "partition": "default", "account": "physics",
                       "nodes": 2, "cpus": 8, "time_limit": 5400, "array": "6_2", "command": "./run.sh"} == facts[0]
    assert tools.asked() == ["oarstat -J -f -j 7"]


def test_lsf(tools):
    when = lambda seconds: time.strftime("%b %d %H:%M:%S %Y", time.gmtime(seconds))
    record = {"JOBID": "7", "JOBINDEX": "2", "STAT": "EXIT", "EXIT_CODE": "137", "QUEUE": "normal", "USER": "ana",
              "EXIT_REASON": "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit", "PROJ_NAME": "physics",
              "NREQ_SLOT": "8", "NEXEC_HOST": "2", "GPU_NUM": "2", "MEMLIMIT": "4 G", "RUNTIMELIMIT": "90.0",
              "SUBMIT_TIME": when(START - 10), "START_TIME": when(START), "FINISH_TIME": when(START + 60) + " L",
              "COMMAND": "./run.sh --token abc"}
    tools.add("bjobs", '[ "$LSB_DISPLAY_YEAR" = Y ] && cat "$out"',
              prints=json.dumps({"COMMAND": "bjobs", "JOBS": 1, "RECORDS": [record]}))
    facts, _ = tools.ask("lsf", "7[2]")
    assert times(facts[0]) == {"submitted": START - 10, "started": START, "ended": START + 60}
    assert facts[0] | {"outcome": "out_of_memory", "state": "EXIT", "exit_code": 0, "exit_signal": 9, "partition": "normal",
                       "account": "physics", "cpus": 8, "nodes": 2, "gpus": 2, "memory": 4 * GB, "time_limit": 5400,
                       "array": "7_2", "command": "./run.sh --token ***"} == facts[0]


def test_flux(tools):
    job = {"id": "ƒ2fdxyz", "username": "ana", "state": "INACTIVE", "result": "TIMEOUT", "returncode": -15, "nnodes": 2,
           "ncores": 8, "duration": 5400.0, "queue": "batch", "bank": "physics", "t_submit": START - 10.5,
           "t_depend": START - 5.0, "t_run": float(START), "t_inactive": START + 60.0}
    for answer in (job, {"jobs": [job]}):
        tools.answer("flux", answer)
        facts, _ = tools.ask("flux", "f2fdxyz")
        assert facts[0] | {"outcome": "timeout", "state": "TIMEOUT", "exit_signal": 15, "exit_code": 0, "nodes": 2, "cpus": 8,
                           "time_limit": 5400, "partition": "batch", "account": "physics", "wait": 5} == facts[0]


# ---- tools that harm ----


def hostile(tools, text="", prints=""):
    for name in ("sacct", "scontrol"):
        tools.add(name, text or 'cat "$out"', prints=prints)
    facts, absent = tools.ask("slurm", "5", timeout=1)
    assert not absent
    assert list(facts[0]) == ["error"], facts
    return facts[0]["error"]


def test_nobody_is_there(tmp_path):
    facts, absent = Tools(tmp_path / "alone").ask("slurm", "5")
    assert absent and facts[0] == {"error": "there is no sacct on this machine"}


def test_it_hangs(tools):
    assert hostile(tools, "sleep 600 & exec sleep 600") == "sacct did not answer in time"
    assert hostile(tools, "exec >&- 2>&-; exec sleep 600") == "sacct did not answer in time"


def test_it_fails(tools):
    assert hostile(tools, "echo 'cannot reach slurmdbd' >&2; echo more >&2; exit 1") == "sacct: cannot reach slurmdbd"
    assert hostile(tools, "exit 3") == "sacct ended with exit code 3"
    assert hostile(tools, "kill -9 $$") == "sacct was ended by signal 9"
    assert "\033" not in hostile(tools, "printf '\\033[31mred\\n' >&2; exit 1")


def test_it_floods(tools):
    assert hostile(tools, "exec cat /dev/zero") == "sacct printed over 16 MiB"
    assert hostile(tools, "exec cat /dev/zero >&2") == "sacct did not answer in time"


@pytest.mark.parametrize("answer", [
    "", "no JSON", "{", "[]", '{"jobs": 7}', '{"jobs": [', "{" * 100000, '{"jobs": ' + "[" * 100000, "\xff\xfe{",
    '{"jobs": [null, 7, [], {}, {"job_id": []}, {"job_id": 5e300}, {"job_id": -1}]}',
    '{"jobs": [{"job_id": 6, "state": {"current": "COMPLETED"}}]}',
])
def test_it_prints_garbage(tools, answer):
    assert hostile(tools, prints=answer)


def test_odd_values(tools):
    """What makes no sense is not known; the rest is."""
    tools.answer("sacct", {"jobs": [slurm_job(
        state={"current": ["x" * 5000]}, partition=["debug"], account=7, qos={"a": 1}, submit_line="\x1b[31m" + "y" * 5000,
        time={"start": -5, "end": 1e300, "submission": "soon", "limit": 4294967295}, exit_code=None,
        tres={"requested": [7, None, {"type": "cpu", "count": -4}, {"type": "z" * 5000, "count": 1}]})]})
    facts, _ = tools.ask("slurm", "5")
    assert facts[0]["outcome"] == "unknown" and len(facts[0]["state"]) == 511 and facts[0]["partition"] == "debug"
    assert facts[0]["command"].startswith("_[31m") and len(facts[0]["command"]) <= 511
    assert not {"account", "qos", "cpus", "time_limit", "started", "ended", "submitted", "exit_code"} & set(facts[0])


def test_words_before_a_tool(tools):
    """They are words for exec, not for a shell; nothing in an id or a user's name is one for it either."""
    tools.answer("sacct", {"jobs": [slurm_job(submit_line="x")]})
    facts, _ = tools.ask("slurm", "5", command="env A=$(touch$IFS$0) ")
    assert facts[0]["outcome"] == "completed"
    facts, _ = tools.ask("slurm", f"5,{START},$(reboot);,x")
    assert list(facts[0]) == ["error"]
    facts, _ = tools.ask("slurm", "5", user="nobody-at-all")
    assert "no user nobody-at-all" in facts[0]["error"]


@pytest.mark.skipif(os.geteuid() != 0, reason="not root")
def test_another_user(tools):
    tools.folder.chmod(0o755)
    for above in tools.folder.parents:
        if above.stat().st_uid == os.geteuid() and str(above).startswith("/tmp/"):
            above.chmod(above.stat().st_mode | 0o111)
    tools.add("sacct", 'id -un >&2; exit 1')
    facts, _ = tools.ask("slurm", "5", user="nobody")
    assert facts[0]["error"] == "sacct: nobody"


# ---- a whole aggregator ----


def start(cluster, tools, config=""):
    return cluster.start_aggregator("--job-grace", "1s", "--tick-period", "200ms", config=f"[scheduler]\n{config}",
                                    env={"PATH": tools.path()})


@pytest.mark.sanitized
def test_facts_of_a_job(cluster, tools):
    """Asked when it begins and when it ended, kept in the history, shown by each command; it survives a restart."""
    began = int(time.time())
    moment = {"eligible": began - 5, "end": 0, "start": began, "submission": began - 10, "limit": 90}
    tools.answer("sacct", {"jobs": [slurm_job(state={"current": "RUNNING"}, time=moment, submit_line="sbatch run.sh")]})
    out = start(cluster, tools)
    node = Node(cluster, "n1", {"5": 1})
    try:
        [first] = wait_jobs(out, 1, "facts")
        assert list(first) == ["type", "event", "time", "job_id", "scheduler", "user", "started", "scheduler_facts"]
        assert first["scheduler_facts"]["outcome"] == "running" and not first["scheduler_facts"]["final"]
        tools.answer("sacct", {"jobs": [slurm_job(state={"current": "OUT_OF_MEMORY"}, time=moment | {"end": began + 9},
                                                  submit_line="sbatch run.sh")]})
        node.jobs = {}
        facts = wait_jobs(out, 2, "facts")[1]["scheduler_facts"]
        assert facts["outcome"] == "out_of_memory" and facts["final"] and facts["command"] == "sbatch run.sh"
        assert len(tools.asked()) == 2, "once at its begin, once at its end"
        for _ in range(2):
            wait_until(lambda: listed(cluster)[0]["scheduler_facts"] == facts, "they are in the history")
            done = from_history(cluster, "report", "5", "--json")
            assert parse_line(done.stdout)["scheduler_facts"] == facts
            text = " ".join(from_history(cluster, "report", "5").stdout.split())
            for words in ("State OUT_OF_MEMORY", "debug, account physics", "sbatch run.sh", "1 h 30 min", "want of memory"):
                assert words in text, text
            cluster.aggregator.stop()
        assert cluster.aggregator.wait() == 0
    finally:
        node.close()


@pytest.mark.parametrize("harm", ["hang", "fail", "none", "off"])
def test_only_the_block_is_missing(cluster, tools, harm):
    """With one line why; the aggregator goes on, and ends at once."""
    if harm == "none":
        tools = Tools(cluster.folder / "alone")
    elif harm != "off":
        tools.add("sacct", "sleep 600" if harm == "hang" else "echo 'no access' >&2; exit 1")
        tools.add("scontrol", "sleep 600" if harm == "hang" else "exit 1")
    out = start(cluster, tools, "timeout = 1s\n" + ("enabled = no\n" if harm == "off" else ""))
    node = Node(cluster, "n1", {"5": 1})
    try:
        wait_jobs(out, 1, "started")
        out.wait_lines(5, after=out.mark(), type="node", node="n1")
        if harm == "none":
            [line] = wait_jobs(out, 1, "facts")
            assert line["scheduler_facts"] == {"error": "there is no sacct on this machine"}
            assert "there is no sacct" in from_history(cluster, "report", "5").stdout
        elif harm in ("hang", "fail"):
            cluster.wait_counter("scheduler_failures", 1)
        done = from_history(cluster, "report", "5", "--json")
        assert done.returncode == 0 and parse_line(done.stdout)["user"] == "ana"
        assert (harm != "off") or (tools.asked() == [] and cluster.counter("scheduler_questions") == 0)
        cluster.aggregator.stop()
    finally:
        node.close()
