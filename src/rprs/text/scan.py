"""Passes over the characters of a text, compiled: what may end a sentence, the sentences between given places, and
sentences that are merged or cut by their numbers of words.

A *chunk* is the text between white space. A text is an array with the kind of each character (`marks`), and a block
or a span is a pair of places, of which the second is behind the last character.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.text.pieces import codes_of

__all__ = [
    "FIRST",
    "SIMPLE",
    "Bytes",
    "Ints",
    "contexts",
    "fragments",
    "longest_chunk",
    "marks",
    "merge",
    "pieces",
    "sentences",
]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

FIRST, SIMPLE = 1, 2  # of a context: it begins its block; it is two chunks with spaces between them
_SPACE, _BLANK, _STOP, _CLOSER, _BEHIND, _DASH = 1, 2, 4, 8, 16, 32  # kinds of characters
_CHARACTERS = {
    _BLANK: " \t\n",  # the white space that is all the same to nupunkt, which gets "\n" as " "
    _STOP: ".?!…",
    _CLOSER: "\"')]}”’»*",
    _BEHIND: ")\";}]*:@({[?!”»'’",  # what a full stop that may end a sentence is followed by, besides white space
    _DASH: "-",
}
_KINDS = 0x3002  # code points with an entry: no white space comes after them, and the last is of no kind
_WORD = 50  # characters that count as a word in a chunk without spaces
_FRAGMENT_WORDS = 3  # a fragment has fewer


@cache
def _kinds() -> Bytes:
    """The kinds of each code point below `_KINDS`."""
    table = np.zeros(_KINDS, dtype=np.uint8)
    for kind, characters in _CHARACTERS.items():
        table[[ord(character) for character in characters]] |= kind
    table[[code for code in range(_KINDS) if chr(code).isspace()]] |= _SPACE | _BEHIND
    return table


def marks(text: str) -> Bytes:
    """The kinds of the characters of a text."""
    found = np.empty(len(text), dtype=np.uint8)
    _look_up(codes_of(text), _kinds(), found)
    return found


# Numba infers the types of what follows, and compiles it once for each combination.
@compiled
def _look_up(codes, kinds, found):  # type: ignore[no-untyped-def]
    for place in range(len(codes)):
        found[place] = kinds[min(codes[place], np.uint32(_KINDS - 1))]


@compiled
def _end_of_chunk(marks, at, stop):  # type: ignore[no-untyped-def]
    while at < stop and marks[at] & _SPACE == 0:
        at += 1
    return at


@compiled
def _next_chunk(marks, at, stop):  # type: ignore[no-untyped-def]
    while at < stop and marks[at] & _SPACE:
        at += 1
    return at


@compiled
def longest_chunk(marks):  # type: ignore[no-untyped-def]
    """The number of characters of the longest chunk."""
    longest, length = 0, 0
    for mark in marks:
        length = 0 if mark & _SPACE else length + 1
        longest = max(longest, length)
    return longest


# ---------------------------------------------------------------------------- what may end a sentence


def contexts(marks: Bytes, blocks: Ints) -> Ints:
    """(contexts, 5): where a sentence may end: start and end of its first chunk, those of its last one, and flags.

    In a context, a sentence may begin after its first character, up to the start of its last chunk.
    """
    found = np.empty((_count_stops(marks), 5), dtype=np.int64)
    return found[: _contexts(marks, blocks, found)]


@compiled
def _count_stops(marks):  # type: ignore[no-untyped-def]
    number = 0
    for mark in marks:
        number += 1 if mark & _STOP else 0
    return number


@compiled
def _contexts(marks, blocks, found):  # type: ignore[no-untyped-def]
    """Find the contexts of all blocks; their number.

    Each has a full stop of its own: in the first chunk or, of an ellipsis such as ". . .", after it.
    """
    size = 0
    for block in range(len(blocks)):
        at, stop = blocks[block, 0], blocks[block, 1]
        first, before, before_first = True, at, True
        while at < stop:
            end, candidate = at, False
            while end < stop and marks[end] & _SPACE == 0:
                if marks[end] & _STOP and end + 1 < stop and marks[end + 1] & _BEHIND:
                    candidate = True
                end += 1
            last = _next_chunk(marks, end, stop)
            if not candidate:
                before, before_first = at, first
                at, first = last, False
                continue
            simple = last < stop and marks[at] & _STOP == 0
            for place in range(end, last):
                simple &= marks[place] & _BLANK != 0
            if not first and marks[at] & _STOP:  # the word before may belong to an ellipsis
                at, first, simple = before, before_first, False
                end = _end_of_chunk(marks, at, stop)
            last_end = _end_of_chunk(marks, last, stop)
            while last < stop and _is_special(marks, last, last_end):
                simple = False
                last = _next_chunk(marks, last_end, stop)
                last_end = _end_of_chunk(marks, last, stop)
            found[size, 0], found[size, 1], found[size, 2], found[size, 3] = at, end, last, last_end
            found[size, 4] = (FIRST if first else 0) | (SIMPLE if simple else 0)
            size += 1
            before, before_first = at, first  # not used unless the last chunk starts with a full stop: it does not
            at, first = last, False
    return size


@compiled
def _is_special(marks, start, end):  # type: ignore[no-untyped-def]
    """Whether a chunk does not only follow a full stop: it starts with one, or is closing punctuation (up to "--")."""
    if marks[start] & _STOP:
        return True
    at = start
    while at < end and marks[at] & _CLOSER:
        at += 1
    if at == start:
        return False
    return at == end or (at + 1 < end and marks[at] & marks[at + 1] & _DASH != 0)


# ---------------------------------------------------------------------------- sentences


def sentences(marks: Bytes, blocks: Ints, begins: Ints) -> tuple[Ints, Ints]:
    """(sentences, 2), (sentences,): the spans between the starts of blocks and further places, and their blocks."""
    spans = np.empty((len(blocks) + len(begins), 2), dtype=np.int64)
    owners = np.empty(len(spans), dtype=np.int64)
    _sentences(marks, blocks, begins, spans, owners)
    return spans, owners


@compiled
def _sentences(marks, blocks, begins, spans, owners):  # type: ignore[no-untyped-def]
    row, place = 0, 0
    for block in range(len(blocks)):
        start, more = blocks[block, 0], True
        while more:
            more = place < len(begins) and begins[place] < blocks[block, 1]
            end = following = begins[place] if more else blocks[block, 1]
            while marks[end - 1] & _SPACE:
                end -= 1
            spans[row, 0], spans[row, 1], owners[row] = start, end, block
            start = following
            row += 1
            place += more


@compiled
def fragments(marks, spans, longest):  # type: ignore[no-untyped-def]
    """(sentences,): whether a sentence has at most so many characters, and fewer than three words."""
    short = np.zeros(len(spans), dtype=np.bool_)
    for row in range(len(spans)):
        start, end = spans[row, 0], spans[row, 1]
        if end - start <= longest:
            words = 0
            while start < end and words < _FRAGMENT_WORDS:
                words += 1
                start = _next_chunk(marks, _end_of_chunk(marks, start, end), end)
            short[row] = words < _FRAGMENT_WORDS
    return short


@compiled
def merge(spans, paragraphs, fragments, markers):  # type: ignore[no-untyped-def]
    """Merge fragments within their paragraphs: markers and a first fragment forwards, all others backwards.

    `spans` and `paragraphs` are changed in their place; the number of sentences that remain.
    """
    size, ahead = 0, False  # ahead: the last sentence is to be merged with the next one
    for row in range(len(spans)):
        new = size == 0 or paragraphs[row] != paragraphs[size - 1]
        forward = fragments[row] and (new or markers[row])
        if not new and (ahead or (fragments[row] and not forward)):
            spans[size - 1, 1] = spans[row, 1]
            ahead = ahead and fragments[row]
        else:
            spans[size, 0], spans[size, 1], paragraphs[size] = spans[row, 0], spans[row, 1], paragraphs[row]
            size += 1
            ahead = forward
    return size


def pieces(marks: Bytes, spans: Ints, paragraphs: Ints, limit: int, piece: int) -> tuple[Ints, Ints]:
    """The sentences, in pieces of `piece` words where they have more than `limit`, and their paragraphs.

    One or two last words join the piece before. In a chunk, every 50 characters count as a word.
    """
    counts = np.empty(len(spans), dtype=np.int64)
    size = _count_pieces(marks, spans, limit, piece, counts)
    if size == len(spans):
        return spans, paragraphs
    cut = np.empty((size, 2), dtype=np.int64)
    _cut(marks, spans, piece, counts, cut)
    return cut, np.repeat(paragraphs, counts)


@compiled
def _words(marks, start, end):  # type: ignore[no-untyped-def]
    count = 0
    while start < end:
        stop = _end_of_chunk(marks, start, end)
        count += (stop - start + _WORD - 1) // _WORD
        start = _next_chunk(marks, stop, end)
    return count


@compiled
def _count_pieces(marks, spans, limit, piece, counts):  # type: ignore[no-untyped-def]
    size = 0
    for row in range(len(spans)):
        counts[row] = 1
        if spans[row, 1] - spans[row, 0] > limit:  # a word has a character
            words = _words(marks, spans[row, 0], spans[row, 1])
            if words > limit:
                counts[row] = (max(words - 2, 1) + piece - 1) // piece
        size += counts[row]
    return size


@compiled
def _cut(marks, spans, piece, counts, cut):  # type: ignore[no-untyped-def]
    place = 0
    for row in range(len(spans)):
        start, end = spans[row, 0], spans[row, 1]
        cut[place, 0], cut[place, 1] = start, end
        first, word, before = place, 0, start
        while start < end and counts[row] > 1:
            stop = min(_end_of_chunk(marks, start, end), start + _WORD)
            if word and word % piece == 0 and place < first + counts[row] - 1:
                cut[place, 1] = before
                place += 1
                cut[place, 0], cut[place, 1] = start, end
            word, before = word + 1, stop
            start = _next_chunk(marks, stop, end)
        place += 1
