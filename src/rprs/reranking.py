"""Re-rank texts at hand, without an index on disk: `rprs.rerank(query, texts)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from rprs.errors import UsageError

if TYPE_CHECKING:
    from rprs.document import Document, Query
    from rprs.progress import Progress
    from rprs.rank import Ranker, Reranker
    from rprs.read.inputs import Documents
    from rprs.results.hits import Results
    from rprs.scoring.vectors import VectorType
    from rprs.spec import Component

__all__ = ["given_documents", "rerank"]

AUTO = "auto"  # as in the default system, with an n of rprs that suits the number of sentences


def rerank(
    query: Query,
    documents: Documents,
    *,
    encoder: str | Component | None = None,
    rerank: Reranker | str | None = "auto",
    first: Ranker | str | None = None,
    k: int | None = None,
    splitter: str | Component | None = None,
    analyzer: str | Component | None = None,
    vectors: VectorType = "float16",
    pairs: int = 3,
    progress: Progress | bool | None = None,
) -> Results:
    """The given documents, most similar to the query first, with scores and aligned pairs: `rerank(text, texts)`.

    `documents` are texts by id, or a list of texts (their ids are "0", "1", …), records or Documents, or a DataFrame.
    All of them are candidates, also those that share no word with the query or are equal to it; `k` limits the results.
    The candidates are first ordered by `first` (blend), followed by those that it leaves out, in the order given; this
    order decides ties, and it is the final one with `rerank=None`. By default, `rerank` is that of the default system,
    in which the n of rprs is a tenth of all sentences if there are fewer than 50: otherwise every sentence would be
    among the n nearest. `vectors="float32"` computes similarities with a higher precision than float16.

    To search the same documents with several queries, use `Searcher(Index.in_memory(documents))`.
    """
    from rprs import spec
    from rprs.document import query_documents
    from rprs.index.encoders import load_once
    from rprs.index.memory import index_in_memory
    from rprs.progress import as_progress
    from rprs.rank import System
    from rprs.rank.every import EveryDocument
    from rprs.search import Searcher

    ranker = spec.DEFAULT["ranker"] if first is None else first
    system = System(ranker, None if rerank == AUTO else rerank)
    bars = as_progress(progress)
    query_documents(query)  # a wrong query is an error before any model is loaded
    candidates = given_documents(documents)
    every = EveryDocument(system.first, tuple(document.id for document in candidates))
    with index_in_memory(
        candidates,
        splitter=splitter,
        analyzer=analyzer,
        encoder=encoder,
        vectors=vectors,
        progress=bars,
        load=load_once,
    ) as index:
        if rerank == AUTO:
            system = system.changed(rerank=_default_reranker(int(index.sentence_counts.sum())))
        searcher = Searcher(index, system, first=every, depth=max(1, len(candidates)), progress=bars)
        return searcher.search(query, len(candidates) if k is None else k, keep_self=True, pairs=pairs)


def _default_reranker(sentences: int) -> Reranker:
    """That of the default system, with an n of rprs that suits so many sentences."""
    from rprs import spec
    from rprs.rank import RPRS
    from rprs.rank.fuse import Fuse

    fused = spec.parse("reranker", spec.DEFAULT["reranker"])
    assert isinstance(fused, Fuse)
    assert isinstance(fused.b, RPRS)
    return replace(fused, b=replace(fused.b, n=min(fused.b.n, max(1, sentences // 10))))


def given_documents(documents: Any) -> list[Document]:
    """The documents; a string among them is always a text, even if a file has that name."""
    from rprs.document import Document
    from rprs.read.inputs import read_documents

    if isinstance(documents, str | PurePath):
        raise UsageError(
            f"The documents must be texts by id or a list of texts; read files with rprs.read_all(path). "
            f"Got {documents!r:.80}"
        )
    if isinstance(documents, Mapping) and all(isinstance(text, str) for text in documents.values()):
        documents = [Document(id, text) for id, text in documents.items()]
    elif isinstance(documents, list | tuple):
        documents = [Document(str(at), item) if isinstance(item, str) else item for at, item in enumerate(documents)]
    candidates = list(read_documents(documents))
    positions: dict[str, int] = {}
    for position, id in enumerate(document.id for document in candidates):
        if positions.setdefault(id, position) != position:
            raise UsageError(f"Documents {positions[id]} and {position} have the same id {id!r:.80}: ids must differ")
    return candidates
