"""R_n over a whole collection: the n most similar sentences of all documents, which are read one after the other.

The documents come in the order in which they are stored, which depends on the history of the index; the pool is
numbered in another order, that of their ids. Each sentence therefore carries its key in the pool (see
`scoring.neighbours`), and the result is bit-identical to that of `neighbours` over the same pool in memory.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rprs.document import Neighbours, Sentences
from rprs.progress import Advance, no_op
from rprs.scoring.aligned import Block, Plan, Visit, scan
from rprs.scoring.coarse import lists_for
from rprs.scoring.lists import POOL_ROWS, NearestLists
from rprs.scoring.neighbours import merge, sentences_of_keys, tie_keys
from rprs.scoring.vectors import precision_of
from rprs.scoring.widening import Vectors, widen

__all__ = ["WHOLE_PLAN", "restrict", "whole_neighbours"]

Ints = NDArray[np.int64]

WHOLE_PLAN = Plan(chunk=8 * POOL_ROWS)  # blocks are then nearly of POOL_ROWS: smaller ones are multiplied more slowly


def whole_neighbours(
    query: Vectors,
    documents: Iterable[Sentences],
    places: Ints,
    lengths: Ints,
    n: int,
    *,
    priority: Ints | None = None,
    plan: Plan = WHOLE_PLAN,
    advance: Advance = no_op,
) -> Neighbours:
    """The n nearest sentences of a pool of k documents for each of m query sentences (m, dimension).

    `lengths` (k,) are the documents' numbers of sentences in the order of the pool. `documents` are those with
    sentences, in any order, and `places` are their places in the pool. Among equally similar sentences, the one of the
    document with the smallest `priority` comes first, by default that of the first document in the pool, then the
    earlier one. `advance` counts processed sentences.
    """
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    width = min(n, int(offsets[-1]))
    if width == 0 or len(query) == 0:
        empty = np.empty((len(query), width))
        return Neighbours(empty.astype(precision_of(query).wide), empty.astype(np.int64), offsets)
    stops = np.cumsum(lengths[places])  # in the order of the pass
    moves = offsets[places] - (stops - lengths[places])  # from a number in the pass to that in the pool
    wide = widen(query)
    kind = lists_for(wide, int(offsets[-1]))
    lists = [kind(wide, width, plan.block) for _ in range(plan.workers)]

    def visit(own: NearestLists) -> Visit:
        def update(block: Block, _values: NDArray[np.float64]) -> None:
            number = np.arange(block.first, block.first + len(block.vectors))
            sentence = number + moves[np.searchsorted(stops, number, side="right")]
            own.update(block.vectors, tie_keys(sentence, offsets, priority))

        return update

    scan(documents, [visit(own) for own in lists], 0, plan=plan, advance=advance)
    similarity, keys = merge([own.similarity for own in lists], [own.keys for own in lists], width)
    return Neighbours(similarity, sentences_of_keys(keys, offsets), offsets)


def restrict(nearest: Neighbours) -> tuple[Neighbours, Ints]:
    """The same neighbours over a pool of only the documents that have any, and the places of these in the old pool."""
    places = np.unique(nearest.document)
    lengths = np.diff(nearest.offsets)[places]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    moves = offsets[:-1] - nearest.offsets[places]
    sentence = nearest.sentence + moves[np.searchsorted(places, nearest.document)]
    return Neighbours(nearest.similarity, sentence, offsets), places
