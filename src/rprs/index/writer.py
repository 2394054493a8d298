"""An index opened for writing: create, add, remove, refit, compact. One writer at a time.

Every change follows one pattern: write new files, sync them, then make them visible by one transaction on the catalog.
A process that dies in between leaves files that the catalog does not list; the next writer deletes them.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs import spec
from rprs.document import Document, document_id
from rprs.errors import InvalidIndex, UsageError
from rprs.files.atomic import errors_of, sync_folder
from rprs.index.arguments import (
    index_path,
    parse_components,
    require_choice,
    require_count,
    require_vector_type,
    settings_of,
)
from rprs.index.batches import FAST_BATCH, SLOW_BATCH, Batch, batches, take_characters
from rprs.index.catalog import Catalog
from rprs.index.compact import cut, merge_segments
from rprs.index.damage import refuse_damage
from rprs.index.database import NO_INDEX
from rprs.index.encoders import LoadedEncoder, grown_enough
from rprs.index.encoding import Encoding
from rprs.index.files import File, folder_mode, save, sync_place, watch_disk
from rprs.index.folder import create_folder, lock_index
from rprs.index.known_vectors import Known
from rprs.index.leftovers import GROUPS, delete_leftovers
from rprs.index.preparing import Ahead, Preparing
from rprs.index.repair import Repaired, accept_listing, diagnose, sound_documents
from rprs.index.rows import SegmentRow
from rprs.index.sample import keyed_sentences
from rprs.index.segment import ARRAYS, Entry, Hashes, Segment, folder, hashes_path, write_arrays
from rprs.index.sentence_hashes import sentence_hashes
from rprs.index.settings import check_settings
from rprs.index.statistics import calibrate, calibrate_once, measure
from rprs.index.unread import forget_unread
from rprs.index.upgrade import add_checksums, add_phrases, add_word_hashes, without_word_hashes
from rprs.progress import Advance, Progress, as_progress, no_op
from rprs.scoring.threads import cores
from rprs.scoring.vectors import VectorType

__all__ = ["Added", "Writer"]

MANY_SEGMENTS = 64  # with more that are small, they are compacted automatically
MOST_DOCUMENTS = 64_000  # of a segment that compaction writes: scores of more do not fit in a processor's caches


@dataclass(frozen=True, slots=True)
class Added:
    """How many documents `add` added, changed and left unchanged, with the sentences and index terms it read.

    `notes` are lines about what could not be done afterwards, although the documents are committed.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    sentences: int = 0
    terms: int = 0
    notes: tuple[str, ...] = ()

    def __add__(self, other: Added) -> Added:
        return Added(
            self.added + other.added,
            self.changed + other.changed,
            self.unchanged + other.unchanged,
            self.sentences + other.sentences,
            self.terms + other.terms,
            self.notes + other.notes,
        )


class Writer:
    """An index opened for changes; use it in a `with` statement. Only one process can do so at a time.

    `splitter`, `analyzer` and `encoder` are components or texts such as "onnx(precision=fp32)"; without `phrases`, only
    single words are indexed; `vectors` is the type of the stored vectors, "float16" unless given, or "float32". All are
    fixed when the index is created; other ones for an existing index raise `IndexMismatch`. Many documents are split in
    up to `processes` processes, one for each core unless given. `add` compacts an index of more than 64 segments unless
    `compact_automatically` is false. Unless `measured`, nothing that depends on all documents is stored: a part of a
    collection has no use for it. An index that has lost commits is opened only if `repairing`. Sentences that the index
    `vectors_from` has are not encoded again; its encoder must be the same.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        create: bool = False,
        splitter: str | spec.Component | None = None,
        analyzer: str | spec.Component | None = None,
        encoder: str | spec.Component | None = None,
        phrases: bool | None = None,
        vectors: VectorType | None = None,
        progress: Progress | bool | None = None,
        batch: int | None = None,
        processes: int | None = None,
        compact_automatically: bool = True,
        measured: bool = True,
        repairing: bool = False,
        vectors_from: str | Path | None = None,
    ) -> None:
        self.measured = require_choice("measured", measured)
        self.compact_automatically = require_choice("compact_automatically", compact_automatically)
        self.path = index_path(path)
        self.progress = as_progress(progress)
        components = parse_components(splitter, analyzer, encoder)
        choice = None if phrases is None else require_choice("phrases", phrases)
        vector_type = None if vectors is None else require_vector_type(vectors)
        size = None if batch is None else require_count("batch", batch, 1)
        self.processes = cores() if processes is None else require_count("processes", processes, 1)
        with watch_disk(self.path), errors_of(self.path):
            if create:
                create_folder(self.path)
            elif not (self.path / "catalog.sqlite").is_file():
                raise InvalidIndex(NO_INDEX.format(self.path))
            self._lock = lock_index(self.path)
            try:
                self._open(create, components, choice, vector_type, repairing)
                if vectors_from is not None:
                    self._use_vectors_of(index_path(vectors_from))
            except BaseException:
                self._lock.release()
                raise
        self.batch = size or (FAST_BATCH if self._encoding.is_fitted else SLOW_BATCH)

    def _open(
        self,
        create: bool,
        components: dict[spec.Kind, Any],
        phrases: bool | None,
        vectors: VectorType | None,
        repairing: bool,
    ) -> None:
        if create and not (self.path / "catalog.sqlite").is_file():
            Catalog.create(self.path, settings_of(components, phrases is not False, vectors or "float16"))
        self.catalog = Catalog(self.path, write=True)
        try:
            if not repairing:
                self.catalog.check_history(self.catalog.recorded)
            check_settings(self.path, self.catalog, components, phrases, vectors)
            self.splitter = spec.parse("splitter", str(self.catalog.setting("splitter")))
            self.analyzer = spec.parse("analyzer", str(self.catalog.setting("analyzer")))
            self.encoder: Any = spec.parse("encoder", str(self.catalog.setting("encoder")))
            self._encoding = Encoding(self.path, self.catalog, self.encoder, self.progress, self.processes)
            self._preparing = Preparing(
                self.splitter, self.analyzer, phrases=self.catalog.phrases, processes=self.processes
            )
            for group in GROUPS:
                (self.path / group).mkdir(folder_mode(self.path), exist_ok=True)
            sync_folder(self.path)
            self._delete_unlisted()
        except BaseException:
            self.catalog.close()
            raise

    def _use_vectors_of(self, other: Path) -> None:
        try:
            self._encoding.use_vectors_of(other)
        except BaseException:
            self.catalog.close()
            raise

    def close(self) -> None:
        """Close the index and release its lock."""
        with watch_disk(self.path), errors_of(self.path):
            try:
                self._preparing.close()
                self.catalog.close()
            finally:
                self._lock.release()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        self.close()

    @property
    def lingering(self) -> str | None:
        """Until when removed text stays in the files, in one line; None if it is gone."""
        with watch_disk(self.path):
            if not self.catalog.log_bytes or self.catalog.merge():
                return None
        return (
            "Another program has the index open: removed text stays in catalog.sqlite and its log until that program "
            "closes the index or opens it again"
        )

    def _delete_unlisted(self) -> None:
        """Delete files that the catalog does not list, such as those of an interrupted writer."""
        delete_leftovers(self.path, (file.path for file in self.catalog.files()))

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Change the index; if that fails, delete the files that it wrote but did not commit.

        If the commit itself failed, nobody knows which files it needs until another commit succeeds.
        """
        with watch_disk(self.path):
            if self.catalog.in_doubt:
                self.catalog.settle()
                self._delete_unlisted()
            try:
                yield
            except BaseException:
                if not self.catalog.in_doubt:
                    with suppress(OSError, sqlite3.Error, InvalidIndex):
                        self._delete_unlisted()
                raise

    # ------------------------------------------------------------------------ adding

    def add(self, documents: Iterable[Document]) -> Added:
        """Add new and changed documents, batch by batch, and encode those that are not encoded yet.

        Documents that the index has already are skipped, so that calling again resumes an interrupted call.
        """
        if not isinstance(documents, Iterable):
            raise UsageError(f"Expected an iterable of rprs.Document. Got {documents!r:.80}")
        written: list[Added] = []
        unchanged = Counter[str]()
        with self._change():
            self._encoding.prepare()
            with self.progress("reading", unit="documents") as advance:

                def write(batch: Batch, entries: Iterator[Entry]) -> None:
                    written.append(self._write(batch, entries, advance))

                ahead = Ahead(self._preparing, write)
                for batch in batches(documents, self.catalog, self.batch, unchanged, ahead.settle):
                    ahead.put(batch)
                ahead.settle()
            notes = self.finish()
        return replace(sum(written, Added()), unchanged=unchanged["documents"], notes=notes)

    def commit(self, batch: Batch, advance: Advance = no_op) -> Added:
        """Commit a batch of changes; call `finish` after the last one."""
        with self._change():
            self._encoding.prepare()
            return self._write(batch, self._preparing.entries(batch.documents), advance)

    def _write(self, batch: Batch, prepared: Iterator[Entry], advance: Advance) -> Added:
        entries = []
        for entry in prepared:
            entries.append(entry)
            advance(1)
        hashes = self._hashes(batch, entries)
        self._commit(batch, entries, None if hashes is None else self._encoding.look_up(hashes))
        return Added(
            len(batch.documents) - batch.changed,
            batch.changed + len(batch.relabelled),
            0,
            sum(len(entry.sentences) for entry in entries),
            sum(entry.length for entry in entries),
        )

    def _hashes(self, batch: Batch, entries: list[Entry]) -> Hashes | None:
        """The hashes of a batch's sentences; None where no sentence is looked for."""
        if not self._encoding.reuses:
            return None
        pairs = zip(batch.documents, entries, strict=True)
        return sentence_hashes(
            document.text[start:end] for document, entry in pairs for start, end in entry.sentences.spans.tolist()
        )

    def _commit(self, batch: Batch, entries: list[Entry], known: Known | None = None) -> None:
        """Write a batch as a segment, then commit it and the removal of the versions that it replaces."""
        number = self.catalog.next_segment()
        generation = self.catalog.generation
        files: list[File] = []
        if entries:
            with self.progress("writing words and phrases", ARRAYS, "arrays") as advance:
                files += write_arrays(self.path, number, entries, advance)
            if known is not None and self._encoding.is_slow:
                files.append(save(self.path, hashes_path(number), known.hashes))
            if generation is not None:
                files.append(self._write_vectors(number, generation, batch, entries, known))
            sync_place(self.path, folder(number))
        with self.catalog.transaction():
            for old, document in batch.renamed.items():
                self.catalog.rename(old, document)
            for document in batch.relabelled:
                self.catalog.relabel(document)
            self.catalog.remove([*batch.removed, *(document.id for document in batch.documents)])
            if entries or batch.removed:
                self.catalog.forget_statistics()
            if entries:
                sentences = sum(len(entry.sentences) for entry in entries)
                words = sum(entry.length for entry in entries)
                self.catalog.add_segment(SegmentRow(number, len(entries), sentences, words, generation), files)
            for ordinal, (document, entry) in enumerate(zip(batch.documents, entries, strict=True)):
                self.catalog.add_document(document, (number, ordinal), (entry.length, len(entry.sentences)))
            if batch.record is not None:
                batch.record()

    def _write_vectors(
        self, number: int, generation: int, batch: Batch, entries: list[Entry], known: Known | None
    ) -> File:
        texts = ((place, document.text) for place, document in enumerate(batch.documents))
        with self.progress("encoding", sum(len(entry.sentences) for entry in entries), "sentences") as advance:
            return self._encoding.write(number, generation, self._encoding.encoder(), texts, advance, known=known)

    # ------------------------------------------------------------------------ encoding

    def sample(self, size: int) -> list[tuple[int, str]]:
        """What the documents contribute to a sample of `size` sentences of a larger collection: keys and sentences."""
        return keyed_sentences(self.catalog, self._encoding.segments(), size)

    def adopt(self, encoder: LoadedEncoder) -> None:
        """Use an encoder that was fitted to a larger collection, unless the index has one already."""
        with self._change():
            self._encoding.adopt(encoder)

    def finish(self) -> tuple[str, ...]:
        """Encode the documents that are not encoded yet, and compact if there are many segments; notes on failures."""
        with self._change():
            self._preparing.close()
            self._encoding.forget_known()
            self._encoding.encode_waiting()
            notes = self._compact_many() if self.compact_automatically else ()
            self._measure(self.catalog.language or None)  # kept where documents were only renamed
        if grown_enough(self.catalog):
            notes += (f"The collection is now large enough for a fitted encoder: run `rprs refit {self.path}`",)
        return notes

    @property
    def has_many_segments(self) -> bool:
        """Whether it is time to compact."""
        return sum(not _is_large(row) for row in self.catalog.segments()) > MANY_SEGMENTS

    def _compact_many(self) -> tuple[str, ...]:
        """Compact if there are many segments; where that fails, the committed documents are no less valid."""
        try:
            if self.has_many_segments:
                self.compact()
        except InvalidIndex as error:
            return (f"The documents are in the index, but its segments could not be merged: {error}",)
        return ()

    def _measure(self, language: dict[str, Any] | None = None) -> None:
        if self.measured and measure(self.path, self.catalog, self._encoding.encoder, self.progress, language):
            self._delete_unlisted()

    def refit(self) -> None:
        """Fit the encoder to the present collection and encode all sentences anew.

        Searches see either the old or the new state. An interrupted call is resumed by the next one, unless documents
        were added or removed in between.
        """
        with self._change():
            self._encoding.refit()
            self._delete_unlisted()
            calibrate(self.path, self.catalog)

    def upgrade(self) -> bool:
        """Bring an index up to date: add phrases and hashes of words, from its own texts, and checksums.

        False if it has all of them already.

        An interrupted upgrade resumes when it is called again. Searches continue in the meantime.
        """
        with self._change():
            measured = self.catalog.has_statistics and self.catalog.calibration is not None
            complete = self.catalog.phrases and self.catalog.has_sums and not without_word_hashes(self.catalog)
            if complete and (measured or self.catalog.generation is None):
                return False
            if not self.catalog.phrases:
                add_phrases(self.path, self.catalog, self.analyzer, self.progress)
            self._encoding.encode_waiting()
            self._measure(self.catalog.language or None)
            calibrate_once(self.path, self.catalog)
            add_word_hashes(self.path, self.catalog, self.progress)
            if not self.catalog.has_sums:
                add_checksums(self.path, self.catalog, self.progress)
            self._delete_unlisted()
        return True

    # ------------------------------------------------------------------------ removing and compacting

    def remove(self, ids: Iterable[str]) -> int:
        """Remove documents by their ids; the number of documents removed."""
        if isinstance(ids, str) or not isinstance(ids, Iterable):
            raise UsageError(f"Expected a list of ids. Got {ids!r:.80}")
        texts = [document_id(id) for id in ids]
        with self._change():
            language = self.catalog.language if self.catalog.has_statistics else None
            if self.measured:
                calibrate_once(self.path, self.catalog)
            with self.catalog.transaction():
                count = self.catalog.remove(texts)
                if count:
                    self.catalog.forget_statistics()
            forget_unread(self.path, texts)
            self._measure(language)
        return count

    def compact(self) -> None:
        """Merge small segments, and rewrite those with removed documents, into segments of at most 64,000 documents.

        `IndexCorrupt` if any of their bytes have changed.
        """
        with self._change():
            self._encoding.encode_waiting()
            live = {row.number: self._live(row) for row in self.catalog.segments()}
            old = [row for row in self.catalog.segments() if not (_is_large(row) and live[row.number].all())]
            if not old or (len(old) == 1 and live[old[0].number].all() and old[0].documents <= MOST_DOCUMENTS):
                return
            refuse_damage(self.path, self.catalog, self.progress)
            first = self.catalog.segments()[-1].number + 1
            new = self._merge(old, [live[row.number] for row in old], first)
            with self.catalog.transaction():
                self.catalog.replace_segments([row.number for row in old], new, first, MOST_DOCUMENTS)
            self.catalog.free_space()
            self._delete_unlisted()

    def _merge(
        self, old: Sequence[SegmentRow], live: Sequence[NDArray[np.bool_]], first: int
    ) -> list[tuple[SegmentRow, list[File]]]:
        """Write the live documents of some segments as new ones, whose files are synced."""
        generation = self.catalog.generation
        phrases, vector_type = self.catalog.phrases, self.catalog.vectors
        segments = [
            Segment.open(self.path, row.number, generation, phrases=phrases, hashes=True, vector_type=vector_type)
            for row in old
        ]
        new: list[tuple[SegmentRow, list[File]]] = []
        with self.progress("compacting", sum(row.sentences for row in old), "sentences") as advance:
            for masks in cut(live, MOST_DOCUMENTS) if any(mask.any() for mask in live) else [list(live)]:
                chosen = [place for place, mask in enumerate(masks) if mask.any()] or [0]
                parts, own = [segments[place] for place in chosen], [masks[place] for place in chosen]
                files, row = merge_segments(self.path, first + len(new), generation, parts, own, advance)
                sync_place(self.path, folder(row.number))
                new.append((row, files))
        return new

    def repair(self) -> Repaired:
        """Make what is damaged anew from the sound texts of its documents, and remove documents that are damaged.

        `IndexCorrupt` if the catalog itself cannot be read.
        """
        with self._change():
            damage = diagnose(self.path, self.catalog, self.progress)
            accept_listing(self.path, self.catalog, damage)
            if damage.lost:
                with self.catalog.transaction():
                    self.catalog.remove(damage.lost)
            with self.catalog.transaction():
                self.catalog.forget_statistics()
                if damage.encoder:
                    self.catalog.forget_encoder()
            self._delete_unlisted()
            count = self._rebuild(damage.segments)
            self._encoding.encode_waiting()
            self._measure()
            self._delete_unlisted()
        return Repaired(tuple(each.path for each in damage.files), count, tuple(damage.lost.values()))

    def _rebuild(self, segments: tuple[int, ...]) -> int:
        """Index the documents of damaged segments again, from their texts; how many there were."""
        count = 0
        documents = sound_documents(self.catalog, segments)
        with self.progress("indexing again", unit="documents") as advance:
            while batch := list(take_characters(documents, self.batch)):
                rebuilt, entries = Batch(batch, len(batch), []), list(self._preparing.entries(batch))
                hashes = self._hashes(rebuilt, entries)  # nothing else is taken from an index that is damaged
                self._commit(rebuilt, entries, None if hashes is None else Known.nothing(hashes))
                count += len(batch)
                advance(len(batch))
        if segments:
            with self.catalog.transaction():
                self.catalog.drop_segments(segments)
        return count

    def _live(self, row: SegmentRow) -> NDArray[np.bool_]:
        mask = np.zeros(row.documents, dtype=bool)
        mask[self.catalog.ordinals(row.number)] = True
        return mask


def _is_large(row: SegmentRow) -> bool:
    """Whether a segment is large enough to be left alone, and not too large."""
    return MOST_DOCUMENTS // 2 < row.documents <= MOST_DOCUMENTS
