"""A whole text as paragraphs of HTML, in which passages with a counterpart are marked and linked to it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from re import compile as pattern

from rprs.alignment.values import KINDS, Change, Pair, Span
from rprs.document import Sentences
from rprs.results.passages import SIGNS, Side, describe_pair, kind_class

__all__ = ["Pane", "html_text", "link_label"]

_NOT_IN_HTML = pattern(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")

Numbered = tuple[int, Pair]


def html_text(text: str) -> str:
    """Text escaped for HTML, also within attributes."""
    return escape(_NOT_IN_HTML.sub("\ufffd", text), quote=True)


def link_label(number: int, pair: Pair) -> str:
    """What a link to the counterpart of a passage says."""
    boilerplate = ", boilerplate" if pair.boilerplate else ""
    return f"Match {number}, {describe_pair(pair)}{boilerplate}: go to the other passage"


@dataclass(frozen=True, slots=True)
class Pane:
    """One of the two texts, with what is to be marked in it."""

    side: Side
    text: str
    sentences: Sentences
    pairs: Sequence[Numbered]
    boilerplate: Sequence[Span]
    unmatched: Sequence[Span]

    def paragraphs(self) -> Iterator[str]:
        """The paragraphs of the complete text as HTML."""
        beginning = self._beginning()
        segments = _Segments(self)
        for start, end in _blocks(self.text, self.sentences):
            yield "".join(self._segment(*segment, beginning) for segment in segments.between(start, end)).lstrip()

    def _span(self, pair: Pair | Change) -> Span:
        return pair.query_span if self.side == "query" else pair.document_span

    def _beginning(self) -> dict[int, list[Numbered]]:
        """The pairs that begin at each offset, the strongest first."""
        beginning: dict[int, list[Numbered]] = {}
        for each in sorted(self.pairs, key=_strength):
            beginning.setdefault(self._span(each[1])[0], []).append(each)
        return beginning

    def _segment(
        self, span: Span, best: Numbered | None, plain_class: str, changed: bool, beginning: dict[int, list[Numbered]]
    ) -> str:
        text = html_text(self.text[slice(*span)])
        if best is None:
            return f'<span class="{plain_class}">{text}</span>' if plain_class and text.strip() else text
        links = self._links(beginning.get(span[0], ()))
        if not text.strip():
            return f"{text}{links}"
        if changed:
            tag = "del" if self.side == "query" else "ins"
            text = f"<{tag}>{text}</{tag}>"
        common = " common" if best[1].boilerplate else ""
        return f'<span class="match {kind_class(best[1].kind)}{common}">{links}{text}</span>'

    def _links(self, pairs: Sequence[Numbered]) -> str:
        """A link to the strongest counterpart; the others are counted, and their rows are one link away."""
        if not pairs:
            return ""
        here, there = ("q", "d") if self.side == "query" else ("d", "q")
        number, pair = pairs[0]
        label = html_text(link_label(number, pair))
        link = (
            f'<a id="{here}{number}" href="#{there}{number}" aria-label="{label}" title="{label}">'
            f"{SIGNS[pair.kind]}{number}</a>"
        )
        others = [number for number, _ in pairs[1:]]
        if not others:
            return link
        listed = ", ".join(map(str, others))
        targets = "".join(f'<span id="{here}{number}"></span>' for number in others)
        return (
            f'{link}{targets}<a class="more" href="#p{others[0]}" aria-label="Also matches {listed}" '
            f'title="Also matches {listed}">+{len(others)}</a>'
        )


def _strength(each: Numbered) -> tuple[bool, int, float, int]:
    """The order of pairs at the same place: the strongest kind first, boilerplate last."""
    number, pair = each
    return pair.boilerplate, KINDS.index(pair.kind), -pair.similarity, number


def _blocks(text: str, sentences: Sentences) -> Iterator[Span]:
    """The paragraphs of a text; together they are the whole text."""
    start, end, paragraph = 0, 0, None
    for (_, stop), number in zip(sentences.spans.tolist(), sentences.paragraphs.tolist(), strict=True):
        if paragraph is not None and number != paragraph:
            yield start, end
            start = end
        end, paragraph = stop, number
    yield start, len(text)


class _Segments:
    """The parts of a text within which nothing begins or ends."""

    def __init__(self, pane: Pane) -> None:
        self.pane = pane
        self.pairs = sorted(pane.pairs, key=lambda each: pane._span(each[1]))
        self.next = 0  # the first pair that has not begun
        self.active: list[Numbered] = []
        self.boilerplate, self.unmatched = _Spans(pane.boilerplate), _Spans(pane.unmatched)
        spans = [pane._span(pair) for _, pair in pane.pairs]
        spans += [pane._span(change) for _, pair in pane.pairs for change in pair.changes]
        self.cuts = sorted({offset for span in (*spans, *pane.boilerplate, *pane.unmatched) for offset in span})
        self.changes = {number: _Spans(map(pane._span, pair.changes)) for number, pair in pane.pairs}

    def between(self, start: int, end: int) -> Iterator[tuple[Span, Numbered | None, str, bool]]:
        """The segments of a paragraph: span, strongest pair, class without a pair, whether its words were changed."""
        inner = self.cuts[bisect_right(self.cuts, start) : bisect_right(self.cuts, end)]
        offsets = [start, *inner, *([end] if not inner or inner[-1] != end else [])]
        for first, last in pairwise(offsets):
            best = self._strongest(first)
            plain_class = "common" if first in self.boilerplate else "open" if first in self.unmatched else ""
            yield (first, last), best, plain_class, best is not None and first in self.changes[best[0]]

    def _strongest(self, offset: int) -> Numbered | None:
        span = self.pane._span
        while self.next < len(self.pairs) and span(self.pairs[self.next][1])[0] <= offset:
            self.active.append(self.pairs[self.next])
            self.next += 1
        self.active = [each for each in self.active if span(each[1])[1] > offset]
        return min(self.active, key=_strength, default=None)


class _Spans:
    """Spans that do not overlap; `in` says whether one of them contains an offset."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.spans = sorted(span for span in spans if span[0] < span[1])
        self.starts = [start for start, _ in self.spans]

    def __contains__(self, offset: int) -> bool:
        place = bisect_right(self.starts, offset) - 1
        return place >= 0 and offset < self.spans[place][1]
