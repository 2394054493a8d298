"""Queries with the neighbours of their candidates: what tuning and studies compute once and score a thousand times."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs import spec
from rprs.document import NO_SENTENCES, Document, Neighbours, Ranking
from rprs.errors import ReadError, UsageError
from rprs.index import Index
from rprs.progress import Progress, silent
from rprs.rank import Mask, Ranker
from rprs.scoring.neighbours import merge, neighbours
from rprs.whole import write_whole

__all__ = [
    "NEAREST",
    "Pool",
    "Run",
    "allowed",
    "at_depths",
    "first_stage",
    "load_pools",
    "pools",
    "save_pools",
]

NEAREST = 10  # neighbours of a sentence: all n of the paper's grid

Run = Mapping[str, Ranking]


@dataclass(frozen=True, slots=True)
class Pool:
    """A query's candidates and the n nearest of their sentences for each of the query's."""

    query: str
    ids: tuple[str, ...]  # in first-stage order
    first: NDArray[np.float64]  # (k,): their scores there
    neighbours: Neighbours
    mean_sentences: float  # avgdl: sentences a document of the whole collection
    content: str = ""  # hash of the query's text: queries of one text belong to one fold

    def __len__(self) -> int:
        return len(self.ids)


# ---------------------------------------------------------------------------- the first stage


def first_stage(
    index: Index,
    queries: Sequence[Document],
    ranker: Ranker | str,
    depth: int,
    *,
    excluded: Mapping[str, frozenset[str]] | None = None,
    progress: Progress = silent,
) -> dict[str, Ranking]:
    """The first stage's ranking for each query, without the query itself (by id or text) and the excluded documents.

    A query that the ranker has no answer for, such as one that a run file lacks, has an empty ranking with a note.
    """
    chosen: Ranker = spec.parse("ranker", ranker) if isinstance(ranker, str) else ranker
    found: dict[str, Ranking] = {}
    failed: dict[str, UsageError] = {}
    with progress("first stage", len(queries), "queries") as advance:
        for query in queries:
            mask = allowed(index, query, (excluded or {}).get(query.id, frozenset()))
            try:
                found[query.id] = chosen.rank(query, index, depth, mask)
            except UsageError as error:
                failed[query.id] = error
                found[query.id] = Ranking((), np.empty(0), notes=(str(error),))
            advance(1)
    if failed and len(failed) == len(found):  # nothing to go on with: the reason is the same for all
        raise next(iter(failed.values()))
    return found


def allowed(index: Index, query: Document, excluded: frozenset[str] = frozenset()) -> Mask:
    """Which documents may be ranked for a query: neither itself, by id or text, nor those excluded."""
    mask = np.ones(len(index), dtype=bool)
    numbers = [index.number(id) for id in (query.id, *excluded)]
    mask[[*index.same_content(query), *(number for number in numbers if number is not None)]] = False
    return mask


# ---------------------------------------------------------------------------- neighbours


def pools(
    index: Index,
    queries: Sequence[Document],
    run: Run,
    depth: int,
    *,
    n: int = NEAREST,
    mean_sentences: float | None = None,
    progress: Progress = silent,
) -> Iterator[Pool]:
    """A pool for each query, from the best `depth` documents of its ranking that the index has.

    The index supplies sentences and vectors. Where it does not hold the whole collection, `mean_sentences` must come
    from the index that does. A query without sentences or without a ranking has a pool without candidates.
    """
    with progress("neighbours", len(queries), "queries") as advance:
        for query in queries:
            ranking = run.get(query.id, Ranking((), np.empty(0)))
            (pool,) = at_depths(index, query, ranking, [depth], n=n, mean_sentences=mean_sentences).values()
            yield pool
            advance(1)


def at_depths(
    index: Index,
    query: Document,
    ranking: Ranking,
    depths: Sequence[int],
    *,
    n: int = NEAREST,
    mean_sentences: float | None = None,
) -> dict[int, Pool]:
    """The pools of one query for several depths at about the price of the deepest.

    Candidates are compared in blocks from one depth to the next, and the lists of the n best of disjoint blocks merge
    exactly into that of them all.
    """
    avgdl = index.mean_sentences if mean_sentences is None else mean_sentences
    known = [place for place, id in enumerate(ranking.ids) if index.number(id) is not None][: max(depths)]
    sentences = index.query_sentences(query) if known else NO_SENTENCES
    if not len(sentences):
        known = []
    found: dict[int, Pool] = {}
    so_far = neighbours(sentences.vectors, [], n)
    for depth in sorted(set(depths)):
        start, stop = len(so_far.offsets) - 1, min(depth, len(known))
        if stop > start:
            block = [index.sentences(ranking.ids[place]).vectors for place in known[start:stop]]
            so_far = _joined(so_far, neighbours(sentences.vectors, block, n), n)
        ids = tuple(ranking.ids[place] for place in known[:stop])
        found[depth] = Pool(query.id, ids, ranking.scores[known[:stop]], so_far, avgdl, query.content_hash)
    return found


def _joined(left: Neighbours, right: Neighbours, n: int) -> Neighbours:
    """The neighbours over two blocks of candidates, the left ones ranked higher."""
    moved = right.sentence + left.offsets[-1]
    similarity, sentence = merge([left.similarity, right.similarity], [left.sentence, moved], n)
    return Neighbours(similarity, sentence, np.concatenate([left.offsets, left.offsets[-1] + right.offsets[1:]]))


# ---------------------------------------------------------------------------- files


def save_pools(path: str | Path, pools: Iterable[Pool]) -> None:
    """Write pools to one file: equal pools make equal bytes, and the file is there when it is whole, not before."""
    listed = list(pools)
    names = [{"query": pool.query, "ids": pool.ids, "content": pool.content} for pool in listed]
    arrays: dict[str, NDArray[Any]] = {
        "names": np.frombuffer(json.dumps(names).encode(), dtype=np.uint8),
        "shapes": np.array([pool.neighbours.sentence.shape for pool in listed], dtype=np.int64).reshape(-1, 2),
        "mean_sentences": np.array([pool.mean_sentences for pool in listed], dtype=np.float64),
        "first": _flat([pool.first for pool in listed], np.float64),
        "offsets": _flat([pool.neighbours.offsets for pool in listed], np.int64),
        "similarity": _flat([pool.neighbours.similarity for pool in listed], np.float32),
        "sentence": _flat([pool.neighbours.sentence for pool in listed], np.int64),
    }
    packed = io.BytesIO()
    np.savez(packed, **arrays)  # type: ignore[arg-type]  # its members are all dated 1980
    write_whole(path, packed.getvalue())


def _flat(arrays: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *(array.astype(dtype).ravel() for array in arrays)])


def load_pools(path: str | Path) -> list[Pool]:
    """The pools of a file that `save_pools` wrote."""
    try:
        with np.load(io.BytesIO(Path(path).read_bytes()), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return list(_unpacked(arrays))
    except FileNotFoundError as error:
        raise ReadError(f"{path}: no such file of pools") from error
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ReadError(f"{path}: not a whole file of pools: delete it, and it is made again ({error})") from error


def _unpacked(arrays: Mapping[str, NDArray[Any]]) -> Iterator[Pool]:
    names = json.loads(arrays["names"].tobytes())
    at_first = at_offset = at_cell = 0
    for name, (m, n), mean in zip(names, arrays["shapes"].tolist(), arrays["mean_sentences"].tolist(), strict=True):
        k, cells = len(name["ids"]), m * n
        found = Neighbours(
            arrays["similarity"][at_cell : at_cell + cells].reshape(m, n),
            arrays["sentence"][at_cell : at_cell + cells].reshape(m, n),
            arrays["offsets"][at_offset : at_offset + k + 1],
        )
        first = arrays["first"][at_first : at_first + k]
        yield Pool(name["query"], tuple(name["ids"]), first, found, mean, name["content"])
        at_first, at_offset, at_cell = at_first + k, at_offset + k + 1, at_cell + cells
