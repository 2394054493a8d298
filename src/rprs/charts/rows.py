"""The rows of a chart: the sentences of a document by paragraph, and in a patent the elements of its claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from rprs.alignment.values import Span
from rprs.alignment.words import fold_words
from rprs.charts.claims import Claim, find_claims
from rprs.charts.values import Group, Row
from rprs.document import Document, Sentences
from rprs.index import Index
from rprs.progress import Progress

__all__ = ["Layout", "lay_out"]


@dataclass(frozen=True, slots=True)
class Layout:
    """The groups and rows of a document, and its sentences: one for each row."""

    groups: tuple[Group, ...]
    rows: tuple[Row, ...]  # none is marked as boilerplate yet
    sentences: Sentences


@dataclass(frozen=True, slots=True)
class _Part:
    """What becomes a row: a sentence, what claims leave of one, or an element of a claim."""

    span: Span
    paragraph: int
    sentence: int | None = None  # None if it has to be encoded
    claim: int | None = None
    label: str = ""  # of an element


def lay_out(query: Document, index: Index, progress: Progress | None = None) -> Layout:
    """Divide a document into rows; elements of claims are encoded like sentences, so that each finds its own match."""
    sentences = index.query_sentences(query, progress)
    parts = [
        _Part((start, end), paragraph, number)
        for number, ((start, end), paragraph) in enumerate(
            zip(sentences.spans.tolist(), sentences.paragraphs.tolist(), strict=True)
        )
    ]
    new_paragraphs = np.flatnonzero(np.diff(sentences.paragraphs)) + 1
    claims = find_claims(query.text, sentences.spans[new_paragraphs, 0].tolist())
    if claims:
        parts = _with_claims(parts, claims)
        sentences = _encoded(query, index, sentences, parts)
    return Layout(*_rows(query.text, parts), sentences)


def _with_claims(parts: Sequence[_Part], claims: Sequence[Claim]) -> list[_Part]:
    """The parts outside of the claims, shortened where necessary, and the elements of the claims, in text order."""
    first, last = claims[0].span[0], claims[-1].span[1]
    outside: list[_Part] = []
    for part in parts:
        start, end = part.span
        for low, high in ((start, min(end, first)), (max(start, last), end)):
            if low < high:
                outside.append(part if (low, high) == part.span else replace(part, span=(low, high), sentence=None))
    inside = [
        _Part(element.span, -claim.number, claim=claim.number, label=element.label)
        for claim in claims
        for element in claim.elements
    ]
    return sorted([*outside, *inside], key=lambda part: part.span)


def _encoded(query: Document, index: Index, sentences: Sentences, parts: Sequence[_Part]) -> Sentences:
    """One sentence for each part, with the vectors that there are already."""
    spans = np.array([part.span for part in parts], dtype=np.int64).reshape(-1, 2)
    groups = np.cumsum([bool(n) and parts[n].paragraph != parts[n - 1].paragraph for n in range(len(parts))])
    new = np.array([part.sentence is None for part in parts])
    added = index.with_vectors(query, Sentences(spans[new], groups[new].astype(np.int32)))
    vectors = np.empty((len(parts), sentences.vectors.shape[1]), dtype=sentences.vectors.dtype)
    vectors[new] = added.vectors
    vectors[~new] = sentences.vectors[[part.sentence for part in parts if part.sentence is not None]]
    return Sentences(spans, groups.astype(np.int32), vectors)


def _rows(text: str, parts: Sequence[_Part]) -> tuple[tuple[Group, ...], tuple[Row, ...]]:
    groups, rows = list[Group](), list[Row]()
    word_starts, paragraphs = fold_words(text).starts, 0
    for _, members in groupby(parts, key=lambda part: part.paragraph):
        own = list(members)
        claim = own[0].claim
        paragraphs += claim is None
        label = f"Paragraph {paragraphs:,}" if claim is None else f"Claim {claim}"
        span = own[0].span[0], own[-1].span[1]
        groups.append(Group(label, claim, len(rows), len(rows) + len(own), span))
        for part in own:
            words = int(np.diff(np.searchsorted(word_starts, part.span))[0])
            label = part.label or str(len(rows) + 1)
            rows.append(Row(label, text[slice(*part.span)], part.span, words, len(groups) - 1, boilerplate=False))
    return tuple(groups), tuple(rows)
