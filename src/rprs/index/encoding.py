"""The vectors of an index that is opened for changes: the encoder in use, segments that wait for it, and refitting."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rprs import spec
from rprs.encode import Encoder, Fittable
from rprs.errors import UsageError
from rprs.files.hashes import digest
from rprs.index.catalog import Catalog
from rprs.index.encoders import (
    LoadedEncoder,
    StoredEncoder,
    encode_sentences,
    fit_encoder,
    load_encoder,
    open_encoder,
    store_encoder,
)
from rprs.index.files import File, load, save_rows, sync_place
from rprs.index.leftovers import delete_leftovers
from rprs.index.segment import Segment, folder, vectors_path
from rprs.progress import Advance, Progress, no_op
from rprs.scoring.vectors import PRECISIONS

__all__ = ["Encoding"]


class Encoding:
    """Fits and loads the encoder of one index, and writes the vectors of its segments."""

    def __init__(self, path: Path, catalog: Catalog, component: Any, progress: Progress) -> None:
        self.path, self.catalog, self.component, self.progress = path, catalog, component, progress
        self._loaded: Encoder | None = None

    @property
    def is_fitted(self) -> bool:
        """Whether the encoder is made from the collection itself."""
        return isinstance(self.component, Fittable)

    def encoder(self) -> Encoder:
        """The encoder in use."""
        self._loaded = self._loaded or open_encoder(self.catalog, self.path)
        return self._loaded

    def prepare(self) -> None:
        """Load an encoder that is not fitted, before the first segment is written."""
        if self.catalog.generation is None and not self.is_fitted:
            self._use(self._store(load_encoder(self.component, self.progress)))

    def adopt(self, loaded: LoadedEncoder) -> None:
        """Use an encoder that was fitted or loaded elsewhere, before anything is encoded."""
        if self.catalog.generation is None:
            self._use(self._store(loaded))

    def write(
        self,
        number: int,
        generation: int,
        encoder: Encoder,
        texts: Iterable[tuple[int, str]],
        advance: Advance = no_op,
    ) -> File:
        """Encode the sentences of a segment in their order and write the vectors as one array."""
        offsets = load(self.path, f"{folder(number)}/sentence_offsets.npy")
        spans = load(self.path, f"{folder(number)}/spans.npy")
        vector_type = self.catalog.vectors
        blocks = encode_sentences(encoder, texts, offsets, spans, vector_type, advance)
        stored = PRECISIONS[vector_type].stored
        return save_rows(self.path, vectors_path(number, generation), blocks, stored, (encoder.dimension,))

    def encode_waiting(self) -> None:
        """Fit the encoder if there is none yet, and encode the segments without vectors."""
        if self.catalog.generation is None and self.catalog.segments():
            self._use(self._fit())
        generation = self.catalog.generation
        waiting = [row for row in self.catalog.segments() if row.generation != generation]
        if generation is None or not waiting:
            return
        with self.progress("encoding", sum(row.sentences for row in waiting), "sentences") as advance:
            for row in waiting:
                file = self._encode(row.number, generation, self.encoder(), advance)
                with self.catalog.transaction():
                    self.catalog.add_vectors(row.number, generation, file)

    def refit(self) -> None:
        """Fit the encoder to the present collection and encode all sentences anew, or resume where this stopped."""
        if not self.is_fitted:
            raise UsageError(f"{self.path} uses {spec.text(self.component)}, which is not fitted to a collection")
        self.encode_waiting()
        if self.catalog.generation is None:
            raise UsageError(f"{self.path} has no documents yet: add some first")
        encoder, generation = self._begin_refit()
        done = {file.path for file in self.catalog.files()}
        rows = [row for row in self.catalog.segments() if vectors_path(row.number, generation) not in done]
        with self.progress("encoding", sum(row.sentences for row in rows), "sentences") as advance:
            for row in rows:
                file = self._encode(row.number, generation, encoder, advance)
                with self.catalog.transaction():
                    self.catalog.add_files([file])
        with self.catalog.transaction():
            self.catalog.end_refit(use=True)
        self._loaded = encoder

    def _begin_refit(self) -> tuple[Encoder, int]:
        """The fitted encoder and its generation: that of an interrupted refit if the collection is still the same."""
        collection = digest([[row.number for row in self.catalog.segments()], self.catalog.content_hashes()])
        if self.catalog.refit is not None:
            generation, fitted_to = self.catalog.refit
            if fitted_to == collection:
                return open_encoder(self.catalog, self.path, generation), generation
            with self.catalog.transaction():
                self.catalog.end_refit(use=False)
            delete_leftovers(self.path, (file.path for file in self.catalog.files()))
        stored = self._fit()
        with self.catalog.transaction():
            self.catalog.begin_refit(stored.row, stored.files, collection)
        return stored.encoder, stored.row.generation

    def _encode(self, number: int, generation: int, encoder: Encoder, advance: Advance) -> File:
        """Write the vectors of a segment whose texts are in the catalog, and sync them."""
        file = self.write(number, generation, encoder, self.catalog.texts(number), advance)
        sync_place(self.path, folder(number))
        return file

    def _fit(self) -> StoredEncoder:
        """Fit the encoder to the present collection."""

        return self._store(fit_encoder(self.catalog, self.segments, self.component, self.progress))

    def segments(self) -> dict[int, Segment]:
        """The segments of the index, without vectors."""
        return {row.number: Segment.open(self.path, row.number, None) for row in self.catalog.segments()}

    def _store(self, loaded: LoadedEncoder) -> StoredEncoder:
        return store_encoder(self.catalog, self.path, loaded)

    def _use(self, stored: StoredEncoder) -> None:
        """Use the first encoder, before anything is encoded."""
        with self.catalog.transaction():
            self.catalog.use_encoder(stored.row, stored.files)
        self._loaded = stored.encoder
