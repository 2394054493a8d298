"""Messages of Outlook (.msg) → a document for the message, and one for each attachment, as for other e-mail."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from rprs.document import Document
from rprs.errors import ReadError
from rprs.read.html import html_text
from rprs.read.mail import Attachment, message_items
from rprs.read.members import ATTACHED, DEPTH, Names
from rprs.read.source import Skipped, Source

__all__ = ["read_message"]

_SUBJECT, _BODY, _HTML, _RTF, _MESSAGE_ID = "0037", "1000", "1013", "1009", "1035"
_SENDER, _ADDRESS, _SMTP, _TO, _COPIES = "0C1A", "0C1F", "5D01", "0E04", "0E03"
_LONG_NAME, _NAME, _DISPLAY, _DATA = "3707", "3704", "3001", "3701"
_DATES = (0x0039, 0x0E06, 0x3007)  # sent, received, created
_ATTACHMENT = "__attach_version1.0_"
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class _Storage:
    """A message or an attachment: a folder of streams, one for each property."""

    file: Any
    path: tuple[str, ...]
    header: int  # bytes before the list of properties

    def stream(self, code: str, kind: str = "0102") -> bytes:
        path = [*self.path, f"__substg1.0_{code}{kind}"]
        return bytes(self.file.openstream(path).read()) if self.file.exists(path) else b""

    def text(self, code: str) -> str:
        if data := self.stream(code, "001F"):
            return data.decode("utf-16-le", "replace").strip("\0")
        data, codepage = self.stream(code, "001E"), self.codepage
        if not codepage:  # some programs write UTF-8 and do not say so
            with suppress(UnicodeDecodeError):
                return data.decode().strip("\0")
        return data.decode(codepage or "cp1252", "replace").strip("\0")

    @property
    def codepage(self) -> str:
        """How texts of bytes are encoded; empty if the message does not say so."""
        number = self.number(0x3FFD) or self.number(0x3FDE)
        if not number:
            return ""
        name = {65001: "utf-8", 20127: "cp1252", 28591: "cp1252"}.get(number, f"cp{number}")
        try:
            "".encode(name)
        except LookupError:
            return "cp1252"
        return name

    def fixed(self, code: int) -> bytes:
        """The eight bytes of a property of fixed size."""
        path = [*self.path, "__properties_version1.0"]
        data = self.file.openstream(path).read() if self.file.exists(path) else b""
        header = self.header + (len(data) - self.header) % 16  # some programs write the long one everywhere
        for at in range(header, len(data) - 15, 16):
            if struct.unpack_from("<H", data, at + 2)[0] == code:
                return bytes(data[at + 8 : at + 16])
        return b""

    def number(self, code: int) -> int:
        return int.from_bytes(self.fixed(code)[:4], "little")

    def date(self) -> str:
        for code in _DATES:
            if ticks := int.from_bytes(self.fixed(code), "little"):
                try:
                    return (_EPOCH + timedelta(microseconds=ticks // 10)).date().isoformat()
                except OverflowError:
                    continue
        return ""


def read_message(source: Source, file: Any) -> Iterator[Document | Skipped]:
    """The message of an Outlook file, and its attachments."""
    folders: dict[tuple[str, ...], set[str]] = {}
    for path in file.listdir(streams=True, storages=True):
        for depth, name in enumerate(path):
            if name.startswith(_ATTACHMENT):
                folders.setdefault(tuple(path[:depth]), set()).add(name)
    yield from _read(source, _Storage(file, (), 32), folders)


def _read(source: Source, message: _Storage, folders: dict[tuple[str, ...], set[str]]) -> Iterator[Document | Skipped]:
    if source.depth > DEPTH:
        raise ReadError(f"more than {DEPTH} archives or messages inside of each other")
    address = message.text(_SMTP) or message.text(_ADDRESS)
    name = message.text(_SENDER)
    facts = {
        "sender": f"{name} <{address}>" if name and "@" in address and name != address else name or address,
        "recipients": message.text(_TO),
        "copies": message.text(_COPIES),
        "subject": " ".join(message.text(_SUBJECT).split()),
        "date": message.date(),
        "message_id": message.text(_MESSAGE_ID).strip("<> "),
    }
    attachments: list[Attachment] = []
    embedded: list[tuple[str, _Storage]] = []
    file = message.file
    for folder in sorted(folders.get(message.path, ())):
        storage = _Storage(file, (*message.path, folder), 8)
        title = storage.text(_LONG_NAME) or storage.text(_NAME) or storage.text(_DISPLAY) or "attachment"
        inner = (*storage.path, f"__substg1.0_{_DATA}000D")
        if file.exists([*inner, "__properties_version1.0"]):
            embedded.append((title, _Storage(file, inner, 24)))
        elif data := storage.stream(_DATA):
            attachments.append(Attachment(title, data))
    yield from message_items(source, facts, _body(message), attachments)
    names = Names()
    for title, inner_message in embedded:
        inside = source.inside(f"{names.unique(title, 'message')}.msg", b"")
        for item in _read(inside, inner_message, folders):
            linked = {"path": inside.path, ATTACHED: source.id}
            yield replace(item, metadata={**linked, **item.metadata}) if isinstance(item, Document) else item


def _body(message: _Storage) -> str:
    if body := message.text(_BODY):
        return body
    if page := message.stream(_HTML) or message.text(_HTML):
        return html_text(page)
    return _compressed_rtf(message.stream(_RTF))


# ---------------------------------------------------------------------------- bodies in compressed RTF

_DICTIONARY = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor "
    b"MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)


def _compressed_rtf(data: bytes) -> str:
    """The text of a body in RTF, which Outlook compresses with references to the last 4,096 bytes."""
    from rprs.read.rtf import rtf_text

    if len(data) < 16:
        return ""
    size, kind = struct.unpack_from("<I4s", data, 4)
    if kind == b"MELA":
        return rtf_text(data[16 : 16 + size])
    out, position = bytearray(_DICTIONARY), 16
    while position < len(data) and len(out) < size + len(_DICTIONARY):
        flags = data[position]
        position += 1
        for bit in range(8):
            if position >= len(data):
                break
            if not flags >> bit & 1:
                out.append(data[position])
                position += 1
                continue
            reference = int.from_bytes(data[position : position + 2], "big")
            position += 2
            offset, length = reference >> 4, (reference & 15) + 2
            write = len(out) % 4096
            if offset == write:
                return rtf_text(bytes(out[len(_DICTIONARY) :]))
            start = len(out) - (write - offset) % 4096
            for step in range(length):
                out.append(out[start + step] if 0 <= start + step < len(out) else 0x20)
    return rtf_text(bytes(out[len(_DICTIONARY) :]))
