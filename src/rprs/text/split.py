"""Text → sentences: their positions in the text and the paragraph of each.

**Paragraphs.** A blank line or a form feed ends a paragraph. So does a single newline, unless the text is
hard-wrapped, that is, unless at least half of its lines are close to one common width. In hard-wrapped text a newline
is only white space, except before a list marker and after a short line that the next line does not continue in lower
case (a heading, the end of a paragraph). A line with nothing but a marker ("1.", "(a)", "*") belongs to the paragraph
after it.

**Sentences** are those of nupunkt within a paragraph, with these corrections: no sentence ends after an abbreviation
that needs a continuation ("cf.", "v.", "Figs."); 。！？； and the full stops of other scripts end a sentence;
a fragment of one or two tokens is merged with its neighbour (a list marker with the following sentence, any other
fragment with the preceding one); and a sentence of more than `limit` words is cut into pieces of `piece` words, so that
text without punctuation has sentences too.

**Words and tokens.** A token is the text between white space, or one character of a script without spaces (Chinese,
Japanese, Thai, Lao, Tibetan, Burmese, Khmer). In a run without white space, every 50 characters count as one token.
Where sentences are cut, two characters of a script without spaces count as one word: 25 words are 50 characters.

Sentences never overlap, never start or end with white space, and together contain everything but white space.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from rprs.document import Sentences
from rprs.progress import no_op, reading_progress, stopper
from rprs.spec import Component, Kind, require
from rprs.text import scan
from rprs.text.boundaries import boundaries
from rprs.text.marks import CJK, COMBINING, UNSPACED
from rprs.text.pieces import PIECE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from rprs.text.scan import Ints

__all__ = ["SentenceSplitter", "TokenSplitter"]

Span = tuple[int, int]

_CHARACTER = rf"[{UNSPACED}][{COMBINING}]{{0,8}}"
_TOKEN = re.compile(rf"[^\s{UNSPACED}]{{1,50}}|{_CHARACTER}")
_WORD = re.compile(rf"[^\s{UNSPACED}]{{1,50}}|(?:{_CHARACTER}){{1,2}}")
_OTHER_SCRIPT = re.compile(
    r"[\u0589-\u1fff\u2c00-\U0010ffff]"
)  # includes the scripts without spaces and all their full stops

_ABBREVIATIONS = frozenset(
    """fig figs no nos sec secs art arts para paras cl cls stat u.s.c c.f.r f.2d f.3d f.4th f.supp supp s.ct l.ed
    ed.2d p.2d p.3d n.e.2d n.w.2d s.e.2d s.w.2d s.w.3d a.2d a.3d so.2d so.3d v vs inc corp ltd co e.g i.e al cf id
    ibid op cit app pat pub ser cir dist ct rptr rev rul cmt seq tab eq eqs ex exs ref refs vol pp approx deg resp
    viz""".split()
)

# ---------------------------------------------------------------------------- paragraphs

_BULLET = re.compile(r"[-*+•‣▪◦·][^\S\n]")
_NUMBER = re.compile(r"[(\[]?(?:\d{1,3}|[A-Za-z]|[ivxlIVXL]{1,5})[.)\]]+\s")
_MARKER = re.compile(
    r"(?:(?:§+|¶+|sec\.|section|art\.|article|claim|rule|para\.)\s*)?"
    r"[(\[]?(?:\d{1,4}(?:\.\d{1,3})*|[a-z]|[ivxlc]{1,6})[)\]]?[.:)]?|[-*+•‣▪◦·†‡§¶–—]+",
    re.IGNORECASE,
)
_LONGEST_MARKER = 14
_NARROWEST, _WIDEST = 40, 140  # limits of the width at which text is wrapped
_FULL = 0.7  # share of the width that a filled line reaches together with the next word
_FULL_AFTER_STOP = 0.9  # stricter for a line that ends like a sentence
_LONGEST_WORD = 20  # a longer word at the start of a line does not explain a short line before it


class _Line(NamedTuple):
    start: int  # position of the first character that is not white space
    end: int
    width: int  # including indentation
    apart: bool  # preceded by a blank line or a form feed


def _lines(text: str) -> list[_Line]:
    lines = []
    position, apart = 0, True
    for raw in text.splitlines(keepends=True):
        body = raw.rstrip()
        if body:
            end = position + len(body)
            lines.append(_Line(end - len(body.lstrip()), end, len(body), apart))
        apart = not body or raw[-1] in "\f\u2029"
        position += len(raw)
    return lines


def _wrap_width(lines: list[_Line]) -> int:
    """The common width of hard-wrapped lines; 0 if the text is not hard-wrapped."""
    inner = sorted(line.width for line, after in pairwise(lines) if not after.apart)
    if not inner:
        return 0
    width = inner[int(0.9 * (len(inner) - 1))]
    full = sum(each >= _FULL * width for each in inner)
    long = sum(line.width > _WIDEST for line in lines)
    wrapped = _NARROWEST <= width <= _WIDEST and full >= 0.5 * len(inner) and long <= 0.2 * len(lines)
    return width if wrapped else 0


def _is_continued(text: str, line: _Line, after: _Line, width: int) -> bool:
    """Whether the line after a wrapped line continues its paragraph."""
    if _BULLET.match(text, after.start):
        return False
    word = text[after.start : min(after.end, after.start + _LONGEST_WORD)].split(None, 1)[0]
    last = text[line.start : line.end].rsplit(None, 1)[-1]
    closed = last[-1] in ".;:!?" and last.lower().strip("(.") not in _ABBREVIATIONS
    if line.width + 1 + len(word) <= width * (_FULL_AFTER_STOP if closed else _FULL) and not word[0].islower():
        return False
    return not (closed and _NUMBER.match(text, after.start))


def _is_marker(text: str, start: int, end: int) -> bool:
    return end - start <= _LONGEST_MARKER and _MARKER.fullmatch(text, start, end) is not None


def _paragraphs(text: str) -> list[Span]:
    lines = _lines(text)
    if not lines:
        return []
    width = _wrap_width(lines)
    paragraphs: list[Span] = []
    start = lines[0].start
    for line, after in pairwise(lines):
        wrapped = width > 0 and not after.apart and _is_continued(text, line, after, width)
        if not wrapped and not _is_marker(text, start, line.end):
            paragraphs.append((start, line.end))
            start = after.start
    paragraphs.append((start, lines[-1].end))
    return paragraphs


# ---------------------------------------------------------------------------- sentences

_UNFINISHED = frozenset("cf. viz. v. vs. e.g. i.e. fig. figs. nos. secs. arts. paras. eqs. exs. refs. pp.".split())
_CLOSERS = r"」』）】》〉”’\"')\]"
_STOPS = r"。！？；｡।॥۔؟።։။។"
_OTHER_STOP = re.compile(
    rf"[{_STOPS}]+(?![{_STOPS}{_CLOSERS}])"
    rf"|[{_STOPS}]+[{_CLOSERS}]+(?![{_CLOSERS}と]|って)"  # 「はい。」と言った is one sentence
    rf"|(?<=[{CJK}])[.!?;…]+(?=[{CJK}])(?![{_CLOSERS}])"
)
_LONGEST_RUN = 1_000  # nupunkt takes quadratic time in runs without white space
_RUN = re.compile(rf"\S{{{_LONGEST_RUN}}}")
_LONGEST_FRAGMENT = 40  # characters
_LONG_TEXT, _STEP = 2_000_000, 100_000  # characters of a text whose progress is shown, and of a step
_ROWS = 2**14  # spans that become an array in one call, a few milliseconds


def _tight(text: str, cuts: Iterable[int]) -> Iterator[Span]:
    """The spans between adjacent cuts, without surrounding white space; empty spans are omitted."""
    for start, end in pairwise(cuts):
        piece = text[start:end].rstrip()
        bare = piece.lstrip()
        if bare:
            yield start + len(piece) - len(bare), start + len(piece)


def _has_longer_run(text: str, start: int, end: int, most: int) -> bool:
    """Whether more than so many characters follow each other without white space."""
    run = 0  # up to the end of the pieces before
    for first in range(start, end, PIECE):
        piece = text[first : min(first + PIECE, end)]
        words = piece.split()
        if not words or piece[0].isspace():
            run = 0
        if words and (run + len(words[0]) > most or max(map(len, words)) > most):
            return True
        if words:
            run = 0 if piece[-1].isspace() else len(words[-1]) + (run if len(words[0]) == len(piece) else 0)
    return False


def _blocks(text: str, start: int, end: int, plain: bool) -> Iterator[Span]:
    """The parts of a paragraph to pass to nupunkt: cut at the full stops of other scripts and in very long runs."""
    if plain and end - start <= _LONGEST_RUN:
        yield start, end
        return
    stops = [] if plain else [match.end() for match in _OTHER_STOP.finditer(text, start, end)]
    for a, b in _tight(text, [start, *stops, end]):
        if b - a > _LONGEST_RUN and _has_longer_run(text, a, b, _LONGEST_RUN):
            yield from _tight(text, [a, *(match.end() for match in _RUN.finditer(text, a, b)), b])
        else:
            yield a, b


def _is_unfinished(text: str, at: int) -> bool:
    """Whether the text at this position continues a sentence: "cf. Doe", "O.R.R. v. Kepner", "20 deg. C. was used"."""
    if text.startswith(("v. ", "vs. "), at):
        return True
    words = text[max(0, at - 10) : at].split()
    if not words or words[-1][-1] != ".":
        return False
    last = words[-1].lstrip("([“\"'°")
    return last.lower() in _UNFINISHED or (len(last) == 2 and last[0].isupper() and text[at].islower())


def _is_fragment(text: str, start: int, end: int) -> bool:
    return end - start <= _LONGEST_FRAGMENT and len(list(islice(_TOKEN.finditer(text, start, end), 3))) < 3


def _sentences(text: str, marks: scan.Bytes, blocks: Ints) -> tuple[Ints, Ints]:
    """The sentences of blocks, including fragments, and the block of each."""
    begins = boundaries(_ABBREVIATIONS).begins(text, scan.contexts(marks, blocks))
    kept = [begin for begin in begins if not _is_unfinished(text, begin)]
    return scan.sentences(marks, blocks, np.array(kept, dtype=np.int64))


def _merged(text: str, spans: Ints, paragraphs: Ints, fragments: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Merge fragments with their neighbours: markers and a first fragment forwards, all others backwards."""
    markers = fragments.copy()
    for row in np.flatnonzero(fragments).tolist():
        markers[row] = _is_marker(text, *spans[row].tolist())
    size = scan.merge(spans, paragraphs, fragments, markers)
    return spans[:size], paragraphs[:size]


def _pieces(text: str, start: int, end: int, limit: int, piece: int) -> Iterator[Span]:
    """A sentence, or its pieces if it has more than `limit` words; one or two last words join the piece before."""
    begins, ends = [], []  # of each piece, and of the word before it: lists of all words take long to collect
    count, last = 0, start
    for count, word in enumerate(_WORD.finditer(text, start, end), start=1):
        if count % piece == 1 % piece:
            begins.append(word.start())
            ends.append(last)
        last = word.end()
    if count <= limit:
        yield start, end
        return
    number = len(range(0, max(count - 2, 1), piece))
    spans = zip(begins[:number], [*ends[1:number], last], strict=True)
    while span := next(spans, None):  # unlike `yield from`, this lets other threads go on
        yield span


def _pieces_of_any_script(text: str, spans: Ints, paragraphs: Ints, limit: int, piece: int) -> tuple[Ints, Ints]:
    found: list[Span] = []
    numbers: list[int] = []
    for (start, end), number in zip(spans.tolist(), paragraphs.tolist(), strict=True):
        found += [(start, end)] if end - start <= limit else _pieces(text, start, end, limit, piece)
        numbers += [number] * (len(found) - len(numbers))
    return _as_array(found), np.array(numbers, dtype=np.int64)


def _prefix(text: str, first: int | None) -> str:
    """The text up to the end of token number `first`."""
    if first is None:
        return text
    last = next(islice(_TOKEN.finditer(text), first - 1, None), None)
    return text if last is None else text[: last.end()]


@contextmanager
def _progress(length: int) -> Iterator[Callable[[int], None]]:
    """Shows how far the splitting of a long text has come; called with the place that is reached."""
    if length < _LONG_TEXT:
        yield no_op
        return
    done = 0
    with reading_progress.get()("splitting a long text", length, "characters") as advance:

        def reached(place: int) -> None:
            nonlocal done
            if place - done >= _STEP:
                advance(place - done)
                done = place

        yield reached


def _groups(paragraphs: list[Span]) -> Iterator[tuple[int, list[Span]]]:
    """Successive paragraphs of about `_STEP` characters, and the number of the first one."""
    first = 0
    for number, (_, end) in enumerate(paragraphs):
        if end - paragraphs[first][0] >= _STEP or number + 1 == len(paragraphs):
            yield first, paragraphs[first : number + 1]
            first = number + 1


def _joined(arrays: list[Ints], empty: tuple[int, ...]) -> Ints:
    return np.concatenate([np.empty(empty, np.int64), *arrays])


def _as_array(spans: list[Span]) -> Ints:
    pieces = [np.array(spans[start : start + _ROWS], np.int64) for start in range(0, len(spans), _ROWS)]
    return _joined(pieces, (0, 2))


@dataclass(frozen=True)
class SentenceSplitter(Component):
    """Sentences as people write them, with long ones cut into pieces.

    A sentence of at most `limit` words is not cut: 100 words of legal text, citations included, fit into the
    256 tokens that a sentence encoder reads. Longer sentences become pieces of `piece` words, 25 as in the paper. With
    `first`, only the first so many tokens of the text are used. Threads may share a splitter.
    """

    name: ClassVar[str] = "sentences"
    kinds: ClassVar[tuple[Kind, ...]] = ("splitter",)

    limit: int = 100
    piece: int = 25
    first: int | None = None

    def __post_init__(self) -> None:
        require(self, "limit", self.limit >= 1, "an integer in [1, inf)")
        require(self, "piece", 1 <= self.piece <= self.limit, f"an integer in [1, {self.limit}], the limit")
        require(self, "first", self.first is None or self.first >= 1, "an integer in [1, inf) or none")

    def split(self, text: str) -> Sentences:
        """The sentences in text order; none for an empty text or white space."""
        text = _prefix(text, self.first)
        plain = text.isascii() or _OTHER_SCRIPT.search(text) is None
        spans: list[Ints] = []
        owners: list[Ints] = []
        check = stopper.get()  # splitting a book takes seconds
        with _progress(len(text)) as reached:
            for first, paragraphs in _groups(_paragraphs(text)):
                check()
                start, end = paragraphs[0][0], paragraphs[-1][1]
                own = [(begin - start, finish - start) for begin, finish in paragraphs]
                found, numbers = self._split_paragraphs(text[start : end + 1], own, plain)  # and what follows "v."
                spans.append(found + start)
                owners.append(numbers + first)
                reached(end)
        return Sentences(_joined(spans, (0, 2)), _joined(owners, (0,)).astype(np.int32))

    def _split_paragraphs(self, text: str, paragraphs: list[Span], plain: bool) -> tuple[Ints, Ints]:
        """The sentences of some paragraphs, and the number of the paragraph of each."""
        marks = scan.marks(text)
        blocks, numbers = _as_array(paragraphs), np.arange(len(paragraphs))
        if not plain or scan.longest_chunk(marks) > _LONGEST_RUN:
            parts = [list(_blocks(text, start, end, plain)) for start, end in paragraphs]
            blocks, numbers = _as_array(list(chain(*parts))), np.repeat(numbers, [len(part) for part in parts])
        sentences, owners = _sentences(text, marks, blocks)
        owners = numbers[owners]
        if plain:
            fragments = scan.fragments(marks, sentences, _LONGEST_FRAGMENT)
            return scan.pieces(marks, *_merged(text, sentences, owners, fragments), self.limit, self.piece)
        fragments = np.array([_is_fragment(text, start, end) for start, end in sentences.tolist()], dtype=np.bool_)
        return _pieces_of_any_script(text, *_merged(text, sentences, owners, fragments), self.limit, self.piece)


@dataclass(frozen=True)
class TokenSplitter(Component):
    """Units of exactly `length` tokens, regardless of sentences; the last unit has the remaining tokens.

    A unit belongs to the paragraph in which it begins. `first` works as in `SentenceSplitter`.
    """

    name: ClassVar[str] = "tokens"
    kinds: ClassVar[tuple[Kind, ...]] = ("splitter",)

    length: int = 128
    first: int | None = None

    def __post_init__(self) -> None:
        require(self, "length", self.length >= 1, "an integer in [1, inf)")
        require(self, "first", self.first is None or self.first >= 1, "an integer in [1, inf) or none")

    def split(self, text: str) -> Sentences:
        """The units in text order; none for an empty text or white space."""
        text = _prefix(text, self.first)
        tokens = [match.span() for match in _TOKEN.finditer(text)]
        firsts = range(0, len(tokens), self.length)
        spans = [(tokens[i][0], tokens[min(i + self.length, len(tokens)) - 1][1]) for i in firsts]
        begins = [start for start, _ in _paragraphs(text)]
        numbers = np.searchsorted(begins, [start for start, _ in spans], side="right")
        return Sentences(_as_array(spans), np.unique(numbers, return_inverse=True)[1].astype(np.int32))
