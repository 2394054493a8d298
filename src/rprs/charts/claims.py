"""Patent claims in a text: numbered paragraphs in the language of claims, and the elements of each.

Claims are paragraphs with the numbers 1, 2, 3 …, of which the first, and all others, have words such as "comprising",
"wherein" or "according to claim 1"; under a heading such as "What is claimed is:", half of them are enough. If a text
has several such series, the last one counts: descriptions come before claims.

A claim is divided after the words that introduce its elements ("comprising:"), after semicolons, before "wherein" and
its like, and where a paragraph ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rprs.alignment.values import Span

__all__ = ["Claim", "Element", "find_claims"]

_NUMBER = re.compile(r"^[^\S\n]*(?:(?:claim|anspruch|revendication)\s+)?(\d{1,3})\s?[.):][^\S\n]+(?=\S)", re.M | re.I)
_HEADING = re.compile(
    r"(?:(?:what|that which|the invention)\s+(?:is\s+)?claimed(?:\s+is)?|(?:we|i)\s+claim|(?:the\s+)?claims?|"
    r"patentansprüche|ansprüche|revendications)\s*:?",
    re.IGNORECASE,
)
_HEADING_ROOM = 200  # characters before the first claim in which its heading stands
_LANGUAGE = re.compile(
    r"\b(?:compris(?:ing|es|ed)|consist(?:s|ing)\s+(?:essentially\s+)?of|wherein|whereby|characteri[sz]ed\s+(?:in|by)|"
    r"(?:according\s+to|as\s+claimed\s+in|as\s+recited\s+in|as\s+defined\s+in|as\s+set\s+forth\s+in|of|in|with|by)\s+"
    r"(?:any\s+(?:one\s+)?of\s+)?(?:the\s+)?(?:preceding\s+)?claims?\b|umfassend|gekennzeichnet|nach\s+(?:einem\s+der\s+)?"
    r"anspr[uü]ch|comprenant|caractérisée?\b|selon\s+(?:l['’]une\s+(?:quelconque\s+)?des\s+|la\s+)?revendications?)",
    re.IGNORECASE,
)
_END = re.compile(r"[.。]\s*?(?:\n|$)")
_AFTER = re.compile(r":(?=\s)|;(?:\s*(?:and/or|and|or|und|oder|et|ou)\b[,:]?)?", re.IGNORECASE)
_BEFORE = re.compile(
    r"\b(?:wherein|whereby|characteri[sz]ed\s+(?:in\s+that|by)|dadurch\s+gekennzeichnet|caractérisée?\s+en\s+ce\s+que?)",
    re.IGNORECASE,
)
_TRANSITION = re.compile(
    r"\b(?:compris(?:ing|es)|consist(?:s|ing)\s+(?:essentially\s+)?of|umfassend|comprenant)\b", re.IGNORECASE
)
_INTRODUCES = re.compile(rf"(?:{_TRANSITION.pattern}[^;]{{0,80}}|:)\s*$", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Element:
    """A part of a claim; `label` is the number of the claim and, if it has several parts, a letter: 1[a]."""

    label: str
    span: Span


@dataclass(frozen=True, slots=True)
class Claim:
    """A numbered claim with its elements, which together have all its words; the first begins with its number."""

    number: int
    span: Span
    elements: tuple[Element, ...]


def find_claims(text: str, breaks: Iterable[int] = ()) -> tuple[Claim, ...]:
    """The claims of a patent; none if the text is none. `breaks` are places where paragraphs start."""
    for series in reversed(list(_series(text))):
        starts = [match.start(1) for match in series]
        ends = [*starts[1:], _end_of_last(text, series[-1].end())]
        spans = [(start, _stripped(text, end)) for start, end in zip(starts, ends, strict=True)]
        if _are_claims(text, spans):
            cuts = sorted(breaks)
            return tuple(
                Claim(number, span, _elements(text, number, (match.end(), span[1]), span[0], cuts))
                for number, (match, span) in enumerate(zip(series, spans, strict=True), 1)
            )
    return ()


def _series(text: str) -> Iterator[list[re.Match[str]]]:
    """Numbers at the beginning of lines that count up from 1; other numbers between them are passed over."""
    series: list[re.Match[str]] = []
    for match in _NUMBER.finditer(text):
        number = int(match[1])
        if number == 1:
            if series:
                yield series
            series = [match]
        elif number == len(series) + 1:
            series.append(match)
    if series:
        yield series


def _are_claims(text: str, spans: Sequence[Span]) -> bool:
    language = [bool(_LANGUAGE.search(text, *span)) for span in spans]
    start = spans[0][0]
    before = text[max(start - _HEADING_ROOM, 0) : start].strip().rpartition("\n")[2]
    least = len(language) / 2 if _HEADING.fullmatch(before.strip()) else len(language)
    return language[0] and sum(language) >= least


def _end_of_last(text: str, start: int) -> int:
    """The last claim ends with the first full stop at the end of a line."""
    end = _END.search(text, start)
    return end.start() + 1 if end else len(text)


def _stripped(text: str, end: int) -> int:
    while end and text[end - 1].isspace():
        end -= 1
    return end


# ---------------------------------------------------------------------------- elements


def _elements(text: str, number: int, body: Span, start: int, breaks: Sequence[int]) -> tuple[Element, ...]:
    cuts = {*_cuts(text, body), *(each for each in breaks if body[0] < each < body[1])}
    spans = list(_pieces(text, body, sorted(cuts)))
    spans[0] = start, spans[0][1]
    if len(spans) == 1:
        return (Element(str(number), spans[0]),)
    has_preamble = bool(_INTRODUCES.search(text[slice(*spans[0])]))
    labels = [*(["pre"] if has_preamble else []), *map(_letters, range(len(spans)))]
    return tuple(Element(f"{number}[{label}]", span) for label, span in zip(labels, spans, strict=False))


def _cuts(text: str, body: Span) -> Iterator[int]:
    yield from (match.end() for match in _AFTER.finditer(text, *body))
    yield from (match.start() for match in _BEFORE.finditer(text, *body) if match.start() > body[0])
    transition = _TRANSITION.search(text, *body)
    if transition and not _AFTER.search(text, *body):  # "a lock comprising a bolt": no colon introduces the elements
        yield transition.end()


def _pieces(text: str, body: Span, cuts: Sequence[int]) -> Iterator[Span]:
    """The text between the cuts, without white space around it; what has no words belongs to the piece before."""
    pieces: list[Span] = []
    for start, end in pairwise([body[0], *cuts, body[1]]):
        while start < end and text[start].isspace():
            start += 1
        end = max(_stripped(text, end), start)
        if start == end:
            continue
        if pieces and not _WORD.search(text, start, end):
            pieces[-1] = pieces[-1][0], end
        else:
            pieces.append((start, end))
    yield from pieces or [body]


def _letters(number: int) -> str:
    """a … z, aa, ab …"""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters
