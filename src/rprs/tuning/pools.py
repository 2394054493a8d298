"""Queries with the neighbours of their candidates: tuning and studies compute them once and score them many times."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from rprs.document import EMPTY_RANKING, NO_SENTENCES, Document, Neighbours, Ranking
from rprs.errors import ReadError
from rprs.files.atomic import write_atomically
from rprs.files.cache import Cache
from rprs.index import Index
from rprs.progress import Progress, silent
from rprs.scoring.neighbours import Ties, merge, neighbours, sentences_of_keys, tie_keys, tie_priority

__all__ = [
    "NEAREST",
    "Pool",
    "at_depths",
    "load_pools",
    "pools_at_depths",
    "save_pools",
]

NEAREST = 10  # neighbours of a sentence: all n of the paper's grid


@dataclass(frozen=True, slots=True)
class Pool:
    """A query's candidates and the n nearest of their sentences for each of the query's."""

    query: str
    ids: tuple[str, ...]  # in first-stage order
    first: NDArray[np.float64]  # (k,): their scores there
    neighbours: Neighbours
    mean_sentences: float  # avgdl: mean number of sentences per document of the collection
    content: str = ""  # hash of the query's text: queries of one text belong to one fold

    def __len__(self) -> int:
        return len(self.ids)


# ---------------------------------------------------------------------------- neighbours


def pools_at_depths(
    index: Index,
    queries: Sequence[Document],
    run: Mapping[str, Ranking],
    depths: Sequence[int],
    *,
    n: int = NEAREST,
    ties: Ties = "first",
    mean_sentences: float | None = None,
    cache: Cache | None = None,
    index_key: str | None = None,
    progress: Progress = silent,
) -> dict[int, Sequence[Pool]]:
    """For each depth the pools of all queries, from the best documents of their rankings that the index has.

    With a cache they stay on disk and are read when they are used; `index_key` is what they depend on there instead of
    the fingerprint of the index. Where the index holds a part of the collection only, `mean_sentences` is that of the
    whole collection. `ties` decides between equally similar sentences, as in `RPRS`. A query without sentences or
    without a ranking has a pool without candidates.
    """
    depths = sorted(set(depths))
    pools: list[Sequence[Pool] | Path] = []
    key = index_key or (index.fingerprint if cache else "")

    def compute(query: Document, ranking: Ranking) -> Collection[Pool]:
        return at_depths(index, query, ranking, depths, n=n, ties=ties, mean_sentences=mean_sentences).values()

    with progress("neighbours", len(queries), "queries") as advance:
        for query in queries:
            ranking = run.get(query.id, EMPTY_RANKING)
            if cache is None:
                pools.append([*compute(query, ranking)])
            else:
                inputs = {
                    "index": key,
                    "query": [query.id, query.content_hash],
                    "candidates": [ranking.ids, ranking.scores.tolist()],
                    "depths": depths,
                    "n": n,
                    "mean_sentences": mean_sentences,
                    **({} if ties == "first" else {"ties": ties}),
                }
                path = cache.place("pools", inputs).path
                if not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    save_pools(path, compute(query, ranking))
                pools.append(path)
            advance(1)
    return {depth: _AtDepth(pools, place) for place, depth in enumerate(depths)}


@lru_cache(maxsize=8)
def _load(path: Path) -> list[Pool]:
    return load_pools(path)


@dataclass(frozen=True)
class _AtDepth(Sequence[Pool]):
    """The pools of all queries at one depth, in memory or in files."""

    queries: Sequence[Sequence[Pool] | Path]
    place: int

    def __len__(self) -> int:
        return len(self.queries)

    @overload
    def __getitem__(self, query: int) -> Pool: ...
    @overload
    def __getitem__(self, query: slice) -> Sequence[Pool]: ...
    def __getitem__(self, query: int | slice) -> Pool | Sequence[Pool]:
        if isinstance(query, slice):
            return [self[number] for number in range(len(self))[query]]
        pools = self.queries[query]
        return (_load(pools) if isinstance(pools, Path) else pools)[self.place]


def at_depths(
    index: Index,
    query: Document,
    ranking: Ranking,
    depths: Sequence[int],
    *,
    n: int = NEAREST,
    ties: Ties = "first",
    mean_sentences: float | None = None,
) -> dict[int, Pool]:
    """The pools of one query for several depths at about the cost of the deepest.

    Candidates are compared in blocks from one depth to the next; the n-best lists of disjoint blocks merge exactly into
    the list for all of them.
    """
    avgdl = index.mean_sentences if mean_sentences is None else mean_sentences
    present = [place for place, id in enumerate(ranking.ids) if index.number(id) is not None][: max(depths)]
    sentences = index.query_sentences(query) if present else NO_SENTENCES
    if not len(sentences):
        present = []
    priority = tie_priority([ranking.ids[place] for place in present], ties)
    pools: dict[int, Pool] = {}
    so_far = neighbours(sentences.vectors, [], n)
    for depth in sorted(set(depths)):
        start, stop = len(so_far.offsets) - 1, min(depth, len(present))
        if stop > start:
            block = [index.sentences(ranking.ids[place]).vectors for place in present[start:stop]]
            local = None if priority is None else priority[start:stop]
            so_far = _join(so_far, neighbours(sentences.vectors, block, n, priority=local), n, priority)
        ids = tuple(ranking.ids[place] for place in present[:stop])
        pools[depth] = Pool(query.id, ids, ranking.scores[present[:stop]], so_far, avgdl, query.content_hash)
    return pools


def _join(left: Neighbours, right: Neighbours, n: int, priority: NDArray[np.int64] | None) -> Neighbours:
    """The neighbours over two blocks of candidates, the left ones ranked higher."""
    offsets = np.concatenate([left.offsets, left.offsets[-1] + right.offsets[1:]])
    numbers = left.sentence, right.sentence + left.offsets[-1]
    keys = [tie_keys(sentence, offsets, priority) for sentence in numbers]
    similarity, key = merge([left.similarity, right.similarity], keys, n)
    return Neighbours(similarity, sentences_of_keys(key, offsets), offsets)


# ---------------------------------------------------------------------------- files


def save_pools(path: str | Path, pools: Iterable[Pool]) -> None:
    """Write pools to one file, complete or not at all; equal pools give equal bytes."""
    listed = list(pools)
    similarities = [pool.neighbours.similarity for pool in listed]
    names = [{"query": pool.query, "ids": pool.ids, "content": pool.content} for pool in listed]
    arrays: dict[str, NDArray[Any]] = {
        "names": np.frombuffer(json.dumps(names).encode(), dtype=np.uint8),
        "shapes": np.array([pool.neighbours.sentence.shape for pool in listed], dtype=np.int64).reshape(-1, 2),
        "mean_sentences": np.array([pool.mean_sentences for pool in listed], dtype=np.float64),
        "first": _flat([pool.first for pool in listed], np.float64),
        "offsets": _flat([pool.neighbours.offsets for pool in listed], np.int64),
        "similarity": _flat(similarities, np.result_type(np.float32, *similarities)),  # wider for float32 vectors
        "sentence": _flat([pool.neighbours.sentence for pool in listed], np.int64),
    }
    packed = io.BytesIO()
    np.savez(packed, **arrays)  # type: ignore[arg-type]  # its members are all dated 1980
    write_atomically(path, packed.getvalue())


def _flat(arrays: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *(array.astype(dtype).ravel() for array in arrays)])


def load_pools(path: str | Path) -> list[Pool]:
    """The pools of a file that `save_pools` wrote."""
    try:
        with np.load(io.BytesIO(Path(path).read_bytes()), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return list(_unpack(arrays))
    except FileNotFoundError as error:
        raise ReadError(f"{path}: no such file of pools") from error
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ReadError(f"{path}: damaged: delete it, and it is computed again ({error})") from error


def _unpack(arrays: Mapping[str, NDArray[Any]]) -> Iterator[Pool]:
    names = json.loads(arrays["names"].tobytes())
    at_first = at_offset = at_cell = 0
    for name, (m, n), mean in zip(names, arrays["shapes"].tolist(), arrays["mean_sentences"].tolist(), strict=True):
        k, cells = len(name["ids"]), m * n
        nearest = Neighbours(
            arrays["similarity"][at_cell : at_cell + cells].reshape(m, n),
            arrays["sentence"][at_cell : at_cell + cells].reshape(m, n),
            arrays["offsets"][at_offset : at_offset + k + 1],
        )
        first = arrays["first"][at_first : at_first + k]
        yield Pool(name["query"], tuple(name["ids"]), first, nearest, mean, name["content"])
        at_first, at_offset, at_cell = at_first + k, at_offset + k + 1, at_cell + cells
