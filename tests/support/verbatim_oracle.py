"""A slow and literal check that an alignment matches every clause of 8 or more words that both texts have."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from rprs.alignment.values import Alignment, Span

__all__ = ["unmatched_clauses"]

LENGTH = 8
_WORD = re.compile(r"\w+")


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
    sequences = {tuple(word for word, _ in part) for part in _sequences(_words(other))}
    return [
        " ".join(word for word, _ in part)
        for part in _sequences(words)
        if tuple(word for word, _ in part) in sequences and not all(covered[start] for _, start in part)
    ]


def _words(text: str) -> list[tuple[str, int]]:
    """The words in lower case, and where they start; a line that ends with a hyphen is no reason to join two."""
    return [(unicodedata.normalize("NFKC", match[0]).lower(), match.start()) for match in _WORD.finditer(text)]


def _sequences(words: list[tuple[str, int]]) -> list[list[tuple[str, int]]]:
    return [words[place : place + LENGTH] for place in range(len(words) - LENGTH + 1)]
