"""MaxSim over sentence vectors, and the cosine of mean-pooled documents: the usual baselines.

    query(d)    = mean over the query's sentences of the greatest cosine to the document's  (ColBERT's sum over m)
    document(d) = mean over the document's sentences of the greatest cosine to the query's
    both(d)     = the mean of the two

In the query's direction, MaxSim equals SDR of documents with a single paragraph. A document without sentences scores
−1, the lowest possible value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.document import Sentences
from rprs.progress import Advance, no_op
from rprs.scoring.aligned import DEFAULT_PLAN, DOCUMENT, Block, Fold, Plan, Visit, multiply, scan
from rprs.scoring.lists import Wide
from rprs.scoring.sdr import Alignment, Statistics
from rprs.scoring.widening import Vectors, widen

__all__ = ["Direction", "best_sentences", "maxsim", "meanpool"]

Direction = Literal["query", "document", "both"]
Floats = NDArray[np.float64]


def maxsim(
    query: Vectors,
    documents: Iterable[Sentences],
    direction: Direction = "query",
    advance: Advance = no_op,
    *,
    plan: Plan = DEFAULT_PLAN,
) -> Floats:
    """(k,): the score of every document, for the vectors (m, dimension) of a query with at least one sentence.

    `advance` counts processed sentences.
    """
    one_paragraph, wide = np.array([len(query)]), widen(query)

    def folds() -> list[Fold]:
        each: dict[Direction, Fold] = {
            "query": Alignment(wide, one_paragraph, Statistics.none(1), plan, level=DOCUMENT),
            "document": _Best(wide, plan, _add),
        }
        return list(each.values()) if direction == "both" else [each[direction]]

    visits = [multiply(wide, folds(), plan) for _ in range(plan.workers)]
    scanned = scan(documents, visits, 2, plan=plan, advance=advance)
    of_query, of_document = scanned.values[:, 0], scanned.values[:, 1] / np.maximum(scanned.sizes, 1)
    scores = {"query": of_query, "document": of_document, "both": (of_query + of_document) / 2}[direction]
    return np.where(scanned.sizes > 0, scores, -1.0)


def best_sentences(
    query: Vectors,
    documents: Iterable[Sentences],
    top: int,
    advance: Advance = no_op,
    *,
    plan: Plan = DEFAULT_PLAN,
) -> Floats:
    """(k, top): the scores of every document's best sentences, in descending order; 0 where it has fewer.

    The score of a sentence is its greatest cosine to a sentence of the query, which has at least one.
    """
    wide = widen(query)
    visits = [multiply(wide, [_Best(wide, plan, _insert)], plan) for _ in range(plan.workers)]
    scanned = scan(documents, visits, top, -np.inf, plan=plan, advance=advance)
    return np.where(np.arange(top) < scanned.sizes[:, None], scanned.values, 0.0)


def meanpool(
    query: Vectors,
    documents: Iterable[Sentences],
    advance: Advance = no_op,
    *,
    plan: Plan = DEFAULT_PLAN,
) -> Floats:
    """(k,): the cosine of the mean vectors of the query and of every document; 0 where one of the means is zero."""
    query_sum = query.astype(np.float64).sum(axis=0)  # (dimension,)

    def visit() -> Visit:
        running = np.zeros_like(query_sum)
        return lambda block, values: _pool(block.vectors, block.ends, block.owner, query_sum, running, values)

    scanned = scan(documents, [visit() for _ in range(plan.workers)], 1, plan=plan, advance=advance)
    return np.where(scanned.sizes > 0, scanned.values[:, 0], -1.0)


class _Best:
    """Folds products into the greatest product of every document sentence, and passes these on to `collect`."""

    def __init__(self, query: Wide, plan: Plan, collect: Callable[[Wide, Block, Floats], None]) -> None:
        self._rows, self._collect = len(query), collect
        self._best = np.empty(plan.block, dtype=query.dtype)

    def __call__(self, products: Wide, top: int, block: Block, values: Floats) -> None:
        best = self._best[: len(products)]
        if top == 0:
            best[:] = -np.inf
        _greatest(products, best)
        if top + products.shape[1] == self._rows:
            self._collect(best, block, values)


def _add(best: Wide, block: Block, values: Floats) -> None:
    """Add the scores of sentences to their document's, in column 1 of the values, in the order of the sentences."""
    _add_up(best, block.owner, values[:, 1])


def _insert(best: Wide, block: Block, values: Floats) -> None:
    """Insert the scores of sentences into their document's list of the greatest, in descending order."""
    _keep(best, block.owner, values)


@compiled
def _add_up(best, owner, totals):  # type: ignore[no-untyped-def]
    for sentence in range(best.size):
        totals[owner[sentence]] += np.float64(best[sentence])


@compiled
def _keep(best, owner, values):  # type: ignore[no-untyped-def]
    for sentence in range(best.size):
        greatest, score = values[owner[sentence]], np.float64(best[sentence])
        for place in range(greatest.size):
            if score > greatest[place]:
                greatest[place], score = score, greatest[place]


@compiled(fastmath={"nnan", "nsz"})
def _greatest(products, best):  # type: ignore[no-untyped-def]
    """best[s] = max(best[s], the products of document sentence s)."""
    for row in range(products.shape[0]):
        greatest = best[row]
        for column in range(products.shape[1]):
            greatest = max(greatest, products[row, column])
        best[row] = greatest


@compiled
def _pool(vectors, ends, owner, query, running, values):  # type: ignore[no-untyped-def]
    """Cosines from sums of vectors, which have the direction of the means.

    The sums are exact; their products are added in the order of the dimensions, since those of float32 vectors are not.
    """
    for row in range(vectors.shape[0]):
        for column in range(query.size):
            running[column] += vectors[row, column]
        if ends[row] == DOCUMENT:
            product, squares, others = 0.0, 0.0, 0.0
            for column in range(query.size):
                product += running[column] * query[column]
                squares += running[column] * running[column]
                others += query[column] * query[column]
            values[owner[row], 0] = product / np.sqrt(squares * others) if squares * others > 0 else 0.0
            running[:] = 0.0
