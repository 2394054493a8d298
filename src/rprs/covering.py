"""Coverage of a document by others, with or without an index: `rprs.coverage(query, results)`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rprs.errors import UsageError

if TYPE_CHECKING:
    from rprs.charts.values import Chart
    from rprs.document import Query
    from rprs.index import Index
    from rprs.progress import Progress
    from rprs.read.inputs import Documents
    from rprs.results.hits import Hit
    from rprs.spec import Component

__all__ = ["coverage"]


def coverage(
    query: Query,
    results: Sequence[Hit] | Sequence[str] | Documents,
    *,
    index: Index | str | Path | None = None,
    encoder: str | Component | None = None,
    boilerplate: bool = True,
    progress: Progress | bool | None = None,
) -> Chart:
    """Which parts of a document are covered by which of some others, and how; and what none of them covers.

    With an `index`, `results` are hits of a search or ids. Otherwise they are the documents themselves: texts by id, or
    a list of texts, records or Documents; sentences are split and encoded as in a new index (with `encoder`), and only
    rules recognise boilerplate. `boilerplate=False` leaves boilerplate out.
    """
    from rprs.index import Index
    from rprs.index.encoders import load_once
    from rprs.index.memory import index_in_memory
    from rprs.progress import as_progress
    from rprs.reranking import given_documents

    bars = as_progress(progress)
    if index is not None:
        if encoder is not None:
            raise UsageError(f"An index has its own encoder: leave out either the index or the encoder {encoder!s:.80}")
        opened = index if isinstance(index, Index) else Index(index)
        try:
            return _chart(query, results, opened, boilerplate, bars)
        finally:
            if opened is not index:
                opened.close()
    documents = given_documents(_texts(results))
    with index_in_memory(
        documents, splitter=None, analyzer=None, encoder=encoder, phrases=False, progress=bars, load=load_once
    ) as memory:
        return _chart(query, [document.id for document in documents], memory, boilerplate, bars)


def _chart(query: Query, results: Any, index: Index, boilerplate: bool, progress: Progress) -> Chart:
    from rprs.charts.build import Charting, named_documents, named_hits
    from rprs.document import combine, query_documents
    from rprs.results.hits import Hit

    hits = [each for each in results if isinstance(each, Hit)] if isinstance(results, Sequence) else []
    named = named_hits(hits) if hits and len(hits) == len(results) else named_documents(index, results)
    charting = Charting(combine(query_documents(query)), index, progress, boilerplate=boilerplate)
    return charting.finish(list(charting.sources(named)))


def _texts(results: Any) -> Any:
    """The documents that are given; hits have no texts."""
    from rprs.results.hits import Hit

    if isinstance(results, Sequence) and any(isinstance(each, Hit) for each in results):
        raise UsageError("The hits of a search have no texts: give the index, too: rprs.coverage(query, hits, index=…)")
    return results
