"""Text → index terms, for the first stage.

A token is a sequence of letters, digits, combining marks and underscores. It may contain an apostrophe ("don't"; a
possessive 's is dropped), the points and commas of a number ("3.14"; "1,000" becomes "1000"), and the points between
single letters ("U.S.C." becomes "usc", "e.g." becomes "eg"). "C++" and "C#" are tokens. All other characters separate
tokens: "§ 1983" gives "1983", "F.2d" gives "f" and "2d". Tokens are case-folded, stripped of underscores at both ends,
and stemmed; stop words are removed. Terms are cut off after 64 characters.

Scripts without spaces, and Korean, become overlapping pairs of characters, as in Lucene's CJK analyzer; a lone
character stays.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from rprs.forks import ForkLock
from rprs.progress import reading_progress, silent
from rprs.spec import Component, Kind, require
from rprs.text.marks import COMBINING
from rprs.text.pieces import PIECE, LongList, at_spaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["EDGES", "LONG_TEXT", "STOP_WORDS", "Words", "ngrams"]

# Lucene's list for English. Other languages need none: BM25 gives frequent words little weight anyway.
STOP_WORDS = frozenset(
    """a an and are as at be but by for if in into is it no not of on or such that the their then there these they this
    to was will with""".split()
)
LONGEST = 64  # characters of a term
_CACHED = 2**18  # chunks
LONG_TEXT = 2_000_000  # characters of a text whose progress is shown
_ELIDING = frozenset(["catalan", "french", "italian"])  # l'homme is two words

_W = rf"[\w{COMBINING}]"
_TOKEN = re.compile(
    rf"[^\W\d_](?:\.[^\W\d_])+(?!{_W})"  # u.s.c.
    r"|\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)+"
    rf"|(?<!{_W})c(?:\+\+|\#)(?!{_W})"
    rf"|{_W}+(?:['’]{_W}+)*"
)
EDGES = ".,;:!?()[]{}<>\"'`*“”‘’—–"  # no token begins or ends with these
_PAIRED = r"\u0e00-\u11ff\u1780-\u17ff⺀-⿟々〆〇\u3041-\u318fㇰ-ㇿ㐀-䶿一-鿿가-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_RUNS = re.compile(rf"([{_PAIRED}]+)")
_EAST_ASIAN = re.compile(rf"[{_PAIRED}\uff01-\uffdc]")  # including full-width and half-width letters


def _words(chunk: str, elision: bool) -> Iterator[str]:
    """The normalised tokens of a chunk in a script that uses spaces; a token may be empty."""
    for token in _TOKEN.findall(chunk):
        if "." in token and not token[0].isdigit():
            yield token.replace(".", "")
        elif "'" in token or "’" in token:
            plain = token.replace("’", "'")
            yield from plain.split("'") if elision else [plain.removesuffix("'s")]
        else:
            yield token.replace(",", "").strip("_")


def _pairs(run: str) -> Iterator[str]:
    return (run[i : i + 2] for i in range(max(len(run) - 1, 1)))


class _Table(dict[str, str]):
    """A bounded cache: case-folded text between white space → its terms, joined by spaces."""

    def __init__(self, stop: frozenset[str], stem: Callable[[str], str] | None, elision: bool) -> None:
        super().__init__()
        self.stop, self.stem, self.elision = stop, stem, elision
        self.lock = ForkLock()  # a stemmer is not thread-safe

    def __missing__(self, chunk: str) -> str:
        bare = chunk.strip(EDGES)
        if bare != chunk:
            terms = self[bare]
        else:
            with self.lock:
                terms = " ".join(self._terms(chunk))
        if len(chunk) <= LONGEST:
            if len(self) >= _CACHED:
                self.clear()
            self[chunk] = terms
        return terms

    def _terms(self, chunk: str) -> Iterator[str]:
        if not chunk.isascii():
            chunk = unicodedata.normalize("NFKC" if _EAST_ASIAN.search(chunk) else "NFC", chunk).replace("\xad", "")
        for i, part in enumerate([chunk] if chunk.isascii() else _RUNS.split(chunk)):
            if i % 2:
                yield from _pairs(part)
                continue
            for word in _words(part, self.elision):
                if word not in self.stop:
                    yield (self.stem(word) if self.stem else word)[:LONGEST]


@cache
def _table(language: str, stop: bool, stem: bool) -> _Table:
    words = STOP_WORDS if stop and language == "english" else frozenset[str]()
    if language == "none" or not stem:
        return _Table(words, None, language in _ELIDING)
    import Stemmer

    return _Table(words, Stemmer.Stemmer(language, 0).stemWord, language in _ELIDING)


@cache
def _languages() -> tuple[str, ...]:
    import Stemmer

    return (*sorted(Stemmer.algorithms()), "none")


def ngrams(terms: Sequence[str], n: int) -> list[str]:
    """The sequences of n adjacent terms, joined by single spaces: for a, b, c and n = 2, "a b" and "b c"."""
    return [" ".join(group) for group in zip(*(terms[i:] for i in range(n)), strict=False)]


@dataclass(frozen=True)
class Words(Component):
    """Words in lower case, without stop words, reduced to their stems by Snowball.

    `language` selects the stemmer; "none" turns off both stemming and stop words, as do `stem=false` and `stop=false`
    one by one. Only English has stop words. `ngrams` is the maximum length of the term sequences that are indexed
    besides the terms themselves (see the function `ngrams`).
    """

    name: ClassVar[str] = "words"
    kinds: ClassVar[tuple[Kind, ...]] = ("analyzer",)

    language: str = "english"
    stop: bool = True
    stem: bool = True
    ngrams: int = 1

    def __post_init__(self) -> None:
        require(self, "language", self.language in _languages(), f"one of {', '.join(_languages())}")
        require(self, "ngrams", self.ngrams >= 1, "an integer in [1, inf)")

    def terms_of_words(self, words: Iterable[str]) -> list[str]:
        """The terms of each case-folded word, joined by spaces; a text is cut into words at white space.

        Characters of `EDGES` at both ends of a word may be left out.
        """
        return list(map(_table(self.language, self.stop, self.stem).__getitem__, words))

    def terms(self, text: str) -> list[str]:
        """The terms in text order, repeated as often as they occur; always single words, whatever `ngrams` is."""
        table = _table(self.language, self.stop, self.stem)
        if len(text) < min(PIECE, LONG_TEXT):  # often one of many passages, for which the rest takes longer
            return " ".join(map(table.__getitem__, text.casefold().split())).split()
        terms = LongList()
        progress = reading_progress.get() if len(text) >= LONG_TEXT else silent
        with progress("counting the words of a long text", len(text), "characters") as advance:
            for piece in at_spaces(text):
                terms += " ".join(map(table.__getitem__, piece.casefold().split())).split()
                advance(len(piece))
        return terms
