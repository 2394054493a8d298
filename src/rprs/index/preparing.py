"""Documents are split and analysed in several processes if there are many; an index is the same whoever did it.

Splitting and analysis take much of the time of indexing, partly in Python, where threads would wait for each other.
The processes (`rprs.index.workers`) work ahead while a batch is being written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rprs import spec
from rprs.document import Document
from rprs.index.batches import Batch, prepare
from rprs.index.segment import Entry
from rprs.index.workers import Workers

__all__ = ["Ahead", "Preparing"]

LEAST_CHARACTERS = 4_000_000  # of all batches: for fewer, processes are not started
CHUNK = 300_000  # characters that a process gets at a time
LONGEST = 2_000_000  # characters of a document: a longer one is split here, where its progress is shown


@dataclass(frozen=True)
class _Prepare:
    """Splits and analyses texts in another process, with components that are made there."""

    splitter_text: str
    analyzer_text: str
    phrases: bool

    @cached_property
    def splitter(self) -> Any:
        return spec.parse("splitter", self.splitter_text)

    @cached_property
    def analyzer(self) -> Any:
        return spec.parse("analyzer", self.analyzer_text)

    def __call__(self, texts: Sequence[str]) -> list[Entry]:
        return [prepare(text, self.splitter, self.analyzer, phrases=self.phrases) for text in texts]


class Preparing:
    """Splits and analyses the documents of an index that is opened for changes, in up to `processes` processes."""

    def __init__(self, splitter: Any, analyzer: Any, *, phrases: bool, processes: int) -> None:
        self.splitter, self.analyzer, self.phrases, self.processes = splitter, analyzer, phrases, processes
        self._workers = Workers(self._function, processes) if processes > 1 and self._is_ours else None
        self._characters = 0  # of all documents since the start, or since the processes were ended

    def entries(self, documents: Sequence[Document]) -> Iterator[Entry]:
        """The entries of documents in their order; processes begin with them at once."""
        self._characters += sum(len(document.text) for document in documents)
        if self._characters < LEAST_CHARACTERS or self._workers is None or self._workers.failed:
            return (self._prepare(document.text) for document in documents)
        return self._collect([(chunk, self._submit(chunk)) for chunk in _chunks(documents)])

    def close(self) -> None:
        """End the processes."""
        if self._workers is not None:
            self._workers.close()
        self._characters = 0

    @property
    def _is_ours(self) -> bool:
        """Whether another process can have the same components: a program may have made its own."""
        return all(type(part).__module__.startswith("rprs.") for part in (self.splitter, self.analyzer))

    @property
    def _function(self) -> _Prepare:
        return _Prepare(spec.text(self.splitter), spec.text(self.analyzer), self.phrases)

    def _prepare(self, text: str) -> Entry:
        return prepare(text, self.splitter, self.analyzer, phrases=self.phrases)

    def _submit(self, chunk: list[Document]) -> Future[list[Entry] | None] | None:
        if self._workers is None or (len(chunk) == 1 and len(chunk[0].text) >= LONGEST):
            return None
        return self._workers.submit([document.text for document in chunk])

    def _collect(self, chunks: list[tuple[list[Document], Future[list[Entry] | None] | None]]) -> Iterator[Entry]:
        chunks.reverse()
        while chunks:  # what was passed on is not kept
            chunk, future = chunks.pop()
            found = None if future is None else future.result()
            yield from (self._prepare(document.text) for document in chunk) if found is None else found


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
