"""Collections of drawn words, and an index of them, written as arrays: a text for each document would take minutes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.document import Document
from rprs.index import Index, Writer
from rprs.index.files import save, sync_place
from rprs.index.rows import SegmentRow
from rprs.index.segment import ends, folder, hash_term, write_phrases
from rprs.scoring.phrases import stream

__all__ = ["SHARES", "VOCABULARY", "Drawn", "draw", "first_distinct", "postings", "write_index"]

VOCABULARY = 200_000

Ints = NDArray[np.int64]
_WEIGHTS = 1 / (np.arange(VOCABULARY) + 2.7)  # Zipf–Mandelbrot
SHARES = _WEIGHTS / _WEIGHTS.sum()  # of each word among all words
_CUMULATED = np.cumsum(SHARES)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Documents of equal length as arrays of word numbers; the text form of word 7 is "w7"."""

    documents: NDArray[np.int32]  # (documents, words)
    words: list[str]

    @classmethod
    def of_size(cls, documents: int, words: int) -> Drawn:
        """So many documents of so many words; the same each time."""
        random = np.random.default_rng(0)
        drawn = np.concatenate([draw(random, min(1000, documents - at), words) for at in range(0, documents, 1000)])
        return cls(drawn, [f"w{number}" for number in range(VOCABULARY)])

    def text(self, numbers: NDArray[Any]) -> str:
        """A text of these words."""
        return " ".join(self.words[number] for number in numbers.tolist())


def draw(random: np.random.Generator, *shape: int) -> NDArray[np.int32]:
    """Numbers of words, the frequent ones first."""
    return np.minimum(np.searchsorted(_CUMULATED, random.random(shape)), VOCABULARY - 1).astype(np.int32)


def first_distinct(numbers: NDArray[np.int32], count: int) -> NDArray[np.int32]:
    """The first distinct words, in the order of their first occurrence."""
    _, first = np.unique(numbers, return_index=True)
    return numbers[np.sort(first)[:count]]


def write_index(path: Path, collection: Drawn, *, phrases: bool = False) -> Index:
    """An index of one segment on disk; its documents have words, but no sentences."""
    writer = _ArrayWriter(
        path, create=True, analyzer="words(language=none)", encoder="hashed(dimension=8)", phrases=phrases
    )
    with writer:
        writer.add([])
        writer.write(collection, phrases)
        writer.finish()
    return Index(path)


class _ArrayWriter(Writer):
    def write(self, collection: Drawn, phrases: bool) -> None:
        """Commit one segment, with the vectors of no sentence."""
        hashes = np.array([hash_term(word.encode()) for word in collection.words], dtype=np.uint64)
        arrays = postings(collection, hashes) | _no_sentences(collection)
        number, (size, length) = self.catalog.next_segment(), collection.documents.shape
        with self._change():
            (self.path / folder(number)).mkdir(parents=True)
            files = [save(self.path, f"{folder(number)}/{name}.npy", array) for name, array in arrays.items()]
            if phrases:
                files += write_phrases(self.path, number, stream(list(hashes[collection.documents])))
            sync_place(self.path, folder(number))
            with self.catalog.transaction():
                self.catalog.forget_statistics()
                self.catalog.add_segment(SegmentRow(number, size, 0, size * length, None), files)
                for ordinal in range(size):
                    document = Document(f"{ordinal:06d}", f"document {ordinal}")
                    self.catalog.add_document(document, (number, ordinal), (length, 0))


def postings(collection: Drawn, hashes: NDArray[np.uint64]) -> dict[str, NDArray[Any]]:
    """The postings of a segment, as its arrays by name."""
    size, length = collection.documents.shape
    by_hash = np.argsort(hashes, kind="stable")
    rank = np.empty(len(by_hash), dtype=np.int64)
    rank[by_hash] = np.arange(len(by_hash))
    keys = (rank[collection.documents.ravel()] << 32) | np.arange(size).repeat(length)
    keys.sort()
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    counts = np.diff(np.append(first, len(keys)))
    keys = keys[first]
    terms, frequencies = np.unique(keys >> 32, return_counts=True)
    encoded = [collection.words[number].encode() for number in by_hash[terms].tolist()]
    return {
        "term_hash": hashes[by_hash[terms]],
        "term_offsets": ends(np.array([len(term) for term in encoded])),
        "term_bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        "posting_offsets": ends(frequencies),
        "posting_documents": keys.astype(np.uint32).view(np.int32),
        "posting_counts": counts.astype(np.uint16),
    }


def _no_sentences(collection: Drawn) -> dict[str, NDArray[Any]]:
    size, length = collection.documents.shape
    return {
        "lengths": np.full(size, length, dtype=np.int64),
        "sentence_offsets": np.zeros(size + 1, dtype=np.int64),
        "spans": np.empty((0, 2), dtype=np.uint32),
        "paragraphs": np.empty(0, dtype=np.int32),
    }
