"""How common passages are in a collection, by the phrases of two and three terms that its index has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rprs.index import Index
from rprs.index.segment import term_hashes
from rprs.rank.grams import phrase_frequencies
from rprs.scoring.logarithms import log
from rprs.scoring.phrases import phrase_hashes

__all__ = ["Commonness", "commonness"]


@dataclass(frozen=True, slots=True)
class Commonness:
    """Of each of p passages: how many documents have most of it, and how distinct its phrases are, from 0 to 1."""

    documents: NDArray[np.int64]  # (p,): most of its phrases are in at least so many documents
    phrases: NDArray[np.int64]  # (p,): the number of its phrases
    distinctness: NDArray[np.float64]  # (p,): the mean of log(N / documents) / log(N) over its phrases


def commonness(passages: Sequence[str], index: Index) -> Commonness:
    """How common passages are; without phrases in the index, none counts as common."""
    most, counts = np.zeros(len(passages), dtype=np.int64), np.zeros(len(passages), dtype=np.int64)
    distinctness = np.ones(len(passages), dtype=np.float64)
    if not index.has_phrases or not len(index):
        return Commonness(most, counts, distinctness)
    phrases, bounds = _phrases([index.analyzer.terms(passage) for passage in passages])
    distinct, inverse = np.unique(phrases, return_inverse=True)
    frequencies = phrase_frequencies(distinct, index)[inverse]
    scale = float(log(max(len(index), 2)))
    rarity = np.clip(1 - log(np.maximum(frequencies, 1)) / scale, 0, 1)
    counts = np.diff(bounds)
    some = np.flatnonzero(counts)
    if len(some):
        ordered = frequencies[np.lexsort((frequencies, np.repeat(np.arange(len(counts)), counts)))]
        most[some] = ordered[(bounds[:-1] + (counts - 1) // 2)[some]]  # the lower median of each
        places = bounds.tolist()
        sums = [np.add.reduce(rarity[places[number] : places[number + 1]]) for number in some.tolist()]
        distinctness[some] = sums / counts[some]
    return Commonness(most, counts, distinctness)


def _phrases(passages: Sequence[Sequence[str]]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The phrases of three terms of all passages, and where those of each start; of two terms, the phrase of both."""
    sizes = np.array([len(terms) for terms in passages], dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    pairs, triples = phrase_hashes(term_hashes([term for terms in passages for term in terms]))
    counts = np.where(sizes > 2, sizes - 2, sizes == 2)
    own = [
        triples[start : start + size - 2] if size > 2 else pairs[start : start + size // 2]
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
    ]
    return np.concatenate([np.empty(0, np.uint32), *own]), np.append(0, np.cumsum(counts))
