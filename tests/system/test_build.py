"""What make takes for up to date, in a copy of the sources: never an object of other sources, or one that was compiled
otherwise, whatever the folder of what is built is called."""

import os
import pathlib
import shutil
import subprocess
import time

import pytest
from lib.programs import LIMIT, ROOT, environment

OBJECT = "build/obj/agent/main.o"
HEADER = "include/synop/version.h"  # which it includes
# Makes its files, and takes no time for what is in them.
TOOL = """\
#!/bin/sh
[ "$1" = rcs ] && : >"$2"
while [ $# -gt 0 ]; do
  [ "$1" = -o ] && : >"$2"
  shift
done
"""


class Tree:
    def __init__(self, folder):
        self.folder = folder
        for name in ("Makefile", "include", "common", "agent"):
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            copy(ROOT / name, folder / name)
        tool = folder / "tool"
        tool.write_text(TOOL)
        tool.chmod(0o755)

    def make(self, *arguments, folder=None):
        done = subprocess.run(["make", "-C", folder or self.folder, *arguments], env=environment(), cwd=ROOT,
                              capture_output=True, text=True, timeout=LIMIT, check=False)
        assert done.returncode <= 1 and "No rule" not in done.stderr, done.stdout + done.stderr
        return done.returncode

    def fresh(self, *arguments, **more):
        """Is there nothing to be done?"""
        return self.make("-q", *arguments, **more) == 0

    def change(self, name):
        """As if it were written a little later."""
        later = time.time() + 2
        os.utime(self.folder / name, (later, later))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """With one object, compiled as plain `make` does."""
    tree = Tree(tmp_path_factory.mktemp("tree"))
    assert tree.make("-s", OBJECT) == 0
    tree.folder.with_name("link").symlink_to(tree.folder)
    return tree


def spellings(folder):
    link = folder.with_name("link")
    yield from (["BUILD=build/"], ["BUILD=./build"], ["BUILD=agent/../build"], [f"BUILD={folder}/build"], [f"BUILD={link}/build"])


def test_a_header_that_changed_is_seen_whatever_build_is_called(built):
    calls = [[*build, goal] for build in spellings(built.folder) for goal in (OBJECT, f"{built.folder}/{OBJECT}")]
    assert [call for call in calls if not built.fresh(*call)] == []
    link = built.folder.with_name("link")
    assert built.fresh(f"BUILD={link}/build", OBJECT, folder=link)
    before = (built.folder / HEADER).stat()
    built.change(HEADER)
    try:
        assert [call for call in calls if built.fresh(*call)] == []
        assert not built.fresh(f"BUILD={link}/build", OBJECT, folder=link)
    finally:
        os.utime(built.folder / HEADER, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("other", ["CC=another", "CFLAGS=-O3", "CPPFLAGS=-DX='a b'", "SANITIZE=address", "LDFLAGS=-s"])
def test_what_was_compiled_otherwise_is_compiled_anew(built, other):
    assert built.fresh(OBJECT) and built.fresh("WERROR=", OBJECT)
    assert not built.fresh(other, OBJECT)


def test_a_folder_of_its_own_has_its_own_flags(built):
    quick = [f"CC={built.folder}/tool", "BUILD=build/other", "CFLAGS=-DX='a b'"]
    assert built.make(*quick, "build/other/obj/agent/main.o") == 0
    assert built.fresh(*quick, "build/other/obj/agent/main.o") and built.fresh(OBJECT)


def test_an_archive_forgets_what_has_no_source_any_more(built):
    quick = [f"CC={built.folder}/tool", f"AR={built.folder}/tool", "BUILD=build/archive", "build/archive/libcommon.a"]
    source = built.folder / "common/keys/key_set.c"
    assert built.make(*quick) == 0 and built.fresh(*quick)
    text = source.read_bytes()
    source.unlink()
    try:
        assert not built.fresh(*quick)
    finally:
        pathlib.Path(source).write_bytes(text)
