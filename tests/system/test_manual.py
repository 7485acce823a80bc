"""The manual pages name every option that --help names, and no other; links between the pages of docs/ lead somewhere."""

import os
import re
import shlex
import shutil
import subprocess

import pytest
from lib.programs import LIMIT, ROOT, run

OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z])")
COMMANDS = {
    "agent": [[], ["keys"], ["names"], ["bench-node"], ["run"], ["top"], ["--compat", "neuron-monitor"]],
    "aggregator": [[], ["tail"], ["status"], ["replay"], ["export"], ["check"], ["jobs"], ["job"], ["report"],
                   ["query"], ["top"], ["trace"], ["send"], ["token"], ["keys"]],
}


def options_of_help(program):
    """Those of all commands: what begins with two dashes, and the letters before them."""
    found = set()
    for command in COMMANDS[program]:
        text = run(program, *command, "--help").stdout
        found |= set(OPTION.findall(re.sub(r"agent --connect .*", "", text) if program == "aggregator" else text))
        found |= set(re.findall(r"^  -(\w), --", text, re.MULTILINE))
    return found


def options_of_page(program):
    text = (ROOT / "docs" / "man" / f"{program}.1").read_text()
    described = "\n".join(line for line in text.splitlines() if line.startswith((".Fl", ".It", ".Op")))
    letters = re.findall(r"^\.It Fl (\w) ,", described, re.MULTILINE)
    return set(re.findall(r"(?:Fl|\||,) -([a-z][a-z-]*[a-z])", described)) | set(letters)


@pytest.mark.parametrize("program", COMMANDS)
def test_page_names_the_options_of_help(program):
    help_, page = options_of_help(program), options_of_page(program)
    assert help_, "no options found"
    assert page == help_


@pytest.mark.parametrize("program", COMMANDS)
def test_page_names_the_choices_of_help(program):
    page = (ROOT / "docs" / "man" / f"{program}.1").read_text()
    for command in COMMANDS[program]:
        for option, choices in re.findall(r"^  .*?--([a-z-]+) ([\w-]+(?:\|[\w-]+)+)", run(program, *command, "--help").stdout, re.MULTILINE):
            assert f"Fl -{option} Cm {choices.replace('|', ' | ')}\n" in page, (command, option)
    assert program == "agent" or ".Cm help\n" in page


# A command by a name that only `make install` gives it, and packages do not: "aggregator tail", not "synop-aggregator tail".
SHORT = re.compile(r"(?<![-/.\w])(agent|aggregator) (--\w|(?:keys|names|run|tail|status|replay|export|check|jobs?|report|query|top|trace|token)\b)")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def told():
    """{place: what it tells people}"""
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*"), *(ROOT / "ansible").rglob("*"), *ROOT.glob("a*/*.ini")]:
        if path.is_file() and path.suffix != ".png":
            yield path, path.read_text()
    for folder in ("agent", "aggregator", "common", "include"):
        for path in (ROOT / folder).rglob("*.[ch]"):
            yield path, COMMENT.sub("", path.read_text())
    for program, commands in COMMANDS.items():
        for command in commands:
            yield f"{program} {' '.join(command)} --help", run(program, *command, "--help").stdout


def test_commands_are_called_as_they_are_installed():
    found = {str(place): [hit[0] for hit in SHORT.finditer(text)] for place, text in told()}
    assert len(found) > 200
    assert {place: hits for place, hits in found.items() if hits} == {}


@pytest.mark.parametrize("program", COMMANDS)
def test_page_can_be_pasted_from(program):
    """As a terminal shows it: straight quotes and minuses in examples, pairs of quotes and brackets everywhere."""
    if not shutil.which("groff"):
        pytest.skip("not installed: groff")
    page = ROOT / "docs" / "man" / f"{program}.1"
    # Without the system's own settings, which mend some of that on some systems.
    done = subprocess.run(["groff", "-Tutf8", "-mdoc", "-P-cbou", "-ww", page], capture_output=True, text=True, check=True,
                          timeout=LIMIT, env=os.environ | {"LC_ALL": "C.UTF-8"})
    shown = done.stdout
    assert done.stderr == ""
    examples = re.search(r"\nEXAMPLES\n(.*?)\n\n", shown, re.DOTALL)[1].splitlines()
    assert len(examples) >= 3
    for example in examples:
        assert re.fullmatch(r"[ -~]+", example), example
        assert example.split()[0] == f"synop-{program}" and shlex.split(example)
    for opening, closing in ("‘’", "[]", "()"):
        marks = "".join(mark for mark in shown if mark in (opening, closing))
        assert marks == (opening + closing) * (len(marks) // 2), f"{opening}{closing} within one another"


def headings(path):
    """Anchors, as they are made from headings."""
    lines = re.findall(r"^#+ (.*)", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in lines}


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))],
                         ids=lambda path: path.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        path = page.parent / name if name else page
        assert path.exists(), target
        assert not anchor or anchor in headings(path), target


def test_every_event_is_explained():
    """The names in aggregator/core/event.c have a row each in docs/operations.md."""
    names = re.findall(r"\[EVENT_\w+\] = \{ \"(\w+)\"", (ROOT / "aggregator/core/event.c").read_text())
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", (ROOT / "docs/operations.md").read_text(), re.MULTILINE)
    explained = set(re.findall(r"\w+", " ".join(rows)))
    assert len(names) > 20 and set(names) <= explained, set(names) - explained
