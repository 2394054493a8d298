"""An index opened for reading: a consistent snapshot of what was committed when it was opened."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rprs import spec
from rprs.alignment.calibration import FALLBACK, Calibration
from rprs.document import Document, Sentences, document_id
from rprs.encode import Encoder
from rprs.errors import IndexCorrupt, InvalidIndex, NoDocument, UsageError
from rprs.index.arguments import index_path, require_choice, require_count, require_document
from rprs.index.blocks import checks_wanted
from rprs.index.calibrate import measure_calibration
from rprs.index.catalog import Catalog
from rprs.index.dates import Dates, read_dates
from rprs.index.encoders import open_encoder, reusable_encoder
from rprs.index.fields import Field, metadata_fields
from rprs.index.files import load_checked
from rprs.index.language import knows_text
from rprs.index.phrases import NO_PHRASES, find_phrases, live_frequencies, squared_norms
from rprs.index.queries import KnownQueries
from rprs.index.rows import places_checksum
from rprs.index.segment import Segment, Terms
from rprs.index.sentence_vectors import ENCODE_ROWS
from rprs.index.where import to_sql
from rprs.progress import Progress, as_progress
from rprs.scoring.vectors import PRECISIONS, VectorType, to_grid

if TYPE_CHECKING:
    from rprs.read.inputs import Documents
    from rprs.spec import Component

__all__ = ["Index", "fingerprint_of"]

Mask = NDArray[np.bool_]

BLOCK = 10_000  # rows of the catalog that are in memory at a time
MOST_SENTENCES = 500_000  # of a query: their vectors take 384 MB with 384 numbers each


def fingerprint_of(settings: Sequence[str | None], rows: Iterable[tuple[str, str]]) -> str:
    """A hash of settings, and of the ids and content hashes of documents, in the order of their ids."""
    digest = hashlib.sha256()
    digest.update(json.dumps(settings).encode())
    quoted, remaining = encode_basestring_ascii, iter(rows)
    while block := list(islice(remaining, BLOCK)):  # as `json.dumps` writes each row, in a tenth of the time
        digest.update("".join([f"[{quoted(id)}, {quoted(content)}]" for id, content in block]).encode())
    return digest.hexdigest()[:16]


class Index(Mapping[str, Document]):
    """A snapshot of an index: `index["id"]`, `"id" in index`, `for id in index`, `len(index)`.

    It does not change while others write to the index, even when they compact it; open it again to see changes.
    Documents are numbered in the order of their ids, whatever their history.
    """

    def __init__(self, path: str | Path, *, check: bool | None = None) -> None:
        """Open the index at a path. `check=False` reads without checksums, and so does the variable RPRS_CHECK=off."""
        root, self._checked = index_path(path), checks_wanted(None if check is None else require_choice("check", check))
        attempt: object = ...
        while True:
            self._initialise(root, Catalog(root, write=False))
            try:
                self._load()
                return
            except FileNotFoundError as error:  # a writer may have compacted meanwhile: then the catalog has changed
                self.catalog.close()
                if self._listed == attempt:
                    raise IndexCorrupt(f"{error.filename} is missing: run `rprs verify {root}`") from error
                attempt = self._listed
            except (TypeError, ValueError, KeyError) as error:  # values that a valid catalog cannot hold
                self.catalog.close()
                raise IndexCorrupt(f"{self.catalog.path} is damaged: run `rprs verify {root}`") from error
            except BaseException:
                self.catalog.close()
                raise

    @classmethod
    def in_memory(
        cls,
        documents: Documents,
        *,
        splitter: str | Component | None = None,
        analyzer: str | Component | None = None,
        encoder: str | Component | None = None,
        phrases: bool = True,
        vectors: VectorType = "float16",
        progress: Progress | bool | None = None,
    ) -> Index:
        """An index without files, of the same documents and with the same rankings as `rprs.build` makes.

        `Index.in_memory(["A text.", "Another."])`; closing it frees its memory.
        """
        from rprs.index.memory import index_in_memory
        from rprs.read.inputs import read_documents

        return index_in_memory(
            read_documents(documents),
            splitter=splitter,
            analyzer=analyzer,
            encoder=encoder,
            phrases=phrases,
            vectors=vectors,
            progress=as_progress(progress),
        )

    def _initialise(self, path: Path, catalog: Catalog) -> None:
        self.path, self.catalog = path, catalog
        self._lock = catalog.lock
        self.known_queries = KnownQueries()
        self.known_phrases = NO_PHRASES  # of the last query
        self._listed: object = None
        self._dates: dict[str, Dates] = {}  # by metadata field
        self._labels_checked = False

    def _load(self) -> None:
        recorded = self.catalog.recorded
        self.catalog.begin_snapshot()
        self.catalog.check_history(recorded)
        generation = self.catalog.generation
        rows = self.catalog.segments()
        self._listed = generation, [row.number for row in rows], self.catalog.norms
        ready = [row for row in rows if generation is not None and row.generation == generation]
        self.pending = sum(row.documents for row in rows) - sum(row.documents for row in ready)
        if generation is None:
            raise InvalidIndex(f"{self.path} is not finished: run `rprs index` with the same source again to resume")
        self.generation = generation
        phrases, vector_type = self.catalog.phrases, self.catalog.vectors
        sums = self.catalog.block_sums() if self._checked else None
        segments = [
            Segment.open(self.path, row.number, generation, phrases=phrases, vector_type=vector_type, sums=sums)
            for row in ready
        ]
        if sums is not None:
            self.catalog.check_segments()
        self._number_documents(segments)
        self._open_norms(sums)

    def _number_documents(self, segments: list[Segment]) -> None:
        """Number the documents by id, and map numbers to places in segments and back."""
        self.segments = segments
        position = {segment.number: position for position, segment in enumerate(segments)}
        self.ids: list[str] = []
        places, checksum = array("l"), 0  # a list of all rows would take three times the memory of the index
        checked, rows = self._checked and self.catalog.has_sums, self.catalog.places()
        while block := list(islice(rows, BLOCK)):
            checksum += places_checksum(block) if checked else 0
            for id, segment, ordinal in block:
                if segment in position:
                    self.ids.append(id)
                    places.extend((position[segment], ordinal))
        if checked:
            self.catalog.check_places(checksum)
        self._segment, self._ordinal = np.array(places, dtype=np.int64).reshape(-1, 2).T.astype(np.int32)
        sizes = np.array([len(segment.lengths) for segment in segments], dtype=np.int64)
        if np.any(self._ordinal >= sizes[self._segment]):
            raise IndexCorrupt(f"{self.catalog.path} does not fit its segments: run `rprs verify {self.path}`")
        self.numbers = [np.full(len(segment.lengths), -1, dtype=np.int64) for segment in segments]
        for number, numbers in enumerate(self.numbers):
            documents = np.flatnonzero(self._segment == number)
            numbers[self._ordinal[documents]] = documents

    def _open_norms(self, sums: Mapping[str, bytes] | None) -> None:
        """Use the norms on disk if they are those of the present documents; otherwise they are computed when needed."""
        path = None if self.pending else self.catalog.norms
        if path is None:
            return
        stored, blocks = load_checked(self.path, path, None if sums is None else sums.get(path, b""))
        if blocks is not None:
            blocks.check_all()
        if stored.dtype.str != "<f8" or stored.shape != (len(self), 3):
            raise IndexCorrupt(f"{self.path / path} does not fit the documents: run `rprs verify {self.path}`")
        self.squared_norms = stored

    def close(self) -> None:
        """Close the catalog; arrays are freed with the last reference to them."""
        self.catalog.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __contains__(self, id: object) -> bool:
        return self.number(id) is not None  # type: ignore[arg-type]  # other values are in no index

    def __getitem__(self, id: str) -> Document:
        return self.document(id)

    def get(self, id: str, default: Any = None) -> Any:
        """A document, or the default if there is none of that id."""
        return self.document(id) if id in self else default

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<Index {self.path}: {len(self):,} documents>"

    # ------------------------------------------------------------------------ settings

    @cached_property
    def splitter(self) -> Any:
        """The splitter of the sentences."""
        return spec.parse("splitter", str(self.catalog.setting("splitter")))

    @cached_property
    def analyzer(self) -> Any:
        """The analyzer of the terms."""
        return spec.parse("analyzer", str(self.catalog.setting("analyzer")))

    @cached_property
    def vector_type(self) -> VectorType:
        """The type of the vectors, of documents and queries: float16 or float32."""
        with self._lock:
            return self.catalog.vectors

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder of the vectors, loaded on first use."""
        with self._lock:
            return open_encoder(self.catalog, self.path)

    @property
    def encoder_text(self) -> str:
        """The text of an encoder that gives the same vectors to other documents; a fitted one is not refitted."""
        return reusable_encoder(self.catalog, self.path)

    @cached_property
    def _language(self) -> dict[str, Any]:
        with self._lock:
            return self.catalog.language

    def knows_language(self, query: Document) -> bool:
        """Whether the encoder knows the script of the query, as measured when the documents were encoded."""
        return knows_text(self._language, query.text, lambda: self.encoder)

    @cached_property
    def calibration(self) -> Calibration:
        """The bar for sentences with the same idea: the stored one, or measured now if there is none yet."""
        with self._lock:
            stored = self.catalog.calibration
            if stored is None:
                segments = {segment.number: segment for segment in self.segments}
                stored = measure_calibration(self.catalog, segments, self.generation)
        return stored if stored.bars else FALLBACK

    @property
    def fingerprint(self) -> str:
        """A hash of settings, encoder and documents: it changes whenever a ranking could."""
        with self._lock:
            return fingerprint_of(self._ranking_settings(), self._content_rows())

    def _ranking_settings(self) -> list[str | None]:
        """Settings and encoder, as far as rankings depend on them."""
        keys = ("splitter", "analyzer", "phrases", "vectors")
        encoder = self.catalog.encoder()
        format = "1" if self.catalog.setting("format") == "1" else "2"  # 3 ranks as 2
        settings = [format, *(value for value in map(self.catalog.setting, keys) if value is not None)]
        return [*settings, None if encoder is None else encoder.fingerprint]

    def _content_rows(self) -> list[tuple[str, str]]:
        """Id and content hash of every document, by id."""
        return self.catalog.content_hashes()

    # ------------------------------------------------------------------------ documents

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The number of words of every document, by document number."""
        return self._per_document([segment.lengths for segment in self.segments])

    @cached_property
    def sentence_counts(self) -> NDArray[np.int64]:
        """The number of sentences of every document, by document number."""
        return self._per_document([np.diff(segment.sentence_offsets) for segment in self.segments])

    @cached_property
    def rows(self) -> list[slice | NDArray[np.int64]]:
        """For every segment, the numbers of its documents: a slice where each is one more than that before."""
        return [_as_slice(numbers) for numbers in self.numbers]

    def _per_document(self, arrays: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        values = np.zeros(len(self.ids), dtype=np.int64)
        for numbers, own in zip(self.numbers, arrays, strict=True):
            live = numbers >= 0
            values[numbers[live]] = own[live]
        return values

    @property
    def mean_sentences(self) -> float:
        """avgdl: the mean number of sentences per document."""
        return float(self.sentence_counts.mean()) if len(self) else 0.0

    def number(self, id: str) -> int | None:
        """The number of a document, or None if there is no such document."""
        text = id if type(id) is str else document_id(id)
        place = bisect_left(self.ids, text)  # they are in order: a dict of a million would take 100 MB
        return place if place < len(self.ids) and self.ids[place] == text else None

    def document(self, id: str) -> Document:
        """A document with its text and metadata."""
        number = self._require_number(id)
        with self._lock:
            document = self.catalog.document(self.ids[number])
        if document is None:
            raise self._missing(id)
        return document

    def collection_of(self, id: str) -> str:
        """The name of the collection that has a document, if several are searched as one; otherwise empty."""
        return ""

    def sentences(self, id: str) -> Sentences:
        """The sentences of a document with their vectors."""
        number = self._require_number(id)
        return self.segments[int(self._segment[number])].sentences(int(self._ordinal[number]))

    @property
    def suggested_ids(self) -> list[str]:
        """The ids that a wrong one is compared with, to suggest similar ones."""
        return self.ids

    def read_ahead(self, ids: Sequence[str]) -> None:
        """Documents that will be read one by one: an index that is not on this machine reads them at once."""

    def sentences_of(self, ids: Sequence[str]) -> Sequence[Sentences]:
        """The sentences of several documents with their vectors, checked in one step for each segment."""
        numbers = np.array([self._require_number(id) for id in ids], dtype=np.int64)
        segments, ordinals = self._segment[numbers], self._ordinal[numbers]
        for place in np.unique(segments):
            self.segments[place].check_sentences(ordinals[segments == place])
        return [
            self.segments[segment].checked_sentences(ordinal)
            for segment, ordinal in zip(segments.tolist(), ordinals.tolist(), strict=True)
        ]

    def _require_number(self, id: str) -> int:
        number = self.number(id)
        if number is None:
            raise self._missing(id)
        return number

    def _missing(self, id: str) -> NoDocument:
        return NoDocument(f"There is no document {id!r} in {self.path}")

    def encode(self, document: Document, progress: Progress | bool | None = None) -> Sentences:
        """Split and encode a document as the documents of this index were."""
        require_document(document)
        return self.with_vectors(document, self.splitter.split(document.text), progress)

    def with_vectors(
        self, document: Document, sentences: Sentences, progress: Progress | bool | None = None
    ) -> Sentences:
        """The sentences of a document, however it was split, with vectors of the encoder of this index."""
        if not len(sentences):
            return sentences
        if len(sentences) > MOST_SENTENCES:
            raise UsageError(
                f"The query {document.id!r} has {len(sentences):,} sentences; at most {MOST_SENTENCES:,} are compared: "
                "divide it into several"
            )
        encoder = self.encoder
        vectors = np.empty((len(sentences), encoder.dimension), dtype=PRECISIONS[self.vector_type].stored)
        with as_progress(progress)("sentences of the query", len(sentences), "sentences") as advance:
            for start in range(0, len(sentences), ENCODE_ROWS):  # the encoder's own numbers take twice the memory
                rows = slice(start, start + ENCODE_ROWS)
                texts = [document.text[first:last] for first, last in sentences.spans[rows].tolist()]
                vectors[rows] = to_grid(encoder.encode(texts, advance), self.vector_type)
        return Sentences(sentences.spans, sentences.paragraphs, vectors)

    def query_sentences(self, query: Document, progress: Progress | bool | None = None) -> Sentences:
        """The sentences of a query with their vectors: the stored ones if the index holds the same document.

        Those of the last query are kept, since both stages may need them; `known_queries` may keep more.
        """
        if self.holds(query):
            sentences = self.sentences(query.id)
        elif (known := self.known_queries.find(query.text)) is not None:
            sentences = known
        else:
            sentences = self.encode(query, progress)
            self.known_queries.add(query.text, sentences)
            return sentences
        with as_progress(progress)("sentences of the query", len(sentences), "sentences") as advance:
            advance(len(sentences))
        return sentences

    def holds(self, document: Document) -> bool:
        """Whether the index has a document with the same id and text."""
        return self.number(require_document(document).id) in self.same_content(document)

    def namesakes(self, documents: Iterable[Document]) -> list[str]:
        """The ids of documents that the index has with another text."""
        if not isinstance(documents, Iterable):
            raise UsageError(f"Expected a list of documents. Got {documents!r:.80}")
        return [each.id for each in map(require_document, documents) if each.id in self and not self.holds(each)]

    # ------------------------------------------------------------------------ choosing documents

    def _check_labels(self) -> None:
        """Check titles and metadata of all documents, once: a filter could otherwise leave one out unnoticed."""
        if self._checked and not self._labels_checked:
            self.catalog.check_labels()
            self._labels_checked = True

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The metadata fields with their values, to choose a filter from."""
        with self._lock:
            self._check_labels()
            return metadata_fields(self.catalog)

    def find(self, words: str, limit: int = 20) -> tuple[list[Document], int]:
        """Documents with all these words in their id or title, without their texts; and their total number."""
        if not isinstance(words, str):
            raise UsageError(f"The words to find must be a string. Got {words!r:.80} instead.")
        size, numbers = require_count("limit", limit, 0), [segment.number for segment in self.segments]
        with self._lock:
            self._check_labels()
            return self.catalog.find(words.casefold().split(), numbers, size)

    def same_content(self, document: Document) -> list[int]:
        """The numbers of documents with exactly the same text."""
        return self.with_content(require_document(document).content_hash)

    def copies(self, document: Document) -> list[str]:
        """The ids of documents with exactly the same text."""
        return [self.ids[number] for number in self.same_content(document)]

    def with_content(self, content_hash: str) -> list[int]:
        """The numbers of documents whose text has this hash."""
        with self._lock:
            ids = self.catalog.ids_with_content(content_hash)
        return [number for number in map(self.number, ids) if number is not None]

    def content_hashes(self, ids: Iterable[str]) -> list[str]:
        """The hashes of the texts of some documents."""
        with self._lock:
            return self.catalog.content_hashes_of(ids)

    def word_hashes(self, ids: Iterable[str]) -> list[int] | None:
        """Hashes of the words of some documents, which are equal if these are; None if an older part has none."""
        numbers = np.array([self._require_number(id) for id in ids], dtype=np.int64)
        hashes = np.empty(len(numbers), dtype=np.uint64)
        for place in np.unique(self._segment[numbers]).tolist():
            own = self._segment[numbers] == place
            found = self.segments[place].word_hashes_of(self._ordinal[numbers[own]].astype(np.int64))
            if found is None:
                return None
            hashes[own] = found
        return list(hashes.tolist())

    def select(self, where: str | None) -> Mask:
        """Which documents a metadata filter selects, as a mask by document number; None selects all."""
        if not isinstance(where, str | None):
            raise UsageError(f"A filter must be a string such as 'date < 2016-01-01'. Got {where!r:.80} instead.")
        if not where:
            return np.ones(len(self), dtype=bool)
        condition, values = to_sql(where)
        try:
            with self._lock:
                self._check_labels()
                places = self.catalog.places_where(condition, values)
        except sqlite3.OperationalError as error:
            raise UsageError(f"The filter {where!r} cannot be used: {error}") from error
        mask = np.zeros(len(self), dtype=bool)
        numbers = self._numbers_at(places)
        mask[numbers[numbers >= 0]] = True
        return mask

    def _numbers_at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """(n,): the numbers of documents from their segments and ordinals (n, 2); -1 if the snapshot lacks one."""
        result = np.full(len(places), -1, dtype=np.int64)
        for segment, numbers in zip(self.segments, self.numbers, strict=True):
            own = np.flatnonzero((places[:, 0] == segment.number) & (places[:, 1] < len(numbers)))
            result[own] = numbers[places[own, 1]]
        return result

    def dates(self, field: str) -> Dates:
        """The dates of all documents in a metadata field; they are read once."""
        if not isinstance(field, str):
            raise UsageError(f"The name of a metadata field must be a string. Got {field!r:.80} instead.")
        with self._lock:
            if field not in self._dates:
                self._check_labels()
                self._dates[field] = read_dates(self._field_values(field), len(self))
            return self._dates[field]

    def _field_values(self, field: str) -> Iterator[tuple[int, Any]]:
        """The numbers of documents with a metadata field, and its values; -1 for those that the snapshot lacks."""
        rows = self.catalog.field_places(field)
        while block := list(islice(rows, BLOCK)):
            places = np.array([row[:2] for row in block], dtype=np.int64)
            yield from zip(self._numbers_at(places).tolist(), (value for _, _, value in block), strict=True)

    # ------------------------------------------------------------------------ postings

    @property
    def has_phrases(self) -> bool:
        """Whether sequences of two and three terms are indexed."""
        if not self.segments:
            with self._lock:
                return self.catalog.phrases
        return all(segment.phrases is not None for segment in self.segments)

    @cached_property
    def squared_norms(self) -> NDArray[np.float64]:
        """(documents, 3): the squared norms of each document for the cosine, by the length of phrases."""
        with self._lock:
            return squared_norms(self.segments, self.numbers, len(self))

    def phrase_frequencies(self, hashes: NDArray[np.uint32]) -> NDArray[np.int64]:
        """(p,): how many documents have each of some phrases, given in ascending order."""
        return live_frequencies(find_phrases(self.segments, hashes), len(hashes), self.numbers)

    def postings(self, terms: Terms) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """For every segment, where the postings of the terms start and stop."""
        return [segment.postings(terms) for segment in self.segments]


def _as_slice(numbers: NDArray[np.int64]) -> slice | NDArray[np.int64]:
    """The same numbers as a slice if they follow one another and none is -1; slices of an array are not copied."""
    if len(numbers) == 0 or numbers[0] < 0 or np.any(numbers[1:] - numbers[:-1] != 1):
        return numbers
    return slice(int(numbers[0]), int(numbers[-1]) + 1)
