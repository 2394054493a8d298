"""What a table learns from: the teacher's vectors of sentences, and of each of their tokens in its context.

A teacher that pools has a vector for each token of a sentence, which a table can learn from too: the beginnings of
4,500 sentences then teach as much as 10,000 whole ones without (docs/method.md). What was learnt from 1,500 sentences,
or 2,000 without their tokens, is kept in the cache until the table is complete, so that a fit that was interrupted goes
on where it stopped.
"""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rprs.encode import Encoder, models
from rprs.encode.onnx import frame
from rprs.encode.regression import HELD_OUT, add_rows, map_linearly
from rprs.encode.runtime import batches, in_threads
from rprs.files.atomic import write_atomically
from rprs.files.hashes import digest
from rprs.progress import Advance, no_op

__all__ = ["InContext", "Lessons", "Teacher", "encode", "forget", "teach"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Arrays = Mapping[str, NDArray[Any]]
InContext = Callable[[list[list[int]]], tuple[Floats, Floats]]
"""Token sequences of the same length → their unit vectors (b, d) and those of their tokens (b, l, e)."""

PART = 75 * HELD_OUT  # sentences that are kept together: full batches need many of each length
VECTORS_PART = 100 * HELD_OUT  # the same where only their own vectors are kept
LONGEST = 20  # tokens without special ones: more sentences teach more than longer ones for the same time
DAYS = 7  # after which the parts of a fit that was never resumed are deleted
FAMILIAR = 4  # occurrences from which the contexts of a token count as much as its vector without context
MAPPING = 1e-3  # the ridge of the map from vectors without context to those in context
STEADY = 5  # occurrences of a token beyond which it counts no more in that map


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

    def token_vectors(self, advance: Advance = no_op) -> Floats:
        """(vocabulary, dimension): the vector of each single token."""

    def in_context(self) -> InContext | None:
        """A function to the vectors of sentences and of each of their tokens; None if it has only the former."""


@dataclass(frozen=True, slots=True)
class Lessons:
    """What sentences teach. Held-out ones do not contribute to `sums` and `counts`."""

    ids: Ints  # the tokens of all sentences, without special ones
    offsets: Ints  # where those of each sentence start
    vectors: Floats  # (sentences, d), unit rows
    sums: Floats  # (vocabulary, e): the sum of each token's vectors in context
    counts: NDArray[np.float32]  # (vocabulary,)
    files: Sequence[Path]  # of the parts

    def features(self, alone: Floats) -> Floats:
        """(vocabulary, e): the mean vector of each token in context; for a rare one, nearer to what `alone` says."""
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
    key = [teacher.fingerprint, "vectors"]
    parts, files = _in_parts(sentences, VECTORS_PART, key, partial(_encode, teacher), advance)
    return np.concatenate([part["vectors"] for part in parts]), files


def _encode(teacher: Teacher, sentences: list[str], advance: Advance) -> Arrays:
    return {"vectors": teacher.encode(sentences, advance)}


def teach(teacher: Teacher, in_context: InContext, sentences: Sequence[str], advance: Advance) -> Lessons:
    """What a teacher has to say about sentences, each with at least one token."""
    words = teacher.words
    key = [teacher.fingerprint, LONGEST, HELD_OUT]
    parts, files = _in_parts(sentences, PART, key, partial(_learn, teacher, in_context), advance)
    lengths = np.concatenate([part["lengths"] for part in parts])
    sums = np.zeros((words.get_vocab_size(), parts[0]["sums"].shape[1]), dtype=np.float32)
    counts = np.zeros(len(sums), dtype=np.float32)
    for learnt in parts:
        sums[learnt["tokens"]] += learnt["sums"]
        counts[learnt["tokens"]] += learnt["counts"]
    return Lessons(
        np.concatenate([part["ids"] for part in parts]),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([part["vectors"] for part in parts]),
        sums,
        counts,
        files,
    )


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
    sentences: Sequence[str], size: int, key: list[Any], learn: Callable[[list[str], Advance], Arrays], advance: Advance
) -> tuple[list[Arrays], list[Path]]:
    """What is learnt from each part of the sentences, and the files where it is kept; `advance` counts sentences."""
    parts: list[Arrays] = []
    files: list[Path] = []
    for start in range(0, len(sentences), size):
        part = list(sentences[start : start + size])
        file = _folder() / f"{digest([*key, part])}.npz"
        advanced: list[int] = []

        def count(number: int, advanced: list[int] = advanced) -> None:
            advanced.append(number)
            advance(number)

        parts.append(_kept(file, partial(learn, part, count)))
        files.append(file)
        advance(len(part) - sum(advanced))
    return parts, files


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
