"""Files of old Office programs (.doc, .xls, .ppt) and Outlook (.msg), told apart by the streams that they contain."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from typing import Any

from rprs.document import Document, Value
from rprs.errors import ReadError
from rprs.read.source import Skipped, Source
from rprs.read.titles import embedded_title, plain_heading, slide_heading, styled_heading

__all__ = ["read_ole"]

OleFile = Any  # olefile has no types


def read_ole(source: Source) -> Iterator[Document | Skipped]:
    """The document of an old Office file, or the message of an Outlook file and its attachments."""
    import olefile

    data = source.data()
    if not data.startswith(olefile.MAGIC):
        raise ReadError("not a file of Word, Excel, PowerPoint or Outlook, or damaged")
    with _ole_file(data) as file:
        streams = {"/".join(path) for path in file.listdir()}
        if "__properties_version1.0" in streams:
            from rprs.read.msg import read_message

            yield from read_message(source, file)
            return
        text, heading, facts = _text(source, file, streams)
        properties, author_and_date = _properties(file)
        title = embedded_title(properties, source, text) or heading
        yield Document(source.id, text, title, {**facts, **author_and_date})


def _ole_file(data: bytes) -> OleFile:
    """A file whose properties that are lists are left out: in a damaged file, olefile reads four billion entries."""
    from olefile.olefile import VT_VECTOR, OleFileIO

    class WithoutLists(OleFileIO):  # type: ignore[misc]  # olefile has no types
        def _parse_property(self, s: bytes, offset: int, property_id: int, property_type: int, *rest: Any) -> Any:
            if property_type & VT_VECTOR:
                return None
            return super()._parse_property(s, offset, property_id, property_type, *rest)

    return WithoutLists(io.BytesIO(data))


def _text(source: Source, file: OleFile, streams: set[str]) -> tuple[str, str, dict[str, Value]]:
    """The text, the first heading and metadata."""
    if "EncryptedPackage" in streams:
        raise ReadError("an encrypted file: save a copy that opens without a password")
    if "WordDocument" in streams:
        from rprs.read.doc import doc_text

        text, heading = doc_text(file)
        return text, heading or plain_heading(text), {}
    if streams & {"Workbook", "Book"}:
        from rprs.read.sheets import read_xls

        # xlrd is given the stream alone: in a damaged file it follows circular chains of sectors without end.
        text, facts = read_xls(source, file.openstream("Workbook" if "Workbook" in streams else "Book").read())
        return text, "", facts
    if "PowerPoint Document" in streams:
        text, heading = _slides(file.openstream("PowerPoint Document").read())
        return text, heading or slide_heading(text), {}
    raise ReadError("not a file of Word, Excel, PowerPoint or Outlook")


def _properties(file: OleFile) -> tuple[str, dict[str, Value]]:
    """The title, and the author and date, of an Office file."""
    import olefile

    try:
        facts = file.get_metadata()
    except (OSError, ValueError, IndexError, TypeError, struct.error, olefile.OleFileError):
        return "", {}  # damaged properties do not make the text unreadable
    codepage = f"cp{facts.codepage}" if facts.codepage in range(1, 65001) else "utf-8"
    title, author = (_decoded(value, codepage) for value in (facts.title, facts.author))
    metadata: dict[str, Value] = {"author": author} if author else {}
    if facts.create_time is not None and facts.create_time.year > 1970:
        metadata["date"] = facts.create_time.date().isoformat()
    return title, metadata


def _decoded(value: bytes | str | None, codepage: str) -> str:
    if not isinstance(value, bytes):
        return (value or "").strip()
    try:
        return value.decode(codepage, "replace").strip("\0 ")
    except LookupError:
        return value.decode("cp1252", "replace").strip("\0 ")


# ---------------------------------------------------------------------------- PowerPoint

_CHARS, _BYTES = 0x0FA0, 0x0FA8
_HEADER, _TITLES = 0x0F9F, (0, 6)  # the kind of the text that follows; titles of slides, and of title slides
_MASTERS = {0x03F8, 0x0FC9}  # with the sample texts of the layout


def _slides(data: bytes) -> tuple[str, str]:
    """The texts of the records of a presentation, each once: as they stand in the file; and the first title."""
    texts: dict[str, None] = {}
    title, is_title = "", False
    for kind, start, end in _records(data):
        if kind == _HEADER and end - start == 4:
            is_title = struct.unpack_from("<I", data, start)[0] in _TITLES
        if kind in (_CHARS, _BYTES):
            text = data[start:end].decode("utf-16-le" if kind == _CHARS else "cp1252", "replace")
            title = title or (styled_heading(text) if is_title else "")
            for part in re.split(r"[\r\n]+", text.replace("\x0b", " ")):
                if part.strip() and part.strip() != "*":  # the number of a slide
                    texts.setdefault(" ".join(part.split()))
    return "\n\n".join(texts), title


def _records(data: bytes) -> Iterator[tuple[int, int, int]]:
    """The type, start and end of each record; a container, whose records follow it, ends where it starts."""
    position = 0
    while position + 8 <= len(data):
        version, kind, length = struct.unpack_from("<HHI", data, position)
        position += 8
        is_container = version & 0xF == 0xF and kind not in _MASTERS
        yield kind, position, position if is_container else min(position + length, len(data))
        position += 0 if is_container else length
