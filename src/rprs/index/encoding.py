"""The vectors of an index that is opened for changes: the encoder in use, segments that wait for it, and refitting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
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
    fit_encoder,
    load_encoder,
    open_encoder,
    store_encoder,
)
from rprs.index.encoders import folder as encoder_folder
from rprs.index.files import File, load, save_rows, sync_place
from rprs.index.known_vectors import WORTH_LOOKING, KnownVectors, encode_new, require_same_vectors
from rprs.index.leftovers import delete_leftovers
from rprs.index.rows import SegmentRow
from rprs.index.segment import Segment, folder, vectors_path
from rprs.index.sentence_vectors import (
    LEAST_SENTENCES,
    EncodeSentences,
    encode_blocks,
    encode_in_processes,
    sentence_blocks,
)
from rprs.index.workers import Workers
from rprs.progress import Advance, Progress, no_op
from rprs.scoring.vectors import PRECISIONS

__all__ = ["Encoding"]


class Encoding:
    """Fits and loads the encoder of an index, and writes the vectors of its segments in up to `processes` processes."""

    def __init__(self, path: Path, catalog: Catalog, component: Any, progress: Progress, processes: int = 1) -> None:
        self.path, self.catalog, self.component, self.progress = path, catalog, component, progress
        self.processes = processes
        self._loaded: Encoder | None = None
        self._known: KnownVectors | None = None
        self._other: Path | None = None  # an index with vectors that can be used

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

    # ------------------------------------------------------------------------ sentences that were encoded before

    def use_vectors_of(self, other: Path) -> None:
        """Take the vectors of sentences that another index has; its encoder must be the same."""
        if self.is_fitted:
            raise UsageError(
                f"{spec.text(self.component)} is fitted to each collection: an index cannot use the vectors of another"
            )
        self.prepare()
        self._other = other
        self._known_vectors()

    def look_up_known(self, ids: Sequence[str], sentences: int) -> None:
        """Find out which sentences the index has, before a batch of documents with so many is written.

        For a batch that is small compared with the index, only the earlier versions of its documents are looked at.
        """
        if self._other is None and not getattr(self.component, "slow", False):
            return
        known = self._known_vectors()
        if sentences * WORTH_LOOKING >= sum(row.sentences for row in self.catalog.segments()):
            known.add_index(self.path, self.catalog)
        else:
            known.add_documents(self.path, self.catalog, ids)

    def remember(self, ids: Sequence[str]) -> None:
        """Remember the sentences of documents that have just been committed."""
        if self._known is not None:
            self._known.forget_recent()
            self._known.add_documents(self.path, self.catalog, ids)

    def forget_known(self) -> None:
        """Forget what the index has, and close its files, which compaction may delete."""
        self._known = None

    def _known_vectors(self) -> KnownVectors:
        if self._known is None:
            known = KnownVectors(self.catalog.vectors)
            if self._other is not None:
                contents = Catalog(self._other, write=False)
                try:
                    require_same_vectors(self.path, self.catalog, self._other, contents)
                    known.add_index(self._other, contents)
                finally:
                    contents.close()
            self._known = known
        return self._known

    # ------------------------------------------------------------------------ writing vectors

    def write(
        self,
        number: int,
        generation: int,
        encoder: Encoder,
        texts: Iterable[tuple[int, str]],
        advance: Advance = no_op,
        workers: Workers[list[str], Any] | None = None,
    ) -> File:
        """Encode the sentences of a segment in their order, here or by workers, and write the vectors as one array."""
        offsets = load(self.path, f"{folder(number)}/sentence_offsets.npy")
        spans = load(self.path, f"{folder(number)}/spans.npy")
        blocks, vector_type = sentence_blocks(texts, offsets, spans), self.catalog.vectors
        if self._known is not None:
            vectors = encode_new(self._known, encoder, blocks, advance)
        elif workers is None:
            vectors = encode_blocks(encoder, blocks, vector_type, advance)
        else:
            vectors = encode_in_processes(workers, encoder, blocks, vector_type, advance)
        stored = PRECISIONS[vector_type].stored
        return save_rows(self.path, vectors_path(number, generation), vectors, stored, (encoder.dimension,))

    def encode_waiting(self) -> None:
        """Fit the encoder if there is none yet, and encode the segments without vectors."""
        if self.catalog.generation is None and self.catalog.segments():
            self._use(self._fit())
        generation = self.catalog.generation
        waiting = [row for row in self.catalog.segments() if row.generation != generation]
        if generation is None or not waiting:
            return

        def commit(row: SegmentRow, file: File) -> None:
            self.catalog.add_vectors(row.number, generation, file)

        self._encode(waiting, generation, self.encoder(), commit)

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
        self._encode(rows, generation, encoder, lambda _, file: self.catalog.add_files([file]))
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

    def _encode(
        self,
        rows: Sequence[SegmentRow],
        generation: int,
        encoder: Encoder,
        commit: Callable[[SegmentRow, File], None],
    ) -> None:
        """Write the vectors of segments whose texts are in the catalog, sync them, and commit each segment."""
        sentences = sum(row.sentences for row in rows)
        with (
            self.progress("encoding", sentences, "sentences") as advance,
            self._workers(generation, sentences) as workers,
        ):
            for row in rows:
                file = self.write(row.number, generation, encoder, self.catalog.texts(row.number), advance, workers)
                sync_place(self.path, folder(row.number))
                with self.catalog.transaction():
                    commit(row, file)

    @contextmanager
    def _workers(self, generation: int, sentences: int) -> Iterator[Workers[list[str], Any] | None]:
        """Processes that encode many sentences with a fitted encoder of ours, which they load; for others, None."""
        place = self.path / encoder_folder(generation)  # missing where a small collection uses the teacher
        ours = type(self.component).__module__.startswith("rprs.")  # a program may have made its own
        if self.processes < 2 or sentences < LEAST_SENTENCES or not (self.is_fitted and ours and place.is_dir()):
            yield None
            return
        workers = Workers(EncodeSentences(self.component, place, self.catalog.vectors), self.processes)
        try:
            yield workers
        finally:
            workers.close()

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
