"""What the defaults are worth on real collections: RPRS against tuned BM25, the fitted table against its teacher.

`RPRS_DATA` is a folder with the collections `peps` and `scotus_cite` in BEIR's layout. Indexes are kept in the folder
`RPRS_EFFECTIVENESS_CACHE` if it is given; empty it after a change to how documents are split, analysed or encoded.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import ir_measures
import pytest

from rprs.document import Document, Ranking
from rprs.index import Index, Writer
from rprs.rank import BM25, Mask
from rprs.read import read, read_queries
from rprs.search import Searcher
from rprs.spec import DEPTH

pytestmark = [
    pytest.mark.effectiveness,
    pytest.mark.timeout(4 * 3600),
    pytest.mark.skipif("RPRS_DATA" not in os.environ, reason="RPRS_DATA names no folder of collections"),
]

GRID = list(
    product([0.4, 0.8, 1.2, 1.6, 2.0, 2.4, 2.8, 3.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
)  # k1, b: the paper's range
Relevance = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Collection:
    """A collection that was indexed, with its queries and judgements."""

    name: str
    index: Index
    queries: list[Document]
    relevance: Relevance

    def mean_average_precision(self, rank: Callable[[Document], Ranking]) -> float:
        """MAP of a system over all queries. Ranks stand in for scores, so that ties stay in the order of the list."""
        run = {
            query.id: {id: float(-place) for place, id in enumerate(rank(query).ids)}
            for query in self.queries
            if query.id in self.relevance
        }
        return float(ir_measures.calc_aggregate([ir_measures.AP], self.relevance, run)[ir_measures.AP])

    def tuned_bm25(self) -> tuple[float, BM25]:
        """The best MAP of BM25 over a grid, chosen on the very queries that it is measured on, and its parameters."""
        allowed = {query.id: self._others(query) for query in self.queries}

        def measured(ranker: BM25) -> float:
            return self.mean_average_precision(lambda q: ranker.rank(q, self.index, DEPTH, allowed[q.id]))

        return max(((measured(BM25(k1=k1, b=b)), BM25(k1=k1, b=b)) for k1, b in GRID), key=lambda pair: pair[0])

    def _others(self, query: Document) -> Mask:
        """All documents but the query itself."""
        allowed = self.index.select(None)
        own = self.index.number(query.id)
        allowed[[*self.index.same_content(query), *([] if own is None else [own])]] = False
        return allowed


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = os.environ.get("RPRS_EFFECTIVENESS_CACHE")
    return Path(given) if given else tmp_path_factory.mktemp("indexes")


@pytest.fixture
def opened(cache: Path) -> Iterator[Callable[..., Collection]]:
    """Index a collection, or find it indexed, with the default encoder or another."""
    indexes: list[Index] = []

    def collection(name: str, encoder: str | None = None) -> Collection:
        folder, path = Path(os.environ["RPRS_DATA"]) / name, cache / f"{name}-{encoder or 'default'}.rprs"
        with Writer(path, create=True, encoder=encoder) as writer:
            writer.add(read([folder], strict=True))
        indexes.append(Index(path))
        return Collection(name, indexes[-1], list(read_queries(folder, strict=True)), judgements(folder / "qrels"))

    yield collection
    for index in indexes:
        index.close()


def judgements(folder: Path) -> Relevance:
    found: Relevance = {}
    for path in sorted(folder.glob("*.tsv")):
        with path.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                found.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    return found


def show(capsys: pytest.CaptureFixture[str], collection: Collection, rows: dict[str, float]) -> None:
    with capsys.disabled():
        size = f"{len(collection.index)} documents, {len(collection.relevance)} queries"
        print(f"\n{collection.name}: {size}; MAP at {DEPTH}")
        for system, value in rows.items():
            print(f"  {system:40} {value:.4f}")


def test_peps(opened: Callable[..., Collection], capsys: pytest.CaptureFixture[str]) -> None:
    fitted, teacher = opened("peps"), opened("peps", "onnx")
    bm25, best = fitted.tuned_bm25()
    rprs, onnx = (each.mean_average_precision(Searcher(each.index).rank) for each in (fitted, teacher))
    show(capsys, fitted, {f"{best}, tuned": bm25, "rprs, fitted (default)": rprs, "rprs, onnx": onnx})
    assert rprs > bm25
    assert rprs >= 0.97 * onnx


def test_scotus_cite(opened: Callable[..., Collection], capsys: pytest.CaptureFixture[str]) -> None:
    fitted = opened("scotus_cite")
    bm25, best = fitted.tuned_bm25()
    rprs = fitted.mean_average_precision(Searcher(fitted.index).rank)
    show(capsys, fitted, {f"{best}, tuned": bm25, "rprs, fitted (default)": rprs})
    assert rprs > bm25
