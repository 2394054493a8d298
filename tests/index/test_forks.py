"""A forked process searches like its parent: no thread, lock or connection of the parent is missing or shared."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

from rprs import Index, Searcher
from rprs.encode.onnx import Onnx
from rprs.encode.runtime import Sessions
from rprs.errors import InvalidIndex
from rprs.forks import ForkLock, PerProcess
from rprs.index import Writer
from rprs.scoring.neighbours import neighbours
from rprs.scoring.vectors import to_grid
from tests.support.crash import COLLECTION, HASHED, QUERIES, memory_folder
from tests.support.forked import PATIENCE, in_child
from tests.support.tiny_models import make_bert

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@pytest.fixture
def path() -> Iterator[Path]:
    with memory_folder() as folder:
        with Writer(folder / "cases.rprs", create=True, encoder=HASHED) as writer:
            writer.add(COLLECTION)
        yield folder / "cases.rprs"


def answers(searcher: Searcher) -> list[Any]:
    return [[(hit.id, hit.score, hit.title, hit.pairs) for hit in searcher.search(query, 5)] for query in QUERIES]


def test_the_pool_of_threads_is_not_inherited() -> None:
    vectors = to_grid(np.random.default_rng(1).normal(size=(2000, 16)).astype(np.float32), "float16")

    def nearest() -> Any:
        return neighbours(vectors[:5], [vectors], 3, threads=2).sentence.tolist()

    here = nearest()  # which starts the threads
    assert in_child(nearest) == here == nearest()


@pytest.mark.parametrize("memory", [False, True])
def test_an_open_index_is_searched_in_a_child_as_in_its_parent(path: Path, memory: bool) -> None:
    with Index.in_memory(COLLECTION, encoder=HASHED) if memory else Index(path) as index:
        searcher = Searcher(index)
        here = answers(searcher)
        assert in_child(lambda: answers(searcher)) == here == answers(searcher)


def _search(number: int) -> Any:
    return answers(Searcher(_shared[0]))[number]


_shared: list[Index] = []


def test_a_pool_of_processes(path: Path) -> None:
    with Index(path) as index:
        here = answers(Searcher(index))
        _shared[:] = [index]
        with get_context("fork").Pool(2) as pool:
            assert pool.map_async(_search, range(len(QUERIES))).get(PATIENCE) == here
        _shared.clear()


@contextmanager
def busy(work: Callable[[Event, Event], None]) -> Iterator[None]:
    """Run a function in another thread until the end of the block, which begins once the first event is set."""
    begun, end = Event(), Event()
    thread = Thread(target=work, args=(begun, end))
    thread.start()
    assert begun.wait(PATIENCE)
    try:
        yield
    finally:
        end.set()
        thread.join()


def test_a_session_in_use_does_not_stay_in_use_in_the_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")  # which otherwise warns of a fork
    encoder = Onnx(str(make_bert(tmp_path / "model")), precision="fp32").load()
    here = encoder.encode(["A pilot waits."]).tolist()
    sessions: Sessions = encoder.sessions

    def hold(begun: Event, end: Event) -> None:
        held = [sessions.one() for _ in range(sessions.queue().qsize())]
        for each in held:
            each.__enter__()
        begun.set()
        end.wait()
        for each in held:
            each.__exit__(None, None, None)

    with busy(hold):
        assert in_child(lambda: encoder.encode(["A pilot waits."]).tolist()) == here


def test_a_lock_is_free_in_the_child_and_a_value_is_its_own() -> None:
    lock, value = ForkLock(), PerProcess(os.getpid)

    def hold(begun: Event, end: Event) -> None:
        with lock:
            begun.set()
            end.wait(0.3)

    def use() -> int:
        with lock:
            return value()

    here = value()
    with busy(hold):
        assert in_child(use) != here == value()


def test_a_child_keeps_the_snapshot_although_its_parent_ends_and_others_write(path: Path) -> None:
    """The child of a child outlives its parent, while a writer compacts and truncates the log."""
    index = Index(path)
    here = answers(Searcher(index))

    def outlive() -> Any:
        with Writer(path) as writer:
            writer.remove([document.id for document in COLLECTION[:4]])
            writer.compact()
        return answers(Searcher(index))

    def parent() -> Any:
        index.close()
        return "closed"

    with index:
        assert in_child(lambda: (in_child(parent), in_child(outlive))) == ("closed", here)


def test_a_writer_stays_with_its_process(path: Path) -> None:
    with Writer(path) as writer:
        refused = in_child(lambda: writer.remove(["d01"]))
        assert refused.startswith("InvalidIndex")
        assert "was opened for writing before this process was forked" in refused
        assert writer.remove(["d01"]) == 1
    with Index(path) as index:
        assert "d01" not in index


def test_a_state_that_is_gone_is_one_line(path: Path) -> None:
    with Index(path) as index:
        index.catalog.before_fork()
        with Writer(path) as writer:
            writer.remove(["d01"])
        index.catalog.after_fork(child=False)
        with pytest.raises(InvalidIndex, match=r"changed while a process was forked: open the index again"):
            index.document("d02")
