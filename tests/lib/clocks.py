"""Clocks that are wrong: what starts a program with a wall clock or a CLOCK_MONOTONIC of its own."""

import os
import pathlib
import shutil
import struct
import subprocess
import sys

import pytest

LIB = pathlib.Path(__file__).parent
IN_TIME_NAMESPACE = LIB / "in_time_namespace.py"


class WallShift:
    """A program's wall clock; set() moves it while the program runs. Give `env` to the program."""

    def __init__(self, folder, seconds=0.0):
        compiler = shutil.which("cc") or shutil.which("gcc") or pytest.skip("no C compiler for the shifted wall clock")
        library = pathlib.Path(folder) / "wall_shift.so"
        if not library.exists():
            subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, LIB / "wall_shift.c"], check=True)
        self.path = pathlib.Path(folder) / f"wall_shift.{os.urandom(4).hex()}"
        self.path.write_bytes(bytes(8))
        self.set(seconds)
        self.env = {"LD_PRELOAD": str(library), "WALL_SHIFT_FILE": str(self.path)}

    def set(self, seconds):
        with open(self.path, "r+b", buffering=0) as file:
            file.write(struct.pack("=q", round(seconds * 1e9)))


def shifted_monotonic(seconds):
    """The prefix of a program whose CLOCK_MONOTONIC is ahead by so much."""
    command = [sys.executable, str(IN_TIME_NAMESPACE), str(seconds)]
    tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    if tried.returncode == 77:
        pytest.skip(tried.stderr.strip())
    assert tried.returncode == 0, tried
    return command
