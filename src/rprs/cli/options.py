"""The arguments and options that several verbs share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rprs.spec import DEFAULT

FIRST, RERANK = DEFAULT["ranker"], DEFAULT["reranker"]


class Format(StrEnum):
    """How hits are printed."""

    table = "table"
    jsonl = "jsonl"
    trec = "trec"
    csv = "csv"
    ris = "ris"
    bibtex = "bibtex"


class View(StrEnum):
    """How an explanation is printed."""

    table = "table"
    jsonl = "jsonl"
    html = "html"


class Shape(StrEnum):
    """How what is not a ranking is printed."""

    table = "table"
    jsonl = "jsonl"


IndexPath = Annotated[Path, typer.Argument(metavar="INDEX", help="The folder of the index.", show_default=False)]
Sources = Annotated[
    list[Path],
    typer.Argument(
        metavar="SOURCE",
        help="Folders and files: txt, md, html, pdf, docx, rtf, jsonl, json, csv, BEIR folders; also .gz and .xz.",
        show_default=False,
    ),
]
Encoder = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        help="How sentences become vectors: fitted, onnx, sbert or hashed. Chosen when the index is made.",
        metavar="SPEC",
        show_default=DEFAULT["encoder"],
    ),
]
Splitter = Annotated[
    str | None,
    typer.Option(
        "--splitter",
        help="What is compared: sentences, or tokens of a fixed number. Chosen when the index is made.",
        metavar="SPEC",
        show_default=DEFAULT["splitter"],
    ),
]
Analyzer = Annotated[
    str | None,
    typer.Option(
        "--analyzer",
        help='The terms of the first stage: "words(language=german)". Chosen when the index is made.',
        metavar="SPEC",
        show_default=DEFAULT["analyzer"],
    ),
]
Queries = Annotated[
    Path,
    typer.Argument(
        metavar="QUERIES",
        help="The queries: a file of records (jsonl, csv), a folder with a file each, or a BEIR folder.",
        show_default=False,
    ),
]
Target = Annotated[
    str | None, typer.Argument(metavar="DOC_ID", help="The document of the index to explain.", show_default=False)
]
QueryIds = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        help="Take the document of the index with this id as the query. Several are asked together.",
        metavar="ID",
        show_default=False,
    ),
]
QueryFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        help="A further file to ask together with the query. May be repeated.",
        metavar="FILE",
        show_default=False,
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first file that cannot be read.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Name every file that is skipped, not the first 20 alone.")]
First = Annotated[
    str,
    typer.Option(
        "--first",
        help='The first stage: "bm25(k1=2.8, b=1, kli=0.1)", "runfile(path)", sdr, maxsim, meanpool, "fuse(bm25,sdr)".',
        metavar="SPEC",
    ),
]
Rerank = Annotated[
    str,
    typer.Option(
        "--rerank",
        help='The re-ranker: "rprs(n=4, k1=2.8, b=1)", sdr, birch, maxsim, meanpool, "cross(model)", '
        '"fuse(first, rprs)", or none.',
        metavar="SPEC",
    ),
]
Depth = Annotated[int, typer.Option("--depth", help="How many candidates the first stage hands on.")]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        help="Take first stage, re-ranker, depth and cut-off from this file of rprs tune; options given win.",
        metavar="FILE",
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        "--where", help='Only documents with this metadata: "date < 2016-01-01 and court = ca9".', metavar="FILTER"
    ),
]
KeepSelf = Annotated[
    bool, typer.Option("--keep-self", help="Do not leave the query itself (same id or same text) out of the hits.")
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
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="The run file; also .gz and .xz. Without it, standard output.", metavar="FILE"),
]
Best = Annotated[int | None, typer.Option("-k", help="Write the best k alone, not all candidates.", min=1)]
Tag = Annotated[str | None, typer.Option("--tag", help="The last column of the run. Without it, the settings.")]
StrictQueries = Annotated[bool, typer.Option("--strict", help="Stop at the first query that cannot be answered.")]
VerboseQueries = Annotated[bool, typer.Option("--verbose", help="Name every query that fails, not the first 20 alone.")]
MinSimilarity = Annotated[float, typer.Option(help="Leave out weaker pairs.", min=-1.0, max=1.0)]
Everything = Annotated[
    bool, typer.Option("--all", help="All pairs in the order of the query, not the 20 most similar.")
]
