"""What a search for passages returns: places in documents with their context, and how they match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from rprs.alignment.values import Pair
from rprs.document import Document, Metadata

__all__ = ["PassageHit", "PassageResults"]


@dataclass(frozen=True, slots=True)
class PassageHit:
    """A passage of a document that is like the one that was searched for."""

    rank: int
    id: str  # of the document
    title: str
    metadata: Metadata
    pair: Pair  # both passages, with the kind of match
    score: float  # the similarity, times the share of the words of the searched passage that have a counterpart here
    before: str  # the text before the passage, from the start of a sentence
    after: str  # the text behind it, up to the end of a sentence
    sentences: tuple[int, int]  # the numbers of the first and the last sentence of the document that it is part of
    of: int  # the number of sentences of the document
    collection: str = ""  # of a search over several collections: the one that has the document

    @property
    def text(self) -> str:
        """The passage of the document."""
        return self.pair.document

    def __repr__(self) -> str:
        line = " ".join(self.text.split())
        return f"<PassageHit {self.rank}: {self.id}, {self.pair.kind} ({self.score:.3f}): {line[:60]!r}>"


@dataclass(frozen=True, slots=True)
class PassageResults(Sequence[PassageHit]):
    """The passages that a search found, best first, with notes and the seconds that each stage took."""

    hits: tuple[PassageHit, ...]
    passage: Document  # that was searched for
    total: int  # how many were found, of which these are the best
    compared: int  # the number of sentences whose vectors were compared
    notes: tuple[str, ...]
    seconds: Mapping[str, float]

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, place: int) -> PassageHit: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[PassageHit]: ...
    def __getitem__(self, place: int | slice) -> PassageHit | Sequence[PassageHit]:
        return self.hits[place]

    def __repr__(self) -> str:
        best = f"; best: {self.hits[0].id} ({self.hits[0].pair.kind})" if self.hits else ""
        return f"<PassageResults: {len(self):,} of {self.total:,} passages{best}>"

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per passage and the columns of the CSV export."""
        from rprs.evaluation.frame import data_frame
        from rprs.passages.export import columns

        return data_frame("PassageResults.to_frame", columns(self.hits))
