"""Search with a whole document: a first stage, a re-ranker, and the sentences that are the evidence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from rprs import __version__
from rprs.alignment.duplicates import Grouping
from rprs.alignment.values import KINDS, Alignment, Kind
from rprs.charts import SOURCES
from rprs.document import Document, Query, Ranking, combine, query_documents, text_document
from rprs.errors import EmptyQuery, UsageError
from rprs.evidence import Evidence
from rprs.files.cache import Cache, as_cache
from rprs.index import Index
from rprs.index.arguments import require_document
from rprs.progress import Progress, as_progress
from rprs.rank import System
from rprs.rank.batch import Allowed, cached_ranking, mask_digest
from rprs.rank.date_limit import DateLimit, Undated, as_date_limit
from rprs.rank.identity import identity
from rprs.rank.restrictions import Restrictions, SearchOptions, as_restrictions
from rprs.rank.stages import Mask
from rprs.rank.steering import NO_MARKS, Marks
from rprs.rank.system import SystemOptions, as_system
from rprs.rank.two_stages import Outcome, run_stages, timed
from rprs.read import read_exclusions
from rprs.read.inputs import Queries, read_query_set
from rprs.results.hits import Duplicate, Explanation, Hit, Results
from rprs.results.run import Run
from rprs.results.serialize import About, id_list, now

if TYPE_CHECKING:  # charts and passages are imported where they are used: most searches need neither
    from rprs.charts.values import Chart
    from rprs.passages.find import Sources
    from rprs.passages.values import PassageResults

__all__ = ["Searcher"]

READ_AHEAD = 12  # ranked documents, read at a time where that is faster


class Searcher:
    """Ranks the documents of an index by their similarity to a whole document.

    `Searcher("cases.rprs")`, with a named system as `Searcher("cases.rprs", "paper")`, or with a `System`; options such
    as `first="bm25"`, `rerank="rprs"` and `depth=50` replace the system's own. `progress=True` shows a progress bar.
    """

    def __init__(
        self,
        index: Index | str | Path,
        system: System | str | None = None,
        *,
        progress: Progress | bool | None = None,
        **options: Unpack[SystemOptions],
    ) -> None:
        self.system = as_system(system, options)
        self.index = index if isinstance(index, Index) else Index(index)
        self.progress = as_progress(progress)

    def __repr__(self) -> str:
        return f"<Searcher {self.system} over {self.index!r}>"

    def search(
        self,
        query: Query,
        k: int = 10,
        *,
        pairs: int = 3,
        group: bool = True,
        boilerplate: bool = True,
        **options: Unpack[SearchOptions],
    ) -> Results:
        """The k documents most similar to a text, a document, or several combined, with their most telling pairs.

        The `options` are those of `SearchOptions`. The query itself, by its id or its text, is left out unless
        `keep_self`, and so are the ids to `exclude`; `where` is a metadata filter. `before="date"` leaves out documents
        that are newer than the query by that metadata field, `before="2015-06-01"` those newer than that day, and
        `undated="drop"` also those without a date. Documents with the same or almost the same text are `duplicates` of
        the best of them, unless `group=False`; ranks are those of the list without groups. The pairs come from the
        alignment of the query with each hit, as in `align`; `boilerplate=False` leaves boilerplate out of pairs and
        coverage.

        Marks steer the ranking. `like` are ids of relevant documents, which join the query with a weight; `unlike` are
        ids of documents that are not relevant and left out. `key` and `ignore` are ranges (start, end) of the query's
        text, whose sentences count more or not at all. The evidence is that of the whole query.
        """
        _require_count("k", k)
        _require_count("pairs", pairs)
        documents, restrictions = query_documents(query), as_restrictions(**options)
        allowed = self._allowed(restrictions, documents)
        document = combine(documents)
        outcome = self._run(document, allowed.mask, restrictions.marks)
        with timed(outcome.seconds, "evidence"):
            evidence = Evidence(document, self.index, self.progress)
            groups = self._groups(outcome, evidence, k, group)
            hits = tuple(self._hit(outcome, place, evidence.document, duplicates) for place, duplicates in groups)
            if pairs:
                alignments = evidence.summaries([hit.id for hit in hits], pairs, boilerplate=boilerplate)
                hits = tuple(map(_aligned, hits, alignments))
        notes = (*allowed.notes, *self._notes(outcome))
        return Results(hits, len(outcome.first), outcome.sentences, notes, outcome.seconds)

    def align(self, query: Query, id: str, *, boilerplate: bool = True) -> Alignment:
        """What a query and a document of the index have in common; nothing of other documents' sentences enters."""
        evidence = Evidence(combine(query_documents(query)), self.index, self.progress)
        return evidence.align(id, boilerplate=boilerplate)

    def coverage(
        self,
        query: Query,
        ids: Sequence[str] | None = None,
        k: int = SOURCES,
        *,
        group: bool = True,
        boilerplate: bool = True,
        **options: Unpack[SearchOptions],
    ) -> Chart:
        """Which parts of a query are covered by the k best hits, or by the documents with some `ids`, and by none.

        Each is aligned with the query as in `align`; in a patent, the elements of the claims are aligned one by one.
        The other arguments are those of `search`, and restrict the hits.
        """
        from rprs.charts.build import Charting, named_documents, named_hits

        document, notes = combine(query_documents(query)), tuple[str, ...]()
        if ids is not None:
            named = named_documents(self.index, ids)
        else:
            results = self.search(query, k, pairs=0, group=group, **options)
            named, notes = named_hits(results), results.notes
        charting = Charting(document, self.index, self.progress, boilerplate=boilerplate)
        return charting.finish(list(charting.sources(named)), notes)

    def passages(
        self,
        text: str | Document,
        k: int = 10,
        *,
        where: str | None = None,
        exclude: Iterable[str] = (),
        before: str | date | None = None,
        undated: Undated = "keep",
        kinds: Sequence[Kind] = KINDS,
        context: int = 1,
        boilerplate: bool = True,
    ) -> PassageResults:
        """The k passages of all documents that are most like a passage, each with `context` sentences on both sides.

        Documents that share words and phrases are found first, then the nearest of all sentences by their vectors:
        identical and reworded passages come before those with the same idea. `kinds` selects among them, and
        `boilerplate=False` leaves out what many documents have. The restrictions are those of `search`, but nothing is
        left out unless it is in `exclude`.
        """
        from rprs.passages.find import require_options, require_passage, search_passages

        options = require_options(k, kinds, context)
        passage = require_passage(text_document(text) if isinstance(text, str) else require_document(text))
        restrictions = as_restrictions(where=where, keep_self=True, exclude=exclude, before=before, undated=undated)
        allowed = self._allowed(restrictions, [passage])
        sources = self._passage_sources(allowed.mask)
        results = search_passages(
            passage, self.index, sources, options, boilerplate=boilerplate, progress=self.progress
        )
        return replace(results, notes=(*allowed.notes, *results.notes, *self._pending()))

    def rank(
        self,
        query: Query,
        **options: Unpack[SearchOptions],
    ) -> Ranking:
        """The whole answer without evidence, as a run file has it."""
        documents, restrictions = query_documents(query), as_restrictions(**options)
        return self._rank(documents, self._allowed(restrictions, documents), restrictions.marks)

    def run(
        self,
        queries: Queries,
        *,
        exclude: str | PurePath | Mapping[str, Iterable[str]] | None = None,
        where: str | None = None,
        keep_self: bool = False,
        before: str | date | None = None,
        undated: Undated = "keep",
        k: int | None = None,
        strict: bool = False,
        tag: str | None = None,
        cache: Cache | str | Path | None = None,
    ) -> Run:
        """The rankings of many queries: documents, texts by id, a file of records, or a BEIR folder.

        `exclude` maps queries to documents that must not be ranked for them, as a mapping or as a table; of a BEIR
        folder, its `exclude.tsv` applies by default. The other restrictions are those of `search`. A query that cannot
        be answered, for example one without a date, is listed in `failures` of the run, or, with `strict`, raises its
        error. With a `cache`, finished rankings are kept there, so that an interrupted run resumes.
        """
        if not isinstance(tag, str | None):
            raise UsageError(f"The tag of a run must be a text. Got {tag!r:.80}")
        limit = as_date_limit(before, undated)
        self._check(where, limit)  # a wrong filter is one error, not one for each query
        excluded, store = read_exclusions(exclude, queries), as_cache(cache)
        failures: dict[str, str] = {}
        documents = read_query_set(
            queries, strict=strict, skipped=lambda item: failures.update({item.path: item.reason})
        )
        key = self._cache_key(store)
        rankings: dict[str, Ranking] = {}
        with self.progress("answering", unit="queries") as advance:
            for query in documents:
                try:
                    restrictions = Restrictions(where, keep_self, excluded.get(query.id, ()), limit, NO_MARKS)
                    allowed = self._allowed(restrictions, [query])
                    rankings[query.id] = self._cached_rank(query, allowed, store if key else None, key)
                except (EmptyQuery, UsageError) as error:
                    if strict:
                        raise
                    failures[query.id] = str(error)
                advance(1)
        if not rankings:
            reason = f": {next(iter(failures.values()))}" if failures else ""
            raise UsageError(f"None of the {len(failures):,} queries could be answered{reason}")
        if k is not None:
            _require_count("k", k)
            rankings = {query: ranking.top(k) for query, ranking in rankings.items()}
        return Run(rankings, tag or self.system.tag, failures)

    def explain(
        self,
        query: Query,
        id: str,
        *,
        boilerplate: bool = True,
        **options: Unpack[SearchOptions],
    ) -> Explanation:
        """The alignment of a query with a document of the index, and the document's place in the same search.

        A document that the search leaves out, such as the query itself, is appended to the candidates.
        """
        documents, restrictions = query_documents(query), as_restrictions(**options)
        self.index.document(id)  # a wrong id is an error before anything is computed
        allowed = self._allowed(restrictions, documents)
        document = combine(documents)
        outcome = self._run(document, allowed.mask, restrictions.marks, also=id)
        alignment = Evidence(document, self.index, self.progress).align(id, boilerplate=boilerplate)
        hit = _aligned(self._hit(outcome, outcome.final.ids.index(id), self.index.document), alignment)
        notes = (*allowed.notes, *self._notes(outcome))
        return Explanation(hit, not np.isnan(hit.first_score), alignment, notes)

    def about(
        self,
        query: Query,
        k: int,
        *,
        group: bool = True,
        boilerplate: bool = True,
        fingerprint: str | None = None,
        **options: Unpack[SearchOptions],
    ) -> About:
        """Everything needed to reproduce a search; `fingerprint` is that of the index, if it is known already."""
        documents, system, restrictions = query_documents(query), self.system, as_restrictions(**options)
        document, limit = combine(documents), restrictions.limit
        return About(
            version=__version__,
            index=self.index.path.resolve().name,
            fingerprint=fingerprint or self.index.fingerprint,
            documents=len(self.index),
            first=str(system.first),
            rerank=None if system.rerank is None else str(system.rerank),
            depth=system.depth,
            cutoff=None if system.cutoff is None else str(system.cutoff),
            where=restrictions.where,
            keep_self=restrictions.keep_self,
            k=k,
            query=document.id,
            query_hash=document.content_hash,
            date=now(),
            exclude=id_list(restrictions.exclude),
            before=limit.resolved(documents) if limit else None,
            undated=limit.undated if limit else None,
            grouping=None if group else "none",
            boilerplate=None if boilerplate else "left out",
            **{name: _as_json(values) for name, values in asdict(restrictions.marks).items()},
        )

    # ------------------------------------------------------------------------ stages

    def _rank(self, documents: Sequence[Document], allowed: Allowed, marks: Marks = NO_MARKS) -> Ranking:
        outcome = self._run(combine(documents), allowed.mask, marks)
        return self.system.cut(replace(outcome.final, notes=(*allowed.undated, *outcome.notes)))

    def _run(self, document: Document, allowed: Mask, marks: Marks = NO_MARKS, also: str | None = None) -> Outcome:
        return run_stages(self.system, self.index, document, allowed, self.progress, marks=marks, also=also)

    def _check(self, where: str | None, limit: DateLimit | None) -> None:
        """Raise an error for a filter or a date limit that suits no query."""
        self.index.select(where)
        if limit:
            limit.dates(self.index)

    def _allowed(self, restrictions: Restrictions, documents: Sequence[Document]) -> Allowed:
        return restrictions.allowed(self.index, documents)

    def _digest(self, mask: Mask) -> str:
        return mask_digest(mask)

    def _passage_sources(self, allowed: Mask) -> Sources:
        from rprs.passages.find import IndexSources

        return IndexSources(self.index, allowed, self.progress)

    def _cache_key(self, cache: Cache | None) -> dict[str, Any] | None:
        """What a ranking depends on besides its query; None where it cannot be cached."""
        if cache is None:
            return None
        stages = [identity(self.system.first, cache), identity(self.system.rerank, cache)]
        if None in stages:
            return None
        cutoff = None if self.system.cutoff is None else str(self.system.cutoff)
        return {"index": self.index.fingerprint, "stages": stages, "depth": self.system.depth, "cutoff": cutoff}

    def _cached_rank(
        self, query: Document, allowed: Allowed, cache: Cache | None, key: dict[str, Any] | None
    ) -> Ranking:
        inputs = {**(key or {}), "query": [query.id, query.content_hash], "allowed": self._digest(allowed.mask)}
        if allowed.undated:
            inputs["undated"] = allowed.undated  # a note of the ranking
        return cached_ranking(cache, "run", inputs, lambda: self._rank([query], allowed))

    def _notes(self, outcome: Outcome) -> tuple[str, ...]:
        return (*outcome.notes, *outcome.final.truncation.notes, *self._pending())

    def _pending(self) -> tuple[str, ...]:
        waiting = self.index.pending
        return (f"{waiting} documents are not encoded yet: run `rprs index` again to finish",) if waiting else ()

    # ------------------------------------------------------------------------ evidence

    def _groups(
        self, outcome: Outcome, evidence: Evidence, k: int, group: bool
    ) -> list[tuple[int, tuple[Duplicate, ...]]]:
        """The places of the first k hits in the ranking, each with the documents that are grouped under it."""
        ranking = self.system.cut(outcome.final)
        if not group:
            self.index.read_ahead(ranking.ids[:k])
            return [(place, ()) for place in range(min(k, len(ranking)))]
        groups: list[tuple[int, list[Duplicate]]] = []
        grouping = Grouping()
        for place, id in enumerate(ranking.ids):
            if place % READ_AHEAD == 0:
                self.index.read_ahead(ranking.ids[place : place + READ_AHEAD])
            leader, relation = grouping.add(evidence.side(id).words)
            if leader < len(groups):
                document = evidence.document(id)
                score, where = float(ranking.scores[place]), self.index.collection_of(id)
                duplicate = Duplicate(id, document.title, relation, score, place + 1, document.metadata, where)
                groups[leader][1].append(duplicate)
            elif len(groups) == k:
                break
            else:
                groups.append((place, []))
        return [(place, tuple(duplicates)) for place, duplicates in groups]

    def _hit(
        self,
        outcome: Outcome,
        place: int,
        read: Callable[[str], Document],
        duplicates: tuple[Duplicate, ...] = (),
    ) -> Hit:
        id = outcome.final.ids[place]
        document = read(id)
        candidate = outcome.first.ids.index(id)
        return Hit(
            rank=place + 1,
            id=id,
            score=float(outcome.final.scores[place]),
            title=document.title,
            metadata=document.metadata,
            first_rank=candidate + 1,
            first_score=float(outcome.first.scores[candidate]),
            parts={name: float(values[place]) for name, values in outcome.final.parts.items()},
            duplicates=duplicates,
            collection=self.index.collection_of(id),
        )


def _aligned(hit: Hit, alignment: Alignment) -> Hit:
    return replace(
        hit,
        pairs=alignment.pairs,
        query_coverage=alignment.query_coverage,
        document_coverage=alignment.document_coverage,
        relation=alignment.relation,
    )


def _as_json(values: Sequence[Any]) -> str | None:
    """A list for the provenance of a result; None if it is empty."""
    return json.dumps(values, ensure_ascii=False) if values else None


def _require_count(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise UsageError(f"{name} must be an integer in [0, inf). Got {value!r} instead.")
