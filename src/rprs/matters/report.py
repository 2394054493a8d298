"""What a matter contains, ready to be read by others: each search with its results, marks, tags and notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from rprs.alignment.values import Pair
from rprs.errors import EmptyQuery
from rprs.index import Index
from rprs.matters.run import run_search
from rprs.matters.values import Matter, Search
from rprs.results.hits import Hit
from rprs.search import Searcher

__all__ = ["Entry", "MatterReport", "Section", "report_search"]

RELEVANT, NOT_RELEVANT, HIDDEN = "relevant", "not relevant", "hidden"


@dataclass(frozen=True, slots=True)
class Entry:
    """A document of a search: a hit, or one that the user marked, hid or wrote about."""

    id: str
    title: str
    rank: int | None  # None if it is no hit: marked documents are none
    mark: str  # relevant, not relevant, hidden, or empty
    tags: tuple[str, ...]
    note: str
    pair: Pair | None  # the most telling one


@dataclass(frozen=True, slots=True)
class Section:
    """A search of a matter: the entries, and lines that a reader has to know, such as what has changed since."""

    search: Search
    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        """The names of the query's documents."""
        return ", ".join([*(each.title or each.id for each in self.search.documents), *self.search.ids])

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings of the search that differ from the default."""
        default = asdict(type(self.search.settings)())
        return {name: value for name, value in asdict(self.search.settings).items() if value != default[name]}


@dataclass(frozen=True, slots=True)
class MatterReport:
    """A matter and the sections of its searches; of some of them, if only these are wanted."""

    matter: Matter
    sections: tuple[Section, ...]


def report_search(search: Search, searcher: Searcher | None) -> Section:
    """A search, run on the collection as it is now; without a searcher, only what the user marked and wrote.

    Relevant documents come first, then hits by rank, then what the user put aside.
    """
    if searcher is None:
        note = f"The collection {search.collection.name} could not be opened: without results"
        return Section(search, tuple(_entries(search, (), None)), (note,))
    try:
        results = run_search(search, searcher)
    except EmptyQuery as error:
        return Section(search, tuple(_entries(search, (), searcher.index)), (str(error),))
    return Section(search, tuple(_entries(search, results, searcher.index)), results.notes)


def _entries(search: Search, results: Sequence[Hit], index: Index | None) -> Iterator[Entry]:
    hits = {hit.id: hit for hit in results}
    marks = dict.fromkeys(search.hidden, HIDDEN)
    marks |= dict.fromkeys(search.marks.like, RELEVANT) | dict.fromkeys(search.marks.unlike, NOT_RELEVANT)
    aside = {id: mark for id, mark in marks.items() if mark != RELEVANT}
    written = dict.fromkeys([*search.notes, *search.tags])
    order = dict.fromkeys([*search.marks.like, *hits, *(id for id in written if id not in aside), *aside])
    for id in order:
        hit = hits.get(id)
        title = hit.title if hit else index.document(id).title if index is not None and id in index else ""
        yield Entry(
            id=id,
            title=title,
            rank=hit.rank if hit else None,
            mark=marks.get(id, ""),
            tags=tuple(search.tags.get(id, ())),
            note=search.notes.get(id, ""),
            pair=hit.pairs[0] if hit and hit.pairs else None,
        )
