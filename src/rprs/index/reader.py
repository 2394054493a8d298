"""An index opened for reading: a consistent snapshot of what was committed when it was opened."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs import spec
from rprs.document import NO_SENTENCES, Document, Sentences
from rprs.encode import Encoder
from rprs.errors import IndexCorrupt, InvalidIndex, NoDocument, UsageError
from rprs.index.catalog import Catalog
from rprs.index.encoders import open_encoder, reuse
from rprs.index.fields import Field, fields_of
from rprs.index.segment import Segment, Terms
from rprs.index.where import to_sql
from rprs.progress import Progress, silent
from rprs.scoring.vectors import to_grid

__all__ = ["Index"]

Mask = NDArray[np.bool_]


class Index:
    """A snapshot of an index. Its documents are numbered by the order of their ids, whatever their history.

    It stays as it is while others write, even when they compact; open the index again to see what is new.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = RLock()
        self._last: tuple[str | None, Sentences] = (None, NO_SENTENCES)
        self._listed: object = None
        before: object = ...
        while True:
            self.catalog = Catalog(self.path, write=False)
            try:
                self._load()
                return
            except FileNotFoundError as error:  # a writer compacted meanwhile: then the catalog lists others by now
                self.catalog.close()
                if self._listed == before:
                    raise IndexCorrupt(f"{error.filename} is missing: run `rprs verify {self.path}`") from error
                before = self._listed
            except (TypeError, ValueError, KeyError) as error:  # values that a sound catalog cannot hold
                self.catalog.close()
                raise IndexCorrupt(f"{self.catalog.path} is damaged: run `rprs verify {self.path}`") from error
            except BaseException:
                self.catalog.close()
                raise

    def _load(self) -> None:
        self.catalog.connection.execute("BEGIN")  # every read from here on sees this state
        generation = self.catalog.generation
        rows = self.catalog.segments()
        self._listed = generation, [row.number for row in rows]
        ready = [row for row in rows if generation is not None and row.generation == generation]
        self.pending = sum(row.documents for row in rows) - sum(row.documents for row in ready)
        if generation is None:
            raise InvalidIndex(f"{self.path} is not finished: run `rprs index` with the same source again to resume")
        self.generation = generation
        self.segments: list[Segment] = [Segment(self.path, row.number, generation) for row in ready]
        listed = ", ".join(str(row.number) for row in ready) or "NULL"
        live = self.catalog.rows(
            f"SELECT id, segment, ordinal FROM documents WHERE removed = 0 AND segment IN ({listed}) ORDER BY id"
        )
        self.ids: list[str] = [row[0] for row in live]
        position = {segment.number: place for place, segment in enumerate(self.segments)}
        self._segment = np.array([position[row[1]] for row in live], dtype=np.int64)
        self._ordinal = np.array([row[2] for row in live], dtype=np.int64)
        sizes = np.array([len(segment.lengths) for segment in self.segments], dtype=np.int64)
        if np.any(self._ordinal >= sizes[self._segment]):
            raise IndexCorrupt(f"{self.catalog.path} does not fit its segments: run `rprs verify {self.path}`")
        self.numbers = [np.full(len(segment.lengths), -1, dtype=np.int64) for segment in self.segments]
        for place in range(len(self.segments)):
            mine = np.flatnonzero(self._segment == place)
            self.numbers[place][self._ordinal[mine]] = mine

    def close(self) -> None:
        """Let go of the catalog; the arrays go with the last reference."""
        self.catalog.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self.ids)

    # ------------------------------------------------------------------------ what it was made with

    @cached_property
    def splitter(self) -> Any:
        """The splitter of its sentences."""
        return spec.parse("splitter", str(self.catalog.setting("splitter")))

    @cached_property
    def analyzer(self) -> Any:
        """The analyzer of its terms."""
        return spec.parse("analyzer", str(self.catalog.setting("analyzer")))

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder of its vectors, loaded."""
        with self._lock:
            return open_encoder(self.catalog, self.path)

    @property
    def encoder_text(self) -> str:
        """The encoder for an index of other units or documents with the same vectors: fitted, it is not refitted."""
        return reuse(self.catalog, self.path)

    @property
    def fingerprint(self) -> str:
        """Changes whenever a ranking could: settings, encoder and live documents."""
        import hashlib

        digest = hashlib.sha256()
        keys = ("format", "splitter", "analyzer")
        encoder = self.catalog.one("SELECT fingerprint FROM encoders WHERE generation = ?", self.generation)
        digest.update(json.dumps([*(self.catalog.setting(key) for key in keys), encoder]).encode())
        with self._lock:
            for row in self.catalog.rows("SELECT id, content_hash FROM documents WHERE removed = 0 ORDER BY id"):
                digest.update(json.dumps(row).encode())
        return digest.hexdigest()[:16]

    # ------------------------------------------------------------------------ documents

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Words of every document."""
        return self._per_document([segment.lengths for segment in self.segments])

    @cached_property
    def sentence_counts(self) -> NDArray[np.int64]:
        """Sentences of every document."""
        return self._per_document([np.diff(segment.sentence_offsets) for segment in self.segments])

    def _per_document(self, arrays: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        values = np.zeros(len(self.ids), dtype=np.int64)
        for numbers, array in zip(self.numbers, arrays, strict=True):
            live = numbers >= 0
            values[numbers[live]] = array[live]
        return values

    @property
    def mean_sentences(self) -> float:
        """avgdl: sentences a document."""
        return float(self.sentence_counts.mean()) if len(self) else 0.0

    @cached_property
    def _number(self) -> dict[str, int]:
        return {id: number for number, id in enumerate(self.ids)}

    def number(self, id: str) -> int | None:
        """The number of a document, or None if it is not there."""
        return self._number.get(id)

    def document(self, id: str) -> Document:
        """A document with its text and metadata."""
        with self._lock:
            found = self.catalog.document(id) if id in self._number else None
        if found is None:
            raise NoDocument(f"There is no document {id!r} in {self.path}")
        return found

    def sentences(self, id: str) -> Sentences:
        """The sentences of a document with their vectors."""
        number = self.number(id)
        if number is None:
            raise NoDocument(f"There is no document {id!r} in {self.path}")
        return self.segments[int(self._segment[number])].sentences(int(self._ordinal[number]))

    def encode(self, document: Document, progress: Progress = silent) -> Sentences:
        """Split and encode a document as this index does its own."""
        found: Sentences = self.splitter.split(document.text)
        if not len(found):
            return found
        encoder = self.encoder
        with progress("sentences of the query", len(found), "sentences") as advance:
            vectors = to_grid(encoder.encode(found.texts(document.text), advance))
        return Sentences(found.spans, found.paragraphs, vectors)

    def query_sentences(self, query: Document, progress: Progress = silent) -> Sentences:
        """A query's sentences and vectors: the stored ones if the index has this very document.

        Those of the last query are kept: both stages may ask.
        """
        text, found = self._last
        if self.holds(query):
            found = self.sentences(query.id)
        elif text != query.text:
            found = self.encode(query, progress)
            self._last = query.text, found
            return found
        with progress("sentences of the query", len(found), "sentences") as advance:
            advance(len(found))
        return found

    def holds(self, document: Document) -> bool:
        """Whether it has this very document: the id and the text."""
        return self.number(document.id) in self.same_content(document)

    def namesakes(self, documents: Iterable[Document]) -> list[str]:
        """The ids of those that it has with another text."""
        return [each.id for each in documents if self.number(each.id) is not None and not self.holds(each)]

    # ------------------------------------------------------------------------ choosing documents

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The fields of the metadata, for those who choose a filter."""
        with self._lock:
            return fields_of(self.catalog.rows)

    def find(self, words: str, limit: int = 20) -> tuple[list[Document], int]:
        """Documents with all these words in their id or title, without their texts; and how many there are in all."""
        wanted = words.casefold().split()
        ready = ", ".join(str(segment.number) for segment in self.segments) or "NULL"
        condition = f"removed = 0 AND segment IN ({ready})"
        condition += " AND instr(casefold(id || ' ' || title), ?)" * len(wanted)
        row = "SELECT id, title, metadata FROM documents WHERE number = ?"
        with self._lock:  # of a million only the numbers are taken, and of those to show the rest
            found = self.catalog.rows(f"SELECT number FROM documents WHERE {condition} ORDER BY id", *wanted)
            shown = [each for (number,) in found[:limit] for each in self.catalog.rows(row, number)]
        return [Document(id, "", title, json.loads(metadata)) for id, title, metadata in shown], len(found)

    def same_content(self, document: Document) -> list[int]:
        """The numbers of documents with the very same text."""
        query = "SELECT id FROM documents WHERE removed = 0 AND content_hash = ?"
        with self._lock:
            found = self.catalog.rows(query, document.content_hash)
        return [self._number[row[0]] for row in found if row[0] in self._number]

    def select(self, where: str | None) -> Mask:
        """Which documents a metadata filter lets through."""
        if not where:
            return np.ones(len(self), dtype=bool)
        condition, values = to_sql(where)
        try:
            with self._lock:
                found = self.catalog.rows(f"SELECT id FROM documents WHERE removed = 0 AND ({condition})", *values)
        except sqlite3.OperationalError as error:
            raise UsageError(f"The filter {where!r} cannot be used: {error}") from error
        mask = np.zeros(len(self), dtype=bool)
        mask[[self._number[row[0]] for row in found if row[0] in self._number]] = True
        return mask

    # ------------------------------------------------------------------------ postings

    def postings(self, terms: Terms) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """For every segment, where the postings of the terms start and stop."""
        return [segment.postings(terms) for segment in self.segments]
