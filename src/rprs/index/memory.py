"""An index in memory: the catalog is an SQLite database without a file, and a segment is arrays without files."""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs import spec
from rprs.document import Document
from rprs.encode import Fittable
from rprs.errors import UsageError
from rprs.index.arguments import parse_components, require_choice, require_vector_type, settings_of
from rprs.index.batches import batches, prepare
from rprs.index.catalog import Catalog
from rprs.index.database import create_tables, prepare_connection
from rprs.index.encoders import Load, LoadedEncoder, fit_encoder, load_encoder
from rprs.index.language import measure_language
from rprs.index.reader import Index
from rprs.index.rows import SegmentRow
from rprs.index.segment import Entry, Segment, segment_arrays, segment_phrases
from rprs.index.sentence_vectors import encode_blocks, sentence_blocks
from rprs.progress import Progress
from rprs.scoring.phrases import Stream
from rprs.scoring.vectors import PRECISIONS, VectorType

__all__ = ["MemoryCatalog", "MemoryIndex", "index_in_memory"]

PLACE = Path("memory")  # for messages: "There is no document 'x' in memory"
NUMBER, GENERATION = 1, 1  # of the only segment and the only encoder


class MemoryCatalog(Catalog):
    """A catalog without a file."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self.path, self._write = PLACE, False
        self._prepare(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False))
        prepare_connection(self.connection)
        create_tables(self.connection, settings)

    def before_fork(self) -> None:
        """Wait until no thread uses the connection, which a forked process inherits with its own copy of the memory."""
        self.lock.acquire()

    def after_fork(self, child: bool) -> None:
        """Continue."""
        self.lock.release()

    @property
    def log_bytes(self) -> int:
        """There is no log."""
        return 0

    def merge(self) -> bool:
        """There is nothing to merge."""
        return True

    @property
    def recorded(self) -> int:
        """There is no file of the history."""
        return 0

    def record(self, number: int) -> None:
        """There is none to write to."""

    @property
    def in_place(self) -> bool:
        """Nothing can replace it."""
        return True


class MemoryIndex(Index):
    """An index without files. It cannot change; closing it frees its memory."""

    def __init__(self, catalog: Catalog, segments: list[Segment], loaded: LoadedEncoder) -> None:
        self._checked = False  # what is in memory is not read from a disk
        self._initialise(PLACE, catalog)
        self.generation, self.pending = GENERATION, 0
        self.encoder = loaded.encoder
        self._number_documents(segments)

    def __repr__(self) -> str:
        return f"<Index in memory: {len(self):,} documents>"

    @property
    def encoder_text(self) -> str:
        """The encoder for another index with the same vectors; a fitted one exists in this index only."""
        row = self.catalog.encoder()
        if row is None or isinstance(spec.parse("encoder", row.spec), Fittable):
            raise UsageError("The fitted encoder of an index in memory cannot be used for another: build it on disk")
        return row.spec

    def close(self) -> None:
        """Free the memory; the index cannot be used afterwards."""
        super().close()
        self.segments.clear()
        vars(self).pop("encoder", None)


def index_in_memory(
    documents: Iterable[Document],
    *,
    splitter: Any,
    analyzer: Any,
    encoder: Any,
    progress: Progress,
    load: Load = load_encoder,
    phrases: bool = True,
    vectors: VectorType = "float16",
) -> MemoryIndex:
    """An index of documents without files; if an id occurs more than once, the last document counts."""
    components = parse_components(splitter, analyzer, encoder)
    settings = settings_of(components, require_choice("phrases", phrases), require_vector_type(vectors))
    catalog = MemoryCatalog(settings)
    try:
        arrays, stream = _add_documents(catalog, documents, settings, progress)
        component = spec.parse("encoder", settings["encoder"])

        def unencoded() -> dict[int, Segment]:
            return {NUMBER: Segment(PLACE, NUMBER, arrays, None)} if arrays else {}

        if isinstance(component, Fittable):
            loaded = fit_encoder(catalog, unencoded, component, progress, load)
        else:
            loaded = load(component, progress)
        with catalog.transaction():
            catalog.use_encoder(loaded.row(GENERATION), ())
            catalog.use_statistics(measure_language(catalog, unencoded(), loaded.encoder), None)
        segments: list[Segment] = []
        if arrays:
            encoded = _encode(catalog, arrays, loaded, progress)
            segments.append(Segment(PLACE, NUMBER, arrays, encoded, stream, vector_type=catalog.vectors))
        return MemoryIndex(catalog, segments, loaded)
    except BaseException:
        catalog.close()
        raise


def _add_documents(
    catalog: Catalog, documents: Iterable[Document], settings: Mapping[str, str], progress: Progress
) -> tuple[dict[str, NDArray[Any]], Stream | None]:
    """Add the documents to the catalog; the arrays and phrases of their segment, none without documents."""
    splitter, analyzer = spec.parse("splitter", settings["splitter"]), spec.parse("analyzer", settings["analyzer"])
    entries: list[Entry] = []
    with progress("reading", unit="documents") as advance, catalog.transaction():
        for batch in batches(documents, catalog, sys.maxsize, Counter()):  # a single batch
            for ordinal, document in enumerate(batch.documents):
                entry = prepare(document.text, splitter, analyzer, phrases=settings["phrases"] == "yes")
                catalog.add_document(document, (NUMBER, ordinal), (entry.length, len(entry.sentences)))
                entries.append(entry)
                advance(1)
        if not entries:
            return {}, None
        sentences, words = sum(len(entry.sentences) for entry in entries), sum(entry.length for entry in entries)
        catalog.add_segment(SegmentRow(NUMBER, len(entries), sentences, words, GENERATION), ())
    arrays, stream = segment_arrays(entries), segment_phrases(entries)
    for array in (*arrays.values(), *((stream.directory, stream.data) if stream else ())):
        array.flags.writeable = False  # as mapped files are: compiled functions are the same for both
    return arrays, stream


def _encode(
    catalog: Catalog, arrays: Mapping[str, NDArray[Any]], loaded: LoadedEncoder, progress: Progress
) -> NDArray[np.floating[Any]]:
    offsets, spans = arrays["sentence_offsets"], arrays["spans"]
    vectors = np.empty((len(spans), loaded.encoder.dimension), dtype=PRECISIONS[catalog.vectors].stored)
    start, blocks = 0, sentence_blocks(catalog.texts(NUMBER), offsets, spans)
    with progress("encoding", len(spans), "sentences") as advance:
        for block in encode_blocks(loaded.encoder, blocks, catalog.vectors, advance):
            vectors[start : start + len(block)] = block
            start += len(block)
    vectors.flags.writeable = False
    return vectors
