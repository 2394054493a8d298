"""Both stages for one query, with or without marks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from rprs.document import Candidates, Document, Ranking, Sentences
from rprs.errors import EmptyQuery
from rprs.index import Index
from rprs.progress import Progress, show_scans
from rprs.rank.equal_texts import equal_scores
from rprs.rank.stages import Mask, load_candidates
from rprs.rank.steering import NO_MARKS, Marks, query_parts, rank_parts, rerank_parts
from rprs.rank.system import System

__all__ = ["Outcome", "run_stages", "timed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The rankings of both stages; the same one twice if there is no re-ranker."""

    first: Ranking
    final: Ranking
    sentences: int  # of the query
    seconds: dict[str, float]

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of both stages, each line once: without a re-ranker they are the same."""
        return tuple(dict.fromkeys((*self.first.notes, *self.final.notes)))


def run_stages(
    system: System,
    index: Index,
    document: Document,
    allowed: Mask,
    progress: Progress,
    *,
    marks: Marks = NO_MARKS,
    also: str | None = None,
    load: Callable[[Index, Document, Ranking], Candidates] = load_candidates,
) -> Outcome:
    """The ranking of the allowed documents; `also` is appended to the candidates if the first stage did not find it."""
    seconds: dict[str, float] = {}
    with timed(seconds, "sentences"):
        query = index.query_sentences(document, progress) if system.rerank else index.splitter.split(document.text)
    if not len(query):
        raise EmptyQuery(f"The query {document.id!r} has no sentences: there is nothing to compare")
    parts = query_parts(document, query, marks, index)
    with (
        timed(seconds, "first stage"),
        progress("first stage", unit="documents") as advance,
        show_scans(progress),
    ):
        first = rank_parts(system.first, parts, index, system.depth, allowed)
        advance(len(first))
    if also is not None and also not in first.ids:
        first = Ranking((*first.ids, also), np.append(first.scores, np.nan), notes=first.notes)
    if system.rerank is None:
        return Outcome(first, first, len(query), seconds)
    with timed(seconds, "candidates"):
        candidates = load(index, parts[0].document, first)

    def sentences_of(part: Document) -> Sentences:
        return query if part is document else index.query_sentences(part)

    with (
        timed(seconds, "re-ranking"),
        progress("re-ranking", int(candidates.sentence_counts.sum()), "sentences") as advance,
    ):
        final = rerank_parts(system.rerank, parts, candidates, index, sentences_of, advance)
    return Outcome(first, equal_scores(final, index), len(query), seconds)


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Measure how long a stage takes."""
    started = perf_counter()
    yield
    seconds[stage] = perf_counter() - started
