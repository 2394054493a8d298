"""The matches of one document."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import asdict, dataclass
from typing import Any

from rprs.alignment.duplicates import Shape, relation, shape
from rprs.alignment.words import fold_words
from rprs.document import Document
from rprs.errors import EmptyQuery, UsageError
from rprs.matrices.values import Match
from rprs.rank.date_limit import Undated
from rprs.results.one_line import one_line
from rprs.search import Searcher

__all__ = ["Comparison", "Settings"]

KEPT = 4096  # texts whose shapes are kept: neighbours share many hits


@dataclass(frozen=True, slots=True)
class Settings:
    """What is compared, and how much is reported."""

    k: int
    where: str | None = None
    before: str | None = None
    undated: Undated = "keep"
    evidence: bool = False


class Comparison:
    """Compares documents with an index, one after the other."""

    def __init__(self, searcher: Searcher, settings: Settings) -> None:
        self.searcher, self.index, self.settings = searcher, searcher.index, settings
        self._shapes: OrderedDict[str, tuple[str, Shape]] = OrderedDict()  # title and shape by id

    def entry(self, query: Document | str) -> dict[str, Any]:
        """The matches of a document, given by itself or by its id in the index, or the reason why there are none."""
        document = self.index.document(query) if isinstance(query, str) else query
        try:
            return {"matches": [asdict(match) for match in self._matches(document)]}
        except (EmptyQuery, UsageError) as error:
            return {"failure": str(error)}

    def _matches(self, query: Document) -> list[Match]:
        """The document itself is left out; a copy of it under another id is not."""
        settings = self.settings
        options: dict[str, Any] = {
            "where": settings.where,
            "before": settings.before,
            "undated": settings.undated,
            "keep_self": True,
            "exclude": [query.id] if self.index.holds(query) else [],
        }
        return self._with_evidence(query, options) if settings.evidence else self._ranked(query, options)

    def _ranked(self, query: Document, options: dict[str, Any]) -> list[Match]:
        ranking = self.searcher.rank(query, **options).top(self.settings.k)
        own = shape(fold_words(query.text))
        matches = []
        for rank, (id, score) in enumerate(zip(ranking.ids, ranking.scores.tolist(), strict=True), 1):
            title, other = self._shape(id)
            matches.append(Match(query.id, query.title, rank, id, title, score, relation(own, other)))
        return matches

    def _shape(self, id: str) -> tuple[str, Shape]:
        if id in self._shapes:
            self._shapes.move_to_end(id)
            return self._shapes[id]
        document = self.index.document(id)
        self._shapes[id] = document.title, shape(fold_words(document.text))
        if len(self._shapes) > KEPT:
            self._shapes.popitem(last=False)
        return self._shapes[id]

    def _with_evidence(self, query: Document, options: dict[str, Any]) -> list[Match]:
        results = self.searcher.search(query, self.settings.k, **options, pairs=1, group=False)
        return [
            Match(
                query.id,
                query.title,
                hit.rank,
                hit.id,
                hit.title,
                hit.score,
                hit.relation,
                None if hit.query_coverage is None else hit.query_coverage.share,
                None if hit.document_coverage is None else hit.document_coverage.share,
                *((hit.pairs[0].kind, hit.pairs[0].similarity) if hit.pairs else (None, None)),
                *((one_line(hit.pairs[0].query), one_line(hit.pairs[0].document)) if hit.pairs else (None, None)),
            )
            for hit in results
        ]
