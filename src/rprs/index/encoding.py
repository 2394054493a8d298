"""The vectors of an index that is opened for changes: the encoder in use, segments that wait for it, and refitting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rprs import spec
from rprs.encode import Encoder, Fittable
from rprs.errors import IndexCorrupt, UsageError
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
from rprs.index.files import File, load, save, save_rows, sync_place
from rprs.index.known_vectors import Known, KnownVectors, encode_new, require_same_vectors
from rprs.index.leftovers import delete_leftovers
from rprs.index.rows import SegmentRow
from rprs.index.segment import Hashes, Segment, folder, hashes_path, vectors_path
from rprs.index.sentence_hashes import segment_hashes
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

    @property
    def is_slow(self) -> bool:
        """Whether encoding a sentence takes so much longer than finding it that segments store hashes of sentences."""
        row = self.catalog.encoder() if self.is_fitted else None  # a small collection uses the teacher
        return bool(getattr(self.component if row is None else spec.parse("encoder", row.spec), "slow", False))

    @property
    def reuses(self) -> bool:
        """Whether vectors are looked for before sentences are encoded."""
        return self.is_slow or self._other is not None

    def look_up(self, hashes: Hashes) -> Known:
        """Find the sentences of a batch that have vectors already, before the batch is written."""
        known = self._known_vectors()
        if self.is_slow:
            known.add_index(self.path, self.catalog)
        return known.look_up(hashes)

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
            if self.is_slow:
                self._add_hashes()
            self._known = known
        return self._known

    def _add_hashes(self) -> None:
        """Store the hashes of the sentences of segments without them, which earlier versions have written."""
        listed = {file.path for file in self.catalog.files()}
        older = [row for row in self.catalog.segments() if hashes_path(row.number) not in listed]
        if not older:
            return
        sums = self.catalog.block_sums()
        with self.progress("hashing", sum(row.sentences for row in older), "sentences") as advance:
            for row in older:
                with suppress(IndexCorrupt):  # `rprs verify` reports it, and its sentences are encoded again
                    segment = Segment.open(self.path, row.number, None, sums=sums)
                    hashes = segment_hashes(segment, self.catalog.texts(row.number), advance)
                    file = save(self.path, hashes_path(row.number), hashes)
                    sync_place(self.path, folder(row.number))
                    with self.catalog.transaction():
                        self.catalog.add_files([file])

    # ------------------------------------------------------------------------ writing vectors

    def write(
        self,
        number: int,
        generation: int,
        encoder: Encoder,
        texts: Iterable[tuple[int, str]],
        advance: Advance = no_op,
        workers: Workers[list[str], Any] | None = None,
        *,
        known: Known | None = None,
    ) -> File:
        """Encode the sentences of a segment in their order, here or by workers, and write the vectors as one array.

        The vectors of `known` sentences are copied.
        """
        offsets = load(self.path, f"{folder(number)}/sentence_offsets.npy")
        spans = load(self.path, f"{folder(number)}/spans.npy")
        blocks, vector_type = sentence_blocks(texts, offsets, spans), self.catalog.vectors
        if known is not None:
            vectors = encode_new(known, encoder, blocks, vector_type, advance)
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
