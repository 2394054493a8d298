"""Plain text and Markdown → one document, with or without front matter.

Front matter is a block of `key: value` lines between two lines `---` at the very beginning, as written by static site
generators and licence collections. Its flat values become metadata, and `title`, `name` or `short_name` becomes the
title; lists, nested values and multi-line texts are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rprs.document import Document, Value
from rprs.read.encoding import is_doubtful
from rprs.read.source import Skipped, Source
from rprs.read.titles import plain_heading

__all__ = ["front_matter", "read_markdown", "read_text", "scalar", "without_comments"]

_BLOCK = re.compile(r"\ufeff?---[ \t]*\n(.*?)^---[ \t]*(?:\n+|\Z)", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"([A-Za-z_][\w.-]*):(?:[ \t]+(.*))?")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(\.\d{1,17})?")
_TITLES = ("title", "name", "short_name")


def scalar(text: str) -> Value:
    """The value of a text in a format without types: a number if it looks like one, None if it is empty.

    `007` and `1e5` stay texts, since they are more often codes than numbers.
    """
    text = text.strip()
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text or None
    return float(text) if match[1] else int(text)


def front_matter(text: str) -> tuple[dict[str, Value], str]:
    """The metadata at the beginning of a text, and the rest. A line of dashes alone is not front matter."""
    block = _BLOCK.match(text)
    if block is None:
        return {}, text
    metadata: dict[str, Value] = {}
    for line in block[1].splitlines():
        if not line.strip() or line.startswith((" ", "\t", "#", "- ")):
            continue
        entry = _ENTRY.fullmatch(line.rstrip())
        if entry is None:
            return {}, text
        value = (entry[2] or "").strip()
        if value and value[0] not in "|>[{&*":
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
            metadata[entry[1]] = value[1:-1] if quoted else scalar(value)
    return metadata, text[block.end() :]


def _split(source: Source) -> tuple[str, dict[str, Value], str]:
    metadata, text = front_matter(re.sub("\r\n?", "\n", source.text()))
    title = next((str(metadata[key]) for key in _TITLES if metadata.get(key)), "")
    metadata.pop("title", None)
    return title, metadata, text


def read_text(source: Source) -> Iterator[Document | Skipped]:
    """A plain text is one document. One whose encoding is doubtful is reported as partly read."""
    title, metadata, text = _split(source)
    yield Document(source.id, text, title or plain_heading(text), metadata)
    if is_doubtful(text):
        yield Skipped(source.path, "some letters look wrong: check its encoding and save it as UTF-8", partly=True)


_FENCE = re.compile(r"^(```|~~~).*?(?:^\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*)$", re.MULTILINE)
_UNDERLINED = re.compile(r"^(\S.*)\n(?:=+|-{2,})[ \t]*$", re.MULTILINE)
_ITEM = re.compile(r"\n(?=[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t])")
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*(?:[ \t]+\"[^\"\n]*\")?\)")


def without_comments(text: str, replacement: str = "") -> str:
    """The text without `<!-- comments -->`, of which only the line ends stay if `replacement` is a line end.

    In time that grows with the length of the text: a regular expression would search for each missing end.
    """
    parts, start = [], 0
    while (opening := text.find("<!--", start)) >= 0 and (end := text.find("-->", opening)) >= 0:
        parts += [text[start:opening], replacement * text.count("\n", opening, end)]
        start = end + 3
    return "".join([*parts, text[start:]])


def read_markdown(source: Source) -> Iterator[Document | Skipped]:
    """A Markdown file is one document: headings and list items become paragraphs, links become their text."""
    title, metadata, text = _split(source)
    headings: list[str] = []

    def heading(match: re.Match[str]) -> str:
        line = match[1].rstrip(" \t").rstrip("#").rstrip(" \t")  # marks at the end are closing marks
        headings.append(line)
        return f"\n{line}\n"

    def plain(markdown: str) -> str:
        markdown = _UNDERLINED.sub(heading, _HEADING.sub(heading, without_comments(markdown)))
        return _ITEM.sub("\n\n", _LINK.sub(r"\1", markdown))

    pieces, end = [], 0
    for fence in _FENCE.finditer(text):  # code is not Markdown: a # in it is a comment
        pieces += [plain(text[end : fence.start()]), fence[0]]
        end = fence.end()
    pieces.append(plain(text[end:]))
    text = re.sub(r"\n{3,}", "\n\n", "".join(pieces)).strip("\n")
    yield Document(source.id, text, title or (headings[0] if headings else ""), metadata)
