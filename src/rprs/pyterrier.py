"""PyTerrier transformers: a retriever and a re-ranker over an index (extra: pyterrier). Neither needs Java.

    from rprs.pyterrier import Reranker, Retriever

    bm25 = Retriever("cases.rprs", first="bm25", rerank=None, k=50)
    pipeline = bm25 >> Reranker("cases.rprs", "rprs(n=4)")

Frames follow PyTerrier's data model: queries have the columns qid and query, which holds the text of a whole document,
results also docno, score and rank, the first rank being 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from rprs.document import Document, Ranking
from rprs.errors import MissingExtra, UsageError
from rprs.index import Index
from rprs.rank import Reranker as RerankerComponent
from rprs.rank import System
from rprs.rank.batch import rerank_run
from rprs.rank.system import SystemOptions
from rprs.search import Searcher

try:
    import pandas as pd
    import pyterrier as pt
except ImportError as error:
    raise MissingExtra("rprs.pyterrier", "PyTerrier", "pyterrier") from error

__all__ = ["Reranker", "Retriever"]


class Retriever(pt.Transformer):
    """Ranks the documents of an index for whole documents: qid, query → qid, query, docno, score, rank.

    The rankings are those of `Searcher.run`. As there, a query leaves out the document with its own id (qid) or its own
    text unless `keep_self`, and `where` is a metadata filter. Options such as `first="bm25"`, `rerank=None` and
    `depth=50` replace the searcher's. `k` is the number of documents per query (None: all that the system returns).
    A query that cannot be answered has no results and causes a warning.
    """

    def __init__(
        self,
        index: Searcher | Index | str | Path,
        *,
        k: int | None = None,
        where: str | None = None,
        keep_self: bool = False,
        **options: Unpack[SystemOptions],
    ) -> None:
        searcher = index if isinstance(index, Searcher) else Searcher(index)
        system = searcher.system.changed(**options)
        self.searcher = Searcher(searcher.index, system, progress=searcher.progress)
        self.k, self.where, self.keep_self = k, where, keep_self

    def __repr__(self) -> str:
        return f"Retriever({self.searcher.system})"

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """The results of every query, best first, with all columns of the input."""
        pt.validate.query_frame(inp, extra_columns=["query"])
        rows = {str(row["qid"]): row for row in inp.to_dict("records")}
        if len(rows) < len(inp):
            repeated = inp["qid"][inp["qid"].duplicated()].iloc[0]
            raise UsageError(f"Every query must have a qid of its own. Got {repeated!r} more than once.")
        columns = [name for name in inp.columns if name not in ("score", "rank")]
        if not rows:
            return _empty_results(columns)
        queries = [Document(qid, row["query"]) for qid, row in rows.items()]
        run = self.searcher.run(queries, where=self.where, keep_self=self.keep_self, k=self.k)
        for qid, reason in run.failures.items():
            _warn(qid, reason)
        results = [
            {**rows[qid], "docno": docno, "score": score}
            for qid, ranking in run.items()
            for docno, score in zip(ranking.ids, ranking.scores.tolist(), strict=True)
        ]
        if not results:
            return _empty_results(columns)
        return pt.model.add_ranks(pd.DataFrame(results, columns=[*columns, "docno", "score"]))

    def fuse_rank_cutoff(self, k: int) -> Retriever:
        """The same retriever with at most k results per query: what `retriever % k` compiles to."""
        if self.k is not None and self.k <= k:
            return self
        return Retriever(self.searcher, k=k, where=self.where, keep_self=self.keep_self)


class Reranker(pt.Transformer):
    """Reorders the candidates of every query by an rprs re-ranker: qid, query, docno → the same with score and rank.

    Every candidate must be in the index; without an index, the texts are those of the column text, and avgdl is that of
    the documents in the frame. The order of the candidates, which decides ties, is that of the column rank;
    without it that of score, and without both that of the rows. Re-rankers that use first-stage scores, such as birch,
    read them from score; without it, candidates have the scores n, n − 1, …, 1. A query without sentences has no
    results and causes a warning.
    """

    def __init__(
        self,
        index: Index | str | Path | None = None,
        rerank: RerankerComponent | str = "rprs",
        *,
        encoder: str | None = None,
    ) -> None:
        if encoder is not None and index is not None:
            raise UsageError(f"An index has its own encoder. Got encoder={encoder!r} as well.")
        self.index = index if index is None or isinstance(index, Index) else Index(index)
        self.encoder = encoder
        reranker = System(rerank=rerank).rerank
        if reranker is None:
            raise UsageError(f"Choose a re-ranker, for example rprs. Got {rerank!r} instead.")
        self.rerank = reranker

    def __repr__(self) -> str:
        return f"Reranker({self.rerank})"

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """The candidates of every query in their new order, with all columns of the input."""
        pt.validate.result_frame(inp, extra_columns=["query"] if self.index is not None else ["query", "text"])
        columns = [name for name in inp.columns if name not in ("score", "rank")]
        if not len(inp):
            return _empty_results(columns)
        groups = {str(qid): _in_order(qid, group) for qid, group in inp.groupby("qid", sort=False)}
        queries = [Document(qid, group["query"].iloc[0]) for qid, group in groups.items()]
        candidates = {qid: Ranking(tuple(group.index), _first_scores(group)) for qid, group in groups.items()}
        index = self.index if self.index is not None else self._texts(inp)
        reranked = rerank_run(index, queries, candidates, self.rerank)
        results = []
        for qid, ranking in reranked.items():
            if not len(ranking):
                _warn(qid, "the query has no sentences: there is nothing to compare")
            results.append(groups[qid].loc[list(ranking.ids), columns].assign(score=ranking.scores))
        return pt.model.add_ranks(pd.concat(results, ignore_index=True))

    def _texts(self, inp: pd.DataFrame) -> Index:
        """The documents of a frame as an index in memory."""
        documents = inp.drop_duplicates("docno")
        pairs = zip(documents["docno"].map(str), documents["text"], strict=True)
        return Index.in_memory([Document(docno, text) for docno, text in pairs], encoder=self.encoder)


def _empty_results(columns: list[Any]) -> pd.DataFrame:
    names = dict.fromkeys([*columns, "docno", "score"])
    return pt.model.add_ranks(pd.DataFrame(columns=list(names)).astype({"score": float}))


def _in_order(qid: Hashable, group: pd.DataFrame) -> pd.DataFrame:
    """The candidates of one query in first-stage order, indexed by document id."""
    by = next((name for name in ("rank", "score") if name in group.columns), None)
    if by is not None:
        group = group.sort_values(by, ascending=by == "rank", kind="stable")
    group = group.set_index(group["docno"].map(str))
    if not group.index.is_unique:
        repeated = group.index[group.index.duplicated()][0]
        raise UsageError(
            f"Every candidate of a query must be a different document. Got {repeated!r} twice for {qid!r}."
        )
    return group


def _first_scores(group: pd.DataFrame) -> NDArray[np.float64]:
    scores = group["score"] if "score" in group.columns else np.arange(len(group), 0, -1)
    return np.asarray(scores, dtype=np.float64)


def _warn(qid: str, reason: str) -> None:
    warnings.warn(f"No results for the query {qid!r}: {reason}", stacklevel=3)
