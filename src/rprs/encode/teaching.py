"""What a table learns from: the teacher's vectors of sentences, and of each of their tokens in its context.

A teacher that pools has a vector for each token of a sentence, which a table can learn from too: the beginnings of
4,500 sentences then teach as much as 10,000 whole ones without (docs/method.md). Fewer are enough where sentences are
so alike that more of them hardly teach anything.

What was learnt from 600 sentences, or 2,048 single tokens, is kept in the cache until the table is complete, so that a
fit that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rprs.encode import Encoder, models
from rprs.encode.onnx import frame
from rprs.encode.regression import HELD_OUT, Settings, add_rows, agreement_on_held_out, fit_rows, map_linearly
from rprs.encode.runtime import batches, in_threads
from rprs.files.atomic import write_atomically
from rprs.files.hashes import digest
from rprs.progress import Advance, no_op

__all__ = ["InContext", "Lessons", "Teacher", "encode", "encode_tokens", "forget", "teach"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Arrays = Mapping[str, NDArray[Any]]
InContext = Callable[[list[list[int]]], tuple[Floats, Floats]]
"""Token sequences of the same length → their unit vectors (b, d) and those of their tokens (b, l, e)."""

Item = TypeVar("Item")

PART = 30 * HELD_OUT  # sentences that are kept together: full batches need many of each length
TOKENS_PART = 2048  # single tokens that are kept together
LONGEST = 20  # tokens without special ones: more sentences teach more than longer ones for the same time
DAYS = 7  # after which the parts of a fit that was never resumed are deleted
FAMILIAR = 4  # occurrences from which the contexts of a token count as much as its vector without context
MAPPING = 1e-3  # the ridge of the map from vectors without context to those in context
STEADY = 5  # occurrences of a token beyond which it counts no more in that map
RISE = 0.01  # of the agreement when the sentences double, below which no more of them are encoded
CHECK, CHECKED = Settings(0.03, (0.3,), steps=3), 128  # how that is found out, from so many dimensions


class Teacher(Encoder, Protocol):
    """An encoder that a table learns from: it provides its tokenizer and the vectors of tokens."""

    @property
    def words(self) -> Any:
        """The tokenizer, an object of the package `tokenizers`."""

    @property
    def window(self) -> int:
        """The maximum number of input tokens, including special tokens."""

    @property
    def batch(self) -> int:
        """How many tokens of sentences of the same length it encodes at a time."""

    def token_vectors(self, tokens: Sequence[int], advance: Advance = no_op) -> Floats:
        """(tokens, dimension): the vector of each single token, by its number in the vocabulary."""

    def in_context(self) -> InContext | None:
        """A function to the vectors of sentences and of each of their tokens; None if it has only the former."""


@dataclass(frozen=True, slots=True)
class Lessons:
    """What sentences teach about some tokens. Held-out ones do not contribute to `sums` and `counts`."""

    ids: Ints  # the tokens of all sentences, without special ones, by their places among those tokens
    offsets: Ints  # where those of each sentence start
    vectors: Floats  # (sentences, d), unit rows
    sums: Floats  # (tokens, e): the sum of each token's vectors in context
    counts: NDArray[np.float32]  # (tokens,)

    @classmethod
    def of(cls, parts: Sequence[Arrays], tokens: Ints, dimensions: int | None = None) -> Self:
        """What parts of the sentences teach about these tokens, ascending, in the first dimensions or in all."""
        lengths = np.concatenate([part["lengths"] for part in parts])
        sums = np.zeros((len(tokens), parts[0]["sums"][:, :dimensions].shape[1]), dtype=np.float32)
        counts = np.zeros(len(tokens), dtype=np.float32)
        for part in parts:
            places = np.searchsorted(tokens, part["tokens"])
            sums[places] += part["sums"][:, :dimensions]
            counts[places] += part["counts"]
        return cls(
            np.searchsorted(tokens, np.concatenate([part["ids"] for part in parts])),
            np.concatenate([[0], np.cumsum(lengths)]),
            np.concatenate([part["vectors"][:, :dimensions] for part in parts]),
            sums,
            counts,
        )

    def features(self, alone: Floats) -> Floats:
        """(tokens, e): the mean vector of each token in context; for a rare one, nearer to what `alone` says."""
        seen = self.counts > 0
        weights = np.sqrt(np.minimum(self.counts[seen], STEADY))[:, None]
        means = self.sums[seen] / self.counts[seen][:, None]
        expected = map_linearly(alone[seen] * weights, means * weights, alone, MAPPING)
        features: Floats = (self.sums + FAMILIAR * expected) / (self.counts + FAMILIAR)[:, None]
        return features


def forget(files: Sequence[Path]) -> None:
    """Delete the parts of a fit that is complete, and those of fits that were never resumed."""
    with suppress(OSError):
        old = time.time() - DAYS * 24 * 3600
        for file in (*files, *(each for each in _folder().iterdir() if each.stat().st_mtime < old)):
            file.unlink(missing_ok=True)


def encode(teacher: Teacher, sentences: Sequence[str], advance: Advance) -> tuple[Floats, list[Path]]:
    """The teacher's vectors of sentences, and the files of the parts."""
    parts = list(_in_parts(sentences, PART, [teacher.fingerprint, "vectors"], partial(_encode, teacher), advance))
    return np.concatenate([part["vectors"] for part, _ in parts]), [file for _, file in parts]


def _encode(teacher: Teacher, sentences: list[str], advance: Advance) -> Arrays:
    return {"vectors": teacher.encode(sentences, advance)}


def encode_tokens(teacher: Teacher, advance: Advance) -> Floats:
    """The teacher's vectors of all single tokens, computed once per teacher and cached."""
    files: list[Path] = []

    def make(file: Path) -> None:
        tokens = range(teacher.words.get_vocab_size())
        key = [teacher.fingerprint, "tokens"]
        parts = list(_in_parts(tokens, TOKENS_PART, key, partial(_encode_tokens, teacher), advance))
        np.save(file, np.concatenate([part["vectors"] for part, _ in parts]))
        files.extend(file for _, file in parts)

    vectors: Floats = np.load(models.derive(f"{teacher.fingerprint}-tokens.npy", make))
    forget(files)
    return vectors


def _encode_tokens(teacher: Teacher, tokens: list[int], advance: Advance) -> Arrays:
    return {"vectors": teacher.token_vectors(tokens, advance)}


def teach(
    teacher: Teacher, in_context: InContext, sentences: Sequence[str], alone: Floats, advance: Advance
) -> tuple[Lessons, list[Path]]:
    """What a teacher has to say about sentences, each with at least one token, and the files of the parts.

    It is asked for no more of them once their number has doubled and the agreement has hardly risen.
    """
    key = [teacher.fingerprint, LONGEST, HELD_OUT]
    parts: list[Arrays] = []
    files: list[Path] = []
    for part, file in _in_parts(sentences, PART, key, partial(_learn, teacher, in_context), advance):
        parts.append(part)
        files.append(file)
        taught = len(parts) * PART
        doubled = len(parts) > 1 and len(parts).bit_count() == 1
        if doubled and taught < len(sentences) and _rise(parts, alone) < RISE:
            advance(len(sentences) - taught)
            break
    return Lessons.of(parts, np.arange(len(alone))), files


def _rise(parts: Sequence[Arrays], alone: Floats) -> float:
    """How much the agreement of a quick fit rises from the first half of the parts to all of them.

    Both are measured on the held-out sentences of all parts.
    """
    tokens = np.unique(np.concatenate([part["ids"] for part in parts]))
    half, every = (Lessons.of(some, tokens, CHECKED) for some in (parts[: len(parts) // 2], parts))
    agreements = []
    for some in (half, every):
        features = some.features(alone[tokens, :CHECKED])
        rows, _ = fit_rows(some.ids, some.offsets, some.vectors, features, CHECK, no_op)
        agreements.append(agreement_on_held_out(rows, every.ids, every.offsets, every.vectors))
    return agreements[1] - agreements[0]


def _learn(teacher: Teacher, in_context: InContext, sentences: list[str], advance: Advance) -> Arrays:
    """The tokens and vectors of sentences, and the sums and counts of the tokens in those that are not held out."""
    before, after = frame(teacher.words)
    room = min(LONGEST, teacher.window - len(before) - len(after))
    encodings = teacher.words.encode_batch_fast(sentences, add_special_tokens=False)
    ids = [encoding.ids[:room] for encoding in encodings]
    lengths = np.array([len(each) for each in ids], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    vectors, contexts = np.empty((0, 0), dtype=np.float32), np.empty((0, 0), dtype=np.float32)
    framed = [[*before, *each, *after] for each in ids]
    for numbers, (own, tokens) in in_threads(
        lambda numbers: in_context([framed[number] for number in numbers]), batches([*map(len, framed)], teacher.batch)
    ):
        if not len(vectors):
            vectors = np.empty((len(ids), own.shape[1]), dtype=np.float32)
            contexts = np.empty((int(offsets[-1]), tokens.shape[2]), dtype=np.float32)
        tokens = tokens / np.linalg.norm(tokens.mean(axis=1), axis=1)[:, None, None]  # whose mean is a unit vector
        vectors[numbers] = own
        for number, rows in zip(numbers, tokens, strict=True):
            contexts[offsets[number] : offsets[number + 1]] = rows[len(before) : len(before) + lengths[number]]
        advance(len(numbers))
    every = np.concatenate([np.array(each, dtype=np.int64) for each in ids])
    used = np.flatnonzero(np.repeat(np.arange(len(ids)) % HELD_OUT != HELD_OUT - 1, lengths))
    order = used[np.argsort(every[used], kind="stable")]
    tokens_used, counts = np.unique(every[used], return_counts=True)
    starts = np.concatenate([[0], np.cumsum(counts)])
    sums = add_rows(starts, order, np.ones(len(order), dtype=np.float32), contexts)
    return {
        "ids": every,
        "lengths": lengths,
        "vectors": vectors,
        "tokens": tokens_used,
        "sums": sums,
        "counts": counts,
    }


# ---------------------------------------------------------------------------- parts on disk


def _folder() -> Path:
    return models.cache_folder() / "lessons"


def _in_parts(
    items: Sequence[Item], size: int, key: list[Any], learn: Callable[[list[Item], Advance], Arrays], advance: Advance
) -> Iterator[tuple[Arrays, Path]]:
    """What is learnt from each part of the items, and the file where it is kept; `advance` counts items."""
    for start in range(0, len(items), size):
        part = list(items[start : start + size])
        file = _folder() / f"{digest([*key, part])}.npz"
        advanced: list[int] = []

        def count(number: int, advanced: list[int] = advanced) -> None:
            advanced.append(number)
            advance(number)

        learnt = _kept(file, partial(learn, part, count))
        advance(len(part) - sum(advanced))
        yield learnt, file


def _kept(file: Path, compute: Callable[[], Arrays]) -> Arrays:
    """The arrays in a file, or else computed and, where the cache can be written, kept."""
    with (
        suppress(OSError, EOFError, ValueError, zipfile.BadZipFile),
        np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as stored,
    ):
        return {name: stored[name] for name in stored.files}
    arrays = compute()
    packed = io.BytesIO()
    np.savez(packed, **arrays)  # type: ignore[arg-type]  # no array is named allow_pickle
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, packed.getvalue())
    return arrays
