"""Old Word documents (.doc, Word 97 to 2003) → text: the body, footnotes, endnotes and text boxes.

The text is a table of pieces of the stream `WordDocument`; one after the other, they give the characters of the body,
the footnotes, headers, comments, endnotes and text boxes. Headers and comments are not read, and neither is text that
was deleted with tracked changes: runs of characters with the property "deleted" are found through the pages of
character properties.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from typing import Any

from rprs.errors import ReadError
from rprs.read.doc_styles import Piece, fields_replaced, first_heading, place, property_pages

__all__ = ["doc_text"]

_ENCRYPTED, _TABLE_1 = 0x0100, 0x0200
_COUNTS = 0x4C  # where the numbers of characters of the parts begin
_PARTS = ("body", "footnotes", "headers", "macros", "comments", "endnotes", "boxes", "header boxes")
_READ = ("body", "footnotes", "endnotes", "boxes")
_PIECES, _RUNS = 0x01A2, 0x00FA  # where the places of two tables are
_DELETED = 0x0800  # the character property
_OPERANDS = {0: 1, 1: 1, 2: 2, 3: 4, 4: 2, 5: 2, 7: 3}  # bytes of a property by the kind of its operand; 6: variable

_CONTROLS = {
    **dict.fromkeys("\r\x0c\x0e", "\n\n"),
    **{"\x07": "\t", "\x0b": "\n", "\x1e": "-", "\t": " ", "\n": " ", "\xa0": " "},
    **dict.fromkeys("\x01\x02\x03\x04\x05\x08\x13\x14\x15\x1f", ""),
}
_CONTROL = re.compile("[\x01-\x08\x0b\x0c\x0e\r\t\n\x13-\x15\x1e\x1f\xa0]")


def doc_text(file: Any) -> tuple[str, str]:
    """The text and the first heading of a Word document that olefile has opened."""
    stream = file.openstream("WordDocument").read()
    if len(stream) < _PIECES + 8 or struct.unpack_from("<H", stream)[0] not in (0xA5EC, 0xA5DC):
        raise ReadError("a Word file that can't be opened; it may be damaged")
    version, flags = struct.unpack_from("<H", stream, 2)[0], struct.unpack_from("<H", stream, 0x0A)[0]
    if flags & _ENCRYPTED:
        raise ReadError("an encrypted file: save a copy that opens without a password")
    if version < 0xC1:
        raise ReadError("a file of Word 95 or older: save it as .docx")
    table = file.openstream("1Table" if flags & _TABLE_1 else "0Table").read()
    characters, pieces = _characters(stream, table, _deleted_runs(stream, table))
    counts = struct.unpack_from(f"<{len(_PARTS)}I", stream, _COUNTS)
    parts, start = [], 0
    for name, count in zip(_PARTS, counts, strict=True):
        if name in _READ:
            parts.append(_plain("".join(characters[start : start + count])))
        start += count
    heading = first_heading(stream, table, pieces, characters[: counts[0]])
    return "\n\n".join(filter(None, parts)), heading


def _characters(stream: bytes, table: bytes, deleted: tuple[list[int], list[bool]]) -> tuple[list[str], list[Piece]]:
    """All characters of the document, in order; deleted ones are empty, so that positions stay correct."""
    pieces = place(stream, table, _PIECES)
    position = 0
    while pieces[position : position + 1] == b"\x01":  # properties come before the pieces
        position += 3 + struct.unpack_from("<H", pieces, position + 1)[0]
    if pieces[position : position + 1] != b"\x02":
        raise ReadError("a Word file without a table of its text; it may be damaged")
    plc = pieces[position + 5 : position + 5 + struct.unpack_from("<I", pieces, position + 1)[0]]
    number = (len(plc) - 4) // 12
    places = struct.unpack_from(f"<{number + 1}I", plc)
    characters: list[str] = []
    read: list[Piece] = []
    for piece in range(number):
        count = places[piece + 1] - places[piece]
        raw = struct.unpack_from("<I", plc, 4 * (number + 1) + 8 * piece + 2)[0]
        width = 1 if raw & 0x40000000 else 2
        start = (raw & 0x3FFFFFFF) // 2 if width == 1 else raw & 0x3FFFFFFF
        if count < 0 or start + width * count > len(stream) or len(characters) + count > len(stream):
            raise ReadError("a Word file whose text is incomplete; it may be damaged")
        data = stream[start : start + width * count]
        text = data.decode("cp1252" if width == 1 else "utf-16-le", "replace" if width == 1 else "surrogatepass")
        # A character outside of the basic plane is two characters in the file.
        units = list(text) if len(text) == count else [unit for char in text for unit in _units(char)]
        read.append(Piece(len(characters), start, width))
        characters += _without_deleted(units, start, width, deleted)
    return characters, read


def _units(char: str) -> tuple[str, ...]:
    return (char,) if ord(char) < 0x10000 else (char, "")


def _without_deleted(units: list[str], start: int, width: int, deleted: tuple[list[int], list[bool]]) -> list[str]:
    starts, flags = deleted
    if not any(flags):
        return units
    return [
        "" if (run := bisect_right(starts, start + width * number) - 1) >= 0 and flags[run] else unit
        for number, unit in enumerate(units)
    ]


# ---------------------------------------------------------------------------- tracked changes


def _deleted_runs(stream: bytes, table: bytes) -> tuple[list[int], list[bool]]:
    """Where runs of characters begin in the stream, in order, and whether each was deleted."""
    runs: dict[int, bool] = {}
    for page, starts in property_pages(stream, table, _RUNS, 1):
        for run in range(len(starts) - 1):
            offset = 2 * page[4 * len(starts) + run]
            runs[starts[run]] = bool(offset) and _is_deleted(page[offset + 1 : offset + 1 + page[offset]])
            runs.setdefault(starts[run + 1], False)
    ordered = sorted(runs.items())
    return [start for start, _ in ordered], [is_deleted for _, is_deleted in ordered]


def _is_deleted(properties: bytes) -> bool:
    position = 0
    while position + 2 < len(properties):
        code = struct.unpack_from("<H", properties, position)[0]
        if code == _DELETED:
            return properties[position + 2] == 1
        operand = _OPERANDS.get(code >> 13)
        position += 2 + (1 + properties[position + 2] if operand is None else operand)
    return False


# ---------------------------------------------------------------------------- characters → text


def _plain(text: str) -> str:
    """Text without the instructions of fields and other controls; two cell marks in a row end a row."""
    text = fields_replaced(text).replace("\x07\x07", "\r").replace("\r\x07", "\x07")
    text = _CONTROL.sub(lambda match: _CONTROLS.get(match[0], ""), text)
    paragraphs = (" ".join(part.strip(" ").split(" ")) for part in re.split(r"\n\n+", text))
    return "\n\n".join(re.sub("  +", " ", part).strip() for part in paragraphs if part.strip())
