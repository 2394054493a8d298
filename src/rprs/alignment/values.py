"""The values of an alignment: pairs of passages with their kinds, and coverage in words."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from rprs.document import Document, Sentences

__all__ = ["KINDS", "Alignment", "Change", "Coverage", "Kind", "Pair", "Relation", "Span"]

Span = tuple[int, int]  # of characters: text[start:end]
Kind = Literal["identical", "reworded", "same idea"]
Relation = Literal["identical", "near duplicate", "different"]
KINDS: tuple[Kind, ...] = ("identical", "reworded", "same idea")  # the strongest first


@dataclass(frozen=True, slots=True)
class Change:
    """Words that differ between the two passages of a reworded pair; one of the spans is empty if words were added."""

    query_span: Span  # in the query's text
    document_span: Span  # in the document's text


@dataclass(frozen=True, slots=True)
class Pair:
    """A passage of the query and its counterpart in the document: a line of evidence.

    A passage is one sentence, several neighbouring ones, or a part of one, such as a quotation.
    """

    query: str
    document: str
    kind: Kind
    similarity: (
        float  # identical: 1; reworded: the share of words in common; same idea: the cosine; below 1 unless identical
    )
    query_span: Span  # in the query's text
    document_span: Span  # in the document's text
    query_words: int
    document_words: int
    boilerplate: bool = False  # a caption, heading, bare citation, or a passage that many documents have
    changes: tuple[Change, ...] = ()  # of a reworded pair, in text order

    def __repr__(self) -> str:
        from rprs.alignment.describe import similarity_text

        similarity = "" if self.kind == "identical" else f" ({similarity_text(self)})"
        return f"<Pair, {self.kind}{similarity}: {_short(self.query)!r} ⇄ {_short(self.document)!r}>"

    def _repr_html_(self) -> str:
        from rprs.results.notebook import pairs_html

        return pairs_html([self])


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many words of one document have a counterpart in the other, by kind; every word counts once."""

    words: int  # of the document
    identical: int
    reworded: int
    same_idea: int

    @property
    def matched(self) -> int:
        """The number of words that have a counterpart."""
        return self.identical + self.reworded + self.same_idea

    @property
    def share(self) -> float:
        """The share of words that have a counterpart, from 0 to 1."""
        return self.matched / self.words if self.words else 0.0


@dataclass(frozen=True, slots=True)
class Alignment:
    """What a query and a document have in common; nothing of other documents' sentences enters."""

    query: Document
    document: Document
    query_sentences: Sentences = field(compare=False)
    document_sentences: Sentences = field(compare=False)
    pairs: tuple[Pair, ...]  # in the order of the query, then of the document
    query_coverage: Coverage
    document_coverage: Coverage
    query_boilerplate: tuple[Span, ...]  # the sentences that are boilerplate, in text order
    document_boilerplate: tuple[Span, ...]
    relation: Relation = "different"

    def without_boilerplate(self) -> Alignment:
        """Without boilerplate: neither its pairs nor its words count, neither as matched words nor in the total."""
        from rprs.alignment.coverage import cover
        from rprs.alignment.words import fold_words

        pairs = tuple(pair for pair in self.pairs if not pair.boilerplate)
        query, document = fold_words(self.query.text), fold_words(self.document.text)
        return replace(
            self,
            pairs=pairs,
            query_coverage=cover(query, ((pair.kind, pair.query_span) for pair in pairs), self.query_boilerplate),
            document_coverage=cover(
                document, ((pair.kind, pair.document_span) for pair in pairs), self.document_boilerplate
            ),
        )

    def __repr__(self) -> str:
        pairs = f"{len(self.pairs):,} pair{'' if len(self.pairs) == 1 else 's'}"
        shares = f"{self.query_coverage.share:.0%} and {self.document_coverage.share:.0%} of words"
        return f"<Alignment of {self.query.id} and {self.document.id}: {pairs}, {shares}>"

    def _repr_html_(self) -> str:
        from rprs.results.notebook import alignment_html

        return alignment_html(self)

    @property
    def query_unmatched(self) -> tuple[Span, ...]:
        """The sentences of the query without any counterpart, in text order."""
        return _unmatched(self.query_sentences, [pair.query_span for pair in self.pairs])

    @property
    def document_unmatched(self) -> tuple[Span, ...]:
        """The sentences of the document without any counterpart, in text order."""
        return _unmatched(self.document_sentences, [pair.document_span for pair in self.pairs])


def _unmatched(sentences: Sentences, matched: list[Span]) -> tuple[Span, ...]:
    spans, unmatched, place = sorted(matched), list[Span](), 0
    furthest = -1  # the end of the matched spans that start before the sentence ends
    for start, end in sentences.spans.tolist():
        while place < len(spans) and spans[place][0] < end:
            furthest = max(furthest, spans[place][1])
            place += 1
        if furthest <= start:
            unmatched.append((start, end))
    return tuple(unmatched)


def _short(text: str, length: int = 50) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
