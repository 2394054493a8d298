"""A table of token vectors fitted to the collection: close to the transformer's vectors, at the speed of reading.

A transformer, the teacher, encodes a sample of the collection's sentences. Then one ridge regression finds the token
vectors W whose weighted mean over a sentence is closest to the teacher's vector of the sentence,

    min ‖X W − Y‖² + λ ‖W − W0‖²

where X (sentences × tokens) is the sparse matrix of the shares of tokens in sentences, with higher weights for rare
tokens, and Y holds the teacher's vectors. The prior W0 is the teacher's vector of each single token, mapped linearly
onto Y; a token that does not occur in the sample keeps its prior. Conjugate gradients on the normal equations solve the
regression for all dimensions at once. λ is chosen by the agreement with the teacher on held-out sentences, which is
reported.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.encode import Encoder, models
from rprs.encode.onnx import Onnx, scale_to_unit, unit
from rprs.encode.remembered import RememberedTokens, is_word_by_word, tokenize
from rprs.encode.sbert import SBert
from rprs.errors import IndexCorrupt, UsageError
from rprs.progress import Advance, Progress, no_op, silent
from rprs.scoring.threads import cores
from rprs.spec import Component, Kind, require, text

__all__ = ["Fitted", "Saved", "Table", "Teacher", "add_rows"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

LAMBDAS = (0.3, 0.1, 0.03)
STEPS = 10  # of conjugate gradients for each λ; the next λ starts from the solution of the last
HELD_OUT = 20  # one in so many sentences is held out
CHUNK = 8192  # sentences tokenised at a time


class Teacher(Encoder, Protocol):
    """An encoder that a table learns from: it provides its tokenizer and the vectors of single tokens."""

    @property
    def words(self) -> Any:
        """The tokenizer, an object of the package `tokenizers`."""

    def token_vectors(self, advance: Advance = no_op) -> Floats:
        """(vocabulary, dimension): the vector of each single token."""


@dataclass(frozen=True)
class Fitted(Component):
    """A token table fitted to the teacher's vectors of a sample of the collection's sentences.

    In the text form, the teacher may be just the name or folder of a model: `fitted(teacher=FOLDER)` uses onnx(FOLDER).
    """

    name: ClassVar[str] = "fitted"
    kinds: ClassVar[tuple[Kind, ...]] = ("encoder",)

    teacher: Onnx | SBert = field(default_factory=Onnx)
    sample: int = 10_000

    def __post_init__(self) -> None:
        require(self, "sample", self.sample >= 100, "an integer in [100, inf)")

    def fit(self, sentences: Sequence[str], progress: Progress = silent) -> Table:
        """The table for these sentences; the same sentences give the same table."""
        start = time.perf_counter()
        teacher: Teacher = self.teacher.load(progress)
        ids, offsets = tokenize(teacher.words, sentences)
        kept = np.flatnonzero(np.diff(offsets))  # a sentence without tokens is of no use
        if len(kept) < 2 * HELD_OUT:
            raise UsageError(
                f"fitted needs at least {2 * HELD_OUT} sentences to learn from. Got {len(kept)}; use onnx instead"
            )
        chosen = [sentences[number] for number in kept.tolist()]
        ids, offsets = tokenize(teacher.words, chosen)
        with progress("encoding single tokens with the teacher", teacher.words.get_vocab_size(), "tokens") as advance:
            alone = _token_vectors(teacher, advance)
        with progress("encoding a sample with the teacher", len(chosen), "sentences") as advance:
            targets = teacher.encode(chosen, advance)
        with progress("fitting the table", len(LAMBDAS) * STEPS, "steps") as advance:
            rows, results = _fit(ids, offsets, targets, alone, advance)
        report = {"teacher": text(self.teacher), "sample": len(chosen), **results}
        report["seconds"] = round(time.perf_counter() - start, 1)
        return Table(rows.astype(np.float16), teacher.words.to_str(), report)

    def open(self, folder: Path) -> Table:
        """The table saved by `Table.save`."""
        return Table.open(folder)


@dataclass(frozen=True)
class Saved(Component):
    """A table fitted earlier, by its folder, such as `encoders/000001` of another index."""

    folder: str
    name: ClassVar[str] = "table"
    kinds: ClassVar[tuple[Kind, ...]] = ("encoder",)

    def load(self, progress: Progress = silent) -> Table:
        """The table saved by `Table.save`."""
        return Table.open(Path(self.folder))


@dataclass(frozen=True)
class Table:
    """A fitted encoder: the vector of a sentence is the sum of its tokens' rows, scaled to unit length.

    The vector depends only on the text of the sentence, to the last bit.
    """

    rows: NDArray[np.float16] = field(repr=False)  # (vocabulary, dimension), each multiplied by the weight of its token
    tokenizer: str = field(repr=False)  # as JSON
    report: Mapping[str, float | int | str]

    @property
    def dimension(self) -> int:
        """The number of entries of a vector."""
        return int(self.rows.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the rows and the tokenizer."""
        digest = hashlib.sha256(self.tokenizer.encode())
        digest.update(np.ascontiguousarray(self.rows).view(np.uint8).data)
        return digest.hexdigest()[:16]

    @cached_property
    def words(self) -> Any:
        """The tokenizer."""
        from tokenizers import Tokenizer

        return Tokenizer.from_str(self.tokenizer)

    @cached_property
    def _table(self) -> Floats:
        return self.rows.astype(np.float32)

    @cached_property
    def _tokens(self) -> Callable[[Sequence[str]], tuple[Ints, Ints]]:
        """The token ids of texts, concatenated, and the offset of each text."""
        return RememberedTokens(self.words) if is_word_by_word(self.tokenizer) else partial(tokenize, self.words)

    def encode(self, sentences: Sequence[str], advance: Advance = no_op) -> Floats:
        """(m, dimension): one unit row per sentence, in the same order; a text without tokens has a zero row."""
        vectors = np.empty((len(sentences), self.dimension), dtype=np.float32)
        for start in range(0, len(sentences), CHUNK):
            ids, offsets = self._tokens(sentences[start : start + CHUNK])
            part = vectors[start : start + CHUNK]
            add_rows(offsets, ids, np.ones(len(ids), dtype=np.float32), self._table, part)
            scale_to_unit(part)
            advance(len(part))
        return vectors

    def save(self, folder: Path) -> None:
        """Write rows.npy, tokenizer.json and report.json into an existing folder."""
        np.save(folder / "rows.npy", self.rows)
        (folder / "tokenizer.json").write_text(self.tokenizer, encoding="utf-8")
        (folder / "report.json").write_text(json.dumps(dict(self.report), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The table saved by `save`; its rows are memory-mapped."""
        try:
            rows = np.load(folder / "rows.npy", mmap_mode="r")
            tokenizer = (folder / "tokenizer.json").read_text(encoding="utf-8")
            report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise IndexCorrupt(f"The fitted encoder in {folder} cannot be read: {error}; fit it again") from error
        return cls(rows, tokenizer, report)


# ---------------------------------------------------------------------------- tokens


def _token_vectors(teacher: Teacher, advance: Advance) -> Floats:
    """The teacher's vectors of single tokens, computed once per teacher and cached."""

    def make(file: Path) -> None:
        np.save(file, teacher.token_vectors(advance))

    vectors: Floats = np.load(models.derive(f"{teacher.fingerprint}-tokens.npy", make))
    return vectors


# ---------------------------------------------------------------------------- the regression


@dataclass(frozen=True)
class _Shares:
    """X, sentences × tokens, sparse, and its transpose."""

    offsets: Ints
    ids: Ints
    shares: Floats
    transposed: tuple[Ints, Ints, Floats]

    @classmethod
    def of(cls, ids: Ints, offsets: Ints, weights: Floats) -> Self:
        sentence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        shares = (weights[ids] / np.bincount(sentence, weights[ids])[sentence]).astype(np.float32)
        order = np.argsort(ids, kind="stable")
        starts = np.searchsorted(ids[order], np.arange(len(weights) + 1))
        return cls(offsets, ids, shares, (starts, sentence[order], shares[order]))

    def times(self, table: Floats) -> Floats:
        """X · table"""
        return add_rows(self.offsets, self.ids, self.shares, table)

    def transposed_times(self, rows: Floats) -> Floats:
        """Xᵀ · rows"""
        starts, sentences, shares = self.transposed
        return add_rows(starts, sentences, shares, rows)


def _fit(
    ids: Ints, offsets: Ints, targets: Floats, alone: Floats, advance: Advance
) -> tuple[Floats, dict[str, float | int]]:
    """The rows of the table and a report about them."""
    held = np.arange(len(targets)) % HELD_OUT == HELD_OUT - 1
    weights = _weights(ids, offsets, len(alone))
    used, ids = np.unique(ids, return_inverse=True)  # only the vectors of these tokens can change
    training, held_out = (_Shares.of(*_select(ids, offsets, part), weights[used]) for part in (~held, held))
    goal, held_out_goal = targets[~held], targets[held]
    prior = _map(training.times(alone[used]), goal, alone)
    start = prior[used]
    gap = goal - training.times(start)
    change = np.zeros_like(start)
    fits: list[tuple[float, float, Floats]] = []
    for strength in LAMBDAS:
        change = _solve(training, gap, strength, change, advance)
        agreement = _agreement(held_out.times(start + change), held_out_goal)
        if fits and agreement < fits[-1][0]:
            break
        fits.append((agreement, strength, change))
    agreement, strength, change = fits[-1]
    prior[used] += change
    report = {"held_out": int(held.sum()), "tokens": len(used), "lambda": strength, "agreement": round(agreement, 4)}
    return weights[:, None] * prior, report


def _weights(ids: Ints, offsets: Ints, vocabulary: int) -> Floats:
    """The weight of a token: the logarithm of its rarity, slightly above zero for the most frequent tokens."""
    sentence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    pairs = np.unique(sentence * vocabulary + ids)
    frequency = np.bincount(pairs % vocabulary, minlength=vocabulary)
    return (np.log(len(offsets) / (frequency + 1)) + 0.3).astype(np.float32)


def _select(ids: Ints, offsets: Ints, chosen: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    lengths = np.diff(offsets)
    return ids[np.repeat(chosen, lengths)], np.concatenate([[0], np.cumsum(lengths[chosen])])


def _map(inputs: Floats, goal: Floats, vectors: Floats) -> Floats:
    """The vectors under the linear map that brings the inputs closest to the goal (least squares)."""
    square = inputs.T.astype(np.float64) @ inputs
    square += np.eye(len(square)) * 1e-3 * np.trace(square) / len(square)
    return (vectors @ np.linalg.solve(square, inputs.T.astype(np.float64) @ goal)).astype(np.float32)


def _solve(shares: _Shares, goal: Floats, strength: float, start: Floats, advance: Advance) -> Floats:
    """Preconditioned conjugate gradients for (XᵀX + λ) W = Xᵀ goal, independently for each column."""
    starts, _, values = shares.transposed
    squares = np.concatenate([[0], np.cumsum(values.astype(np.float64) ** 2)])
    scale = (1 / (np.diff(squares[starts]) + strength)).astype(np.float32)[:, None]
    solution = start.copy()
    residual = shares.transposed_times(goal - shares.times(solution)) - strength * solution
    step = scale * residual
    size = np.einsum("ij,ij->j", residual, step)
    for _ in range(STEPS):
        image = shares.transposed_times(shares.times(step)) + strength * step
        length = size / np.maximum(np.einsum("ij,ij->j", step, image), 1e-30)
        solution += length * step
        residual -= length * image
        better = scale * residual
        new = np.einsum("ij,ij->j", residual, better)
        step = better + new / np.maximum(size, 1e-30) * step
        size = new
        advance(1)
    return solution


def _agreement(vectors: Floats, goal: Floats) -> float:
    return float(np.einsum("ij,ij->i", unit(vectors), unit(goal), dtype=np.float64).mean())


# ---------------------------------------------------------------------------- the kernel


def add_rows(offsets: Ints, ids: Ints, shares: Floats, table: Floats, out: Floats | None = None) -> Floats:
    """Row i is the sum of shares[j] · table[ids[j]] over offsets[i] ≤ j < offsets[i + 1], in that order."""
    if out is None:
        out = np.empty((len(offsets) - 1, table.shape[1]), dtype=np.float32)
    parts = min(4 * cores(), max(1, len(ids) // 4096))
    edges = np.searchsorted(offsets, np.linspace(0, len(ids), parts + 1)[1:-1])
    bounds = [0, *edges.tolist(), len(out)]
    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(lambda start, stop: _sum(offsets, ids, shares, table, out, start, stop), bounds, bounds[1:]))
    return out


@compiled
def _sum(offsets: Ints, ids: Ints, shares: Floats, table: Floats, out: Floats, start: int, stop: int) -> None:
    for i in range(start, stop):
        out[i] = 0
        for j in range(offsets[i], offsets[i + 1]):
            share, row = shares[j], ids[j]
            for k in range(table.shape[1]):
                out[i, k] += share * table[row, k]
