"""What the checksums of blocks cost a search: `python -m benchmarks.checks [INDEX]`.

Searches for documents of an index, with an index that is opened with checks and one that is opened without, in turns:
a block is checked when a search first reads it. Processor time, so that other programs matter little. The difference of
two long times is noisy nevertheless, so that the time within the checks is measured as well, in rounds of its own.
Without an INDEX, one of invented documents is made; `make demo` makes a real one, demo/licences.rprs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from time import process_time, thread_time
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.invented import given_or_invented
from rprs import Document, Index, Searcher
from rprs.index import reader
from rprs.index.blocks import Blocks
from rprs.index.catalog import Catalog
from rprs.index.segment import Segment

DOCUMENTS, SENTENCES = 1500, 150
ROUNDS, SEARCHES = 5, 40


def _timed(path: Path, queries: list[Document]) -> dict[bool, list[float]]:
    """Processor seconds with and without checks: to open the index, then of every search; both take turns."""
    times: dict[bool, list[float]] = {True: [], False: []}
    searchers: dict[bool, Searcher] = {}
    for check in (True, False):
        start = process_time()
        searchers[check] = Searcher(Index(path, check=check))
        times[check].append(process_time() - start)
    for number, query in enumerate(queries):
        for check in (True, False) if number % 2 else (False, True):
            start = process_time()
            searchers[check].search(query, 10)
            times[check].append(process_time() - start)
    for searcher in searchers.values():
        searcher.index.close()
    return times


CHECKS: dict[Any, tuple[str, ...]] = {
    Blocks: ("__init__", "check", "check_all", "check_ranges"),
    Segment: ("_check_all", "_check_rows", "_check_terms", "check_phrases", "check_sentences", "check_vectors"),
    Catalog: ("block_sums", "check_places", "check_segments"),
    reader: ("places_checksum",),
}


class Stopwatch:
    """The processor time within all checks; one that another check calls is not counted twice."""

    def __init__(self) -> None:
        self.spent, self._depth = 0.0, 0

    def wrap(self, check: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, with its time added."""

        def run(*arguments: Any, **options: Any) -> Any:
            self._depth += 1
            start = thread_time()
            try:
                return check(*arguments, **options)
            finally:
                self._depth -= 1
                self.spent += 0.0 if self._depth else thread_time() - start

        return run


def _within_checks(path: Path, queries: list[Document]) -> tuple[list[float], list[float]]:
    """Processor seconds within checks, and of everything: to open the index, then of every search."""
    watch, within, total = Stopwatch(), [], []

    def step(work: Callable[[], Any]) -> Any:
        start, watch.spent = process_time(), 0.0
        result = work()
        within.append(watch.spent)
        total.append(process_time() - start)
        return result

    with ExitStack() as patches:
        for owner, names in CHECKS.items():
            for name in names:
                patches.enter_context(patch.object(owner, name, watch.wrap(getattr(owner, name))))
        searcher = step(lambda: Searcher(Index(path, check=True)))
        for query in queries:
            step(partial(searcher.search, query, 10))
        searcher.index.close()
    return within, total


def _queries(path: Path) -> list[Document]:
    with Index(path, check=True) as index:
        if not index.catalog.has_sums:
            raise SystemExit(f"{path} has no checksums: run `rprs upgrade` first")
        ids = Random(2).sample(index.ids, SEARCHES)
        return [Document(f"query {id}", index.document(id).text) for id in ids]


def _measure(path: Path, rounds: int) -> None:
    queries = _queries(path)
    _timed(path, queries[:3])  # compile, and read the files into the cache
    measured = [_timed(path, queries) for _ in range(rounds)]
    least = {check: np.min([times[check] for times in measured], axis=0) for check in (True, False)}
    parts = {
        "open": slice(0, 1),
        "first search": slice(1, 2),
        "open and search once": slice(0, 2),
        f"the next {SEARCHES - 1} searches": slice(2, None),
        f"open and search {SEARCHES} times": slice(0, None),
    }
    for name, part in parts.items():
        checked, plain = (float(least[check][part].sum()) for check in (True, False))
        print(f"{name}: {checked * 1e3:.1f} ms with checks, {plain * 1e3:.1f} ms without: {checked / plain - 1:+.1%}")
    within, total = np.median([_within_checks(path, queries) for _ in range(rounds)], axis=0)
    for name, part in parts.items():
        print(f"{name}: {within[part].sum() * 1e3:.2f} ms within checks, {within[part].sum() / total[part].sum():.2%}")


def main() -> None:
    """Print the times with and without checks, and the difference."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checks", description=__doc__)
    parser.add_argument("index", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="the least time of each step counts")
    options = parser.parse_args()
    with given_or_invented(options.index, DOCUMENTS, SENTENCES, dimension=384) as path:
        _measure(path, options.rounds)


if __name__ == "__main__":
    main()
