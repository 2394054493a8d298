"""The headings of old Word documents: paragraphs whose style is one of the built-in styles for titles and headings.

The pages of paragraph properties give the style of each run of bytes of the stream `WordDocument`; the style sheet,
which is in the table stream, gives the meaning of the styles, whatever their names are in the language of the program.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rprs.read.titles import styled_heading

__all__ = ["Piece", "fields_replaced", "first_heading", "place", "property_pages"]

_PAGE = 512
_STYLES, _PARAGRAPHS = 0x00A2, 0x0102  # where the places of two tables are
_HEADINGS = frozenset([1, 2, 3, 62])  # the numbers of the built-in styles "heading 1" to "heading 3" and "Title"
_ENTRY = 13  # bytes for each paragraph of a page
_MARKS = "\r\x07\x0c"  # the ends of paragraphs
_LONGEST = 2**12  # characters of a paragraph that may be a heading, fields included
_FIELD = re.compile("\x13[^\x13\x14\x15]*\x14([^\x13\x14\x15]*)\x15|\x13[^\x13\x14\x15]*\x15")
_FIELD_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of characters: the position of its first one, and where and in how many bytes they are in the stream."""

    position: int
    first: int
    width: int


def fields_replaced(text: str) -> str:
    """Text with the results of fields in place of their instructions."""
    for _ in range(_FIELD_DEPTH):  # from the inside out
        text, count = _FIELD.subn(lambda match: match[1] or "", text)
        if not count:
            break
    return text


def place(stream: bytes, table: bytes, where: int) -> bytes:
    """A part of the table stream, whose place is at `where` in the main stream."""
    offset, length = struct.unpack_from("<II", stream, where)
    return table[offset : offset + length]


def property_pages(stream: bytes, table: bytes, where: int, entry: int) -> Iterator[tuple[bytes, tuple[int, ...]]]:
    """The pages with the properties of runs or paragraphs, and where these begin; each has an entry of some bytes."""
    plc = place(stream, table, where)
    number = (len(plc) - 4) // 8
    for page_number in struct.unpack_from(f"<{number}I", plc, 4 * (number + 1)) if number > 0 else ():
        page = stream[page_number * _PAGE : (page_number + 1) * _PAGE]
        if len(page) == _PAGE and 4 * (page[-1] + 1) + entry * page[-1] <= _PAGE - 1:
            yield page, struct.unpack_from(f"<{page[-1] + 1}I", page)


def first_heading(stream: bytes, table: bytes, pieces: Sequence[Piece], characters: Sequence[str]) -> str:
    """The text of the first paragraph in the style of a heading; its mark, at its end, has its properties."""
    headings = _heading_styles(place(stream, table, _STYLES))
    ranges = sorted(
        (starts[number], starts[number + 1])
        for page, starts in property_pages(stream, table, _PARAGRAPHS, _ENTRY)
        for number in range(len(starts) - 1)
        if headings and _style(page, page[4 * len(starts) + _ENTRY * number]) in headings
    )
    if not ranges:
        return ""
    begins, places = [begin for begin, _ in ranges], [piece.position for piece in pieces]
    start = 0
    for position, character in enumerate(characters):
        if character not in _MARKS or not character:
            continue
        piece = pieces[bisect_right(places, position) - 1]
        byte = piece.first + piece.width * (position - piece.position)
        run = bisect_right(begins, byte) - 1
        if run >= 0 and byte < ranges[run][1] and (heading := _heading(characters[start:position])):
            return heading
        start = position + 1
    return ""


def _heading(characters: Sequence[str]) -> str:
    text = fields_replaced("".join(characters[:_LONGEST]))
    return styled_heading("".join(char if char >= " " else " " for char in text))


def _style(page: bytes, offset: int) -> int:
    """The number of the style of a paragraph, whose properties begin at twice the offset within the page."""
    begin = 2 * offset
    skipped = 1 if page[begin] else 2  # bytes for the length of the properties
    return int.from_bytes(page[begin + skipped : begin + skipped + 2], "little") if offset else -1


def _heading_styles(sheet: bytes) -> set[int]:
    """The numbers, within the document, of the styles of headings."""
    if len(sheet) < 4:
        return set()
    header, count = struct.unpack_from("<HH", sheet)
    headings, position = set(), 2 + header
    for number in range(count):
        if position + 4 > len(sheet):
            break
        length, facts = struct.unpack_from("<HH", sheet, position)
        if length and facts & 0x0FFF in _HEADINGS:
            headings.add(number)
        position += 2 + length + length % 2
    return headings
