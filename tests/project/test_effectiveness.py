"""The defaults on real collections: RPRS is better than tuned BM25, and the fitted table nearly as good as its teacher.

`RPRS_DATA` is a folder with the collections `peps` and `scotus_cite` as BEIR folders. If `RPRS_EFFECTIVENESS_CACHE` is
set, indexes are kept in that folder; empty it after a change to how documents are split, analysed or encoded.
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
    pytest.mark.skipif("RPRS_DATA" not in os.environ, reason="RPRS_DATA is not set"),
]

GRID = list(
    product([0.4, 0.8, 1.2, 1.6, 2.0, 2.4, 2.8, 3.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
)  # k1, b: the paper's range
Relevance = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Collection:
    """The index of a collection, with its queries and judgements."""

    name: str
    index: Index
    queries: list[Document]
    relevance: Relevance

    def mean_average_precision(self, rank: Callable[[Document], Ranking]) -> float:
        """MAP of a system over all queries; scores are replaced by ranks, so that ties keep the order of the list."""
        run = {
            query.id: {id: float(-position) for position, id in enumerate(rank(query).ids)}
            for query in self.queries
            if query.id in self.relevance
        }
        return float(ir_measures.calc_aggregate([ir_measures.AP], self.relevance, run)[ir_measures.AP])

    def tuned_bm25(self) -> tuple[float, BM25]:
        """The best MAP of BM25 over a grid, tuned and measured on the same queries, and its parameters."""
        allowed = {query.id: self._others(query) for query in self.queries}

        def score(ranker: BM25) -> float:
            return self.mean_average_precision(lambda q: ranker.rank(q, self.index, DEPTH, allowed[q.id]))

        return max(((score(BM25(k1=k1, b=b)), BM25(k1=k1, b=b)) for k1, b in GRID), key=lambda pair: pair[0])

    def _others(self, query: Document) -> Mask:
        """All documents except the query itself."""
        allowed = self.index.select(None)
        own = self.index.number(query.id)
        allowed[[*self.index.same_content(query), *([] if own is None else [own])]] = False
        return allowed


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = os.environ.get("RPRS_EFFECTIVENESS_CACHE")
    return Path(folder) if folder else tmp_path_factory.mktemp("indexes")


@pytest.fixture
def open_collection(cache: Path) -> Iterator[Callable[..., Collection]]:
    """Opens a collection by name, indexed with the default encoder or another; a cached index is reused."""
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
    relevance: Relevance = {}
    for path in sorted(folder.glob("*.tsv")):
        with path.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                relevance.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    return relevance


def print_values(capsys: pytest.CaptureFixture[str], collection: Collection, rows: dict[str, float]) -> None:
    with capsys.disabled():
        size = f"{len(collection.index)} documents, {len(collection.relevance)} queries"
        print(f"\n{collection.name}: {size}; MAP at {DEPTH}")
        for system, value in rows.items():
            print(f"  {system:40} {value:.4f}")


def test_peps(open_collection: Callable[..., Collection], capsys: pytest.CaptureFixture[str]) -> None:
    fitted, teacher = open_collection("peps"), open_collection("peps", "onnx")
    bm25, best = fitted.tuned_bm25()
    rprs, onnx = (each.mean_average_precision(Searcher(each.index).rank) for each in (fitted, teacher))
    print_values(capsys, fitted, {f"{best}, tuned": bm25, "rprs, fitted (default)": rprs, "rprs, onnx": onnx})
    assert rprs > bm25
    assert rprs >= 0.97 * onnx


def test_scotus_cite(open_collection: Callable[..., Collection], capsys: pytest.CaptureFixture[str]) -> None:
    fitted = open_collection("scotus_cite")
    bm25, best = fitted.tuned_bm25()
    rprs = fitted.mean_average_precision(Searcher(fitted.index).rank)
    print_values(capsys, fitted, {f"{best}, tuned": bm25, "rprs, fitted (default)": rprs})
    assert rprs > bm25
