"""A slow and literal check that an alignment matches every clause of 8 or more words that both texts have."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from rprs.alignment.values import Alignment, Span

__all__ = ["unmatched_clauses"]

LENGTH = 8
_WORD = re.compile(r"\w(?:\w|(?<=\d)[.,/:·](?=\d))*")

Word = tuple[str, str, int]  # in lower case, the signs behind it, and where it starts


def unmatched_clauses(alignment: Alignment) -> list[str]:
    """The sequences of 8 words of either text that the other has, and of which a word is in no pair."""
    sides = (
        (alignment.query.text, alignment.document.text, [pair.query_span for pair in alignment.pairs]),
        (alignment.document.text, alignment.query.text, [pair.document_span for pair in alignment.pairs]),
    )
    return [clause for text, other, spans in sides for clause in _unmatched(text, other, spans)]


def _unmatched(text: str, other: str, spans: Iterable[Span]) -> list[str]:
    covered = bytearray(len(text))
    for start, end in spans:
        covered[start:end] = b"\1" * (end - start)
    words = _words(text)
    sequences = set(map(_clause, _sequences(_words(other))))
    return [
        " ".join(word for word, _, _ in part)
        for part in _sequences(words)
        if _clause(part) in sequences and not all(covered[start] for _, _, start in part)
    ]


def _words(text: str) -> list[Word]:
    """The words of a text; a line that ends with a hyphen is no reason to join two."""
    matches = list(_WORD.finditer(text))
    ends = [*(match.start() for match in matches), len(text)][1:]
    return [
        (unicodedata.normalize("NFKC", match[0]).lower(), _signs(text[match.end() : end + 1]), match.start())
        for match, end in zip(matches, ends, strict=True)
    ]


def _signs(gap: str) -> str:
    """What counts of the characters between two words, of which the last one is the first of the next word."""
    kept = "-." if gap[-1:].isdecimal() else ""
    return "".join(sign for sign in gap[:-1] if sign in f"%‰§¶{kept}" or unicodedata.category(sign) in ("Sc", "Sm"))


def _clause(part: list[Word]) -> tuple[str, ...]:
    """The words with the signs between them."""
    return (*(value for word, signs, _ in part[:-1] for value in (word, signs)), part[-1][0])


def _sequences(words: list[Word]) -> list[list[Word]]:
    return [words[place : place + LENGTH] for place in range(len(words) - LENGTH + 1)]
