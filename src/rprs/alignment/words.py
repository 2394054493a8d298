"""The words of a text, folded so that the same words are equal however they are typed.

A word is a run of letters, digits and combining marks. Case is folded, letters are normalised (NFKC: ligatures,
full-width forms), and soft hyphens and zero-width characters are ignored. In scripts without spaces, every character is
a word. Where a line ends with a hyphen, "govern-⏎ment" is one word if either text has it elsewhere in one piece.

What changes the meaning of a number or a formula counts, too. Signs of currencies and of mathematics, %, § and ¶ are
words of their own, and so is the minus of "-5". Points, commas, slashes and colons between two digits belong to the
number (1,000.50), and so does the point of ".5". A blank to fill in (____) is a word.

Everything else (white space, other punctuation, quotes, apostrophes, hyphens and dashes) separates words and does not
count, and neither do lines of signs (=====, +---+---+) and the ">" in front of each line of a quoted message.

Words become 64-bit hashes, so that texts are compared as arrays of numbers. Folding is compiled: a table has the class
of every character and its folded form, and only words with characters that fold to several are normalised by Python.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.tables import make_table, number_keys
from rprs.compiled import compiled
from rprs.text.marks import COMBINING, UNSPACED
from rprs.text.pieces import codes_of

__all__ = ["Words", "fold_words", "full_stops", "hash_words", "resolve_breaks"]

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]

# Classes of characters, in an order on which conditions depend
_LETTER, _DIGIT, _COMPLEX, _SINGLE = range(4)  # parts of words
_SIGN, _POINT, _HYPHEN, _UNDERSCORE = range(4, 8)  # that may start a word
_IGNORED, _SPACE, _NEWLINE, _SEPARATOR = range(8, 12)  # that never do
_BLOCK = 256  # characters whose classes are computed at a time
_SEED = np.uint64(0xCBF29CE484222325)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_IGNORABLE = frozenset("\xad\u200b\u200c\u200d\u2060\ufeff")
_HYPHENS = frozenset("-\u2010\u2011\u2013")  # an en dash may be a minus, too
_MINUS = "\u2212"
_SIGNS = frozenset("%\u2030\u2031\u066a§¶")  # and all those of currencies and of mathematics
_MARKUP = frozenset("|~")  # of tables and headings
_POINTS = frozenset(".,/:·\u066b\u066c")
_LONGEST_SIGN = 3  # characters: a longer run of signs and hyphens is decoration
_OPENING = tuple(map(ord, "([{/"))  # a number may start behind them
_QUOTE, _POINT_CODE = ord(">"), ord(".")
_SPACE_CODE, _FIRST_LETTER, _LAST_LETTER = ord(" "), ord("A"), ord("z")
_STOPS = tuple(ord(mark) for mark in ".!?。！？")
_COMBINING, _UNSPACED = re.compile(f"[{COMBINING}]"), re.compile(f"[{UNSPACED}]")
_FULL_WIDTH = range(0xFF10, 0xFF5B)  # digits and letters of Latin, which form words
_RAISED = re.compile("([⁰¹²³⁴-⁹₀-₉]+)")  # 10² is not 102


@dataclass(frozen=True)
class Words:
    """The w words of a text: where they are, and the hashes of their folded forms."""

    starts: Ints  # (w,)
    ends: Ints  # (w,): text[start:end] is the word
    hashes: Hashes  # (w,)
    breaks: Ints  # the words that a hyphen at the end of a line separates from the next
    joined: Hashes  # their hashes together with the next word

    def __len__(self) -> int:
        return len(self.starts)


def fold_words(text: str) -> Words:
    """The folded words of a text."""
    codes = codes_of(text)
    starts, ends, hashes, complex_words, joins = _scan(codes, *_tables(codes))
    for word in complex_words.tolist():
        hashes[word] = _hash_text(_fold(text[starts[word] : ends[word]]))
    joined = [_hash_text(_fold(text[starts[at] : ends[at]] + text[starts[at + 1] : ends[at + 1]])) for at in joins]
    return Words(starts, ends, hashes, joins, np.array(joined, dtype=np.uint64))


def hash_words(words: Words) -> int:
    """A hash of all words in their order: texts with the same words have the same one.

    Indexes store it (`word_hashes`): if what a word is changes, that array needs another name.
    """
    return int(_hash(words.hashes))


def full_stops(codes: NDArray[np.uint32], words: Words) -> Ints:
    """The words behind a character that ends sentences, with the first word and the end of the text."""
    return np.asarray(_find_stops(codes, words.starts, words.ends))


def resolve_breaks(words: Words, other: Words) -> Words:
    """With words that a line break divides joined, where either text has the joined word in one piece."""
    if not len(words.breaks):
        return words
    present = _are_among(words.joined, words.hashes) | _are_among(words.joined, other.hashes)
    present |= _are_among(words.joined, other.joined)
    present[1:] &= np.diff(words.breaks) > 1  # a word that is joined with the one before is not joined again
    first = words.breaks[present]
    if not len(first):
        return words
    ends, hashes = words.ends.copy(), words.hashes.copy()
    ends[first], hashes[first] = ends[first + 1], words.joined[present]
    kept = np.ones(len(words), dtype=bool)
    kept[first + 1] = False
    none = np.empty(0, dtype=np.int64)
    return Words(words.starts[kept], ends[kept], hashes[kept], none, none.view(np.uint64))


def _are_among(few: Hashes, many: Hashes) -> NDArray[np.bool_]:
    """(f,): which of a few words are among many."""
    slots, distinct, numbers = make_table(few)
    found = np.zeros(len(distinct) + 1, dtype=bool)  # the last place is for other words
    found[number_keys(many, slots, distinct)] = True
    return found[numbers]


# ---------------------------------------------------------------------------- characters


class _Characters:
    """The class and the folded form of every character, computed in blocks when a text first needs them."""

    def __init__(self) -> None:
        self.classes = np.zeros(0x110000, dtype=np.uint8)
        self.folded = np.zeros(0x110000, dtype=np.uint32)
        self.ready = np.zeros(0x110000 // _BLOCK, dtype=bool)
        self.lock = Lock()

    def fill(self, blocks: Ints) -> None:
        with self.lock:
            for block in blocks.tolist():
                for code in range(block * _BLOCK, (block + 1) * _BLOCK):
                    self.classes[code], self.folded[code] = _classify(chr(code))
                self.ready[block] = True


_characters = _Characters()


def _tables(codes: NDArray[np.uint32]) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    if not _are_ready(codes, _characters.ready):
        _characters.fill(np.flatnonzero(_blocks(codes, len(_characters.ready)) & ~_characters.ready))
    return _characters.classes, _characters.folded


def _classify(character: str) -> tuple[int, int]:
    code = ord(character)
    if character == "\n" or character == "\r":
        return _NEWLINE, code
    if character == "_":
        return _UNDERSCORE, code
    if character in _HYPHENS:
        return _HYPHEN, ord("-")
    if character in _IGNORABLE:
        return _IGNORED, code
    if _COMBINING.match(character):
        return _IGNORED, code  # belongs to a word, and makes it one that Python folds
    if character.isspace():
        return _SPACE, code
    if not character.isalnum():
        return _classify_mark(unicodedata.normalize("NFKC", character))
    if character.isdecimal():
        return _DIGIT, ord(_fold(character))
    if _UNSPACED.match(character) and code not in _FULL_WIDTH:
        return _SINGLE, _single(character)
    folded = _fold(character)
    if len(folded) != 1 or 0x1100 <= code < 0x1200:  # Hangul's letters combine into syllables
        return _COMPLEX, code
    return _LETTER, ord(folded)


def _classify_mark(mark: str) -> tuple[int, int]:
    """Of a normalised character that is neither letter nor digit."""
    if mark in _POINTS:
        return _POINT, ord(mark)
    if mark == _MINUS:
        return _SIGN, ord("-")
    if mark in _SIGNS or (len(mark) == 1 and unicodedata.category(mark) in ("Sc", "Sm") and mark not in _MARKUP):
        return _SIGN, ord(mark)
    return _SEPARATOR, 0


def _single(character: str) -> int:
    folded = _fold(character)
    return ord(folded) if len(folded) == 1 else ord(character)


def _fold(word: str) -> str:
    pieces = _RAISED.split(word)
    pieces[::2] = [unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", one).casefold()) for one in pieces[::2]]
    return "".join(character for character in "".join(pieces) if character not in _IGNORABLE)


def _hash_text(text: str) -> np.uint64:
    return np.uint64(_hash(codes_of(text)))


# ---------------------------------------------------------------------------- compiled


@compiled
def _hash(codes: Any) -> Any:
    value = _SEED
    for code in codes:
        value = _add(value, code)
    return value


@compiled(inline="always")
def _add(value: Any, code: Any) -> Any:
    """The hash of a word with one more character."""
    value = (value ^ np.uint64(code)) * _FACTOR
    return value ^ (value >> np.uint64(29))


@compiled
def _find_stops(codes: Any, starts: Any, ends: Any) -> Any:
    words = np.empty(len(starts) + 2, dtype=np.int64)
    words[0], count, word = 0, 1, 0
    for at in range(len(codes)):
        if codes[at] <= _SPACE_CODE or _FIRST_LETTER <= codes[at] <= _LAST_LETTER:  # most characters
            continue
        if codes[at] in _STOPS:
            while word < len(starts) and starts[word] < at:
                word += 1
            if word > words[count - 1] and at >= ends[word - 1]:  # no point within a number
                words[count] = word
                count += 1
    if len(starts) > words[count - 1]:
        words[count] = len(starts)
        count += 1
    return words[:count].copy()


@compiled
def _blocks(codes: Any, size: int) -> Any:
    """Which blocks of characters a text has."""
    present = np.zeros(size, dtype=np.bool_)
    for code in codes:
        present[code // _BLOCK] = True
    return present


@compiled
def _are_ready(codes: Any, ready: Any) -> bool:
    """Whether the classes of all characters were computed."""
    for code in codes:  # noqa: SIM110  # Numba does not compile `all`
        if not ready[code // _BLOCK]:
            return False
    return True


@compiled
def _scan(codes: Any, classes: Any, folded: Any) -> Any:
    """Start, end and hash of every word; the words that Python must fold, and those that end at a broken line."""
    size = len(codes)  # as many as there can be: to make room within the loop takes longer
    starts, ends, hashes = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.uint64)
    marks = np.empty((size, 2), dtype=np.bool_)
    count = at = quoted = 0  # `quoted` is behind the last sign of a quotation
    while at < size:
        kind = classes[codes[at]]
        if kind > _UNDERSCORE or (kind == _POINT and (at + 1 == size or classes[codes[at + 1]] != _DIGIT)):
            at += 1  # what is not a word, the most frequent first: a call for each full stop would take long
            continue
        if kind >= _SIGN:
            if codes[at] == _QUOTE and _is_quotation(codes, classes, at, quoted):
                quoted = at + 1
            if quoted == at + 1 or not _starts_word(codes, classes, at):
                at += 1
                continue
        start, value, complex_word = at, _SEED, False
        single = kind == _SINGLE
        while kind == _LETTER:  # most words have nothing else
            value = _add(value, folded[codes[at]])
            at += 1
            kind = classes[codes[at]] if at < size else _SEPARATOR
        if kind >= _SIGN and at == start:
            single = kind != _POINT
            while at < size and codes[at] == codes[start]:
                value = value if kind == _UNDERSCORE else _add(value, folded[codes[at]])
                at += 1
        while kind < _SPACE and at < size:
            kind = classes[codes[at]]
            if kind == _IGNORED:
                complex_word = True
            elif single and at > start:
                break
            elif kind <= _COMPLEX or (kind == _SINGLE and at == start) or _is_within_number(codes, classes, at):
                complex_word = complex_word or kind == _COMPLEX
                value = _add(value, folded[codes[at]])
            else:
                break
            at += 1
        starts[count], ends[count], hashes[count] = start, at, value
        marks[count, 0] = complex_word
        hyphen = at < size and classes[codes[at]] == _HYPHEN
        marks[count, 1] = hyphen and not single and _is_break(codes, classes, at)
        count += 1
    words = starts[:count].copy(), ends[:count].copy(), hashes[:count].copy()
    return *words, np.flatnonzero(marks[:count, 0]), np.flatnonzero(marks[:count, 1])


@compiled
def _starts_word(codes: Any, classes: Any, at: int) -> Any:
    """Whether a word starts with the character here, which is no letter or digit."""
    kind = classes[codes[at]]
    if kind == _SIGN:
        return not _is_decoration(codes, classes, at)
    return _is_blank(codes, classes, at) if kind == _UNDERSCORE else _starts_number(codes, classes, at)


@compiled
def _is_decoration(codes: Any, classes: Any, at: int) -> Any:
    """Whether a sign is within a longer run of signs and hyphens."""
    first, stop = at, at + 1
    while first > 0 and at - first < _LONGEST_SIGN and classes[codes[first - 1]] in (_SIGN, _HYPHEN):
        first -= 1
    while stop < len(codes) and stop - at <= _LONGEST_SIGN and classes[codes[stop]] in (_SIGN, _HYPHEN):
        stop += 1
    return stop - first > _LONGEST_SIGN


@compiled
def _is_quotation(codes: Any, classes: Any, at: int, quoted: int) -> Any:
    """Whether the ">" here is at the start of the text or a line, or behind another one that is."""
    while at > quoted and classes[codes[at - 1]] == _SPACE:
        at -= 1
    return at == quoted or classes[codes[at - 1]] == _NEWLINE


@compiled
def _starts_number(codes: Any, classes: Any, at: int) -> Any:
    """Whether a hyphen is the minus of a number, or a point its first character."""
    is_hyphen = classes[codes[at]] == _HYPHEN
    if not is_hyphen and codes[at] != _POINT_CODE:
        return False
    after = at + 1
    if is_hyphen and after < len(codes) and classes[codes[after]] in (_SIGN, _POINT):  # -$5, -.5
        after += 1
    if after >= len(codes) or classes[codes[after]] != _DIGIT:
        return False
    if at == 0 or codes[at - 1] in _OPENING or classes[codes[at - 1]] in (_SPACE, _NEWLINE, _SIGN):
        return True
    return not is_hyphen and classes[codes[at - 1]] == _HYPHEN


@compiled(inline="always")
def _is_within_number(codes: Any, classes: Any, at: int) -> Any:
    """Whether a point is between two digits."""
    return (
        classes[codes[at]] == _POINT
        and at > 0
        and at + 1 < len(codes)
        and classes[codes[at - 1]] == _DIGIT
        and classes[codes[at + 1]] == _DIGIT
    )


@compiled
def _is_blank(codes: Any, classes: Any, at: int) -> bool:
    """Whether a blank to fill in starts here: underscores without letters next to them."""
    if at > 0 and _is_part(classes[codes[at - 1]]):
        return False
    while at < len(codes) and classes[codes[at]] == _UNDERSCORE:
        at += 1
    return at == len(codes) or not _is_part(classes[codes[at]])


@compiled(inline="always")
def _is_part(kind: int) -> bool:
    """Whether a character is always a part of a word, or follows another underscore."""
    return kind <= _SINGLE or kind in (_IGNORED, _UNDERSCORE)


@compiled
def _is_break(codes: Any, classes: Any, at: int) -> bool:
    """Whether the hyphen that is here ends a line, and a letter starts the next."""
    size = len(codes)
    if at + 2 >= size:
        return False
    at += 1
    newlines = 0
    while at < size and (classes[codes[at]] == _SPACE or classes[codes[at]] == _NEWLINE):
        newlines += classes[codes[at]] == _NEWLINE and (codes[at] != 10 or codes[at - 1] != 13)
        at += 1
    return newlines == 1 and at < size and classes[codes[at]] <= _COMPLEX
