"""A cross-encoder as a re-ranker: one model reads query and document together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rprs.document import Candidates, Ranking, Sentences, Truncation
from rprs.encode.pairs import WINDOW, PairScorer, load_pairs
from rprs.errors import UsageError
from rprs.progress import Advance, Progress, no_op, silent
from rprs.rank.stages import order_candidates, require_sentences
from rprs.spec import Component, Kind, require

__all__ = ["Cross"]


@dataclass(frozen=True)
class Cross(Component):
    """The score that a sequence-classification model gives to query and document (Nogueira & Cho 2019).

    `model` is a name or a folder. Query and document together are truncated to `window` tokens, the longer one first,
    as the method requires; a ranking reports how many of its inputs were truncated.
    """

    model: str
    window: int = WINDOW
    name: ClassVar[str] = "cross"
    kinds: ClassVar[tuple[Kind, ...]] = ("reranker",)

    def __post_init__(self) -> None:
        require(self, "model", bool(self.model), "a name or a folder")
        require(self, "window", self.window >= 8, "an integer in [8, inf)")

    def load(self, progress: Progress = silent) -> PairScorer:
        """The model; downloaded and prepared on first use."""
        return load_pairs(self.model, self.window, progress)

    def rerank(self, query: Sentences, candidates: Candidates, advance: Advance = no_op) -> Ranking:
        """The candidates by the model's scores; the part `truncated` is 1 where a text was truncated."""
        require_sentences(query)
        if candidates.query is None or candidates.read is None:
            raise UsageError(f"{self} reads the texts of the candidates, which are missing here: use load_candidates")
        texts = [candidates.read(id).text for id in candidates.ranking.ids]
        scorer = self.load()
        scored = scorer.score(
            [candidates.query.text] * len(texts), texts, _by_sentences(advance, candidates, len(texts))
        )
        truncation = Truncation(int(scored.truncated.sum()), len(texts), scorer.window)
        parts = {"truncated": scored.truncated.astype("float64")}
        return order_candidates(candidates, scored.scores, parts=parts, truncation=truncation)


def _by_sentences(advance: Advance, candidates: Candidates, pairs: int) -> Advance:
    """Progress counts sentences of candidates: a pair of texts stands for its share of them."""
    sentences = int(candidates.sentence_counts.sum())
    done = 0

    def step(more: int) -> None:
        nonlocal done
        advance(sentences * (done + more) // pairs - sentences * done // pairs)
        done += more

    return step
