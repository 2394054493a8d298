"""Which reader a file gets: its content decides, then its suffix.

Many files have the wrong suffix: RTF and HTML as `.doc`, web pages as `.pdf`, mailboxes without any. The first bytes of
most formats identify them. Text formats (plain text, Markdown, records) look alike, so there the suffix decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from rprs.document import Document
from rprs.errors import ReadError
from rprs.read.encoding import decode
from rprs.read.source import Reader, Skipped, Source, find_reader, is_plug_in, suffix_of, suffixes
from rprs.read.text import read_text

__all__ = ["is_passed_over", "kind_of", "read_any", "read_named"]

HEAD = 2**16  # bytes from which a kind is recognised
UNSUPPORTED = "an unsupported file type"
_SYSTEM_FILES = {"thumbs.db", "desktop.ini", "ehthumbs.db", "icon\r", "__macosx"}
_PREFIXES = {
    b"{\\rtf": "rtf",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "doc",
    b"\x1f\x8b": "tgz",
    b"BZh": "tbz2",
    b"\xfd7zXZ\0": "txz",
}
_PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*", b"BM")
_TEXTUAL = frozenset("csv json jsonl ndjson license markdown md tsv txt html htm xhtml xml nxml eml mbox".split())
_MARKUP = frozenset(["txt", "xml", "nxml", "html", "htm", "xhtml"])
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body)[\s>]", re.IGNORECASE)
_PROLOGUE = re.compile(rb"\s+|<\?[^>]{0,500}>|<!--[^>]{0,2000}-->")
_SUFFIX = re.compile(r"(?!\d+$)[a-z0-9_]{1,10}")  # others are parts of a name: "Opinion No. 5", "report.2016"
_HEADER = re.compile(rb"([A-Za-z][A-Za-z0-9-]{1,40}):[ \t]")
_MAIL_HEADERS = frozenset(
    b"received return-path from to cc date subject message-id mime-version delivered-to reply-to".split()
)


def is_passed_over(name: str) -> bool:
    """Whether a file is none of the user's: hidden, a lock file of an office program, or a file of the system."""
    return name.startswith((".", "~$")) or name.lower() in _SYSTEM_FILES


def read_any(source: Source) -> Iterator[Document | Skipped]:
    """The documents of a file of any supported kind."""
    return _find(source)(source)


def read_named(source: Source) -> Iterator[Document | Skipped]:
    """The documents of a file that the user has named: one without a suffix is read if it is plain text."""
    try:
        reader = _find(source)
    except ReadError as error:
        if str(error) != UNSUPPORTED:
            raise
        reader = _read_plain
    return reader(source)


def _read_plain(source: Source) -> Iterator[Document | Skipped]:
    refusal = ReadError(f"{UNSUPPORTED}; supported are {', '.join(suffixes())}, also compressed as .gz or .xz")
    if _SUFFIX.fullmatch(suffix_of(PurePath(source.path))):
        raise refusal
    try:
        decode(source.stream.peek(HEAD)[:HEAD])
    except ReadError as error:
        raise refusal from error
    return read_text(source)


def _find(source: Source) -> Reader:
    suffix = suffix_of(PurePath(source.path))
    reader = find_reader(suffix)
    if reader is not None and is_plug_in(suffix):
        return reader
    kind = kind_of(source.stream.peek(HEAD)[:HEAD], suffix)
    recognised = find_reader(kind) if kind else reader
    if recognised is None:
        raise ReadError(UNSUPPORTED)
    return recognised


def kind_of(head: bytes, suffix: str) -> str:
    """The suffix that suits the content of a file; nothing if only its real suffix can tell."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    for prefix, kind in _PREFIXES.items():
        if start.startswith(prefix):
            return kind
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head[257:262] == b"ustar":
        return "tar"
    if start.startswith(_PICTURES) and suffix not in _TEXTUAL:
        return ""
    if suffix in _TEXTUAL and suffix not in _MARKUP:
        return ""
    return _textual_kind(start, suffix)


def _textual_kind(start: bytes, suffix: str) -> str:
    position = 0
    while match := _PROLOGUE.match(start, position):
        position = match.end()
    markup = start[position:]
    if _HTML.match(markup) or (b"<html" in markup[:1000].lower() and markup.startswith(b"<!")):
        return "html"
    if suffix in _MARKUP:
        return ""
    if start.startswith(b"<?xml"):
        return "xml"
    if start.startswith(b"From ") and _is_mail(start.split(b"\n", 1)[-1]):
        return "mbox"
    if _is_mail(start):
        return "eml"
    return "txt" if suffix in ("doc", "dot") and b"\0" not in start else ""


def _is_mail(start: bytes) -> bool:
    """Whether a text begins with at least three headers of a message, of which one says who or when."""
    names = set()
    for line in start.splitlines()[:100]:
        match = _HEADER.match(line)
        if match:
            names.add(match[1].lower())
        elif not line.startswith((b" ", b"\t")):
            break
    return len(names) >= 3 and len(names & _MAIL_HEADERS) >= 2 and bool(names & {b"from", b"date", b"received"})
