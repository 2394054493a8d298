"""How pairs are shown on every surface: the sign of each kind, changed words, and runs of unmatched sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rprs.alignment.describe import Matched, similarity_text
from rprs.alignment.values import KINDS, Change, Kind, Pair, Span
from rprs.document import Sentences
from rprs.results.one_line import INVISIBLE

__all__ = [
    "SIGNS",
    "Passage",
    "Piece",
    "Side",
    "count_kinds",
    "describe_pair",
    "kind_class",
    "passages",
    "pieces",
    "pieces_of",
    "shortened",
]

Side = Literal["query", "document"]

SIGNS: Mapping[Kind, str] = {"identical": "=", "reworded": "±", "same idea": "≈"}  # beside the colours, never without


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a passage, on one line, and whether the other passage of the pair has different words there."""

    text: str
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """Neighbouring sentences of a document, numbered from 1."""

    first: int
    last: int
    span: Span

    @property
    def numbers(self) -> str:
        """The numbers of its sentences: `3` or `3–5`."""
        return f"{self.first}–{self.last}" if self.last > self.first else str(self.first)


def kind_class(kind: Kind) -> str:
    """The class of a kind in style sheets."""
    return f"kind-{kind.replace(' ', '-')}"


def count_kinds(pairs: Iterable[Pair]) -> dict[Kind, int]:
    """How many pairs there are of each kind, the strongest kind first."""
    counts = Counter(pair.kind for pair in pairs)
    return {kind: counts[kind] for kind in KINDS}


def describe_pair(pair: Matched) -> str:
    """The kind and similarity of a pair: `identical`, `reworded, 92% of words`, `same idea, 0.83`."""
    return pair.kind if pair.kind == "identical" else f"{pair.kind}, {similarity_text(pair)}"


def pieces(pair: Pair, side: Side) -> list[Piece]:
    """One side of a pair, with its changed words apart."""
    text, start = (pair.query, pair.query_span[0]) if side == "query" else (pair.document, pair.document_span[0])
    return pieces_of(text, start, _changed(pair.changes, side))


def pieces_of(text: str, start: int, changed: Iterable[Span]) -> list[Piece]:
    """A passage that begins at `start` of its document, with the words of some spans of the document apart."""
    cut, place = list[Piece](), 0
    for first, last in changed:
        cut += [Piece(_flat(text[place : first - start])), Piece(_flat(text[first - start : last - start]), True)]
        place = last - start
    cut.append(Piece(_flat(text[place:])))
    kept = [piece for piece in cut if piece.text]
    if kept:
        kept[0] = Piece(kept[0].text.lstrip(), kept[0].changed)
        kept[-1] = Piece(kept[-1].text.rstrip(), kept[-1].changed)
    return kept


def shortened(passage: Sequence[Piece], length: int) -> list[Piece]:
    """A passage of at most about `length` characters: a longer one is cut in the middle."""
    if sum(len(piece.text) for piece in passage) <= length:
        return [*passage]
    start = _beginning(passage, length * 2 // 3)
    mirrored = [Piece(piece.text[::-1], piece.changed) for piece in reversed(passage)]
    end = [Piece(piece.text[::-1], piece.changed) for piece in reversed(_beginning(mirrored, length // 3))]
    return [*start, Piece(" … "), *end]


def _beginning(passage: Iterable[Piece], length: int) -> list[Piece]:
    """As many whole words as fit."""
    kept, left = list[Piece](), length
    for piece in passage:
        if len(piece.text) > left:
            words = piece.text[:left].rpartition(" ")[0] or piece.text[:left]
            return [*kept, Piece(words, piece.changed)] if words else kept
        kept.append(piece)
        left -= len(piece.text)
    return kept


def _changed(changes: Sequence[Change], side: Side) -> Iterator[Span]:
    for change in changes:
        span = change.query_span if side == "query" else change.document_span
        if span[0] < span[1]:  # words were added on the other side only
            yield span


def _flat(text: str) -> str:
    """A text without line breaks; unlike `one_line`, it keeps the blanks at its ends."""
    return re.sub(r"\s+", " ", INVISIBLE.sub(" ", text))


def passages(sentences: Sentences, spans: Iterable[Span]) -> list[Passage]:
    """Some sentences of a document; neighbouring ones form one passage."""
    chosen, found = {*spans}, list[Passage]()
    for number, (start, end) in enumerate(sentences.spans.tolist(), 1):
        if (start, end) not in chosen:
            continue
        if found and found[-1].last == number - 1:
            found[-1] = Passage(found[-1].first, number, (found[-1].span[0], end))
        else:
            found.append(Passage(number, number, (start, end)))
    return found
