"""Fixtures of all Python tests, and the result that tests/lib/twice.py reads."""

import json
import os
import pathlib
import signal
import sys

import pytest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from lib.browser import browser_or_skip  # noqa: E402
from lib.cluster import Cluster  # noqa: E402


def pytest_configure(config):
    # A run that is ended still ends what it started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config.addinivalue_line("markers", "sanitized: also run against the programs with AddressSanitizer")


@pytest.fixture
def cluster():
    """A cluster's folder, keys and programs; whatever it started has ended when the test has, and no test leaves a
    sanitizer's report unread."""
    made = Cluster()
    yield made
    made.close()


@pytest.fixture
def browser():
    """A headless Chromium with an empty profile (lib/browser.py)."""
    made = browser_or_skip()
    yield made
    made.close()


results = {"passed": [], "failed": [], "skipped": 0}


def pytest_runtest_logreport(report):
    name = report.nodeid
    if report.skipped:
        results["skipped"] += 1
    elif report.failed:
        if name in results["passed"]:
            results["passed"].remove(name)
        if name not in results["failed"]:
            results["failed"].append(name)
    elif report.when == "call":
        results["passed"].append(name)


def pytest_collectreport(report):
    if report.failed:
        results["failed"].append(report.nodeid)


def pytest_sessionfinish(session):
    beside_others = hasattr(session.config, "workerinput")  # of pytest-xdist, whose parent hears of every test
    if "SYNOP_RESULT" in os.environ and not beside_others:
        pathlib.Path(os.environ["SYNOP_RESULT"]).write_text(json.dumps(results))


def pytest_runtest_makereport(item, call):
    """The programs' logs belong to a failure."""
    if call.excinfo is not None and call.when == "call":
        made = item.funcargs.get("cluster")
        if made is not None:
            item.add_report_section("call", "programs", made.logs())
