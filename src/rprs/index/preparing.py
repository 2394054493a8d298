"""Documents are split and analysed in several processes if there are many; an index is the same whoever did it.

Splitting and analysis take more than half of the time of indexing, in Python, where threads would wait for each other.
The processes (`rprs.index.preparer`) are our own modules, started anew instead of forked or spawned, so that they
neither inherit threads nor import the program that uses the library. They work ahead while a batch is being written.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from typing import Any, cast

from rprs import spec
from rprs.document import Document
from rprs.index.batches import Batch, prepare
from rprs.index.segment import Entry
from rprs.processes import environment

__all__ = ["Ahead", "Preparing"]

WORTH = 4_000_000  # characters of a batch: with fewer, processes are not started
CHUNK = 300_000  # characters that a process gets at a time
LONGEST = 2_000_000  # characters of a document: a longer one is split here, where its progress is shown


class Preparing:
    """Splits and analyses the documents of an index that is opened for changes, in up to `processes` processes."""

    def __init__(self, splitter: Any, analyzer: Any, *, phrases: bool, processes: int) -> None:
        self.splitter, self.analyzer, self.phrases, self.processes = splitter, analyzer, phrases, processes
        self._threads: ThreadPoolExecutor | None = None
        self._idle: list[_Process] = []
        self._lock = Lock()
        self._failed = False  # whether a process has ended unexpectedly; the rest is then done here

    def entries(self, documents: Sequence[Document]) -> Iterator[Entry]:
        """The entries of documents in their order; processes begin with them at once."""
        size = sum(len(document.text) for document in documents)
        if size < WORTH or self.processes < 2 or self._failed or not self._is_ours:
            return (self._prepare(document.text) for document in documents)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.processes, "preparing")
        chunks = [(chunk, self._submit(chunk)) for chunk in _chunks(documents)]
        return self._collect(chunks)

    def close(self) -> None:
        """End the processes."""
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
            self._threads = None
        while self._idle:
            self._idle.pop().end()

    @property
    def _is_ours(self) -> bool:
        """Whether another process can have the same components: a program may have made its own."""
        return all(type(part).__module__.startswith("rprs.") for part in (self.splitter, self.analyzer))

    def _prepare(self, text: str) -> Entry:
        return prepare(text, self.splitter, self.analyzer, phrases=self.phrases)

    def _submit(self, chunk: list[Document]) -> Future[list[Entry] | None] | None:
        if len(chunk) == 1 and len(chunk[0].text) >= LONGEST:
            return None
        return cast("ThreadPoolExecutor", self._threads).submit(self._ask, [document.text for document in chunk])

    def _collect(self, chunks: list[tuple[list[Document], Future[list[Entry] | None] | None]]) -> Iterator[Entry]:
        chunks.reverse()
        while chunks:  # what was passed on is not kept
            chunk, future = chunks.pop()
            found = None if future is None else future.result()
            yield from (self._prepare(document.text) for document in chunk) if found is None else found

    def _ask(self, texts: list[str]) -> list[Entry] | None:
        """The entries of texts, by a process that is idle or new; None if it has ended unexpectedly."""
        if self._failed:
            return None
        with self._lock:
            process = self._idle.pop() if self._idle else None
        try:
            process = process or _Process([spec.text(self.splitter), spec.text(self.analyzer), self.phrases])
            entries = process.ask(texts)
        except (OSError, EOFError, pickle.UnpicklingError):
            self._failed = True
            if process is not None:
                process.end()
            return None
        with self._lock:
            self._idle.append(process)
        return entries


class Ahead:
    """Keeps one batch that is being prepared while the one before it is written."""

    def __init__(self, preparing: Preparing, write: Callable[[Batch, Iterator[Entry]], None]) -> None:
        self._preparing, self._write = preparing, write
        self._waiting: tuple[Batch, Iterator[Entry]] | None = None
        self._ids: frozenset[str] = frozenset()

    def put(self, batch: Batch) -> None:
        """Begin with the documents of a batch, and write the one before."""
        entries = self._preparing.entries(batch.documents)
        self.settle()
        self._waiting = batch, entries
        self._ids = frozenset(document.id for document in batch.documents)

    def settle(self, id: str | None = None) -> None:
        """Write the batch that waits; with an id, only if it has that document."""
        if self._waiting is not None and (id is None or id in self._ids):
            waiting, self._waiting = self._waiting, None
            self._write(*waiting)


class _Process:
    def __init__(self, settings: list[Any]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "rprs.index.preparer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._tasks, self._answers = self._process.stdin, self._process.stdout
        self._send(settings)

    def _send(self, value: Any) -> None:
        pickle.dump(value, self._tasks, pickle.HIGHEST_PROTOCOL)
        self._tasks.flush()

    def ask(self, texts: list[str]) -> list[Entry]:
        """The entries of texts."""
        self._send(texts)
        return cast("list[Entry]", pickle.load(self._answers))  # of our own process

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        for stream in (self._tasks, self._answers):
            with suppress(OSError):
                stream.close()
        self._process.wait()


def _chunks(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """The documents in chunks of about `CHUNK` characters; a very long one by itself."""
    chunk: list[Document] = []
    filled = 0
    for document in documents:
        if chunk and (filled >= CHUNK or len(document.text) >= LONGEST):
            yield chunk
            chunk, filled = [], 0
        chunk.append(document)
        filled += len(document.text)
    if chunk:
        yield chunk
