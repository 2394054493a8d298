"""Searches of a matter, run again: on the collection as it is now, with a line for everything that has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from rprs.document import Document, combine
from rprs.errors import EmptyQuery
from rprs.index import Index
from rprs.matters.values import Collection, Search, Settings
from rprs.rank.steering import Marks
from rprs.results.hits import Results
from rprs.search import Searcher

__all__ = ["changes", "current_marks", "new_search", "query_of", "run_search"]


def new_search(
    index: Index,
    documents: Sequence[Document],
    ids: Sequence[str] = (),
    *,
    name: str = "",
    marks: Marks | None = None,
    settings: Settings | None = None,
) -> Search:
    """A search to keep in a matter: documents with their texts, then documents of the index by their ids."""
    query = combine([*documents, *(index.document(id) for id in ids)])
    collection = Collection(index.path.resolve().name, index.fingerprint, len(index), str(index.path.resolve()))
    return Search(
        name=name or query.title or query.id,
        collection=collection,
        documents=tuple(documents),
        ids=tuple(ids),
        query_hash=query.content_hash,
        marks=marks or Marks(),
        settings=settings or Settings(),
    )


def query_of(search: Search, index: Index) -> list[Document]:
    """The documents of a query, without those that the collection no longer has."""
    documents = [*search.documents, *(index.document(id) for id in search.ids if id in index)]
    if not documents:
        raise EmptyQuery(f"No document of the search {search.name!r:.80} is in {index.path.resolve().name} any more")
    return documents


def current_marks(search: Search, index: Index) -> Marks:
    """The marks that still hold: on documents that the collection has, and on a query with the same text."""
    marks = search.marks
    same = not search.query_hash or combine(query_of(search, index)).content_hash == search.query_hash
    return Marks(
        like=tuple(id for id in marks.like if id in index),
        unlike=tuple(id for id in marks.unlike if id in index),
        key=marks.key if same else (),
        ignore=marks.ignore if same else (),
    )


def changes(search: Search, index: Index, fingerprint: str | None = None) -> tuple[str, ...]:
    """What has changed since the search was saved, one line each; `fingerprint` is that of the index, if known."""
    saved, lines = search.collection, []
    if (fingerprint or index.fingerprint) != saved.fingerprint:
        name = index.path.resolve().name
        if name != saved.name:
            lines.append(f"This search was saved with the collection {saved.name}; this one is {name}")
        else:
            lines.append(
                f"The collection {name} has changed since this search was saved: it had {saved.documents:,} documents, "
                f"now {len(index):,}. Ranks may differ"
            )
    marks = current_marks(search, index)
    for what, before, now in (
        ("documents of the query", search.ids, [id for id in search.ids if id in index]),
        ("relevant documents", search.marks.like, marks.like),
        ("documents that are not relevant", search.marks.unlike, marks.unlike),
    ):
        gone = [id for id in before if id not in now]
        if gone:
            lines.append(f"{len(gone):,} of {len(before):,} {what} are no longer in the collection: {gone[0]!r:.80}")
    if (search.marks.key and not marks.key) or (search.marks.ignore and not marks.ignore):
        lines.append("The text of the query has changed: its key and ignored sentences are not used")
    return tuple(lines)


def run_search(search: Search, searcher: Searcher) -> Results:
    """The hits of a saved search without those that are hidden; notes say what has changed since."""
    index, settings = searcher.index, search.settings
    options: dict[str, Any] = {**asdict(settings), **asdict(current_marks(search, index))}
    results = searcher.search(query_of(search, index), options.pop("k"), **options)
    hits = tuple(hit for hit in results if hit.id not in search.hidden)
    hidden = len(results) - len(hits)
    notes = (*changes(search, index), *results.notes, *([f"{hidden:,} hidden"] if hidden else ()))
    return replace(results, hits=hits, notes=notes)
