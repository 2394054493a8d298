"""A query with marks: passages that matter or do not, and documents that are relevant or not.

Marks change the query only. Without ignored sentences it is a shorter document; its key sentences, and each relevant
document, are further parts that rank beside it with weights of their own (`scoring.steering`). Every first stage and
every re-ranker can therefore be steered: it ranks for one part at a time and does not know of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Protocol, TypedDict, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rprs.document import SEPARATOR, Candidates, Document, Ranking, Sentences, Truncation, document_id
from rprs.errors import EmptyQuery, NoDocument, UsageError
from rprs.index import Index
from rprs.progress import Advance, divided, no_op
from rprs.rank.stages import Mask, Ranker, Reranker, in_pool_order, order_candidates
from rprs.scoring import bm25, steering

__all__ = [
    "NO_MARKS",
    "MarkOptions",
    "Marks",
    "Part",
    "Range",
    "as_marks",
    "left_out",
    "query_parts",
    "rank_parts",
    "rerank_parts",
]

Floats = NDArray[np.float64]
Range = tuple[int, int]  # text[start:end], in code points


@dataclass(frozen=True, slots=True)
class Marks:
    """What a user marked: documents of the index by their ids, and ranges of the query's text.

    `like` are relevant documents, `unlike` are not; `key` are passages that matter most, `ignore` do not count. A mark
    on a part of a sentence is a mark on the sentence.
    """

    like: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    key: tuple[Range, ...] = ()
    ignore: tuple[Range, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.like or self.unlike or self.key or self.ignore)


NO_MARKS = Marks()


class MarkOptions(TypedDict, total=False):
    """The fields of `Marks` as keyword arguments of a search."""

    like: Iterable[str]  # ids of relevant documents, which join the query
    unlike: Iterable[str]  # ids of documents that are not relevant, which are left out
    key: Iterable[Range]  # ranges of the query's text whose sentences count more
    ignore: Iterable[Range]  # ranges whose sentences do not count


def as_marks(
    like: Iterable[str] = (), unlike: Iterable[str] = (), key: Iterable[Range] = (), ignore: Iterable[Range] = ()
) -> Marks:
    """Marks from the arguments of a search, checked; what is marked twice counts once."""
    marks = Marks(_ids("like", like), _ids("unlike", unlike), _ranges("key", key), _ranges("ignore", ignore))
    both = sorted(set(marks.like) & set(marks.unlike))
    if both:
        raise UsageError(f"{both[0]!r:.80} is marked as relevant and as not relevant: choose one")
    return marks


def _ids(name: str, values: Any) -> tuple[str, ...]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise UsageError(f"{name} must be a list of document ids. Got {values!r:.80}")
    return tuple(dict.fromkeys(document_id(value) for value in values))


def _ranges(name: str, values: Any) -> tuple[Range, ...]:
    ranges = list(values) if isinstance(values, Iterable) and not isinstance(values, str | bytes) else [values]
    return tuple(sorted({_range(name, value) for value in ranges}))


def _range(name: str, value: Any) -> Range:
    is_pair = isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2
    if not is_pair or not all(isinstance(end, Integral) and not isinstance(end, bool) for end in value):
        raise UsageError(f"{name} must be a list of (start, end) in the query's text. Got {value!r:.80}")
    start, end = int(value[0]), int(value[1])
    if not 0 <= start < end:
        raise UsageError(f"A range of {name} must have 0 <= start < end. Got ({start}, {end})")
    return start, end


def left_out(marks: Marks, index: Index, keep_self: bool) -> list[int]:
    """The numbers of the marked documents, which are no hits: relevant ones are part of the query.

    With `keep_self`, relevant ones are ranked like others; otherwise their copies are left out, too.
    """
    numbers = {id: index.number(id) for id in (*marks.like, *marks.unlike)}
    for id, number in numbers.items():
        if number is None:
            raise NoDocument(f"There is no document {id!r:.80} in {index.path}: remove the mark, or correct the id")
    relevant = () if keep_self else marks.like
    copies = [number for id in relevant for number in index.same_content(index.document(id))]
    return [*copies, *(number for id, number in numbers.items() if number is not None and id in marks.unlike)]


# ---------------------------------------------------------------------------- the parts of a query


@dataclass(frozen=True, slots=True)
class Part:
    """A document that ranks with a weight: the query without ignored sentences, its key sentences, or a document."""

    document: Document
    weight: float


def query_parts(query: Document, sentences: Sentences, marks: Marks, index: Index) -> list[Part]:
    """The parts of a query, itself first; without marks the only one. `sentences` are those of its whole text."""
    key = _marked(query, sentences, marks.key, "key")
    ignored = _marked(query, sentences, marks.ignore, "ignore")
    if (key & ignored).any():
        start, end = sentences.spans[key & ignored][0].tolist()
        raise UsageError(f"A sentence is marked as key and as ignored: {query.text[start:end]!r:.80}")
    if ignored.all() and len(ignored):
        raise EmptyQuery(f"All {len(ignored):,} sentences of the query {query.id!r:.80} are ignored")
    parts = [Part(_excerpt(query, sentences, ~ignored) if ignored.any() else query, 1.0)]
    if key.any():
        parts.append(Part(replace(_excerpt(query, sentences, key), id=f"{query.id} (key)"), steering.KEY))
    parts += [Part(index.document(id), steering.like_weight(len(marks.like))) for id in marks.like]
    return parts


def _marked(query: Document, sentences: Sentences, ranges: Sequence[Range], name: str) -> NDArray[np.bool_]:
    """(m,): which sentences overlap one of the ranges."""
    marked = np.zeros(len(sentences), dtype=bool)
    for start, end in ranges:
        if end > len(query.text):
            raise UsageError(
                f"A range of {name} ends beyond the query, which has {len(query.text):,} characters: ({start}, {end})"
            )
        marked |= (sentences.spans[:, 0] < end) & (sentences.spans[:, 1] > start)
    return marked


def _excerpt(query: Document, sentences: Sentences, chosen: NDArray[np.bool_]) -> Document:
    """Some sentences of a query as a document: adjacent ones stay together, others are separated by paragraph breaks.

    Phrases therefore never span a gap.
    """
    numbers = np.flatnonzero(chosen)
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    passages = [query.text[sentences.spans[run[0], 0] : sentences.spans[run[-1], 1]] for run in runs]
    return replace(query, text=SEPARATOR.join(passages))


# ---------------------------------------------------------------------------- both stages


@runtime_checkable
class _ScoresAll(Protocol):
    """A first stage with a score for every document of an index, by its number; 0 where it does not rank it."""

    def scores(self, query: Document, index: Index) -> Floats: ...


@runtime_checkable
class _NotesIndex(Protocol):
    """A first stage with notes about an index, which `scores` does not return."""

    def notes(self, index: Index) -> tuple[str, ...]: ...


def rank_parts(ranker: Ranker, parts: Sequence[Part], index: Index, depth: int, allowed: Mask) -> Ranking:
    """The best `depth` of the allowed documents for all parts together; ties by ascending id.

    A document that one of the parts does not find counts as the last for it. A single part is ranked as usual.
    """
    if len(parts) == 1:
        return ranker.rank(parts[0].document, index, depth, allowed)
    if not isinstance(ranker, _ScoresAll):
        every = int(allowed.sum())
        return _combined([ranker.rank(part.document, index, every, allowed) for part in parts], parts, depth)
    rows = [np.where(allowed, ranker.scores(part.document, index), 0.0) for part in parts]
    for row in rows:
        row[row <= 0] = np.nan
    found = np.flatnonzero(~np.all(np.isnan(rows), axis=0))
    total = np.zeros(len(index))
    if len(found):
        total[found] = steering.combined([row[found] for row in rows], [part.weight for part in parts])
    best = bm25.top(total, depth, allowed)
    notes = ranker.notes(index) if isinstance(ranker, _NotesIndex) else ()
    return Ranking(tuple(index.ids[number] for number in best), total[best], notes=tuple(dict.fromkeys(notes)))


def _combined(rankings: Sequence[Ranking], parts: Sequence[Part], depth: int) -> Ranking:
    """One ranking of those for all parts, each of which lists every document that the part finds."""
    ids = sorted({id for ranking in rankings for id in ranking.ids})
    notes = tuple(dict.fromkeys(note for ranking in rankings for note in ranking.notes))
    if not ids:
        return Ranking((), np.empty(0), notes=notes)
    place = {id: number for number, id in enumerate(ids)}
    rows = np.full((len(parts), len(ids)), np.nan)
    for row, ranking in zip(rows, rankings, strict=True):
        row[[place[id] for id in ranking.ids]] = ranking.scores
    total = steering.combined(list(rows), [part.weight for part in parts])
    best = bm25.top(total, depth, np.ones(len(ids), dtype=bool))
    return Ranking(tuple(ids[number] for number in best), total[best], notes=notes)


def rerank_parts(
    reranker: Reranker,
    parts: Sequence[Part],
    candidates: Candidates,
    index: Index,
    sentences_of: Callable[[Document], Sentences],
    advance: Advance = no_op,
) -> Ranking:
    """The candidates, re-ranked for all parts together; score parts such as QP and DP are those of the query itself.

    A single part is re-ranked as usual. For each part, the candidates have the order and the scores that the first
    stage gave them for all parts together. `advance` counts sentences of candidates.
    """
    if len(parts) == 1:
        return reranker.rerank(sentences_of(parts[0].document), candidates, advance)
    step = divided(advance, len(parts))
    rankings = [
        reranker.rerank(
            sentences_of(part.document),
            replace(candidates, query=part.document, knows_language=index.knows_language(part.document)),
            step,
        )
        for part in parts
    ]
    place = {id: number for number, id in enumerate(candidates.ranking.ids)}
    orders = [np.array([place[id] for id in ranking.ids], dtype=np.int64) for ranking in rankings]
    rows = [in_pool_order(ranking.scores, order) for ranking, order in zip(rankings, orders, strict=True)]
    return order_candidates(
        candidates,
        steering.combined(rows, [part.weight for part in parts]),
        parts={name: in_pool_order(values, orders[0]) for name, values in rankings[0].parts.items()},
        notes=tuple(dict.fromkeys(note for ranking in rankings for note in ranking.notes)),
        truncation=sum((ranking.truncation for ranking in rankings), Truncation()),
    )
