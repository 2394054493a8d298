"""The verbs that search an index and explain a hit."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from rprs.cli.messages import Messages, counted
from rprs.cli.options import (
    FIRST,
    RERANK,
    AllPairs,
    Depth,
    ExcludeForQuery,
    ExplanationFormat,
    First,
    HitFormat,
    IndexPath,
    KeepSelf,
    MinSimilarity,
    QueryFiles,
    QueryIds,
    QueryText,
    Rerank,
    SettingsFile,
    Target,
    Where,
)
from rprs.cli.queries import QuerySources, check_explain_order, check_index_first
from rprs.cli.system import selected_system
from rprs.errors import UsageError
from rprs.spec import DEPTH

if TYPE_CHECKING:
    from rprs.document import Document
    from rprs.results.hits import Explanation, Results
    from rprs.search import Searcher

DEFAULT_K = 10
EXPORTS = (HitFormat.csv, HitFormat.ris, HitFormat.bibtex)  # the web interface exports the same files


def search(
    context: typer.Context,
    path: IndexPath,
    query: Annotated[
        str | None,
        typer.Argument(
            metavar="QUERYFILE", help="The query document: a file, or - for standard input.", show_default=False
        ),
    ] = None,
    more: QueryFiles = None,
    text: QueryText = None,
    ids: QueryIds = None,
    k: Annotated[int, typer.Option("-k", help="The number of hits.", min=1)] = DEFAULT_K,
    first: First = FIRST,
    rerank: Rerank = RERANK,
    depth: Depth = DEPTH,
    settings: SettingsFile = None,
    where: Where = None,
    keep_self: KeepSelf = False,
    exclude: ExcludeForQuery = None,
    format: Annotated[HitFormat, typer.Option("--format", help="The format of the hits.")] = HitFormat.table,
) -> None:
    """Find the documents that are most similar to a whole document.

    Each hit has its score, the share of the query that it covers (QP), the share of it that matches the query (DP), its
    rank in the first stage, and the best pair of sentences as evidence. The query itself is left out. Several documents
    can be combined into one query.

    Example: rprs search cases.rprs brief.pdf

    Example: rprs search cases.rprs brief.pdf --with annex.docx --id 2016/brown.txt

    Example: rprs search cases.rprs --text "The landlord kept the deposit." --format json

    Example: rprs search cases.rprs --id 2016/brown.txt -k 20 --where "date < 2016-01-01" --format jsonl

    Example: rprs search cases.rprs brief.pdf --settings tuned.toml --format csv > hits.csv
    """
    from rprs.cli.output import print_hits, print_objects
    from rprs.document import combine
    from rprs.index import Index
    from rprs.results import FORMATS
    from rprs.results.serialize import hit_object
    from rprs.search import Searcher

    messages: Messages = context.obj
    check_index_first("search", path, query)
    system = selected_system(context, settings)
    with Index(path) as index:
        sources = QuerySources([file for file in (query, *(more or ())) if file is not None], text, ids or ())
        documents = sources.read(index)
        if not keep_self:
            for id in index.namesakes(documents):
                messages.print(f"{id!r} of the index is left out because it has the id of the query: see --keep-self")
        system.load(messages.progress)
        searcher = Searcher(index, system, progress=messages.progress)
        excluded = sources.excluded_ids(documents, exclude)
        results = searcher.search(documents, k, where=where, keep_self=keep_self, exclude=excluded)
        document = combine(documents)
        if format in EXPORTS:
            about = searcher.about(document, k, where=where, keep_self=keep_self)
            sys.stdout.write(FORMATS[format].write(results, about))
    if format in (HitFormat.json, HitFormat.jsonl):
        print_objects([hit_object(hit, document.id) for hit in results], lines=format is HitFormat.jsonl)
    elif format is HitFormat.trec:
        _print_run(document, results, searcher.system.tag)
    elif format is HitFormat.table and results:
        print_hits(results)
    _print_summary(messages, searcher, results)


def explain(
    context: typer.Context,
    path: IndexPath,
    query: Annotated[
        str,
        typer.Argument(
            metavar="QUERYFILE",
            help="The query document: a file, or - for standard input. Leave it out with --id or --text.",
            show_default=False,
        ),
    ],
    document: Target = None,
    more: QueryFiles = None,
    text: QueryText = None,
    ids: QueryIds = None,
    first: First = FIRST,
    rerank: Rerank = RERANK,
    depth: Depth = DEPTH,
    settings: SettingsFile = None,
    where: Where = None,
    keep_self: KeepSelf = False,
    exclude: ExcludeForQuery = None,
    min_similarity: MinSimilarity = -1.0,
    all_pairs: AllPairs = False,
    format: Annotated[
        ExplanationFormat, typer.Option("--format", help="The format of the explanation.")
    ] = ExplanationFormat.table,
) -> None:
    """Show why a document of the index is similar to the query: pairs of sentences side by side.

    A pair is a sentence of the query with one of its nearest sentences in the candidates. The parts of the query
    without a match in the document come last. The html format is one file with both texts, which can be mailed.

    Example: rprs explain cases.rprs brief.pdf 2016/brown.txt

    Example: rprs explain cases.rprs brief.pdf 2016/brown.txt --format html > brown.html

    Example: rprs explain cases.rprs --id 2016/smith.txt 2016/brown.txt --min-similarity 0.6

    Example: rprs explain cases.rprs --text "The landlord kept the deposit." 2016/brown.txt --format json
    """
    from rprs.cli.output import print_explanation, print_object
    from rprs.index import Index
    from rprs.index.lookup import resolve_id
    from rprs.results.serialize import explanation_object
    from rprs.search import Searcher

    messages: Messages = context.obj
    started = perf_counter()
    check_index_first("explain", path, query, document)
    file, name = (query, document) if document or not (ids or text is not None) else (None, query)
    if name is None:
        raise UsageError(
            "Give the query, as a file or by --text or --id, and the id of one document: see rprs explain --help"
        )
    system = selected_system(context, settings)
    with Index(path) as index:
        if file is not None:
            check_explain_order(index, file, name)
        sources = QuerySources([each for each in (file, *(more or ())) if each is not None], text, ids or ())
        documents, id = sources.read(index), resolve_id(index, name)
        system.load(messages.progress)
        searcher = Searcher(index, system, progress=messages.progress)
        excluded = sources.excluded_ids(documents, exclude)
        complete = searcher.explain(documents, id, where=where, keep_self=keep_self, exclude=excluded)
        explanation = complete.at_least(min_similarity)
        sentences = len(index.sentences(id))
        if format is ExplanationFormat.html:
            _print_report(searcher, complete, min_similarity, where, keep_self)
    if format in (ExplanationFormat.json, ExplanationFormat.jsonl):
        print_object(explanation_object(explanation, sentences), lines=format is ExplanationFormat.jsonl)
    elif format is ExplanationFormat.table:
        print_explanation(explanation, sentences, all_pairs)
    for note in explanation.notes:
        messages.print(note)
    messages.print(f"{searcher.system} in {perf_counter() - started:.2f} s")


# ---------------------------------------------------------------------------- output


def _print_run(query: Document, results: Results, tag: str) -> None:
    import numpy as np

    from rprs.document import Ranking
    from rprs.read import write_run

    scores = np.array([hit.score for hit in results], dtype=np.float64)
    write_run(sys.stdout, query.id, Ranking(tuple(hit.id for hit in results), scores), tag)


def _print_report(
    searcher: Searcher, explanation: Explanation, min_similarity: float, where: str | None, keep_self: bool
) -> None:
    from rprs.results.report import report

    about = searcher.about(explanation.query, DEFAULT_K, where=where, keep_self=keep_self)
    sentences = searcher.index.query_sentences(explanation.query), searcher.index.sentences(explanation.document.id)
    sys.stdout.write(report(explanation, *sentences, about, min_similarity))


def _print_summary(messages: Messages, searcher: Searcher, results: Results) -> None:
    """The notes of a search, its system, its size, and the seconds of each stage."""
    for note in results.notes:
        messages.print(note)
    if not results:
        messages.print("No documents found")
    times = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in results.seconds.items())
    messages.print(
        f"{searcher.system}: {counted(results.query_sentences, 'sentence')} against "
        f"{counted(results.candidates, 'candidate')} of {counted(len(searcher.index), 'document')}; {times}"
    )
