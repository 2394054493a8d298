"""Birch: the first stage's score of a document, and the scores of its best sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rprs.document import Candidates, Ranking, Sentences, Truncation
from rprs.errors import UsageError
from rprs.progress import Advance, Progress, no_op, silent
from rprs.rank.stages import NOT_TRUNCATED, order_candidates, require_sentences
from rprs.scoring import birch
from rprs.scoring.fuse import minmax
from rprs.scoring.maxsim import best_sentences
from rprs.spec import Component, Kind, require

if TYPE_CHECKING:
    from rprs.encode.pairs import PairScorer

__all__ = ["Birch", "PreparedBirch"]

Floats = NDArray[np.float64]

PAIRS = 2**14  # pairs of sentences that a cross-encoder gets at a time
TENTHS = tuple(tenth / 10 for tenth in range(10))


@dataclass(frozen=True, slots=True)
class PreparedBirch:
    """The scores of k candidates and of their sentences, in first-stage order."""

    document: Floats  # (k,): first-stage scores, scaled
    best: Floats  # (k, top): the scores of their best sentences, falling; 0 where a document has fewer
    truncation: Truncation = NOT_TRUNCATED


@dataclass(frozen=True)
class Birch(Component):
    """a · S_doc + (1 − a) · (S_1 + w2 · S_2 + w3 · S_3): Birch (Yilmaz et al. 2019) for a query of any length.

    S_doc is the first-stage score, from 0 to 1 within the candidates. A sentence scores the maximum over the query's
    sentences, of their cosines (`scorer="cosine"`) or of what a cross-encoder makes of each pair of sentences
    (`scorer="cross"`, with its `model`), as a probability. `top` is how many sentences of a document count.
    """

    a: float = 0.5
    w2: float = 0.5
    w3: float = 0.5
    top: int = 3
    scorer: Literal["cosine", "cross"] = "cosine"
    model: str = ""
    name: ClassVar[str] = "birch"
    kinds: ClassVar[tuple[Kind, ...]] = ("reranker",)
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"a": TENTHS, "w2": TENTHS, "w3": TENTHS}

    def __post_init__(self) -> None:
        require(self, "a", 0 <= self.a <= 1, "a number in [0, 1]")
        require(self, "w2", 0 <= self.w2 < np.inf, "a number in [0, inf)")
        require(self, "w3", 0 <= self.w3 < np.inf, "a number in [0, inf)")
        require(self, "top", 1 <= self.top <= 3, "an integer in [1, 3]")
        require(self, "scorer", self.scorer in ("cosine", "cross"), "'cosine' or 'cross'")
        if (self.scorer == "cross") != bool(self.model):
            raise UsageError("birch needs a model for scorer=cross, and for that alone: birch(scorer=cross,model=NAME)")

    def load(self, progress: Progress = silent) -> PairScorer | None:
        """The cross-encoder, if there is one; downloaded and prepared on first use."""
        from rprs.encode.pairs import load_pairs

        return load_pairs(self.model, progress=progress) if self.model else None

    def rerank(self, query: Sentences, candidates: Candidates, advance: Advance = no_op) -> Ranking:
        """The candidates by their scores, with both terms of the sum before `a` weighs them."""
        return self.score(self.prepare(query, candidates, advance), candidates)

    def prepare(self, query: Sentences, candidates: Candidates, advance: Advance = no_op) -> PreparedBirch:
        """The scores of the documents and of their best sentences; no first-stage score counts as 0."""
        require_sentences(query)
        document = minmax(candidates.ranking.scores)
        scorer = self.load()
        if scorer is not None:
            return PreparedBirch(document, *self._cross(scorer, query, candidates, advance))
        return PreparedBirch(document, best_sentences(query.vectors, candidates.sentences, self.top, advance))

    def score(self, prepared: PreparedBirch, candidates: Candidates) -> Ranking:
        """The sum at these weights."""
        sentences = birch.evidence(prepared.best, (1.0, self.w2, self.w3)[: self.top])
        parts = {"first": prepared.document, "best_sentences": sentences}
        return order_candidates(
            candidates, birch.birch(prepared.document, sentences, self.a), parts=parts, truncation=prepared.truncation
        )

    def _cross(
        self, scorer: PairScorer, query: Sentences, candidates: Candidates, advance: Advance
    ) -> tuple[Floats, Truncation]:
        """Every sentence of the query with every sentence of the candidates: exact, and slow."""
        if candidates.query is None or candidates.read is None:
            raise UsageError(f"{self} reads the texts of the candidates, which are missing here: use load_candidates")
        query_texts, best = query.texts(candidates.query.text), np.zeros((len(candidates.sentences), self.top))
        pairs = truncated = 0
        step = max(1, PAIRS // len(query_texts))
        for row, (id, sentences) in enumerate(zip(candidates.ranking.ids, candidates.sentences, strict=True)):
            texts = sentences.texts(candidates.read(id).text) if len(sentences) else []
            scores = np.empty(len(texts))
            for start in range(0, len(texts), step):
                some = texts[start : start + step]
                scored = scorer.score(query_texts * len(some), [text for text in some for _ in query_texts])
                scores[start : start + step] = scored.scores.reshape(len(some), len(query_texts)).max(axis=1)
                pairs, truncated = pairs + len(scored.scores), truncated + int(scored.truncated.sum())
                advance(len(some))
            best[row] = birch.best(np.exp(-np.logaddexp(0, -scores)), self.top)
        return best, Truncation(truncated, pairs, scorer.window)
