"""Text → index terms, for the first stage.

A token is a run of letters, digits, combining marks and underscores. Within it stay the apostrophe ("don't"; a
possessive 's is dropped), the points and commas of a number ("3.14"; "1,000" is "1000"), and the points of letters
that stand alone ("U.S.C." is "usc", "e.g." is "eg"). "C++" and "C#" are tokens. All else sets tokens apart:
"§ 1983" gives "1983", "F.2d" gives "f" and "2d". Tokens are case-folded, lose underscores around them, and are stemmed
unless they are stop words, which are left out. No term is longer than 64 characters: what goes beyond is cut off.

Scripts without spaces, and Korean, become overlapping pairs of characters, as in Lucene's CJK analyzer; a lone
character stays.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, ClassVar

from rprs.spec import Component, Kind, require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["STOP_WORDS", "Words", "ngrams"]

# Lucene's list for English. Other languages have none: their frequent words get little weight from BM25 anyway.
STOP_WORDS = frozenset(
    """a an and are as at be but by for if in into is it no not of on or such that the their then there these they this
    to was will with""".split()
)
LONGEST = 64  # characters of a term
_REMEMBERED = 2**18  # chunks
_ELIDING = frozenset(["catalan", "french", "italian"])  # l'homme is two words

_COMBINING = "".join(c if unicodedata.category(c) in ("Mn", "Mc") else " " for c in map(chr, range(0x300, 0x3100)))
_MARKS = "".join(f"{run[0]}-{run[-1]}" for run in _COMBINING.split())  # as ranges of a character class
_W = rf"[\w{_MARKS}]"
_TOKEN = re.compile(
    rf"[^\W\d_](?:\.[^\W\d_])+(?!{_W})"  # u.s.c.
    r"|\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)+"
    rf"|(?<!{_W})c(?:\+\+|\#)(?!{_W})"
    rf"|{_W}+(?:['’]{_W}+)*"
)
_EDGES = ".,;:!?()[]{}<>\"'`*“”‘’—–"  # no token begins or ends with these
_PAIRED = r"\u0e00-\u11ff\u1780-\u17ff⺀-⿟々〆〇\u3041-\u318fㇰ-ㇿ㐀-䶿一-鿿가-\ud7af豈-﫿\U00020000-\U0003ffff"
_RUNS = re.compile(rf"([{_PAIRED}]+)")
_EAST_ASIAN = re.compile(rf"[{_PAIRED}\uff01-\uffdc]")  # with the letters that come in full and half width


def _words(chunk: str, elision: bool) -> Iterator[str]:
    """The tokens of a chunk of spaced script, in their normal form; a token may turn out to be empty."""
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
    """Case-folded text between white space → its terms, joined by spaces: computed once, remembered within bounds."""

    def __init__(self, stop: frozenset[str], stem: Callable[[str], str] | None, elision: bool) -> None:
        super().__init__()
        self.stop, self.stem, self.elision = stop, stem, elision
        self.lock = Lock()  # a stemmer serves one thread at a time

    def __missing__(self, chunk: str) -> str:
        bare = chunk.strip(_EDGES)
        if bare != chunk:
            terms = self[bare]
        else:
            with self.lock:
                terms = " ".join(self._terms(chunk))
        if len(chunk) <= LONGEST:
            if len(self) >= _REMEMBERED:
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
    """The sequences of n neighbouring terms, joined by single spaces: of a, b, c and n = 2, "a b" and "b c"."""
    return [" ".join(group) for group in zip(*(terms[i:] for i in range(n)), strict=False)]


@dataclass(frozen=True)
class Words(Component):
    """Words in lower case, without stop words, reduced to their stems by Snowball.

    `language` names the stemmer; with "none" words are neither stemmed nor left out, and so they are with `stem` and
    `stop` set to false. Only English has stop words. `ngrams` is the length up to which sequences of
    terms are indexed beside the terms themselves (`ngrams()` forms them).
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

    def terms(self, text: str) -> list[str]:
        """The terms of a text in its order, each as often as it occurs. Always single words, whatever `ngrams` is."""
        table = _table(self.language, self.stop, self.stem)
        return " ".join(map(table.__getitem__, text.casefold().split())).split()
