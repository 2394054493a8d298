"""Files of queries as evaluation campaigns and toolkits publish them: TREC topics and tables `id<TAB>query`.

**TREC topics** are SGML or XML: `<top>` or `<topic>` elements, with or without closing tags. The id is the attribute
`number` or `id`, or else the element `num` (without the label "Number:"). The text is the title or `query`; a topic
without one has its description as the text, then its narrative, then all its words. As in other toolkits, the
description and narrative of a topic with a title are not part of the query: they become metadata.

**Tables** have two columns, an id and a text, separated by a tab, with or without a header line such as
`qid<TAB>query`.

**Content decides.** In a plain text, topics begin with a tag `<top>` or `<topic>`, after other tags at most. A plain
text is a table if it starts with such a header, or if it has at least two lines, each with exactly one tab after an id
that is a single word, and no id occurs twice. Any other plain text is one document, even if it contains tabs.
A .tsv file whose header has a text column of `Fields` is read as records, like everywhere else.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import PurePath

from rprs.document import Document, Value
from rprs.errors import ReadError
from rprs.read.encoding import decode, lines
from rprs.read.kinds import read_named
from rprs.read.records import bounded_lines, find_column, rows
from rprs.read.source import Fields, Reader, Skipped, Source, buffered, find_reader, suffix_of
from rprs.read.text import without_comments

__all__ = ["find_query_reader", "query_fields"]

_QUERY_IDS = ("qid", "query_id", "query-id")


def find_query_reader(path: PurePath) -> Reader:
    """The reader for a file of queries: text, XML and files of unknown suffixes may be topics, TSV files tables."""
    suffix = suffix_of(path)
    if suffix == "tsv":
        return _read_table
    return read_named if find_reader(suffix) and suffix not in ("txt", "license", "xml") else _read_text


def query_fields(fields: Fields) -> Fields:
    """The columns of documents, followed by those that only queries have."""
    return replace(fields, id=(*fields.id, *_QUERY_IDS), text=(*fields.text, "query"))


def _read_text(source: Source) -> Iterator[Document | Skipped]:
    data = source.data()
    try:
        text = re.sub("\r\n?", "\n", decode(data))
    except ReadError:
        text = ""  # not text: another kind of file
    if _are_topics(text):
        yield from _distinct(source, _topics(text))
    elif _is_table(text.rstrip("\n").split("\n"), source.fields):
        yield from _distinct(source, _table(text.split("\n"), source.fields))
    else:
        yield from read_named(replace(source, stream=buffered(data)))


def _read_table(source: Source) -> Iterator[Document | Skipped]:
    with lines(source.stream) as stream:
        content = bounded_lines(stream)
        first = next(content, "")
        everything = chain([first], content)
        cells = _cells(first)
        wide = query_fields(source.fields)
        has_text = find_column(dict.fromkeys(cells), wide.text) is not None
        if len(cells) == 2 and (not has_text or _is_query_header(cells, source.fields)):
            yield from _distinct(source, _table(everything, source.fields))
        else:
            yield from rows(replace(source, fields=wide), everything, "\t")


# ---------------------------------------------------------------------------- one query


@dataclass(frozen=True, slots=True)
class _Query:
    """A query of a file, with its line; a query with a `problem` is skipped."""

    line: int
    id: str = ""
    text: str = ""
    metadata: tuple[tuple[str, Value], ...] = ()
    problem: str = ""


def _distinct(source: Source, queries: Iterable[_Query]) -> Iterator[Document | Skipped]:
    """The queries as documents; invalid ones and repeated ids are reported with their line."""
    first_lines: dict[str, int] = {}
    for query in queries:
        problem = query.problem
        if not problem and query.id in first_lines:
            problem = f"the id {query.id!r} is already used in line {first_lines[query.id]}"
        if problem:
            yield Skipped(f"{source.path}:{query.line}", problem)
        else:
            first_lines[query.id] = query.line
            yield Document(query.id, query.text, metadata=dict(query.metadata))


# ---------------------------------------------------------------------------- tables


def _cells(line: str) -> list[str]:
    return line.rstrip("\r\n").split("\t")


def _is_query_header(cells: list[str], fields: Fields) -> bool:
    """Whether a line is a header with names for queries, such as `qid query`, rather than for any records."""
    wide = query_fields(fields)
    names = [dict.fromkeys([cell]) for cell in cells]
    if len(names) != 2 or not find_column(names[0], wide.id) or not find_column(names[1], wide.text):
        return False
    return not (find_column(names[0], fields.id) and find_column(names[1], fields.text))


def _is_header(cells: list[str], fields: Fields) -> bool:
    usual = len(cells) == 2 and cells[0].strip().lower() in fields.id and cells[1].strip().lower() in fields.text
    return usual or _is_query_header(cells, fields)


def _is_table(content: list[str], fields: Fields) -> bool:
    """Whether the lines of a plain text are a table of queries, by the rule in the docstring of this module."""
    if len(content) < 2:
        return False
    if _is_header(_cells(content[0]), fields):
        return True
    ids: set[str] = set()
    for cells in map(_cells, content):
        if len(cells) != 2 or cells[0].split() != [cells[0]] or not cells[1].strip() or cells[0] in ids:
            return False
        ids.add(cells[0])
    return True


def _table(content: Iterable[str], fields: Fields) -> Iterator[_Query]:
    for number, line in enumerate(content, 1):
        cells = _cells(line)
        if not line.strip() or (number == 1 and _is_header(cells, fields)):
            continue
        id = cells[0].strip()
        if len(cells) != 2:
            yield _Query(number, problem=f"{len(cells)} columns; a table of queries has two: an id, a tab, a text")
        elif len(id.split()) != 1:
            yield _Query(number, problem=f"the id {id!r} must be a single word")
        elif not cells[1].strip():
            yield _Query(number, problem=f"the query {id!r} has no text")
        else:
            yield _Query(number, id, cells[1].strip())


# ---------------------------------------------------------------------------- TREC topics

_NOT_CONTENT = re.compile(r"<\?[^<>]*>|<!\[CDATA\[|\]\]>|<![A-Za-z][^<>]*>")  # comments: `without_comments`
_BEFORE = re.compile(r"\s*<(?!top(?:ic)?[\s>])[A-Za-z][^<>]*>", re.IGNORECASE)
_TOPIC = re.compile(r"<top(?:ic)?(\s[^<>]*)?>", re.IGNORECASE)
_TOPIC_END = re.compile(r"</top(?:ic)?\s*>", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)[^<>]*>")
_ATTRIBUTE = re.compile(r"""\b(?:number|num|id)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_LABEL = re.compile(r"\A\s*(?:Number|Topic|Title|Domain|Description|Summary|Narrative)\s*:", re.IGNORECASE)
_FIELDS = {  # element → name of the field; text in any other element belongs to the field around it
    **dict.fromkeys(("num", "number", "id", "qid"), "id"),
    **dict.fromkeys(("desc", "description"), "description"),
    **dict.fromkeys(("narr", "narrative"), "narrative"),
    **{name: name for name in "title query question subtopic head dom smry con fac nat def time".split()},
}


def _are_topics(text: str) -> bool:
    text = _without_markup(text[: 2**16])
    position = 0
    while match := _BEFORE.match(text, position):
        position = match.end()
    return _TOPIC.match(text[position:].lstrip()) is not None


def _without_markup(text: str) -> str:
    """The text without comments, declarations and CDATA marks; line numbers stay the same."""
    return _NOT_CONTENT.sub(lambda match: "\n" * match[0].count("\n"), without_comments(text, "\n"))


def _topics(text: str) -> Iterator[_Query]:
    text = _without_markup(text)
    starts = list(_TOPIC.finditer(text))
    line, position = 1, 0
    for start, following in zip(starts, [*starts[1:], None], strict=True):
        line += text.count("\n", position, start.start())
        position = start.start()
        end = following.start() if following else len(text)
        close = _TOPIC_END.search(text, start.end(), end)
        yield _topic(line, start[1] or "", text[start.end() : close.start() if close else end])


def _topic(line: int, attributes: str, body: str) -> _Query:
    fields = _fields(body)
    attribute = _ATTRIBUTE.search(attributes)
    number = next(filter(None, attribute.groups()), "") if attribute else ""
    id = html.unescape(number).strip() or fields.pop("id", "")
    fields.pop("id", None)
    if len(id.split()) != 1:
        return _Query(line, problem=f"the id {id!r} must be a single word" if id else "a topic without a number")
    name = next((name for name in ("title", "query", "description", "narrative") if fields.get(name)), "")
    words = fields.pop(name) if name else " ".join(filter(None, fields.values()))
    if not words:
        return _Query(line, problem=f"the topic {id!r} has no text")
    metadata = {key: value for key, value in fields.items() if key in ("description", "narrative") and value}
    return _Query(line, id, words, tuple(metadata.items()))


def _fields(body: str) -> dict[str, str]:
    """The fields of a topic; text outside all of them is the field ""."""
    pieces: dict[str, list[str]] = {}
    name, position = "", 0
    for tag in _TAG.finditer(body):
        pieces.setdefault(name, []).append(body[position : tag.start()])
        position = tag.end()
        element = tag[2].lower()
        if element in _FIELDS:
            name = "" if tag[1] else _FIELDS[element]
            pieces.setdefault(name, []).append(" ")  # between two elements of the same name
    pieces.setdefault(name, []).append(body[position:])
    return {name: _plain("".join(parts)) for name, parts in pieces.items()}


def _plain(text: str) -> str:
    return " ".join(html.unescape(_LABEL.sub("", text)).split())
