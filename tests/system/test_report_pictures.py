"""A job's report as PDF and HTML, looked at as pictures: pages are rendered and must show what they are about. Jobs are
those of tests/unit/aggregator/report/job_stage.h, drawn by the unit test's program; one is a real history's, by the command."""

import fcntl
import html.parser
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess

import numpy
import pytest
from PIL import Image
from lib.programs import BUILD, LIMIT, environment
from test_report import played, report  # noqa: F401 (a fixture)

PROGRAM = BUILD / "tests" / "unit" / "test_job_plot"
MARK = (213, 94, 0)        # what stands out
GAP = (226, 226, 226)      # where samples are missing
ROOF = (32, 32, 32)
JOB = (0, 48, 74)          # a job on a roofline
DRAWN = ("slow", "one", "large", "short", "long", "empty", "none", "bin", "gpus", "many",
         "roof", "hostile")


def command(*arguments, **more):
    done = subprocess.run(arguments, capture_output=True, timeout=10 * LIMIT, env=environment() | {"TZ": "UTC"}, **more)
    assert done.returncode == 0, (arguments, done.stderr.decode(errors="replace"))
    return done.stdout


class Documents:
    """`documents / "slow.pdf"`: drawn when it is asked for first, and once for all of pytest-xdist's processes."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def __truediv__(self, name):
        stem = pathlib.Path(name).stem
        with open(self.folder / f"{stem}.lock", "a", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.fstat(lock.fileno()).st_size == 0:
                command(PROGRAM, "--draw", self.folder, stem, cwd=self.folder)
                lock.write("drawn")
        return self.folder / name


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    base = tmp_path_factory.getbasetemp()
    return Documents((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "documents")


def pages_of(pdf):
    return int(re.search(r"^Pages: *(\d+)$", command("pdfinfo", pdf).decode(), re.M)[1])


def text_of(pdf, *options):
    return command("pdftotext", *options, pdf, "-").decode()


def picture(data):
    """The array of a PPM: P6, width, height, 255, then the bytes."""
    head = re.match(rb"P6\s+(\d+)\s+(\d+)\s+255\s", data)
    width, height = int(head[1]), int(head[2])
    return numpy.frombuffer(data[head.end():], numpy.uint8).reshape(height, width, 3).astype(int)


def page(pdf, number, dpi=72):
    """At 72 dpi a pixel is a point."""
    return picture(command("pdftoppm", "-r", str(dpi), "-f", str(number), "-l", str(number), pdf))


def ink(pixels):
    """The share that is not white."""
    return float((pixels.min(axis=2) < 245).mean())


def like(pixels, color, far=12):
    return numpy.abs(pixels - numpy.array(color)).max(axis=2) <= far


def rows_with(pixels, color, least=8):
    return numpy.flatnonzero(like(pixels, color).sum(axis=1) >= least)


def check_one_bar(pixels, share):
    """The colour that stands out is one bar, above others that are paler in grey too: the slow node's."""
    bar = rows_with(pixels, MARK)
    assert len(bar) and bar[-1] - bar[0] == len(bar) - 1, bar
    others = rows_with(pixels, (158, 202, 225))
    assert len(others) > 5 * len(bar) * share and others[0] > bar[-1]
    grey = pixels @ numpy.array([0.299, 0.587, 0.114])
    assert numpy.median(grey[like(pixels, MARK)]) < numpy.median(grey[like(pixels, (158, 202, 225))]) - 50


@pytest.mark.parametrize("name, pages", [("slow", 5), ("one", 1), ("short", 3), ("large", 20), ("long", 5), ("bin", 3),
                                         ("empty", 1), ("none", 1), ("gpus", 3),
                                         ("many", 7), ("roof", 6), ("hostile", 7)])
def test_pages(folder, name, pages):
    pdf = folder / f"{name}.pdf"
    assert pages_of(pdf) == pages
    assert "595.28 x 841.89" in command("pdfinfo", pdf).decode() or "A4" in command("pdfinfo", pdf).decode()
    texts = text_of(pdf).split("\f")
    for number, text in enumerate(texts[:pages], 1):
        assert f"page {number} of {pages}" in text
        if number < 6:
            looked = page(pdf, number)
            assert ink(looked[40:-40]) > 0.004, (name, number)
            # Nothing runs over the edges of the paper.
            assert ink(looked[:, :20]) == ink(looked[:, -20:]) == ink(looked[-20:]) == 0, (name, number)
    assert set(command("pdffonts", pdf).decode().split("\n")[2:]) != {""}


def test_which_node_was_slow(folder):
    for name, node, value in (("slow", "n7", "32.5"), ("large", "node0617", "32.5")):
        pdf = folder / f"{name}.pdf"
        first = text_of(pdf, "-l", "1")
        assert f"{node} was slow: CPU use {value} %" in first
        check_one_bar(page(pdf, 1, 100), 0.5)
    assert "no node stands out" in text_of(folder / "short.pdf", "-l", "1")
    assert len(rows_with(page(folder / "short.pdf", 1), MARK)) == 0
    for name in ("empty", "none"):
        assert "No samples of this job" in text_of(folder / f"{name}.pdf")


def test_gpus(folder):
    """The ones in trouble are named above all else and stand first; of many, a picture shows where they are."""
    for name, alarm, shown, left_out in (("gpus", "GPU 3 on n2", 16, 0),
                                         ("many", "GPU 3 on gpu002, GPU 0-7 on gpu[040,080]", 64, 736)):
        printed = text_of(folder / f"{name}.pdf", "-layout")
        page_text = Parts((folder / f"{name}.html").read_text(encoding="utf-8")).text
        for text in (printed, page_text):
            text = " ".join((text if text is page_text else text_of(folder / f"{name}.pdf")).split())
            assert text.index("The driver reported errors (XIDs) of GPU 5 on ") < text.index(alarm) < text.index("Sum of all nodes")
            assert (f"and {left_out} more: --json has them" in text) == (left_out > 0)
            assert ("Use of each GPU, in the mean" in text) == (left_out > 0)
        rows = re.findall(r"^ *(?:n|gpu)\d+ +\d +(left idle|XID \d+|throttled by heat|-).* \d+$", printed, re.M)
        assert len(rows) == shown and rows[0].startswith("left idle") and rows == sorted(rows, key=(
            "left idle", "XID 48", "throttled by heat", "-").index)
    pixels = next(page(folder / "many.pdf", number) for number in range(1, 8) if "Use of each GPU" in text_of(
        folder / "many.pdf", "-f", str(number), "-l", str(number)))
    pale = like(pixels, (255, 255, 217), 8)
    assert set(numpy.flatnonzero(pale.sum(axis=0) > 70) // 20) == {13, 22}  # the two nodes of which all are idle
    for name in ("slow", "one", "empty", "none"):
        assert "GPUs of the job" not in text_of(folder / f"{name}.pdf")


class LogAxis:
    """Of ticks: powers of ten, and where they stand."""

    def __init__(self, ticks):
        (low, at_low), *_between, (high, at_high) = sorted(ticks)
        self.low, self.at_low = math.log10(low), at_low
        self.step = (at_high - at_low) / (math.log10(high) - self.low)

    def at(self, value):
        return self.at_low + (math.log10(value) - self.low) * self.step

    def value(self, at):
        return 10 ** (self.low + (at - self.at_low) / self.step)


def boxes(pdf, number):
    """Words and their boxes: left, top, right, bottom in points."""
    text = text_of(pdf, "-bbox", "-f", str(number), "-l", str(number))
    return [(found[5], *(float(found[i]) for i in range(1, 5))) for found in re.finditer(
        r'<word xMin="(.*?)" yMin="(.*?)" xMax="(.*?)" yMax="(.*?)">(.*?)</word>', text)]


def roofline(pdf, number):
    """Its axes, and its pixels at four in a point, above and left of its words."""
    words = boxes(pdf, number)
    top = next(word[2] for word in words if word[0] == "Roofline:") + 34
    here = [word for word in words if top - 8 < word[2] < top + 215 and word[1] < 400]
    ticks = [word for word in here if re.fullmatch(r"10*|0\.0*1", word[0])]
    lowest = max(word[4] for word in ticks)
    along = [(float(word[0]), (word[1] + word[3]) / 2) for word in ticks if lowest - word[4] < 2]
    up = [(float(word[0]), (word[2] + word[4]) / 2) for word in ticks if lowest - word[4] > 4]
    pixels = page(pdf, number, 288)[4 * int(top):4 * int(lowest - 9), :4 * 398]
    return LogAxis(along), LogAxis(up), pixels, int(top)


def centre_of(pixels, color):
    rows, columns = numpy.nonzero(like(pixels, color))
    assert len(rows) > 20
    return columns.mean() / 4, rows.mean() / 4


def test_roofline(folder):
    """Where the points and the roof lie, by the ticks of the axes, is what the words say."""
    pdf = folder / "roof.pdf"
    text = text_of(pdf, "-f", "2", "-l", "2")
    flops, intensity, low = (float(re.search(pattern, text)[1]) for pattern in (
        r"([\d.]+) GFLOP/s on a node", r"([\d.]+) FLOP/byte", r"n5: ([\d.]+) GFLOP/s"))
    x_axis, y_axis, pixels, top = roofline(pdf, 2)

    def is_at(value, axis, expected):
        return abs(math.log10(axis.value(value) / expected)) < 0.03

    x, y = centre_of(pixels, JOB)
    assert is_at(x, x_axis, intensity) and is_at(y + top, y_axis, flops)
    x, y = centre_of(pixels, MARK)
    assert is_at(y + top, y_axis, low)
    for at, roofs in ((0.15, [46.5]), (3, [930]), (14, [2600]), (60, [2600, 5200])):
        column = like(pixels, ROOF, 60)[:, round(x_axis.at(at) * 4) - 8:round(x_axis.at(at) * 4) + 9].any(axis=1)
        lines = [y_axis.value(i / 4 + top) for i in numpy.flatnonzero(column)]
        for roof in roofs:
            assert any(abs(math.log10(line / roof)) < 0.03 for line in lines), (at, roof, lines)
    assert "What its counters show" in text and "bound by memory" in text
    shown = Parts((folder / "roof.html").read_text(encoding="utf-8")).text
    for words in ("289 GiB/s", "2.60 TFLOP/s double precision", "5.20 TFLOP/s single precision", f"n5: {low} GFLOP/s",
                  "Counters of the nodes"):
        assert words in shown, words
    assert "Roofline" not in text_of(folder / "slow.pdf") and "counters" not in text_of(folder / "slow.pdf")


def test_panels(folder):
    """Five rows a page, 147 points each: nodes on the left, all together on the right; a gap is grey in both."""
    pixels = page(folder / "slow.pdf", 3)
    titles = text_of(folder / "slow.pdf", "-f", "3", "-l", "3")
    assert "Network: received, each node" in titles and "Network: received, sum of nodes" in titles
    assert re.search(r"mean \S+ [KM]iB/s, maximum \S+ [KM]iB/s on n\d+; whole nodes", titles)
    for row in range(5):
        panel = pixels[56 + 147 * row + 26:56 + 147 * row + 111]
        left, right = panel[:, 72:269], panel[:, 383:540]
        for half in (left, right):
            grey = like(half, GAP, 3)
            columns = numpy.flatnonzero(grey.mean(axis=0) > 0.5)
            # The second quarter of the time, and nothing else.
            assert abs(columns[0] / half.shape[1] - 0.25) < 0.05 and abs(columns[-1] / half.shape[1] - 0.5) < 0.05
            assert ink(half[:, :columns[0] - 2]) > 0.01 and ink(half[:, columns[-1] + 3:]) > 0.01
        legend = panel[:, 270:350]
        assert ink(legend) > 0.03


def test_words(folder):
    text = " ".join(text_of(folder / "slow.pdf").split())  # the columns one after the other
    for words in ("Job 4711", "ada", "cfd-wing", "mpirun ./solver --steps 100000 wing.cfg", "12: n[1-12]",
                  "2026-11-21 14:32:07 UTC", "1 h 23 min 45 s", "n4 14:53:03 to 15:13:59",
                  "What this report does not know", "GPUs were not sampled on any node."):
        assert words in text, words
    assert len(re.findall(r"^ *node\d{4} +8 ", text_of(folder / "large.pdf", "-layout", "-f", "4"), re.M)) == 1000
    assert "it runs still" in text_of(folder / "long.pdf", "-l", "1")


class Parts(html.parser.HTMLParser):
    """Tags, attributes and the text of a document; elements must be closed as they were opened."""

    VOID = {"meta"}

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open, self.text = set(), [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.getpos())

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("name", DRAWN)
def test_html_is_whole_in_itself(folder, name):
    text = (folder / f"{name}.html").read_text(encoding="utf-8")
    parts = Parts(text)
    assert not parts.tags & {"script", "img", "iframe", "link", "object", "embed", "foreignobject", "base", "form"}
    for key, value in parts.attributes:
        assert not key.startswith("on"), key
        if key in ("href", "xlink:href", "src"):
            assert value.startswith(("#", "data:image/png;base64,")), value
    style = re.search("<style>(.*?)</style>", text, re.S)[1]
    assert "url(" not in style and "@import" not in style
    ids = [value for key, value in parts.attributes if key == "id"]
    assert len(ids) == len(set(ids))
    if name == "slow":
        assert "n7 was slow: CPU use 32.5 %" in parts.text


def test_hostile_names(folder):
    job = "1</title><script>alert(1)</script>"
    names = [job, "'\"`touch pwned`", "$(touch pwned) 'quoted' \"twice\" \\ {/=90 big} @x #", "'; system('touch pwned'); '",
             "@macro #comment \\n %s %d", "\"{/=90 big}\" &lt;&amp;"]
    shown = Parts((folder / "hostile.html").read_text(encoding="utf-8")).text
    printed = " ".join(text_of(folder / "hostile.pdf").split())
    for name in names:
        assert name in shown and name in printed, name
    assert not list(folder.folder.rglob("pwned"))
    assert "</text><sc\N{HORIZONTAL ELLIPSIS}</script> was slow" in printed


def browse(tmp_path, path, *options):
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if not browser:
        pytest.skip("chromium is not installed")
    return command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                   "--timeout=30000", f"--user-data-dir={tmp_path}/profile", *options, path.as_uri())


def test_html_in_a_browser(folder, tmp_path):
    shot = tmp_path / "shot.png"
    browse(tmp_path, folder / "slow.html", "--window-size=1366,1400", f"--screenshot={shot}")
    pixels = numpy.asarray(Image.open(shot).convert("RGB")).astype(int)
    assert pixels.shape == (1400, 1366, 3)
    check_one_bar(pixels, 0.5)
    assert ink(pixels[:330]) > 0.01 and ink(pixels[380:900]) > 0.25 and ink(pixels[1000:]) > 0.01
    browse(tmp_path, folder / "slow.html", "--no-pdf-header-footer", f"--print-to-pdf={tmp_path}/print.pdf")
    assert pages_of(tmp_path / "print.pdf") in range(4, 9)
    assert ink(page(tmp_path / "print.pdf", 1)) > 0.1
    dom = browse(tmp_path, folder / "hostile.html", "--dump-dom").decode()
    assert "<script" not in dom and "<img" not in dom


def test_command(played, tmp_path, monkeypatch):  # noqa: F811
    """What a user types, on a real history; and with gnuplot missing, or in vain."""
    cluster, _parts = played
    pdf, page_file = tmp_path / "42.pdf", tmp_path / "42.html"
    done = report(cluster, "42", "--pdf", pdf, "--html", page_file, "--cluster-name", "alps")
    assert done.stdout == "" and str(pdf) in done.stderr and str(page_file) in done.stderr
    text = text_of(pdf, "-layout")
    for words in ("Job 42", "ana", "relax", "3: n[1-3]", "n2 was slow", "Lost nodes", "CPU use, each node",
                  "Network: received, each node"):
        assert words in text, words
    about = command("pdfinfo", pdf).decode()
    for words in ("Job 42: relax (alps)", "ana", "synop 0."):
        assert re.search(rf"^(Title|Author|Creator): +{re.escape(words)}", about, re.M), about
    assert re.search(r"Cluster +alps\b", text)
    check_one_bar(page(pdf, 1, 100)[:650], 0.2)
    shown = Parts(page_file.read_text(encoding="utf-8")).text
    assert "n2 was slow" in shown and "n3 (lost)" in shown and "Job 42: relax (alps)" in shown

    before = pdf.read_bytes(), page_file.read_bytes()
    done = report(cluster, "42", "--pdf", pdf, "--html", page_file, "-o", "/dev/stdout", code=1)
    for path in (pdf, page_file):
        assert f"{path}: File exists" in done.stderr
    assert (pdf.read_bytes(), page_file.read_bytes()) == before and "Job 42" in done.stdout

    page_file.unlink()
    report(cluster, "42", "--html", page_file, "--cluster-name", "alps",
           preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))  # as who starts it may have it
    assert Parts(page_file.read_text(encoding="utf-8")).text.split("synop 0.")[0] == shown.split("synop 0.")[0]

    done = report(cluster, "42", "--pdf", tmp_path / "no" / "42.pdf", "--html", tmp_path / "second.html", code=1)
    assert (tmp_path / "second.html").exists()
    assert f"cannot write {tmp_path}/no/42.pdf: No such file or directory" in done.stderr
    alone = tmp_path / "bin"
    alone.mkdir()
    monkeypatch.setenv("PATH", str(alone))
    done = report(cluster, "42", "--pdf", tmp_path / "x.pdf", code=1)
    assert "gnuplot-nox" in done.stderr
    (alone / "gnuplot").write_text("#!/bin/sh\necho 'no such terminal' >&2\nexit 1\n")
    (alone / "gnuplot").chmod(0o755)
    done = report(cluster, "42", "--pdf", tmp_path / "x.pdf", code=1)
    assert "gnuplot failed: no such terminal" in done.stderr
    assert not list(tmp_path.glob("x.*"))
    report(cluster, "42", "--html", tmp_path / "y.html")  # which we draw ourselves
    assert "n2 was slow" in Parts((tmp_path / "y.html").read_text(encoding="utf-8")).text
