"""An index opened for writing: create, add, remove, refit, compact. One writer at a time.

Every change follows one pattern: write new files, sync them, then make them visible by one transaction on the catalog.
Whatever dies in between leaves files that nothing names, and the next writer sweeps them away.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from rprs import spec
from rprs.document import Document
from rprs.encode import Encoder, Fittable
from rprs.errors import IndexLocked, IndexMismatch, InvalidIndex, UsageError
from rprs.files.atomic import sync_folder
from rprs.index.batches import Batch, batches, prepare
from rprs.index.catalog import Catalog, SegmentRow
from rprs.index.compact import merge_segments
from rprs.index.encoders import Stored, open_encoder, store
from rprs.index.files import File, load, save_rows, watch_disk
from rprs.index.sample import sample_sentences
from rprs.index.segment import Entry, Segment, folder, vectors_path, write_arrays
from rprs.progress import Advance, Progress, silent
from rprs.scoring.vectors import to_grid

__all__ = ["Added", "Writer"]

SETTINGS: tuple[spec.Kind, ...] = ("splitter", "analyzer", "encoder")
FAST_BATCH = 24_000_000  # characters a segment while encoding is cheap
SLOW_BATCH = 3_000_000  # and where a transformer reads every sentence: a crash then costs about a minute
ENCODE_ROWS = 8192  # sentences encoded at a time
MANY_SEGMENTS = 64  # compact by itself from here on


@dataclass(frozen=True, slots=True)
class Added:
    """What `add` did."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    sentences: int = 0
    terms: int = 0


class Writer:
    """The one process that may change an index; use it in a `with` statement.

    `splitter`, `analyzer` and `encoder` are texts such as "onnx(precision=fp32)". They are fixed when the index is
    created; given again for an index that has others, they are an error that names both.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        create: bool = False,
        splitter: str | None = None,
        analyzer: str | None = None,
        encoder: str | None = None,
        progress: Progress = silent,
        batch: int | None = None,
    ) -> None:
        self.path = Path(path)
        self.progress = progress
        given: dict[spec.Kind, str | None] = {"splitter": splitter, "analyzer": analyzer, "encoder": encoder}
        components = {kind: spec.parse(kind, text) for kind, text in given.items() if text is not None}
        if create:
            _prepare_folder(self.path)
        elif not (self.path / "catalog.sqlite").is_file():
            raise InvalidIndex(f"There is no index at {self.path}: make one with `rprs index SOURCE --to {self.path}`")
        self._lock = FileLock(self.path / "lock")
        with watch_disk(self.path):
            try:
                self._lock.acquire(timeout=0)
            except Timeout as error:
                raise IndexLocked(
                    f"{self.path} is being written to by another process: wait until it is done"
                ) from error
            try:
                self._open(create, components)
            except BaseException:
                self._lock.release()
                raise
        slow = not isinstance(self.encoder, Fittable)
        self.batch = batch or (SLOW_BATCH if slow else FAST_BATCH)

    def _open(self, create: bool, components: dict[spec.Kind, Any]) -> None:
        if create and not (self.path / "catalog.sqlite").is_file():
            chosen = {kind: components.get(kind) or spec.parse(kind, spec.DEFAULT[kind]) for kind in SETTINGS}
            Catalog.create(self.path, {kind: spec.text(part, full=True) for kind, part in chosen.items()})
        self.catalog = Catalog(self.path, write=True)
        try:
            self._check_settings(components)
            self.splitter = spec.parse("splitter", str(self.catalog.setting("splitter")))
            self.analyzer = spec.parse("analyzer", str(self.catalog.setting("analyzer")))
            self.encoder: Any = spec.parse("encoder", str(self.catalog.setting("encoder")))
            self._loaded: Encoder | None = None
            self._sweep()
        except BaseException:
            self.catalog.close()
            raise

    def _check_settings(self, components: dict[spec.Kind, Any]) -> None:
        for kind, component in components.items():
            stored, given = str(self.catalog.setting(kind)), spec.text(component, full=True)
            if given != stored:
                raise IndexMismatch(
                    f"{self.path} was made with the {kind} {stored}, not {given}: "
                    "leave the option out, or make a new index"
                )

    def close(self) -> None:
        """Release the lock."""
        self.catalog.close()
        self._lock.release()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        self.close()

    def _sweep(self) -> None:
        """Delete what an interrupted writer left: files that the catalog does not name."""
        named = {file.path for file in self.catalog.files()}
        kept = {Path(path).parent.as_posix() for path in named}
        for group in ("segments", "encoders"):
            (self.path / group).mkdir(exist_ok=True)
            for place in (self.path / group).iterdir():
                if place.relative_to(self.path).as_posix() not in kept:
                    shutil.rmtree(place, ignore_errors=True)
                    continue
                for file in place.iterdir():
                    if file.relative_to(self.path).as_posix() not in named:
                        file.unlink(missing_ok=True)

    @contextmanager
    def _change(self) -> Iterator[None]:
        """A change of the index: if it fails, what it wrote and nothing names is deleted again."""
        with watch_disk(self.path):
            try:
                yield
            except BaseException:
                with suppress(OSError, sqlite3.Error):
                    self._sweep()
                raise

    # ------------------------------------------------------------------------ adding

    def add(self, documents: Iterable[Document]) -> Added:
        """Add new and changed documents, batch by batch, and encode what is not encoded yet.

        A document whose id and text are known is skipped, so that an interrupted call is resumed by calling again.
        """
        total, unchanged = Added(), Counter[str]()
        with self._change():
            if self.catalog.generation is None and not isinstance(self.encoder, Fittable):
                self._install(self._store(self.encoder.load(self.progress), self.encoder, {}))
            with self.progress("reading", unit="documents") as advance:
                for batch in batches(documents, self.catalog, self.batch, unchanged):
                    entries = []
                    for document in batch.documents:
                        entries.append(self._prepare(document))
                        advance(1)
                    self._commit(batch, entries)
                    total = Added(
                        total.added + len(batch.documents) - batch.changed,
                        total.changed + batch.changed + len(batch.relabelled),
                        0,
                        total.sentences + sum(len(entry.sentences) for entry in entries),
                        total.terms + sum(entry.length for entry in entries),
                    )
            self.finish()
        return replace(total, unchanged=unchanged["documents"])

    def _prepare(self, document: Document) -> Entry:
        return prepare(document.text, self.splitter, self.analyzer)

    def _commit(self, batch: Batch, entries: list[Entry]) -> None:
        """Write a batch as a segment and make it visible, together with the end of the versions it replaces."""
        number = (self.catalog.one("SELECT max(number) FROM segments") or 0) + 1
        generation = self.catalog.generation
        files: list[File] = []
        if entries:
            files += write_arrays(self.path, number, entries)
            if generation is not None:
                texts = ((place, document.text) for place, document in enumerate(batch.documents))
                files.append(self._write_vectors(number, generation, self._in_force(), texts))
            self._sync(folder(number))
        with self.catalog.transaction():
            for document in batch.relabelled:
                self.catalog.relabel(document)
            self.catalog.bury(document.id for document in batch.documents)
            if entries:
                sentences = sum(len(entry.sentences) for entry in entries)
                words = sum(entry.length for entry in entries)
                self.catalog.add_segment(SegmentRow(number, len(entries), sentences, words, generation))
                self.catalog.add_files(files)
            for ordinal, (document, entry) in enumerate(zip(batch.documents, entries, strict=True)):
                size = (entry.length, len(entry.sentences))
                self.catalog.add_document(document, document.content_hash, (number, ordinal), size)

    def _sync(self, place: str) -> None:
        for folder_ in (self.path / place, (self.path / place).parent):
            sync_folder(folder_)

    # ------------------------------------------------------------------------ encoding

    def finish(self) -> None:
        """Encode what is not encoded yet, and compact when there are many segments."""
        self._encode_waiting()
        if len(self.catalog.segments()) > MANY_SEGMENTS:
            self.compact()

    def _encode_waiting(self) -> None:
        """Fit the encoder if there is none yet, and give vectors to the segments that lack them."""
        if self.catalog.generation is None and self.catalog.segments():
            self._install(self._fit())
        generation = self.catalog.generation
        waiting = [row for row in self.catalog.segments() if row.generation != generation]
        if generation is None or not waiting:
            return
        with self.progress("encoding", sum(row.sentences for row in waiting), "sentences") as advance:
            for row in waiting:
                self._encode(row.number, generation, advance)

    def _encode(self, number: int, generation: int, advance: Advance) -> None:
        """Give a segment its vectors."""
        file = self._write_vectors(number, generation, self._in_force(), self.catalog.texts(number), advance)
        self._sync(folder(number))
        with self.catalog.transaction() as connection:
            self.catalog.add_files([file])
            connection.execute("UPDATE segments SET generation = ? WHERE number = ?", (generation, number))

    def _fit(self) -> Stored:
        """Make the encoder of this collection as it is now."""
        sentences = self.catalog.one("SELECT sum(sentences) FROM documents WHERE removed = 0") or 0
        if sentences <= self.encoder.sample:  # the teacher can read it all in the time a fit would take
            return self._store(self.encoder.teacher.load(self.progress), self.encoder.teacher, {})
        sample = sample_sentences(self.catalog, self.path, self.encoder.sample)
        table = self.encoder.fit(sample, self.progress)
        return self._store(table, self.encoder, dict(table.report))

    def _store(self, encoder: Encoder, component: Any, report: dict[str, Any]) -> Stored:
        return store(self.catalog, self.path, encoder, component, report)

    def _install(self, stored: Stored) -> None:
        """Put the first encoder in force, before anything is encoded."""
        with self.catalog.transaction():
            self.catalog.add_encoder(stored.row, stored.files)
        self._loaded = stored.encoder

    def _in_force(self) -> Encoder:
        self._loaded = self._loaded or open_encoder(self.catalog, self.path)
        return self._loaded

    def _write_vectors(
        self,
        number: int,
        generation: int,
        encoder: Encoder,
        texts: Iterable[tuple[int, str]],
        advance: Advance = lambda _: None,
    ) -> File:
        """Encode a segment's sentences in their order and write them as one array."""
        offsets = load(self.path, f"{folder(number)}/sentence_offsets.npy")
        spans = load(self.path, f"{folder(number)}/spans.npy")

        def sentences() -> Iterator[str]:
            for ordinal, text in texts:
                for start, end in spans[offsets[ordinal] : offsets[ordinal + 1]].tolist():
                    yield text[start:end]

        def blocks() -> Iterator[NDArray[np.float16]]:
            for block in _chunks(sentences(), ENCODE_ROWS):
                yield to_grid(encoder.encode(block))
                advance(len(block))

        return save_rows(self.path, vectors_path(number, generation), blocks(), np.float16, (encoder.dimension,))

    def refit(self) -> None:
        """Fit the encoder to the collection as it is now, and encode everything anew; searches see old or new."""
        if not isinstance(self.encoder, Fittable):
            raise UsageError(f"{self.path} uses {spec.text(self.encoder)}, which is not fitted to a collection")
        with self._change():
            self._encode_waiting()
            if self.catalog.generation is None:
                raise UsageError(f"{self.path} has no documents yet: add some first")
            stored = self._fit()
            rows, files, encoder = self.catalog.segments(), list[File](), stored.encoder
            with self.progress("encoding", sum(row.sentences for row in rows), "sentences") as advance:
                for row in rows:
                    texts = self.catalog.texts(row.number)
                    files.append(self._write_vectors(row.number, stored.generation, encoder, texts, advance))
                    self._sync(folder(row.number))
            with self.catalog.transaction() as connection:
                self.catalog.forget_files("segments/*/vectors.*")
                self.catalog.add_files(files)
                self.catalog.add_encoder(stored.row, stored.files)
                connection.execute("UPDATE segments SET generation = ?", (stored.generation,))
            self._loaded = encoder
            self._sweep()

    # ------------------------------------------------------------------------ removing and compacting

    def remove(self, ids: Iterable[str]) -> int:
        """Remove documents by id; the number of those that were there."""
        with self._change(), self.catalog.transaction():
            return self.catalog.bury(ids)

    def compact(self) -> None:
        """Rewrite all segments as one, without what was removed."""
        with self._change():
            self._encode_waiting()
            old = self.catalog.segments()
            if len(old) <= 1 and not self.catalog.one("SELECT count(*) FROM documents WHERE removed = 1"):
                return
            number = old[-1].number + 1
            generation = self.catalog.generation
            segments = [Segment(self.path, row.number, generation) for row in old]
            live = [self._live(row) for row in old]
            with self.progress("compacting", sum(row.sentences for row in old), "sentences") as advance:
                files, row = merge_segments(self.path, number, generation, segments, live, advance)
            self._sync(folder(number))
            with self.catalog.transaction() as connection:
                connection.execute("DELETE FROM documents WHERE removed = 1")
                connection.execute("DELETE FROM segments")
                self.catalog.forget_files("segments/*")
                self.catalog.add_segment(row)
                self.catalog.add_files(files)
                connection.execute(
                    "UPDATE documents SET segment = ?, ordinal = place FROM (SELECT number AS moved, "
                    "row_number() OVER (ORDER BY segment, ordinal) - 1 AS place FROM documents) WHERE moved = number",
                    (number,),
                )
            self.catalog.connection.executescript("PRAGMA incremental_vacuum")  # `execute` would free a single page
            self._sweep()

    def _live(self, row: SegmentRow) -> NDArray[np.bool_]:
        mask = np.zeros(row.documents, dtype=bool)
        query = "SELECT ordinal FROM documents WHERE segment = ? AND removed = 0"
        mask[[ordinal for (ordinal,) in self.catalog.rows(query, row.number)]] = True
        return mask


def _prepare_folder(path: Path) -> None:
    """Make the index's folder; refuse one that holds something else."""
    if path.exists() and not path.is_dir():
        raise InvalidIndex(f"{path} is a file: choose another place for the index")
    ours = {"lock", "segments", "encoders", "catalog.sqlite"}
    if path.is_dir() and not (path / "catalog.sqlite").is_file():
        strangers = sorted(e.name for e in path.iterdir() if e.name not in ours and "catalog.draft" not in e.name)
        if strangers:
            raise InvalidIndex(f"{path} is not an index and holds other files ({strangers[0]}): choose another place")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidIndex(f"Cannot make the folder {path}: {error.strerror}") from error


def _chunks(items: Iterator[str], size: int) -> Iterator[list[str]]:
    chunk: list[str] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
