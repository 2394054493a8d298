"""The verb that exports a matter for readers without rprs."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rprs.cli.matters import MatterPath, OtherIndex, choose_search, open_collection
from rprs.cli.messages import Messages, counted
from rprs.cli.options import chosen_format

if TYPE_CHECKING:
    from rprs.matters import Search, Section


class MatterFormats(StrEnum):
    """Formats of an exported matter."""

    docx = "docx"
    html = "html"
    md = "md"
    csv = "csv"


def export(
    context: typer.Context,
    path: MatterPath,
    number: Annotated[
        int | None,
        typer.Option("--search", help="Only the search with this number.", show_default="all", min=1),
    ] = None,
    index_path: OtherIndex = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The file to write: .docx for Word, .html, .md or .csv.",
            metavar="FILE",
            show_default="standard output",
        ),
    ] = None,
    format: Annotated[
        MatterFormats | None, typer.Option("--format", help="The format.", show_default="md, or that of the file")
    ] = None,
) -> None:
    """Export a matter: the results of its searches with your marks, tags and notes, for Word and other programs.

    The searches are run on the collections as they are now. Of a collection that is gone, what you marked and wrote is
    exported without results.

    Example: rprs matter export pellam.rprs-matter -o pellam.docx

    Example: rprs matter export pellam.rprs-matter --search 2 --format csv > pellam.csv
    """
    from rprs.files.atomic import write_atomically
    from rprs.matters import MATTER_FORMATS, MatterReport, matter_format_of, read_matter

    messages: Messages = context.obj
    chosen = chosen_format(format, output, MatterFormats.md, lambda path: matter_format_of(path).name)
    matter = read_matter(path)
    searches = matter.searches if number is None else [choose_search(path, matter, number)[1]]
    report = MatterReport(matter, tuple(_section(search, index_path, messages) for search in searches))
    content = MATTER_FORMATS[chosen].write(report)
    if output is not None:
        write_atomically(output, content)
        messages.print(f"{output} written")
    elif chosen is MatterFormats.docx:
        sys.stdout.buffer.write(content)
    else:
        sys.stdout.write(content.decode("utf-8-sig"))
    entries = sum(len(section.entries) for section in report.sections)
    messages.print(f"{counted(len(report.sections), 'search', 'searches')}, {counted(entries, 'document')}")


def _section(search: Search, index_path: Path | None, messages: Messages) -> Section:
    from rprs.errors import InvalidMatter
    from rprs.matters import report_search
    from rprs.search import Searcher

    try:
        with open_collection(search, index_path) as index:
            section = report_search(search, Searcher(index, progress=messages.progress))
    except InvalidMatter as error:  # the collection is gone
        messages.print(str(error))
        return report_search(search, None)
    for note in section.notes:
        messages.print(f"{search.name}: {note}")
    return section
