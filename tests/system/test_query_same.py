"""A question has one answer: of the command in every form, over HTTP, and as far as a damaged history still has it."""

import base64
import contextlib
import csv
import datetime
import io
import math
import shutil
import sqlite3
import urllib.parse

import pytest
from lib.api import API, HTTP, check, error_of
from lib.cluster import Cluster
from lib.programs import ROOT, parse_line, run, time_ns, wait_until
from lib.tiers import tiers_tool
from lib.web import get, url_of

JOB = "same-job"
QUESTIONS = (
    {"metric": "load.load_1"},
    {"metric": "load.load_1", "step": "5s", "node": "n1"},
    {"metric": "memory_info.used", "top": "1"},
    {"metric": "memory_info.used", "bottom": "1"},
    {"metric": "cpu_usage.user", "fold": "max"},
    {"metric": "cpu_usage.user", "rows": "yes", "fold": "mean"},
    {"metric": "network.rx_bytes", "row": "lo", "rate": "yes"},
    {"metric": "vm.page_faults", "rate": "yes"},
    {"metric": "vm.page_faults"},
    {"metric": "memory_info.used / memory_info.total"},
    {"metric": "load.load_1 * 100", "fold": "sum"},
    {"metric": "load.load_1", "combined": "yes"},
    {"metric": "load.load_1", "job": JOB},
    {"metric": "job_memory.rss", "job": JOB},
)
WORDS = (ROOT / "aggregator/api/api_read.h").read_text().count("\n  API_WORD_")  # that it has of its own
FORMS = ("json", "csv", "levels")
COMPLETE = '"complete":false', '"complete":true'  # a step may end between two answers


def utc(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def name_of(question):
    return "_".join(f"{key}={value}" for key, value in question.items())


@pytest.fixture(name="ran", scope="module")
def _ran():
    """A cluster whose nodes ran a job for some seconds and ended: (cluster, address, when it was)."""
    cluster = Cluster()
    try:
        cluster.start_aggregator("--tick-period", "200ms", config=HTTP + "[history]\nchunk_time = 300ms\n")
        url = url_of(cluster.aggregator)
        cluster.start_nodes("n1", "n2", period="100ms")
        job = cluster.start("job", "agent", "run", "--job", JOB, "--", "sleep", "600")
        lines = cluster.aggregator.wait_lines(60, type="node", node="n2")
        wait_until(lambda: '"series":[{' in ask(cluster.history, {"metric": "job_memory.rss"}).stdout, "the job in the history")
        cluster.aggregator.wait_lines(90, type="node", node="n2")
        for program in (job, *cluster.agents.values()):
            program.stop()
        cluster.succeed("aggregator", "query", "load.load_1", "--config", cluster.empty, "--history", cluster.history, "--socket",
                        cluster.socket)  # all is in the file then
        yield cluster, url, {"from": utc(time_ns(lines[0]["time"]) // 10**9 - 120), "to": "now"}
    finally:
        cluster.close()


def ask(history, question, form="json", *more):
    """By the command. What a running aggregator holds is in the file already."""
    words = {"yes": ""}
    options = [f"--{key}" + (f"={value}" if value not in words else "") for key, value in question.items() if key != "metric"]
    return run("aggregator", "query", question["metric"], "--config", "/dev/null", "--history", history, "--socket", "/none",
               "--format", form, *options, *more)


def ask_http(url, question, form="json"):
    return get(url, f"{API}query?{urllib.parse.urlencode(question | {'format': form})}")


def ask_child(history, question, form="json"):
    """By the program that answers for HTTP's thread: its head and its body."""
    words = [str(history), "/none", *[""] * (WORDS - 4), "*", "", "query",
             *(f"{key}={value}" for key, value in (question | {"format": form}).items())]
    done = run("aggregator", "answer", stdin="".join(word + "\0" for word in words))
    head, _, body = done.stdout.partition("\n")
    return int(head.split()[0]), body


def fixed(ran, question):
    """The question about the same interval whenever it is asked."""
    said = parse_line(ask(ran[0].history, ran[2] | question).stdout)
    return question | {"from": said["from"], "to": said["to"]}


@pytest.mark.parametrize("question", QUESTIONS, ids=name_of)
def test_every_form_is_the_same_over_http(ran, question):
    cluster, url, _ = ran
    question = fixed(ran, question)
    answers = {}
    for form in FORMS:
        done, page = ask(cluster.history, question, form), ask_http(url, question, form)
        assert done.returncode == 0 and page.status == 200, (done.stderr, page.text[:300])
        assert done.stdout.replace(*COMPLETE) == page.text.replace(*COMPLETE) != "", form
        answers[form] = done.stdout
    answer = check(parse_line(answers["json"]), "Query")
    assert any(point[4] for series in answer["series"] for point in series["points"])
    rows = list(csv.reader(io.StringIO(answers["csv"])))[1:]
    points = [(series["node"] or "", series["row"] or "", *point[1:]) for series in answer["series"] for point in series["points"]]
    assert [(row[1], row[2], *(float(cell) if cell else None for cell in row[3:6]), int(row[6])) for row in rows] == points
    levels = parse_line(answers["levels"])
    assert levels["nodes"] == [series["node"] for series in answer["series"]]
    assert [len(base64.b64decode(step)) for step in levels["steps"]] == [len(answer["series"])] * len(answer["series"][0]["points"])


@pytest.mark.parametrize("question", QUESTIONS, ids=name_of)
def test_text_and_curves_have_the_same_values(ran, question):
    history, question = ran[0].history, fixed(ran, question)
    answer = parse_line(ask(history, question).stdout)
    table = ask(history, question, "table").stdout.splitlines()
    series, words = answer["series"], [line.split() for line in table[4:]]
    if words and table[3].split()[0] == "TIME":
        lines = [line[-len(series):] for line in words if "..." not in line]
        shown = [[float(line[i]) for line in lines if line[i] != "-"] for i in range(len(series))]
        wanted = [[point[1] for point in one["points"] if point[4]] for one in series]
    else:
        assert table[3].split() == ["NAME", "MEAN", "MIN", "MAX", "LAST"] and len(words) == len(series)
        shown, wanted = [[float(line[1])] for line in words], [[one["mean"]] for one in series]
    most = max(map(max, wanted))
    scale = max(map(max, shown)) / most if most else 1
    for some, others in zip(shown, wanted):
        assert len(some) == len(others)
        assert all(math.isclose(one, other * scale, rel_tol=1e-2, abs_tol=1e-2 * most * scale) for one, other in zip(some, others))
    assert table[0].startswith(answer["metric"]) and ("top" in question or "bottom" in question) <= (table[3].split()[0] == "NAME")
    drawn = ask(history, question, "plot")
    if shutil.which("gnuplot"):
        assert drawn.returncode == 0 and answer["metric"].split()[0] in drawn.stdout, drawn.stderr


# ---- damage ----


def copy_of(ran, folder, *statements):
    """With all of its frames in minutes, and then changed."""
    path = folder / "history.db"
    with contextlib.closing(sqlite3.connect(f"file:{ran[0].history}?mode=ro", uri=True)) as file:
        with contextlib.closing(sqlite3.connect(path)) as other:
            file.backup(other)
    tiers_tool()(path, "work", 3 * 86400)
    with contextlib.closing(sqlite3.connect(path)) as other:
        for statement in statements:
            other.executescript(statement)
        other.commit()
    return path


NO_FRAMES = "DELETE FROM chunks; DELETE FROM unfolded"
DAMAGED_MINUTES = "UPDATE tier_blocks SET data = substr (data, 1, 2) || x'00000000' || substr (data, 7) WHERE tier = 0"
NO_MINUTES = "DROP TABLE tier_blocks; DROP TABLE tier_parts; DROP TABLE tier_staged; DROP TABLE unfolded"
STATES = {"frames are gone": (NO_FRAMES,), "minutes are damaged": (DAMAGED_MINUTES,),
          "minutes are damaged, frames are gone": (NO_FRAMES, DAMAGED_MINUTES), "tables of minutes are lost": (NO_MINUTES,),
          "a chunk is damaged": ("UPDATE chunks SET data = x'00' WHERE id = (SELECT min (id) FROM chunks WHERE node != 0)",)}


@pytest.mark.parametrize("state", STATES)
def test_a_damaged_history_gives_both_the_same(ran, tmp_path, state):
    path, steps = copy_of(ran, tmp_path, *STATES[state]), {}
    for question in QUESTIONS[::2] + QUESTIONS[-3:]:
        for step in ("1m", "1s"):
            if step == "1s" and "frames are gone" in state:
                continue
            if "rate" in question and "frames are gone" in state:
                continue  # nothing else has a sample's length of nodes that lived for less than a minute
            whole = fixed(ran, question | {"step": step})
            done = ask(path, whole)
            assert done.returncode == (1 if parse_line(done.stdout)["broken"] else 0), done.stderr
            answer = parse_line(done.stdout)
            steps[step] = steps.get(step, 0) + answer["broken"]
            status, body = ask_child(path, whole)
            assert status == 200 and body.replace(*COMPLETE) == done.stdout.replace(*COMPLETE)
            assert (" left out: " in done.stderr) == (answer["broken"] > 0)
            before = parse_line(ask(ran[0].history, whole).stdout)
            if not answer["broken"]:
                assert_near(answer, before)
            else:
                assert len(answer["series"]) <= len(before["series"])
    assert (steps["1m"] > 0) == ("damaged" in state), steps  # a chunk may have been looked into for a rate
    assert (steps.get("1s", 0) > 0) == ("chunk" in state), steps


def assert_near(answer, before):
    """Shares have four places in minutes; what a rate is of, may be in frames to the nanosecond."""
    assert [(one["node"], one["row"]) for one in answer["series"]] == [(one["node"], one["row"]) for one in before["series"]]
    for one, other in zip(answer["series"], before["series"]):
        for point, wanted in zip(one["points"], other["points"]):
            assert point[0] == wanted[0] and point[4] == wanted[4]
            if point[1] is not None:
                assert math.isclose(point[1], wanted[1], rel_tol=0.02, abs_tol=1e-3), (answer["metric"], point, wanted)


# ---- mistakes ----

MISTAKES = (
    ({"metric": "lod.load_1"}, "metric"), ({"metric": "load.load_1", "step": "often"}, "step"),
    ({"metric": "load.load_1", "from": "soon"}, "from"), ({"metric": "load.load_1", "from": "-1h", "to": "-2h"}, "from"),
    ({"metric": "load.load_1", "node": "n7"}, "node"), ({"metric": "load.load_1", "rows": "yes"}, "rows"),
    ({"metric": "load.load_1", "row": "lo"}, "row"), ({"metric": "load.load_1", "rate": "yes"}, "rate"),
    ({"metric": "load.load_1", "fold": "median"}, "fold"), ({"metric": "load.load_1", "top": "0"}, "top"),
    ({"metric": "load.load_1", "top": "1", "bottom": "1"}, "bottom"),
    ({"metric": "load.load_1", "combined": "yes", "fold": "sum"}, "fold"), ({"metric": "load.load_1", "job": "77"}, "job"),
    ({"metric": "load.load_1", "user": "root"}, "user"), ({"metric": "load.load_1", "scheduler": "slurm"}, "scheduler"),
    ({"metric": "load.load_1", "from": "-30d", "step": "1s"}, "step"), ({"metric": "load.load_1", "step": "2h"}, "step"),
)


@pytest.mark.parametrize("question, option", MISTAKES, ids=lambda value: value if isinstance(value, str) else name_of(value))
def test_mistakes_name_the_option(ran, question, option):
    done = ask(ran[0].history, question)
    assert done.returncode == 2 and done.stdout == ""
    assert f"[query] {option} (command line): " in done.stderr or (option == "metric" and question["metric"] in done.stderr)
    error = error_of(ran[1], "query?" + urllib.parse.urlencode(question), 400, option)
    if "expected" not in error and "must be before" not in error["message"]:
        assert done.stderr.split("command line): ")[-1].split("error: ")[-1].strip().startswith(error["message"])
