"""Processes that compare documents with an index."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

from rprs.document import Document
from rprs.errors import IndexMismatch, RprsError
from rprs.index import Index
from rprs.matrices.compare import Comparison, Settings
from rprs.rank import System
from rprs.search import Searcher

__all__ = ["Task", "compare_in_processes"]

CHUNK = 16  # documents that a process takes at a time
AHEAD = 2  # chunks for each process that are ready when it has finished one

Named = tuple[str, dict[str, Any]]
_comparison: Comparison | None = None  # of this process


@dataclass(frozen=True, slots=True)
class Task:
    """What each process needs to know."""

    path: Path
    fingerprint: str
    system: System
    settings: Settings


def compare_in_processes(task: Task, queries: Iterable[Document | str], jobs: int) -> Iterator[Named]:
    """The entry of each query, under its id, as they are finished."""
    chunks = _chunks(iter(queries))
    with _pool(task, jobs) as pool:
        running: set[Future[list[Named]]] = set()
        try:
            while True:
                running |= {pool.submit(_compare, chunk) for chunk in islice(chunks, AHEAD * jobs - len(running))}
                if not running:
                    return
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for each in finished:
                    yield from each.result()
        except BrokenProcessPool as error:
            raise RprsError(
                "A process that compared documents was killed, perhaps because memory ran out: the same command "
                "resumes; use fewer processes (--jobs 1)"
            ) from error


def _chunks(queries: Iterator[Document | str]) -> Iterator[Sequence[Document | str]]:
    while chunk := tuple(islice(queries, CHUNK)):
        yield chunk


@contextmanager
def _pool(task: Task, jobs: int) -> Iterator[ProcessPoolExecutor]:
    """New processes, not forked ones: those would inherit the threads and connections of this one."""
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_start, initargs=(task,))
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


# ---------------------------------------------------------------------------- in each process

_task: Task | None = None


def _start(task: Task) -> None:
    global _task
    _task = task
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends the others
    Thread(target=_end_with_parent, name="parent", daemon=True).start()


def _end_with_parent() -> None:
    """A process whose parent was killed has nobody to work for."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _compare(queries: Sequence[Document | str]) -> list[Named]:
    comparison = _opened()
    return [(query if isinstance(query, str) else query.id, comparison.entry(query)) for query in queries]


def _opened() -> Comparison:
    global _comparison
    if _comparison is None:
        assert _task is not None
        index = Index(_task.path)
        if index.fingerprint != _task.fingerprint:
            raise IndexMismatch(f"{_task.path.name} was changed in the meantime: run the same command again")
        _comparison = Comparison(Searcher(index, _task.system), _task.settings)
    return _comparison
