"""tests/check-rooms finds what does not keep to the order of rooms, in a small tree of its own."""

import subprocess
import sys

import pytest
from lib.programs import LIMIT, ROOT

TREE = {
    "docs/rooms.txt": "# lowest first\ncommon/base  a\ncommon/data  b\nagent/low  c\nagent  d\naggregator  e\n"
                      "arrows common  1\narrows agent  1\n",
    "docs/code.md": "`agent_run` in `agent/main.c`\n",
    "include/synop/memory.h": "",
    "include/synop/table.h": '#include "synop/memory.h"\n',
    "common/base/memory.c": '#include "synop/memory.h"\nvoid\nmemory_new (void)\n',
    "common/data/table.c": '#include "synop/table.h"\n#include "common/data/own.h"\nvoid\ntable_add (void)\n',
    "common/data/own.h": "",
    "agent/low/low.c": '#include "agent/low/low_private.h"\n#include "synop/table.h"\nint\nlow_begin (void)\n',
    "agent/low/low.h": "",
    "agent/low/low_private.h": "",
    "agent/main.c": '#include "agent/low/low.h"\nint\nagent_run (void)\n',
    "agent/main.h": "",
    "aggregator/main.c": '#include "synop/table.h"\nint\nmain (void)\n',
    "common/base/README.md": "`memory_new` in `memory.c`",
    "common/data/README.md": "`table_add` in `table.c`",
    "agent/low/README.md": "`low_begin` in `low.c`",
    "agent/README.md": "`agent_run`\nin `main.c`",
    "aggregator/README.md": "`main` in `main.c`",
}


def check(folder, changes):
    for name, text in (TREE | changes).items():
        if text is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    done = subprocess.run([sys.executable, ROOT / "tests" / "check-rooms", folder], capture_output=True, text=True,
                          timeout=LIMIT, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_what_keeps_to_the_order_passes(tmp_path):
    code, text = check(tmp_path, {})
    assert code == 0 and "agent: 1 arrows between its rooms" in text and "common: 1 arrows" in text


@pytest.mark.parametrize("name, text, said", [
    ("agent/low/low.h", '#include "agent/main.h"', "agent/low/low.h:1: includes agent/main.h, which goes up"),
    ("common/base/memory.c", '\n# include "synop/table.h"', "memory.c:2: includes synop/table.h, which goes up"),
    ("include/synop/memory.h", '#include "synop/table.h"', "memory.h:1: includes synop/table.h, which goes up"),
    ("agent/main.h", '#include "agent/low/low_private.h"', "which is for agent/low alone"),
    ("agent/main.h", '#include "common/data/own.h"', "which is for common/data alone"),
    ("aggregator/main.c", '#include "agent/low/low.h"', "which is of the other program"),
    ("agent/new/new.c", "", "the folder agent/new is no room"),
    ("agent/main.h", '#include "low.h"', "which is no file"),
    ("agent/low/README.md", None, "agent/low/README.md: there is none"),
    ("agent/low/README.md", "Read it.", "agent/low/README.md: it names no"),
    ("docs/code.md", "`agent_end` in `agent/main.c`", "docs/code.md: agent/main.c has no function agent_end"),
    ("docs/code.md", "`agent_run` in `agent/gone.c`", "docs/code.md: agent/gone.c is no file"),
    ("docs/rooms.txt", TREE["docs/rooms.txt"] + "agent/none  f\n", "agent/none has no sources"),
    ("docs/rooms.txt", TREE["docs/rooms.txt"].replace("agent  1", "agent  0"), "agent: 1 arrows between its rooms, "
                                                                              "docs/rooms.txt allows 0"),
    ("docs/rooms.txt", TREE["docs/rooms.txt"].replace("arrows agent  1\n", ""), "agent: 1 arrows"),
])
def test_what_does_not_is_named(tmp_path, name, text, said):
    code, told = check(tmp_path, {name: text})
    assert code == 1 and said in told, told


def test_ten_stops_are_named():
    page = (ROOT / "docs" / "code.md").read_text()
    frame = page.partition("## One frame")[2].partition("\n## ")[0]
    stops = [stop for stop in frame.split("\n") if stop[:1].isdigit()]
    assert len(stops) == 10
