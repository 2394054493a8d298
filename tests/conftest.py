"""Shared fixtures, and a summary of the tests that a run left out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from rprs import Index, Searcher
from tests.support.browser import NONE, browser
from tests.support.server import Server, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Without stored bytecode, every command that a test starts would compile 850 modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# By default hypothesis uses the same cases on every run, and more of them in `make test-all`; with
# `HYPOTHESIS_PROFILE=search`, new ones each time.
settings.register_profile("default", derandomize=True, deadline=None, max_examples=30)
settings.register_profile("thorough", derandomize=True, deadline=None, max_examples=200)
settings.register_profile("search", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

SEPARATE = {
    "torch": "make test-torch",
    "slow": "make test-all",
    "effectiveness": "make effectiveness",
    "cluster": "make test-cluster",
    "browser": "make test-browser",
}
LEFT_OUT = pytest.StashKey[Counter[str]]()


# Several processes share the tests file by file: with the longest files first, they finish at about the same time.
LONGEST = (
    "project/test_docs.py",
    "serve/test_schema.py",
    "serve/test_uploads.py",
    "serve/test_api.py",
    "tuning/test_tune.py",
    "tuning/test_tune_function.py",
    "project/test_package.py",
    "serve/test_robustness.py",
    "studies/test_study.py",
    "studies/test_study_again.py",
    "index/test_crash.py",
    "cli/test_tuning.py",
    "serve/test_client.py",
    "cli/test_running.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use Chromium, before pytest selects by marks, and put the longest files first."""
    for item in items:
        if "chrome" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get("/".join(item.path.parts[-2:]), len(order)))


def pytest_configure(config: pytest.Config) -> None:
    """Compile what a search needs, once, before several processes would."""
    config.stash[LEFT_OUT] = Counter()
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        subprocess.run([sys.executable, "-m", "tests.support.compile_first"], cwd=config.rootpath, check=True)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Use one thread: the models in the tests are too small for more."""
    if item.get_closest_marker("torch"):
        import torch

        torch.set_num_threads(1)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        item.config.stash[LEFT_OUT].update(next(([name] for name in SEPARATE if item.get_closest_marker(name)), ()))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Report the counts of a worker process; all workers deselect the same tests."""
    if hasattr(session.config, "workeroutput"):
        left: Counter[str] = session.config.stash[LEFT_OUT]
        session.config.workeroutput["left_out"] = dict(left)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[LEFT_OUT] = Counter(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for name, count in config.stash[LEFT_OUT].items():
        terminalreporter.line(f"Left out: {count} tests marked {name}, which `{SEPARATE[name]}` runs")
    skipped = sum(NONE in str(report.longrepr) for report in terminalreporter.stats.get("skipped", ()))
    if skipped:
        terminalreporter.line(f"Left out: {skipped} UI tests. {NONE}", red=True)


# ---------------------------------------------------------------------------- for the index at `index_path` of a module


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    """A browser per module: its event loop must not affect other modules."""
    with browser() as running:
        yield running


@pytest.fixture(scope="module")
def server(index_path: Path) -> Iterator[Server]:
    """A real server."""
    with served(index_path) as running:
        yield running


@pytest.fixture(scope="module")
def searcher(index_path: Path) -> Iterator[Searcher]:
    """The expected results of the server."""
    with Index(index_path) as index:
        yield Searcher(index)
