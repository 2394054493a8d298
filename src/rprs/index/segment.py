"""A segment: the postings, lengths, sentence spans and vectors of a batch of documents, in write-once arrays.

Document `ordinal` of a segment has the sentences `sentence_offsets[ordinal]:sentence_offsets[ordinal + 1]`; term t has
the postings `posting_offsets[t]:posting_offsets[t + 1]`. Terms are sorted by a 64-bit hash, so that thousands of query
terms are found by one binary search over a mapped array; their bytes are compared too, so a collision changes nothing.
Phrases of two and three terms have postings of their own, as a stream of bytes (see `scoring.phrases`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.document import NOT_ENCODED, Sentences
from rprs.errors import IndexCorrupt
from rprs.files.mapping import release
from rprs.index.blocks import Blocks
from rprs.index.files import File, folder_mode, load, load_checked, save
from rprs.index.terms import DAMAGED_TERMS, Terms, hash_places, hash_term, locate, term_hashes
from rprs.progress import Advance, no_op
from rprs.scoring.phrases import Stream, stream
from rprs.scoring.vectors import PRECISIONS, VectorType

__all__ = [
    "ARRAYS",
    "BY_SENTENCE",
    "NAMES",
    "NEWER_NAMES",
    "PHRASE_NAMES",
    "TYPES",
    "Entry",
    "Hashes",
    "Inverted",
    "Segment",
    "Terms",
    "ends",
    "folder",
    "hash_term",
    "hashes_path",
    "invert",
    "open_phrases",
    "segment_arrays",
    "segment_phrases",
    "term_hashes",
    "vectors_path",
    "write_arrays",
    "write_phrases",
]

TYPES = {  # of the arrays
    "term_hash": ("<u8",),
    "term_offsets": ("<i8",),
    "term_bytes": ("|u1",),
    "posting_offsets": ("<i8",),
    "posting_documents": ("<i4",),
    "posting_counts": ("<u2", "<u4"),
    "lengths": ("<i8",),
    "sentence_offsets": ("<i8",),
    "spans": ("<u4",),
    "paragraphs": ("<i4",),
}
NAMES = tuple(TYPES)
NEWER_TYPES = {"term_counts": ("<i8",), "word_hashes": ("<u8",)}  # of the arrays that older indexes do not have
NEWER_NAMES = tuple(NEWER_TYPES)
ARRAYS = len(NAMES) + len(NEWER_NAMES) + 3  # all of a new segment; phrases take three steps
PHRASE_TYPES = {"phrase_directory": ("<i8",), "phrase_data": ("|u1",)}  # of the arrays that an index may do without
PHRASE_NAMES = tuple(PHRASE_TYPES)
BY_SENTENCE = ("spans", "paragraphs", "vectors", "sentence_hash")  # the arrays with a row for each sentence
HASH_TYPES = {"sentence_hash": ("<u8",)}  # of the array that only encoders have that take long
_OF_TERMS = ("term_offsets", "term_bytes", "posting_offsets")  # and their hashes, which are checked at once
NO_BLOCKS: Mapping[str, Blocks] = MappingProxyType({})

Hashes = NDArray[np.uint64]  # (sentences, 2)


def folder(number: int) -> str:
    """The folder of a segment, within the index."""
    return f"segments/{number:06d}"


def vectors_path(number: int, generation: int) -> str:
    """The path of the vectors that an encoder made for a segment."""
    return f"{folder(number)}/vectors.{generation:06d}.npy"


def hashes_path(number: int) -> str:
    """The path of the hashes of a segment's sentences."""
    return f"{folder(number)}/sentence_hash.npy"


@dataclass(frozen=True, slots=True)
class Entry:
    """One document as a segment stores it: its sentences, its terms with their counts, and its phrases."""

    sentences: Sentences
    terms: tuple[str, ...]  # distinct
    counts: NDArray[np.int64]
    length: int  # words, repeated ones included
    word_hash: int  # of all words as evidence compares them
    sequence: NDArray[np.uint64] | None = None  # hashes of its words in text order; None without phrases


class Segment:
    """The arrays of a segment, checked against each other; `root` is the folder of the index, for messages."""

    def __init__(
        self,
        root: Path,
        number: int,
        arrays: Mapping[str, NDArray[Any]],
        vectors: NDArray[np.floating[Any]] | None,
        phrases: Stream | None = None,
        *,
        vector_type: VectorType = "float16",
        blocks: Mapping[str, Blocks] = NO_BLOCKS,
    ) -> None:
        self.number, self._blocks = number, blocks
        self.place = root / folder(number)
        self.term_hash: NDArray[np.uint64] = arrays["term_hash"]
        self.term_offsets: NDArray[np.int64] = arrays["term_offsets"]
        self.term_bytes: NDArray[np.uint8] = arrays["term_bytes"]
        self.term_counts: NDArray[np.int64] | None = arrays.get("term_counts")
        self.posting_offsets: NDArray[np.int64] = arrays["posting_offsets"]
        self.posting_documents: NDArray[np.int32] = arrays["posting_documents"]
        self.posting_counts: NDArray[Any] = arrays["posting_counts"]
        self.lengths: NDArray[np.int64] = arrays["lengths"]
        self.word_hashes: NDArray[np.uint64] | None = arrays.get("word_hashes")
        self.sentence_offsets: NDArray[np.int64] = arrays["sentence_offsets"]
        self.spans: NDArray[np.uint32] = arrays["spans"]
        self.paragraphs: NDArray[np.int32] = arrays["paragraphs"]
        self.sentence_hashes: Hashes | None = arrays.get("sentence_hash")
        self.vectors, self._vector_type = vectors, vector_type
        self.phrases = phrases
        allowed = TYPES | NEWER_TYPES | HASH_TYPES
        types = {name: array.dtype.str in allowed[name] for name, array in arrays.items()}
        for name, valid in chain(types.items(), self._checks()):  # in turn: a wrong type may be no number
            if not valid:
                raise self._corrupt(name)
        self._check_all("lengths", "sentence_offsets")  # small, and every search needs them
        self._sound = np.full(len(self.lengths), not blocks)  # the documents whose sentences were checked

    @classmethod
    def open(
        cls,
        root: Path,
        number: int,
        generation: int | None,
        *,
        phrases: bool = False,
        hashes: bool = False,
        vector_type: VectorType = "float16",
        sums: Mapping[str, bytes] | None = None,
    ) -> Segment:
        """Open a segment on disk with the vectors of an encoder; without vectors if `generation` is None.

        With `hashes`, it has those of its sentences, if they are stored.
        With the `sums` of the blocks of all files, by path, blocks are checked when they are first used.
        """
        paths = {name: f"{folder(number)}/{name}.npy" for name in (*NAMES, *(PHRASE_NAMES if phrases else ()))}
        if generation is not None:
            paths["vectors"] = vectors_path(number, generation)
        optional = {name: f"{folder(number)}/{name}.npy" for name in (*NEWER_NAMES, *(HASH_TYPES if hashes else ()))}
        paths |= {name: path for name, path in optional.items() if _is_there(sums, root, path)}
        loaded = {name: load_checked(root, path, _sums(sums, root, path)) for name, path in paths.items()}
        arrays = {name: array for name, (array, _) in loaded.items()}
        blocks = {name: checks for name, (_, checks) in loaded.items() if checks is not None}
        stream = Stream(arrays.pop("phrase_directory"), arrays.pop("phrase_data")) if phrases else None
        vectors = arrays.pop("vectors", None)
        return cls(root, number, arrays, vectors, stream, vector_type=vector_type, blocks=blocks)

    # ------------------------------------------------------------------------ checks of blocks

    def check_postings(self) -> None:
        """Check all terms, postings and phrases, before numbers that are stored are computed from them."""
        self._check_all(*(name for name in self._blocks if name not in BY_SENTENCE))

    def release_postings(self) -> None:
        """Give back the memory of all files of terms, postings and phrases."""
        for array in (self.term_bytes, self.posting_documents, self.posting_counts):
            release(array)
        if self.phrases is not None:
            release(self.phrases.directory)
            release(self.phrases.data)

    def check_phrases(self, queried: NDArray[np.uint32]) -> None:
        """Check the buckets of these phrases."""
        blocks = self._blocks
        if self.phrases is None or "phrase_data" not in blocks:
            return
        if blocks["phrase_data"].complete and blocks["phrase_directory"].complete:
            return
        bits = (len(self.phrases.directory) - 1).bit_length() - 1
        buckets = (queried >> np.uint32(32 - bits)).astype(np.int64) if bits else np.zeros(1, dtype=np.int64)
        self._check_rows("phrase_directory", self.phrases.directory, buckets, buckets + 2)
        starts, stops = self.phrases.directory[buckets], self.phrases.directory[buckets + 1]
        self._check_rows("phrase_data", self.phrases.data, starts, stops)

    def check_sentences(self, ordinals: NDArray[Any]) -> None:
        """Check the sentences of these documents, with their vectors, once each."""
        new = ordinals[~self._sound[ordinals]]
        if len(new) and len(self.spans):
            starts, stops = self.sentence_offsets[new], self.sentence_offsets[new + 1]
            self._check_rows("spans", self.spans, starts, stops)
            self._check_rows("paragraphs", self.paragraphs, starts, stops)
            self.check_vectors(starts, stops)
        self._sound[new] = True

    def check_vectors(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> None:
        """Check the vectors of these rows."""
        if self.vectors is not None and len(self.vectors):
            self._check_rows("vectors", self.vectors, starts, stops)

    def check_encoded(self, rows: NDArray[np.int64]) -> None:
        """Check the vectors and the hashes of these sentences."""
        self.check_vectors(rows, rows + 1)
        if self.sentence_hashes is not None:
            self._check_rows("sentence_hash", self.sentence_hashes, rows, rows + 1)

    def _check_all(self, *names: str) -> None:
        for name in names:
            if name in self._blocks:
                self._blocks[name].check_all()

    def _check_rows(self, name: str, array: NDArray[Any], starts: NDArray[Any], stops: NDArray[Any]) -> None:
        if name in self._blocks:
            self._blocks[name].check_ranges(starts * array.strides[0], stops * array.strides[0])

    def _checks(self) -> Iterator[tuple[str, bool]]:
        """Whether the arrays fit together, as far as their ends show; `rprs verify` reads them completely."""

        def complete(offsets: NDArray[Any], rows: int, size: int) -> bool:
            return offsets.shape == (rows + 1,) and int(offsets[0]) == 0 and int(offsets[-1]) == size

        sentences, vectors, phrases = len(self.spans), self.vectors, self.phrases
        stored = PRECISIONS[self._vector_type].stored
        yield from {
            "term_offsets": complete(self.term_offsets, len(self.term_hash), len(self.term_bytes)),
            "term_counts": self.term_counts is None or self.term_counts.shape == self.term_hash.shape,
            "posting_offsets": complete(self.posting_offsets, len(self.term_hash), len(self.posting_documents)),
            "posting_counts": self.posting_counts.shape == self.posting_documents.shape,
            "word_hashes": self.word_hashes is None or self.word_hashes.shape == self.lengths.shape,
            "sentence_offsets": complete(self.sentence_offsets, len(self.lengths), sentences),
            "spans": self.spans.shape == (sentences, 2),
            "paragraphs": self.paragraphs.shape == (sentences,),
            "sentence_hash": self.sentence_hashes is None or self.sentence_hashes.shape == (sentences, 2),
            "vectors": vectors is None or (vectors.dtype == stored and vectors.shape[:1] == (sentences,)),
            "phrase_directory": phrases is None or _valid_phrases(phrases),
        }.items()

    def _corrupt(self, name: str) -> IndexCorrupt:
        return IndexCorrupt(f"{name} of {self.place} is damaged: run `rprs verify {self.place.parents[1]}`")

    def word_hashes_of(self, ordinals: NDArray[Any]) -> NDArray[np.uint64] | None:
        """(o,): hashes of all words of some documents; None in a segment of an older version."""
        if self.word_hashes is not None:
            self._check_rows("word_hashes", self.word_hashes, ordinals, ordinals + 1)
        return None if self.word_hashes is None else self.word_hashes[ordinals]

    def sentences(self, ordinal: int) -> Sentences:
        """The sentences of one document, with their vectors where there are any."""
        if not self._sound[ordinal]:
            self.check_sentences(np.array([ordinal]))
        return self.checked_sentences(ordinal)

    def checked_sentences(self, ordinal: int) -> Sentences:
        """The same, after `check_sentences`."""
        rows = slice(int(self.sentence_offsets[ordinal]), int(self.sentence_offsets[ordinal + 1]))
        vectors = NOT_ENCODED if self.vectors is None else np.asarray(self.vectors[rows])
        return Sentences(self.spans[rows].astype(np.int64), np.asarray(self.paragraphs[rows]), vectors)

    def term(self, position: int) -> bytes:
        """The term at a position, in UTF-8."""
        return bytes(self.term_bytes[self.term_offsets[position] : self.term_offsets[position + 1]])

    def postings(self, terms: Terms) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the postings of each term start and stop; for an absent term, both are equal."""
        first, last, starts, stops = np.zeros((4, len(terms.hashes)), dtype=np.int64)
        self._check_all("term_hash")
        hash_places(self.term_hash, terms.hashes, first, last)
        self._check_terms(first, last)
        stored = (self.term_offsets, self.term_bytes, self.posting_offsets, len(self.posting_documents))
        damage = locate(first, last, *stored, terms.offsets, terms.bytes, starts, stops)
        if damage:
            raise self._corrupt("term_offsets" if damage == DAMAGED_TERMS else "posting_offsets")
        self._check_rows("posting_documents", self.posting_documents, starts, stops)
        self._check_rows("posting_counts", self.posting_counts, starts, stops)
        return starts, stops

    def _check_terms(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> None:
        """Check what is stored of the terms at these places, all but their postings."""
        if all(name in self._blocks and self._blocks[name].complete for name in _OF_TERMS) or not self._blocks:
            return
        present = last > first
        first, last = first[present], last[present]
        self._check_rows("term_offsets", self.term_offsets, first, last + 1)
        self._check_rows("posting_offsets", self.posting_offsets, first, last + 1)
        self._check_rows("term_bytes", self.term_bytes, self.term_offsets[first], self.term_offsets[last])

    def occurrences(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]:
        """(t,): how often all documents of the segment have each term, from where its postings start and stop."""
        places = np.searchsorted(self.posting_offsets, starts, side="right") - 1
        places = np.minimum(places, len(self.term_hash) - 1)
        if self.term_counts is not None:
            self._check_rows("term_counts", self.term_counts, places, places + 1)
        counts = self.counted if self.term_counts is None else self.term_counts
        return np.where(stops > starts, counts[places], 0)

    @cached_property
    def counted(self) -> NDArray[np.int64]:
        """(terms,): how often all documents have each term, counted in one pass where it is not stored."""
        self._check_all("posting_counts", "posting_offsets")
        return _sums_of(self.posting_counts, self.posting_offsets)


def _sums(sums: Mapping[str, bytes] | None, root: Path, path: str) -> bytes | None:
    """The sums of a file, none if they are not wanted; where they are, every file has some."""
    if sums is None:
        return None
    if path not in sums:
        raise IndexCorrupt(f"The checksums of {path} are missing: run `rprs verify {root}`")
    return sums[path]


def _is_there(sums: Mapping[str, bytes] | None, root: Path, path: str) -> bool:
    """Whether an index has a file that older ones do not have."""
    return (root / path).exists() if sums is None else path in sums


def open_phrases(root: Path, number: int, name: str = "phrase") -> Stream:
    """The phrases of a segment on disk."""
    directory, data = (load(root, f"{folder(number)}/{name}_{part}.npy") for part in ("directory", "data"))
    return Stream(directory, data)


def _valid_phrases(phrases: Stream) -> bool:
    """Whether the directory of the phrases fits their data, as far as its ends show."""
    buckets = len(phrases.directory) - 1
    types = [(array.dtype.str,) for array in (phrases.directory, phrases.data)]
    return (
        types == list(PHRASE_TYPES.values())
        and buckets >= 1
        and buckets.bit_count() == 1
        and (int(phrases.directory[0]), int(phrases.directory[-1])) == (0, len(phrases.data))
    )


def segment_arrays(entries: Sequence[Entry]) -> dict[str, NDArray[Any]]:
    """The arrays of a segment by name, all but its vectors and phrases."""
    return {**_postings(entries), **_sentences(entries)}


def segment_phrases(entries: Sequence[Entry], advance: Advance = no_op) -> Stream | None:
    """The phrases of a segment; None in an index without them."""
    sequences = [entry.sequence for entry in entries if entry.sequence is not None]
    return stream(sequences, advance) if len(sequences) == len(entries) else None


def write_arrays(root: Path, number: int, entries: Sequence[Entry], advance: Advance = no_op) -> list[File]:
    """Write the arrays of a new segment, all but its vectors; `advance` is called with each of the `ARRAYS`."""
    (root / folder(number)).mkdir(folder_mode(root), parents=True)
    files = []
    for name, array in segment_arrays(entries).items():
        files.append(save(root, f"{folder(number)}/{name}.npy", array))
        advance(1)
    phrases = segment_phrases(entries, advance)
    if phrases is not None:
        advance(1)
        files += write_phrases(root, number, phrases)
    return files


def write_phrases(root: Path, number: int, phrases: Stream, name: str = "phrase") -> list[File]:
    """Write the phrases of a segment."""
    arrays: dict[str, NDArray[Any]] = {"directory": phrases.directory, "data": phrases.data}
    return [save(root, f"{folder(number)}/{name}_{part}.npy", array) for part, array in arrays.items()]


def _sentences(entries: Sequence[Entry]) -> dict[str, NDArray[Any]]:
    counts = np.array([len(entry.sentences) for entry in entries], dtype=np.int64)
    return {
        "lengths": np.array([entry.length for entry in entries], dtype=np.int64),
        "word_hashes": np.array([entry.word_hash for entry in entries], dtype=np.uint64),
        "sentence_offsets": ends(counts),
        "spans": np.concatenate([np.empty((0, 2)), *(entry.sentences.spans for entry in entries)]).astype(np.uint32),
        "paragraphs": np.concatenate([np.empty(0), *(e.sentences.paragraphs for e in entries)]).astype(np.int32),
    }


def _postings(entries: Sequence[Entry]) -> dict[str, NDArray[Any]]:
    numbers = defaultdict[str, int](count().__next__)
    terms = np.fromiter(map(numbers.__getitem__, chain.from_iterable(entry.terms for entry in entries)), np.int64)
    documents = np.repeat(np.arange(len(entries), dtype=np.int32), [len(entry.terms) for entry in entries])
    counts = np.concatenate([np.empty(0, np.int64), *(entry.counts for entry in entries)])
    inverted = invert([term.encode() for term in numbers], terms, documents, counts)
    narrow = np.uint16 if int(counts.max(initial=0)) < 2**16 else np.uint32  # nearly always 16 bits
    return {
        "term_hash": inverted.hashes,
        "term_offsets": ends(inverted.sizes),
        "term_bytes": inverted.bytes,
        "term_counts": inverted.occurrences,
        "posting_offsets": ends(inverted.frequencies),
        "posting_documents": inverted.documents,
        "posting_counts": inverted.counts.astype(narrow),
    }


@dataclass(frozen=True, slots=True)
class Inverted:
    """Postings in the order of a segment: terms by hash, the documents of a term in the order of the input."""

    hashes: NDArray[np.uint64]
    sizes: NDArray[np.int64]  # bytes of each term
    bytes: NDArray[np.uint8]
    frequencies: NDArray[np.int64]  # postings of each term
    occurrences: NDArray[np.int64]  # of each term, in all documents
    documents: NDArray[np.int32]
    counts: NDArray[np.int64]


def invert(terms: Sequence[bytes], term: NDArray[Any], documents: NDArray[Any], counts: NDArray[Any]) -> Inverted:
    """Group postings (term number, document, count) by term; every term has at least one."""
    hashes = np.array([hash_term(encoded) for encoded in terms], dtype=np.uint64)
    by_hash = np.argsort(hashes, kind="stable")
    rank = np.empty(len(terms), dtype=np.int64)
    rank[by_hash] = np.arange(len(terms))
    place = rank[term]
    order = np.argsort(place, kind="stable")
    ordered = [terms[position] for position in by_hash]
    frequencies = np.bincount(place, minlength=len(terms)).astype(np.int64)
    return Inverted(
        hashes[by_hash],
        np.array([len(encoded) for encoded in ordered], dtype=np.int64),
        np.frombuffer(b"".join(ordered), dtype=np.uint8),
        frequencies,
        _sums_of(counts[order], ends(frequencies)),
        documents[order].astype(np.int32),
        counts[order].astype(np.int64),
    )


def _sums_of(counts: NDArray[Any], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum of each term's counts; every term has at least one."""
    return np.add.reduceat(counts, offsets[:-1], dtype=np.int64)


def ends(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Offsets from sizes: 0, then the end of each."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
