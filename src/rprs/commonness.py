"""How common passages are in a collection, by the phrases of two and three terms that its index has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.index import Index
from rprs.index.segment import term_hashes
from rprs.index.term_numbers import term_numbers
from rprs.rank.grams import phrase_frequencies
from rprs.scoring.distinct import distinct
from rprs.scoring.logarithms import log
from rprs.scoring.phrases import hash_pair, hash_triple
from rprs.scoring.sorting import ascending
from rprs.text.analyze import Words

__all__ = ["Commonness", "commonness"]


@dataclass(frozen=True, slots=True)
class Commonness:
    """Of each of p passages: how many documents have most of it, and how distinct its phrases are, from 0 to 1."""

    documents: NDArray[np.int64]  # (p,): most of its phrases are in at least so many documents
    phrases: NDArray[np.int64]  # (p,): the number of its phrases
    distinctness: NDArray[np.float64]  # (p,): the mean of log(N / documents) / log(N) over its phrases


def commonness(passages: Sequence[str], index: Index) -> Commonness:
    """How common passages are; without phrases in the index, none counts as common."""
    most = np.zeros(len(passages), dtype=np.int64)
    distinctness = np.ones(len(passages), dtype=np.float64)
    if not index.has_phrases or not len(index):
        return Commonness(most, np.zeros_like(most), distinctness)
    hashes, sizes = _term_hashes(passages, index)
    phrases, bounds = _phrases(hashes, sizes)
    different, numbers, _ = distinct(phrases)
    frequencies = phrase_frequencies(different, index)
    scale = float(log(max(len(index), 2)))
    rarity = np.clip(1 - log(np.maximum(frequencies, 1)) / scale, 0, 1)
    _summarise(numbers, bounds, frequencies, rarity, most, distinctness)
    return Commonness(most, np.diff(bounds), distinctness)


def _term_hashes(passages: Sequence[str], index: Index) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The hashes of the terms of all passages, and how many each has."""
    analyzer = index.analyzer
    if isinstance(analyzer, Words):  # the terms of a text are those of what is between its white space
        return term_numbers(analyzer).hash_all(passages)
    own = [term_hashes(analyzer.terms(passage)) for passage in passages]
    none = np.empty(0, dtype=np.uint64)
    return np.concatenate([none, *own]), np.array(list(map(len, own)), dtype=np.int64)


# ---------------------------------------------------------------------------- compiled


@compiled
def _phrases(hashes, sizes):  # type: ignore[no-untyped-def]
    """The phrases of three terms of all passages, and where those of each start; of two terms, the phrase of both."""
    bounds = np.zeros(len(sizes) + 1, np.int64)
    for passage in range(len(sizes)):
        bounds[passage + 1] = bounds[passage] + (sizes[passage] - 2 if sizes[passage] > 2 else sizes[passage] // 2)
    phrases, at = np.empty(bounds[-1], np.uint32), 0
    for passage in range(len(sizes)):
        first = bounds[passage]
        for number in range(bounds[passage + 1] - first):
            place = at + number
            if sizes[passage] > 2:
                phrases[first + number] = hash_triple(hashes[place], hashes[place + 1], hashes[place + 2])
            else:
                phrases[first + number] = hash_pair(hashes[place], hashes[place + 1])
        at += sizes[passage]
    return phrases, bounds


@compiled
def _summarise(numbers, bounds, frequencies, rarity, most, distinctness):  # type: ignore[no-untyped-def]
    """The lower median of the frequencies of each passage's phrases, and the mean of their rarity."""
    for passage in range(len(bounds) - 1):
        own = numbers[bounds[passage] : bounds[passage + 1]]
        if len(own):
            chosen = frequencies[own]
            most[passage] = chosen[ascending(chosen.reshape(-1, 1))[(len(own) - 1) // 2]]
            distinctness[passage] = rarity[own].sum() / len(own)
