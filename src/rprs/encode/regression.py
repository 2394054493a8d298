"""One ridge regression from the tokens of sentences to the teacher's vectors of the sentences.

    min ‖X W − Y‖² + λ ‖W − W0‖²

X (sentences × tokens) is the sparse matrix of the shares of tokens in sentences, with higher weights for rare tokens,
and Y holds the teacher's vectors. The prior W0 is a linear map of the features of each token. Conjugate gradients on
the normal equations solve the regression for all dimensions at once; λ is chosen by the agreement with the teacher on
held-out sentences.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.encode.onnx import unit
from rprs.progress import Advance
from rprs.scoring.threads import cores

__all__ = ["HELD_OUT", "Settings", "add_rows", "agreement_on_held_out", "fit_rows", "map_linearly"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

HELD_OUT = 20  # one in so many sentences is held out


@dataclass(frozen=True, slots=True)
class Settings:
    """How strongly the regression is held back."""

    mapping: float  # the ridge of the map of the features, relative to the mean of their squares
    lambdas: tuple[float, ...]  # in descending order: the first after which the agreement falls is the last one tried
    steps: int = 10  # of conjugate gradients for each λ; the next λ starts from the solution of the last


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


def fit_rows(
    ids: Ints, offsets: Ints, targets: Floats, features: Floats, settings: Settings, advance: Advance
) -> tuple[Floats, dict[str, float | int]]:
    """The rows of the table and a report about them; `features` has a row for each token."""
    held = _held_out(len(targets))
    weights = _weights(ids, offsets, len(features))
    used, ids = np.unique(ids, return_inverse=True)  # only the vectors of these tokens can change
    training, held_out = (_Shares.of(*_select(ids, offsets, part), weights[used]) for part in (~held, held))
    goal, held_out_goal = targets[~held], targets[held]
    prior = map_linearly(training.times(features[used]), goal, features, settings.mapping)
    start = prior[used]
    gap = goal - training.times(start)
    change = np.zeros_like(start)
    fits: list[tuple[float, float, Floats]] = []
    for strength in settings.lambdas:
        change = _solve(training, gap, strength, change, settings.steps, advance)
        agreement = _agreement(held_out.times(start + change), held_out_goal)
        if fits and agreement < fits[-1][0]:
            break
        fits.append((agreement, strength, change))
    agreement, strength, change = fits[-1]
    prior[used] += change
    report = {"sample": len(targets), "held_out": int(held.sum()), "tokens": len(used), "lambda": strength}
    return weights[:, None] * prior, {**report, "agreement": round(agreement, 4)}


def agreement_on_held_out(rows: Floats, ids: Ints, offsets: Ints, targets: Floats) -> float:
    """The mean cosine with the targets of those sentences that a fit to all of them would hold out."""
    held = _held_out(len(targets))
    ids, offsets = _select(ids, offsets, held)
    return _agreement(add_rows(offsets, ids, np.ones(len(ids), dtype=np.float32), rows), targets[held])


def _held_out(number: int) -> NDArray[np.bool_]:
    held: NDArray[np.bool_] = np.arange(number) % HELD_OUT == HELD_OUT - 1
    return held


def _weights(ids: Ints, offsets: Ints, vocabulary: int) -> Floats:
    """The weight of a token: the logarithm of its rarity, slightly above zero for the most frequent tokens."""
    sentence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    pairs = np.unique(sentence * vocabulary + ids)
    frequency = np.bincount(pairs % vocabulary, minlength=vocabulary)
    return (np.log(len(offsets) / (frequency + 1)) + 0.3).astype(np.float32)


def _select(ids: Ints, offsets: Ints, chosen: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    lengths = np.diff(offsets)
    return ids[np.repeat(chosen, lengths)], np.concatenate([[0], np.cumsum(lengths[chosen])])


def map_linearly(inputs: Floats, goal: Floats, vectors: Floats, strength: float) -> Floats:
    """The vectors under the linear map that brings the inputs closest to the goal (least squares with a ridge)."""
    square = inputs.T.astype(np.float64) @ inputs
    square += np.eye(len(square)) * strength * np.trace(square) / len(square)
    return (vectors @ np.linalg.solve(square, inputs.T.astype(np.float64) @ goal)).astype(np.float32)


def _solve(shares: _Shares, goal: Floats, strength: float, start: Floats, steps: int, advance: Advance) -> Floats:
    """Preconditioned conjugate gradients for (XᵀX + λ) W = Xᵀ goal, independently for each column."""
    starts, _, values = shares.transposed
    squares = np.concatenate([[0], np.cumsum(values.astype(np.float64) ** 2)])
    scale = (1 / (np.diff(squares[starts]) + strength)).astype(np.float32)[:, None]
    solution = start.copy()
    residual = shares.transposed_times(goal - shares.times(solution)) - strength * solution
    step = scale * residual
    size = np.einsum("ij,ij->j", residual, step)
    for _ in range(steps):
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
