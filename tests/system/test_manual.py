"""The manual pages name every option that --help names, and no other; links between the pages of docs/ lead somewhere."""

import re

import pytest
from lib.programs import ROOT, run

OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z])")
COMMANDS = {
    "agent": [[], ["keys"], ["run"]],
    "aggregator": [[], ["tail"], ["status"], ["replay"], ["export"], ["check"], ["jobs"], ["job"], ["report"],
                   ["keys"]],
}


def options_of_help(program):
    """Those of all commands: what begins with two dashes."""
    found = set()
    for command in COMMANDS[program]:
        text = run(program, *command, "--help").stdout
        found |= set(OPTION.findall(re.sub(r"agent --connect .*", "", text) if program == "aggregator" else text))
    return found


def options_of_page(program):
    text = (ROOT / "docs" / "man" / f"{program}.1").read_text()
    described = "\n".join(line for line in text.splitlines() if line.startswith((".Fl", ".It", ".Op")))
    return set(re.findall(r"(?:Fl|\||,) -([a-z][a-z-]*[a-z])", described))


@pytest.mark.parametrize("program", COMMANDS)
def test_page_names_the_options_of_help(program):
    help_, page = options_of_help(program), options_of_page(program)
    assert help_, "no options found"
    assert page == help_


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
