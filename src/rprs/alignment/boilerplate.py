"""Boilerplate: what says little about a document, by its frequency in the collection first and by rules second.

A sentence is frequent if most of its phrases of three terms are in many documents, so that one with other names or
numbers is frequent, too. Many are 2% of the documents, but at least 5, and 100 are always many.

The rules recognise captions and headings (short, and every longer word is capitalised), bare citations and lists of
names (hardly any other word) in scripts with capital letters, and very short sentences in all scripts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.scoring.sorting import first_at_least
from rprs.text.marks import UNSPACED
from rprs.text.pieces import codes_of

__all__ = [
    "FORMAL",
    "FUNCTION_WORDS",
    "LEAST_MANY",
    "MANY_SHARE",
    "MOST_MANY",
    "NOT_FORMAL",
    "UNSURE",
    "Formal",
    "classify",
    "formal_texts",
    "is_formal",
    "many_documents",
]

MANY_SHARE = 0.02  # of the documents are many
LEAST_MANY = 5
MOST_MANY = 100

SHORT = 4  # words: fewer are a very short sentence
SHORT_UNSPACED = 8  # characters, in scripts without spaces
HEADING = 14  # words, at most
CITATION = 300  # words, at most
CITATION_SHARE = 0.15  # of the words of a citation are other words, at most
NAMES_SHARE = 0.1  # of those of a list of names

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+(?:[^\W_]*)")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_NUMBER = re.compile(r"\d")
_SEPARATORS = {code: None if chr(code) == "'" else " " for code in range(128) if not chr(code).isalnum()}
_FUNCTION = frozenset(
    """about above after also among and another any are argued because been before between both but certiorari cert
    cited citing compare concurred concurring decided denied dissented dissenting does during each even ever from
    granted have here herein hereinafter ibid infra into judgment more much must near note notes only onto opinion other
    over page pages para part per plurality post pp quoted quoting reargued rehearing reporter same section sections
    slip some such supra syllabus than that their them then there these they this those through under until unto upon
    versus volume were what when where which while whom whose with within without""".split()
)
_LONGER = 4  # letters of a word that is capitalised in a title
_SEED, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
NOT_FORMAL, FORMAL, UNSURE, _UNKNOWN = range(4)
_APOSTROPHES = (0x27, 0x2019)
_MARKS = (0xA0, 0xA7, 0xB6, 0x2013, 0x2014, 0x2018, 0x201C, 0x201D, 0x2026)  # in English texts that are not ASCII


def many_documents(documents: int) -> int:
    """How many documents of a collection are many."""
    return int(max(LEAST_MANY, min(np.ceil(MANY_SHARE * documents), MOST_MANY)))


def is_formal(text: str) -> bool:
    """Whether a sentence is a caption, a heading, a bare citation, or very short."""
    if _is_plain(text):
        return False
    words = _WORD.findall(text)
    unspaced = 0 if text.isascii() else len(_UNSPACED.findall(text))
    if unspaced:
        return len(words) + unspaced < SHORT_UNSPACED
    if len(words) < SHORT:
        return True
    if 2 * sum([word[0].islower() for word in words]) > len(words):
        return False  # most words are small: "I told Mary that it is so." has no longer word that is not a name
    letters = [word for word in words if word[0].isalpha()]
    if not any(word.lower() != word.upper() for word in letters):
        return not letters  # numbers alone; or words of a script without capital letters
    content = [word for word in letters if len(word) >= _LONGER and word.casefold() not in _FUNCTION]
    small = sum(word[0].islower() for word in content)
    if len(words) <= HEADING and small == 0:
        return True
    if len(words) > CITATION or (content and all(word.isupper() for word in content)):
        return False  # a clause in capital letters is no citation
    return bool(small <= (CITATION_SHARE if _NUMBER.search(text) else NAMES_SHARE) * len(words))


def formal_texts(texts: Sequence[str]) -> NDArray[np.bool_]:
    """(t,): `is_formal` for many texts."""
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    spans = np.column_stack((np.append(0, ends[:-1]), ends)) if texts else np.empty((0, 2), dtype=np.int64)
    joined = "".join(texts)
    return Formal(joined, spans, codes_of(joined)).of(np.arange(len(texts)))


class Formal:
    """Which sentences of a text are formal; most are decided by compiled code, since a search asks for thousands."""

    def __init__(self, text: str, spans: NDArray[np.int64], codes: NDArray[np.uint32]) -> None:
        self.text, self.spans = text, spans
        self._found = np.full(len(spans), _UNKNOWN, dtype=np.int8)
        self.columns = codes, spans, self._found  # what `classify` needs: the characters of the text first

    def of(self, sentences: NDArray[np.int64]) -> NDArray[np.bool_]:
        """`is_formal` for some sentences."""
        if _classify_all(self.columns, sentences, FUNCTION_WORDS):
            self.settle()
        return np.asarray(self._found[sentences] == FORMAL)

    def settle(self) -> None:
        """Decide those that compiled code was unsure of."""
        for sentence in np.flatnonzero(self._found == UNSURE).tolist():
            start, end = self.spans[sentence].tolist()
            self._found[sentence] = FORMAL if is_formal(self.text[start:end]) else NOT_FORMAL


def _is_plain(text: str) -> bool:
    """Whether most words are small, by a fast look at ASCII text without digits, which most sentences are."""
    if not text.isascii() or _NUMBER.search(text):
        return False
    words = text.translate(_SEPARATORS).split()
    return len(words) >= SHORT and 2 * sum([word[0].islower() for word in words]) > len(words)


@compiled
def _classify_all(columns: Any, sentences: Any, function_words: Any) -> Any:
    """Find out whether some sentences are formal; whether any is `UNSURE`."""
    unsure = False
    for sentence in sentences:
        unsure |= classify(columns, sentence, function_words) == UNSURE
    return unsure


@compiled
def classify(columns: Any, sentence: Any, function_words: Any) -> Any:
    """Find out whether a sentence is `FORMAL`, `NOT_FORMAL`, or `UNSURE` for a character that is not among ours.

    What was found is kept in the last of the `columns` of `Formal`.
    """
    codes, spans, found = columns
    if found[sentence] == _UNKNOWN:
        found[sentence] = _classify(codes, spans[sentence, 0], spans[sentence, 1], function_words)
    return np.int64(found[sentence])


@compiled
def _classify(codes: Any, at: int, end: int, function_words: Any) -> Any:
    """Whether the sentence between two places is formal.

    Counts words as `_WORD` finds them. Two apostrophes in a row are left to `is_formal`, too.
    """
    if _are_mostly_small(codes, at, end):
        return NOT_FORMAL
    words = content = small_content = upper_content = 0
    letters = digits = False
    while at < end:
        code = codes[at]
        if _is_letter(code):
            first, hashed, upper = at, _SEED, True
            while at < end and (
                _is_letter(codes[at]) or (codes[at] in _APOSTROPHES and at + 1 < end and _is_letter(codes[at + 1]))
            ):
                hashed = _add_letter(hashed, codes[at])
                if upper and codes[at] >= 97:
                    upper = codes[at] in _APOSTROPHES
                at += 1
            words += 1
            letters = True
            if at - first >= _LONGER and not _contains(function_words, hashed):
                content += 1
                small_content += code >= 97
                upper_content += upper
        elif 48 <= code <= 57:
            words += 1
            digits = True
            while at < end and (48 <= codes[at] <= 57 or _is_letter(codes[at])):
                at += 1
        elif code == 0x27 and at + 1 < end and codes[at + 1] == 0x27:
            break
        elif code < 128 or code in _APOSTROPHES or code in _MARKS:
            at += 1
        else:
            break
        if at < end and codes[at] >= 128 and codes[at] not in _APOSTROPHES and codes[at] not in _MARKS:
            break
    if at < end:
        return UNSURE
    if words < SHORT or not letters or (words <= HEADING and small_content == 0):
        return FORMAL
    if words > CITATION or (content > 0 and upper_content == content):
        return NOT_FORMAL
    return FORMAL if small_content <= (CITATION_SHARE if digits else NAMES_SHARE) * words else NOT_FORMAL


@compiled
def _are_mostly_small(codes: Any, at: int, end: int) -> Any:
    """Whether most words of a sentence are small, as in most sentences; False also where `_classify` has to look.

    Words are counted as there, but not hashed.
    """
    words = small = 0
    in_word = in_number = False
    while at < end:
        code = codes[at]
        at += 1
        if _is_letter(code):
            if not in_word and not in_number:
                words += 1
                small += code >= 97
                in_word = True
        elif 48 <= code <= 57:
            words += not in_number
            in_word, in_number = False, True
        elif code == 0x27 or code >= 128:
            if code not in _APOSTROPHES and code not in _MARKS:
                return False
            if code == 0x27 and at < end and codes[at] == 0x27:
                return False
            in_word = in_word and code in _APOSTROPHES and at < end and _is_letter(codes[at])
            in_number = False
        else:
            in_word = in_number = False
    return words >= SHORT and 2 * small > words


@compiled(inline="always")
def _add_letter(hashed: Any, code: Any) -> Any:
    """The hash of a word with one more letter, whatever its case."""
    lower = code + 32 if 65 <= code <= 90 else code
    return (hashed ^ np.uint64(lower)) * _PRIME


@compiled(inline="always")
def _contains(ordered: Any, value: Any) -> Any:
    place = first_at_least(ordered, value)
    return place < len(ordered) and ordered[place] == value


@compiled(inline="always")
def _is_letter(code: Any) -> Any:
    return 97 <= code <= 122 or 65 <= code <= 90


def _hash(word: str) -> int:
    """As `_classify` hashes it (FNV-1a)."""
    hashed = int(_SEED)
    for letter in word:
        hashed = ((hashed ^ ord(letter)) * int(_PRIME)) % 2**64
    return hashed


FUNCTION_WORDS = np.array(sorted(map(_hash, _FUNCTION)), dtype=np.uint64)
