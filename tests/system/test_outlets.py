"""docs/outlets.md: its sections are such as the aggregator takes, and there is one for each type."""

import pathlib
import re

import pytest
from lib.programs import run

PAGE = (pathlib.Path(__file__).parents[2] / "docs/outlets.md").read_text()
SECTIONS = [text.replace("\n    ", "\n").strip() for text in re.findall(r"\n\n((?:    \[send .*\n)(?:    .*\n|\n(?=    \[send ))*)", PAGE)]


def types():
    listed = run("aggregator", "--print-config", "--markdown", "--config", "/dev/null").stdout.partition("[send NAME]")[2]
    return re.search(r"`type` \| `[^`]*` \| ([^|]*(?:\\\|[^|]*)*) \|", listed)[1].replace("\\", "").split("|")


@pytest.mark.parametrize("text", SECTIONS, ids=lambda text: text.splitlines()[0])
def test_sections_are_taken(tmp_path, text):
    ini = tmp_path / "a.ini"
    ini.write_text(text + "\n")
    done = run("aggregator", "--config", ini, "--print-config")
    assert done.returncode == 0, done.stderr


def test_each_type_has_one():
    assert {match for text in SECTIONS for match in re.findall(r"^type = (\w+)", text, re.M)} == set(types())
