"""Small alignments made by hand, for tests of how evidence is shown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rprs import Alignment, Change, Coverage, Document, Pair
from rprs.alignment.values import Kind, Span
from rprs.document import Sentences

KINDS: tuple[Kind, ...] = ("identical", "reworded", "same idea")


def span_of(text: str, part: str) -> Span:
    """The place of a part that occurs in a text."""
    start = text.index(part)
    return start, start + len(part)


def pair_of(
    query: str,
    document: str,
    kind: Kind,
    parts: tuple[str, str],
    *,
    changes: Sequence[tuple[str, str]] = (),
    boilerplate: bool = False,
) -> Pair:
    """A pair of parts of two texts; changes are words of both, either of which may be empty."""
    spans = span_of(query, parts[0]), span_of(document, parts[1])
    changed = [Change(_within(query, spans[0], old), _within(document, spans[1], new)) for old, new in changes]
    similarity = {"identical": 1.0, "reworded": 0.925, "same idea": 0.756}[kind]
    words = len(parts[0].split()), len(parts[1].split())
    return Pair(*parts, kind, similarity, *spans, *words, boilerplate, tuple(changed))


def _within(text: str, span: Span, part: str) -> Span:
    start = text.index(part, *span) if part else span[0]
    return start, start + len(part)


def sentences_of(text: str, parts: Sequence[str]) -> Sentences:
    """Sentences that are parts of a text, in one paragraph."""
    places = np.array([span_of(text, part) for part in parts], dtype=np.int64).reshape(-1, 2)
    return Sentences(places, np.zeros(len(parts), dtype=np.int32))


def alignment_of(
    query: Document,
    document: Document,
    pairs: Sequence[Pair],
    sentences: tuple[Sentences, Sentences] | None = None,
    boilerplate: tuple[Sequence[Span], Sequence[Span]] = ((), ()),
) -> Alignment:
    """An alignment with these pairs; by default, every part of a text up to a full stop is a sentence."""
    if sentences is None:
        sentences = split(query.text), split(document.text)
    coverages = (
        _coverage(query.text, [(pair.kind, pair.query_words) for pair in pairs]),
        _coverage(document.text, [(pair.kind, pair.document_words) for pair in pairs]),
    )
    grey = tuple(boilerplate[0]), tuple(boilerplate[1])
    return Alignment(query, document, *sentences, tuple(pairs), *coverages, *grey)


def _coverage(text: str, matches: Sequence[tuple[Kind, int]]) -> Coverage:
    identical, reworded, same_idea = (sum(words for kind, words in matches if kind == name) for name in KINDS)
    return Coverage(len(text.split()), identical, reworded, same_idea)


def split(text: str) -> Sentences:
    """Sentences that end with a full stop."""
    places, start = [], 0
    for place, character in enumerate(text):
        if character == ".":
            places.append((start + len(text[start : place + 1]) - len(text[start : place + 1].lstrip()), place + 1))
            start = place + 1
    spans = np.array(places, dtype=np.int64).reshape(-1, 2)
    return Sentences(spans, np.zeros(len(places), dtype=np.int32))
