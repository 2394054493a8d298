r"""RTF → one document: paragraphs, tables and footnotes, without deleted text of tracked changes.

RTF is a tree of groups in braces with control words such as `\par`. It is read token by token with a stack of groups,
so the time grows with the length of the file, whatever it contains.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from rprs.document import Document, Value
from rprs.errors import ReadError
from rprs.read.dates import iso_date
from rprs.read.paragraphs import Paragraphs
from rprs.read.source import Skipped, Source
from rprs.read.titles import HEADING_STYLE, embedded_title, plain_heading, styled_heading

__all__ = ["read_rtf", "rtf_text"]

_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})?[ ]?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|([\r\n]+)|([^\\{}\r\n]+)|\\"
)
_CREATED = re.compile(rb"\\creatim\\yr(\d{4})\\mo(\d\d?)\\dy(\d\d?)")
_DROPPED = frozenset(
    b"sp fonttbl colortbl stylesheet info pict header headerl headerr headerf footer footerl footerr footerf ftnsep "
    b"ftnsepc ftncn aftnsep aftnsepc aftncn fldinst listtable listoverridetable revtbl rsidtbl generator themedata "
    b"colorschememapping datastore latentstyles objdata objclass xmlnstbl xe tc rxe bkmkstart bkmkend annotation "
    b"atnid atnauthor atnref atndate atntime nonshppict mmathPr filetbl panose falt template".split()
)
_SHOWN = frozenset(b"shppict shptxt shpinst nesttableprops fldrslt footnote".split())  # read even after \*
_NOTES = frozenset([b"footnote"])
_CHARSETS = {
    **{0: "cp1252", 2: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "gb18030"},
    **{136: "cp950", 161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257"},
    **{204: "cp1251", 222: "cp874", 238: "cp1250", 255: "cp850"},
}
_PAGES = {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850", b"ansi": "cp1252"}
_BREAKS = frozenset(b"par sect page row nestrow column".split())
_CHARACTERS = {
    **{b"emdash": "—", b"endash": "–", b"lquote": "‘", b"rquote": "’", b"ldblquote": "“", b"rdblquote": "”"},
    **{b"bullet": "•", b"tab": " ", b"emspace": " ", b"enspace": " ", b"qmspace": " "},
}
_SYMBOLS = {b"~": " ", b"_": "-", b"-": "", b"{": "{", b"}": "}", b"\\": "\\"}
_LEVELS = range(3)  # outline levels of headings
_DEPTH = 10_000  # of groups: deeper nesting is an attack


def read_rtf(source: Source) -> Iterator[Document | Skipped]:
    """An RTF file is one document; title, author and date come from its information group."""
    data = source.data()
    if not data.lstrip().startswith(b"{\\rtf"):
        raise ReadError(r"not an RTF file, or damaged: it does not begin with {\rtf")
    reading = _Reading(body=Paragraphs(source.advance))
    reading.run(data)
    info = {name: " ".join("".join(pieces).split()) for name, pieces in reading.info.items()}
    metadata: dict[str, Value] = {"author": info["author"]} if info.get("author") else {}
    if created := _CREATED.search(data[: 2**16]):
        year, month, day = (part.decode() for part in created.groups())
        if date := iso_date(f"{year}-{month:0>2}-{day:0>2}"):
            metadata["date"] = date
    text = reading.text
    title = embedded_title(info.get("title", ""), source, text) or reading.first_heading or plain_heading(text)
    yield Document(source.id, text, title, metadata)


def rtf_text(data: bytes) -> str:
    """The text of RTF, such as the body of a message."""
    reading = _Reading()
    reading.run(data)
    return reading.text


@dataclass(frozen=True, slots=True)
class _Group:
    """What holds until the end of a group."""

    dropped: bool = False
    deleted: bool = False
    in_note: bool = False
    ignorable: bool = False  # after \*: unknown kinds of groups are skipped
    info: str = ""  # the property of the document that the group contains
    fallback: int = 1  # characters after \u for programs without Unicode
    font: int = -1
    in_fonts: bool = False
    in_styles: bool = False
    in_heading: bool = False  # the paragraph has a style or an outline level of a heading


@dataclass
class _Reading:
    """The state of reading one file."""

    group: _Group = _Group()
    stack: list[_Group] = field(default_factory=list)
    body: Paragraphs = field(default_factory=Paragraphs)
    notes: list[Paragraphs] = field(default_factory=list)
    info: dict[str, list[str]] = field(default_factory=dict)
    page: str = "cp1252"
    fonts: dict[int, str] = field(default_factory=dict)
    pending: bytearray = field(default_factory=bytearray)  # bytes of one run, since a character may have several
    high: str = ""  # the first half of a surrogate pair
    to_skip: int = 0
    heading: list[str] = field(default_factory=list)  # the beginning of a paragraph that is one
    first_heading: str = ""

    @property
    def text(self) -> str:
        return "\n\n".join(filter(None, map(str, (self.body, *self.notes))))

    @property
    def out(self) -> Paragraphs:
        return self.notes[-1] if self.group.in_note else self.body

    def run(self, data: bytes) -> None:
        position = 0
        while match := _TOKEN.match(data, position):
            position = match.end()
            word, number, code, symbol, brace, _newline, plain = match.groups()
            if plain is not None:
                self.add(plain)
            elif code is not None:
                self.add(bytes([int(code, 16)]))
            elif brace == b"{":
                self.open()
            elif brace == b"}":
                self.close()
            elif word == b"bin":
                position += max(0, int(number or 0))
            elif word is not None:
                self.word(word, None if number is None else int(number))
            elif symbol is not None:
                self.symbol(symbol)
        self.flush()
        self.end_heading()

    def open(self) -> None:
        self.flush()
        self.to_skip = 0
        if len(self.stack) >= _DEPTH:
            raise ReadError(f"RTF with more than {_DEPTH:,} groups inside of each other")
        self.stack.append(self.group)
        self.group = replace(self.group, ignorable=False)

    def close(self) -> None:
        self.flush()
        self.to_skip = 0
        if self.stack:
            self.group = self.stack.pop()

    def add(self, data: bytes) -> None:
        skipped = min(self.to_skip, len(data))
        self.to_skip -= skipped
        if len(data) > skipped and (not self.group.dropped or self.group.info):
            self.pending += data[skipped:]

    def flush(self) -> None:
        """Decode the bytes that have come in one encoding."""
        if self.pending:
            name = self.fonts.get(self.group.font, self.page)
            data, self.pending = bytes(self.pending), bytearray()
            self.write(data.decode(name, "replace"))

    def write(self, text: str) -> None:
        if self.group.info:
            self.info.setdefault(self.group.info, []).append(text)
        elif not self.group.dropped and not self.group.deleted:
            self.out.write(text)
            if self.group.in_heading and not self.group.in_note and not self.first_heading:
                self.heading.append(text)

    def symbol(self, symbol: bytes) -> None:
        if symbol == b"*":
            self.group = replace(self.group, ignorable=True)
        elif self.to_skip:
            self.to_skip -= 1
        elif symbol in _SYMBOLS:
            self.flush()
            self.write(_SYMBOLS[symbol])
        elif symbol in (b"\r", b"\n"):
            self.word(b"par", None)

    def word(self, word: bytes, number: int | None) -> None:
        self.flush()
        group = self.group
        if word == b"u":
            self.unicode(number or 0)
        elif word == b"uc":
            self.group = replace(group, fallback=max(0, min(number or 0, 100)))
        elif group.ignorable and word not in _SHOWN and word not in _DROPPED and not group.dropped:
            self.group = replace(group, dropped=True, ignorable=False)
        elif word in (b"title", b"author") and group.dropped and not group.in_fonts:
            self.group = replace(group, info=word.decode())
        elif word in _DROPPED:
            fonts, styles = word == b"fonttbl", word == b"stylesheet"
            self.group = replace(group, dropped=True, ignorable=False, info="", in_fonts=fonts, in_styles=styles)
        elif word in _NOTES:
            self.notes += [] if group.dropped else [Paragraphs()]
            self.group = replace(group, in_note=not group.dropped, ignorable=False)
        elif word in (b"deleted", b"htmlrtf"):
            self.group = replace(group, deleted=number != 0)
        elif word == b"plain":
            self.group = replace(group, deleted=False)
        elif word in (b"f", b"fcharset", b"ansicpg", *_PAGES):
            self.encoding(word, number)
        elif word in (b"s", b"outlinelevel", b"pard"):
            self.style(word, number)
        elif not (group.dropped or group.deleted):
            self.shown(word)

    def shown(self, word: bytes) -> None:
        """A word that stands for a character or a break."""
        if word in _BREAKS:
            self.out.end()
            self.end_heading()
        elif word in (b"cell", b"nestcell"):
            self.out.cell()
            self.end_heading()
        elif word == b"line":
            self.out.line()
            self.heading += " " if self.heading else ""
        elif word in _CHARACTERS:
            self.write(_CHARACTERS[word])

    def style(self, word: bytes, number: int | None) -> None:
        """A style, in the table of styles or of a paragraph; `\\pard` is the beginning of one without properties."""
        if self.group.in_styles:
            self.group = replace(self.group, info=f"style {number}") if word == b"s" else self.group
        elif word == b"outlinelevel":
            self.group = replace(self.group, in_heading=number in _LEVELS)
        else:
            name = self.info.get(f"style {number}", [""])[0] if word == b"s" else ""
            self.group = replace(self.group, in_heading=HEADING_STYLE.match(name) is not None)

    def end_heading(self) -> None:
        if self.heading and not self.group.in_note:
            self.first_heading = self.first_heading or styled_heading("".join(self.heading))
            self.heading = []

    def encoding(self, word: bytes, number: int | None) -> None:
        if word == b"f":
            self.group = replace(self.group, font=-1 if number is None else number)
        elif word == b"fcharset":
            if self.group.in_fonts and number in _CHARSETS and number:  # 0 is the default: the page of the file
                self.fonts[self.group.font] = _CHARSETS[number]
        elif word in _PAGES:
            self.page = _PAGES[word]
        elif number:
            self.page = _codec({65001: "utf-8", 10000: "mac_roman"}.get(number, f"cp{number}"))

    def unicode(self, number: int) -> None:
        self.to_skip = self.group.fallback
        code = number % 0x10000
        if 0xD800 <= code < 0xDC00:
            self.high = chr(code)
            return
        char, self.high = self.high + chr(code), ""
        self.write(char.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


def _codec(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"
