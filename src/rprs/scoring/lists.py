"""Running lists of the n nearest sentences of each query sentence, while blocks of a pool are compared with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled

__all__ = ["POOL_ROWS", "QUERY_ROWS", "STRIDE", "NearestLists", "Wide", "insert"]

Wide = NDArray[np.floating[Any]]  # float32 or float64
Ints = NDArray[np.int64]

QUERY_ROWS = 1024  # a block of products is QUERY_ROWS × POOL_ROWS: 2 MB as float32, 4 MB as float64
POOL_ROWS = 512
STRIDE = 64  # similarities that are compared at once first: most often none of them enters the list


class NearestLists:
    """The n best sentences of each of m query sentences so far; at least n sentences must follow to fill the lists."""

    def __init__(self, query: Wide, n: int, block: int = POOL_ROWS) -> None:
        self.similarity = np.full((len(query), n), -np.inf, dtype=query.dtype)  # descending in each row
        self.keys = np.full((len(query), n), np.iinfo(np.int64).max, dtype=np.int64)
        self._query = query
        self._products = np.empty((min(QUERY_ROWS, len(query)), block), dtype=query.dtype)

    def update(self, rows: Wide, keys: Ints) -> None:
        """Compare further sentences, at most `block`, with their keys, which decide between equals."""
        for top in range(0, len(self._query), QUERY_ROWS):
            part = slice(top, min(top + QUERY_ROWS, len(self._query)))
            products = self._products[: part.stop - top, : len(rows)]
            np.matmul(self._query[part], rows.T, out=products)
            _keep_best(products, keys, self.similarity[part], self.keys[part])


@compiled
def _keep_best(products, keys, best, where):  # type: ignore[no-untyped-def]
    """Insert a block of similarities (query rows × pool rows) into the running lists, in descending order.

    Among equals, the smaller key comes first.
    """
    last = best.shape[1] - 1
    lowest = keys.min()
    for row in range(products.shape[0]):
        own, worst = products[row], best[row, last]
        for start in range(0, own.size, STRIDE):
            stop = min(start + STRIDE, own.size)
            if not _any_enters(own[start:stop], worst, lowest < where[row, last]):
                continue
            for column in range(start, stop):
                similarity = own[column]
                if similarity > worst or (similarity == worst and keys[column] < where[row, last]):
                    insert(best[row], where[row], similarity, keys[column])
                    worst = best[row, last]


@compiled
def _any_enters(similarities, worst, equal):  # type: ignore[no-untyped-def]
    """Whether any is greater than the worst of a list, or as great if `equal`.

    Without a branch, so that it compiles to vector instructions; a maximum of floating-point numbers does not.
    """
    found = np.int32(0)
    for place in range(similarities.size):
        found |= np.int32(similarities[place] > worst) | np.int32(similarities[place] == worst) & np.int32(equal)
    return found != 0


@compiled
def insert(best, where, similarity, key):  # type: ignore[no-untyped-def]
    """Insert a similarity where it belongs, and drop the last of the list."""
    place = best.size - 1
    while place > 0 and (best[place - 1] < similarity or (best[place - 1] == similarity and where[place - 1] > key)):
        best[place] = best[place - 1]
        where[place] = where[place - 1]
        place -= 1
    best[place] = similarity
    where[place] = key
