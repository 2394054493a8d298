"""Marks on the command line, and the verb that numbers the sentences of a query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from rprs.cli.messages import counted
from rprs.cli.options import DocumentFormat, IndexPath, QueryFile, QueryFiles, QueryIds, QueryText
from rprs.cli.queries import QuerySources, check_index_first
from rprs.errors import UsageError

if TYPE_CHECKING:
    from rprs.document import Document
    from rprs.index import Index
    from rprs.rank.steering import Range

__all__ = ["Ignore", "Key", "Like", "MarkArguments", "Unlike", "read_marks", "sentences"]

_RANGE = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")

Like = Annotated[
    list[str] | None,
    typer.Option(
        "--like",
        help="A document of the index that is relevant: it joins the query with a weight. May be repeated.",
        metavar="ID",
        show_default=False,
    ),
]
Unlike = Annotated[
    list[str] | None,
    typer.Option(
        "--not",
        help="A document of the index that is not relevant: it is left out. May be repeated.",
        metavar="ID",
        show_default=False,
    ),
]
Key = Annotated[
    list[str] | None,
    typer.Option(
        "--key",
        help="Sentences of the query that count more, by their numbers from `rprs sentences`: 3-7,12. May be repeated.",
        metavar="RANGE",
        show_default=False,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        help="Sentences of the query that do not count, by their numbers from `rprs sentences`: 1-4. May be repeated.",
        metavar="RANGE",
        show_default=False,
    ),
]


class MarkArguments(TypedDict):
    """The keyword arguments of `Searcher.search` that steer the ranking."""

    like: Iterable[str]
    unlike: Iterable[str]
    key: Iterable[Range]
    ignore: Iterable[Range]


def read_marks(parameters: dict[str, Any], documents: Sequence[Document], index: Index) -> MarkArguments:
    """The marks that the options of a search name."""
    from rprs.document import combine
    from rprs.index.lookup import resolve_id

    ranges: dict[str, list[Range]] = {"key": [], "ignore": []}
    if any(parameters[name] for name in ranges):
        spans = index.splitter.split(combine(documents).text).spans.tolist()
        for name in ranges:
            numbers = [number for text in parameters[name] or () for number in _numbers(name, text, len(spans))]
            ranges[name] = [(spans[number - 1][0], spans[number - 1][1]) for number in numbers]
    like, unlike = ([resolve_id(index, id) for id in parameters[name] or ()] for name in ("like", "unlike"))
    return {"like": like, "unlike": unlike, "key": ranges["key"], "ignore": ranges["ignore"]}


def _numbers(name: str, text: str, size: int) -> list[int]:
    """The sentences that a text such as 3-7,12 names, of `size` sentences."""
    numbers: list[int] = []
    for piece in text.split(","):
        match = _RANGE.fullmatch(piece)
        if match is None:
            raise UsageError(f"--{name} must be numbers of sentences such as 3-7,12. Got {text!r:.80}")
        first = int(match[1])
        last = int(match[2] or first)
        if not 1 <= first <= last <= size:
            raise UsageError(
                f"--{name} {piece.strip()}: the query has the sentences 1 to {size:,}; `rprs sentences` lists them"
            )
        numbers += range(first, last + 1)
    return numbers


def sentences(
    context: typer.Context,
    path: IndexPath,
    query: QueryFile = None,
    more: QueryFiles = None,
    text: QueryText = None,
    ids: QueryIds = None,
    format: Annotated[
        DocumentFormat, typer.Option("--format", help="The format of the sentences.")
    ] = DocumentFormat.table,
) -> None:
    """Number the sentences of a query, as the index splits it, for --key and --ignore of `rprs search`.

    Example: rprs sentences cases.rprs brief.pdf

    Example: rprs search cases.rprs brief.pdf --key 12-14 --ignore 1-5

    Example: rprs sentences cases.rprs --id 2016/brown.txt --format jsonl
    """
    from rprs.cli.output import print_objects, print_rows
    from rprs.document import combine
    from rprs.index import Index

    check_index_first("sentences", path, query)
    sources = QuerySources([each for each in (query, *(more or ())) if each is not None], text, ids or ())
    with Index(path) as index:
        document = combine(sources.read(index))
        spans = index.splitter.split(document.text).spans.tolist()
    rows = [
        {"number": number, "start": start, "end": end, "text": document.text[start:end]}
        for number, (start, end) in enumerate(spans, start=1)
    ]
    if format is DocumentFormat.table:
        print_rows((str(row["number"]), " ".join(str(row["text"]).split())) for row in rows)
    else:
        print_objects(rows, lines=format is DocumentFormat.jsonl)
    context.obj.print(counted(len(rows), "sentence"))
