"""Arguments and options that several verbs share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from rprs.errors import UsageError
from rprs.spec import DEFAULT

if TYPE_CHECKING:
    from rprs.alignment.values import Kind

Format = TypeVar("Format", bound=StrEnum)

FIRST, RERANK = DEFAULT["ranker"], DEFAULT["reranker"]


class HitFormat(StrEnum):
    """Formats of hits."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    trec = "trec"
    csv = "csv"
    ris = "ris"
    bibtex = "bibtex"


class ExplanationFormat(StrEnum):
    """Formats of an explanation."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    html = "html"


class MatchKind(StrEnum):
    """Kinds of match, as they are written on the command line."""

    identical = "identical"
    reworded = "reworded"
    same_idea = "same-idea"


class ListFormat(StrEnum):
    """Formats of a list of documents."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"


class DocumentFormat(StrEnum):
    """Formats of one record: a document, or the facts about an index."""

    table = "table"
    json = "json"
    jsonl = "jsonl"


class VectorTypes(StrEnum):
    """Types that vectors can be stored as."""

    float16 = "float16"
    float32 = "float32"


class OcrModes(StrEnum):
    """When the text of scanned pages is recognised."""

    auto = "auto"
    never = "never"
    always = "always"


class Undated(StrEnum):
    """What a date limit does with documents without a date."""

    keep = "keep"
    drop = "drop"


IndexPath = Annotated[Path, typer.Argument(metavar="INDEX", help="The folder of the index.", show_default=False)]
AlsoIndexes = Annotated[
    list[Path] | None,
    typer.Option(
        "--also",
        help="Search this index, too, as if both were one. May be repeated.",
        metavar="INDEX",
        show_default=False,
    ),
]
Sources = Annotated[
    list[Path],
    typer.Argument(
        metavar="SOURCE",
        help="Folders and files: text, PDF, office files, e-mail, archives, patents, records; also .gz and .xz.",
        show_default=False,
    ),
]
Encoder = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        help="How sentences are encoded as vectors: fitted, onnx, sbert or hashed. Fixed when the index is created.",
        metavar="SPEC",
        show_default=DEFAULT["encoder"],
    ),
]
Splitter = Annotated[
    str | None,
    typer.Option(
        "--splitter",
        help="The units to compare: sentences, or chunks of a number of tokens. Fixed when the index is created.",
        metavar="SPEC",
        show_default=DEFAULT["splitter"],
    ),
]
Analyzer = Annotated[
    str | None,
    typer.Option(
        "--analyzer",
        help='The terms of the first stage: "words(language=german)". Fixed when the index is created.',
        metavar="SPEC",
        show_default=DEFAULT["analyzer"],
    ),
]
Queries = Annotated[
    Path,
    typer.Argument(
        metavar="QUERIES",
        help="The queries: a file of records (jsonl, csv), a folder with one file per query, or a BEIR folder.",
        show_default=False,
    ),
]
Target = Annotated[
    str | None,
    typer.Argument(
        metavar="DOC_ID",
        help="The document to explain: its id in the index, or the path of its file.",
        show_default=False,
    ),
]
QueryFile = Annotated[
    str | None,
    typer.Argument(
        metavar="QUERYFILE", help="The query document: a file, or - for standard input.", show_default=False
    ),
]
QueryIds = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        help="Use the document of the index with this id as the query. May be repeated to combine several.",
        metavar="ID",
        show_default=False,
    ),
]
QueryFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        help="Another file to combine with the query into one. May be repeated.",
        metavar="FILE",
        show_default=False,
    ),
]
QueryText = Annotated[
    str | None,
    typer.Option("--text", help="The text of the query, in place of a file.", metavar="TEXT", show_default=False),
]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first file that cannot be read.")]
Ocr = Annotated[
    OcrModes,
    typer.Option(
        "--ocr",
        help="Recognise the text of scanned pages: auto if Tesseract or the extra ocr is installed, never, or always, "
        "also for pages that have text.",
    ),
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Name every skipped file.")]
SystemName = Annotated[
    str | None,
    typer.Option(
        "--system",
        help="A system by its name, from `rprs systems`: default, paper, bm25 or fast. Options override its parts.",
        metavar="NAME",
        show_default="default",
    ),
]
First = Annotated[
    str,
    typer.Option(
        "--first",
        help='The first stage: blend, cosine, "bm25(k1=2.8, b=1, kli=0.1)", "runfile(path)", rprs, sdr, maxsim, '
        'meanpool, "fuse(bm25,sdr)".',
        metavar="SPEC",
    ),
]
Rerank = Annotated[
    str,
    typer.Option(
        "--rerank",
        help='The re-ranker: "rprs(n=4, k1=2.8, b=1)", soft, sdr, birch, maxsim, meanpool, "cross(model)", '
        '"fuse(first, rprs)", or none.',
        metavar="SPEC",
        show_default=RERANK.replace(",", ", "),  # with places where the help can break the line
    ),
]
Depth = Annotated[int, typer.Option("--depth", help="The number of candidates that the first stage passes on.")]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        help="A settings file from rprs tune: first stage, re-ranker, depth and cut-off. Options override it.",
        metavar="FILE",
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        "--where", help='Only documents with such metadata: "date < 2016-01-01 and court = ca9".', metavar="FILTER"
    ),
]
Before = Annotated[
    str | None,
    typer.Option(
        "--before",
        help="Nothing newer than the query, by a metadata field of both (date), or than a date "
        "(2015-06-01, decided=2015-06-01).",
        metavar="FIELD",
    ),
]
UndatedDocuments = Annotated[
    Undated, typer.Option("--undated", help="With --before: keep or drop documents without a date.")
]
KeepSelf = Annotated[
    bool, typer.Option("--keep-self", help="Keep the query itself (same id or same text) among the hits.")
]
Exclude = Annotated[
    Path | None,
    typer.Option(
        "--exclude",
        help="A table (query-id, corpus-id) of documents that must not be ranked for a query.",
        metavar="FILE",
        show_default="exclude.tsv of a BEIR folder",
    ),
]
ExcludeForQuery = Annotated[
    Path | None,
    typer.Option(
        "--exclude",
        help="A table (query-id, corpus-id) of documents that must not be ranked; the rows with the query's id apply.",
        metavar="FILE",
        show_default="exclude.tsv of the BEIR folder that holds the query file",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="The run file to write; also .gz and .xz.",
        metavar="FILE",
        show_default="standard output",
    ),
]
Best = Annotated[
    int | None,
    typer.Option("-k", help="The number of documents of each query.", min=1, show_default="all candidates"),
]
Tag = Annotated[
    str | None, typer.Option("--tag", help="The last column of the run.", show_default="the name of the system")
]
StrictQueries = Annotated[bool, typer.Option("--strict", help="Stop at the first query that cannot be answered.")]
VerboseQueries = Annotated[bool, typer.Option("--verbose", help="Name all queries that fail, not only the first 20.")]
Kinds = Annotated[
    list[MatchKind] | None,
    typer.Option(
        "--kind", help="Only matches of this kind; may be repeated.", show_default="all kinds", case_sensitive=False
    ),
]
NoBoilerplate = Annotated[
    bool,
    typer.Option(
        "--no-boilerplate",
        help="Leave out captions, headings, bare citations and passages that many documents have, also of coverage.",
    ),
]
NoGrouping = Annotated[bool, typer.Option("--no-grouping", help="List near duplicates as hits of their own.")]
Details = Annotated[bool, typer.Option("--details", help="Print the scores and the keyword rank of each hit.")]
AllPairs = Annotated[bool, typer.Option("--all", help="Print all matches, not only the 20 most telling.")]


def chosen_kinds(chosen: Sequence[MatchKind] | None) -> list[Kind]:
    """The kinds that `--kind` names; all of them if it is not given."""
    from rprs.alignment.values import KINDS

    return [kind for kind in KINDS if not chosen or kind.replace(" ", "-") in chosen]


def chosen_format(
    format: Format | None, output: Path | None, default: Format, by_suffix: Callable[[Path], str]
) -> Format:
    """The format that is named, or else that of the file; errors come before the search."""
    from rprs.files.atomic import check_target

    if output is not None:
        check_target(output)
        return format or type(default)(by_suffix(output))
    if format == "docx" and sys.stdout.isatty():
        raise UsageError("A Word file cannot be printed on a terminal: name a file, as in -o file.docx")
    return format or default
