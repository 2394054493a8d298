"""How similar two sentences must be to express the same idea, as measured on unrelated documents of a collection.

The most similar of many sentences is similar to some degree whatever the documents are about, and the more sentences
there are, the more similar it is. So the bar is measured: sentences of some documents (the probes) are compared with
sentences of other documents that are unlike theirs, and the bar for a text of 2^e sentences is what only three probes
in a hundred exceed with their best partner among 2^e sentences.

Documents are unlike if the cosine of their mean vectors, relative to the mean of all, is not above the median. Almost
equal sentences do not count, since they would be identical or reworded; neither do short ones, nor the formulas of a
collection ("The judgment is affirmed."), the probes that are most similar to sentences of many other documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.scoring.logarithms import log2
from rprs.scoring.vectors import precision_of

__all__ = ["DOCUMENTS", "FALLBACK", "LEAST_CHARACTERS", "SENTENCES", "Calibration", "measure_bars"]

DOCUMENTS = 128  # that are compared with each other, at most
SENTENCES = 64  # of each of them, at most
PROBES = 8  # of them are probes
LEAST_CHARACTERS = 40  # of a sentence
LEAST_DOCUMENTS = 16  # of a collection: a smaller one uses the fallback
FALSE_RATE = 0.03  # of the probes reach the bar in a text that has nothing to do with theirs
FORMULAS = 0.05  # of the probes are left out: those that most other documents have in similar words
ALMOST_EQUAL = 0.98  # similarity of sentences that are identical or reworded
LARGEST = 17  # the bars reach up to 2^17 sentences


@dataclass(frozen=True, slots=True)
class Calibration:
    """The bar for "same idea", by the size of the other text.

    `bars[e]` is for a text of 2^e sentences; between these sizes, the bar is interpolated.
    """

    bars: tuple[float, ...]
    documents: int = 0  # on which it was measured; 0 for the fallback
    generation: int = 0  # of the encoder

    def bar(self, sentences: int) -> float:
        """The least similarity of a sentence and its best partner among so many sentences."""
        size = log2(max(sentences, 1))
        return float(np.interp(size, np.arange(len(self.bars)), self.bars))

    def object(self) -> dict[str, Any]:
        """As a JSON object."""
        return {"bars": list(self.bars), "documents": self.documents, "generation": self.generation}

    @classmethod
    def from_object(cls, values: Mapping[str, Any]) -> Calibration:
        """The inverse of `object`."""
        return cls(tuple(map(float, values["bars"])), int(values["documents"]), int(values["generation"]))


# for the default teacher, measured on unrelated sentences of many subjects; see docs/evidence.md
FALLBACK = Calibration(tuple(round(0.45 + 0.025 * exponent, 3) for exponent in range(LARGEST + 1)))


def measure_bars(documents: Sequence[NDArray[np.floating[Any]]]) -> tuple[float, ...]:
    """The bars from the sentence vectors of some documents, in an order that is random but fixed; empty if too few."""
    if len(documents) < LEAST_DOCUMENTS:
        return ()
    wide = precision_of(documents[0]).wide
    vectors = [document.astype(wide) for document in documents]
    like = _likeness(vectors)
    sizes = np.array([len(each) for each in vectors])
    owner = np.repeat(np.arange(len(vectors)), sizes)
    pool = np.ascontiguousarray(np.concatenate(vectors).T)
    rows = []  # of the similarities of probes with the pool: -1 for sentences that do not count
    for number, own in enumerate(vectors):
        unlike = like[number] <= np.median(np.delete(like[number], number))
        unlike[number] = False
        similarity = (own[_evenly(len(own), PROBES)] @ pool)[:, unlike[owner]]
        similarity[similarity >= ALMOST_EQUAL] = -1
        rows.append((similarity, np.append(0, np.cumsum(sizes[unlike]))[:-1]))
    commonness = np.concatenate([_commonness(similarity, starts) for similarity, starts in rows])
    usual = commonness <= _upper(commonness, FORMULAS)
    maxima: list[list[NDArray[Any]]] = []  # by exponent
    first = 0
    for similarity, _ in rows:
        kept = similarity[usual[first : first + len(similarity)]]
        first += len(similarity)
        _add_maxima(kept, maxima)
    return _bars([_upper(np.concatenate(values), FALSE_RATE) for values in maxima])


def _commonness(similarity: NDArray[Any], starts: NDArray[Any]) -> NDArray[Any]:
    """(probes,): how similar the best partner is in the tenth of the documents where it is most similar, at least."""
    best = np.sort(np.maximum.reduceat(similarity, starts, axis=1), axis=1)
    return np.asarray(best[:, int(0.9 * best.shape[1])])


def _add_maxima(similarity: NDArray[Any], maxima: list[list[NDArray[Any]]]) -> None:
    """Add the best similarities of probes within chunks of 1, 2, 4, ... sentences, without a last, smaller chunk."""
    exponent = 0
    while similarity.size:  # no probe may be left, too
        if exponent == len(maxima):
            maxima.append([])
        maxima[exponent].append(similarity.ravel())
        even = similarity[:, : similarity.shape[1] // 2 * 2]
        similarity, exponent = np.maximum(even[:, ::2], even[:, 1::2]), exponent + 1


def _likeness(vectors: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """(d, d): the cosine of the documents' mean vectors, relative to the mean of all."""
    means = np.array([each.mean(axis=0, dtype=np.float64) for each in vectors])
    means -= means.mean(axis=0)
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
    return np.asarray(np.round(means @ means.T, 6))


def _evenly(size: int, count: int) -> NDArray[np.int64]:
    """Up to `count` places at even distances."""
    return np.unique(np.arange(count) * size // count)


def _upper(values: NDArray[Any], share: float) -> float:
    """What no more than a share of the values exceed."""
    place = min(int(len(values) * (1 - share)), len(values) - 1)
    return float(np.partition(values, place)[place])


def _bars(quantiles: Sequence[float]) -> tuple[float, ...]:
    """Quantiles that never fall, continued in a straight line up to the largest size."""
    rising = np.maximum.accumulate(quantiles)
    step = (rising[-1] - rising[len(rising) // 2]) / max(len(rising) - 1 - len(rising) // 2, 1)
    further = rising[-1] + step * np.arange(1, LARGEST + 2 - len(rising))
    return tuple(np.round(np.minimum(np.append(rising, further), ALMOST_EQUAL), 4).tolist())
