"""The verb that finds the passages of an index that are like a given one."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rprs.cli.messages import Messages, counted
from rprs.cli.opening import open_collection
from rprs.cli.options import (
    Before,
    IndexPath,
    Kinds,
    Undated,
    UndatedDocuments,
    Where,
    chosen_kinds,
)
from rprs.cli.queries import STDIN, check_index_first, read_file
from rprs.errors import UsageError

if TYPE_CHECKING:
    from rprs.document import Document
    from rprs.index import Index
    from rprs.passages.values import PassageResults

_LINES = re.compile(r"(?P<file>.+):(?P<first>\d+)(?:-(?P<last>\d+))?", re.DOTALL)
_PATH = re.compile(r"[^\s/]*(?:/[^\s/]*)*\.\w{1,8}")
_PLAIN_TEXT = (".txt", ".text", ".md", ".markdown")


class PassageFormats(StrEnum):
    """Formats of passages."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"


def passages(
    context: typer.Context,
    path: IndexPath,
    passage: Annotated[
        str,
        typer.Argument(
            metavar="TEXT|FILE:10-20",
            help="The passage: a text, lines of a file, a short file, or - for standard input.",
            show_default=False,
        ),
    ],
    k: Annotated[int, typer.Option("-k", help="The number of passages.", min=1)] = 10,
    around: Annotated[
        int, typer.Option("--context", help="The number of sentences before and behind each passage.", min=0)
    ] = 1,
    kind: Kinds = None,
    where: Where = None,
    before: Before = None,
    undated: UndatedDocuments = Undated.keep,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--without", help="Leave out the document with this id. May be repeated.", metavar="ID", show_default=False
        ),
    ] = None,
    keep_self: Annotated[
        bool, typer.Option("--keep-self", help="Keep the file that the passage comes from, if the index has it.")
    ] = False,
    no_boilerplate: Annotated[
        bool, typer.Option("--no-boilerplate", help="Leave out captions, citations and what many documents have.")
    ] = False,
    format: Annotated[
        PassageFormats, typer.Option("--format", help="The format of the passages.")
    ] = PassageFormats.table,
) -> None:
    """Find the passages of a whole collection that are like a text or some lines of a file.

    Passages with the same words come first: identical (=) and reworded (±, with the changed words marked), then those
    with the same idea (≈). Every quotation of 8 or more words is found, and every sentence of the collection is
    compared. The lines of a file are those that an editor shows; of other formats than text, those of the text.

    Example: rprs passages cases.rprs "The tenant may withhold the rent until the roof is repaired."

    Example: rprs passages cases.rprs brief.txt:10-20 --where "date < 2016-01-01"

    Example: rprs passages cases.rprs brief.pdf:112-118 --kind identical --format csv > quotations.csv
    """
    from rprs.cli.evidence import print_passages
    from rprs.cli.output import print_objects
    from rprs.passages.export import PASSAGE_FORMATS, about_passages, hit_object

    check_index_first("passages", path, passage)
    messages: Messages = context.obj
    with open_collection(context, [path]) as collection:
        index = collection.index
        document, source = read_passage(passage)
        options: dict[str, Any] = {
            "where": where,
            "exclude": _excluded(index, exclude or (), None if keep_self else source),
            "before": before,
            "undated": undated.value,
            "kinds": chosen_kinds(kind),
            "context": around,
            "boilerplate": not no_boilerplate,
        }
        results = collection.searcher(None, messages.progress).passages(document, k, **options)
        if format is PassageFormats.csv:
            sys.stdout.write(PASSAGE_FORMATS["csv"].write(results, about_passages(index, document, k, **options)))
        elif format is PassageFormats.table:
            print_passages(results)
        else:
            print_objects([hit_object(hit) for hit in results], lines=format is PassageFormats.jsonl)
    _print_summary(messages, results, restricted=any((where, before, kind, no_boilerplate)))


def read_passage(argument: str) -> tuple[Document, Document | None]:
    """The passage that an argument means, and the file that it comes from, if any.

    It is the lines of a file (`brief.txt:10-20`), a file, standard input (-), or else a text.
    """
    from rprs.document import text_document

    if argument == STDIN or _is_file(argument):
        document = read_file(argument)
        return document, document
    lines = _LINES.fullmatch(argument)
    if lines and _is_file(lines["file"]):
        document = read_file(lines["file"])
        first, last = int(lines["first"]), int(lines["last"] or lines["first"])
        text = _lines(lines["file"], document, first, last)
        return replace(document, id=argument, title="", text=text), document
    if lines and _PATH.fullmatch(lines["file"]):
        raise UsageError(f"There is no file {lines['file']}: give an existing file and its lines, or a text")
    if _PATH.fullmatch(argument) and "/" in argument:
        raise UsageError(f"There is no file {argument}: give an existing file, or a text")
    return text_document(argument), None


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # a text may be too long for a name, or have characters that no name has
        return False


def _lines(name: str, document: Document, first: int, last: int) -> str:
    """Some lines of a file, counted from 1: as an editor shows them, or else those of the text of the file."""
    from rprs.read.encoding import clean, decode

    plain = Path(name).suffix.lower() in _PLAIN_TEXT
    text = clean(decode(Path(name).read_bytes())) if plain else document.text
    lines = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
    if not 1 <= first <= last:
        raise UsageError(f"{first}-{last} is no range of lines: write the first line before the last, as in 10-20")
    if last > len(lines):
        raise UsageError(f"{name} has {counted(len(lines), 'line')}, but line {last:,} was asked for")
    return "\n".join(lines[first - 1 : last])


def _excluded(index: Index, ids: list[str] | tuple[()], source: Document | None) -> list[str]:
    """The documents to leave out: those that were named, and the file that the passage comes from."""
    from rprs.index.lookup import require_id

    own = [] if source is None else index.copies(source)
    return [*(require_id(index, id) for id in ids), *own]


def _print_summary(messages: Messages, results: PassageResults, *, restricted: bool) -> None:
    for note in results.notes:
        messages.print(note)
    if not results:
        hint = ": relax the filters" if restricted else ""
        messages.print(f"No passage is similar enough{hint}")
    else:
        messages.print(f"Top {len(results):,} of {counted(results.total, 'passage')}")
    times = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in results.seconds.items())
    messages.print(f"{counted(results.compared, 'sentence')} compared; {times}")
